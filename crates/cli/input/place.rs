//! Sources as named on the command line, and places with documents.

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use tamis_program::{Stream, read_start, shown_path};

use crate::formats::array::Elements;
use crate::formats::holds::Holds;
use crate::input::reading::open;

/// The documents that a command wants from its sources.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Documents with labels.
    Labelled,
    /// Documents, with labels or without.
    Documents,
    /// Documents, with labels or without, except behind links that lead out of the folders named.
    Inside,
    /// Documents, skipping sources that do not exist.
    WhatIsThere,
}

/// A source as named: a path, or `-` for standard input, perhaps with a label before it.
pub(crate) struct Source {
    pub(crate) label: Option<String>,
    pub(crate) path: PathBuf,
}

impl Source {
    /// Parses an argument. It is `LABEL=PATH` only if the part before the first `=` has no `/` and the whole is not an
    /// existing path (names in a Maildir contain `=`).
    pub(crate) fn parse(argument: &OsStr) -> Self {
        let bytes = argument.as_encoded_bytes();
        let label =
            bytes.iter().position(|byte| *byte == b'=').and_then(|end| str::from_utf8(&bytes[..end]).ok());
        match label {
            Some(label) if !label.is_empty() && !label.contains('/') && !Path::new(argument).exists() => {
                Source { label: Some(label.to_owned()), path: after(argument, label.len() + 1).into() }
            }
            _ => Source { label: None, path: argument.into() },
        }
    }
}

/// The rest of an argument after its first `length` bytes, which are UTF-8.
fn after(argument: &OsStr, length: usize) -> OsString {
    use std::os::unix::ffi::OsStrExt;
    OsStr::from_bytes(&argument.as_bytes()[length..]).to_owned()
}

/// A place with documents: a file that is one document, or holds many.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(crate) label: Option<Arc<str>>,
    /// The first folder below the label's folder, if the file is in one.
    pub(crate) folder: Option<Arc<str>>,
    pub(crate) holds: Holds,
    /// Whether the user named it. If not, it was found in a folder.
    pub(crate) named: bool,
    /// A stream, which can be read only once.
    pub(crate) once: Option<Once>,
    /// The file's inode, if listing returned it.
    pub(crate) inode: Option<u64>,
}

/// A stream that is taken when it is its turn.
#[derive(Clone)]
pub(crate) struct Once(Arc<Mutex<Option<Stream>>>);

impl Place {
    /// A file that was found in a folder.
    pub(crate) fn found(path: PathBuf, label: Option<Arc<str>>, holds: Holds) -> Self {
        Place { path, label, folder: None, holds, named: false, once: None, inode: None }
    }

    /// A stream, whose path is only a name.
    pub(crate) fn of_stream(path: &Path, stream: Stream, mbox: bool) -> Self {
        let holds = match Holds::of_name(path.as_os_str()) {
            Holds::One if mbox || stream.is_mbox() => Holds::Mbox,
            holds => holds,
        };
        let once = Some(Once(Arc::new(Mutex::new(Some(stream)))));
        Place { holds, named: true, once, ..Place::found(path.to_owned(), None, holds) }
    }

    /// Takes the stream, if it is one.
    pub(crate) fn take_stream(&self) -> Result<Option<Stream>> {
        let Some(Once(once)) = &self.once else { return Ok(None) };
        match once.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(stream) => Ok(Some(stream)),
            None => bail!("{}: expected a file, which can be read twice", shown_path(&self.path)),
        }
    }

    /// Opens a file or stream that holds many documents, decoded. A JSON array is read as JSON lines.
    pub(crate) fn open(&self) -> Result<Box<dyn BufRead + Send>> {
        let reader = match self.take_stream()? {
            Some(stream) => stream.into_reader().with_context(|| shown_path(&self.path))?,
            None => open(&self.path).with_context(|| shown_path(&self.path))?,
        };
        Ok(match self.holds {
            Holds::Json => Box::new(BufReader::new(Elements::new(reader))),
            _ => reader,
        })
    }

    /// The first bytes of a document, as far as they can be read.
    pub(crate) fn start(&self) -> Vec<u8> {
        const MOST: usize = 64 << 10;
        match &self.once {
            Some(Once(once)) => match &*once.lock().unwrap_or_else(PoisonError::into_inner) {
                Some(stream) => stream.start()[..stream.start().len().min(MOST)].to_vec(),
                None => Vec::new(),
            },
            None => read_start(&self.path, MOST as u64).unwrap_or_default(),
        }
    }
}
