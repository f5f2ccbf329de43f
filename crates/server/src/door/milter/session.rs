//! The conversation with an MTA, without its bytes: what is remembered between packets, and what is replied.

use std::net::IpAddr;
use std::ops::ControlFlow;
use std::time::Duration;

use tamis_mail::passthrough::{holds_verdict, is_own};
use tamis_train::Document;
use tokio::time::Instant;

use crate::door::milter::packet::{Packet, ProtocolOptions};
use crate::door::milter::reply::Replies;
use crate::models::request::{Recipients, ServiceError};
use crate::net::Peer;
use crate::record::Door;
use crate::service::admission::{Incoming, TooLong};
use crate::service::answer::Answer;
use crate::service::rules::Envelope;
use crate::service::{CurrentService, Request, Service};
use crate::settings::OnError;

/// Longest queue id that is logged.
const LONGEST_ID: usize = 100;

/// A connection of an MTA, over which any number of messages come, one after the other.
pub(crate) struct MilterSession {
    service: CurrentService,
    peer: Peer,
    /// What was agreed on.
    options: Option<ProtocolOptions>,
    /// The queue id of the message, which comes at different times.
    queue_id: String,
    /// The address of the MTA's client, and whether that has signed in.
    client: Option<IpAddr>,
    is_authenticated: bool,
    /// The message that has begun; boxed, since most connections are idle.
    message: Option<Box<Transaction>>,
}

impl MilterSession {
    pub(crate) fn new(service: CurrentService, peer: Peer) -> Self {
        let (queue_id, is_authenticated) = (String::new(), false);
        Self { service, peer, options: None, queue_id, client: None, is_authenticated, message: None }
    }

    /// Whether no message has begun.
    pub(crate) fn is_idle(&self) -> bool {
        self.message.is_none()
    }

    /// Maximum time until the next packet. The content of a message has a limit as a whole, since it is kept in memory.
    pub(crate) fn patience(&self) -> Duration {
        let service = self.service.get();
        let settings = service.settings();
        match self.message.as_ref().and_then(|message| message.content_since) {
            Some(since) => settings.limits.message.saturating_sub(since.elapsed()),
            None => Duration::from_secs(settings.milter.idle_seconds),
        }
    }

    /// Takes a packet and adds the replies to it.
    pub(crate) async fn take(&mut self, packet: &Packet<'_>, replies: &mut Replies) -> ControlFlow<()> {
        if let Packet::Negotiate(offer) = packet {
            return self.negotiate(offer, replies);
        }
        let Some(options) = self.options else { return ControlFlow::Break(()) };
        match packet {
            Packet::Negotiate(_) | Packet::Helo | Packet::Data | Packet::Unknown => (),
            Packet::Connect(address) => {
                self.client = str::from_utf8(address)
                    .ok()
                    .and_then(|address| address.strip_prefix("IPv6:").unwrap_or(address).parse().ok());
                self.is_authenticated = false;
            }
            Packet::Macros(macros) => {
                if let Some(id) = macros.value("i") {
                    let id = &id[..id.len().min(LONGEST_ID)];
                    self.queue_id = String::from_utf8_lossy(id).into_owned();
                }
                if let Some(user) = macros.value("{auth_authen}") {
                    self.is_authenticated = !user.is_empty();
                }
            }
            Packet::Mail => {
                // the queue id came with its macros
                self.message = None;
                self.message();
            }
            Packet::Recipient(address) => self.message().recipients.add(address),
            Packet::Header { name, value } => {
                self.message().add_field(name, value, options.has_leading_space());
            }
            Packet::EndOfHeader => self.message().end_header(),
            Packet::Body(part) => self.message().add_body(part),
            Packet::EndOfBody(part) => {
                self.message().add_body(part);
                self.end(&options, replies).await;
            }
            Packet::Abort => self.forget(),
            Packet::QuitNewConnection => {
                self.forget();
                (self.client, self.is_authenticated) = (None, false);
            }
            Packet::Quit => return ControlFlow::Break(()),
        }
        if options.has_reply(packet) {
            replies.go_on();
        }
        ControlFlow::Continue(())
    }

    fn negotiate(&mut self, offer: &ProtocolOptions, replies: &mut Replies) -> ControlFlow<()> {
        self.forget();
        self.options = offer.agreed(&self.service.get().settings().milter);
        let Some(options) = &self.options else { return ControlFlow::Break(()) };
        replies.negotiate(options);
        ControlFlow::Continue(())
    }

    /// Gives up the message: it cannot be scored.
    pub(crate) fn fail(&mut self, failure: ServiceError) {
        self.message().fail(failure);
    }

    /// Forgets the message.
    fn forget(&mut self) {
        self.message = None;
        self.queue_id = String::new();
    }

    /// The message, which begins now if it has not.
    fn message(&mut self) -> &mut Transaction {
        let service = &self.service;
        self.message.get_or_insert_with(|| {
            let service = service.get();
            let mut incoming = service.incoming(TooLong::Cut);
            // one more, so that the scorer sees that it is too long
            incoming.limit = incoming.limit.min(service.bytes_to_score().saturating_add(1));
            Box::new(Transaction::new(incoming))
        })
    }

