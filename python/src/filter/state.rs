//! What a filter holds: a model that is replaced when the file was changed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use tamis_filter::{Filter, Learner, LiveFilter};

use crate::error::{TamisError, raised};
use crate::learner::{self, Open};
use crate::model::{Failure, Model};

/// A model, its file, and how it decides.
pub(super) struct State {
    live: RwLock<Arc<LiveFilter>>,
    /// What was made of its filter when it was last asked.
    model: Mutex<Arc<Model>>,
    /// Where it learns.
    file: RwLock<Option<PathBuf>>,
    /// Held by who changes the file.
    changing: Mutex<()>,
    pub(super) verdicts: Verdicts,
}

/// How an open model decides, if not by what is in its file.
#[derive(Clone, Default)]
pub(super) struct Verdicts {
    pub(super) unsure: Option<f64>,
    pub(super) spam_label: Option<String>,
}

impl Verdicts {
    fn live(&self, mut filter: Filter) -> tamis_filter::Result<Arc<LiveFilter>> {
        if let Some(label) = &self.spam_label {
            filter.set_spam_label(label)?;
        }
        if let Some(probability) = self.unsure {
            filter.set_unsure(probability)?;
        }
        Ok(Arc::new(LiveFilter::new(filter)))
    }
}

impl State {
    /// # Errors
    /// If the model has no label that is to be spam, or the probability is none.
    pub(super) fn new(filter: Filter, file: Option<PathBuf>, verdicts: Verdicts) -> PyResult<Self> {
        let live = verdicts.live(filter).map_err(raised)?;
        let model = Mutex::new(Model::new(live.filter()));
        let (live, file) = (RwLock::new(live), RwLock::new(file));
        Ok(State { live, model, file, changing: Mutex::default(), verdicts })
    }

    fn live(&self) -> Arc<LiveFilter> {
        self.live.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The model as it is now.
    pub(super) fn model(&self) -> Arc<Model> {
        self.model_of(&self.live().filter())
    }

    fn model_of(&self, filter: &Arc<Filter>) -> Arc<Model> {
        let mut model = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&model.filter, filter) {
            *model = Model::new(filter.clone());
        }
        model.clone()
    }

    /// The answer of one whole model, whoever writes to its file meanwhile.
    pub(super) fn ask<T>(
        &self,
        mut work: impl FnMut(&Arc<Model>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.live().ask(|filter, _| work(&self.model_of(filter)))
    }

    pub(super) fn file(&self) -> Option<PathBuf> {
        self.file.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn own_file(&self) -> PyResult<PathBuf> {
        let none = "expected a filter with a file to learn in, got one without: save(path) gives it one";
        self.file().ok_or_else(|| TamisError::new_err(none))
    }

    /// Keeps to a file, if there is none yet.
    pub(super) fn adopt(&self, path: &Path) -> tamis_filter::Result<()> {
        let mut file = self.file.write().unwrap_or_else(PoisonError::into_inner);
        if file.is_none() {
            let live = self.verdicts.live(Filter::read(path)?)?;
            *self.live.write().unwrap_or_else(PoisonError::into_inner) = live;
            *file = Some(path.to_path_buf());
        }
        Ok(())
    }

    /// Takes the model that is in the file now.
    ///
    /// # Errors
    /// If there is no file, or no model in it.
    pub(super) fn reload(&self, py: Python<'_>) -> PyResult<()> {
        self.own_file()?;
        py.detach(|| self.live().reload()).map(|_| ()).map_err(raised)
    }

    /// Changes the file, alone, and takes what it then says.
    ///
    /// # Errors
    /// If there is no file, others are changing it for too long, or the work fails; nothing is changed then.
    pub(super) fn change<T: Send>(
        &self,
        py: Python<'_>,
        lock_timeout: f64,
        work: impl Fn(&mut Open) -> Result<T, Failure> + Sync,
    ) -> PyResult<T> {
        let path = self.own_file()?;
        let _alone = self.changing.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let mut open = learner::open(py, lock_timeout, true, |options| Learner::open(&path, options))?;
        let changed = py.detach(|| {
            let outcome = work(&mut open)?;
            open.commit()?;
            drop(open);
            self.live().reload()?;
            Ok(outcome)
        });
        changed.map_err(|failure: Failure| failure.into())
    }
}
