//! The outbox: a file of entries that wait to be sent. An entry is on the disk before the model has learned it, so the
//! fleet is told of whatever a server has learned, even if it is killed in between.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::outbox::entry::Entry;

/// Entries that wait to be sent to the fleet.
pub(crate) struct Outbox {
    sender: u64,
    state: Mutex<State>,
    /// Wakes the task that sends.
    pub(crate) more: Notify,
}

struct State {
    file: File,
    waiting: VecDeque<Entry>,
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
        while let Some((entry, length)) = Entry::read(&bytes[at..]) {
            waiting.push_back(entry);
            at += length;
        }
        if at < bytes.len() {
            file.set_len(at as u64)?;
        }
        let mut random = [0; 8];
        File::open("/dev/urandom")?.read_exact(&mut random)?;
        let state = State { file, waiting, last: 0 };
        Ok(Outbox { sender: u64::from_le_bytes(random), state: Mutex::new(state), more: Notify::new() })
    }

    /// Puts records of a model into the outbox; they are on the disk when this returns.
    ///
    /// # Errors
    /// If they cannot be written. None of them is sent then.
    pub(crate) fn put(&self, model: &str, records: Vec<Vec<u8>>) -> io::Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        let mut state = self.lock();
        let (mut bytes, mut entries) = (Vec::new(), Vec::new());
        for (record, number) in records.into_iter().zip(state.last + 1..) {
            let entry = Entry { model: model.to_owned(), sender: self.sender, number, record };
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
    pub(crate) fn first(&self, n: usize) -> Vec<Entry> {
        self.lock().waiting.iter().take(n).cloned().collect()
    }

    /// Removes the first `n` entries, which the fleet has been told. The file is emptied when nothing waits; entries
    /// that are sent twice because of a crash before that are skipped by their numbers.
    ///
    /// # Errors
    /// If the file cannot be changed.
    pub(crate) fn sent(&self, n: usize) -> io::Result<()> {
        let mut state = self.lock();
        let n = n.min(state.waiting.len());
        state.waiting.drain(..n);
        if state.waiting.is_empty() { state.file.set_len(0) } else { Ok(()) }
    }

    /// Number of entries that wait.
    pub(crate) fn len(&self) -> usize {
        self.lock().waiting.len()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // nothing is left half done
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        outbox.sent(2).unwrap();
        outbox.put("", vec![vec![4]]).unwrap();
        let numbers: Vec<_> = outbox.first(9).into_iter().map(|entry| (entry.number, entry.record)).collect();
        assert_eq!(numbers, [(3, vec![3]), (1, vec![4])]);
        outbox.sent(2).unwrap();
        assert_eq!((outbox.len(), path.metadata().unwrap().len()), (0, 0));
    }
}
