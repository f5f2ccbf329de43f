//! Files that settings name.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Maximum bytes of a file.
const MOST: u64 = 64 << 20;

/// Reads a file, but nothing that has no end or may be waited for.
///
/// # Errors
/// If it is no file, has more than 64 MiB, is not UTF-8 or cannot be read.
pub(crate) fn read_file(path: &Path) -> io::Result<String> {
    let flags = OFlags::NONBLOCK.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let metadata = file.metadata()?;
    let too_large = || io::Error::new(ErrorKind::InvalidInput, "expected a file of at most 64 MiB");
    if !metadata.is_file() || metadata.len() > MOST {
        return Err(too_large());
    }
    let mut text = String::new();
    file.take(MOST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST { Err(too_large()) } else { Ok(text) }
}
