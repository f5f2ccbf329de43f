//! `tamis inspect --summary`: a table of many models.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use tamis_program::{ERROR, grouped, named, say, shown, shown_path, told};
use tamis_train::information::ClassTotals;
use tamis_train::{Filter, Information};

/// Prints a row for each model. Models that cannot be opened are reported, and make the exit status an error.
pub(crate) fn print(models: &[PathBuf]) -> Result<u8> {
    let titles = ["documents", "since training", "terms", "bytes", "labels", "model"].map(str::to_owned);
    let (mut rows, mut status) = (vec![titles], 0);
    for path in models {
        match Filter::open(path).map_err(named(path)) {
            Ok(filter) => rows.push(row(&filter, shown_path(path))),
            Err(error) => {
                say!("tamis: {}", told(&error));
                status = ERROR;
            }
        }
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let [a, b, c, d, e] = [0, 1, 2, 3, 4].map(width);
    let mut out = std::io::stdout().lock();
    for [documents, changes, terms, bytes, labels, path] in &rows {
        writeln!(out, "{documents:>a$}  {changes:>b$}  {terms:>c$}  {bytes:>d$}  {labels:<e$}  {path}")?;
    }
    Ok(status)
}

/// The table cells of a model.
fn row(filter: &Filter, path: String) -> [String; 6] {
    let Information { totals, documents, classes, changes, size, file, .. } = filter.information();
    let label = |((_, label), totals): ((_, &str), &ClassTotals)| {
        format!("{} {}", grouped(totals.documents), shown(label))
    };
    let labels: Vec<_> = classes.iter().zip(totals.iter()).map(label).collect();
    let [documents, changes, terms, bytes] =
        [documents, changes.since_training, size.terms as u64, file.bytes as u64].map(grouped);
    [documents, changes, terms, bytes, labels.join(", "), path]
}
