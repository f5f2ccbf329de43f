//! The only unsafe code of the project: mapping a model file.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Deref;

/// The bytes of a model file, mapped or owned.
pub(crate) enum Bytes {
    Mapped(memmap2::Mmap),
    Owned(Vec<u8>),
}

impl Bytes {
    /// Maps a file.
    pub(crate) fn map(file: &File) -> io::Result<Self> {
        // SAFETY: the map is read-only and private to this value. It would be unsound if someone changed the
        // file in place; model files are only ever replaced by renaming a new file over them, which leaves the
        // mapped one as it was, or appended to, beyond the mapped length. For files that others may write in
        // place, `Filter::from_bytes` reads without a map.
        unsafe { memmap2::Mmap::map(file) }.map(Bytes::Mapped)
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map) => map,
            Bytes::Owned(bytes) => bytes,
        }
    }
}
