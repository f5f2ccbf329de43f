//! The contents of a file, by its name or as the arguments say.

use std::ffi::OsStr;
use std::path::Path;

use encoding_rs::Encoding;

/// The contents of a file.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Holds {
    /// One document.
    #[default]
    One,
    /// Messages, one after another.
    Mbox,
    /// Rows of cells separated by commas or the like.
    Csv,
    /// Rows of cells separated by tabs.
    Tsv,
    /// A JSON object per line.
    Jsonl,
    /// A JSON array of objects. A file with this name may also be one document.
    Json,
    /// A line per text, with its labels in it as fastText writes them.
    FastText,
    /// A sheet of a workbook, read as CSV.
    Sheet,
    /// The files of a zip archive, each a document.
    Archive,
}

impl Holds {
    /// Table formats, by their names on the command line.
    pub(crate) const TABLES: [(&str, Holds); 6] = [
        ("csv", Holds::Csv),
        ("tsv", Holds::Tsv),
        ("jsonl", Holds::Jsonl),
        ("json", Holds::Json),
        ("fasttext", Holds::FastText),
        ("sheet", Holds::Sheet),
    ];

    /// File name extensions of files that hold many documents, in any case.
    const ENDINGS: [(&str, Holds); 7] = [
        ("csv", Holds::Csv),
        ("tsv", Holds::Tsv),
        ("jsonl", Holds::Jsonl),
        ("ndjson", Holds::Jsonl),
        ("mbox", Holds::Mbox),
        ("mbx", Holds::Mbox),
        ("zip", Holds::Archive),
    ];

    /// Whether it is a table.
    pub(crate) fn is_table(self) -> bool {
        !matches!(self, Holds::One | Holds::Mbox | Holds::Archive)
    }

    /// The contents of a file by its name. For files found in a folder only the name counts, because a single message
    /// may begin like an mbox.
    pub(crate) fn of_name(name: &OsStr) -> Holds {
        let ending = extension(Path::new(name));
        let known = Holds::ENDINGS.into_iter().find(|(known, _)| ending.eq_ignore_ascii_case(known));
        known.map_or(Holds::One, |(_, holds)| holds)
    }
}

/// The extension of a name, without that of a packing; may be empty.
pub(crate) fn extension(path: &Path) -> &OsStr {
    let unpacked =
        if extension_is(path, &["gz", "zst"]) { path.file_stem().map(Path::new) } else { Some(path) };
    unpacked.and_then(Path::extension).unwrap_or_default()
}

pub(crate) fn extension_is(path: &Path, extensions: &[&str]) -> bool {
    path.extension().is_some_and(|e| extensions.iter().any(|known| e.eq_ignore_ascii_case(known)))
}

/// How rows are written, where the file's name does not say.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct TableShape {
    /// The separator of cells; recognised by default.
    pub(crate) delimiter: Option<u8>,
    /// Whether the first row is an ordinary row.
    pub(crate) no_header: bool,
    /// The encoding; recognised by default.
    pub(crate) encoding: Option<&'static Encoding>,
    /// Whether no more is read than is asked for, so that each line is answered at once.
    pub(crate) is_by_line: bool,
}
