//! `tamis evaluate`

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::json;
use tamis_filter::{ClassId, Filter, Scratch};
use tamis_model::metrics::{ConfusionMatrix, roc_auc};

use crate::args::EvaluateArgs;
use crate::corpus::Corpus;
use crate::output::{counted, grouped};

pub(crate) fn run(args: &EvaluateArgs) -> Result<u8> {
    let filter = args.model.open()?;
    let recipe = filter.information().recipe;
    let corpus = Corpus::find(&args.sources, true, &args.input, Some(recipe.kind))?;
    let mut table = args.scores.as_deref().map(create_table).transpose()?;
    let mut results = Results::new(&filter);
    let finished = corpus.for_each(
        &recipe.limits,
        || Ok(Scratch::default()),
        |scratch, item, document| {
            let truth = item.label.as_deref().unwrap_or_default();
            let truth = filter.classes().index(truth).ok_or_else(|| unknown_label(&filter, truth))?;
            Ok((truth, filter.score(document, scratch)?))
        },
        |item, (truth, score)| {
            results.confusion.record(truth, score.label);
            // Of two classes the log-odds of one are minus those of the other.
            let of_positive = if score.about == results.positive { score.log_odds } else { -score.log_odds };
            results.scores.push((of_positive, truth == results.positive));
            if let Some(table) = &mut table {
                let truth = filter.classes().label(truth).unwrap_or_default();
                let [log_odds, probability] = [score.log_odds, score.probability].map(|n| n.to_string());
                table.write_record([
                    item.name.as_str(),
                    truth,
                    &log_odds,
                    filter.label_of(&score),
                    &probability,
                ])?;
            }
            Ok(())
        },
    )?;
    if let Some(mut table) = table {
        table.flush()?;
    }
    if results.scores.is_empty() {
        bail!("expected documents to evaluate, got none");
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    if args.json {
        writeln!(out, "{}", results.json())?;
    } else {
        results.print(&mut out)?;
    }
    out.flush()?;
    Ok(corpus.conclude(finished.unreadable))
}

fn create_table(path: &Path) -> Result<csv::Writer<File>> {
    let file = File::create(path).with_context(|| path.display().to_string())?;
    let mut table = csv::WriterBuilder::new().delimiter(b'\t').from_writer(file);
    table.write_record(["path", "true_label", "log_odds", "verdict", "probability"])?;
    Ok(table)
}

fn unknown_label(filter: &Filter, got: &str) -> anyhow::Error {
    let known: Vec<_> = filter.classes().iter().map(|(_, label)| label).collect();
    anyhow!("expected one of the model's labels ({}), got {got:?}", known.join(", "))
}

struct Results<'a> {
    filter: &'a Filter,
    confusion: ConfusionMatrix,
    /// The class that is detected, where there are two: spam, else the last.
    positive: ClassId,
    /// Log-odds of the positive class, and whether the document is of it.
    scores: Vec<(f64, bool)>,
}

impl<'a> Results<'a> {
    fn new(filter: &'a Filter) -> Self {
        let n_classes = filter.classes().len();
        Results {
            filter,
            confusion: ConfusionMatrix::new(n_classes),
            positive: filter.spam().unwrap_or(n_classes.saturating_sub(1) as ClassId),
            scores: Vec::new(),
        }
    }

