//! A model in use: its file, the filter that is open, and what waits to be learned.

use std::cell::RefCell;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use tamis_train::options::LabelShare;
use tamis_train::{CountedDocument, DecisionOptions, Document, Error, Filter, LiveFilter, Scratch};
use tokio::sync::oneshot;

use crate::lock::lock;
use crate::models::request::{Feedback, FeedbackOutcome, ServiceError};
use crate::settings::VerdictSettings;

/// A model that follows its file.
#[derive(Default)]
pub(crate) struct LiveModel {
    /// Empty for the shared one, `user/NAME` for a user's, otherwise as in the settings.
    pub(super) name: String,
    pub(crate) path: PathBuf,
    verdict: VerdictSettings,
    /// The model behind a user's.
    pub(crate) shared: Option<Arc<LiveModel>>,
    open: RwLock<Option<Arc<OpenFilter>>>,
    /// Held while the file is opened.
    opening: Mutex<()>,
    /// The file that was found damaged, and how: as long as it is the same one, the shared model alone scores.
    set_aside: Mutex<Option<(FileState, ServiceError)>>,
    /// When it may be opened again by following it in turn.
    next: Mutex<Option<Instant>>,
    pub(super) queue: Queue,
}

/// An open filter. A model of its own, not a user's, keeps its scratches: the words of one user's mail are of no use for
/// the next user's.
pub(crate) struct OpenFilter {
    live: LiveFilter,
    /// The shared filter behind it when it was opened.
    shared: Option<Arc<OpenFilter>>,
    is_users: bool,
}

/// What tells a file from the one that was there before: inode, length, and the time of the last change.
type FileState = (u64, u64, i64, i64);

/// A file of at most this many bytes is read into memory rather than mapped. It cannot change under the server then, as
/// when it is overwritten and restored during a score; and scores need not be checked for that, which would take longer
/// than scoring while a learner writes.
const MOST_READ: u64 = 128 << 20;

/// How often, and for which part of the time, a file that keeps changing is opened again: a large one is read, and what
/// was looked up in it is looked up again.
const FOLLOW: Duration = Duration::from_millis(900);
const SHARE: u32 = 20;

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl OpenFilter {
    /// Runs `work` with the filter; the answer comes from one whole model.
    pub(crate) fn ask<T>(
        &self,
        mut work: impl FnMut(&Filter, &mut Scratch) -> Result<T, ServiceError>,
    ) -> Result<T, ServiceError> {
        let work = |filter: &Arc<Filter>, scratch: &mut Scratch| work(filter, scratch);
        if !self.is_users {
            return self.live.ask(work);
        }
        // taken out, so that a panic drops it
        let mut scratch = SCRATCH.take();
        let answer = self.live.ask_with(&mut scratch, work);
        SCRATCH.set(scratch);
        answer
    }

    pub(crate) fn filter(&self) -> Arc<Filter> {
        self.live.filter()
    }
}

impl LiveModel {
    pub(crate) fn new(
        name: &str,
        path: &Path,
        verdict: &VerdictSettings,
        shared: Option<Arc<LiveModel>>,
    ) -> Self {
        LiveModel {
            name: name.to_owned(),
            path: path.to_owned(),
            verdict: verdict.clone(),
            shared,
            ..LiveModel::default()
        }
    }

