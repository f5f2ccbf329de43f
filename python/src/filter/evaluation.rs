//! How good scores are, in the figures of `tamis evaluate`.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tamis_report::{EvaluationReport, Mislabel};
use tamis_train::evaluate::{Evaluation, Figure, HeldOutLabels, HeldOutScore};
use tamis_train::information::Interval;
use tamis_train::{ClassId, Classes, Decision};

use crate::error::{Exception, Result, wrong_row};
use crate::input::LabelColumn;
use crate::model::report::Report;
use crate::model::{DocumentScore, ScoreBatch, SharedFilter};
use crate::work::run;

/// How many documents that contradict their label are listed.
const MAX_MISLABELS: usize = 20;

/// Held-out documents of one label, with the label that counts as spam, or of many.
pub(crate) enum HeldOut {
    One(Classes, Option<ClassId>, Vec<HeldOutScore>),
    Many(Classes, Vec<HeldOutLabels>),
}

impl HeldOut {
    /// The scores of documents with their labels.
    ///
    /// # Errors
    /// The model does not know the label of a document, unless documents have many; there are not as many labels as
    /// documents, at least one.
    pub(crate) fn new(model: &SharedFilter, batch: &ScoreBatch, labels: &LabelColumn) -> Result<Self> {
        labels.check_evaluates(batch.scores.len())?;
        let classes = model.filter.classes();
        let rows = batch.scores.iter().zip(batch.probabilities.chunks(classes.len())).enumerate();
        if model.filter.has_many_labels() {
            let of_row = |((row, (_, probabilities)), margins): ((usize, (_, &[f64])), &[f64])| {
                let given = (0..).zip(margins).filter(|(_, margin)| **margin > 0.0).map(|(label, _)| label);
                Ok(HeldOutLabels::new(classes, labels.get(row)?, given, probabilities))
            };
            let rows = rows.zip(batch.margins.chunks(classes.len()));
            let held_out = rows.map(of_row).collect::<Result<_>>()?;
            let (classes, held_out) = HeldOutLabels::with_unknown(classes, held_out)?;
            return Ok(HeldOut::Many(classes, held_out));
        }
        let of_row = |(row, (scored, probabilities)): (usize, (&DocumentScore, &[f64]))| {
            let class = model.labels.class(labels.get(row)?).map_err(|error| wrong_row(row, error))?;
            Ok(HeldOutScore::new(class, scored.score, probabilities[usize::from(class)]))
        };
        Ok(HeldOut::One(classes.clone(), model.filter.spam(), rows.map(of_row).collect::<Result<_>>()?))
    }

    fn evaluate(&self) -> Evaluation {
        match self {
            HeldOut::One(classes, spam, scores) => Evaluation::new(classes, *spam, scores),
            HeldOut::Many(classes, held_out) => Evaluation::of_labels(classes, held_out),
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
            let mislabels = match &self {
                HeldOut::One(classes, _, scores) => {
                    Mislabel::of_outcomes(classes, scores, MAX_MISLABELS, name)
                }
                HeldOut::Many(..) => Vec::new(),
            };
            let (title, evaluation, mislabels) = (&*title, &self.evaluate(), &mislabels[..]);
            let report = EvaluationReport { title, evaluation, decision, mislabels };
            Ok::<_, Exception>(Report(report.page()))
        })
    }
}
