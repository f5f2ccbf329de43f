//! The compiled half of the Python package `tamis`.

use pyo3::prelude::*;

mod arguments;
mod classifier;
mod counter;
mod distributed;
mod error;
mod evaluation;
mod explanation;
mod filter;
mod input;
mod learner;
mod message;
mod model;
mod naive_bayes;
mod options;
mod progress;
mod report;
mod score;
mod table;
mod training;
mod work;

#[pymodule(gil_used = false)]
fn _tamis(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    classifier::add_to(module)?;
    counter::add_to(module)?;
    distributed::add_to(module)?;
    error::add_to(module)?;
    explanation::add_to(module)?;
    filter::add_to(module)?;
    learner::add_to(module)?;
    naive_bayes::add_to(module)?;
    report::add_to(module)?;
    score::add_to(module)?;
    table::add_to(module)
}
