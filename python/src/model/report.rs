//! Reports with pictures, as `--html` of the program writes them.

use std::path::PathBuf;

use pyo3::prelude::*;
use tamis_report::{Page, model_page};
use tamis_train::Filter;

use crate::error::Result;

/// A report with pictures: HTML without scripts. A notebook shows it, and ``save`` writes it to a file.
///
/// Attributes
/// ----------
/// html : str
///     The whole page.
///
/// Examples
/// --------
/// >>> import tamis
/// >>> filter = tamis.Filter.train(["apples", "iron"], ["fruit", "metal"], kind="text")
/// >>> report = filter.report(["two apples", "an iron gate"], ["fruit", "metal"])
/// >>> "2 of 2 documents are labelled right" in report.html
/// True
#[pyclass(frozen, module = "tamis")]
pub(crate) struct Report(pub(crate) Page);

/// Limits of the model page. Listing a label's strongest terms scans the whole model, so large models show none.
const MAX_LABELS: usize = 10;
const MAX_TERMS: usize = 5;
const MAX_SCANNED: usize = 2_000_000;

impl Report {
    /// The page of a model.
    ///
    /// # Errors
    /// The model is damaged.
    pub(crate) fn of_model(title: &str, filter: &Filter) -> Result<Self> {
        let scanned = filter.information().size.terms * filter.classes().len().min(MAX_LABELS);
        let labels = if scanned <= MAX_SCANNED { MAX_LABELS } else { 0 };
        Ok(Report(model_page(title, filter, [labels, MAX_TERMS], &[])?))
    }
}

#[pymethods]
impl Report {
    #[getter]
    fn html(&self) -> String {
        self.0.to_html()
    }

    /// Writes the page to a file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        Ok(py.detach(|| std::fs::write(path, self.0.to_html()))?)
    }

    fn _repr_html_(&self) -> String {
        self.0.to_fragment()
    }
}
