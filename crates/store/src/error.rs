//! Errors of the library.

use std::path::Path;
use std::time::Duration;
use std::{fmt, io};

use tamis_model::{
    ClassesError, EmError, ObservationError, ParametersError, StatisticsError, TooFewNegatives,
};
use tamis_tokenizer::{OptionsError, VocabularyFull};

pub use crate::error::reason::Reason;

mod reason;

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

    /// Two parts of a file that contradict each other.
    pub fn inconsistent(part: &'static str, expected: impl fmt::Display, got: impl fmt::Display) -> Error {
        Reason::Inconsistent { part, expected: expected.to_string(), got: got.to_string() }.into()
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
        Reason::Changed { .. } => ErrorKind::Changed,
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

impl From<Reason> for Error {
    fn from(reason: Reason) -> Self {
        Error(Box::new(reason))
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

macro_rules! from {
    ($($source:ty => $variant:ident),*) => {$(
        impl From<$source> for Error {
            fn from(error: $source) -> Self {
                Reason::$variant(error).into()
            }
        }
    )*};
}
from!(ClassesError => Classes, OptionsError => Options, VocabularyFull => Vocabulary, StatisticsError => Statistics, ParametersError => Parameters, EmError => Em, ObservationError => Observation, TooFewNegatives => TooFewNegatives);
