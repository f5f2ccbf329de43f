//! A message as it arrives, a field and a part of the body at a time.

use tamis_mail::passthrough::holds_verdict;
use tokio::time::Instant;

use crate::door::milter::reply::Replies;
use crate::models::request::{ModelId, ServiceError};
use crate::service::admission::Incoming;

/// Longer addresses have no model of their own.
const LONGEST_ADDRESS: usize = 320;

/// A message that has begun.
pub(crate) struct Transaction {
    incoming: Incoming,
    has_whole_header: bool,
    recipients: Recipients,
    /// Names of fields that hold verdicts, and the number of each.
    verdicts: Vec<(Vec<u8>, u32)>,
    failure: Option<ServiceError>,
    /// When the first field or part of the body came.
    pub(crate) content_since: Option<Instant>,
}

/// Who a message is for. A message for one user is scored with his model, one for several with the shared model.
enum Recipients {
    None,
    /// The address, without angle brackets.
    One(String),
    Several,
}

impl Transaction {
    pub(crate) fn new(incoming: Incoming) -> Self {
        Transaction {
            incoming,
            has_whole_header: false,
            recipients: Recipients::None,
            verdicts: Vec::new(),
            failure: None,
            content_since: None,
        }
    }

    /// Adds a recipient, as the client wrote it.
    pub(crate) fn add_recipient(&mut self, address: &[u8]) {
        let address = address.strip_prefix(b"<").unwrap_or(address);
        let address = address.strip_suffix(b">").unwrap_or(address);
        self.recipients = match (&self.recipients, std::str::from_utf8(address)) {
            (Recipients::None, Ok(address)) if address.len() <= LONGEST_ADDRESS => {
                Recipients::One(address.to_owned())
            }
            // the same mailbox again
            (Recipients::One(known), Ok(address)) if known.eq_ignore_ascii_case(address) => return,
            _ => Recipients::Several,
        };
    }

    /// The model for its recipients.
    pub(crate) fn model(&self) -> ModelId<'_> {
        match &self.recipients {
            Recipients::One(address) => ModelId::User(address),
            Recipients::None | Recipients::Several => ModelId::Shared,
        }
    }

    /// Adds a header field. Without `has_leading_space`, the space after the colon is not in the value.
    pub(crate) fn add_field(&mut self, name: &[u8], value: &[u8], has_leading_space: bool) {
        self.count_verdict(name);
        self.push(name);
        self.push(if has_leading_space { b":" } else { b": " });
        for (n, line) in value.split(|byte| *byte == b'\n').enumerate() {
            if n > 0 {
                self.push(b"\r\n");
            }
            self.push(line.strip_suffix(b"\r").unwrap_or(line));
        }
        self.push(b"\r\n");
    }

    fn count_verdict(&mut self, name: &[u8]) {
        if !std::str::from_utf8(name).is_ok_and(|name| holds_verdict(name.trim_end())) {
            return;
        }
        match self.verdicts.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
            Some((_, n)) => *n += 1,
            None => self.verdicts.push((name.to_owned(), 1)),
        }
    }

    /// Ends the header.
    pub(crate) fn end_header(&mut self) {
        if !std::mem::replace(&mut self.has_whole_header, true) {
            self.push(b"\r\n");
        }
    }

    /// Adds a part of the body.
    pub(crate) fn add_body(&mut self, part: &[u8]) {
        self.end_header();
        self.push(part);
    }

    fn push(&mut self, bytes: &[u8]) {
        self.content_since.get_or_insert_with(Instant::now);
        if self.failure.is_some() {
            return;
        }
        if let Err(failure) = self.incoming.push(bytes) {
            // makes room for others
            self.incoming.clear();
            self.failure = Some(failure);
        }
    }

    /// The message, or its beginning if it is too long.
    ///
    /// # Errors
    /// [`ServiceError::Busy`] if too much was in flight to keep it.
    pub(crate) fn bytes(&self) -> Result<&[u8], ServiceError> {
        self.failure.clone().map_or(Ok(self.incoming.bytes()), Err)
    }

    /// Whether only the beginning was kept.
    pub(crate) fn is_cut(&self) -> bool {
        self.incoming.n_arrived() > self.incoming.bytes().len()
    }

    /// Deletes the verdicts that came with the message: forged or old ones. With `keep_headers`, only ours.
    pub(crate) fn delete_verdicts(&self, keep_headers: bool, replies: &mut Replies) {
        for (name, n) in &self.verdicts {
            if !keep_headers || is_own(name) {
                // each deletion moves those after it
                (1..=*n).rev().for_each(|index| replies.delete(index, name));
            }
        }
    }
}

