//! A model in use: its file, the filter that is open, and what waits to be learned.

use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use tamis_train::options::LabelShare;
use tamis_train::{DecisionOptions, Error, ErrorKind, Filter, LiveFilter, Scratch};

use crate::models::failure::Failure;
use crate::models::waiting::Waiting;
use crate::settings::file::VerdictSettings;

/// A model that follows its file.
pub(crate) struct Model {
    /// Empty for the shared one, `user/NAME` for a user's, otherwise as in the settings.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    verdict: VerdictSettings,
    /// The model behind a user's.
    shared: Option<Arc<Model>>,
    open: RwLock<Option<Arc<Open>>>,
    /// Held while the file is opened.
    opening: Mutex<()>,
    /// When it may be opened again by following it in turn.
    next: Mutex<Option<Instant>>,
    pub(crate) waiting: Waiting,
}

/// An open filter. A model of its own, not a user's, keeps its scratches: the words of one user's mail are of no use for
/// the next user's.
pub(crate) struct Open {
    live: LiveFilter,
    /// The shared filter behind it when it was opened.
    shared: Option<Arc<Open>>,
    is_users: bool,
}

/// A file of at most this many bytes is read into memory rather than mapped. It cannot change under the server then, so
/// that scores need not be checked for that; while a learner writes, this would take longer than scoring.
const MOST_READ: u64 = 128 << 20;

/// How often, and for which part of the time, a file that keeps changing is opened again: a large one is read, and what
/// was looked up in it is looked up again.
const FOLLOW: Duration = Duration::from_millis(900);
const SHARE: u32 = 20;

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl Open {
    /// Runs `work` with the filter; the answer comes from one whole model.
    pub(crate) fn ask<T>(
        &self,
        mut work: impl FnMut(&Filter, &mut Scratch) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let work =
            |filter: &Arc<Filter>, scratch: &mut Scratch| work(filter, scratch).map_err(Asked::Failure);
        let answer = match self.is_users {
            true => {
                // taken out, so that a panic drops it
                let mut scratch = SCRATCH.take();
                let answer = self.live.ask_with(&mut scratch, work);
                SCRATCH.set(scratch);
                answer
            }
            false => self.live.ask(work),
        };
        answer.map_err(|asked| match asked {
            Asked::Failure(failure) => failure,
            Asked::Error(error) => error.into(),
        })
    }

    pub(crate) fn filter(&self) -> Arc<Filter> {
        self.live.filter()
    }
}

/// Why a question had no answer: `LiveFilter::ask` needs to make one from an error of its own.
enum Asked {
    Failure(Failure),
    Error(Error),
}

impl From<Error> for Asked {
    fn from(error: Error) -> Self {
        Asked::Error(error)
    }
}

impl Model {
    pub(crate) fn new(
        name: &str,
        path: &Path,
        verdict: &VerdictSettings,
        shared: Option<Arc<Model>>,
    ) -> Self {
        Model {
            name: name.to_owned(),
            path: path.to_owned(),
            verdict: verdict.clone(),
            shared,
            open: RwLock::default(),
            opening: Mutex::default(),
            next: Mutex::default(),
            waiting: Waiting::default(),
        }
    }

    /// The model behind this one, if it is a user's.
    pub(crate) fn shared(&self) -> Option<&Arc<Model>> {
        self.shared.as_ref()
    }

    /// The open filter; `None` if there is no file, or none that can be opened yet.
    pub(crate) fn current(&self) -> Option<Arc<Open>> {
        self.open.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The open filter; opens it if there is a file now.
    ///
    /// # Errors
    /// If there is no file, or it cannot be opened.
    pub(crate) fn opened(&self) -> Result<Arc<Open>, Failure> {
        match self.current() {
            Some(open) => Ok(open),
            None => self.follow()?.ok_or_else(|| self.missing()),
        }
    }

    /// Opens the file, or opens it again if it was changed or replaced; closes it if it is gone. Returns the filter that
    /// is open now.
    ///
    /// # Errors
    /// If it cannot be opened. The filter that was open stays in use.
    pub(crate) fn follow(&self) -> Result<Option<Arc<Open>>, Failure> {
        let _alone = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        let shared = self.shared.as_ref().and_then(|shared| shared.current());
        if let Some(open) = self.current() {
            let has_same_shared = match (&open.shared, &shared) {
                (Some(then), Some(now)) => Arc::ptr_eq(then, now),
                (then, now) => then.is_none() && now.is_none(),
            };
            match open.live.reload() {
                Ok(_) if has_same_shared => return Ok(Some(open)),
                Ok(_) => (),
                Err(error) if is_missing(&error) => {
                    self.set(None);
                    return Ok(None);
                }
                Err(error) => return Err(self.failure(&error)),
            }
        }
        let opened = LiveFilter::open(Error::is_passing, || self.open_file(shared.as_deref()));
        match opened {
            Ok(live) => {
                let open = Arc::new(Open { live, shared, is_users: self.shared.is_some() });
                self.set(Some(open.clone()));
                Ok(Some(open))
            }
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(self.failure(&error)),
        }
    }

    /// As [`follow`](Self::follow), but a file that keeps changing is opened again at most every [`FOLLOW`], and for at
    /// most a [`SHARE`]th of the time. Returns the time until it is due, if it is not.
    ///
    /// # Errors
    /// As [`follow`](Self::follow).
    pub(crate) fn follow_in_turn(&self) -> Result<Option<Duration>, Failure> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
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

    fn set(&self, open: Option<Arc<Open>>) {
        let mut current = self.open.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *current, open);
        drop(current);
        drop(before);
    }

    fn open_file(&self, shared: Option<&Open>) -> Result<Filter, Error> {
        // users' models are many and change seldom
        let is_small = || std::fs::metadata(&self.path).is_ok_and(|file| file.len() <= MOST_READ);
        let mut filter = match self.shared.is_none() && is_small() {
            true => Filter::read(&self.path)?,
            false => Filter::open(&self.path)?,
        };
        if let Some(shared) = shared {
            filter.set_live_fallback(&shared.live)?;
        }
        decide(&mut filter, &self.verdict)?;
        Ok(filter)
    }

    pub(crate) fn failure(&self, error: &Error) -> Failure {
        Failure::Model(format!("{}: {error}", self.path.display()))
    }

    /// The failure of a model without a file.
    pub(crate) fn missing(&self) -> Failure {
        let path = self.path.display();
        Failure::NoModel(format!(
            "{path}: there is no model yet; make one with: tamis train -m {path} ham=PATH spam=PATH"
        ))
    }
}

/// Whether an error says that there is no file.
pub(crate) fn is_missing(error: &Error) -> bool {
    error.kind() == ErrorKind::Io
        && error.io_error().is_some_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Applies the settings of verdicts. Priors and costs are for spam filters alone.
fn decide(filter: &mut Filter, settings: &VerdictSettings) -> Result<(), Error> {
    let mut options = DecisionOptions { unsure: settings.unsure, ..DecisionOptions::default() };
    if filter.is_spam_filter() {
        options.cost = settings.cost;
        let label =
            filter.spam().and_then(|spam| filter.classes().label(spam)).unwrap_or_default().to_owned();
        let share = settings.prior.map(|share| LabelShare::new(label, share)).transpose()?;
        options.prior = share.map(|share| share.of_positive(filter.classes())).transpose()?;
    }
    filter.decide_by(&options)
}
