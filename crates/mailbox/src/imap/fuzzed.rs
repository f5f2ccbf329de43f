//! A server that says whatever bytes it is given, for fuzzing.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use async_imap::Client;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::imap::bounded::{Bounded, Stream, Transport};
use crate::imap::commands::{MOST_OF_MESSAGE, Server};
use crate::imap::failure::{Failure, guarded};
use crate::imap::names::{decode, quote};

/// Says bytes, whatever it hears.
#[derive(Debug)]
struct Deaf {
    says: Vec<u8>,
    at: usize,
}

impl AsyncRead for Deaf {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let rest = &self.says[self.at..];
        let n = rest.len().min(buf.remaining());
        buf.put_slice(&rest[..n]);
        self.at += n;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Deaf {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Talks to a server that says `bytes` (after its greeting): logs in, and sends every command that the agent sends.
/// Returns the number of steps that went well.
///
/// # Panics
/// If an answer is not what it must be for any bytes: names that can be sent, messages within limits.
pub fn converse(bytes: &[u8]) -> usize {
    let deaf: Box<dyn Transport> = Box::new(Deaf { says: bytes.to_vec(), at: 0 });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let mut steps = 0;
    if let Ok(runtime) = runtime {
        let ended = runtime.block_on(talk(Bounded::new(deaf), &mut steps));
        if let Err(failure) = ended {
            assert!(!failure.to_string().contains('\r') || bytes.contains(&b'\r'));
        }
    }
    steps
}

async fn talk(stream: Stream, steps: &mut usize) -> Result<(), Failure> {
    let session = guarded(Client::new(stream).login("a", "b")).await?;
    let session = session.map_err(|(error, _)| Failure::Login(error.to_string()))?;
    *steps += 1;
    let mut server = Server::new(session).await?;
    *steps += 1;
    let (mailboxes, _) = server.mailboxes().await?;
    *steps += 1;
    for mailbox in &mailboxes {
        assert!(quote(&decode(&mailbox.name)).is_none_or(|quoted| !quoted.contains(['\r', '\n'])));
    }
    let Some(mailbox) = mailboxes.first() else { return Ok(()) };
    server.status(mailbox).await?;
    *steps += 1;
    server.open(mailbox, true).await?;
    *steps += 1;
    let uids = server.uids_from(1).await?;
    assert!(uids.is_sorted());
    *steps += 1;
    let some = &uids[..uids.len().min(40)];
    let fetched = server.fetch(some).await?;
    assert!(fetched.len() <= some.len());
    assert!(
        fetched.iter().all(|message| some.contains(&message.uid) && message.bytes.len() <= MOST_OF_MESSAGE)
    );
    *steps += 1;
    server.is_read(1).await?;
    server.move_message(1, mailbox).await?;
    *steps += 1;
    Ok(())
}
