use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, io};

use tamis_model::{
    ClassesError, EmError, ObservationError, ParametersError, StatisticsError, TooFewNegatives,
};
use tamis_tokenizer::{OptionsError, VocabularyFull};

use crate::kind::Kind;

/// What went wrong when a filter was trained, written, opened or asked.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
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
    /// Documents without a label were given to a scoring that needs labels.
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
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Error + '_ {
        move |source| Error::Io { path: path.to_path_buf(), source }
    }

    pub(crate) fn inconsistent(
        part: &'static str,
        expected: impl fmt::Display,
        got: impl fmt::Display,
    ) -> Error {
        Error::Inconsistent { part, expected: expected.to_string(), got: got.to_string() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Error::NotAFile { path, got } => write!(
                f,
                "{}: expected a regular file, as a model and its lock must be, got {got}; save what comes through a pipe to a file first",
                path.display()
            ),
            Error::Changed { path } => write!(
                f,
                "{}: the model was changed in place while it was in use: expected it to be replaced by renaming (mv, not cp)",
                path.display()
            ),
            Error::NotAModel { got } => {
                write!(
                    f,
                    "not a tamis model: expected it to begin with \"TAMIS\", got \"{}\"",
                    got.escape_ascii()
                )
            }
            Error::Version { expected, got } => {
                write!(
                    f,
                    "model format {got} is not known here: expected format {expected}; train it anew or use the version of tamis that wrote it"
                )
            }
            Error::Segment { got } => write!(
                f,
                "the model has a segment of the kind \"{}\", which is not known here: expected records of a log; use the version \
                 of tamis that wrote it, or train it anew",
                got.escape_ascii()
            ),
            Error::Length { expected, got } => {
                write!(
                    f,
                    "the model is cut short: expected {expected} bytes, got {got}; take a whole copy, or train it anew"
                )
            }
            Error::Checksum { part, offset, expected, got } => write!(
                f,
                "the model is damaged in its {part} at byte {offset}: expected checksum {expected:08x}, got {got:08x}; take a \
                 whole copy, or train it anew"
            ),
            Error::Inconsistent { part, expected, got } => {
                write!(f, "the model contradicts itself in its {part}: expected {expected}, got {got}")
            }
            Error::RecipeVersion { expected, got } => {
                write!(f, "the model was trained by recipe {got}: expected recipe {expected}; train it anew")
            }
            Error::Kind { expected, got } => {
                write!(f, "the model was trained on {expected}: expected {expected}, got {got}")
            }
            Error::Columns { expected, got } => write!(f, "columns: expected {expected}, got {got}"),
            Error::Cell { column, expected, got } => {
                write!(f, "column {column:?}: expected {expected}, got {got:?}")
            }
            Error::TooFewLabels { expected, got } => {
                write!(f, "expected documents of at least {expected} labels, got {got}")
            }
            Error::NotTwoLabels { got } => write!(f, "expected two labels, got {got}"),
            Error::Unlabelled => {
                write!(
                    f,
                    "expected a label for each document, or expectation maximization, got documents without a label"
                )
            }
            Error::NotWeighted => write!(f, "expected weighted scoring, got naive Bayes"),
            Error::TooLarge { what, limit, got } => {
                write!(f, "too many {what}: expected at most {limit}, got {got}")
            }
            Error::Option { option, expected, got } => write!(f, "{option}: expected {expected}, got {got}"),
            Error::TooFewNegatives(e) => e.fmt(f),
            Error::Locked { path, waited } => {
                let seconds = waited.as_secs_f64();
                write!(
                    f,
                    "{}: another process is changing the model; waited {seconds} s for it",
                    path.display()
                )
            }
            Error::IncrementalUnsupported { got } => {
                write!(f, "a model {got} does not learn one document at a time: train it anew")
            }
            Error::UnknownLabel { got, known, nearest } => {
                write!(f, "expected a label that the model knows ({}), got {got:?}", known.join(", "))?;
                nearest.as_ref().map_or(Ok(()), |nearest| write!(f, " (did you mean {nearest:?}?)"))
            }
            Error::NotLearned { digest, known } => {
                let digest = u128::from_be_bytes(*digest);
                match known {
                    None => write!(f, "document {digest:032x} was never learned"),
                    Some(label) => write!(f, "document {digest:032x} was learned as {label:?}"),
                }
            }
            Error::TermsNotStored => {
                write!(f, "the model remembers no terms of this document: it must be at hand to be forgotten")
            }
            Error::Incompatible { setting, expected, got } => {
                write!(f, "models do not add up: {setting}: expected {expected}, got {got}")
            }
            Error::Shared { documents } => {
                write!(
                    f,
                    "expected models that share no documents, or remember the terms of those they share, got {documents} shared documents of which some remember a digest only"
                )
            }
            Error::Import { line, expected, got } => {
                write!(f, "line {line}: expected {expected}, got {got}")
            }
            Error::DifferentSettings => {
                write!(
                    f,
                    "trainers with different settings cannot be merged: expected equal recipes and parameters"
                )
            }
            Error::Classes(e) => e.fmt(f),
            Error::Options(e) => e.fmt(f),
            Error::Vocabulary(e) => e.fmt(f),
            Error::Statistics(e) => e.fmt(f),
            Error::Parameters(e) => e.fmt(f),
            Error::Em(e) => e.fmt(f),
            Error::Observation(e) => e.fmt(f),
        }
    }
}

/// What an error displays has its cause in it, so that no cause is a source that would be told again.
impl std::error::Error for Error {}

macro_rules! from {
    ($($source:ty => $variant:ident),*) => {$(
        impl From<$source> for Error {
            fn from(error: $source) -> Self {
                Error::$variant(error)
            }
        }
    )*};
}
from!(ClassesError => Classes, OptionsError => Options, VocabularyFull => Vocabulary, StatisticsError => Statistics, ParametersError => Parameters, EmError => Em, ObservationError => Observation, TooFewNegatives => TooFewNegatives);
