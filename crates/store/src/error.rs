//! Errors of the library: their kinds, and the messages: what was expected, what was found, and what to do.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, io};

use tamis_model::{
    ClassesError, EmError, ObservationError, ParametersError, StatisticsError, TooFewNegatives,
};
use tamis_tokenizer::{OptionsError, VocabularyFull};

use crate::kind::Kind;

/// The error of training, saving, opening or using a filter.
///
/// It is the size of one pointer. Its text includes the cause, so [`source`](std::error::Error::source) returns the
/// cause of that cause: an error chain repeats nothing.
///
/// ```
/// use tamis_train::{ErrorKind, Filter};
///
/// let error = Filter::from_bytes(b"SQLite format 3".to_vec()).err().unwrap();
/// assert_eq!(error.kind(), ErrorKind::NotAModel);
/// assert!(error.to_string().contains("SQLite f"));
/// ```
pub struct Error(Box<Reason>);

/// What kind of error it is, by what a caller can do about it. The text of the [`Error`] says the rest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system refused to read or write a file, or it is not a regular file; see [`Error::io_error`].
    Io,
    /// The bytes are not a model, or not the kind of file that is needed. Use another file.
    NotAModel,
    /// Another version of the program wrote the file. Use that version, or train the model anew.
    Version,
    /// The file is damaged or contradicts itself, or a line of an imported text is wrong. Use a whole copy, or
    /// `salvage` what is left.
    Damaged,
    /// The model file was changed in place while it was in use. Open it again.
    Changed,
    /// Another process is changing the model and did not finish within the timeout. Try later.
    Locked,
    /// The document is of another kind than the model's, or a cell does not suit its column. Leave it out.
    Document,
    /// A label is unknown, reserved, not acceptable, or looks like another. Use another label.
    Label,
    /// An option is out of range, or settings do not suit each other, the labels or the other models; see
    /// [`Error::setting`]. Change the setting.
    Settings,
    /// The document to forget was never learned, or not under the given label.
    NotLearned,
    /// The terms of documents are needed, and the model does not store them. Provide the documents.
    TermsNotStored,
    /// The documents are too few or too many, lack labels, or exceed what counts can hold. Learn others.
    Data,
}

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Whether the error may be temporary, because it comes from a file that is being written in place.
    pub fn is_passing(&self) -> bool {
        matches!(
            self.reason(),
            Reason::Changed { .. }
                | Reason::Unreadable { .. }
                | Reason::Checksum { .. }
                | Reason::Inconsistent { .. }
                | Reason::Length { .. }
                | Reason::NotAModel { .. }
        )
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        kind_of(self.reason())
    }

    /// Everything there is to say of it.
    pub fn into_reason(self) -> Reason {
        *self.0
    }

    /// Everything there is to say of it.
    pub fn reason(&self) -> &Reason {
        &self.0
    }

    /// Returns the operating system's error, if there is one.
    pub fn io_error(&self) -> Option<&io::Error> {
        match self.reason() {
            Reason::Io { source, .. } => Some(source),
            _ => None,
        }
    }

    /// Converts the error into the operating system's, if there is one.
    ///
    /// # Errors
    /// The error itself, if there is none.
    pub fn into_io_error(self) -> std::result::Result<io::Error, Error> {
        match *self.0 {
            Reason::Io { source, .. } => Ok(source),
            other => Err(other.into()),
        }
    }

    /// Returns the setting concerned, if it is one: the name of an option such as `idf_power`, or what differs between
    /// models such as `recipe.raw`.
    pub fn setting(&self) -> Option<&str> {
        match self.reason() {
            Reason::Option { option, .. } => Some(option),
            Reason::Incompatible { setting, .. } => Some(setting),
            Reason::TooFewNegatives(_) => Some("max_fpr"),
            Reason::Shared { .. } => Some("repeat"),
            _ => None,
        }
    }

    /// Sets how long the caller has waited in all, for an error of kind
    /// [`ErrorKind::Locked`].
    pub fn waited(mut self, all: Duration) -> Self {
        if let Reason::Locked { waited, .. } = &mut *self.0 {
            *waited = all;
        }
        self
    }

    /// Returns the file concerned, if known. Errors in the content of a file name a part of the file instead.
    pub fn path(&self) -> Option<&Path> {
        match self.reason() {
            Reason::Io { path, .. }
            | Reason::NotAFile { path, .. }
            | Reason::Changed { path }
            | Reason::Unreadable { path }
            | Reason::Locked { path, .. } => Some(path),
            _ => None,
        }
    }

    /// Makes an error of the system an error about a file.
    pub fn io(path: &Path) -> impl FnOnce(io::Error) -> Error + '_ {
        move |source| Reason::Io { path: path.to_path_buf(), source }.into()
    }

    /// An option that is out of range.
    pub fn option(option: &'static str, message: impl fmt::Display) -> Error {
        Reason::Option { option, message: message.to_string() }.into()
    }

    /// Models, or a model and a record, with different settings.
    pub fn incompatible(setting: &str, expected: impl fmt::Display, got: impl fmt::Display) -> Error {
        let (expected, got) = (expected.to_string(), got.to_string());
        Reason::Incompatible { setting: setting.to_owned(), expected, got }.into()
    }

    /// Two parts of a file that contradict each other.
    pub fn inconsistent(part: &'static str, expected: impl fmt::Display, got: impl fmt::Display) -> Error {
        Reason::Inconsistent { part, expected: expected.to_string(), got: got.to_string() }.into()
    }

    /// An error as of [`Error::inconsistent`], unless all is well.
    pub fn ensure(
        is_well: bool,
        part: &'static str,
        expected: impl fmt::Display,
        got: impl fmt::Display,
    ) -> Result<()> {
        if is_well { Ok(()) } else { Err(Error::inconsistent(part, expected, got)) }
    }

    /// An error as of [`Error::option`], unless all is well.
    pub fn ensure_option(is_well: bool, option: &'static str, message: impl fmt::Display) -> Result<()> {
        if is_well { Ok(()) } else { Err(Error::option(option, message)) }
    }
}

