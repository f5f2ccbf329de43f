//! The conversation with an MTA, without its bytes: what is remembered between packets, and what is replied.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use tamis_train::Document;
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::door::milter::packet::{Packet, ProtocolOptions};
use crate::door::milter::reply::{Needs, Replies};
use crate::door::milter::transaction::Transaction;
use crate::models::request::ServiceError;
use crate::record::Door;
use crate::service::admission::TooLong;
use crate::service::answer::Answer;
use crate::service::{Request, Service};
use crate::settings::{MilterSettings, OnError};

/// Longest queue id that is logged.
const LONGEST_ID: usize = 100;

/// A connection of an MTA, over which any number of messages come, one after the other.
pub(crate) struct MilterSession {
    service: Arc<Service>,
    /// What was agreed on.
    options: Option<ProtocolOptions>,
    /// The queue id of the message, which comes at different times.
    queue_id: String,
    /// The message that has begun; boxed, since most connections are idle.
    message: Option<Box<Transaction>>,
}

impl MilterSession {
    pub(crate) fn new(service: Arc<Service>) -> Self {
        MilterSession { service, options: None, queue_id: String::new(), message: None }
    }

    /// Whether no message has begun.
    pub(crate) fn is_idle(&self) -> bool {
        self.message.is_none()
    }

    /// Maximum time until the next packet. The content of a message has a limit as a whole, since it is kept in memory.
    pub(crate) fn patience(&self) -> Duration {
        let settings = self.service.settings();
        match self.message.as_ref().and_then(|message| message.content_since) {
            Some(since) => settings.limits.message().saturating_sub(since.elapsed()),
            None => Duration::from_secs(settings.milter.idle_seconds),
        }
    }

    /// Takes a packet and adds the replies to it.
    pub(crate) fn take(&mut self, packet: &Packet<'_>, replies: &mut Replies) -> ControlFlow<()> {
        if let Packet::Negotiate(offer) = packet {
            return self.negotiate(offer, replies);
        }
        let Some(options) = self.options else { return ControlFlow::Break(()) };
        match packet {
            Packet::Negotiate(_) | Packet::Connect | Packet::Helo | Packet::Data | Packet::Unknown => (),
            Packet::Macros(macros) => {
                if let Some(id) = macros.value("i") {
                    let id = &id[..id.len().min(LONGEST_ID)];
                    self.queue_id = String::from_utf8_lossy(id).into_owned();
                }
            }
            Packet::Mail => {
                // the queue id came with its macros
                self.message = None;
                self.message();
            }
            Packet::Recipient(address) => self.message().add_recipient(address),
            Packet::Header { name, value } => {
                self.message().add_field(name, value, options.has_leading_space());
            }
            Packet::EndOfHeader => self.message().end_header(),
            Packet::Body(part) => self.message().add_body(part),
            Packet::EndOfBody(part) => {
                self.message().add_body(part);
                self.end(&options, replies);
            }
            Packet::Abort | Packet::QuitNewConnection => self.forget(),
            Packet::Quit => return ControlFlow::Break(()),
        }
        if options.has_reply(packet) {
            replies.go_on();
        }
        ControlFlow::Continue(())
    }

    fn negotiate(&mut self, offer: &ProtocolOptions, replies: &mut Replies) -> ControlFlow<()> {
        self.forget();
        let MilterSettings { headers, quarantine, .. } = self.service.settings().milter;
        self.options = offer.agreed(Needs { headers, quarantine: quarantine.is_some() });
        match &self.options {
            Some(options) => replies.negotiate(options),
            None => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
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
            let mut incoming = service.incoming(TooLong::Cut);
            // one more, so that the scorer sees that it is too long
            incoming.keep_at_most(service.bytes_to_score().saturating_add(1));
            Box::new(Transaction::new(incoming))
        })
    }

    /// Scores the message and replies with the verdict.
    fn end(&mut self, options: &ProtocolOptions, replies: &mut Replies) {
        let Some(message) = self.message.take() else { return };
        let answer = self.score(&message);
        self.queue_id = String::new();
        let settings = self.service.settings();
        let milter = &settings.milter;
        let action = match &answer {
            Ok(answer) => MilterAction::choose(answer.spam_probability(), milter),
            Err(_) if milter.on_error == OnError::Tempfail => MilterAction::Tempfail,
            Err(_) => MilterAction::Accept,
        };
        match action {
            MilterAction::Reject => return replies.reject(&milter.reject_text),
            MilterAction::Tempfail => return replies.tempfail(),
            MilterAction::Quarantine | MilterAction::Accept => (),
        }
        if options.has_headers() {
            message.delete_verdicts(settings.verdict.keep_headers, replies);
            let fields = answer.as_ref().map(Answer::fields).unwrap_or_default();
            fields.iter().for_each(|(name, value)| replies.add(name, value, options));
        }
        if action == MilterAction::Quarantine && options.has_quarantine() {
            replies.quarantine("tamis: message looks like spam");
        }
        replies.go_on();
    }

    fn score(&self, message: &Transaction) -> Result<Answer, ServiceError> {
        let bytes = message.bytes()?;
        let mut request = Request::new(Door::Milter, message.model());
        request.queue_id = &self.queue_id;
        let mut answer = away_from_others(|| self.service.score(&request, Document::Mail(bytes)))?;
        answer.truncated |= message.is_cut();
        Ok(answer)
    }
}

/// Runs work that may wait for the disk without holding up other connections.
fn away_from_others<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

/// What becomes of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MilterAction {
    Accept,
    Reject,
    Tempfail,
    Quarantine,
}

impl MilterAction {
    /// The first of reject, tempfail and quarantine whose probability is reached.
    fn choose(spam: f64, settings: &MilterSettings) -> Self {
        let reaches = |limit: Option<f64>| limit.is_some_and(|limit| spam >= limit);
        match () {
            () if reaches(settings.reject) => MilterAction::Reject,
            () if reaches(settings.tempfail) => MilterAction::Tempfail,
            () if reaches(settings.quarantine) => MilterAction::Quarantine,
            () => MilterAction::Accept,
        }
    }
}
