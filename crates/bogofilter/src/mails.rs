//! The messages that bogofilter is asked about: on standard input, in files and mboxes, or in folders.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, BufRead};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tamis_mail::{maildir, mbox};
use tamis_program::{Stream, say, shown_path, told};
use tamis_train::Kind;

use crate::options::settings::{BogofilterSettings, Bulk};

/// Which messages to visit, and how much to read of each.
#[derive(Clone, Copy)]
pub(crate) struct Mails<'a> {
    pub(crate) settings: &'a BogofilterSettings,
    /// The arguments that are not options.
    pub(crate) others: &'a [OsString],
    /// Maximum bytes to read of a message; `None` if it is passed on.
    pub(crate) most: Option<usize>,
}

/// What to do with each message, given its file's name, if that is to be printed, and its bytes.
pub(crate) type Work<'w> = dyn FnMut(Option<&Path>, &[u8]) -> Result<()> + 'w;

impl Mails<'_> {
    /// Visits the messages one by one. In bulk mode, stops at the first missing file without an error.
    pub(crate) fn for_each(&self, work: &mut Work<'_>) -> Result<()> {
        match (self.settings.bulk, self.settings.file.as_deref()) {
            (Bulk::None, Some(path)) if path.is_dir() => self.folder(path, work),
            (Bulk::None, path) => {
                let path = path.unwrap_or(Path::new("-"));
                let named =
                    || if path.as_os_str() == "-" { "standard input".to_owned() } else { shown_path(path) };
                self.stream(Stream::open(path).with_context(named)?, path, None, work)
            }
            (Bulk::Input, _) => {
                let lines = io::stdin().lock().split(b'\n');
                self.named(lines.map(|line| line.map(OsString::from_vec)), work)
            }
            (Bulk::Arguments, _) => self.named(self.others.iter().cloned().map(Ok), work),
        }
    }

    /// Visits the files and folders with these names.
    fn named(&self, names: impl Iterator<Item = io::Result<OsString>>, work: &mut Work<'_>) -> Result<()> {
        for name in names {
            let path = PathBuf::from(name.context("standard input")?);
            let is_read = match fs::metadata(&path) {
                Ok(metadata) if metadata.is_dir() => self.folder(&path, work).map(|()| true)?,
                Ok(_) => self.file(&path, work)?,
                Err(error) => complain_of(&path, error),
            };
            if !is_read {
                break;
            }
        }
        Ok(())
    }

    /// Visits a file. Returns whether it could be read.
    fn file(&self, path: &Path, work: &mut Work<'_>) -> Result<bool> {
        match Stream::open(path) {
            Ok(stream) => self.stream(stream, path, Some(path), work).map(|()| true),
            Err(error) => Ok(complain_of(path, error)),
        }
    }

    fn stream(&self, stream: Stream, path: &Path, name: Option<&Path>, work: &mut Work<'_>) -> Result<()> {
        let context = || shown_path(path);
        if !self.settings.mbox {
            let most = self.most.map_or(u64::MAX, |most| most as u64);
            return work(name, &stream.into_document(Kind::Mail, most).with_context(context)?);
        }
        let reader =
            mbox::Reader::new(stream.into_reader().with_context(context)?, self.most.unwrap_or(usize::MAX));
        let mut reader = if self.most.is_none() { reader.raw() } else { reader }.peekable();
        if reader.peek().is_none() {
            // an empty mbox counts as one message without words
            return work(name, b"");
        }
        reader.try_for_each(|entry| work(name, &entry.with_context(context)?.bytes))
    }

    /// Visits the messages of a Maildir or an MH folder.
    fn folder(&self, path: &Path, work: &mut Work<'_>) -> Result<()> {
        let mut files = Vec::new();
        if maildir::is_maildir(path) {
            for folder in ["new", "cur"] {
                files.extend(listed(&joined(path, folder), |name| !name.starts_with(b"."))?);
            }
        } else {
            files = listed(path, |name| name.first().is_some_and(u8::is_ascii_digit))?;
        }
        for file in files {
            self.file(&file, work)?;
        }
        Ok(())
    }
}

/// The regular files of a folder whose names are wanted, sorted.
fn listed(folder: &Path, is_wanted: impl Fn(&[u8]) -> bool) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| shown_path(folder))? {
        let name = entry.with_context(|| shown_path(folder))?.file_name();
        let path = joined(folder, &name);
        if is_wanted(name.as_bytes()) && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Joins a path to a folder as bogofilter does, keeping a `.`.
fn joined(folder: &Path, name: impl AsRef<OsStr>) -> PathBuf {
    let folder = folder.as_os_str().as_bytes();
    let folder = folder.strip_suffix(b"/").unwrap_or(folder);
    OsString::from_vec([folder, b"/", name.as_ref().as_bytes()].concat()).into()
}

/// Prints an error about a message, without stopping.
pub(crate) fn complain(error: &anyhow::Error) {
    say!("bogofilter: {}", told(error));
}

/// Prints why a file could not be read. Returns `false`.
fn complain_of(path: &Path, error: io::Error) -> bool {
    complain(&anyhow::Error::new(error).context(shown_path(path)));
    false
}
