//! Whether a filter still matches its file, and filters that are reopened when it changes.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{available_parallelism, sleep};
use std::time::Duration;

use tamis_store::disk::source::{MappedFile, ModelFile};
use tamis_store::disk::spool::Spool;
use tamis_store::error::{Error, Result};

use crate::score::filter::{CurrentFilter, Fallback, Filter};
use crate::scorers::scratch::Scratch;

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
    current: Arc<CurrentFilter>,
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
const MOST_WAITS: usize = 100;

/// The first and the last pause between attempts while a file is being written. Each pause is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LAST_PAUSE: Duration = Duration::from_millis(80);

/// Attempts at a question while a file is being written: up to six, with pauses that double from 5 ms.
pub struct Attempts {
    pause: Duration,
}

impl Default for Attempts {
    fn default() -> Self {
        Attempts { pause: FIRST_PAUSE }
    }
}

impl Attempts {
    /// Whether to try again after an error: if it may be passing and attempts are left. Pauses first.
    pub fn again(&mut self, is_passing: bool) -> bool {
        let is_left = is_passing && self.pause <= LAST_PAUSE;
        if is_left {
            sleep(self.pause);
            self.pause *= 2;
        }
        is_left
    }

    /// Opens something, and tries again after errors that `is_passing` while attempts are left.
    ///
    /// # Errors
    /// The last error of `open`.
    pub fn open<T, E>(
        &mut self,
        is_passing: impl Fn(&E) -> bool,
        mut open: impl FnMut() -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        loop {
            match open() {
                Err(error) if self.again(is_passing(&error)) => (),
                outcome => return outcome,
            }
        }
    }
}

impl LiveFilter {
    /// Creates a live filter that follows the file of `filter`.
    pub fn new(filter: Filter) -> Self {
        LiveFilter { current: Arc::new(CurrentFilter::new(filter)), pool: Mutex::default() }
    }

