//! How good scores are, in the figures of `tamis evaluate`.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tamis_report::{EvaluationReport, Mislabel};
use tamis_train::evaluate::{Evaluation, Figure, HeldOutLabels, HeldOutScore, LearnedDocuments};
use tamis_train::information::Interval;
use tamis_train::{ClassId, Classes, Decision};

use crate::error::{Exception, Result, wrong_row};
use crate::input::LabelColumn;
use crate::model::report::Report;
use crate::model::{DocumentScore, ScoreBatch, SharedFilter};
use crate::work::run;

/// How many documents that contradict their label are listed.
const MAX_MISLABELS: usize = 20;

/// Scored documents with their labels.
pub(crate) struct HeldOut {
    classes: Classes,
    outcomes: Outcomes,
    /// Whether the model has learned each of them; `None` if they were held out.
    is_learned: Option<Vec<bool>>,
}

/// Of one label, with the label that counts as spam, or of many.
pub(crate) enum Outcomes {
    One(Option<ClassId>, Vec<HeldOutScore>),
    Many(Vec<HeldOutLabels>),
}

impl HeldOut {
    /// Documents that were held out.
    pub(crate) fn new(classes: Classes, outcomes: Outcomes) -> Self {
        HeldOut { classes, outcomes, is_learned: None }
    }

    /// The scores of documents with their labels.
    ///
    /// # Errors
    /// The model does not know the label of a document, unless documents have many; there are not as many labels as
    /// documents, at least one.
    pub(crate) fn by_model(model: &SharedFilter, batch: ScoreBatch, labels: &LabelColumn) -> Result<Self> {
        labels.check_evaluates(batch.scores.len())?;
        let classes = model.filter.classes();
        let is_learned = Some(batch.is_learned);
        let rows = batch.scores.iter().zip(batch.probabilities.chunks(classes.len())).enumerate();
        if model.filter.has_many_labels() {
            let of_row = |((row, (_, probabilities)), margins): ((usize, (_, &[f64])), &[f64])| {
                let given = (0..).zip(margins).filter(|(_, margin)| **margin > 0.0).map(|(label, _)| label);
                Ok(HeldOutLabels::new(classes, labels.get(row)?, given, probabilities))
            };
            let rows = rows.zip(batch.margins.chunks(classes.len()));
            let held_out = rows.map(of_row).collect::<Result<_>>()?;
            let (classes, held_out) = HeldOutLabels::with_unknown(classes, held_out)?;
            return Ok(HeldOut { classes, outcomes: Outcomes::Many(held_out), is_learned });
        }
        let of_row = |(row, (scored, probabilities)): (usize, (&DocumentScore, &[f64]))| {
            let class = model.labels.class(labels.get(row)?).map_err(|error| wrong_row(row, error))?;
            Ok(HeldOutScore::new(class, scored.score, probabilities[usize::from(class)]))
        };
        let outcomes = Outcomes::One(model.filter.spam(), rows.map(of_row).collect::<Result<_>>()?);
        Ok(HeldOut { classes: classes.clone(), outcomes, is_learned })
    }

    fn evaluate(&self) -> Evaluation {
        let HeldOut { classes, outcomes, is_learned } = self;
        let is_learned = is_learned.as_deref();
        match outcomes {
            Outcomes::One(spam, all) => {
                LearnedDocuments::evaluate(all, is_learned, |of| Evaluation::new(classes, *spam, of))
            }
            Outcomes::Many(all) => {
                LearnedDocuments::evaluate(all, is_learned, |of| Evaluation::of_labels(classes, of))
            }
        }
    }

    /// A dict with the keys of `tamis evaluate --json`.
    pub(crate) fn figures(self, py: Python<'_>, threads: usize) -> Result<Bound<'_, PyDict>> {
        let evaluation = run(py, threads, move |_| Ok::<_, Exception>(self.evaluate()))?;
        let json = serde_json::to_string(&evaluation).map_err(|error| error.to_string())?;
        let dict =
            py.import("json")?.call_method1("loads", (json,))?.cast_into::<PyDict>().map_err(PyErr::from)?;
        // JSON has no infinite numbers
        for Figure { measure, value, interval, .. } in &evaluation.figures {
            dict.set_item(measure.key, value)?;
            if let Some(Interval { low, high }) = interval {
                dict.set_item(format!("{}_interval", measure.key), [low, high])?;
            }
        }
        if let Some(points) = dict.get_item("operating_points")? {
            for (at, point) in evaluation.operating_points.iter().enumerate() {
                points.get_item(at)?.set_item("threshold", point.threshold)?;
            }
        }
        Ok(dict)
    }

    /// The page of these figures. `decision` has the thresholds between two labels; documents are named by their index.
    pub(crate) fn report(
        self,
        py: Python<'_>,
        title: &str,
        decision: Option<Decision>,
        threads: usize,
    ) -> Result<Report> {
        let title = title.to_owned();
        run(py, threads, move |_| {
            let name = |index: usize| format!("documents[{index}]");
            let mislabels = match &self.outcomes {
                Outcomes::One(_, scores) => Mislabel::of_outcomes(&self.classes, scores, MAX_MISLABELS, name),
                Outcomes::Many(_) => Vec::new(),
            };
            let (title, evaluation, mislabels) = (&*title, &self.evaluate(), &mislabels[..]);
            let report = EvaluationReport { title, evaluation, decision, mislabels };
            Ok::<_, Exception>(Report(report.page()))
        })
    }
}
