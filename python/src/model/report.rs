//! Reports with pictures, as `--html` of the program writes them.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use tamis_report::{EvaluationReport, Mislabel, Page, model_page};
use tamis_train::Filter;
use tamis_train::evaluate::{Evaluation, HeldOutScore};

use crate::error::{Exception, Result};
use crate::model::SharedFilter;
use crate::work::run;

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

/// How many documents that contradict their label are listed.
const MAX_MISLABELS: usize = 20;

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

    /// The page of an evaluation. Documents are named by their index.
    pub(crate) fn of_outcomes(
        py: Python<'_>,
        title: &str,
        model: Arc<SharedFilter>,
        outcomes: Vec<HeldOutScore>,
        threads: usize,
    ) -> Result<Self> {
        let title = title.to_owned();
        let page = run(py, threads, move |_| {
            let (filter, classes) = (&model.filter, model.filter.classes());
            let evaluation = Evaluation::new(classes, filter.spam(), &outcomes);
            let name = |index: usize| format!("documents[{index}]");
            let report = EvaluationReport {
                title: &title,
                classes,
                spam: filter.spam(),
                outcomes: &outcomes,
                evaluation: &evaluation,
                decision: (classes.len() == 2).then(|| filter.decision()),
                learning: &[],
                mislabels: &Mislabel::of_outcomes(classes, &outcomes, MAX_MISLABELS, name),
            };
            Ok::<_, Exception>(report.page())
        })?;
        Ok(Report(page))
    }

    pub(crate) fn to_fragment(&self) -> String {
        self.0.to_fragment()
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
        self.to_fragment()
    }
}
