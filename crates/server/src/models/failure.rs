//! Why a request was not served.

use std::fmt;

use tamis_train::ErrorKind;

/// Why a request was not served. Each door has its own answer to each.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Failure {
    /// The server is full, or stopping: try again later.
    Busy,
    /// There is no model yet; the text has the command that makes one.
    NoModel(String),
    /// No model has this name.
    UnknownModel(String),
    /// The message exceeds this number of bytes.
    TooLarge(usize),
    /// The client may not do this.
    Denied,
    /// The request cannot be served with this model: an unknown label, a document of another kind.
    Request(String),
    /// What was to be forgotten is not known.
    NotLearned,
    /// The model cannot be read or written now.
    Model(String),
    /// A defect of the server.
    Defect,
}

impl Failure {
    /// Whether the same request may succeed later.
    pub fn is_temporary(&self) -> bool {
        matches!(self, Failure::Busy | Failure::NoModel(_) | Failure::Model(_))
    }
}

impl From<tamis_train::Error> for Failure {
    fn from(error: tamis_train::Error) -> Self {
        match error.kind() {
            ErrorKind::NotLearned => Failure::NotLearned,
            ErrorKind::Document | ErrorKind::Label | ErrorKind::Settings | ErrorKind::TermsNotStored => {
                Failure::Request(error.to_string())
            }
            _ => Failure::Model(error.to_string()),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Busy => f.write_str("too busy; try again later"),
            Failure::NoModel(text) | Failure::Request(text) | Failure::Model(text) => f.write_str(text),
            Failure::UnknownModel(name) => write!(f, "there is no model named {name:?}"),
            Failure::TooLarge(limit) => {
                write!(f, "expected a message of at most {limit} bytes, got a longer one")
            }
            Failure::Denied => f.write_str("not allowed"),
            Failure::NotLearned => f.write_str("the message is not known"),
            Failure::Defect => f.write_str("a defect of the server; please report it"),
        }
    }
}

impl std::error::Error for Failure {}
