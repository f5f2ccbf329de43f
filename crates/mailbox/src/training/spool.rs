//! The spool: private files of the messages to train on, removed once the model is made.

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};
use tamis_program::{counted, grouped, make_private, note, shown, shown_path};

use crate::imap::folders::Mailbox;
use crate::imap::messages::FetchedMessage;
use crate::imap::session::ImapSession;
use crate::training::plan::Plan;

/// Number of messages that are fetched at a time. Each may take 256 KiB.
const BATCH: usize = 40;

/// Number of messages between progress lines.
const PROGRESS: usize = 1_000;

/// Fetches the messages of a plan that are not there yet. The file of a message that is gone by then is empty.
///
/// # Errors
/// If the server or the disk fails. What was fetched until then stays.
pub(crate) async fn fetch(
    server: &mut ImapSession,
    mailboxes: &[Mailbox],
    plan: &Plan,
    spool: &Path,
) -> Result<()> {
    let all: usize = plan.folders.iter().map(|planned| planned.uids.len()).sum();
    let mut done = 0;
    for (n, planned) in plan.folders.iter().enumerate().filter(|(_, planned)| !planned.uids.is_empty()) {
        let folder = spool.join(n.to_string());
        make_private(&folder).with_context(|| shown_path(&folder))?;
        let there = there(&folder)?;
        done += there.len();
        let missing: Vec<u32> = planned.uids.iter().copied().filter(|uid| !there.contains(uid)).collect();
        let Some(mailbox) = mailboxes.iter().find(|mailbox| mailbox.name == planned.folder) else { continue };
        if missing.is_empty() {
            continue;
        }
        let opened = server.open(mailbox, false).await?;
        ensure!(
            opened.validity == planned.position.validity,
            "the server has renumbered the messages of {}; run train again",
            shown(&planned.folder)
        );
        for batch in missing.chunks(BATCH) {
            let fetched = server.fetch(batch).await?;
            for uid in batch {
                let message = fetched.iter().find(|message| message.uid == *uid && !message.is_deleted);
                put(&folder, *uid, message).with_context(|| shown_path(&folder))?;
            }
            let before = done;
            done += batch.len();
            if done / PROGRESS > before / PROGRESS {
                note!("read {} of {}", grouped(done as u64), counted(all as u64, "message"));
            }
        }
    }
    Ok(())
}

fn there(folder: &Path) -> Result<HashSet<u32>> {
    let entries = fs::read_dir(folder).with_context(|| shown_path(folder))?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect())
}

/// Writes a message under its UID, with the time of its arrival as the file's.
fn put(folder: &Path, uid: u32, message: Option<&FetchedMessage>) -> std::io::Result<()> {
    let mut file = tempfile::Builder::new().prefix("new-").tempfile_in(folder)?;
    if let Some(message) = message {
        file.write_all(&message.bytes)?;
        let seconds = u64::try_from(message.arrived.unwrap_or(0)).unwrap_or(0);
        file.as_file().set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))?;
    }
    file.persist(folder.join(uid.to_string()))?;
    Ok(())
}

/// When a message in the spool arrived, in seconds since 1970.
pub(crate) fn arrival(path: &Path) -> std::io::Result<i64> {
    let modified = fs::metadata(path)?.modified()?;
    let since = modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Ok(i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}
