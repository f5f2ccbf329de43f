//! The milter door: Postfix, Sendmail and others ask for a verdict before they accept a message.
//!
//! A message for one recipient is scored with his model, one for several with the shared model. Nothing is learned
//! through this door. A message that cannot be scored is accepted without a verdict or tempfailed, as
//! `milter.on_error` says; when a connection ends early, the MTA's own default applies.

pub mod packet;
pub(crate) mod reply;
pub(crate) mod session;

use std::io;
use std::ops::ControlFlow;

use tokio::io::AsyncReadExt;
use tokio::time::Instant;

use crate::door::milter::packet::{announced, parse};
use crate::door::milter::reply::Replies;
use crate::door::milter::session::MilterSession;
use crate::models::request::ServiceError;
use crate::net::{Connection, in_time};
use crate::service::admission::{Incoming, TooLong};
use crate::service::{CurrentService, Service};

/// Serves a connection until it ends.
pub(crate) async fn serve(connection: Connection, service: CurrentService) {
    // a closed connection is all that an MTA can be told of an error
    let _ = converse(connection, service).await;
}

async fn converse(mut connection: Connection, service: CurrentService) -> io::Result<()> {
    let mut session = MilterSession::new(service.clone(), connection.peer);
    let mut input = Input::default();
    loop {
        let now = service.get();
        let command = now.settings().limits.command;
        let is_idle = session.is_idle() && input.bytes.is_empty();
        let patience = match input.since {
            Some(since) => session.patience().min(command.saturating_sub(since.elapsed())),
            None => session.patience(),
        };
        let room = input.make_room(is_idle, &now);
        drop(now);
        if let Err(failure) = room {
            session.fail(failure);
            if !input.cut_packet() {
                return Ok(());
            }
        } else {
            let n = tokio::select! {
                biased;
                () = connection.stopping.cancelled(), if is_idle => return Ok(()),
                n = in_time(patience, connection.stream.read_buf(&mut input.bytes)) => n?,
            };
            if n == 0 {
                return Ok(());
            }
            input.skip();
        }
        let mut replies = Replies::default();
        let next = input.take_packets(&mut session, &mut replies).await;
        if !replies.0.is_empty() {
            connection.write(&replies.0, command).await?;
        }
        if next.is_break() {
            return Ok(());
        }
    }
}

/// Maximum bytes to read at a time: about a packet of body, however long an announced packet is.
const READ: usize = 64 << 10;

/// What has arrived and is not a whole packet.
#[derive(Default)]
struct Input {
    bytes: Vec<u8>,
    /// When it began to arrive.
    since: Option<Instant>,
    /// Counts it as in flight.
    room: Option<Incoming>,
    /// Bytes of a packet that are still to come and are not kept.
    to_skip: usize,
}

impl Input {
    /// Makes room to read. An idle connection has next to no buffer; of others, all but the least counts as in flight.
    ///
    /// # Errors
    /// [`ServiceError::Busy`] if too much is in flight.
    fn make_room(&mut self, is_idle: bool, service: &Service) -> Result<(), ServiceError> {
        if is_idle {
            *self = Input::default();
            return Ok(());
        }
        // one that is too long has ended the connection
        let announced = announced(&self.bytes).ok().flatten();
        let missing = announced.map_or(0, |length| length.saturating_sub(self.bytes.len()));
        let more = missing.clamp(READ / 4, READ);
        let room = self.room.get_or_insert_with(|| service.incoming(TooLong::Cut));
        room.reserve((self.bytes.len() + more).saturating_sub(READ / 4))?;
        self.bytes.reserve_exact(more);
        Ok(())
    }

    /// Makes a whole packet without data of a part of the body that has begun to arrive, and skips what comes of it.
    /// Returns whether it was one.
    fn cut_packet(&mut self) -> bool {
        let (Ok(Some(length)), Some(command @ (b'B' | b'E'))) =
            (announced(&self.bytes), self.bytes.get(4).copied())
        else {
            return false;
        };
        self.to_skip = length.saturating_sub(self.bytes.len());
        self.bytes = vec![0, 0, 0, 1, command];
        true
    }

    /// Drops what is to be skipped of what has arrived.
    fn skip(&mut self) {
        let n = self.to_skip.min(self.bytes.len());
        self.bytes.drain(..n);
        self.to_skip -= n;
    }

    /// Hands all whole packets to the session, until that ends the connection.
    async fn take_packets(&mut self, session: &mut MilterSession, replies: &mut Replies) -> ControlFlow<()> {
        let mut taken = 0;
        let next = loop {
            match parse(&self.bytes[taken..]) {
                Ok(Some((packet, length))) => {
                    taken += length;
                    if session.take(&packet, replies).await.is_break() {
                        break ControlFlow::Break(());
                    }
                }
                Ok(None) => break ControlFlow::Continue(()),
                // what follows cannot be told from it
                Err(_) => break ControlFlow::Break(()),
            }
        };
        self.bytes.drain(..taken);
        self.since = match self.since {
            _ if self.bytes.is_empty() => None,
            Some(since) if taken == 0 => Some(since),
            _ => Some(Instant::now()),
        };
        next
    }
}
