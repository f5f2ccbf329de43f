//! The file that a model is read from, and detection of changes to it. Elsewhere than on Unix no file is opened.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use crate::disk::map::ModelBytes;
use crate::disk::memory::n_lost_pages;
use crate::disk::open;
use crate::error::{Error, Reason, Result};

/// The file of an open model, found by its path. It keeps no descriptor, so that thousands can be open.
pub struct ModelFile {
    path: PathBuf,
    opened: Stamp,
    /// The last state of the file in which everything read was still there.
    seen: Mutex<FileState>,
    /// Number of pages that the process had lost when it was opened.
    n_lost: usize,
}

/// Metadata that distinguish two states of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    /// Time of the last change of its content (mtime).
    modified: Option<SystemTime>,
    length: u64,
    inode: [u64; 2],
}

/// A state of a file, and the time of its last status change (ctime) in seconds since 1970 and nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FileState {
    stamp: Stamp,
    changed: [i64; 2],
    /// Whether it changed just before it was examined, so that its times may hide a later change.
    is_fresh: bool,
}

/// Maximum lag of a file system's clock, whose ticks are up to 10 ms.
const TICK: Duration = Duration::from_millis(20);

/// Device and inode of a file, and the time of its last status change.
#[cfg(unix)]
fn inode_and_change(metadata: &Metadata) -> ([u64; 2], [i64; 2]) {
    use std::os::unix::fs::MetadataExt;
    ([metadata.dev(), metadata.ino()], [metadata.ctime(), metadata.ctime_nsec()])
}

/// Elsewhere no file is opened.
#[cfg(not(unix))]
fn inode_and_change(_: &Metadata) -> ([u64; 2], [i64; 2]) {
    Default::default()
}

impl Stamp {
    fn from_metadata(metadata: &Metadata) -> Self {
        let (inode, _) = inode_and_change(metadata);
        Stamp { modified: metadata.modified().ok(), length: metadata.len(), inode }
    }
}

impl FileState {
    fn from_metadata(metadata: &Metadata) -> Self {
        let (_, changed) = inode_and_change(metadata);
        let at = Duration::new(changed[0].unsigned_abs(), changed[1].unsigned_abs() as u32);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        FileState { stamp: Stamp::from_metadata(metadata), changed, is_fresh: now.abs_diff(at) < TICK }
    }
}

impl ModelFile {
    /// Opens a file for mapping or reading. Elsewhere than on Unix, models only come as bytes, and this fails.
    pub fn open(path: &Path) -> Result<(Self, File)> {
        if cfg!(not(unix)) {
            return Err(Error::io(path)(io::ErrorKind::Unsupported.into()));
        }
        let n_lost = n_lost_pages();
        let (file, metadata) = open::open(path, OpenOptions::new().read(true))?;
        let (opened, seen) =
            (Stamp::from_metadata(&metadata), Mutex::new(FileState::from_metadata(&metadata)));
        Ok((ModelFile { path: path.to_path_buf(), opened, seen, n_lost }, file))
    }

    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Maps the file.
    pub fn map(&self, file: &File) -> Result<ModelBytes> {
        match self.opened.length {
            0 => Ok(ModelBytes::Owned(Vec::new())),
            length => ModelBytes::map(file, length as usize).map_err(Error::io(&self.path)),
        }
    }

    /// Reads the file to its current end, however far it has grown, since a slot is written after the segments it
    /// names.
    pub fn read(&self, mut file: &File) -> Result<ModelBytes> {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(Error::io(&self.path))?;
        Ok(ModelBytes::Owned(bytes))
    }

    /// Opens the file again. Returns `None` if another file is at its path now.
    pub fn open_again(&self) -> Option<File> {
        let (file, metadata) = open::open(&self.path, OpenOptions::new().read(true)).ok()?;
        (Stamp::from_metadata(&metadata).inode == self.opened.inode).then_some(file)
    }

    /// Whether the path still refers to the file, unchanged since it was opened.
    pub fn is_at_its_path(&self) -> Result<bool> {
        let metadata = fs::metadata(&self.path).map_err(Error::io(&self.path))?;
        Ok(Stamp::from_metadata(&metadata) == self.opened)
    }

