//! The terms of a model and their weights.

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error::{Result, TamisError};
use crate::explanation::Term;
use crate::filter::Filter;
use crate::table::Table;

#[pymethods]
impl Filter {
    /// The terms that speak most for a label against its strongest rival, each scored as a document of its own.
    ///
    /// Parameters
    /// ----------
    /// label : str
    /// n : int, default 20
    ///
    /// Returns
    /// -------
    /// tuple of Term
    #[pyo3(signature = (label, n=20))]
    fn strongest_terms<'py>(&self, py: Python<'py>, label: &str, n: usize) -> Result<Bound<'py, PyTuple>> {
        let model = self.model();
        let class = model.labels.class(label).map_err(TamisError::new_err)?;
        let terms = py.detach(|| model.filter.strongest_terms(class, n))?;
        Ok(PyTuple::new(py, terms.into_iter().map(|term| Term::new(model.labels.clone(), term)))?)
    }

    /// All terms of the model, with their counts and weights. Reads the whole model.
    ///
    /// Returns
    /// -------
    /// Table
    ///     What ``tamis export --format csv`` prints, sorted by term: ``term`` (str) and for every label
    ///     ``documents_LABEL``, the number of its documents with the term, ``occurrences_LABEL`` in them (int64), and
    ///     ``weight_LABEL`` (float64): what the term adds to the label's log-odds against its strongest rival, in nats, in
    ///     a document of its own; null if the term is not used in scoring.
    fn term_table(&self, py: Python<'_>) -> Result<Table> {
        let model = self.model();
        let mut rows = py.detach(|| model.filter.terms().collect::<tamis_train::Result<Vec<_>>>())?;
        rows.sort_by(|a, b| a.term.cmp(&b.term));
        Ok(Table::of_terms(model.labels.names(), &rows)?)
    }
}
