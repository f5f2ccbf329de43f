//! Errors of the library.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, io};

use tamis_model::{
    ClassesError, EmError, ObservationError, ParametersError, StatisticsError, TooFewNegatives,
};
use tamis_tokenizer::{OptionsError, VocabularyFull};

use crate::kind::Kind;

mod display;

/// What went wrong when a filter was trained, written, opened or asked.
///
/// An error is one pointer. Its text has the cause in it, so [`source`](std::error::Error::source) is the cause of that
/// cause: a chain of errors tells nothing twice.
///
/// ```
/// use tamis_filter::{ErrorKind, Filter};
///
/// let error = Filter::from_bytes(b"SQLite format 3".to_vec()).err().unwrap();
/// assert!(matches!(error.kind(), ErrorKind::NotAModel { got } if got == b"SQLite f"));
/// ```
pub struct Error(Box<ErrorKind>);

/// The kinds of [`Error`], each with what is known of it.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system refused to read or write a file.
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is something that is no regular file where a model should be, or its lock.
    NotAFile {
        /// Where it is.
        path: PathBuf,
        /// What it is, such as `a folder`, `a pipe`, `a device`.
        got: &'static str,
    },
    /// A model file was changed in place while it was in use.
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The bytes do not begin as a model file does.
    NotAModel {
        /// The first bytes found (eight at most).
        got: Vec<u8>,
    },
    /// The file is a model of a format that this version does not read.
    Version {
        /// The format this version reads.
        expected: u32,
        /// The format of the file.
        got: u32,
    },
    /// A file of ours that is not of the kind expected, such as a model for a partial.
    WrongFile {
        /// What it should be.
        expected: &'static str,
        /// What it is.
        got: &'static str,
    },
    /// A later version of the program appended something to the file that this one does not know.
    Segment {
        /// Its kind, four bytes.
        got: Vec<u8>,
    },
    /// The file is shorter than it says of itself.
    Length {
        /// Bytes the file should have.
        expected: u64,
        /// Bytes it has.
        got: u64,
    },
    /// A part of the file does not have the checksum written beside it.
    Checksum {
        /// The part of the file, `header` or a section.
        part: &'static str,
        /// The first byte, within the part, of the block that failed.
        offset: u64,
        /// The CRC-32 written in the file.
        expected: u32,
        /// The CRC-32 of the bytes found.
        got: u32,
    },
    /// The checksums hold, yet the content contradicts itself: it was not written by this program.
    Inconsistent {
        /// The part of the file, `header` or a section.
        part: &'static str,
        /// What should hold.
        expected: String,
        /// What was found.
        got: String,
    },
    /// The model was trained by another version of the code that turns documents into terms.
    RecipeVersion {
        /// The version of this program's recipe.
        expected: u16,
        /// The version recorded in the model.
        got: u16,
    },
    /// A mail was given to a model of text, or text to a model of mail.
    Kind {
        /// What the model was trained on.
        expected: Kind,
        /// What it was given.
        got: Kind,
    },
    /// The columns of a table cannot be used, or not so.
    Columns {
        /// What they should be.
        expected: String,
        /// What they are.
        got: String,
    },
    /// A cell of a row is not what its column holds.
    Cell {
        /// The column's name.
        column: String,
        /// What the column holds.
        expected: &'static str,
        /// The cell, shortened.
        got: String,
    },
    /// Too few labels to tell anything apart.
    TooFewLabels {
        /// Labels needed.
        expected: usize,
        /// Labels seen.
        got: usize,
    },
    /// Something that is there for two labels was asked of more or fewer.
    NotTwoLabels {
        /// Labels there are.
        got: usize,
    },
    /// Documents without a label were given to a scoring that needs labels, or a model that learned such documents is
    /// to be fitted again.
    Unlabelled,
    /// Something that is there for weighted scoring was asked of naive Bayes.
    NotWeighted,
    /// The model outgrew what its file format can hold.
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// The most the format holds.
        limit: u64,
        /// How much there is.
        got: u64,
    },
    /// A setting is out of its range.
    Option {
        /// The setting.
        option: &'static str,
        /// What it must be.
        expected: &'static str,
        /// What it is.
        got: f64,
    },
    /// Too few negatives to be sure, at 95 %, that no more than a share of them is called positive.
    TooFewNegatives(TooFewNegatives),
    /// Another process is changing the model, and went on doing so for as long as one would wait.
    Locked {
        /// The file that is locked.
        path: PathBuf,
        /// How long one waited.
        waited: Duration,
    },
    /// Something that a fit by partitions cannot do.
    DistributedUnsupported {
        /// What it is.
        got: &'static str,
    },
    /// Counts without their documents were given where documents are needed.
    CountsAlone,
    /// A model that does not learn one document at a time.
    IncrementalUnsupported {
        /// What it is.
        got: &'static str,
    },
    /// A label that the model does not know.
    UnknownLabel {
        /// The label.
        got: String,
        /// The labels of the model.
        known: Vec<String>,
        /// The one that was probably meant.
        nearest: Option<String>,
    },
    /// A label that is the name of another verdict.
    ReservedLabel {
        /// The label.
        got: String,
    },
    /// Two labels that look the same: they differ in case, blanks, invisible or look-alike characters alone.
    SimilarLabels {
        /// The labels.
        got: [String; 2],
    },
    /// Cross-validation that leaves a fold without a label to learn.
    OneFold {
        /// The label, all of whose documents are in one fold.
        label: String,
    },
    /// A buffer for probabilities is too short or too long.
    Buffer {
        /// Numbers it should have room for.
        expected: usize,
        /// Numbers it has room for.
        got: usize,
    },
    /// A document of several cannot be scored.
    Document {
        /// Its place among them, from 0.
        place: usize,
        /// Why.
        error: Box<Error>,
    },
    /// A document to forget that was never learned, or not under that label.
    NotLearned {
        /// Its identity.
        digest: [u8; 16],
        /// The label it is known under, if any.
        known: Option<String>,
    },
    /// A document to forget of which the model remembers a digest only, and that is not at hand.
    TermsNotStored,
    /// Models that do not add up.
    Incompatible {
        /// What is not alike.
        setting: String,
        /// What it should be.
        expected: String,
        /// What it is.
        got: String,
    },
    /// Models to be added up know the same documents, and not all remember the terms of these.
    Shared {
        /// How many documents.
        documents: u64,
    },
    /// A line of an exported model, or of another program's, that cannot be taken.
    Import {
        /// The line, from 1.
        line: u64,
        /// What should stand there.
        expected: String,
        /// What does.
        got: String,
    },
    /// Two trainers with different settings were asked to merge.
    DifferentSettings,
    /// A label is not acceptable.
    Classes(ClassesError),
    /// The tokenizer's options are out of range.
    Options(OptionsError),
    /// The vocabulary cannot take another term.
    Vocabulary(VocabularyFull),
    /// The counts refused a change.
    Statistics(StatisticsError),
    /// The parameters cannot be used with these counts.
    Parameters(ParametersError),
    /// Expectation maximization cannot begin, or go on.
    Em(EmError),
    /// Real values whose moments no number holds.
    Observation(ObservationError),
}

