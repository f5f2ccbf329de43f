//! Messages inside others: delivered by another program inside its report, or forwarded as attachments.
use crate::message::body_parts::body_parts;
use crate::message::fields::HeaderFields;
use crate::message::limits::{Limits, LimitsHit};
use crate::message::mime;
use crate::message::part::{PartHeader, declared};
use crate::message::transfer;
use memchr::memmem;
use std::borrow::Cow;

/// Bytes in which a wrapper is recognised, by the parameter of SpamAssassin (`report_safe` 1 and 2) and amavis or the field
/// of Exchange's journal reports.
const WINDOW: usize = 64 * 1024;
const ORIGINAL: &[u8] = b"x-spam-type=original";
const JOURNAL: &str = "X-MS-Journal-Report";

/// The message inside a wrapper: SpamAssassin's, amavis's or Exchange's.
pub(crate) fn message_inside(raw: &[u8]) -> Option<Cow<'_, [u8]>> {
    let start = &raw[..raw.len().min(WINDOW)];
    let may_be_journal = memmem::find(start, JOURNAL.as_bytes()).is_some();
    if !may_be_journal && memmem::find(start, ORIGINAL).is_none() {
        return None;
    }
    let mut is_journal = false;
    let mut fields = HeaderFields::lenient(raw);
    let header = declared(fields.by_ref().inspect(|field| is_journal |= field.is(JOURNAL)), "text/plain");
    let body = fields.into_body();
    let parts = body_parts(body, &header.boundaries, 1_000, &mut 0)?;
    parts.into_iter().find_map(|part| {
        let mut fields = HeaderFields::lenient(part);
        let PartHeader { part, is_original, .. } = declared(fields.by_ref(), "text/plain");
        let is_inside = is_original || is_journal && part.content_type == "message/rfc822";
        is_inside.then(|| transfer::decode(fields.into_body(), part.transfer_encoding.as_deref()))
    })
}

/// The messages that a message forwards as attachments, each as it was before it was attached, without its transfer
/// encoding. Not those that are attached to them.
///
/// They are parts of the type `message/rfc822` (or `message/global`, `message/news`) at any depth of multiparts, the parts of
/// a `multipart/digest`, and files named `*.eml` that [look like mail](crate::looks_like_mail). Messages in reports
/// (`multipart/report`), such as undelivered mail, were not forwarded. Of a message that another filter wrapped, the
/// message inside is read. There are at most [`Limits::nested_messages`]; the limits that are returned may have kept others
/// from being found.
///
/// ```
/// use tamis_mail::{Limits, LimitsHit, forwarded_messages};
///
/// let raw = b"From: colleague@example.org\n\
///             Content-Type: multipart/mixed; boundary=b\n\n\
///             --b\n\nIs this spam?\n\
///             --b\nContent-Type: message/rfc822\n\nSubject: Offer\n\nBuy now\n\n\
///             --b--\n";
/// let (messages, hit) = forwarded_messages(raw, &Limits::default());
/// assert_eq!(messages, [b"Subject: Offer\n\nBuy now\n"]);
/// assert!(hit.is_empty());
/// ```
pub fn forwarded_messages(raw: &[u8], limits: &Limits) -> (Vec<Vec<u8>>, LimitsHit) {
    let (_, hit, messages) = mime::read_parts(raw, limits, Some(Vec::new()), &mut |_| ());
    (messages, LimitsHit { headers: false, text: false, wrapper: false, ..hit })
}
