//! The journal and the positions on the disk, and the lock that lets one program at a time write them.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use tamis_program::{now, shown_path};

use crate::files::{read_if_there, replace};
use crate::ledger::entry::{Event, Id, JournalEntry};
use crate::ledger::messages::MessageStates;

/// How far a folder was read: everything with a lower UID is dealt with.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub(crate) struct FolderPosition {
    pub(crate) validity: u32,
    pub(crate) next_uid: u32,
    /// The server's count of changes when it was last read for marks.
    pub(crate) modseq: Option<u64>,
}

/// The positions of all folders.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize, Debug)]
pub(crate) struct Positions {
    pub(crate) folders: BTreeMap<String, FolderPosition>,
    /// When the inbox was last read to its end, in seconds since 1970.
    pub(crate) inbox_read_at: Option<i64>,
    /// When the last digest was sent, in seconds since 1970.
    pub(crate) digest_at: Option<i64>,
}

/// The names of the two files.
const JOURNAL: &str = "journal.jsonl";
const POSITIONS: &str = "positions.json";

/// The journal of an account, with what it says.
///
/// Other programs are locked out from [`lock`](Self::lock) to [`unlock`](Self::unlock). A line counts once it ends with a
/// line feed: a crash can only cut off the last one.
pub(crate) struct Ledger {
    path: PathBuf,
    journal: File,
    /// Bytes of whole lines.
    length: u64,
    pub(crate) messages: MessageStates,
    pub(crate) positions: Positions,
}

impl Ledger {
    /// Opens the ledger in a folder, locked.
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        let path = folder.join(JOURNAL);
        let mut options = OpenOptions::new();
        let journal = options.read(true).append(true).create(true).mode(0o600).open(&path);
        let journal = journal.with_context(|| shown_path(&path))?;
        let (messages, positions) = (MessageStates::default(), Positions::default());
        let mut ledger = Ledger { path, journal, length: 0, messages, positions };
        ledger.lock()?;
        Ok(ledger)
    }

    /// Waits until no other program has the ledger, and reads what others wrote.
    pub(crate) fn lock(&mut self) -> Result<()> {
        self.journal.lock().with_context(|| shown_path(&self.path))?;
        self.positions = read_if_there(&self.path.with_file_name(POSITIONS))?.unwrap_or_default();
        let messages = &mut self.messages;
        let read = read(&self.journal, self.length, |entry| messages.apply(entry));
        self.length = read.with_context(|| shown_path(&self.path))?;
        // half a line of a crash
        self.journal.set_len(self.length).with_context(|| shown_path(&self.path))
    }

    /// Lets other programs have the ledger.
    pub(crate) fn unlock(&self) {
        // a lock that cannot be released ends with the program
        let _ = self.journal.unlock();
    }

    /// All entries, the oldest first.
    pub(crate) fn entries(folder: &Path) -> Result<Vec<JournalEntry>> {
        let path = folder.join(JOURNAL);
        let mut entries = Vec::new();
        match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(entries),
            file => {
                let read = file.map_err(Into::into).and_then(|file| read(&file, 0, |it| entries.push(it)));
                read.with_context(|| shown_path(&path)).map(|_| entries)
            }
        }
    }

    /// Writes entries to the disk, then applies them.
    ///
    /// # Errors
    /// If they cannot be written; then none of them counts.
    pub(crate) fn note(&mut self, events: impl IntoIterator<Item = (Id, Event)>) -> Result<()> {
        let at = now();
        let entries: Vec<JournalEntry> =
            events.into_iter().map(|(id, event)| JournalEntry { at: at.clone(), id, event }).collect();
        if entries.is_empty() {
            return Ok(());
        }
        let mut text = Vec::new();
        for entry in &entries {
            serde_json::to_writer(&mut text, entry)?;
            text.push(b'\n');
        }
        let written = self.journal.write_all(&text).and_then(|()| self.journal.sync_data());
        if let Err(error) = written {
            // on a full disk a part may be there; if it stays, the next reader cuts it off
            let _ = self.journal.set_len(self.length);
            return Err(error).with_context(|| shown_path(&self.path));
        }
        self.length += text.len() as u64;
        entries.into_iter().for_each(|entry| self.messages.apply(entry));
        Ok(())
    }

    /// Writes the positions to the disk.
    pub(crate) fn keep_positions(&self) -> Result<()> {
        replace(&self.path.with_file_name(POSITIONS), &serde_json::to_vec(&self.positions)?)
    }
}

/// Reads all whole lines from a byte offset on. Returns the offset after them.
fn read(file: &File, from: u64, mut take: impl FnMut(JournalEntry)) -> Result<u64> {
    let mut reader = BufReader::new(file);
    reader.seek(SeekFrom::Start(from))?;
    let (mut line, mut length) = (Vec::new(), from);
    loop {
        line.clear();
        reader.read_until(b'\n', &mut line)?;
        if line.last() != Some(&b'\n') {
            return Ok(length);
        }
        take(serde_json::from_slice(&line).with_context(|| format!("the line at byte {length}"))?);
        length += line.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::imap::messages::Location;

    fn place(uid: u32) -> Location {
        Location { folder: "INBOX".to_owned(), validity: 1, uid }
    }

    #[test]
    fn what_was_noted_is_known_again_whatever_the_last_line_lost() {
        let folder = tempfile::tempdir().unwrap();
        let id = |n: u8| Id::hash(&[n]);
        let mut ledger = Ledger::open(folder.path()).unwrap();
        ledger
            .note([(id(1), Event::Left { place: place(1), opinion: None }), (id(2), Event::Teaching)])
            .unwrap();
        let label = Some("spam".to_owned());
        ledger.note([(id(2), Event::Taught { label, place: None, links: Vec::new() })]).unwrap();
        drop(ledger);
        let path = folder.path().join("journal.jsonl");
        let whole = fs::read(&path).unwrap();
        let lines = whole.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::len);
        let ends: Vec<usize> = lines
            .scan(0, |end, length| {
                *end += length;
                Some(*end)
            })
            .collect();
        for cut in 0..=whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            let mut ledger = Ledger::open(folder.path()).unwrap();
            let n = ends.iter().filter(|end| **end <= cut).count();
            assert_eq!(ledger.messages.get(id(1)).is_some(), n > 0);
            let second = ledger.messages.get(id(2));
            assert_eq!(second.is_some_and(|known| known.is_being_taught), n == 2);
            assert_eq!(second.and_then(|known| known.learned.as_deref()), (n == 3).then_some("spam"));
            ledger.note([(id(3), Event::Teaching)]).unwrap();
            drop(ledger);
            assert_eq!(Ledger::entries(folder.path()).unwrap().len(), n + 1);
        }
    }
}
