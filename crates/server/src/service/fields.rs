//! What is told of a message beside its verdict: fields of its header.

use tamis_mail::Message;

/// Maximum characters of a field that are kept.
const MOST_FIELD: usize = 200;

/// The Message-ID of a message, without its angle brackets; empty if there is none.
pub(crate) fn message_id(raw: &[u8]) -> String {
    Message::parse_header(raw).header("message-id").map_or_else(String::new, tamis_train::document_name)
}

/// The beginnings of the subject and the sender of a message; empty if it has none.
pub(super) fn subject_and_sender(raw: &[u8]) -> [String; 2] {
    let header = Message::parse_header(raw);
    ["subject", "from"].map(|name| header.header(name).unwrap_or_default().chars().take(MOST_FIELD).collect())
}
