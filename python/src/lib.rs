//! The compiled half of the Python package `tamis`.

mod arguments;
mod classifier;
mod counter;
mod distributed;
mod drift;
mod error;
mod evaluation;
mod explanation;
mod filter;
mod input;
mod label_evaluation;
mod learner;
mod model;
mod naive_bayes;
mod options;
mod progress;
mod report;
mod score;
mod suggest;
mod suspects;
mod table;
mod terms;
mod training;
mod work;

#[pyo3::pymodule(gil_used = false)]
mod _tamis {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::{
        classifier::{column_kinds, count, count_documents, fit, label_table, scores, train},
        counter::Counter,
        distributed::{DistributedFit, FitPlan, counts_of, sample_of},
        error::TamisError,
        explanation::{Explanation, Term},
        filter::Filter,
        learner::Learner,
        naive_bayes::{csr_count, csr_product},
        report::Report,
        score::{Score, Scores},
        table::Table,
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
