//! Messages that another program delivered inside its report.
use crate::message::body_parts::body_parts;
use crate::message::fields::HeaderFields;
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
