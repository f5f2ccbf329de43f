//! The compiled half of the Python package `tamis`.

use pyo3::prelude::*;

mod naive_bayes;

#[pymodule(gil_used = false)]
fn _tamis(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    naive_bayes::add_to(module)
}
