//! Pictures of an evaluation, for terminals.

use std::io::Write;

use anyhow::Result;
use tamis_model::metrics::RocPoint;
use tamis_program::grouped;
use tamis_train::evaluate::ReliabilityBin;

use crate::evaluation::confusion::cut;
use crate::output::{Canvas, bar, curve};

/// Rows of a curve.
const ROWS: usize = 8;

/// Number of powers of ten that the curve spans, up to a share of 1 of the negatives.
const DECADES: usize = 4;

/// Prints how much of a class is found for each share of the other class that may be lost, on a logarithmic scale.
/// `points` are those of the ROC curve.
pub(crate) fn print_curve(
    out: &mut impl Write,
    canvas: Canvas,
    [label, other]: [&str; 2],
    points: &[RocPoint],
) -> Result<()> {
    let (Some(columns), Some(last)) = (canvas.beside(10, 60), points.last()) else { return Ok(()) };
    // whole decades, and one column for the end of the last
    let wide = columns.saturating_sub(1) / DECADES;
    let share = |column: usize| 10f64.powf(column as f64 / wide as f64 - DECADES as f64).min(1.0);
    let found = |column: usize| {
        let allowed = (share(column) * last.false_positives as f64) as u64;
        let n_points = points.partition_point(|point| point.false_positives <= allowed);
        let caught = n_points.checked_sub(1).map_or(0, |at| points[at].true_positives);
        caught as f64 / last.true_positives as f64
    };
    let found: Vec<_> = (0..=wide * DECADES).map(found).collect();
    writeln!(out, "\n{} found, by the share of {} that may be lost", cut(label, 30), cut(other, 30))?;
    for (row, line) in curve(&found, ROWS).iter().enumerate() {
        let scale = match row {
            0 => "100 %",
            row if row == ROWS / 2 => "50 %",
            _ => "",
        };
        writeln!(out, "{scale:>6} │{line}")?;
    }
    let tick = |column: usize| if column.is_multiple_of(wide) { '┴' } else { '─' };
    let axis: String = (0..=wide * DECADES).map(tick).collect();
    writeln!(out, "{:>6} └{axis}", "0 %")?;
    let marks = ["0.01 %", "0.1 %", "1 %", "10 %"].map(|mark| format!("{mark:<wide$}")).concat();
    Ok(writeln!(out, "{:8}{marks}100 %", "")?)
}

/// Prints how often documents had a label, by the probability given to it. Without `label`, the label is each
/// document's own.
pub(crate) fn print_reliability(
    out: &mut impl Write,
    canvas: Canvas,
    label: Option<&str>,
    bins: &[ReliabilityBin],
) -> Result<()> {
    let Some(columns) = canvas.beside(32, 30) else { return Ok(()) };
    let what = label.map_or("its label".into(), |label| cut(label, 20));
    writeln!(out, "\nsaid to be {what}, on average, and how many were")?;
    for bin in bins.iter().filter(|bin| bin.documents > 0) {
        let were = bin.positives as f64 / bin.documents as f64;
        let (said, documents) = (100.0 * bin.mean, grouped(bin.documents));
        writeln!(out, "{said:>7.1} %  {:>5.1} % {}  {documents:>9}", 100.0 * were, bar(were, columns))?;
    }
    Ok(())
}
