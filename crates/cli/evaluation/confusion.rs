//! The confusion matrix, within the 80 columns of a terminal.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::io::Write;

use anyhow::Result;
use tamis_model::metrics::ConfusionMatrix;
use tamis_program::{grouped, shown};
use tamis_train::{ClassId, Classes};

/// The columns of a terminal.
const WIDTH: usize = 80;

/// Maximum characters of a label at the start of a row, from the best to the least that is still useful; and the
/// minimum for a column heading.
const ROWS: [usize; 3] = [30, 20, 12];
const LEAST_HEADING: usize = 3;

/// Maximum number of pairs of labels to list if the matrix does not fit.
const MOST_PAIRS: usize = 20;

/// A label shortened to `most` characters.
pub(crate) fn cut(label: &str, most: usize) -> String {
    tamis_report::cut(&shown(label), most)
}

/// Prints the whole matrix if it fits, or else the pairs confused most often.
pub(crate) fn print(out: &mut impl Write, classes: &Classes, confusion: &ConfusionMatrix) -> Result<()> {
    match Matrix::fit(classes, confusion) {
        Some(matrix) => matrix.print(out),
        None => print_pairs(out, classes, confusion),
    }
}

struct Matrix {
    headings: Vec<String>,
    names: Vec<String>,
    counts: Vec<Vec<String>>,
    name_width: usize,
    /// The width of each column, including the space before it.
    widths: Vec<usize>,
}

impl Matrix {
    /// The first layout that fits. Columns have labels as headings, or numbers if the labels would be too short to
    /// differ.
    fn fit(classes: &Classes, confusion: &ConfusionMatrix) -> Option<Self> {
        if classes.len() > WIDTH / 2 {
            return None;
        }
        let row = |truth: ClassId| -> Vec<String> {
            let verdicts = classes.iter().map(|(verdict, _)| confusion.get(truth, verdict));
            verdicts.chain([confusion.unsure(truth)]).map(grouped).collect()
        };
        let counts: Vec<_> = classes.iter().map(|(truth, _)| row(truth)).collect();
        let names =
            |most: usize| -> Vec<String> { classes.iter().map(|(_, label)| cut(label, most)).collect() };
        let headings = |most: usize| -> Vec<String> {
            classes.iter().map(|(_, label)| shown(label).chars().take(most).collect()).collect()
        };
        let differ = |names: &Vec<String>| names.iter().collect::<HashSet<_>>().len() == names.len();
        let longest = headings(usize::MAX).iter().map(|heading| heading.chars().count()).max()?;
        let shapes = [2, 1].into_iter().flat_map(|gap| ROWS.map(|most| (gap, most)));
        let by_label = shapes.clone().flat_map(|(gap, most)| {
            let headings = (LEAST_HEADING.min(longest)..=longest).rev().map(headings).filter(differ);
            headings.map(move |headings| (gap, names(most), headings)).filter(|(_, names, _)| differ(names))
        });
        let by_number = shapes.map(|(gap, most)| {
            let numbers: Vec<_> = (1..=classes.len()).map(|number| number.to_string()).collect();
            let names = numbers.iter().zip(names(most)).map(|(number, name)| format!("{number:>2} {name}"));
            (gap, names.collect(), numbers)
        });
        by_label
            .chain(by_number)
            .map(|(gap, names, headings)| Matrix::new(headings, names, counts.clone(), gap))
            .find(|matrix| matrix.name_width + matrix.widths.iter().sum::<usize>() <= WIDTH)
    }

    fn new(mut headings: Vec<String>, names: Vec<String>, counts: Vec<Vec<String>>, gap: usize) -> Self {
        headings.push("unsure".to_owned());
        let of_counts = |column: usize| counts.iter().map(|row| row[column].len()).max().unwrap_or(0);
        let width =
            |(column, heading): (usize, &String)| gap + heading.chars().count().max(of_counts(column));
        let widths = headings.iter().enumerate().map(width).collect();
        let name_width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        Matrix { headings, names, counts, name_width, widths }
    }

    fn print(&self, out: &mut impl Write) -> Result<()> {
        writeln!(out, "\nconfusion (rows: true label, columns: verdict)")?;
        self.print_row(out, "", &self.headings)?;
        self.names.iter().zip(&self.counts).try_for_each(|(name, counts)| self.print_row(out, name, counts))
    }

    fn print_row(&self, out: &mut impl Write, name: &str, cells: &[String]) -> Result<()> {
        write!(out, "{name:<width$}", width = self.name_width)?;
        cells.iter().zip(&self.widths).try_for_each(|(cell, width)| write!(out, "{cell:>width$}"))?;
        Ok(writeln!(out)?)
    }
}

fn print_pairs(out: &mut impl Write, classes: &Classes, confusion: &ConfusionMatrix) -> Result<()> {
    let wrong = confusion.cells().filter(|(truth, verdict, _)| *verdict != Some(*truth));
    let mut pairs: Vec<_> = wrong.collect();
    // a stable sort: pairs with equal counts stay in the order of labels
    pairs.sort_by_key(|(truth, verdict, n)| (Reverse(*n), *truth, verdict.is_none()));
    let shown_pairs = pairs.len().min(MOST_PAIRS);
    let of = grouped(pairs.len() as u64);
    writeln!(out, "\nconfusion (true label, verdict): {shown_pairs} of {of} pairs, --json has all")?;
    let pairs = &pairs[..shown_pairs];
    let label = |class: ClassId| cut(classes.label(class).unwrap_or_default(), ROWS[0]);
    let width = pairs.iter().map(|(truth, ..)| label(*truth).chars().count()).max().unwrap_or(0);
    for (truth, verdict, n) in pairs {
        let verdict = verdict.map_or("unsure".to_owned(), label);
        writeln!(out, "{:>9}  {:<width$}  {verdict}", grouped(*n), label(*truth))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(labels: &[String], count: impl Fn(usize, usize) -> usize) -> String {
        let classes = Classes::new(labels).unwrap();
        let mut confusion = ConfusionMatrix::new(labels.len());
        for truth in 0..labels.len() {
            for verdict in 0..labels.len() {
                for _ in 0..count(truth, verdict) {
                    confusion.record(truth as ClassId, Some(verdict as ClassId));
                }
            }
        }
        let mut out = Vec::new();
        print(&mut out, &classes, &confusion).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        text
    }

    #[test]
    fn a_matrix_fits_whatever_the_labels() {
        let on_diagonal = |truth, verdict| if truth == verdict { 1_234 } else { 7 };
        let named = |n: usize, name: &dyn Fn(usize) -> String| (0..n).map(name).collect::<Vec<_>>();
        let letter = |n: usize| (b'a' + n as u8) as char;
        let text = printed(&named(3, &|n| format!("{} topic", letter(n))), on_diagonal);
        assert!(text.contains("b topic  c topic  unsure\n") && text.contains("1,234"), "{text}");
        let text = printed(&named(10, &|n| format!("{} a long label", letter(n))), on_diagonal);
        assert!(text.contains("a a l b a l") && text.contains("a a lon…abel 1,234"), "{text}");
        let text = printed(&named(10, &|n| format!("a long common beginning of label {n}")), |_, _| 9);
        assert!(text.contains("10 a long common begin…of label 9"), "{text}");
        let text = printed(&named(20, &|n| format!("topic {n}")), on_diagonal);
        assert!(text.contains("20 of 380 pairs") && text.contains("        7  topic 0"), "{text}");
    }
}
