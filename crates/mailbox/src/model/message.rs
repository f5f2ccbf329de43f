//! A message in words, for people.

use tamis_mail::{Limits, Message};

/// Maximum bytes of a message in which the header is searched.
const MOST_HEADER: usize = 64 << 10;

/// Maximum characters of a sender or a subject that are kept.
const MOST_CHARACTERS: usize = 200;

/// What a list of messages shows of one.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Summary {
    pub(crate) message_id: String,
    pub(crate) sender: String,
    pub(crate) subject: String,
}

impl Summary {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let header = &bytes[..bytes.len().min(MOST_HEADER)];
        let end = (1..header.len()).find(|at| {
            header[at - 1] == b'\n'
                && (header[*at..].starts_with(b"\n") || header[*at..].starts_with(b"\r\n"))
        });
        let message = Message::parse(&header[..end.unwrap_or(header.len())], &Limits::default());
        let field = |name: &str| message.header(name).unwrap_or_default().trim().to_owned();
        let short = |text: &str| text.chars().take(MOST_CHARACTERS).collect();
        Summary {
            // whole, since it is searched for
            message_id: field("message-id"),
            sender: short(&field("from")),
            subject: short(message.subject()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_has_no_say() {
        let summary =
            Summary::of(b"From: a@b.example\r\nSubject: =?utf-8?q?Caf=C3=A9?=\r\n\r\nMessage-ID: <1@x>\r\n");
        let expected = ("", "a@b.example", "Café");
        assert_eq!((&*summary.message_id, &*summary.sender, &*summary.subject), expected);
        assert_eq!(Summary::of(b"\xff\xff"), Summary::default());
    }
}
