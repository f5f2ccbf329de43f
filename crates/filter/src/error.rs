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

/// The error of training, saving, opening or using a filter.
///
/// It is the size of one pointer. Its text includes the cause, so [`source`](std::error::Error::source) returns the
/// cause of that cause: an error chain repeats nothing.
///
/// ```
/// use tamis_filter::{ErrorKind, Filter};
///
/// let error = Filter::from_bytes(b"SQLite format 3".to_vec()).err().unwrap();
/// assert!(matches!(error.kind(), ErrorKind::NotAModel { got } if got == b"SQLite f"));
/// ```
pub struct Error(Box<ErrorKind>);

/// The kinds of [`Error`], each with its details.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system refused to read or write a file.
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The path of a model, or of its lock, is not a regular file.
    NotAFile {
        /// The path.
        path: PathBuf,
        /// What is there, such as `a folder`, `a pipe`, `a device`.
        got: &'static str,
    },
    /// A model file was changed in place while it was in use.
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The bytes do not begin like a model file.
    NotAModel {
        /// The first bytes found (eight at most).
        got: Vec<u8>,
    },
    /// The model file has a format that this version does not read.
    Version {
        /// The format this version reads.
        expected: u32,
        /// The format of the file.
        got: u32,
    },
    /// A file of this program, but not of the expected kind, such as a model instead of a partial.
    WrongFile {
        /// What it should be.
        expected: &'static str,
        /// What it is.
        got: &'static str,
    },
    /// The file has a segment of an unknown kind, appended by a later version of the program.
    Segment {
        /// Its kind, four bytes.
        got: Vec<u8>,
    },
    /// The file is shorter than the length recorded in it.
    Length {
        /// Bytes the file should have.
        expected: u64,
        /// Bytes it has.
        got: u64,
    },
    /// A part of the file does not match its checksum.
    Checksum {
        /// The part of the file, `header` or a section.
        part: &'static str,
        /// Offset of the failed block within the part, in bytes.
        offset: u64,
        /// The CRC-32 stored in the file.
        expected: u32,
        /// The CRC-32 of the bytes found.
        got: u32,
    },
    /// The checksums are right, but the content contradicts itself: this program did not write it.
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
    /// A document was given to a model of another kind, such as a mail to a model of text.
    Kind {
        /// What the model was trained on.
        expected: Kind,
        /// What it was given.
        got: Kind,
    },
    /// The columns of a table or row are invalid, or do not suit the scoring.
    Columns {
        /// What they should be.
        expected: String,
        /// What they are.
        got: String,
    },
    /// A cell has a value that its column cannot hold.
    Cell {
        /// The column's name.
        column: String,
        /// What the column can hold.
        expected: &'static str,
        /// The cell, shortened.
        got: String,
    },
    /// Too few labels: there is nothing to distinguish.
    TooFewLabels {
        /// Labels needed.
        expected: usize,
        /// Labels seen.
        got: usize,
    },
    /// Unlabelled documents were given to a scoring that needs labels, or a model that learned from unlabelled
    /// documents was to be fitted again.
    Unlabelled,
    /// The operation needs weighted scoring, but the scoring is naive Bayes.
    NotWeighted,
    /// A number exceeds a limit of the file format.
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// The limit.
        limit: u64,
        /// How much there is.
        got: u64,
    },
    /// An option is out of range, or does not suit the documents or the other options.
    Option {
        /// The option, such as `idf_power`.
        option: &'static str,
        /// What was expected, and what was given.
        message: String,
    },
    /// Too few negatives to guarantee the maximum false-positive rate with 95 % confidence.
    TooFewNegatives(TooFewNegatives),
    /// Another process is changing the model and did not finish within the timeout.
    Locked {
        /// The locked file.
        path: PathBuf,
        /// How long this process waited.
        waited: Duration,
    },
    /// A fit by partitions does not support this.
    DistributedUnsupported {
        /// What is not supported.
        got: &'static str,
    },
    /// Counts without their documents were given where documents are needed.
    CountsAlone,
    /// The model cannot learn one document at a time.
    IncrementalUnsupported {
        /// What kind of model it is.
        got: &'static str,
    },
    /// A label that the model does not know.
    UnknownLabel {
        /// The label.
        got: String,
        /// The labels of the model.
        known: Vec<String>,
        /// The label that was probably meant.
        nearest: Option<String>,
    },
    /// A label has the name of a reserved verdict, `unsure`.
    ReservedLabel {
        /// The label.
        got: String,
    },
    /// Two labels look the same: they differ only in case, blanks, invisible or look-alike characters.
    SimilarLabels {
        /// The labels.
        got: [String; 2],
    },
    /// All documents of a label are in one fold, so cross-validation has none to learn the label from when it is held
    /// out.
    OneFold {
        /// The label.
        label: String,
    },
    /// A buffer for probabilities has the wrong length.
    Buffer {
        /// Numbers it should have room for.
        expected: usize,
        /// Numbers it has room for.
        got: usize,
    },
    /// One of several documents cannot be scored.
    Document {
        /// Its index, from 0.
        place: usize,
        /// Why.
        error: Box<Error>,
    },
    /// The document to forget was never learned, or not under the given label.
    NotLearned {
        /// Its digest.
        digest: [u8; 16],
        /// The label it is known under, if any.
        known: Option<String>,
    },
    /// Forgetting a document by its digest, or retraining, needs the terms of documents, and the model does not store
    /// them.
    TermsNotStored,
    /// The models cannot be merged or combined.
    Incompatible {
        /// The setting that differs.
        setting: String,
        /// What it should be.
        expected: String,
        /// What it is.
        got: String,
    },
    /// Models to merge share documents, and not all of them store the terms of these documents.
    Shared {
        /// Number of such documents.
        documents: u64,
    },
    /// A line of an exported model, or of another program's file, cannot be imported.
    Import {
        /// The line number, from 1.
        line: u64,
        /// What the line should contain.
        expected: String,
        /// What it contains.
        got: String,
    },
    /// Trainers with different settings cannot be merged.
    DifferentSettings,
    /// A label is not acceptable.
    Classes(ClassesError),
    /// The tokenizer's options are out of range.
    Options(OptionsError),
    /// The vocabulary cannot take another term.
    Vocabulary(VocabularyFull),
    /// The counts cannot take a change.
    Statistics(StatisticsError),
    /// The parameters cannot be used with these counts.
    Parameters(ParametersError),
    /// Expectation maximization cannot start or continue.
    Em(EmError),
    /// A row of real values cannot be learned or forgotten.
    Observation(ObservationError),
}

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Returns the kind of the error.
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    /// Converts the error into its kind.
    pub fn into_kind(self) -> ErrorKind {
        *self.0
    }

    /// Returns the file concerned, if known. Errors in the content of a file name a part of the file instead.
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

    pub(crate) fn option(option: &'static str, message: impl fmt::Display) -> Error {
        ErrorKind::Option { option, message: message.to_string() }.into()
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
