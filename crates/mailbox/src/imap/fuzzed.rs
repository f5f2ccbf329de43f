//! A server that sends arbitrary bytes, for fuzzing.

use std::io::Cursor;

use async_imap::Client;
use tokio::runtime::Builder;

use crate::imap::bounded::{ImapStream, bounded};
use crate::imap::folders::{decode, quote};
use crate::imap::messages::MOST_OF_MESSAGE;
use crate::imap::session::{ImapError, ImapSession, guarded};

/// Talks to a server that sends `bytes` (after its greeting): logs in, and sends every command that the agent sends.
/// Returns the number of steps that succeeded.
///
/// # Panics
/// If an answer violates what must hold for any bytes: names can be sent, messages are within limits.
pub fn converse(bytes: &[u8]) -> usize {
    let server = tokio::io::join(Cursor::new(bytes.to_vec()), tokio::io::sink());
    let Ok(runtime) = Builder::new_current_thread().enable_time().build() else { return 0 };
    let mut steps = 0;
    if let Err(error) = runtime.block_on(talk(bounded(server), &mut steps)) {
        assert!(!error.to_string().contains('\r') || bytes.contains(&b'\r'));
    }
    steps
}

async fn talk(stream: ImapStream, steps: &mut usize) -> Result<(), ImapError> {
    let session = guarded(Client::new(stream).login("a", "b")).await?;
    let session = session.map_err(|(error, _)| ImapError::Login(error.to_string()))?;
    *steps += 1;
    let mut server = ImapSession::new(session).await?;
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
    server.still_there(&[1], false).await?;
    server.flags(Some(1)).await?;
    server.move_message(1, mailbox).await?;
    *steps += 1;
    Ok(())
}