    /// Checks that nothing but a learner has written to the file since it was opened. If the file's times and length
    /// leave that open, `is_as_read` says whether everything that was read is still there.
    pub fn check_unchanged(&self, is_as_read: impl FnOnce() -> bool) -> Result<()> {
        // zeros in the map, whatever the file has now
        if self.n_lost != n_lost_pages() {
            return Err(Reason::Unreadable { path: self.path.clone() }.into());
        }
        let now = self.now();
        if now.is_some_and(|now| now == self.last_seen() && !now.is_fresh) {
            return Ok(());
        }
        // the missing end of a file that became shorter must not be read
        let is_shorter = now.is_some_and(|now| now.stamp.length < self.opened.length);
        if is_shorter || !is_as_read() {
            return Err(Reason::Changed { path: self.path.clone() }.into());
        }
        if let Some(now) = now {
            *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = now;
        }
        Ok(())
    }

    /// Whether the file may have been written to since it was last found unchanged, if it is still at its path.
    pub fn may_have_changed(&self) -> bool {
        let seen = self.last_seen();
        self.now().is_some_and(|now| seen.is_fresh || now != seen)
    }

    /// The state of the file. Returns `None` if it is no longer at its path: a replaced or removed file has no times to
    /// compare.
    fn now(&self) -> Option<FileState> {
        let metadata = fs::metadata(&self.path).ok()?;
        Some(FileState::from_metadata(&metadata)).filter(|now| now.stamp.inode == self.opened.inode)
    }

    fn last_seen(&self) -> FileState {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file while it is open.
#[derive(Clone, Copy)]
pub struct MappedFile<'a> {
    /// What is known of it.
    pub source: &'a ModelFile,
    /// It, open.
    pub file: &'a File,
}

impl MappedFile<'_> {
    /// Reads at most `most` bytes from an offset. Needed because a map does not grow with the file, and only the
    /// immutable base may be read through it.
    pub fn read_from(&self, offset: usize, most: usize) -> Result<Vec<u8>> {
        let (mut file, mut bytes) = (self.file, Vec::new());
        file.seek(SeekFrom::Start(offset as u64))
            .and_then(|_| file.take(most as u64).read_to_end(&mut bytes))
            .map_err(Error::io(self.source.path()))?;
        Ok(bytes)
    }

    /// The mapped bytes of the file, or a map of at least `least` bytes if the file has grown since it was opened.
    pub(crate) fn map_more(&self, bytes: ModelBytes, least: usize) -> Result<ModelBytes> {
        if bytes.len() >= least {
            return Ok(bytes);
        }
        let length = self.file.metadata().map(|metadata| metadata.len());
        match length.map_err(Error::io(self.source.path()))? >= least as u64 {
            true => ModelBytes::map(self.file, least).map_err(Error::io(self.source.path())),
            false => Ok(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::thread::sleep;

    use super::*;

    #[test]
    fn what_was_found_unchanged_is_not_looked_at_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        fs::write(&path, "model").unwrap();
        let n = Cell::new(0);
        let is_as_read = || {
            n.set(n.get() + 1);
            true
        };
        let (source, _) = ModelFile::open(&path).unwrap();
        let write = |bytes: &[u8]| {
            use std::io::Write;
            OpenOptions::new().append(true).open(&path).unwrap().write_all(bytes).unwrap();
        };
        // opened just after it was written, appended to, and written in place
        for change in [&b""[..], b" and log", b""] {
            write(change);
            File::options().write(true).open(&path).unwrap().set_modified(SystemTime::now()).unwrap();
            sleep(2 * TICK);
            source.check_unchanged(is_as_read).unwrap();
            let looked = n.get();
            for _ in 0..9 {
                source.check_unchanged(is_as_read).unwrap();
            }
            assert_eq!(n.get(), looked);
        }
        assert!(n.get() > 0);
        assert!(source.check_unchanged(|| false).is_ok());
        assert!(!source.may_have_changed());
        write(b"more");
        assert!(source.may_have_changed());
        assert!(source.check_unchanged(|| false).is_err());
        File::create(&path).unwrap();
        assert!(source.check_unchanged(is_as_read).is_err());
        // a file that is no longer at its path stays as it was mapped
        fs::remove_file(&path).unwrap();
        assert!(!source.may_have_changed());
        source.check_unchanged(is_as_read).unwrap();
    }
}
