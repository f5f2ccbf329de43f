//! Whether a filter still matches its file, and reopening it.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, PoisonError};

use tamis_store::disk::source::{MappedFile, ModelFile};
use tamis_store::disk::spool::Spool;
use tamis_store::error::Result;

use crate::score::filter::{Current, Fallback, Filter};

impl Current {
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
    pub(super) fn reload(&self, prepare: impl FnOnce(&Filter)) -> Result<bool> {
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
    /// [`LiveFilter`](crate::LiveFilter) does.
    ///
    /// # Errors
    /// As [`Filter::open`] and [`Filter::set_fallback`].
    pub fn reopened(&self) -> Result<Option<Filter>> {
        if self.is_current()? {
            return Ok(None);
        }
        self.open_again()
    }

    /// As [`reopened`](Self::reopened), in place; returns whether the filter was replaced. On an error the filter stays
    /// as it is.
    ///
    /// # Errors
    /// As [`reopened`](Self::reopened).
    pub fn reload_if_changed(&mut self) -> Result<bool> {
        Ok(self.reopened()?.map(|filter| *self = filter).is_some())
    }

    /// Opens the model in the file; `None` if this filter was made from bytes.
    pub(crate) fn open_again(&self) -> Result<Option<Filter>> {
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

    /// Whether an error may come from a file that someone is writing to in place.
    pub(crate) fn may_have_changed(&self) -> bool {
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
