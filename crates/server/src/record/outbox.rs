//! The outbox: a file of entries that wait to be sent. An entry is on the disk before the model has learned it, so the
//! fleet is told of whatever a server has learned, even if it is killed in between.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tokio::sync::Notify;

use crate::lock::lock;

/// What one server has learned, for the others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct OutboxEntry {
    /// The model's name, as [`Model::name`](crate::models::model::LiveModel::name).
    pub(crate) model: String,
    /// The process that learned it: a random number, so that a copied folder does not pretend to be this server.
    pub(crate) sender: u64,
    /// Which of its records this is, from 1. The others skip what they have had.
    pub(crate) number: u64,
    /// The bytes of the [`Record`](tamis_train::distributed::Record).
    pub(crate) record: Vec<u8>,
}

/// Maximum bytes of a model's name, and of a record: a mail has some kilobytes.
const MOST_NAME: usize = 1 << 10;
const MOST_RECORD: usize = 64 << 20;

impl OutboxEntry {
    /// Lengths, numbers, name and record, with a checksum.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend((self.model.len() as u32).to_le_bytes());
        out.extend((self.record.len() as u32).to_le_bytes());
        out.extend(self.sender.to_le_bytes());
        out.extend(self.number.to_le_bytes());
        out.extend(self.model.as_bytes());
        out.extend(&self.record);
        let sum = crc32fast::hash(&out[begin..]);
        out.extend(sum.to_le_bytes());
    }

    /// The first entry of `bytes`, and its length; `None` if it is not whole.
    pub(crate) fn read(bytes: &[u8]) -> Option<(OutboxEntry, usize)> {
        let number = |at: usize, n: usize| -> Option<u64> {
            let mut wide = [0; 8];
            wide[..n].copy_from_slice(bytes.get(at..at + n)?);
            Some(u64::from_le_bytes(wide))
        };
        let (name, record) = (number(0, 4)? as usize, number(4, 4)? as usize);
        if name > MOST_NAME || record > MOST_RECORD {
            return None;
        }
        let end = 24 + name + record;
        let sum = number(end, 4)?;
        if u64::from(crc32fast::hash(&bytes[..end])) != sum {
            return None;
        }
        let model = String::from_utf8(bytes[24..24 + name].to_vec()).ok()?;
        let (sender, number) = (number(8, 8)?, number(16, 8)?);
        let entry = OutboxEntry { model, sender, number, record: bytes[24 + name..end].to_vec() };
        Some((entry, end + 4))
    }
}

/// Entries that wait to be sent to the fleet.
pub(crate) struct Outbox {
    /// The folder of what a member of the fleet keeps.
    pub(crate) folder: PathBuf,
    sender: u64,
    state: Mutex<OutboxState>,
    /// Wakes the task that sends.
    pub(crate) more: Notify,
}

struct OutboxState {
    file: File,
    waiting: VecDeque<OutboxEntry>,
    /// The number of the last entry of this process.
    last: u64,
}

impl Outbox {
    /// Opens the outbox of a folder, with what an earlier process left there. A torn last entry was never answered, and
    /// is cut off.
    ///
    /// # Errors
    /// If the file cannot be read and written, or the system has no random bytes.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let mut file =
            options.read(true).append(true).create(true).mode(0o600).open(folder.join("fleet-outbox"))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let (mut waiting, mut at) = (VecDeque::new(), 0);
        while let Some((entry, length)) = OutboxEntry::read(&bytes[at..]) {
            waiting.push_back(entry);
            at += length;
        }
        if at < bytes.len() {
            file.set_len(at as u64)?;
        }
        let mut random = [0; 8];
        File::open("/dev/urandom")?.read_exact(&mut random)?;
        let state = Mutex::new(OutboxState { file, waiting, last: 0 });
        let sender = u64::from_le_bytes(random);
        Ok(Outbox { folder: folder.to_owned(), sender, state, more: Notify::new() })
    }

    /// Puts records of a model into the outbox; they are on the disk when this returns.
    ///
    /// # Errors
    /// If they cannot be written. None of them is sent then.
    pub(crate) fn put(&self, model: &str, records: Vec<Vec<u8>>) -> io::Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        let mut state = lock(&self.state);
        let (mut bytes, mut entries) = (Vec::new(), Vec::new());
        for (record, number) in records.into_iter().zip(state.last + 1..) {
            let entry = OutboxEntry { model: model.to_owned(), sender: self.sender, number, record };
            entry.write(&mut bytes);
            entries.push(entry);
        }
        let before = state.file.metadata()?.len();
        if let Err(error) = state.file.write_all(&bytes).and_then(|()| state.file.sync_data()) {
            let _ = state.file.set_len(before);
            return Err(error);
        }
        state.last += entries.len() as u64;
        state.waiting.extend(entries);
        drop(state);
        self.more.notify_one();
        Ok(())
    }

    /// The first `n` entries that wait, without removing them.
    pub(crate) fn first(&self, n: usize) -> Vec<OutboxEntry> {
        lock(&self.state).waiting.iter().take(n).cloned().collect()
    }

    /// Removes the first `n` entries, which the fleet has been told. The file is emptied when nothing waits; entries
    /// that are sent twice because of a crash before that are skipped by their numbers.
    ///
    /// # Errors
    /// If the file cannot be changed.
    pub(crate) fn remove(&self, n: usize) -> io::Result<()> {
        let mut state = lock(&self.state);
        let n = n.min(state.waiting.len());
        state.waiting.drain(..n);
        if state.waiting.is_empty() { state.file.set_len(0) } else { Ok(()) }
    }

    /// Number of entries that wait.
    pub(crate) fn len(&self) -> usize {
        lock(&self.state).waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_was_put_survives_and_what_was_sent_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let outbox = Outbox::open(folder.path()).unwrap();
        outbox.put("", vec![vec![1], vec![2]]).unwrap();
        outbox.put("user/joe", vec![vec![3]]).unwrap();
        let before = outbox.first(9);
        drop(outbox);
        // torn by a crash
        let path = folder.path().join("fleet-outbox");
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(&[1, 0, 0]).unwrap();

        let outbox = Outbox::open(folder.path()).unwrap();
        assert_eq!(outbox.first(9), before);
        outbox.remove(2).unwrap();
        outbox.put("", vec![vec![4]]).unwrap();
        let numbers: Vec<_> = outbox.first(9).into_iter().map(|entry| (entry.number, entry.record)).collect();
        assert_eq!(numbers, [(3, vec![3]), (1, vec![4])]);
        outbox.remove(2).unwrap();
        assert_eq!((outbox.len(), path.metadata().unwrap().len()), (0, 0));
    }

    proptest! {
        #[test]
        fn entries_come_back_and_no_part_of_one_does(
            model in "[a-z/]{0,9}", sender: u64, number: u64, record: Vec<u8>, cut: proptest::sample::Index,
        ) {
            let entry = OutboxEntry { model, sender, number, record };
            let mut bytes = Vec::new();
            entry.write(&mut bytes);
            prop_assert_eq!(OutboxEntry::read(&bytes), Some((entry, bytes.len())));
            prop_assert_eq!(OutboxEntry::read(&bytes[..cut.index(bytes.len())]), None);
        }

        #[test]
        fn other_bytes_are_no_entry(bytes: Vec<u8>) {
            prop_assert_eq!(OutboxEntry::read(&bytes), None);
        }
    }
}
