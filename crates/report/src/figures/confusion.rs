//! The confusion matrix as cells. Labels that are mixed up are side by side.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use tamis_model::metrics::ConfusionMatrix;
use tamis_train::{ClassId, Classes};

use crate::draw::{Anchor, Svg};
use crate::figures::mixed_up::pairs_table;
use crate::figures::order::groups;
use crate::figures::{Chart, DataTable};
use crate::text::{Name, count, cut, grouped, number, percent, share, width as text_width};

/// Maximum number of labels with a row. More would be illegible.
const MOST: usize = 60;

/// The figure.
pub(crate) fn confusion(classes: &Classes, matrix: &ConfusionMatrix) -> Chart {
    let seen: BTreeSet<ClassId> =
        matrix.cells().flat_map(|(truth, verdict, _)| [Some(truth), verdict]).flatten().collect();
    let mut shown: Vec<ClassId> = seen.iter().copied().collect();
    if shown.len() > MOST {
        let wrong = |class: ClassId| matrix.support(class) - matrix.get(class, class);
        shown.sort_by_key(|class| Reverse(wrong(*class)));
        shown.truncate(MOST);
        shown.sort_unstable();
    }
    let groups = groups(matrix, &shown);
    let mut note = "A row is what the documents of a label were taken for; shares are of the row. The diagonal is right."
        .to_owned();
    if classes.len() > 2 {
        note.push_str(
            " Labels that are mixed up stand side by side; a line parts groups that are hardly mixed up.",
        );
    }
    if shown.len() < seen.len() {
        note.push_str(&format!(
            " Of {} labels the {MOST} with most mistakes are drawn; documents taken for the others are not.",
            grouped(seen.len() as u64)
        ));
    }
    Chart {
        title: "What labels are taken for (confusion matrix)".to_owned(),
        finding: Some(finding(matrix)),
        note,
        description: format!(
            "A table of cells, {} true labels by verdict; the darker, the larger the share of the row.",
            shown.len()
        ),
        drawing: Heatmap::new(classes, matrix, &groups).draw(),
        tables: vec![labels_table(classes, matrix), pairs_table(classes, matrix)],
        ..Chart::default()
    }
}

fn finding(matrix: &ConfusionMatrix) -> String {
    let sum = |is: fn(ClassId, Option<ClassId>) -> bool| {
        matrix.cells().filter(|(truth, verdict, _)| is(*truth, *verdict)).map(|(.., n)| n).sum::<u64>()
    };
    let (right, unsure) = (sum(|truth, verdict| verdict == Some(truth)), sum(|_, verdict| verdict.is_none()));
    let left = if unsure > 0 { format!(", {} unsure", grouped(unsure)) } else { String::new() };
    let all = matrix.total();
    let part = percent(share(right, all));
    format!("{} of {} documents are labelled right ({part}){left}.", grouped(right), grouped(all))
}

/// The cells of a matrix, and their size.
struct Heatmap<'a> {
    classes: &'a Classes,
    matrix: &'a ConfusionMatrix,
    order: Vec<ClassId>,
    /// Where the groups of labels end.
    ends: Vec<usize>,
    has_unsure: bool,
    width: f64,
    height: f64,
    left: f64,
    top: f64,
    /// Whether labels fit above their columns.
    is_wide: bool,
}

impl<'a> Heatmap<'a> {
    fn new(classes: &'a Classes, matrix: &'a ConfusionMatrix, groups: &[Vec<ClassId>]) -> Self {
        let order = groups.concat();
        let ends = (1..groups.len()).map(|n| groups[..n].iter().map(Vec::len).sum()).collect();
        let names = order.iter().filter_map(|class| classes.label(*class));
        let widths = names.map(|label| text_width(&Name(&cut(label, LONGEST)).to_string()));
        let longest = widths.fold(6.0, f64::max);
        let labels = CHARACTER * longest.max(10.0) + 14.0;
        let digits =
            order.iter().map(|class| grouped(matrix.support(*class)).len()).max().unwrap_or(1) as f64;
        let (width, height) = match order.len() {
            0..=6 => (f64::max(78.0, 8.0 * digits + 12.0), 42.0),
            7..=12 => (f64::max(58.0, 8.0 * digits + 12.0), 42.0),
            13..=26 => (f64::max(37.0, 6.2 * digits + 6.0), 30.0),
            _ => (f64::max(17.0, 4.8 * digits + 2.0), 17.0),
        };
        let is_wide = CHARACTER * longest <= width;
        let top = if is_wide { 40.0 } else { CHARACTER * longest + 28.0 };
        let has_unsure = order.iter().any(|class| matrix.unsure(*class) > 0);
        Heatmap { classes, matrix, order, ends, has_unsure, width, height, left: labels, top, is_wide }
    }

