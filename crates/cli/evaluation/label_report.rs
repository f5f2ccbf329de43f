//! The output of `tamis evaluate` for documents of many labels.

use std::io::Write;

use anyhow::Result;
use serde_json::{Map, Value, json};
use tamis_program::{counted, grouped, shown};
use tamis_train::Classes;
use tamis_train::evaluate::{LabelEvaluation, LabelFigures};

use crate::evaluation::confusion::cut;

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
        for (name, value) in of.named() {
            writeln!(out, "{:<16}{value:.4}", name.replace('_', " "))?;
        }
        let labels = of.most_frequent_first(self.classes);
        let width = labels.iter().map(|(label, _)| shown(label).chars().count().min(LABEL)).max();
        let width = width.unwrap_or_default().max("label".len());
        writeln!(out, "\n{:<width$}  documents    F1  precision  recall  average precision", "label")?;
        for (label, figures) in labels {
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
        let (mut report, of) = (Map::new(), self.evaluation);
        report.insert("documents".to_owned(), json!(of.documents));
        report.extend(of.named().into_iter().map(|(name, value)| (name, json!(value))));
        let labels = of.most_frequent_first(self.classes).into_iter().map(label).collect();
        report.insert("labels".to_owned(), labels);
        Value::Object(report)
    }
}
