//! What a filter holds: a model that is replaced when the file was changed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use tamis_train::{Filter, Learner, LiveFilter, Scratch};

use crate::error::Result;
use crate::filter::learner::{self, LearningSession};
use crate::model::SharedFilter;

/// A model, its file, and how it decides.
pub(super) struct FilterState {
    live: RwLock<Arc<LiveFilter>>,
    /// Made from the live filter when it was last used.
    model: Mutex<Arc<SharedFilter>>,
    /// The file to learn in.
    file: RwLock<Option<PathBuf>>,
    /// Locked while the file is being changed.
    changing: Mutex<()>,
    pub(super) verdicts: VerdictOptions,
}

/// Decisions that differ from those in the model's file.
#[derive(Clone, Default)]
pub(super) struct VerdictOptions {
    pub(super) unsure: Option<f64>,
    pub(super) spam_label: Option<String>,
}

impl VerdictOptions {
    fn live(&self, mut filter: Filter) -> tamis_train::Result<Arc<LiveFilter>> {
        if let Some(label) = &self.spam_label {
            filter.set_spam_label(label)?;
        }
        if let Some(probability) = self.unsure {
            filter.set_unsure(probability)?;
        }
        Ok(Arc::new(LiveFilter::new(filter)))
    }
}

impl FilterState {
    /// # Errors
    /// The model does not have the spam label, or `unsure` is not a probability.
    pub(super) fn new(filter: Filter, file: Option<PathBuf>, verdicts: VerdictOptions) -> Result<Self> {
        let live = verdicts.live(filter)?;
        let model = Mutex::new(SharedFilter::new(live.filter()));
        let (live, file) = (RwLock::new(live), RwLock::new(file));
        Ok(FilterState { live, model, file, changing: Mutex::default(), verdicts })
    }

    fn live(&self) -> Arc<LiveFilter> {
        self.live.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The model as it is now.
    pub(super) fn model(&self) -> Arc<SharedFilter> {
        self.model_of(&self.live().filter())
    }

    fn model_of(&self, filter: &Arc<Filter>) -> Arc<SharedFilter> {
        let mut model = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&model.filter, filter) {
            *model = SharedFilter::new(filter.clone());
        }
        model.clone()
    }

    /// The answer of one whole model, even if its file is changed meanwhile.
    pub(super) fn ask<T>(
        &self,
        mut work: impl FnMut(&Arc<SharedFilter>, &mut Scratch) -> Result<T>,
    ) -> Result<T> {
        self.live().ask(|filter, scratch| work(&self.model_of(filter), scratch))
    }

    pub(super) fn file(&self) -> Option<PathBuf> {
        self.file.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn own_file(&self) -> Result<PathBuf> {
        let none = "expected a filter with a file to learn in, got one without: save(path) gives it one";
        Ok(self.file().ok_or(none)?)
    }

    /// Learns in this file from now on, unless there is a file already.
    pub(super) fn adopt(&self, path: &Path) -> Result<()> {
        let mut file = self.file.write().unwrap_or_else(PoisonError::into_inner);
        if file.is_none() {
            let live = self.verdicts.live(Filter::read(path)?)?;
            *self.live.write().unwrap_or_else(PoisonError::into_inner) = live;
            *file = Some(path.to_path_buf());
        }
        Ok(())
    }

    /// Opens the model that is in the file now.
    ///
    /// # Errors
    /// There is no file, or no model in it.
    pub(super) fn reload(&self, py: Python<'_>) -> Result<()> {
        self.own_file()?;
        py.detach(|| self.live().reload())?;
        Ok(())
    }

    /// Changes the file under its lock, and reloads it.
    ///
    /// # Errors
    /// There is no file, others hold its lock for too long, or the work fails. Then nothing is changed.
    pub(super) fn change<T: Send>(
        &self,
        py: Python<'_>,
        lock_timeout: f64,
        work: impl Fn(&mut LearningSession) -> Result<T> + Sync,
    ) -> Result<T> {
        let path = self.own_file()?;
        let _alone = self.changing.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let mut open = learner::open(py, lock_timeout, true, |options| Learner::open(&path, options))?;
        py.detach(|| {
            let outcome = work(&mut open)?;
            open.commit()?;
            drop(open);
            self.live().reload()?;
            Ok(outcome)
        })
    }
}
