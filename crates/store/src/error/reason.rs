//! Why an operation failed, and the messages: what was expected, what was found, and what to do.

use std::path::PathBuf;
use std::time::Duration;
use std::{fmt, io};

use tamis_model::{
    ClassesError, EmError, ObservationError, ParametersError, StatisticsError, TooFewNegatives,
};
use tamis_tokenizer::{OptionsError, VocabularyFull};

use crate::kind::Kind;

/// Why an operation failed, with the details of the message.
#[derive(Debug)]
#[allow(missing_docs, reason = "the text of each says what its fields are")]
pub enum Reason {
    /// The operating system refused to read or write a file.
    Io { path: PathBuf, source: io::Error },
    /// The path of a model, or of its lock, is not a regular file.
    NotAFile { path: PathBuf, got: &'static str },
    /// A model file was changed in place while it was in use.
    Changed { path: PathBuf },
    /// The bytes do not begin like a model file.
    NotAModel { got: Vec<u8> },
    /// The model file has a format that this version does not read.
    Version { expected: u32, got: u32 },
    /// A file of this program, but not of the expected kind, such as a model instead of a partial.
    WrongFile { expected: &'static str, got: &'static str },
    /// The file has a segment of an unknown kind, appended by a later version of the program.
    Segment { got: Vec<u8> },
    /// The file is shorter than the length recorded in it.
    Length { expected: u64, got: u64 },
    /// A part of the file does not match its checksum.
    Checksum { part: &'static str, offset: u64, expected: u32, got: u32 },
    /// The checksums are right, but the content contradicts itself: this program did not write it.
    Inconsistent { part: &'static str, expected: String, got: String },
    /// The model was trained by another version of the code that turns documents into terms.
    RecipeVersion { expected: u16, got: u16 },
    /// A document was given to a model of another kind, such as a mail to a model of text.
    Kind { expected: Kind, got: Kind },
    /// The columns of a table or row are invalid, or do not suit the scoring.
    Columns { expected: String, got: String },
    /// A cell has a value that its column cannot hold.
    Cell { column: String, expected: &'static str, got: String },
    /// Too few labels: there is nothing to distinguish.
    TooFewLabels { expected: usize, got: usize },
    /// Unlabelled documents were given to a scoring that needs labels, or a model that learned from unlabelled
    /// documents was to be fitted again.
    Unlabelled,
    /// The operation needs weighted scoring, but the scoring is naive Bayes.
    NotWeighted,
    /// A number exceeds a limit of the file format.
    TooLarge { what: &'static str, limit: u64, got: u64 },
    /// An option is out of range, or does not suit the documents or the other options.
    Option { option: &'static str, message: String },
    /// Too few negatives to guarantee the maximum false-positive rate with 95 % confidence.
    TooFewNegatives(TooFewNegatives),
    /// Another process is changing the model and did not finish within the timeout.
    Locked { path: PathBuf, waited: Duration },
    /// A fit by partitions does not support this.
    DistributedUnsupported { got: &'static str },
    /// Counts without their documents were given where documents are needed.
    CountsAlone,
    /// The model cannot learn one document at a time.
    IncrementalUnsupported { got: &'static str },
    /// A label that the model does not know.
    UnknownLabel { got: String, known: Vec<String>, nearest: Option<String> },
    /// A label has the name of a reserved verdict, `unsure`.
    ReservedLabel { got: String },
    /// Two labels look the same: they differ only in case, blanks, invisible or look-alike characters.
    SimilarLabels { got: [String; 2] },
    /// All documents of a label are in one fold, so cross-validation has none to learn the label from when it is held
    /// out.
    OneFold { label: String },
    /// A buffer for probabilities has the wrong length.
    Buffer { expected: usize, got: usize },
    /// One of several documents cannot be scored.
    Document { place: usize, error: Box<Reason> },
    /// The document to forget was never learned, or not under the given label.
    NotLearned { digest: [u8; 16], known: Option<String> },
    /// Forgetting a document by its digest, or retraining, needs the terms of documents, and the model does not store
    /// them.
    TermsNotStored,
    /// The models cannot be merged or combined.
    Incompatible { setting: String, expected: String, got: String },
    /// Bytes that are not a whole record of a document.
    Record { expected: String, got: String },
    /// Models to merge share documents, and not all of them store the terms of these documents.
    Shared { documents: u64 },
    /// A line of an exported model, or of another program's file, cannot be imported.
    Import { line: u64, expected: String, got: String },
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

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Reason::NotAFile { path, got } => write!(
                f,
                "{}: expected a regular file, as a model and its lock must be, got {got}; save what comes through a pipe to a file first",
                path.display()
            ),
            Reason::Changed { path } => write!(
                f,
                "{}: the model was changed in place while it was in use: expected it to be replaced by renaming (mv, not cp)",
                path.display()
            ),
            Reason::WrongFile { expected, got } => {
                write!(f, "expected {expected}, got {got}")
            }
            Reason::NotAModel { got } => {
                write!(
                    f,
                    "not a tamis model: expected it to begin with \"TAMIS\", got \"{}\"",
                    got.escape_ascii()
                )
            }
            Reason::Version { expected, got } => {
                write!(
                    f,
                    "unsupported model format {got}: expected {expected}; retrain the model, or use the version of tamis that wrote it"
                )
            }
            Reason::Segment { got } => write!(
                f,
                "the model has a segment of the kind \"{}\", which is unsupported: expected records of a log; retrain the \
                 model, or use the version of tamis that wrote it",
                got.escape_ascii()
            ),
            Reason::Length { expected, got } => {
                write!(
                    f,
                    "the model is cut short: expected {expected} bytes, got {got}; take a whole copy, or retrain it"
                )
            }
            Reason::Checksum { part, offset, expected, got } => write!(
                f,
                "the model is damaged in its {part} at byte {offset}: expected checksum {expected:08x}, got {got:08x}; take a \
                 whole copy, or retrain it"
            ),
            Reason::Inconsistent { part, expected, got } => {
                write!(f, "the model contradicts itself in its {part}: expected {expected}, got {got}")
            }
            Reason::RecipeVersion { expected, got } => {
                write!(f, "the model was trained by recipe {got}: expected recipe {expected}; retrain it")
            }
            Reason::Kind { expected, got } => {
                write!(f, "the model was trained on {expected}: expected {expected}, got {got}")
            }
            Reason::Columns { expected, got } => write!(f, "columns: expected {expected}, got {got}"),
            Reason::Cell { column, expected, got } => {
                write!(f, "column {column:?}: expected {expected}, got {got:?}")
            }
            Reason::TooFewLabels { expected, got } => {
                write!(f, "expected documents of at least {expected} labels, got {got}")
            }
            Reason::Unlabelled => {
                write!(
                    f,
                    "expected a label for each document, got documents without; they can be learned in training only, by \
                     weighted scoring without windows or by expectation maximization"
                )
            }
            Reason::NotWeighted => write!(f, "expected weighted scoring, got naive Bayes"),
            Reason::TooLarge { what, limit, got } => {
                write!(f, "too many {what}: expected at most {limit}, got {got}")
            }
            Reason::Option { option, message } => write!(f, "{option}: {message}"),
            Reason::TooFewNegatives(e) => write!(f, "max_fpr: {e}"),
            Reason::Locked { path, waited } => {
                let seconds = waited.as_secs_f64();
                write!(
                    f,
                    "{}: another process is changing the model; waited {seconds} s for it",
                    path.display()
                )
            }
            Reason::DistributedUnsupported { got } => {
                write!(f, "{got} cannot be fitted by partitions: fit it on one machine")
            }
            Reason::CountsAlone => {
                write!(f, "expected documents with their terms, got counts without the documents")
            }
            Reason::IncrementalUnsupported { got } => {
                write!(f, "a model of {got} does not learn one document at a time: retrain it")
            }
            Reason::UnknownLabel { got, known, nearest } => {
                write!(f, "expected a label that the model knows ({}), got {got:?}", known.join(", "))?;
                nearest.as_ref().map_or(Ok(()), |nearest| write!(f, " (did you mean {nearest:?}?)"))
            }
            Reason::ReservedLabel { got } => {
                write!(f, "expected a label other than the verdict of no label, got {got:?}; rename it")
            }
            Reason::SimilarLabels { got: [one, other] } => {
                write!(
                    f,
                    "expected labels that differ in more than case, blanks, invisible or look-alike characters, got \
                     {one:?} and {other:?}; use one spelling"
                )
            }
            Reason::OneFold { label } => {
                write!(
                    f,
                    "cross-validation: expected documents of {label:?} in two folds, so that others are left to learn \
                     from, got them in one; documents of a group stay together"
                )
            }
            Reason::Buffer { expected, got } => {
                write!(f, "expected a buffer of {expected} numbers, documents times labels, got {got}")
            }
            Reason::Document { place, error } => write!(f, "document {place}: {error}"),
            Reason::NotLearned { digest, known } => {
                let digest = u128::from_be_bytes(*digest);
                match known {
                    None => write!(f, "document {digest:032x} was never learned"),
                    Some(label) => write!(f, "document {digest:032x} was learned as {label:?}"),
                }
            }
            Reason::TermsNotStored => {
                write!(f, "the model remembers no terms of this document: it must be at hand to be forgotten")
            }
            Reason::Incompatible { setting, expected, got } => {
                write!(f, "models do not add up: {setting}: expected {expected}, got {got}")
            }
            Reason::Record { expected, got } => {
                write!(f, "a record of a document: expected {expected}, got {got}")
            }
            Reason::Shared { documents } => {
                write!(
                    f,
                    "repeat: expected models that share no documents, or remember the terms of those they share, got {documents} shared documents of which some remember a digest only; \
                     with this option they count once for each model"
                )
            }
            Reason::Import { line, expected, got } => {
                write!(f, "line {line}: expected {expected}, got {got}")
            }
            Reason::DifferentSettings => {
                write!(
                    f,
                    "trainers with different settings cannot be merged: expected equal recipes and parameters"
                )
            }
            Reason::Classes(e) => e.fmt(f),
            Reason::Options(e) => e.fmt(f),
            Reason::Vocabulary(e) => e.fmt(f),
            Reason::Statistics(e) => e.fmt(f),
            Reason::Parameters(e) => e.fmt(f),
            Reason::Em(e) => e.fmt(f),
            Reason::Observation(e) => e.fmt(f),
        }
    }
}
