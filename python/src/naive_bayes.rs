//! Counting and scoring of scipy's sparse rows, for the estimators of `tamis.naive_bayes`.

use pyo3::prelude::*;

/// Adds the functions of this file to the module.
pub(crate) fn add_to(_module: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}
