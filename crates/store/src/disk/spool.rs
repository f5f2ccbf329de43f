//! An append-only buffer: in memory up to a bound, then in a temporary file.

use std::fs::File;
use std::io;
#[cfg(unix)]
use std::os::unix::fs::FileExt;

use crate::disk::map::ModelBytes;
use crate::error::{Error, Reason};

/// Maximum bytes held in memory; unlimited without temporary files.
pub const IN_MEMORY: usize = if cfg!(unix) { 64 << 20 } else { usize::MAX };

/// Bytes written to the file at a time.
const AT_ONCE: usize = 1 << 20;

/// A buffer whose bytes beyond the bound are in an unnamed file in the temporary directory. The file is read and
/// written, not mapped, so that its cached pages do not count as memory of this process.
pub struct Spool {
    file: Option<File>,
    /// Bytes in the file.
    written: u64,
    /// The bytes after those in the file.
    tail: Vec<u8>,
    /// Maximum bytes held in memory before there is a file.
    bound: usize,
}

impl Default for Spool {
    fn default() -> Self {
        Spool::with_bound(IN_MEMORY)
    }
}

impl From<Vec<u8>> for Spool {
    fn from(bytes: Vec<u8>) -> Self {
        Spool { tail: bytes, ..Spool::default() }
    }
}

impl Spool {
    /// An empty buffer that holds at most so many bytes in memory, as long as there are temporary files.
    pub fn with_bound(bytes: usize) -> Spool {
        let bound = if cfg!(unix) { bytes } else { IN_MEMORY };
        Spool { file: None, written: 0, tail: Vec::new(), bound }
    }

    /// The number of bytes.
    #[allow(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> u64 {
        self.written + self.tail.len() as u64
    }

    /// Appends all of the bytes, or none on an error.
    pub fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        let bound = if self.file.is_some() { AT_ONCE } else { self.bound };
        if self.tail.len() + bytes.len() > bound {
            self.write()?;
        }
        self.tail.extend_from_slice(bytes);
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(temporary_file()?),
        };
        file.write_all_at(&self.tail, self.written)?;
        self.written += self.tail.len() as u64;
        self.tail.clear();
        self.tail.shrink_to(AT_ONCE);
        Ok(())
    }

    /// Appends the `len` bytes from `at` on to a buffer. They must exist.
    pub fn read(&self, at: u64, len: usize, to: &mut Vec<u8>) -> io::Result<()> {
        let in_file = self.written.saturating_sub(at).min(len as u64) as usize;
        let (start, first) = (to.len(), (at + in_file as u64).saturating_sub(self.written) as usize);
        to.resize(start + in_file, 0);
        if let Some(file) = self.file.as_ref().filter(|_| in_file > 0) {
            file.read_exact_at(&mut to[start..], at)?;
        }
        let rest = self.tail.get(first..first + len - in_file).ok_or(io::ErrorKind::UnexpectedEof)?;
        to.extend_from_slice(rest);
        Ok(())
    }

    /// All bytes, if they are in memory.
    pub fn in_memory(&self) -> Option<&[u8]> {
        self.file.is_none().then_some(&self.tail)
    }

    /// The bytes in memory: all of them if there is no file.
    pub fn into_memory(self) -> Vec<u8> {
        self.tail
    }

    /// A map of the file, if there is one.
    pub fn map(&mut self) -> io::Result<Option<ModelBytes>> {
        if self.file.is_some() {
            self.write()?;
        }
        self.file.as_ref().map(|file| ModelBytes::map(file, self.written as usize)).transpose()
    }

    /// Visits all bytes in order, in chunks.
    pub fn for_each(&self, mut visit: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let (mut at, mut buffer) = (0, Vec::new());
        while at < self.written {
            buffer.clear();
            let len = (self.written - at).min(AT_ONCE as u64) as usize;
            self.read(at, len, &mut buffer)?;
            visit(&buffer)?;
            at += len as u64;
        }
        visit(&self.tail)
    }
}

/// A cursor for reading a spool forwards, in steps of any size.
pub struct Cursor<'a> {
    spool: &'a Spool,
    /// Bytes read at a time.
    at_once: usize,
    start: u64,
    buffer: Vec<u8>,
}

impl<'a> Cursor<'a> {
    /// A cursor that reads at least `at_once` bytes at a time.
    pub fn new(spool: &'a Spool, at_once: usize) -> Self {
        Cursor { spool, at_once, start: 0, buffer: Vec::new() }
    }

    /// The bytes from `at` on: at least `least`, or all that remain.
    pub fn from(&mut self, at: u64, least: usize) -> io::Result<&[u8]> {
        if let Some(tail) = at.checked_sub(self.spool.written) {
            return Ok(self.spool.tail.get(tail as usize..).unwrap_or_default());
        }
        let least = (least as u64).min(self.spool.len() - at);
        let end = self.start + self.buffer.len() as u64;
        if at < self.start || at + least > end {
            let len = (self.spool.len() - at).min(least.max(self.at_once as u64)) as usize;
            self.buffer.clear();
            self.spool.read(at, len, &mut self.buffer)?;
            self.start = at;
        }
        Ok(&self.buffer[(at - self.start) as usize..])
    }
}

/// An unnamed file in the temporary directory.
#[cfg(unix)]
fn temporary_file() -> io::Result<File> {
    tempfile::tempfile()
}

/// Fails: elsewhere than on Unix everything stays in memory.
#[cfg(not(unix))]
fn temporary_file() -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Stands for the methods of files on Unix. Never called.
#[cfg(not(unix))]
trait FileExt {
    fn write_all_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn read_exact_at(&self, _: &mut [u8], _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(not(unix))]
impl FileExt for File {}

/// The error for a temporary file that could not be used.
pub fn spill(source: io::Error) -> Error {
    Reason::Io { path: std::env::temp_dir(), source }.into()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_from_memory_and_file() {
        let mut spool = Spool::default();
        let piece = |i: u32| {
            (0..1 << 18).flat_map(move |n: u32| (n ^ i.wrapping_mul(77)).to_le_bytes()).collect::<Vec<_>>()
        };
        let n = IN_MEMORY as u32 / (1 << 20) + 5;
        let mut all = Vec::new();
        for i in 0..n {
            let piece = piece(i);
            spool.push(&piece[i as usize..]).unwrap();
            all.extend_from_slice(&piece[i as usize..]);
        }
        assert!(spool.file.is_some() && !spool.tail.is_empty() && spool.len() == all.len() as u64);
        let mut got = Vec::new();
        let visited = spool.for_each(|bytes| {
            got.extend_from_slice(bytes);
            Ok(())
        });
        visited.unwrap();
        assert!(got == all);
        let written = spool.written as usize;
        for (at, len) in [(0, 9), (written - 3, 8), (written, 4), (written + 1, 4), (all.len(), 0)] {
            let (mut read, mut cursor) = (b"before".to_vec(), Cursor::new(&spool, 100));
            spool.read(at as u64, len, &mut read).unwrap();
            assert_eq!(&read[6..], &all[at..at + len]);
            assert_eq!(&cursor.from(at as u64, len).unwrap()[..len], &all[at..at + len]);
        }
        assert!(spool.read(all.len() as u64 - 2, 3, &mut Vec::new()).is_err());
    }
}
