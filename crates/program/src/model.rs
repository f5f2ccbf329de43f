//! A user's model, whose file may change meanwhile.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Result;
use tamis_report::counted;
use tamis_train::{Attempts, Error, Filter, Learner};

use crate::output::{named, note};

/// A model that is opened on first use, and again if its file changed in place.
pub struct LazyModel<Open> {
    open: Open,
    filter: Option<Filter>,
}

impl<Open: Fn() -> Result<Filter>> LazyModel<Open> {
    /// A model that `open` opens.
    pub fn new(open: Open) -> Self {
        LazyModel { open, filter: None }
    }

    /// The result of `work` on a model that did not change meanwhile. If its file is changed in place, opens it and runs
    /// `work` again, up to six times in all.
    pub fn ask<T>(&mut self, mut work: impl FnMut(&Filter) -> Result<T>) -> Result<T> {
        let mut attempts = Attempts::default();
        loop {
            let filter = self.open_by(&mut attempts)?;
            match filter.confirm(work(filter)) {
                Err((is_passing, _)) if attempts.again(is_passing) => self.filter = None,
                outcome => return outcome.map_err(|(_, error)| error),
            }
        }
    }

    /// The open model, unchecked. Use [`ask`](Self::ask) for results that are printed.
    pub fn opened(&mut self) -> Result<&Filter> {
        self.open_by(&mut Attempts::default())
    }

    fn open_by(&mut self, attempts: &mut Attempts) -> Result<&Filter> {
        let filter = match self.filter.take() {
            Some(filter) => filter,
            None => {
                let is_passing = |error: &anyhow::Error| error.downcast_ref().is_some_and(Error::is_passing);
                attempts.open(is_passing, &self.open)?
            }
        };
        Ok(self.filter.insert(filter))
    }
}

/// The value of an environment variable, unless it is unset or empty.
pub fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Writes what was learned, and prints a note if the model was retrained.
pub fn commit(learner: &mut Learner) -> Result<()> {
    if learner.commit()? {
        note!("retrained on {}", counted(learner.filter().information().size.documents as u64, "document"));
    }
    Ok(())
}

/// Creates a folder that only its owner may enter. Missing parent folders follow the user's umask.
pub fn make_private(folder: &Path) -> io::Result<()> {
    if let Some(above) = folder.parent() {
        std::fs::create_dir_all(above)?;
    }
    let mut builder = std::fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        // another process was faster, or there is no folder to create
        Err(_) if folder.is_dir() || folder.as_os_str().is_empty() => Ok(()),
        made => made,
    }
}

/// Opens a model. Returns `None` if there is no file.
pub fn open_model(path: &Path) -> Result<Option<Filter>> {
    match Filter::open(path) {
        Ok(filter) => Ok(Some(filter)),
        Err(error) if error.io_error().is_some_and(|e| e.kind() == io::ErrorKind::NotFound) => Ok(None),
        Err(error) => Err(named(path)(error)),
    }
}
