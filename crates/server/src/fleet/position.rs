//! How far the stream has been read, on the disk.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// How far a server has read the stream. Copied together with its models, it lets another server start from there.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub(crate) struct Position {
    /// The id of the last entry that was applied.
    pub(crate) id: String,
    /// The number of the last record of each sender. A record that was sent twice is skipped the second time.
    pub(crate) last: BTreeMap<u64, u64>,
}

impl Default for Position {
    fn default() -> Self {
        Position { id: "0-0".to_owned(), last: BTreeMap::new() }
    }
}

fn path(folder: &Path) -> PathBuf {
    folder.join("fleet-position.json")
}

impl Position {
    /// The position of a folder; the beginning of the stream if none is stored.
    ///
    /// # Errors
    /// If the file cannot be read, or is not a position.
    pub(crate) fn load(folder: &Path) -> io::Result<Self> {
        match fs::read(path(folder)) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(Into::into),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Position::default()),
            Err(error) => Err(error),
        }
    }

    /// Stores the position. If the machine stops before it is on the disk, records are applied again, in order.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn save(&self, folder: &Path) -> io::Result<()> {
        let (path, new) = (path(folder), folder.join(".fleet-position.json.new"));
        let mut file = File::create(&new)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        // otherwise the renamed file could be empty after a crash
        file.sync_data()?;
        fs::rename(new, path)
    }

    /// Notes a record; false if it was noted before.
    pub(crate) fn note(&mut self, sender: u64, number: u64) -> bool {
        let last = self.last.entry(sender).or_default();
        let is_new = number > *last;
        *last = number.max(*last);
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_was_sent_twice_is_noted_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut position = Position::load(folder.path()).unwrap();
        assert!(position.note(7, 1) && position.note(7, 2) && position.note(8, 1));
        position.id = "5-1".to_owned();
        position.save(folder.path()).unwrap();
        let mut position = Position::load(folder.path()).unwrap();
        assert_eq!(position.id, "5-1");
        assert!(!position.note(7, 1) && !position.note(7, 2) && position.note(7, 3));
    }
}
