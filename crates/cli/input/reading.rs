//! Opens files that hold many documents, decides what a file is, and makes documents of bytes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::mem;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use tamis_documents::{Format, is_binary};
use tamis_mail::{Limits, decode_text, file_text, looks_like_mail, not_mail};
use tamis_program::{TextCommands, decoded, is_encoded, plain};
use tamis_train::{Document, Kind};

use crate::args::TextCommandArgs;
use crate::formats::records::Cells;
use crate::output::ByteCounter;

/// Opens a file that holds many documents, or standard input for `-`, decoded. Progress follows the bytes read from it.
pub(crate) fn open(path: &Path) -> io::Result<Box<dyn BufRead + Send>> {
    let file = match path.as_os_str() == "-" {
        true => io::stdin().as_fd().try_clone_to_owned()?.into(),
        false => File::open(path)?,
    };
    let mut whole = BufReader::new(ByteCounter(file));
    // reading a regular file fills the buffer at once
    let is_encoded = is_encoded(whole.fill_buf()?);
    Ok(if is_encoded { Box::new(BufReader::new(decoded(Box::new(whole))?)) } else { Box::new(whole) })
}

/// Maximum bytes to read of a document: as many as are used, and a character more to tell that there is more.
pub(crate) fn most_of_document(limits: &Limits) -> usize {
    limits.bytes.saturating_add(4)
}

/// Makes documents of the bytes of files. This is the one place where it is decided what a file is.
pub(crate) struct FileReader {
    commands: TextCommands,
    /// How many documents of each format were read, other than plain text and mail.
    formats: Mutex<BTreeMap<String, u64>>,
}

impl FileReader {
    pub(crate) fn new(args: &TextCommandArgs) -> Result<Self> {
        Ok(FileReader { commands: TextCommands::new(&args.text_command)?, formats: Mutex::default() })
    }

    /// The document of this kind that a file of this name holds.
    ///
    /// # Errors
    /// What it is instead.
    pub(crate) fn read<'a>(
        &self,
        kind: Kind,
        path: &Path,
        bytes: &'a [u8],
    ) -> Result<DocumentView<'a>, String> {
        if kind == Kind::Mail {
            return not_mail(bytes).map_or(Ok(DocumentView::Mail(bytes)), |what| Err(what.to_owned()));
        }
        let format = Format::of(bytes).filter(|_| !looks_like_mail(bytes));
        let is_pdf = format == Some(Format::Pdf);
        let text = match self.commands.for_file(Some(path), is_pdf) {
            Some(command) => command.run(bytes).map_err(|error| unread(format, &error))?.into(),
            None if is_pdf => {
                return Err("a PDF; it is read where pdftotext (poppler-utils) is installed".to_owned());
            }
            None => file_text(bytes).map_err(|unread| unread.what())?,
        };
        if let Some(format) = format {
            *self.lock().entry(format.abbreviation().to_owned()).or_default() += 1;
        }
        Ok(DocumentView::Text(text))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        self.formats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many documents of each format were read since the last call, other than plain text and mail.
    pub(super) fn take_formats(&self) -> BTreeMap<String, u64> {
        mem::take(&mut self.lock())
    }
}

/// What a document is that another program could not read, and why.
fn unread(format: Option<Format>, error: &io::Error) -> String {
    format.map_or_else(|| plain(error), |format| format!("{}: {}", format.name(), plain(error)))
}

/// What a file with this beginning is, if it is not text.
pub(crate) fn foreign(start: &[u8]) -> Option<&'static str> {
    let format = Format::of(start).map(|format| format.name());
    format.or_else(|| is_binary(start).then_some("binary data"))
}

/// A document's bytes as a document of some kind. Text that is not UTF-8 is read as windows-1252.
pub(crate) enum DocumentView<'a> {
    Mail(&'a [u8]),
    Text(Cow<'a, str>),
    Row(Vec<(&'a str, &'a str)>),
}

impl<'a> DocumentView<'a> {
    /// A message of an mbox, whatever it begins with.
    pub(crate) fn of_message(kind: Kind, bytes: &'a [u8]) -> Self {
        match kind {
            Kind::Mail => DocumentView::Mail(bytes),
            Kind::Text | Kind::Table => DocumentView::Text(decode_text(bytes, None)),
        }
    }

    pub(crate) fn row(cells: &'a Cells<'_>) -> Self {
        DocumentView::Row(cells.iter().map(|(name, cell)| (&**name, &**cell)).collect())
    }

    pub(crate) fn document(&self) -> Document<'_> {
        match self {
            DocumentView::Mail(bytes) => Document::Mail(bytes),
            DocumentView::Text(text) => Document::Text(text),
            DocumentView::Row(cells) => Document::Fields(cells),
        }
    }
}

/// A document that is held in memory until its turn comes, and its vector.
pub(crate) struct HeldDocument {
    content: HeldContent,
    /// Empty if there is none.
    pub(crate) vector: Vec<f32>,
}

enum HeldContent {
    Mail(Vec<u8>),
    Text(String),
    Row(Cells<'static>),
}

impl HeldDocument {
    pub(crate) fn new(document: Document<'_>) -> Self {
        let (document, vector) = document.apart();
        let content = match document {
            Document::Mail(bytes) => HeldContent::Mail(bytes.to_vec()),
            Document::Text(text) => HeldContent::Text(text.to_owned()),
            Document::Fields(cells) => HeldContent::Row(
                cells.iter().map(|(name, cell)| (name.to_string().into(), cell.to_string().into())).collect(),
            ),
            // the vector is apart, and no file holds a counted document
            Document::Embedded { .. } | Document::Counted(_) => HeldContent::Text(String::new()),
        };
        HeldDocument { content, vector: vector.to_vec() }
    }

    /// The document without its vector.
    pub(crate) fn view(&self) -> DocumentView<'_> {
        match &self.content {
            HeldContent::Mail(bytes) => DocumentView::Mail(bytes),
            HeldContent::Text(text) => DocumentView::Text(text.into()),
            HeldContent::Row(cells) => DocumentView::row(cells),
        }
    }
}
