//! What Python's arguments ask for.

use std::thread::available_parallelism;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tamis_train::Kind;

use crate::error::TamisError;
use crate::input::decoding::Decoding;
use crate::options::Given;

/// The kind of documents of this name.
///
/// # Errors
/// There is no such kind.
pub(crate) fn kind_named(name: &str) -> PyResult<Kind> {
    let known = [Kind::Mail, Kind::Text, Kind::Table].into_iter().find(|kind| kind.to_string() == name);
    known.ok_or_else(|| TamisError::new_err(format!("kind: expected mail, text or table, got {name:?}")))
}

/// How documents are read, on how many threads, and whether with a progress bar.
pub(crate) struct How {
    pub(crate) threads: usize,
    pub(crate) progress: bool,
    pub(crate) decoding: Decoding,
}

impl How {
    pub(crate) fn new(n_jobs: Option<i64>, progress: bool) -> PyResult<Self> {
        Ok(How { threads: threads(n_jobs)?, progress, decoding: Decoding::default() })
    }

    /// From the keywords `n_jobs`, `progress`, `encoding` and `decode_error`.
    ///
    /// # Errors
    /// A value is wrong, or there are other keywords.
    pub(crate) fn of(py: Python<'_>, keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let given = Given(keywords.map_or_else(|| Ok(PyDict::new(py)), |keywords| keywords.copy())?);
        let text = |name, default: &str| Ok::<_, PyErr>(given.take(name)?.unwrap_or(default.to_owned()));
        let mut how = How::new(given.take("n_jobs")?, given.flag("progress")?)?;
        how.decoding = Decoding::new(py, &text("encoding", "utf-8")?, &text("decode_error", "strict")?)?;
        given.expect_no_more()?;
        Ok(how)
    }
}

/// The number of threads for `n_jobs`, as in scikit-learn: 1 if not given, one per core for -1, all cores but one for -2.
pub(crate) fn threads(n_jobs: Option<i64>) -> PyResult<usize> {
    let cores = available_parallelism().map_or(1, usize::from);
    let threads = match n_jobs.unwrap_or(1) {
        n if n < 0 => cores.saturating_add(1).checked_add_signed(n as isize).unwrap_or(1).max(1),
        n => usize::try_from(n).unwrap_or(usize::MAX),
    };
    let is_possible = (1..=MAX_THREADS).contains(&threads);
    is_possible.then_some(threads).ok_or_else(|| {
        let expected = format!("n_jobs: expected 1 to {MAX_THREADS} threads, or -1 for one per core");
        TamisError::new_err(format!("{expected}, got {}", n_jobs.unwrap_or(1)))
    })
}

/// The most threads that can be asked for.
const MAX_THREADS: usize = 1024;
