//! What Python's arguments ask for.

use std::thread::available_parallelism;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tamis_filter::Kind;

use crate::error::TamisError;
use crate::input::decoding::Decoding;
use crate::input::documents::{Documents, Labels};
use crate::options::Options;
use crate::training::{Labelled, Training};

/// The kind of documents of this name.
///
/// # Errors
/// It is neither mail nor text.
pub(crate) fn kind_named(name: &str) -> PyResult<Kind> {
    name.parse().map_err(|error| TamisError::new_err(format!("kind: {error}")))
}

/// What is to be trained.
pub(crate) fn prepare(
    documents: &Bound<'_, PyAny>,
    labels: &Bound<'_, PyAny>,
    groups: Option<&Bound<'_, PyAny>>,
    kind: &str,
    threads: usize,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Training> {
    let kind = kind_named(kind)?;
    let options = Options::new(kind, options.unwrap_or(&PyDict::new(documents.py())))?;
    let documents = Documents::new(kind, documents, Decoding::default())?;
    let groups = groups.map(Labels::new).transpose()?;
    Ok(Training::new(Labelled::new(documents, Labels::new(labels)?, groups)?, options, threads))
}

/// The number of threads for `n_jobs`, as scikit-learn has it: 1 if it is not given, one a core for -1, all
/// but one for -2.
pub(crate) fn threads(n_jobs: Option<i64>) -> PyResult<usize> {
    let cores = available_parallelism().map_or(1, usize::from);
    let threads = match n_jobs.unwrap_or(1) {
        n if n < 0 => cores.saturating_add(1).checked_add_signed(n as isize).unwrap_or(1).max(1),
        n => usize::try_from(n).unwrap_or(usize::MAX),
    };
    let is_possible = (1..=MOST_THREADS).contains(&threads);
    is_possible.then_some(threads).ok_or_else(|| {
        let expected = format!("n_jobs: expected 1 to {MOST_THREADS} threads, or -1 for one a core");
        TamisError::new_err(format!("{expected}, got {}", n_jobs.unwrap_or(1)))
    })
}

/// The most threads that can be asked for.
const MOST_THREADS: usize = 1024;
