//! An unnamed temporary file. Elsewhere than on Unix there are none, and everything stays in memory.

use std::io;

use crate::disk::map::Bytes;

/// An unnamed file in the temporary directory.
#[cfg(unix)]
pub(crate) struct Temporary(std::fs::File);

#[cfg(unix)]
impl Temporary {
    pub(crate) fn new() -> io::Result<Self> {
        tempfile::tempfile().map(Temporary)
    }

    pub(crate) fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(&self.0, bytes, at)
    }

    pub(crate) fn read_at(&self, to: &mut [u8], at: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.0, to, at)
    }

    pub(crate) fn map(&self, length: usize) -> io::Result<Bytes> {
        Bytes::map(&self.0, length)
    }
}

/// Stands for a file. Never constructed.
#[cfg(not(unix))]
pub(crate) enum Temporary {}

#[cfg(not(unix))]
impl Temporary {
    pub(crate) fn new() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn write_at(&self, _bytes: &[u8], _at: u64) -> io::Result<()> {
        match *self {}
    }

    pub(crate) fn read_at(&self, _to: &mut [u8], _at: u64) -> io::Result<()> {
        match *self {}
    }

    pub(crate) fn map(&self, _length: usize) -> io::Result<Bytes> {
        match *self {}
    }
}
