//! The file that a model is read from, and detection of changes to it.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::disk::map::Bytes;
use crate::disk::open;
use crate::error::{Error, ErrorKind, Result};

/// An open model file.
pub(crate) struct ModelFile {
    path: PathBuf,
    file: File,
    stamp: Stamp,
    changed: Changed,
    /// Whether it was changed just before it was opened, so that its times may hide a later change.
    is_fresh: bool,
}

/// Metadata that tell two states of a file apart.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    /// Time of the last change of its content (mtime).
    modified: Option<SystemTime>,
    length: u64,
    inode: (u64, u64),
}

/// Time of the last status change (ctime): seconds since 1970 and nanoseconds.
type Changed = (i64, i64);

/// Maximum lag of a file system's clock, whose ticks are up to 10 ms.
const TICK: Duration = Duration::from_millis(20);

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        let inode = {
            use std::os::unix::fs::MetadataExt;
            (metadata.dev(), metadata.ino())
        };
        Stamp { modified: metadata.modified().ok(), length: metadata.len(), inode }
    }
}

fn changed(metadata: &Metadata) -> Changed {
    use std::os::unix::fs::MetadataExt;
    (metadata.ctime(), metadata.ctime_nsec())
}

/// Whether a file was changed so recently that a change now might not alter its times.
fn is_fresh((seconds, nanoseconds): Changed) -> bool {
    let at = Duration::new(seconds.unsigned_abs(), nanoseconds.unsigned_abs() as u32);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    now.abs_diff(at) < TICK
}

impl ModelFile {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let (file, metadata) = open::open(path, OpenOptions::new().read(true))?;
        let (stamp, changed) = (Stamp::of(&metadata), changed(&metadata));
        Ok(ModelFile { path: path.to_path_buf(), file, stamp, changed, is_fresh: is_fresh(changed) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Maps the file.
    pub(crate) fn map(&self) -> Result<Bytes> {
        match self.stamp.length {
            0 => Ok(Bytes::Owned(Vec::new())),
            length => Bytes::map(&self.file, length as usize).map_err(Error::io(&self.path)),
        }
    }

    /// Reads the file, in a consistent state.
    pub(crate) fn read(&self) -> Result<Bytes> {
        let bytes = self.read_all()?;
        self.check_unchanged(|| self.read_all().is_ok_and(|again| again == bytes))?;
        Ok(Bytes::Owned(bytes))
    }

    /// Reads the file without what a learner appended since it was opened.
    fn read_all(&self) -> Result<Vec<u8>> {
        let (mut file, mut bytes) = (&self.file, Vec::new());
        file.seek(SeekFrom::Start(0)).map_err(Error::io(&self.path))?;
        file.take(self.stamp.length).read_to_end(&mut bytes).map_err(Error::io(&self.path))?;
        Ok(bytes)
    }

    /// Reads at most `most` bytes from an offset. A map does not grow with the file, and only the immutable base may be
    /// read through it.
    pub(crate) fn read_from(&self, offset: usize, most: usize) -> Result<Vec<u8>> {
        let (mut file, mut bytes) = (&self.file, Vec::new());
        if offset as u64 == self.stamp.length {
            // empty when it was opened
            return Ok(bytes);
        }
        file.seek(SeekFrom::Start(offset as u64)).map_err(Error::io(&self.path))?;
        file.take(most as u64).read_to_end(&mut bytes).map_err(Error::io(&self.path))?;
        Ok(bytes)
    }

    /// The mapped bytes of the file; or, if it has grown since it was opened, at least `least` bytes.
    pub(crate) fn map_more(&self, bytes: Bytes, least: usize) -> Result<Bytes> {
        let length = || self.file.metadata().map_err(Error::io(&self.path)).map(|metadata| metadata.len());
        match bytes.len() < least && length()? >= least as u64 {
            true => Bytes::map(&self.file, least).map_err(Error::io(&self.path)),
            false => Ok(bytes),
        }
    }

    /// Whether the path still refers to the file, unchanged since it was opened.
    pub(crate) fn is_at_its_path(&self) -> Result<bool> {
        let metadata = fs::metadata(&self.path).map_err(Error::io(&self.path))?;
        Ok(Stamp::of(&metadata) == self.stamp)
    }

    /// Checks that nothing was written to the file since it was opened, except by a learner. If the file's times and
    /// length do not tell, `is_as_read` says whether everything that was read is still there.
    pub(crate) fn check_unchanged(&self, is_as_read: impl FnOnce() -> bool) -> Result<()> {
        let metadata = self.file.metadata().map_err(Error::io(&self.path))?;
        let now = Stamp::of(&metadata);
        if now == self.stamp && changed(&metadata) == self.changed && !self.is_fresh {
            return Ok(());
        }
        // something may have been appended; or only the file's names were changed, as when it is replaced
        let may_be_unchanged = now.length > self.stamp.length || now == self.stamp;
        match may_be_unchanged && is_as_read() {
            true => Ok(()),
            false => Err(ErrorKind::Changed { path: self.path.clone() }.into()),
        }
    }
}
