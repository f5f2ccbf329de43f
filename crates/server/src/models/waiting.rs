//! Corrections that wait to be learned by a model.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tamis_train::Document;
use tokio::sync::oneshot;

use crate::models::failure::Failure;

/// What a model is to take in.
pub(crate) enum Correction {
    /// A document to learn or to forget.
    Document(Change, Body),
    /// What another server of the fleet, or this one, has learned: the bytes of a record.
    Record(Vec<u8>),
}

/// What to do with a document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// Learn it under this label.
    Learn(String),
    /// Forget it, whatever its label.
    Forget,
}

/// A document that is owned.
#[derive(Debug)]
pub(crate) enum Body {
    Mail(Vec<u8>),
    Text(String),
}

impl Body {
    pub(crate) fn document(&self) -> Document<'_> {
        match self {
            Body::Mail(bytes) => Document::Mail(bytes),
            Body::Text(text) => Document::Text(text),
        }
    }
}

/// What came of a correction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Corrected {
    /// The document was learned, or moved to the label.
    Learned,
    /// It was known under the label.
    Already,
    /// It was forgotten.
    Forgotten,
    /// It was to be forgotten, and was not known.
    Unknown,
}

/// Answers a correction once it is on the disk.
pub(super) type Answer = oneshot::Sender<Result<Corrected, Failure>>;

/// Corrections that wait for a model.
#[derive(Default)]
pub(crate) struct Waiting {
    queue: Mutex<Queue>,
    pub(super) more: Condvar,
}

/// Corrections that are written together.
pub(super) type Batch = Vec<(Correction, Answer)>;

#[derive(Default)]
pub(super) struct Queue {
    pub(super) waiting: Batch,
    /// Whether a thread is learning.
    pub(super) is_running: bool,
}

/// Maximum number of corrections that are written at once, so that others get the lock between.
const BATCH: usize = 256;

impl Waiting {
    pub(super) fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nothing waits and nothing is being learned.
    pub(crate) fn is_idle(&self) -> bool {
        let queue = self.lock();
        !queue.is_running && queue.waiting.is_empty()
    }

    /// Takes the next batch; with none left, ends the run.
    pub(super) fn next(&self) -> Option<Batch> {
        let mut queue = self.lock();
        queue.is_running = !queue.waiting.is_empty();
        queue.take()
    }

    /// Takes the next batch, if there is one within `lull`.
    pub(super) fn next_within(&self, lull: Duration) -> Option<Batch> {
        let waited = self.more.wait_timeout_while(self.lock(), lull, |queue| queue.waiting.is_empty());
        waited.unwrap_or_else(PoisonError::into_inner).0.take()
    }
}

impl Queue {
    fn take(&mut self) -> Option<Batch> {
        let n = self.waiting.len().min(BATCH);
        (n > 0).then(|| self.waiting.drain(..n).collect())
    }
}