    /// The open filter; `None` if there is no file, or none that can be opened yet.
    pub(crate) fn current(&self) -> Option<Arc<OpenFilter>> {
        self.open.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The open filter; opens it if there is a file now.
    ///
    /// # Errors
    /// If there is no file, or it cannot be opened.
    pub(crate) fn opened(&self) -> Result<Arc<OpenFilter>, ServiceError> {
        match self.current() {
            Some(open) => Ok(open),
            None => self.follow()?.ok_or_else(|| self.missing()),
        }
    }

    /// Opens the file, or opens it again if it was changed or replaced; closes it if it is gone. Returns the filter that
    /// is open now.
    ///
    /// # Errors
    /// If it cannot be opened: the filter that was open stays in use. If there is no shared model behind it: it is closed.
    pub(crate) fn follow(&self) -> Result<Option<Arc<OpenFilter>>, ServiceError> {
        let _alone = lock(&self.opening);
        if self.why_set_aside().is_some() {
            return Ok(None);
        }
        // without it, a verdict would follow from the few messages of the user
        let shared = self.shared.as_ref().map(|shared| shared.opened()).transpose();
        let shared = shared.inspect_err(|_| self.set(None))?;
        let open = || -> Result<Arc<OpenFilter>, Error> {
            if let Some(open) = self.current() {
                open.live.reload()?;
                if open.shared.as_ref().map(Arc::as_ptr) == shared.as_ref().map(Arc::as_ptr) {
                    return Ok(open);
                }
            }
            let live = LiveFilter::open(Error::is_passing, || self.open_file(shared.as_deref()))?;
            Ok(Arc::new(OpenFilter { live, shared: shared.clone(), is_users: self.shared.is_some() }))
        };
        let opened = match open() {
            Ok(open) => Some(open),
            Err(error) if is_missing(&error) => None,
            Err(error) => match self.failure(&error) {
                // one that was open stays in use
                failure @ ServiceError::Damaged(_) if self.shared.is_some() && self.current().is_none() => {
                    self.set_aside(&failure);
                    None
                }
                failure => return Err(failure),
            },
        };
        self.set(opened.clone());
        Ok(opened)
    }

    fn set(&self, opened: Option<Arc<OpenFilter>>) {
        // what was open is dropped once the lock is free
        let _before =
            std::mem::replace(&mut *self.open.write().unwrap_or_else(PoisonError::into_inner), opened);
    }

    /// Closes a user's model whose file is damaged, until there is another one.
    pub(crate) fn set_aside(&self, failure: &ServiceError) {
        let failure = ServiceError::Damaged(format!("{failure}; until then the shared model scores alone"));
        let state = self.file_state().map(|state| (state, failure));
        *lock(&self.set_aside) = state;
        self.set(None);
    }

    /// Why the file that is there is not in use, if it is set aside.
    pub(crate) fn why_set_aside(&self) -> Option<ServiceError> {
        let mut set_aside = lock(&self.set_aside);
        // most are not, and the file need not be looked at
        *set_aside = set_aside.take_if(|(state, _)| self.file_state() == Some(*state));
        Some(set_aside.as_ref()?.1.clone())
    }

    fn file_state(&self) -> Option<FileState> {
        let file = std::fs::metadata(&self.path).ok()?;
        Some((file.ino(), file.len(), file.ctime(), file.ctime_nsec()))
    }

    /// As [`follow`](Self::follow), but a file that keeps changing is opened again at most every [`FOLLOW`], and for at
    /// most a [`SHARE`]th of the time. Returns the time until it is due, if it is not.
    ///
    /// # Errors
    /// As [`follow`](Self::follow).
    pub(crate) fn follow_in_turn(&self) -> Result<Option<Duration>, ServiceError> {
        let mut next = lock(&self.next);
        let begun = Instant::now();
        if let Some(due) = next.filter(|next| *next > begun) {
            return Ok(Some(due - begun));
        }
        let filter = || self.current().map(|open| Arc::as_ptr(&open.filter()));
        let before = filter();
        let outcome = self.follow();
        if before.is_some() && filter() != before {
            *next = Some(begun + FOLLOW.max(begun.elapsed() * SHARE));
        }
        outcome.map(|_| None)
    }

    fn open_file(&self, shared: Option<&OpenFilter>) -> Result<Filter, Error> {
        let is_small = std::fs::metadata(&self.path).is_ok_and(|file| file.len() <= MOST_READ);
        let mut filter = if is_small { Filter::read(&self.path)? } else { Filter::open(&self.path)? };
        if let Some(shared) = shared {
            filter.set_live_fallback(&shared.live)?;
        }
        decide(&mut filter, &self.verdict)?;
        Ok(filter)
    }

    pub(crate) fn failure(&self, error: &Error) -> ServiceError {
        ServiceError::of_model(error.kind(), format!("{}: {error}", self.path.display()))
    }

    /// The failure of a model without a file.
    pub(crate) fn missing(&self) -> ServiceError {
        let path = self.path.display();
        ServiceError::NoModel(format!(
            "{path}: there is no model yet; make one with: tamis train -m {path} ham=PATH spam=PATH"
        ))
    }
}

/// Whether an error says that there is no file.
pub(crate) fn is_missing(error: &Error) -> bool {
    error.io_error().is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Applies the settings of verdicts. Priors and costs are for spam filters alone.
fn decide(filter: &mut Filter, settings: &VerdictSettings) -> Result<(), Error> {
    let mut options = DecisionOptions { unsure: settings.unsure, ..DecisionOptions::default() };
    if filter.is_spam_filter() {
        options.cost = settings.cost;
        let label = filter.spam().and_then(|spam| filter.classes().label(spam)).unwrap_or_default();
        let share = settings.prior.map(|share| LabelShare::new(label.to_owned(), share)).transpose()?;
        options.prior = share.map(|share| share.of_positive(filter.classes())).transpose()?;
    }
    filter.decide_by(&options)
}

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
