//! The compiled half of the Python package `tamis`.

use pyo3::prelude::*;

mod error;
mod input;
mod naive_bayes;
mod options;
mod training;
mod work;

#[pymodule(gil_used = false)]
fn _tamis(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    error::add_to(module)?;
    naive_bayes::add_to(module)?;
    training::add_to(module)
}
