//! The milter door: Postfix, Sendmail and others ask for a verdict before they accept a message.
//!
//! A message for one recipient is scored with his model, one for several with the shared model. Nothing is learned
//! through this door. A message that cannot be scored is accepted without a verdict or tempfailed, as
//! `milter.on_error` says; when a connection ends early, the MTA's own default applies.

pub(crate) mod packet;
pub(crate) mod reply;
pub(crate) mod session;

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use tokio::io::AsyncReadExt;
use tokio::time::Instant;

use crate::door::milter::packet::{announced, parse};
use crate::door::milter::reply::Replies;
use crate::door::milter::session::MilterSession;
use crate::net::{Connection, in_time};
use crate::service::Service;

/// Serves a connection until it ends.
pub(crate) async fn serve(connection: Connection, service: Arc<Service>) {
    // a closed connection is all that an MTA can be told of an error
    let _ = converse(connection, service).await;
}

async fn converse(mut connection: Connection, service: Arc<Service>) -> io::Result<()> {
    let mut stopping = connection.stopping.clone();
    let command = service.settings().limits.command();
    let mut session = MilterSession::new(service);
    let mut input = Input::default();
    loop {
        let is_idle = session.is_idle() && input.bytes.is_empty();
        let patience = match input.since {
            Some(since) => session.patience().min(command.saturating_sub(since.elapsed())),
            None => session.patience(),
        };
        input.make_room(is_idle);
        let n = tokio::select! {
            biased;
            () = stopping.wait(), if is_idle => return Ok(()),
            n = in_time(patience, connection.stream.read_buf(&mut input.bytes)) => n?,
        };
        if n == 0 {
            return Ok(());
        }
        let mut replies = Replies::default();
        let next = input.take_packets(&mut session, &mut replies);
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
}

impl Input {
    /// Makes room to read. An idle connection has next to no buffer.
    fn make_room(&mut self, is_idle: bool) {
        if is_idle {
            self.bytes = Vec::new();
            return;
        }
        // one that is too long has ended the connection
        let announced = announced(&self.bytes).ok().flatten();
        let missing = announced.map_or(0, |length| length.saturating_sub(self.bytes.len()));
        self.bytes.reserve_exact(missing.clamp(READ / 4, READ));
    }

    /// Hands all whole packets to the session, until that ends the connection.
    fn take_packets(&mut self, session: &mut MilterSession, replies: &mut Replies) -> ControlFlow<()> {
        let mut taken = 0;
        let next = loop {
            match parse(&self.bytes[taken..]) {
                Ok(Some(frame)) => {
                    taken += frame.length;
                    if session.take(&frame.packet, replies).is_break() {
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
