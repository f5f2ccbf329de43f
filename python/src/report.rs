//! Reports with pictures, as `--html` of the program writes them.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use tamis_filter::{Evaluation, Filter, HeldOutScore};
use tamis_report::{EvaluationReport, Mislabel, Page, model_page};

use crate::error::raised;
use crate::model::Model;
use crate::work::run;

/// A report with pictures: HTML without scripts, which a notebook shows and ``save`` writes to a file.
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
pub(crate) struct Report(Page);

/// What the page of a model shows: so many labels with so many of their strongest terms, if that is done at once, since
/// the model is read through for each.
const LABELS: usize = 10;
const TERMS: usize = 5;
const MOST_READ: usize = 2_000_000;

/// Documents that are named as contradicting their label.
const MOST_MISLABELS: usize = 20;

impl Report {
    pub(crate) fn new(page: Page) -> Self {
        Report(page)
    }

    /// The page of a model.
    ///
    /// # Errors
    /// If the model is damaged.
    pub(crate) fn of_model(title: &str, filter: &Filter) -> PyResult<Self> {
        let read = filter.information().n_terms * filter.classes().len().min(LABELS);
        let labels = if read <= MOST_READ { LABELS } else { 0 };
        model_page(title, filter, [labels, TERMS], &[]).map(Report).map_err(raised)
    }

    /// The page of an evaluation, whose documents are called by their places.
    pub(crate) fn of_outcomes(
        py: Python<'_>,
        title: &str,
        model: Arc<Model>,
        outcomes: Vec<HeldOutScore>,
        threads: usize,
    ) -> PyResult<Self> {
        let title = title.to_owned();
        let page = run(py, threads, None, move |_| {
            let (filter, classes) = (&model.filter, model.filter.classes());
            let evaluation = Evaluation::new(classes, filter.spam(), &outcomes);
            let name = |place: usize| format!("documents[{place}]");
            EvaluationReport {
                title: &title,
                classes,
                spam: filter.spam(),
                outcomes: &outcomes,
                evaluation: &evaluation,
                decision: (classes.len() == 2).then(|| filter.decision()),
                learning: &[],
                mislabels: &Mislabel::of_outcomes(classes, &outcomes, MOST_MISLABELS, name),
            }
            .page()
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

/// Adds the class of this file to the module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Report>()
}
