//! Sources as named on the command line, lists of them, and files with documents.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Cursor, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use tamis_documents::Format;
use tamis_program::{Stream, read_start, shown_path};
use tamis_train::Kind;

use crate::args::ListArgs;
use crate::formats::holds::{Holds, extension_is};
use crate::formats::json::{Elements, begins_array};
use crate::input::reading::open;
use crate::input::sheet::sheet_as_csv;
use crate::output::from_text;

/// The documents that a command wants from its sources.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceScope {
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
pub(crate) struct SourceArg {
    pub(crate) label: Option<String>,
    pub(crate) path: PathBuf,
}

impl SourceArg {
    /// Parses an argument. It is `LABEL=PATH` only if the part before the first `=` has no `/` and the whole is not an
    /// existing path (names in a Maildir contain `=`).
    pub(crate) fn parse(argument: &OsStr) -> Self {
        let bytes = argument.as_encoded_bytes();
        let label =
            bytes.iter().position(|byte| *byte == b'=').and_then(|end| str::from_utf8(&bytes[..end]).ok());
        match label {
            Some(label) if !label.is_empty() && !label.contains('/') && !Path::new(argument).exists() => {
                let path = OsStr::from_bytes(&argument.as_bytes()[label.len() + 1..]);
                SourceArg { label: Some(label.to_owned()), path: path.into() }
            }
            _ => SourceArg { label: None, path: argument.into() },
        }
    }
}

/// Maximum bytes of a workbook that is read as a table.
const MOST_OF_WORKBOOK: u64 = 256 << 20;

/// A file or a stream that is one document, or holds many.
#[derive(Clone, Default)]
pub(crate) struct InputFile {
    pub(crate) path: PathBuf,
    pub(crate) label: Option<Arc<str>>,
    /// The first folder below the label's folder, if the file is in one.
    pub(crate) folder: Option<Arc<str>>,
    pub(crate) holds: Holds,
    /// Whether the user named it. If not, it was found in a folder.
    pub(crate) named: bool,
    /// Whether it is in a Maildir, and therefore a message, whatever it begins with.
    pub(crate) in_maildir: bool,
    /// A stream, which can be read only once: it is taken when it is its turn.
    pub(crate) once: Option<Arc<Mutex<Option<Stream>>>>,
    /// The sheet to read of a workbook; the first that is not empty by default.
    pub(crate) sheet: Option<Arc<str>>,
    /// The file's inode, if listing returned it.
    pub(crate) inode: Option<u64>,
}

impl InputFile {
    /// A file that was found in a folder.
    pub(crate) fn found(path: PathBuf, label: Option<Arc<str>>, holds: Holds) -> Self {
        InputFile { path, label, holds, ..InputFile::default() }
    }

    /// A stream, whose path is only a name.
    pub(crate) fn of_stream(path: &Path, stream: Stream, mbox: bool) -> Self {
        let holds = match Holds::of_name(path.as_os_str()) {
            Holds::One if mbox || stream.is_mbox() => Holds::Mbox,
            holds => holds,
        };
        let once = Some(Arc::new(Mutex::new(Some(stream))));
        InputFile { holds, named: true, once, ..InputFile::found(path.to_owned(), None, holds) }
    }

    /// Takes the stream, if it is one.
    pub(crate) fn take_stream(&self) -> Result<Option<Stream>> {
        let Some(once) = &self.once else { return Ok(None) };
        let stream = once.lock().unwrap_or_else(PoisonError::into_inner).take();
        let expected = || format!("{}: expected a file, which can be read twice", shown_path(&self.path));
        stream.with_context(expected).map(Some)
    }

    /// Opens a file or stream that holds many documents, decoded. A JSON array is read as JSON lines, whatever the file is
    /// called.
    pub(crate) fn open(&self) -> Result<Box<dyn BufRead + Send>> {
        let opened = self.take_stream()?.map_or_else(|| open(&self.path), Stream::into_reader);
        let mut reader = opened.with_context(|| shown_path(&self.path))?;
        if !self.holds.is_table() {
            return Ok(reader);
        }
        if self.holds == Holds::Sheet {
            let mut bytes = Vec::new();
            reader.take(MOST_OF_WORKBOOK).read_to_end(&mut bytes).with_context(|| shown_path(&self.path))?;
            let csv = sheet_as_csv(bytes, self.sheet.as_deref()).with_context(|| shown_path(&self.path))?;
            return Ok(Box::new(Cursor::new(csv)));
        }
        let start = reader.fill_buf().with_context(|| shown_path(&self.path))?;
        if let Some(format) = Format::of(start) {
            bail!("{}: expected a table, got {}", shown_path(&self.path), format.name());
        }
        let is_array = matches!(self.holds, Holds::Json | Holds::Jsonl) && begins_array(start);
        Ok(if is_array { Box::new(BufReader::new(Elements::new(reader))) } else { reader })
    }

