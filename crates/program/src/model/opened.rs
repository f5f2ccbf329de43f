//! Opens a user's model, whose file may change meanwhile.

use std::path::Path;
use std::{fmt, io};

use anyhow::Result;
use tamis_train::{Error, Filter, LiveFilter};

use crate::output::shown::named;
use crate::passthrough::rescue;

/// A model that is opened on first use, and again if its file changed in place.
pub struct Model<Open> {
    open: Open,
    filter: Option<LiveFilter>,
}

impl<Open: Fn() -> Result<Filter>> Model<Open> {
    /// A model that `open` opens.
    pub fn new(open: Open) -> Self {
        Model { open, filter: None }
    }

    /// The result of `work` on a model that did not change meanwhile.
    pub fn ask<T>(&mut self, mut work: impl FnMut(&Filter) -> Result<T>) -> Result<T> {
        self.opened()?.ask(|filter, _| {
            let answer = work(filter)?;
            check_pages().map(|()| answer)
        })
    }

    /// The open model, unchecked. Use [`ask`](Self::ask) for results that are printed.
    pub fn opened(&mut self) -> Result<&LiveFilter> {
        match &mut self.filter {
            Some(filter) => Ok(filter),
            none => {
                rescue::lost_a_page();
                let is_passing = |error: &anyhow::Error| error.downcast_ref().is_some_and(Error::is_passing);
                Ok(none.insert(LiveFilter::open(is_passing, &self.open)?))
            }
        }
    }
}

/// Checks that a model's file did not change in place since it was opened.
pub fn check_unchanged(filter: &Filter) -> Result<()> {
    filter.check_unchanged()?;
    check_pages()
}

fn check_pages() -> Result<()> {
    match rescue::lost_a_page() {
        true => Err(LostPage.into()),
        false => Ok(()),
    }
}

/// The error for a mapped model with a lost page.
#[derive(Debug)]
struct LostPage;

impl std::error::Error for LostPage {}

impl fmt::Display for LostPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a part of the model could not be read: its file was truncated while in use, or the disk fails",
        )
    }
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
