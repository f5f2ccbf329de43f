//! The output of `tamis evaluate` for documents of many labels.

use std::io::Write;

use anyhow::Result;
use serde_json::{Map, Value, json};
use tamis_filter::Classes;
use tamis_filter::evaluate::{LabelEvaluation, LabelFigures};
use tamis_program::{counted, grouped, shown};

use crate::output::confusion::cut;

/// Maximum characters of a label in the table of labels.
const LABEL: usize = 32;

pub(crate) struct LabelReport<'a> {
    pub(crate) classes: &'a Classes,
    pub(crate) evaluation: &'a LabelEvaluation,
}

impl LabelReport<'_> {
    /// Prints the figures, then a line for each label, the most frequent first.
    pub(crate) fn print(&self, out: &mut impl Write) -> Result<()> {
        let of = self.evaluation;
        let n = self.classes.len() as u64;
        writeln!(out, "{}, {}", counted(of.documents as u64, "document"), counted(n, "label"))?;
        for (name, value) in self.figures() {
            writeln!(out, "{:<16}{value:.4}", name.replace('_', " "))?;
        }
        let width = self.labels().map(|(label, _)| shown(label).chars().count().min(LABEL)).max();
        let width = width.unwrap_or_default().max("label".len());
        writeln!(out, "\n{:<width$}  documents    F1  precision  recall  average precision", "label")?;
        for (label, figures) in self.labels() {
            let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
            writeln!(
                out,
                "{:<width$}  {:>9}  {:.3}  {:>8}  {:>6}  {:>16}",
                cut(&shown(label), LABEL),
                grouped(figures.found + figures.missed),
                figures.f1(),
                number(figures.precision()),
                number(figures.recall()),
                number(figures.average_precision),
            )?;
        }
        Ok(())
    }

    pub(crate) fn json(&self) -> Value {
        let label = |(label, of): (&str, &LabelFigures)| {
            json!({
                "label": label,
                "documents": of.found + of.missed,
                "found": of.found,
                "wrong": of.wrong,
                "missed": of.missed,
                "precision": of.precision(),
                "recall": of.recall(),
                "f1": of.f1(),
                "average_precision": of.average_precision,
                "roc_auc": of.roc_auc,
            })
        };
        let mut report = Map::new();
        report.insert("documents".to_owned(), json!(self.evaluation.documents));
        report.extend(self.figures().into_iter().map(|(name, value)| (name, json!(value))));
        report.insert("labels".to_owned(), self.labels().map(label).collect());
        Value::Object(report)
    }

    /// The figures of all labels together, by their names in JSON.
    fn figures(&self) -> Vec<(String, f64)> {
        let (of, all) = (self.evaluation, self.evaluation.all());
        let mut figures: Vec<_> = [
            ("micro_f1", of.micro_f1()),
            ("macro_f1", of.macro_f1()),
            ("precision", all.precision().unwrap_or_default()),
            ("recall", all.recall().unwrap_or_default()),
            ("exact", of.exact),
            ("log_loss", of.log_loss),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let at = LabelEvaluation::PLACES.iter().zip(of.precision_at);
        figures.extend(at.map(|(k, value)| (format!("precision_at_{k}"), value)));
        figures
    }

    /// The labels, the most frequent first.
    fn labels(&self) -> impl Iterator<Item = (&str, &LabelFigures)> {
        let labels = self.classes.iter().map(|(_, label)| label).zip(&self.evaluation.labels);
        let mut labels: Vec<_> = labels.collect();
        labels.sort_by_key(|(_, of)| std::cmp::Reverse(of.found + of.missed));
        labels.into_iter()
    }
}