    /// Opens a filter, and tries again while its file is being written: up to six attempts, with pauses that double
    /// from 5 ms.
    ///
    /// # Errors
    /// Those of `open`. `is_passing` says whether an error may come from a file that is being written; see
    /// [`Error::is_passing`].
    pub fn open<E>(
        is_passing: impl Fn(&E) -> bool,
        open: impl FnMut() -> std::result::Result<Filter, E>,
    ) -> std::result::Result<Self, E> {
        Attempts::default().open(is_passing, open).map(LiveFilter::new)
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
        let (filter, mut scratch) = (self.filter(), self.pool().take());
        let answer = self.ask_with(&mut scratch, &mut work);
        let is_current = Arc::ptr_eq(&filter, &self.filter());
        let mut pool = self.pool();
        pool.in_use = pool.in_use.saturating_sub(1);
        // what a scratch has cached of a filter that was replaced is of no use
        pool.free.extend(Some(scratch).filter(|_| is_current));
        answer
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
        let (mut attempts, mut filter) = (Attempts::default(), self.filter());
        let mut outcome = filter.confirm(work(&filter, scratch));
        while let Err((is_passing, _)) = outcome
            && attempts.again(is_passing)
        {
            outcome = match self.current.replace(&filter) {
                Ok(()) => {
                    filter = self.filter();
                    filter.confirm(work(&filter, scratch))
                }
                Err(error) => Err((error.is_passing(), error.into())),
            };
        }
        outcome.map_err(|(_, error)| error)
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
        let found = (0..MOST_WAITS).find_map(|_| {
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

impl CurrentFilter {
    /// Reopens the file, unless another thread did so since `failed` was the current filter.
    pub(super) fn replace(&self, failed: &Arc<Filter>) -> Result<()> {
        let _alone = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if Arc::ptr_eq(&self.filter(), failed) {
            failed.open_again()?.into_iter().for_each(|filter| self.set(filter));
        }
        Ok(())
    }

    /// Reopens the file if it was replaced or changed; returns whether the filter was replaced. On an error it stays as
    /// it is. `prepare` gets the new filter before it is in use.
    fn reload(&self, prepare: impl FnOnce(&Filter)) -> Result<bool> {
        let _alone = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.filter();
        let filter = match before.check_unchanged() {
            Ok(()) => before.reopened()?,
            Err(_) => before.open_again()?,
        };
        filter.as_ref().map(prepare);
        Ok(filter.map(|filter| self.set(filter)).is_some())
    }
}

impl Filter {
    /// As [`set_fallback`](Self::set_fallback), with a shared model that is reopened when its file changes. The filters
    /// of all users that have it as fallback are then no longer [current](Self::is_current), and
    /// a [reopened](Self::reopened) one has the new shared model.
    ///
    /// # Errors
    /// As [`set_fallback`](Self::set_fallback).
    pub fn set_live_fallback(&mut self, shared: &LiveFilter) -> Result<()> {
        self.put_behind(shared.filter(), Some(shared.current.clone()))
    }

    /// Whether the file is still the one that was opened, and nothing was written to it, not even by a
    /// `Learner`. A filter made from bytes is always current. A shared model behind it must be
    /// current too if it is a [live one](Self::set_live_fallback).
    ///
    /// # Errors
    /// If the file no longer exists.
    pub fn is_current(&self) -> Result<bool> {
        if !self.source.as_ref().map_or(Ok(true), ModelFile::is_at_its_path)? {
            return Ok(false);
        }
        match &self.fallback {
            Some(Fallback { shared, live: Some(live), .. }) => {
                Ok(Arc::ptr_eq(&live.filter(), shared) && shared.is_current()?)
            }
            _ => Ok(true),
        }
    }

    /// Opens the model that is in the file now, in the same way and with this filter's decision, spam label and
    /// fallback; `None` if this filter [is current](Self::is_current). A server can thus swap an `Arc<Filter>`, as
    /// [`LiveFilter`] does.
    ///
    /// # Errors
    /// As [`Filter::open`] and [`Filter::set_fallback`].
    pub fn reopened(&self) -> Result<Option<Filter>> {
        if self.is_current()? {
            return Ok(None);
        }
        self.open_again()
    }

    /// Opens the model in the file; `None` if this filter was made from bytes.
    fn open_again(&self) -> Result<Option<Filter>> {
        self.source.as_ref().map(|source| self.opened_from(source.path())).transpose()
    }

    /// Opens the model in a file, mapped or read like this one, with this filter's decision, spam label and fallback.
    pub fn opened_from(&self, path: &Path) -> Result<Filter> {
        let mut filter = if self.store.is_mapped() { Filter::open(path)? } else { Filter::read(path)? };
        (filter.decision, filter.least_probability) = (self.decision, self.least_probability);
        let spam = self.spam.and_then(|spam| filter.classes().index(self.classes().label(spam)?));
        filter.spam = spam.or(filter.spam);
        if let Some(Fallback { shared, live, .. }) = &self.fallback {
            let shared = match live {
                Some(live) => live.reload(|_| ()).map(|_| live.filter())?,
                None => shared.clone(),
            };
            filter.put_behind(shared, live.clone())?;
        }
        Ok(filter)
    }

    /// Checks that the file, and that of a [fallback](Self::set_fallback), was not changed in place since it was
    /// opened. Then every score so far comes from the model that was opened.
    ///
    /// This costs one system call if nothing happened. Appending by a `Learner` and replacing the
    /// file do not count as changes. A filter that was [read](Self::read) or made from bytes never changes.
    ///
    /// # Errors
    /// [`ErrorKind::Changed`](crate::ErrorKind::Changed) if it was. Scores are then meaningless, and the file should be
    /// opened again.
    pub fn check_unchanged(&self) -> Result<()> {
        self.check_own()?;
        self.fallback().map_or(Ok(()), |shared| shared.check_unchanged())
    }

    fn check_own(&self) -> Result<()> {
        self.mapped().map_or(Ok(()), |source| source.check_unchanged(|| self.store.is_as_read()))
    }

    /// The answer to a question about this filter, if its file was not changed in place meanwhile. Otherwise the error,
    /// and whether it may be passing, so that the file should be opened again; see [`Attempts`].
    ///
    /// # Errors
    /// As [`check_unchanged`](Self::check_unchanged), or that of `answer`.
    pub fn confirm<T, E: From<Error>>(
        &self,
        answer: std::result::Result<T, E>,
    ) -> std::result::Result<T, (bool, E)> {
        // a file that was changed in place explains any error
        let is_written = answer.is_err() && self.may_have_changed();
        self.check_unchanged().map_err(|error| (error.is_passing(), error.into()))?;
        answer.map_err(|error| (is_written, error))
    }

    /// Whether an error may come from a file that someone is writing to in place.
    fn may_have_changed(&self) -> bool {
        self.mapped().is_some_and(ModelFile::may_have_changed)
            || self.fallback().is_some_and(|shared| shared.may_have_changed())
    }

    /// The file, if it is mapped, so that changes by others matter.
    fn mapped(&self) -> Option<&ModelFile> {
        self.source.as_ref().filter(|_| self.store.is_mapped())
    }

    /// The bytes of the model as it was opened, including its log, without what was learned in the file since.
    ///
    /// # Errors
    /// If the model is damaged, or its file is mapped and was changed in place: every checksum is checked.
    pub fn copy(&self) -> Result<Spool> {
        // the map of a file that became shorter must not be read; that of a replaced file stays as it was
        let file = self.mapped().and_then(|source| Some((source, source.open_again()?)));
        let copy = self.store.copy(|range| match &file {
            Some((source, file)) => {
                MappedFile { source, file }.read_from(range.start, range.len()).map(Cow::Owned)
            }
            None => Ok(Cow::Borrowed(&self.store.as_bytes()[range])),
        });
        // a file that was changed in place explains any error
        self.check_own().and(copy)
    }
}