/// The kind of an error, by what a caller can do about it.
fn kind_of(reason: &Reason) -> ErrorKind {
    match reason {
        Reason::Io { .. } | Reason::NotAFile { .. } => ErrorKind::Io,
        Reason::NotAModel { .. } | Reason::WrongFile { .. } => ErrorKind::NotAModel,
        Reason::Version { .. } | Reason::Segment { .. } | Reason::RecipeVersion { .. } => ErrorKind::Version,
        Reason::Length { .. }
        | Reason::Checksum { .. }
        | Reason::Inconsistent { .. }
        | Reason::Record { .. }
        | Reason::Import { .. } => ErrorKind::Damaged,
        Reason::Changed { .. } | Reason::Unreadable { .. } => ErrorKind::Changed,
        Reason::Locked { .. } => ErrorKind::Locked,
        Reason::Kind { .. } | Reason::Cell { .. } => ErrorKind::Document,
        Reason::Document { error, .. } => kind_of(error),
        Reason::Classes(ClassesError::TooMany { .. }) => ErrorKind::Data,
        Reason::UnknownLabel { .. }
        | Reason::ReservedLabel { .. }
        | Reason::SimilarLabels { .. }
        | Reason::Classes(_) => ErrorKind::Label,
        Reason::Option { .. }
        | Reason::Columns { .. }
        | Reason::Options(_)
        | Reason::Parameters(_)
        | Reason::NotWeighted
        | Reason::Incompatible { .. }
        | Reason::DifferentSettings
        | Reason::DistributedUnsupported { .. }
        | Reason::IncrementalUnsupported { .. }
        | Reason::Shared { .. }
        | Reason::Buffer { .. } => ErrorKind::Settings,
        Reason::NotLearned { .. } => ErrorKind::NotLearned,
        Reason::TermsNotStored | Reason::CountsAlone => ErrorKind::TermsNotStored,
        Reason::TooFewLabels { .. }
        | Reason::Unlabelled
        | Reason::OneFold { .. }
        | Reason::TooFewNegatives(_)
        | Reason::TooLarge { .. }
        | Reason::Vocabulary(_)
        | Reason::Statistics(_)
        | Reason::Em(_)
        | Reason::Observation(_) => ErrorKind::Data,
    }
}

impl Reason {
    /// This error, unless all is well.
    pub fn unless(self, is_well: bool) -> Result<()> {
        if is_well { Ok(()) } else { Err(self.into()) }
    }
}

impl<T: Into<Reason>> From<T> for Error {
    fn from(reason: T) -> Self {
        Error(Box::new(reason.into()))
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
        match self.reason() {
            Reason::Io { source, .. } => source.source(),
            // errors of the model and of the tokenizer have no cause
            _ => None,
        }
    }
}

