//! What is asked of a model, and what comes of it.

use tamis_train::ErrorKind;

/// Which model a request is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ModelId<'a> {
    /// The shared one.
    Shared,
    /// That of a user, or the shared one if he has none.
    User(&'a str),
    /// One of those named in the settings.
    Named(&'a str),
}

impl<'a> ModelId<'a> {
    /// The model's name: empty for the shared one, `user/NAME` for a user's, otherwise as in the settings.
    pub fn name(self) -> String {
        match self {
            ModelId::Shared => String::new(),
            ModelId::User(user) => format!("user/{user}"),
            ModelId::Named(name) => name.to_owned(),
        }
    }

    /// The model of a [name](Self::name).
    pub fn of_name(name: &'a str) -> Self {
        match name.strip_prefix("user/") {
            Some(user) => ModelId::User(user),
            None if name.is_empty() => ModelId::Shared,
            None => ModelId::Named(name),
        }
    }
}

/// What a model is told of a document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Feedback {
    /// Learn it under this label.
    Learn(String),
    /// Forget it, whatever its label.
    Forget,
    /// Tell whether it is known, and change nothing.
    Find,
}

/// What came of feedback.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FeedbackOutcome {
    /// The document was learned, or moved to the label.
    Learned,
    /// The counts of a document were learned, and it was known under this label before.
    Moved(String),
    /// It was known under the label.
    Already,
    /// It was forgotten.
    Forgotten,
    /// It was to be forgotten or found, and was not known.
    Unknown,
    /// It was found: the label it is known under.
    Known(String),
}

/// Why a request was not served. Each door has its own answer to each.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// The server is full, or stopping: try again later.
    #[error("too busy; try again later")]
    Busy,
    /// There is no model yet; the text has the command that makes one.
    #[error("{0}")]
    NoModel(String),
    /// No model has this name.
    #[error("there is no model named {0:?}")]
    UnknownModel(String),
    /// The message exceeds this number of bytes.
    #[error("expected a message of at most {0} bytes, got a longer one")]
    TooLarge(usize),
    /// The client may not do this.
    #[error("not allowed")]
    Denied,
    /// The request cannot be served with this model: an unknown label, a document of another kind.
    #[error("{0}")]
    Request(String),
    /// What was to be forgotten is not known.
    #[error("the message is not known")]
    NotLearned,
    /// The model cannot be read or written now.
    #[error("{0}")]
    Model(String),
    /// The model is damaged, or of another version.
    #[error("{0}")]
    Damaged(String),
    /// A defect of the server.
    #[error("a defect of the server; please report it")]
    Defect,
}

impl ServiceError {
    /// Whether the same request may succeed later.
    pub fn is_temporary(&self) -> bool {
        use ServiceError::{Busy, Damaged, Model, NoModel};
        matches!(self, Busy | NoModel(_) | Model(_) | Damaged(_))
    }
}

impl ServiceError {
    /// The failure of a model's file.
    pub(crate) fn of_model(kind: ErrorKind, text: String) -> Self {
        match kind {
            ErrorKind::Damaged | ErrorKind::NotAModel | ErrorKind::Version => ServiceError::Damaged(text),
            _ => ServiceError::Model(text),
        }
    }
}

impl From<tamis_train::Error> for ServiceError {
    fn from(error: tamis_train::Error) -> Self {
        match error.kind() {
            ErrorKind::NotLearned => ServiceError::NotLearned,
            ErrorKind::Document
            | ErrorKind::Label
            | ErrorKind::Settings
            | ErrorKind::TermsNotStored
            | ErrorKind::Data => ServiceError::Request(error.to_string()),
            kind => ServiceError::of_model(kind, error.to_string()),
        }
    }
}