    /// Scores the message and replies with the verdict.
    async fn end(&mut self, options: &ProtocolOptions, replies: &mut Replies) {
        let Some(message) = self.message.take() else { return };
        let service = self.service.get();
        let answer = self.score(&service, &message).await;
        self.queue_id = String::new();
        let settings = service.settings();
        let milter = &settings.milter;
        let by_rule = answer.as_ref().ok().and_then(|answer| answer.actions);
        let actions = by_rule.unwrap_or(milter.actions());
        // of reject, tempfail and quarantine, the first whose probability is reached; nothing is lost that is in doubt
        let is_judged = |answer: &&Answer| !answer.is_skipped() && answer.doubt.is_empty();
        let spam = answer.as_ref().ok().filter(is_judged).map(Answer::spam_probability);
        let reaches = |limit: Option<f64>| limit.is_some_and(|limit| spam.is_some_and(|spam| spam >= limit));
        if reaches(actions.reject) {
            return replies.reject(&milter.reject_text);
        }
        if reaches(actions.tempfail) || answer.is_err() && milter.on_error == OnError::Tempfail {
            return replies.tempfail();
        }
        if options.has_headers() {
            message.delete_verdicts(settings.verdict.keep_headers, replies);
            let fields = answer.as_ref().map(Answer::fields).unwrap_or_default();
            fields.iter().for_each(|(name, value)| replies.add(name, value, options));
        }
        if reaches(actions.quarantine) && options.has_quarantine() {
            replies.quarantine("tamis: message looks like spam");
        }
        replies.go_on();
    }

    async fn score(&self, service: &Service, message: &Transaction) -> Result<Answer, ServiceError> {
        let bytes = message.bytes()?;
        let recipients = &message.recipients;
        let (model, is_mail_server) = match self.peer {
            // the mode and the group of the socket say who is a mail server
            Peer::User(_) | Peer::Unknown => (recipients.model(), true),
            Peer::Address(_) => (
                self.peer.permitted(recipients.model(), service.settings()),
                self.peer.is_mail_server(service.settings()),
            ),
        };
        let (client, is_authenticated) = (self.client, self.is_authenticated);
        let envelope = Envelope { client, is_authenticated, recipient: &recipients.common };
        let queue_id = &self.queue_id;
        let request = Request { queue_id, envelope, is_mail_server, ..Request::new(Door::Milter, model) };
        let mut answer = service.score(&request, Document::Mail(bytes)).await?;
        answer.truncated |= message.is_cut();
        Ok(answer)
    }
}

/// A message that has begun, as it arrives: a field and a part of the body at a time.
struct Transaction {
    incoming: Incoming,
    has_whole_header: bool,
    recipients: Recipients,
    /// Names of fields that hold verdicts, and the number of each.
    verdicts: Vec<(String, u32)>,
    failure: Option<ServiceError>,
    /// When the first field or part of the body came.
    content_since: Option<Instant>,
}

impl Transaction {
    fn new(incoming: Incoming) -> Self {
        let (recipients, verdicts) = (Recipients::default(), Vec::new());
        let (has_whole_header, failure, content_since) = (false, None, None);
        Transaction { incoming, has_whole_header, recipients, verdicts, failure, content_since }
    }

    /// Adds a header field. Without `has_leading_space`, the space after the colon is not in the value.
    fn add_field(&mut self, name: &[u8], value: &[u8], has_leading_space: bool) {
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
        let Some(name) = str::from_utf8(name).ok().filter(|name| holds_verdict(name.trim_end())) else {
            return;
        };
        match self.verdicts.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
            Some((_, n)) => *n += 1,
            None => self.verdicts.push((name.to_owned(), 1)),
        }
    }

    /// Ends the header.
    fn end_header(&mut self) {
        if !std::mem::replace(&mut self.has_whole_header, true) {
            self.push(b"\r\n");
        }
    }

    /// Adds a part of the body.
    fn add_body(&mut self, part: &[u8]) {
        self.end_header();
        self.push(part);
    }

    fn push(&mut self, bytes: &[u8]) {
        self.content_since.get_or_insert_with(Instant::now);
        if self.failure.is_some() {
            return;
        }
        if let Err(failure) = self.incoming.push(bytes) {
            self.fail(failure);
        }
    }

    fn fail(&mut self, failure: ServiceError) {
        // makes room for others
        self.incoming.clear();
        self.failure = Some(failure);
    }

    /// The message, or its beginning if it is too long.
    ///
    /// # Errors
    /// [`ServiceError::Busy`] if too much was in flight to keep it.
    fn bytes(&self) -> Result<&[u8], ServiceError> {
        self.failure.clone().map_or(Ok(self.incoming.bytes()), Err)
    }

    /// Whether only the beginning was kept.
    fn is_cut(&self) -> bool {
        self.incoming.n_arrived() > self.incoming.bytes().len()
    }

    /// Deletes the verdicts that came with the message: forged or old ones. With `keep_headers`, only ours.
    fn delete_verdicts(&self, keep_headers: bool, replies: &mut Replies) {
        for (name, n) in &self.verdicts {
            if !keep_headers || is_own(name.trim_end()) {
                // each deletion moves those after it
                (1..=*n).rev().for_each(|index| replies.delete(index, name.as_bytes()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::service::admission::Admission;

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
