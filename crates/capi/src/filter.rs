//! The handle: a model that threads share.

use std::ffi::{CString, c_char};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use tamis_train::{
    Document, Error, ErrorKind, Filter, LearnOptions, LearnOutcome, Learner, LiveFilter, Result, Scratch,
};

use crate::edge::{CallResult, c_text};

/// An open model. Threads may share it.
pub struct TamisFilter {
    filter: LiveFilter,
    /// The model's file, if the handle was opened by path.
    path: Option<PathBuf>,
    /// Every label handed out to C, which keeps pointers to them, so none is dropped before the handle. There are few.
    labels: Mutex<Vec<CString>>,
}

impl TamisFilter {
    pub(crate) fn open(path: PathBuf) -> CallResult<Self> {
        let filter = Filter::open(&path).map_err(|error| named(&path, &error))?;
        Ok(TamisFilter::new(filter, Some(path)))
    }

    pub(crate) fn from_bytes(bytes: Vec<u8>) -> CallResult<Self> {
        let filter = Filter::from_bytes(bytes).map_err(|error| error.to_string())?;
        Ok(TamisFilter::new(filter, None))
    }

    fn new(filter: Filter, path: Option<PathBuf>) -> Self {
        TamisFilter { filter: LiveFilter::new(filter), path, labels: Mutex::default() }
    }

    /// Runs `ask` on the model. The answer comes from one whole version of the model, or is an error.
    pub(crate) fn ask<T>(&self, ask: impl Fn(&Filter, &mut Scratch) -> Result<T>) -> CallResult<T> {
        self.filter.ask(|filter, scratch| ask(filter, scratch)).map_err(|error: Error| self.named(&error))
    }

    /// Learns a document in the model's file, then opens the file again. Returns whether anything changed.
    pub(crate) fn learn(&self, label: &str, document: Document<'_>) -> CallResult<bool> {
        self.change(|learner| Ok(learner.learn(label, document)? != LearnOutcome::Already))
    }

    /// Makes the model's file forget a document, then opens it again. Returns whether the document was known.
    pub(crate) fn forget(&self, label: Option<&str>, document: Document<'_>) -> CallResult<bool> {
        self.change(|learner| match learner.forget(label, document) {
            Err(error) if error.kind() == ErrorKind::NotLearned => Ok(false),
            forgot => forgot.map(|_| true),
        })
    }

    fn change(&self, change: impl FnOnce(&mut Learner) -> Result<bool>) -> CallResult<bool> {
        let none = "expected a model that was opened by tamis_open, got one of bytes, which has no file";
        let path = self.path.as_ref().ok_or(none)?;
        let mut learner = Learner::open(path, LearnOptions::default()).map_err(|error| self.named(&error))?;
        let changed = change(&mut learner).and_then(|changed| learner.commit().map(|_| changed));
        drop(learner);
        let changed = changed.map_err(|error| self.named(&error))?;
        self.reload()?;
        Ok(changed)
    }

    /// Opens the file again if it has changed. Returns whether it had.
    pub(crate) fn reload(&self) -> CallResult<bool> {
        self.filter.reload().map_err(|error| self.named(&error))
    }

    /// Returns a label as text that C may keep.
    pub(crate) fn label(&self, label: &str) -> *const c_char {
        let label = c_text(label);
        // a panic leaves nothing half done
        let mut labels = self.labels.lock().unwrap_or_else(PoisonError::into_inner);
        let known = labels.iter().position(|known| *known == label);
        let at = known.unwrap_or_else(|| {
            labels.push(label);
            labels.len() - 1
        });
        // the text stays where it is when the list grows
        labels[at].as_ptr()
    }

    fn named(&self, error: &Error) -> String {
        self.path.as_ref().map_or_else(|| error.to_string(), |path| named(path, error))
    }
}

/// The error's message, with the file's name in front unless the error names a file itself.
fn named(path: &std::path::Path, error: &Error) -> String {
    match error.path() {
        Some(_) => error.to_string(),
        None => format!("{}: {error}", path.display()),
    }
}