    fn label(&self, class: ClassId) -> &'a str {
        self.classes.label(class).unwrap_or_default()
    }

    fn draw(&self) -> Svg {
        let columns = self.order.len() + usize::from(self.has_unsure);
        let size = [self.width * columns as f64, self.height * self.order.len() as f64];
        let mut svg = Svg::new(self.left + size[0] + 12.0, self.top + size[1] + 12.0);
        svg.is_fixed = svg.width > 640.0;
        svg.text("name", [self.left - 8.0, self.top - 8.0], Anchor::End, "true label");
        svg.text("name", [self.left + size[0] / 2.0, 12.0], Anchor::Middle, "verdict");
        for (n, class) in self.order.iter().enumerate() {
            let name = Name(&cut(self.label(*class), LONGEST)).to_string();
            let [x, y] = self.place(n, n);
            svg.text("key", [self.left - 8.0, y + self.height / 2.0 + 4.0], Anchor::End, &name);
            self.draw_heading(&mut svg, x, &name);
        }
        if self.has_unsure {
            self.draw_heading(&mut svg, self.place(0, self.order.len())[0], "unsure");
        }
        for row in 0..self.order.len() {
            (0..columns).for_each(|column| self.draw_cell(&mut svg, row, column));
        }
        svg.rect("frame", [self.left, self.top], size);
        for end in self.ends.iter().filter(|_| self.order.len() > 2) {
            let [x, y] = self.place(*end, *end);
            svg.line("axis", [self.left, y], [self.left + size[0], y]);
            svg.line("axis", [x, self.top], [x, self.top + size[1]]);
        }
        svg
    }

    /// Draws the heading of a column, upright unless all headings fit horizontally.
    fn draw_heading(&self, svg: &mut Svg, left: f64, name: &str) {
        let middle = left + self.width / 2.0;
        match self.is_wide {
            true => svg.text("key", [middle, self.top - 6.0], Anchor::Middle, name),
            false => svg.upright("key", [middle + 4.0, self.top - 6.0], Anchor::Start, name),
        }
    }

    fn place(&self, row: usize, column: usize) -> [f64; 2] {
        [self.left + self.width * column as f64, self.top + self.height * row as f64]
    }

    fn draw_cell(&self, svg: &mut Svg, row: usize, column: usize) {
        let truth = self.order[row];
        let verdict = self.order.get(column);
        let n = verdict.map_or_else(|| self.matrix.unsure(truth), |verdict| self.matrix.get(truth, *verdict));
        if n == 0 {
            return;
        }
        let part = share(n, self.matrix.support(truth));
        let class = match verdict {
            None => "fu",
            Some(verdict) if *verdict == truth => "fa",
            Some(_) => "fb",
        };
        let verdict = verdict.map_or("unsure".to_owned(), |verdict| Name(self.label(*verdict)).to_string());
        let title =
            format!("{} \u{2192} {verdict}: {} ({})", Name(self.label(truth)), grouped(n), percent(part));
        let ([x, y], size) = (self.place(row, column), [self.width, self.height]);
        // dark enough to be seen, light enough for text to be read on it
        let opacity = if class == "fb" { 0.06 + 0.7 * part.powf(0.6) } else { 0.1 + 0.45 * part.sqrt() };
        svg.cell(class, [x, y], size, opacity, &title);
        let middle = x + self.width / 2.0;
        if self.height < 20.0 {
            svg.text("tiny", [middle, y + self.height / 2.0 + 3.2], Anchor::Middle, &grouped(n));
            return;
        }
        let (classes, baseline) =
            if self.height > 40.0 { (["key", "mid"], 18.0) } else { (["mid", "tiny"], 13.0) };
        svg.text(classes[0], [middle, y + baseline], Anchor::Middle, &grouped(n));
        let below = [middle, y + baseline + self.height / 3.0];
        svg.text(classes[1], below, Anchor::Middle, &short_percent(part));
    }
}

/// Maximum length of the label beside a row in characters, and the width of a character.
const LONGEST: usize = 26;
const CHARACTER: f64 = 7.2;

/// A share for a small cell: `3%`, `<1%`.
fn short_percent(share: f64) -> String {
    if share < 0.01 { "&lt;1%".to_owned() } else { format!("{:.0}%", 100.0 * share) }
}

fn labels_table(classes: &Classes, matrix: &ConfusionMatrix) -> DataTable {
    let row = |(class, label): (ClassId, &str)| {
        let [precision, recall, f1] = [matrix.precision(class), matrix.recall(class), matrix.f1(class)]
            .map(|n| number(n, &format!("{n:.4}")));
        let (documents, right) = (count(matrix.support(class)), count(matrix.get(class, class)));
        vec![Name(label).to_string(), documents, right, count(matrix.unsure(class)), precision, recall, f1]
    };
    let head = ["label", "documents", "right", "unsure", "precision", "recall", "F1"];
    DataTable::new("Labels", &head, classes.iter().map(row).collect())
}
