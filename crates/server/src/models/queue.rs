//! What waits to be learned by a model.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tamis_train::{CountedDocument, Document};
use tokio::sync::oneshot;

use crate::lock::lock;
use crate::models::request::{Feedback, FeedbackOutcome, ServiceError};

/// A change of a model.
pub(crate) enum Update {
    /// A document to learn or to forget, with its vector, which may be empty.
    Document(Feedback, OwnedDocument, Vec<f32>),
    /// What another server of the fleet, or this one, has learned: the bytes of a record.
    Record(Vec<u8>),
}

/// A document that is owned.
pub(crate) enum OwnedDocument {
    Mail(Vec<u8>),
    Text(String),
    Counted(Box<CountedDocument>),
}

impl OwnedDocument {
    pub(super) fn as_document(&self) -> Document<'_> {
        match self {
            OwnedDocument::Mail(bytes) => Document::Mail(bytes),
            OwnedDocument::Text(text) => Document::Text(text),
            OwnedDocument::Counted(of) => Document::Counted(of),
        }
    }
}

/// Updates that are written together, each with who gets the answer once it is on the disk.
pub(super) type UpdateBatch = Vec<(Update, oneshot::Sender<Result<FeedbackOutcome, ServiceError>>)>;

/// Updates that wait for a model.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<QueueState>,
    pub(super) more: Condvar,
}

#[derive(Default)]
pub(super) struct QueueState {
    pub(super) waiting: UpdateBatch,
    /// Whether a thread is learning.
    pub(super) is_running: bool,
}

/// Maximum number of updates that are written at once, so that others get the lock between.
const BATCH: usize = 256;

impl Queue {
    pub(super) fn lock(&self) -> MutexGuard<'_, QueueState> {
        lock(&self.state)
    }

    /// Whether nothing waits and nothing is being learned.
    pub(crate) fn is_idle(&self) -> bool {
        let state = self.lock();
        !state.is_running && state.waiting.is_empty()
    }

    /// Takes the next batch; with none left, ends the run.
    pub(super) fn next(&self) -> Option<UpdateBatch> {
        let mut state = self.lock();
        state.is_running = !state.waiting.is_empty();
        state.take()
    }

    /// Takes the next batch, if there is one within `lull`.
    pub(super) fn next_within(&self, lull: Duration) -> Option<UpdateBatch> {
        let waited = self.more.wait_timeout_while(self.lock(), lull, |state| state.waiting.is_empty());
        waited.unwrap_or_else(PoisonError::into_inner).0.take()
    }
}

impl QueueState {
    fn take(&mut self) -> Option<UpdateBatch> {
        let n = self.waiting.len().min(BATCH);
        (n > 0).then(|| self.waiting.drain(..n).collect())
    }
}