    /// Whether its name says that it is mail.
    pub(crate) fn is_mail_by_name(&self) -> bool {
        self.holds == Holds::Mbox || extension_is(&self.path, &["eml", "emlx"]) || self.in_maildir
    }

    /// The first bytes of a document, as far as they can be read.
    pub(crate) fn start(&self) -> Vec<u8> {
        const MOST: usize = 64 << 10;
        match &self.once {
            Some(once) => match &*once.lock().unwrap_or_else(PoisonError::into_inner) {
                Some(stream) => stream.start()[..stream.start().len().min(MOST)].to_vec(),
                None => Vec::new(),
            },
            None => read_start(&self.path, MOST as u64).unwrap_or_default(),
        }
    }
}

impl ListArgs {
    /// The paths given, followed by those in the list.
    pub(crate) fn add_to(&self, given: &[OsString]) -> Result<Vec<OsString>> {
        let mut paths = given.to_vec();
        let Some(list) = &self.files_from else { return Ok(paths) };
        if list.as_os_str() == "-" && paths.iter().any(|path| path == "-") {
            bail!("--files-from -: standard input is the list: expected no document on it");
        }
        let bytes = Stream::open(list)
            .and_then(|list| list.into_all(Kind::Text))
            .with_context(|| format!("--files-from {}", shown_path(&list)))?;
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let entries = bytes.split(|byte| *byte == if self.null { 0 } else { b'\n' });
        for entry in entries.filter(|entry| !entry.is_empty()) {
            paths.push(if self.null {
                OsString::from_vec(entry.to_vec())
            } else {
                from_text(entry.strip_suffix(b"\r").unwrap_or(entry))?
            });
        }
        Ok(paths)
    }
}

/// The identity of a file, whatever its path: its device and inode.
fn identity_of(path: &Path) -> Option<(u64, u64)> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// The distinct files, each once.
pub(crate) fn different(paths: &[PathBuf]) -> Vec<&PathBuf> {
    let mut seen = HashSet::new();
    let is_new = |path: &&PathBuf| identity_of(path).is_none_or(|identity| seen.insert(identity));
    paths.iter().filter(is_new).collect()
}

/// Leaves out files that occurred before under the same label, and files that are `known` under any. Returns their
/// number.
pub(crate) fn leave_out(files: &mut Vec<InputFile>, known: &[InputFile]) -> u64 {
    if known.len() + files.len() < 2 || files.is_empty() {
        return 0;
    }
    let inode = |file: &InputFile| match file.once {
        Some(_) => None,
        None => file.inode.or_else(|| Some(identity_of(&file.path)?.1)),
    };
    let all = known.iter().chain(&*files);
    let mut inodes: Vec<_> = all.zip(0usize..).filter_map(|(file, at)| Some((inode(file)?, at))).collect();
    inodes.sort_unstable();
    let mut duplicates = HashSet::new();
    // only files with a common inode number need a look at their devices
    for equal in inodes.chunk_by(|a, b| a.0 == b.0).filter(|equal| equal.len() > 1) {
        let mut seen = HashSet::new();
        for (_, at) in equal {
            let file = at.checked_sub(known.len()).map(|own| &files[own]);
            let Some(identity) = identity_of(&file.unwrap_or_else(|| &known[*at]).path) else { continue };
            match file {
                None => _ = seen.insert((identity, None)),
                Some(file) => {
                    let is_known = seen.contains(&(identity, None));
                    if is_known || !seen.insert((identity, Some(&file.label))) {
                        duplicates.insert(at - known.len());
                    }
                }
            }
        }
    }
    let mut at = 0..files.len();
    files.retain(|_| at.next().is_none_or(|at| !duplicates.contains(&at)));
    duplicates.len() as u64
}