/// The result of an operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// What sort of error it is.
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// What sort of error it is, to keep.
    pub fn into_kind(self) -> ErrorKind {
        *self.0
    }

    /// The file that it is about, where that is known. What is found in a file's bytes names a part of it instead.
    pub fn path(&self) -> Option<&Path> {
        match self.kind() {
            ErrorKind::Io { path, .. }
            | ErrorKind::NotAFile { path, .. }
            | ErrorKind::Changed { path }
            | ErrorKind::Locked { path, .. } => Some(path),
            _ => None,
        }
    }

    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Error + '_ {
        move |source| ErrorKind::Io { path: path.to_path_buf(), source }.into()
    }

    pub(crate) fn inconsistent(
        part: &'static str,
        expected: impl fmt::Display,
        got: impl fmt::Display,
    ) -> Error {
        ErrorKind::Inconsistent { part, expected: expected.to_string(), got: got.to_string() }.into()
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Error(Box::new(kind))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self.kind() {
            ErrorKind::Io { source, .. } => source.source(),
            // errors of the model and of the tokenizer have no cause
            _ => None,
        }
    }
}

macro_rules! from {
    ($($source:ty => $variant:ident),*) => {$(
        impl From<$source> for Error {
            fn from(error: $source) -> Self {
                ErrorKind::$variant(error).into()
            }
        }
    )*};
}
from!(ClassesError => Classes, OptionsError => Options, VocabularyFull => Vocabulary, StatisticsError => Statistics, ParametersError => Parameters, EmError => Em, ObservationError => Observation, TooFewNegatives => TooFewNegatives);
