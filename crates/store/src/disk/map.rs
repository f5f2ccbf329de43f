//! Memory maps.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Deref;

/// The bytes of a model file.
pub enum ModelBytes {
    /// Mapped from a file.
    #[cfg(unix)]
    Mapped(memmap2::Mmap),
    /// In memory.
    Owned(Vec<u8>),
    /// Owned by the caller, who may share them.
    Shared(Box<dyn AsRef<[u8]> + Send + Sync>),
}

impl ModelBytes {
    /// Maps the first `length` bytes of a file.
    #[cfg(unix)]
    pub fn map(file: &File, length: usize) -> io::Result<Self> {
        // SAFETY: the map is read-only and private to this value, and its bytes are read as numbers and text that are
        // checked first. Model files are only replaced by renaming a new file over them, which leaves the mapped one as
        // it was, or appended to, beyond the mapped length. If another program changes the file in place, its bytes
        // change under the reader: no index or length is taken from the map without a check, and
        // `Filter::check_unchanged` reports that scores are worthless. For files that others may write in place,
        // `Filter::read` reads without a map.
        let map = unsafe { memmap2::MmapOptions::new().len(length).map(file) }?;
        // Terms are looked up all over the file. This asks for huge pages in the file's cache, which the system grants
        // if the file is not cached yet; a page fault then loads 2 MB. Without them everything works, only slower.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        Ok(ModelBytes::Mapped(map))
    }

    /// Fails: elsewhere than on Unix nothing is mapped.
    #[cfg(not(unix))]
    pub fn map(_: &File, _: usize) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Whether the bytes can change under the reader.
    pub fn is_mapped(&self) -> bool {
        match self {
            #[cfg(unix)]
            ModelBytes::Mapped(_) => true,
            ModelBytes::Owned(_) | ModelBytes::Shared(_) => false,
        }
    }
}

impl Deref for ModelBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            #[cfg(unix)]
            ModelBytes::Mapped(map) => map,
            ModelBytes::Owned(bytes) => bytes,
            ModelBytes::Shared(bytes) => (**bytes).as_ref(),
        }
    }
}