/// Whether fields of this name are written by tamis alone.
fn is_own(name: &[u8]) -> bool {
    [&b"x-tamis"[..], b"x-tamis-reasons", b"x-tamis-label"]
        .iter()
        .any(|own| name.trim_ascii_end().eq_ignore_ascii_case(own))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::service::admission::{Admission, TooLong};

    fn message(most: usize) -> Transaction {
        Transaction::new(Admission::new(1 << 20, most, Arc::default()).incoming(TooLong::Cut))
    }

    #[test]
    fn a_message_is_put_together_as_it_was_sent() {
        let mut message = message(1000);
        message.add_field(b"Subject", b" a\n\tb", true);
        message.add_field(b"To", b"b", false);
        message.add_field(b"X", b"", true);
        message.add_body(b"so");
        message.add_body(b"up\r\n");
        assert_eq!(message.bytes(), Ok(&b"Subject: a\r\n\tb\r\nTo: b\r\nX:\r\n\r\nsoup\r\n"[..]));
        assert!(!message.is_cut());
    }

    #[test]
    fn only_the_beginning_of_a_long_message_is_kept() {
        let mut message = message(12);
        message.add_field(b"A", b" b", true);
        message.add_body(b"0123");
        assert!(!message.is_cut());
        message.add_body(b"4");
        message.add_body(b"5");
        assert_eq!((message.bytes(), message.is_cut()), (Ok(&b"A: b\r\n\r\n0123"[..]), true));
    }

    #[test]
    fn a_message_for_which_there_is_no_room_lets_go_of_what_it_has() {
        let admission = Admission::new(8192, 8192, Arc::default());
        let _other = {
            let mut other = admission.incoming(TooLong::Cut);
            other.push(&[0; 4096]).unwrap();
            other
        };
        let mut message = Transaction::new(admission.incoming(TooLong::Cut));
        message.add_body(&[0; 4000]);
        message.add_field(b"X-Tamis", b"ham", true);
        message.add_body(&[0; 4000]);
        assert_eq!(message.bytes(), Err(ServiceError::Busy));
        let mut replies = Replies::default();
        message.delete_verdicts(false, &mut replies);
        assert!(!replies.0.is_empty());
    }

    #[test]
    fn one_recipient_has_a_model() {
        let mut message = message(0);
        assert_eq!(message.model(), ModelId::Shared);
        message.add_recipient(b"<Joe@example.org>");
        assert_eq!(message.model(), ModelId::User("Joe@example.org"));
        message.add_recipient(b"joe@example.ORG");
        assert_eq!(message.model(), ModelId::User("Joe@example.org"));
        message.add_recipient(b"<ann@example.org>");
        assert_eq!(message.model(), ModelId::Shared);
    }

    #[test]
    fn verdicts_are_deleted_from_the_last_to_the_first() {
        let mut message = message(100);
        for name in [&b"X-Spam-Flag"[..], b"x-spam-flag", b"X-Tamis", b"X-Spammy", b"\xff"] {
            message.add_field(name, b" NO", true);
        }
        let deleted = |keep_headers| {
            let mut replies = Replies::default();
            message.delete_verdicts(keep_headers, &mut replies);
            replies.0.escape_ascii().to_string()
        };
        let flag = |n| format!(r"\x00\x00\x00\x12m\x00\x00\x00\x0{n}X-Spam-Flag\x00\x00");
        let own = r"\x00\x00\x00\x0em\x00\x00\x00\x01X-Tamis\x00\x00".to_owned();
        assert_eq!(deleted(false), flag(2) + &flag(1) + &own);
        assert_eq!(deleted(true), own);
    }
}
