//! The bytes of a model.

use std::io::{self, Write};
#[cfg(feature = "files")]
use std::path::Path;

#[cfg(feature = "files")]
use crate::disk::lock::{LOCK_TIMEOUT, Lock};
use crate::disk::map::Bytes;
use crate::disk::spool::Spool;
use crate::error::Result;

/// A trained model: the bytes of its file, in memory or, if it is large, in a temporary file.
pub struct Model {
    whole: Spool,
    /// Map of the temporary file.
    map: Option<Bytes>,
}

impl Clone for Model {
    fn clone(&self) -> Self {
        Model::of_bytes(self.as_bytes().to_vec())
    }
}

impl PartialEq for Model {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Model {}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Model({} bytes)", self.whole.len())
    }
}

impl Model {
    pub(crate) fn of_bytes(bytes: Vec<u8>) -> Self {
        Model { whole: bytes.into(), map: None }
    }

    pub(crate) fn new(mut whole: Spool) -> io::Result<Self> {
        let map = whole.map()?;
        Ok(Model { whole, map })
    }

    /// The bytes of the model file. The same documents give the same bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.map.as_deref().or(self.whole.in_memory()).unwrap_or_default()
    }

    /// Writes all bytes. If they are in a file, writes in chunks.
    pub(crate) fn write_to(&self, mut out: impl Write) -> io::Result<()> {
        self.whole.for_each(|bytes| out.write_all(bytes))
    }

    /// Writes the model to a file, replacing what is there in one step: a reader sees the old file or the new one,
    /// never a part. Writers take turns on `PATH.lock` and wait at most a minute. A new file is readable by its owner
    /// only. A replaced file keeps its mode.
    ///
    /// # Errors
    /// As [`Lock::wait`] and [`Lock::save`]. An existing file stays as it was.
    #[cfg(feature = "files")]
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        Lock::wait(path, LOCK_TIMEOUT)?.save(self)
    }

    /// All bytes, mapped if they are in a file.
    pub(crate) fn into_bytes(self) -> Bytes {
        self.map.unwrap_or_else(|| Bytes::Owned(self.whole.into_memory()))
    }
}

#[cfg(feature = "files")]
impl Lock {
    /// Rewrites the file in one step. A reader, even after a crash, sees the old file or the new one.
    ///
    /// A new file is private (mode 0600). A replaced file keeps its mode and, where permitted, its owner. Until it is
    /// complete it has another name, which only the holder of the lock uses. The next writer removes what a stopped
    /// writer left behind.
    ///
    /// # Errors
    /// If the file cannot be written. An existing file stays as it was.
    pub fn save(&self, model: &Model) -> Result<()> {
        self.replace(|file| model.write_to(file))
    }
}
