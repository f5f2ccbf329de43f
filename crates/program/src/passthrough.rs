//! A message that is passed on whatever fails: its beginning is in memory, the rest is copied.

pub(crate) mod rescue;

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Cursor, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use anyhow::{Context, Result};
use tamis_mail::passthrough::has_whole_header;
use tamis_train::Limits;

use crate::decoded::{decoded, holds_mail, is_encoded};
use crate::output::shown_path;

/// A message that is passed on. Only the part that scoring reads is in memory. If the system stops the program, the
/// message is still written to standard output.
pub struct Passthrough {
    raw: Vec<u8>,
    source: File,
    name: String,
    /// Whether all of the message is in memory.
    is_whole: bool,
}

impl Passthrough {
    /// Opens the message in a file, or on standard input without a path or for `-`.
    pub fn open(path: Option<&Path>) -> Result<Self> {
        let path = path.filter(|path| path.as_os_str() != "-");
        let name = path.map_or("standard input".to_owned(), shown_path);
        let source = match path {
            Some(path) => File::open(path),
            None => io::stdin().as_fd().try_clone_to_owned().map(File::from),
        };
        let source = source.with_context(|| name.clone())?;
        rescue::arm(source.as_raw_fd());
        Ok(Passthrough { raw: Vec::new(), source, name, is_whole: false })
    }

    /// The part of the message in memory.
    pub fn bytes(&self) -> &[u8] {
        &self.raw
    }

    /// The part in memory as mail: decoded, within `limits`, if it is encoded and the result is mail.
    pub fn mail(&self, limits: &Limits) -> Result<Cow<'_, [u8]>> {
        if !is_encoded(&self.raw) || !holds_mail(&self.raw) {
            return Ok(Cow::Borrowed(&self.raw));
        }
        let (mut mail, most) = (Vec::new(), limits.bytes.saturating_add(1) as u64);
        decoded(Box::new(Cursor::new(self.raw.clone())))
            .and_then(|reader| reader.take(most).read_to_end(&mut mail))
            .with_context(|| self.name.clone())?;
        Ok(Cow::Owned(mail))
    }

    /// Reads the header block and as much as scoring reads within these limits, plus one byte to detect that there is
    /// more.
    pub fn read_for(&mut self, limits: &Limits) -> Result<()> {
        let mut most = limits.bytes.saturating_add(1);
        loop {
            self.read_to(most).with_context(|| self.name.clone())?;
            if self.is_whole || has_whole_header(&self.raw) {
                return Ok(());
            }
            most = most.saturating_mul(2);
        }
    }

    /// Reads until `most` bytes are in memory, or all.
    fn read_to(&mut self, most: usize) -> io::Result<()> {
        while !self.is_whole && self.raw.len() < most {
            let more = most - self.raw.len();
            match rescue::read(&self.source, &mut self.raw, more) {
                Ok(n) => self.is_whole = n == 0,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes `head`, then the part of the message in memory from offset `rest` on, then copies what was not read; to
    /// standard output or a file. Returns the last byte written, if any.
    pub fn write(&mut self, to: Option<&File>, head: &[u8], rest: usize) -> Result<Option<u8>> {
        let output = || if to.is_some() { "the output file" } else { "standard output" };
        let mut out = match to {
            Some(file) => file.try_clone().with_context(output)?,
            None => standard_output()?,
        };
        rescue::disarm();
        let held = &self.raw[rest..];
        out.write_all(head).and_then(|()| out.write_all(held)).with_context(output)?;
        let mut last = held.last().or(head.last()).copied();
        if !self.is_whole {
            let mut copied = LastByte { file: &mut out, last: None };
            io::copy(&mut self.source, &mut copied).with_context(|| format!("copying {}", self.name))?;
            last = copied.last.or(last);
        }
        Ok(last)
    }
}

/// Standard output, unbuffered.
pub fn standard_output() -> Result<File> {
    Ok(io::stdout().as_fd().try_clone_to_owned().context("standard output")?.into())
}

/// Remembers the last byte written.
struct LastByte<'f> {
    file: &'f mut File,
    last: Option<u8>,
}

impl Write for LastByte<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.file.write(bytes)?;
        self.last = bytes[..n].last().copied().or(self.last);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