/// Why an operation failed, with the details of the message.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the text of each says what its fields are")]
pub enum Reason {
    /// The operating system refused to read or write a file.
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    /// The path of a model, or of its lock, is not a regular file.
    #[error(
        "{path}: expected a regular file, as a model and its lock must be, got {got}; save what comes through a pipe to \
         a file first"
    )]
    NotAFile { path: PathBuf, got: &'static str },
    /// A model file was changed in place while it was in use.
    #[error(
        "{path}: the model was changed in place while it was in use: expected it to be replaced by renaming (mv, not cp)"
    )]
    Changed { path: PathBuf },
    /// A page of a mapped model was lost; see [`survive_lost_pages`](crate::disk::memory::survive_lost_pages).
    #[error(
        "{path}: a part of the model could not be read: its file was truncated while in use, or the disk fails"
    )]
    Unreadable { path: PathBuf },
    /// The bytes do not begin like a model file.
    #[error(
        "not a tamis model: expected it to begin with \"TAMIS\", got \"{}\"; name a model, or put a whole copy of it there",
        .got.escape_ascii()
    )]
    NotAModel { got: Vec<u8> },
    /// The model file has a format that this version does not read.
    #[error(
        "unsupported model format {got}: expected {expected}; retrain the model, or use the version of tamis that wrote it"
    )]
    Version { expected: u32, got: u32 },
    /// A file of this program, but not of the expected kind, such as a model instead of a partial.
    #[error("expected {expected}, got {got}")]
    WrongFile { expected: &'static str, got: &'static str },
    /// The file has a segment of an unknown kind, appended by a later version of the program.
    #[error(
        "the model has a segment of the kind \"{}\", which is unsupported: expected records of a log; retrain the model, \
         or use the version of tamis that wrote it",
        .got.escape_ascii()
    )]
    Segment { got: Vec<u8> },
    /// The file is shorter than the length recorded in it.
    #[error("the model is cut short: expected {expected} bytes, got {got}; take a whole copy, or retrain it")]
    Length { expected: u64, got: u64 },
    /// A part of the file does not match its checksum.
    #[error(
        "the model is damaged in its {part} at byte {offset}: expected checksum {expected:08x}, got {got:08x}; take a \
         whole copy, or retrain it"
    )]
    Checksum { part: &'static str, offset: u64, expected: u32, got: u32 },
    /// The checksums are right, but the content contradicts itself: this program did not write it.
    #[error("the model contradicts itself in its {part}: expected {expected}, got {got}")]
    Inconsistent { part: &'static str, expected: String, got: String },
    /// The model was trained by another version of the code that turns documents into terms.
    #[error("the model was trained by recipe {got}: expected recipe {expected}; retrain it")]
    RecipeVersion { expected: u16, got: u16 },
    /// A document was given to a model of another kind, such as a mail to a model of text.
    #[error("the model was trained on {expected}: expected {expected}, got {got}")]
    Kind { expected: Kind, got: Kind },
    /// The columns of a table or row are invalid, or do not suit the scoring.
    #[error("columns: expected {expected}, got {got}")]
    Columns { expected: String, got: String },
    /// A cell has a value that its column cannot hold.
    #[error("column {column:?}: expected {expected}, got {got:?}")]
    Cell { column: String, expected: &'static str, got: String },
    /// Too few labels: there is nothing to distinguish.
    #[error("expected documents of at least {expected} labels, got {got}")]
    TooFewLabels { expected: usize, got: usize },
    /// Unlabelled documents were given to a scoring that needs labels, or a model that learned from unlabelled
    /// documents was to be fitted again.
    #[error(
        "expected a label for each document, got documents without; they can be learned in training only, by weighted \
         scoring or by expectation maximization"
    )]
    Unlabelled,
    /// The operation needs weighted scoring, but the scoring is naive Bayes.
    #[error("expected weighted scoring, got naive Bayes")]
    NotWeighted,
    /// A number exceeds a limit of the file format.
    #[error("too many {what}: expected at most {limit}, got {got}")]
    TooLarge { what: &'static str, limit: u64, got: u64 },
    /// An option is out of range, or does not suit the documents or the other options.
    #[error("{option}: {message}")]
    Option { option: &'static str, message: String },
    /// Too few negatives to guarantee the maximum false-positive rate with 95 % confidence.
    #[error("max_fpr: {0}")]
    TooFewNegatives(#[from] TooFewNegatives),
    /// Another process is changing the model and did not finish within the timeout.
    #[error("{path}: another process is changing the model; waited {} s for it", .waited.as_secs_f64())]
    Locked { path: PathBuf, waited: Duration },
    /// A fit by partitions does not support this.
    #[error("{got} cannot be fitted by partitions: fit it on one machine")]
    DistributedUnsupported { got: &'static str },
    /// Counts without their documents were given where documents are needed.
    #[error("expected documents with their terms, got counts without the documents")]
    CountsAlone,
    /// The model cannot learn one document at a time.
    #[error("a model of {got} does not learn one document at a time: retrain it")]
    IncrementalUnsupported { got: &'static str },
    /// A label that the model does not know.
    #[error(
        "expected a label that the model knows ({}), got {got:?}{}",
        .known,
        .nearest.as_ref().map_or(String::new(), |nearest| format!(" (did you mean {nearest:?}?)"))
    )]
    UnknownLabel { got: String, known: String, nearest: Option<String> },
    /// A label has the name of a reserved verdict, `unsure`.
    #[error("expected a label other than the verdict of no label, got {got:?}; rename it")]
    ReservedLabel { got: String },
    /// Two labels look the same: they differ only in case, blanks, invisible or look-alike characters.
    #[error(
        "expected labels that differ in more than case, blanks, invisible or look-alike characters, got {:?} and {:?}; \
         use one spelling",
        .got[0], .got[1]
    )]
    SimilarLabels { got: [String; 2] },
    /// All documents of a label are in one fold, so cross-validation has none to learn the label from when it is held
    /// out.
    #[error(
        "cross-validation: expected documents of {label:?} in two folds, so that others are left to learn from, got them \
         in one; documents of a group stay together"
    )]
    OneFold { label: String },
    /// A buffer for probabilities has the wrong length.
    #[error("expected a buffer of {expected} numbers, documents times labels, got {got}")]
    Buffer { expected: usize, got: usize },
    /// One of several documents cannot be scored.
    #[error("document {place}: {error}")]
    Document { place: usize, error: Box<Reason> },
    /// The document to forget was never learned, or not under the given label.
    #[error(
        "document {:032x} was {}",
        u128::from_be_bytes(*.digest),
        .known.as_ref().map_or("never learned".to_owned(), |label| format!("learned as {label:?}"))
    )]
    NotLearned { digest: [u8; 16], known: Option<String> },
    /// Forgetting a document by its digest, or retraining, needs the terms of documents, and the model does not store
    /// them.
    #[error("the model remembers no terms of this document: it must be at hand to be forgotten")]
    TermsNotStored,
    /// The models cannot be merged or combined.
    #[error("models do not add up: {setting}: expected {expected}, got {got}")]
    Incompatible { setting: String, expected: String, got: String },
    /// Bytes that are not a whole record of a document.
    #[error("a record of a document: expected {expected}, got {got}")]
    Record { expected: String, got: String },
    /// Models to merge share documents, and not all of them store the terms of these documents.
    #[error(
        "repeat: expected models that share no documents, or remember the terms of those they share, got {documents} shared \
         documents of which some remember a digest only; with this option they count once for each model"
    )]
    Shared { documents: u64 },
    /// A line of an exported model, or of another program's file, cannot be imported.
    #[error("line {line}: expected {expected}, got {got}")]
    Import { line: u64, expected: String, got: String },
    /// Trainers with different settings cannot be merged.
    #[error("trainers with different settings cannot be merged: expected equal recipes and parameters")]
    DifferentSettings,
    /// A label is not acceptable.
    #[error("{0}")]
    Classes(#[from] ClassesError),
    /// The tokenizer's options are out of range.
    #[error("{0}")]
    Options(#[from] OptionsError),
    /// The vocabulary cannot take another term.
    #[error("{0}")]
    Vocabulary(#[from] VocabularyFull),
    /// The counts cannot take a change.
    #[error("{0}")]
    Statistics(#[from] StatisticsError),
    /// The parameters cannot be used with these counts.
    #[error("{0}")]
    Parameters(#[from] ParametersError),
    /// Expectation maximization cannot start or continue.
    #[error("{0}")]
    Em(#[from] EmError),
    /// A row of real values cannot be learned or forgotten.
    #[error("{0}")]
    Observation(#[from] ObservationError),
}
