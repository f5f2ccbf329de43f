//! The compiled half of the Python package `tamis`.

mod error;
mod filter;
mod input;
mod model;
mod naive_bayes;
mod options;
mod training;
mod work;

#[pyo3::pymodule(gil_used = false)]
mod _tamis {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::{
        error::TamisError,
        filter::Filter,
        filter::learner::Learner,
        input::file_text,
        model::explanation::{Explanation, Term},
        model::report::Report,
        model::score::{Score, Scores},
        model::table::Table,
        naive_bayes::{csr_count, csr_product},
        training::classifier::{column_kinds, count, fit, scores, table, texts, train},
        training::counter::Counter,
        training::distributed::{DistributedFit, FitPlan, counts_of, sample_of},
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