    /// FPR, FNR, ROC AUC and 1-ROCA%, where there are two classes.
    fn detection(&self) -> Option<[(&'static str, Option<f64>); 4]> {
        if self.filter.classes().len() != 2 {
            return None;
        }
        let auc = roc_auc(&self.scores);
        Some([
            ("FPR", self.confusion.false_positive_rate(self.positive)),
            ("FNR", self.confusion.false_negative_rate(self.positive)),
            ("ROC AUC", auc),
            ("1-ROCA%", auc.map(|auc| 100.0 * (1.0 - auc))),
        ])
    }

    fn print(&self, out: &mut impl Write) -> Result<()> {
        let classes = self.filter.classes();
        let documents = self.scores.len() as u64;
        let unsure: u64 = classes.iter().map(|(class, _)| self.confusion.unsure(class)).sum();
        writeln!(out, "{}, {} unsure", counted(documents, "document"), grouped(unsure))?;
        writeln!(out, "accuracy  {:.4}", self.confusion.accuracy())?;
        writeln!(out, "macro F1  {:.4}", self.confusion.macro_f1())?;
        if let Some(detection) = self.detection() {
            let label = classes.label(self.positive).unwrap_or_default();
            for (name, value) in detection {
                let value = match (name, value) {
                    (_, None) => "undefined (needs documents of both labels)".to_owned(),
                    ("FPR", Some(v)) => format!("{:.2} % called {label} that are not", 100.0 * v),
                    ("FNR", Some(v)) => format!("{:.2} % of {label} missed", 100.0 * v),
                    ("ROC AUC", Some(v)) => format!("{v:.6}"),
                    (_, Some(v)) => format!("{v:.4}"),
                };
                writeln!(out, "{name:<8}  {value}")?;
            }
        }
        self.print_classes(out)?;
        self.print_confusion(out)
    }

    fn print_classes(&self, out: &mut impl Write) -> Result<()> {
        let width = self.label_width();
        writeln!(out, "\n{:<width$}  precision  recall      F1  documents", "label")?;
        for (class, label) in self.filter.classes().iter() {
            let m = &self.confusion;
            writeln!(
                out,
                "{label:<width$}  {:>9.4}  {:.4}  {:.4}  {:>9}",
                m.precision(class),
                m.recall(class),
                m.f1(class),
                grouped(m.support(class))
            )?;
        }
        Ok(())
    }

    /// Rows are true labels, columns verdicts; columns are numbered where names would be too wide.
    fn print_confusion(&self, out: &mut impl Write) -> Result<()> {
        let classes = self.filter.classes();
        let width = self.label_width() + 4;
        let column = |class: ClassId, label: &str| {
            if classes.len() > 8 { format!("{}", class + 1) } else { label.to_owned() }
        };
        let headings: Vec<_> =
            classes.iter().map(|(class, label)| column(class, label)).chain(["unsure".to_owned()]).collect();
        let widths: Vec<_> = headings.iter().map(|h| h.chars().count().max(5)).collect();
        writeln!(out, "\nconfusion (rows: true label, columns: verdict)")?;
        write!(out, "{:<width$}", "")?;
        headings.iter().zip(&widths).try_for_each(|(heading, w)| write!(out, "  {heading:>w$}"))?;
        writeln!(out)?;
        for (truth, label) in classes.iter() {
            let name = if classes.len() > 8 { format!("{:>2} {label}", truth + 1) } else { label.to_owned() };
            write!(out, "{name:<width$}")?;
            let counts = classes
                .iter()
                .map(|(verdict, _)| self.confusion.get(truth, verdict))
                .chain([self.confusion.unsure(truth)]);
            counts.zip(&widths).try_for_each(|(count, w)| write!(out, "  {count:>w$}"))?;
            writeln!(out)?;
        }
        Ok(())
    }

    fn label_width(&self) -> usize {
        self.filter.classes().iter().map(|(_, label)| label.chars().count()).max().unwrap_or(0).max(5)
    }

    fn json(&self) -> serde_json::Value {
        let m = &self.confusion;
        let classes: Vec<_> = self
            .filter
            .classes()
            .iter()
            .map(|(class, label)| {
                let verdicts: serde_json::Map<_, _> =
                    self.filter.classes().iter().map(|(v, l)| (l.to_owned(), json!(m.get(class, v)))).collect();
                json!({
                    "label": label, "documents": m.support(class), "precision": m.precision(class),
                    "recall": m.recall(class), "f1": m.f1(class), "verdicts": verdicts, "unsure": m.unsure(class),
                })
            })
            .collect();
        let mut object = json!({
            "documents": self.scores.len(), "accuracy": m.accuracy(), "macro_f1": m.macro_f1(), "classes": classes,
        });
        if let Some([fpr, fnr, auc, one_minus]) = self.detection() {
            object["false_positive_rate"] = json!(fpr.1);
            object["false_negative_rate"] = json!(fnr.1);
            object["roc_auc"] = json!(auc.1);
            object["one_minus_roc_auc_percent"] = json!(one_minus.1);
        }
        object
    }
}
