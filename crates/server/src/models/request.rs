//! What is asked of a model, and what comes of it.

use tamis_train::ErrorKind;

use crate::settings::rules::LONGEST_ADDRESS;

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

/// Who a message is for. One for one user is scored with his model, one for several with the shared model.
#[derive(Default)]
pub(crate) struct Recipients {
    /// Their number; 2 stands for any above 1.
    pub(crate) n: u8,
    /// The address of one, without angle brackets; of several, `@` and the domain of all; otherwise empty.
    pub(crate) common: String,
}

impl Recipients {
    /// Adds a recipient, as the client wrote it.
    pub(crate) fn add(&mut self, address: &[u8]) {
        let address = address.trim_ascii();
        let address = address.strip_prefix(b"<").unwrap_or(address);
        let address = address.strip_suffix(b">").unwrap_or(address);
        // longer ones have no model of their own
        let address = str::from_utf8(address).ok().filter(|address| address.len() <= LONGEST_ADDRESS);
        let domain = |address: &str| {
            address.rfind('@').map_or_else(String::new, |at| address[at..].to_ascii_lowercase())
        };
        let (n, common) = match (self.n, address) {
            (0, Some("")) => return,
            (0, Some(address)) => (1, address.to_owned()),
            // the same mailbox again
            (1, Some(address)) if self.common.eq_ignore_ascii_case(address) => return,
            (_, Some(address)) if domain(&self.common) == domain(address) => (2, domain(address)),
            _ => (2, String::new()),
        };
        *self = Recipients { n, common };
    }

    /// The model for them.
    pub(crate) fn model(&self) -> ModelId<'_> {
        if self.n == 1 { ModelId::User(&self.common) } else { ModelId::Shared }
    }
}

/// What a model is told of a document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Feedback {
    /// Learn it under this label.
    Learn(String),
    /// Learn it under this label, unless it is known: nobody's correction is undone.
    LearnNew(String),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_recipient_has_a_model_and_several_may_have_a_domain() {
        let mut all = Recipients::default();
        let mut add = |address: &str| {
            all.add(address.as_bytes());
            (all.common.clone(), all.model().name())
        };
        let joe = ("Joe@example.org".to_owned(), "user/Joe@example.org".to_owned());
        let shared = |domain: &str| (domain.to_owned(), String::new());
        assert_eq!(add(""), shared(""));
        assert_eq!(add("<Joe@example.org>"), joe);
        assert_eq!(add("joe@example.ORG"), joe);
        assert_eq!(add("<ann@Example.org>"), shared("@example.org"));
        assert_eq!(add("bob@example.org"), shared("@example.org"));
        assert_eq!(add("bob@example.net"), shared(""));
        assert_eq!(add("joe@example.org"), shared(""));
    }
}
