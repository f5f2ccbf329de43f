//! A filter that is reopened when its file changes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{available_parallelism, sleep};
use std::time::Duration;

use tamis_store::error::{Error, Result};

use crate::score::filter::{Current, Filter};
use crate::score::scratch::Scratch;

/// A filter whose file others may change while it is in use. Threads share it; every answer comes from one whole model.
///
/// If the file was replaced or a learner wrote to it, the old model stays in use until [`reload`](Self::reload). If it
/// was changed in place, it is reopened before the next answer.
///
/// ```
/// use tamis_train::{Filter, LiveFilter};
/// # use tamis_train::{Document, Error, Kind, LearnOptions, Learner, TrainOptions};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("model.tamis");
/// # let options = (TrainOptions::new(Kind::Text), LearnOptions::default());
/// # let mut learner = Learner::create(&path, options.0, ["fruit", "metal"], options.1)?;
/// let filter = LiveFilter::new(Filter::open(&path)?);
/// learner.learn("fruit", Document::Text("apples"))?;
/// learner.commit()?;
///
/// assert!(filter.reload()?);
/// let score = filter.ask(|filter, scratch| filter.score_text("apples", scratch))?;
/// assert_eq!(score.known_terms, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LiveFilter {
    current: Arc<Current>,
    pool: Mutex<Pool>,
}

/// Scratches to reuse.
#[derive(Default)]
struct Pool {
    free: Vec<Scratch>,
    in_use: usize,
    most_in_use: usize,
}

impl Pool {
    fn take(&mut self) -> Scratch {
        self.in_use += 1;
        self.most_in_use = self.most_in_use.max(self.in_use);
        self.free.pop().unwrap_or_default()
    }
}

/// How often to look for a scratch that is not in use.
const ATTEMPTS: usize = 100;

/// The first and the last pause between attempts while a file is being written. Each pause is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LAST_PAUSE: Duration = Duration::from_millis(80);

impl LiveFilter {
    /// Creates a live filter that follows the file of `filter`.
    pub fn new(filter: Filter) -> Self {
        LiveFilter { current: Arc::new(Current::new(filter)), pool: Mutex::default() }
    }

    /// Opens a filter, and tries again while its file is being written: up to six attempts, with pauses that double
    /// from 5 ms.
    ///
    /// # Errors
    /// Those of `open`. `is_passing` says whether an error may come from a file that is being written; see
    /// [`Error::is_passing`].
    pub fn open<E>(
        is_passing: impl Fn(&E) -> bool,
        mut open: impl FnMut() -> std::result::Result<Filter, E>,
    ) -> std::result::Result<Self, E> {
        retry(|| open().map_err(|error| (is_passing(&error), error))).map(LiveFilter::new)
    }

    /// The current filter.
    pub fn filter(&self) -> Arc<Filter> {
        self.current.filter()
    }

    /// Reopens the file if the filter [is not current](Filter::is_current); returns whether the filter was replaced. On
    /// an error it stays as it is.
    ///
    /// The old filter answers until the new one has looked up the words that were asked about most recently: with a
    /// million terms some 0.1 seconds.
    ///
    /// # Errors
    /// As [`Filter::reopened`].
    pub fn reload(&self) -> Result<bool> {
        let mut warmed = Vec::new();
        let is_new = self.current.reload(|filter| warmed = self.warmed(filter))?;
        if is_new {
            let old = std::mem::replace(&mut self.pool().free, warmed);
            drop(old);
        }
        Ok(is_new)
    }

    /// Runs `work` with the current filter and a scratch, and returns its answer, which comes from one whole model. If
    /// the file is changed in place meanwhile, reopens it and runs `work` again, up to six times in all.
    ///
    /// # Errors
    /// Those of `work`; [`ErrorKind::Changed`](crate::ErrorKind::Changed) if the file kept changing.
    pub fn ask<T, E: From<Error>>(
        &self,
        mut work: impl FnMut(&Arc<Filter>, &mut Scratch) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        self.answer(|filter| {
            let mut scratch = self.pool().take();
            let answer = work(filter, &mut scratch);
            let is_current = Arc::ptr_eq(filter, &self.filter());
            let mut pool = self.pool();
            pool.in_use = pool.in_use.saturating_sub(1);
            // what a scratch has cached of a filter that was replaced is of no use
            pool.free.extend(Some(scratch).filter(|_| is_current));
            answer
        })
    }

    /// As [`ask`](Self::ask), with a scratch of the caller. For many filters that are seldom asked: none then keeps a
    /// scratch of its own.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub fn ask_with<T, E: From<Error>>(
        &self,
        scratch: &mut Scratch,
        mut work: impl FnMut(&Arc<Filter>, &mut Scratch) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        self.answer(|filter| work(filter, scratch))
    }

    fn answer<T, E: From<Error>>(
        &self,
        mut work: impl FnMut(&Arc<Filter>) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let mut failed = None;
        retry(|| {
            if let Some(failed) = &failed {
                self.current.replace(failed).map_err(|error| (error.is_passing(), error.into()))?;
            }
            let filter = &*failed.insert(self.filter());
            let answer = work(filter);
            // a file that was changed in place explains any error
            let is_written = answer.is_err() && filter.may_have_changed();
            filter.check_unchanged().map_err(|error| (error.is_passing(), error.into()))?;
            answer.map_err(|error| (is_written, error))
        })
    }

    /// Scratches that have looked up in `filter` what one in use has looked up in the current filter, for as many threads
    /// as ask at a time. Otherwise all of them would be slow until they have seen most words again.
    fn warmed(&self, filter: &Filter) -> Vec<Scratch> {
        let n = self.pool().most_in_use.min(available_parallelism().map_or(1, Into::into));
        let mut warmed = Vec::new();
        if n == 0 {
            return warmed;
        }
        // all may be in use
        let found = (0..ATTEMPTS).find_map(|_| {
            let scratch = self.pool().free.pop();
            if scratch.is_none() {
                sleep(Duration::from_millis(1));
            }
            scratch
        });
        if let Some(scratch) = found {
            warmed.push(filter.warmed(&scratch));
            self.pool().free.push(scratch);
            while warmed.len() < n {
                warmed.push(filter.warmed(&warmed[0]));
            }
        }
        warmed
    }

    fn pool(&self) -> MutexGuard<'_, Pool> {
        // the lock is held only to push and pop, so nothing is left half done
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Filter {
    /// As [`set_fallback`](Self::set_fallback), with a shared model that is reopened when its file changes. The filters
    /// of all users that have it as fallback are then no longer [current](Self::is_current), and
    /// [reloading](Self::reload_if_changed) one takes the new shared model.
    ///
    /// # Errors
    /// As [`set_fallback`](Self::set_fallback).
    pub fn set_live_fallback(&mut self, shared: &LiveFilter) -> Result<()> {
        self.put_behind(shared.filter(), Some(shared.current.clone()))
    }
}

/// Repeats `attempt`, with growing pauses, while its error may be temporary.
fn retry<T, E>(mut attempt: impl FnMut() -> std::result::Result<T, (bool, E)>) -> std::result::Result<T, E> {
    let mut pause = FIRST_PAUSE;
    loop {
        match attempt() {
            Err((true, _)) if pause <= LAST_PAUSE => sleep(pause),
            outcome => return outcome.map_err(|(_, error)| error),
        }
        pause *= 2;
    }
}
