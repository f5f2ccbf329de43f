//! What is told of a message beside its verdict: fields of its header.

use tamis_mail::{Limits, Message};

/// Maximum bytes of a message that are searched for fields of its header, and characters of a field that are kept.
const MOST_HEADER: usize = 64 << 10;
const MOST_FIELD: usize = 200;

/// The Message-ID of a message, without its angle brackets; empty if there is none.
pub(crate) fn message_id(raw: &[u8]) -> String {
    header(raw).header("message-id").map_or_else(String::new, tamis_train::document_name)
}

/// The beginnings of the subject and the sender of a message; empty if it has none.
pub(super) fn subject_and_sender(raw: &[u8]) -> [String; 2] {
    let header = header(raw);
    ["subject", "from"].map(|name| header.header(name).unwrap_or_default().chars().take(MOST_FIELD).collect())
}

/// The header of a message.
fn header(raw: &[u8]) -> Message {
    let raw = &raw[..raw.len().min(MOST_HEADER)];
    let is_end = |at: &usize| raw[at + 1..].starts_with(b"\n") || raw[at + 1..].starts_with(b"\r\n");
    let end = (0..raw.len()).filter(|at| raw[*at] == b'\n').find(is_end).map_or(raw.len(), |at| at + 1);
    Message::parse(&raw[..end], &Limits::default())
}
