//! What a filter holds: a model that is replaced when the file was changed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use tamis_filter::{Filter, Learner};

use crate::error::{TamisError, raised};
use crate::learner::{self, Open};
use crate::model::{Failure, Model};

/// A model, its file, and how it decides.
pub(super) struct State {
    model: RwLock<Arc<Model>>,
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
    fn model(&self, mut filter: Filter) -> tamis_filter::Result<Arc<Model>> {
        if let Some(label) = &self.spam_label {
            filter.set_spam_label(label)?;
        }
        if let Some(probability) = self.unsure {
            filter.set_unsure(probability)?;
        }
        Ok(Model::new(filter))
    }
}

impl State {
    /// # Errors
    /// If the model has no label that is to be spam, or the probability is none.
    pub(super) fn new(filter: Filter, file: Option<PathBuf>, verdicts: Verdicts) -> PyResult<Self> {
        let model = verdicts.model(filter).map_err(raised)?;
        let (model, file) = (RwLock::new(model), RwLock::new(file));
        Ok(State { model, file, changing: Mutex::default(), verdicts })
    }

    /// The model as it is now.
    pub(super) fn model(&self) -> Arc<Model> {
        self.model.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn file(&self) -> Option<PathBuf> {
        self.file.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn own_file(&self) -> PyResult<PathBuf> {
        let none = "expected a filter with a file to learn in, got one without: save(path) gives it one";
        self.file().ok_or_else(|| TamisError::new_err(none))
    }

    /// Keeps to a file, if there is none yet.
    pub(super) fn adopt(&self, file: PathBuf) {
        self.file.write().unwrap_or_else(PoisonError::into_inner).get_or_insert(file);
    }

    /// Takes the model that is in the file now.
    ///
    /// # Errors
    /// If there is no file, or no model in it.
    pub(super) fn reload(&self, py: Python<'_>) -> PyResult<()> {
        let path = self.own_file()?;
        py.detach(|| self.read_again(&path)).map_err(raised)
    }

    fn read_again(&self, path: &Path) -> tamis_filter::Result<()> {
        let model = self.verdicts.model(Filter::read(path)?)?;
        *self.model.write().unwrap_or_else(PoisonError::into_inner) = model;
        Ok(())
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
        let mut open = learner::open(py, lock_timeout, |options| Learner::open(&path, options))?;
        let changed = py.detach(|| {
            let outcome = work(&mut open)?;
            open.commit()?;
            drop(open);
            self.read_again(&path)?;
            Ok(outcome)
        });
        changed.map_err(|failure: Failure| failure.into())
    }
}
