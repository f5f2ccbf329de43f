//! Messages that another program delivered inside its report.
use crate::message::body_parts::BodyParts;
use crate::message::fields::HeaderFields;
use crate::message::part::declared;
use crate::message::transfer;
use memchr::memmem;
use std::borrow::Cow;

/// Bytes in which a wrapper is recognised.
const WINDOW: usize = 64 * 1024;
/// The parameter by which SpamAssassin (`report_safe` 1 and 2) and amavis mark the part with the message.
const ORIGINAL: &str = "x-spam-type=original";
/// The field of Exchange's journal reports.
const JOURNAL: &str = "X-MS-Journal-Report";

/// The message inside a wrapper: SpamAssassin's `report_safe`, amavis's, or a journal report of Exchange.
pub(crate) fn message_inside(raw: &[u8]) -> Option<Cow<'_, [u8]>> {
    let start = &raw[..raw.len().min(WINDOW)];
    let is_marked = |mark: &&str| memmem::find(start, mark.as_bytes()).is_some();
    let mark = [ORIGINAL, JOURNAL].into_iter().find(is_marked)?;
    let mut is_journal = false;
    let mut fields = HeaderFields::lenient(raw);
    let header = declared(fields.by_ref().inspect(|field| is_journal |= field.is(JOURNAL)), "text/plain");
    let body = fields.into_body();
    let mut parts = header.boundaries.iter().find_map(|it| BodyParts::new(body, it.as_bytes()))?;
    parts.find_map(|part| {
        let mut is_original = false;
        let mut fields = HeaderFields::lenient(part);
        let header = declared(
            fields.by_ref().inspect(|field| {
                is_original |= field.is("content-type") && field.unfolded().contains(ORIGINAL);
            }),
            "text/plain",
        );
        let is_message = match mark {
            ORIGINAL => is_original,
            _ => is_journal && header.part.content_type == "message/rfc822",
        };
        is_message.then(|| transfer::decode(fields.into_body(), header.part.transfer_encoding.as_deref()))
    })
}
