//! Documents that are left out together with the copies of their text.

use std::collections::HashMap;
use std::convert::Infallible;

use tamis_tokenizer::TermId;

use crate::counts::{Cell, ClassId, ClassTotals, KnownTerm, KnownTerms, Statistics};
use crate::validation::documents::{Documents, Label};

/// Copies of a text beyond this number only shift the shares of its labels.
pub(crate) const MAX_COPIES: u32 = 1_000;

/// At least one in so many of the texts that are repeated has several labels, if repeats are of the world.
const AT_LEAST_ONE_IN: usize = 10;

/// What it means in a fit that texts are repeated.
///
/// A text that was drawn again may have another label then; one that was only copied has the same. So copies are taken
/// for ones that somebody made, and are left out together. But if many of the short texts that are repeated have several
/// labels, texts come again: each copy counts, and one is left out at a time. Long texts do not come again by chance.
pub(crate) struct Repeats {
    /// The usual weight of a document: the median, so that what is learned twice from beginning to end is fitted as it is
    /// once; if texts come again, what all weights are multiples of.
    pub(crate) usual: f64,
    /// The scale of groups with more than [`MAX_COPIES`] times the usual weight.
    scales: HashMap<u64, f64>,
    /// If texts come again, the number of copies that are one.
    pub(crate) unit: Option<u32>,
}

impl Repeats {
    pub(crate) fn new(documents: &dyn Documents) -> Repeats {
        let labels: Vec<Label> = (0..documents.len()).map(|at| documents.label(at)).collect();
        Repeats::of(&labels, documents.groups_are_copies().then_some(&|at| documents.is_long(at)))
    }

    /// `is_long` says which texts are, where groups are copies.
    fn of(labels: &[Label], is_long: Option<&dyn Fn(usize) -> bool>) -> Repeats {
        let unit = unit_of(labels);
        let (mut n_repeated, mut n_drawn, mut start) = (0, 0, 0);
        if let Some(is_long) = is_long {
            for equal in labels.chunk_by(|a, b| a.group == b.group) {
                start += equal.len();
                if is_long(start - 1) {
                    continue;
                }
                let n = equal.iter().map(|label| u64::from(label.multiplicity / unit)).sum::<u64>();
                let n_labels = equal.chunk_by(|a, b| a.class == b.class).count();
                n_repeated += usize::from(n > 1);
                // a text that is there once under each label may have them all
                n_drawn += usize::from(n_labels > 1 && n > n_labels as u64);
            }
        }
        let come_again = n_drawn > 0 && n_drawn * AT_LEAST_ONE_IN >= n_repeated;
        let usual = match come_again {
            true => f64::from(unit),
            false => median(labels.iter().map(Label::weight)).unwrap_or(1.0),
        };
        let mut copies = HashMap::<u64, u64>::new();
        for label in labels.iter().filter(|label| label.multiplicity > 1) {
            *copies.entry(label.group).or_default() += u64::from(label.multiplicity);
        }
        let most = f64::from(MAX_COPIES) * usual;
        let many = copies.into_iter().filter(|(_, n)| *n as f64 > most);
        let scales = many.map(|(group, copies)| (group, most / copies as f64)).collect();
        Repeats { usual, scales, unit: come_again.then_some(unit) }
    }

    /// How many of a document's copies one of `n` folds leaves out.
    pub(crate) fn part(&self, copies: u32, n: usize) -> u32 {
        self.unit.map_or(copies, |unit| copies.div_ceil(unit).div_ceil(n as u32) * unit)
    }

    /// The weight of a number of copies of a document in units of the usual one. If a text has more than [`MAX_COPIES`]
    /// times the usual, they are scaled down, by the same factor under all its labels.
    pub(crate) fn weigh(&self, label: &Label, copies: u32) -> f64 {
        let scale = match self.scales.is_empty() || label.multiplicity == 1 {
            true => 1.0,
            false => self.scales.get(&label.group).copied().unwrap_or(1.0),
        };
        let share = f64::from(copies) / f64::from(label.multiplicity);
        label.weight() * scale * share / self.usual
    }

    /// What is left out with a document.
    pub(crate) fn copies(&self, documents: &dyn Documents, document: usize) -> Copies {
        let label = documents.label(document);
        let mut others = match self.unit {
            Some(_) => Vec::new(),
            None => neighbours(documents, document, label.group),
        };
        let own = self.unit.unwrap_or(label.multiplicity);
        if !others.is_empty() || own > 1 {
            others.push((label.class, own));
        }
        Copies { own: label.class, others }
    }
}

/// The other documents with the same text, each with its class and multiplicity. Equal texts are neighbours, and in one
/// group. Where groups are other than copies, there are none.
fn neighbours(documents: &dyn Documents, document: usize, group: u64) -> Vec<(ClassId, u32)> {
    if !documents.groups_are_copies() {
        return Vec::new();
    }
    let is_equal = |at: &usize| documents.label(*at).group == group;
    let before = (0..document).rev().take_while(is_equal);
    let after = (document + 1..documents.len()).take_while(is_equal);
    before.chain(after).map(|at| documents.label(at)).map(|of| (of.class, of.multiplicity)).collect()
}

/// The number of copies that are one: what all multiplicities are multiples of; 1 if they are equal, which says nothing.
fn unit_of(labels: &[Label]) -> u32 {
    let are_equal = labels.windows(2).all(|pair| pair[0].multiplicity == pair[1].multiplicity);
    if are_equal { 1 } else { labels.iter().fold(0, |unit, label| gcd(unit, label.multiplicity)).max(1) }
}

/// The greatest common divisor; the other number if one is 0.
fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The median of numbers, the lower one of an even number; `None` of none.
pub(crate) fn median(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let mut numbers: Vec<f64> = numbers.collect();
    let middle = numbers.len().checked_sub(1)? / 2;
    Some(*numbers.select_nth_unstable_by(middle, f64::total_cmp).1)
}

/// A document, and what is left out with it: all copies of its text, whatever their labels, or one.
#[derive(Clone, Debug)]
pub(crate) struct Copies {
    /// The document's class.
    pub(crate) own: ClassId,
    /// The number of copies by class; empty if the document is the only one.
    others: Vec<(ClassId, u32)>,
}

impl Copies {
    /// A document without copies.
    #[cfg(test)]
    pub(crate) fn one(own: ClassId) -> Copies {
        Copies { own, others: Vec::new() }
    }

    /// Whether there is no other copy.
    pub(crate) fn are_one(&self) -> bool {
        self.others.is_empty()
    }

    /// The number of copies of a class.
    pub(crate) fn of_class(&self, class: ClassId) -> u64 {
        if self.are_one() {
            return u64::from(class == self.own);
        }
        self.others.iter().filter(|(of, _)| *of == class).map(|(_, n)| u64::from(*n)).sum()
    }

    /// The totals of the classes without the copies of a document of `n_terms` terms.
    pub(crate) fn left_of(&self, totals: &[ClassTotals], n_terms: u64) -> Vec<ClassTotals> {
        let without = |(class, of_class): (ClassId, &ClassTotals)| {
            let n = self.of_class(class);
            let df = of_class.df.saturating_sub(n.saturating_mul(n_terms));
            ClassTotals { documents: of_class.documents.saturating_sub(n), df, ..*of_class }
        };
        (0..=ClassId::MAX).zip(totals).map(without).collect()
    }
}

/// The counts of the terms of a document without its copies.
pub(crate) struct CountsWithout<'a> {
    counts: &'a Statistics,
    copies: &'a Copies,
    cells: Vec<Cell>,
}

impl<'a> CountsWithout<'a> {
    pub(crate) fn new(counts: &'a Statistics, copies: &'a Copies) -> Self {
        CountsWithout { counts, copies, cells: Vec::new() }
    }

    /// Whether only the copies have a term.
    pub(crate) fn is_unique(&mut self, id: TermId) -> bool {
        let Ok(term) = self.term(id);
        term.document_frequency() == 0
    }
}

impl KnownTerms for CountsWithout<'_> {
    type Error = Infallible;

    fn term(&mut self, id: TermId) -> Result<KnownTerm<'_>, Infallible> {
        let without = |cell: Cell| {
            let df = u64::from(cell.df).saturating_sub(self.copies.of_class(cell.class));
            // no larger than it was
            (df > 0).then_some(Cell { df: df as u32, ..cell })
        };
        self.cells.clear();
        self.cells.extend(self.counts.cells(id).filter_map(without));
        Ok(KnownTerm { cells: &self.cells, weights: &[] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The usual weight and the unit of texts, each with its labels and the copies under each.
    fn repeats(texts: &[&[(ClassId, u32)]]) -> (f64, Option<u32>) {
        let label = |(group, (class, multiplicity)): (usize, &(ClassId, u32))| Label {
            class: *class,
            multiplicity: *multiplicity,
            group: group as u64,
            fraction: 0,
        };
        let of_text = |(group, text): (usize, &&[(ClassId, u32)])| {
            text.iter().map(move |own| label((group, own))).collect::<Vec<_>>()
        };
        let labels: Vec<_> = texts.iter().enumerate().flat_map(of_text).collect();
        let Repeats { usual, unit, .. } = Repeats::of(&labels, Some(&|_| false));
        assert_eq!(Repeats::of(&labels, None).unit, None);
        assert_eq!(Repeats::of(&labels, Some(&|_| true)).unit, None);
        (usual, unit)
    }

    #[test]
    fn texts_come_again_if_copies_have_several_labels() {
        // copied, all of them or those of a label
        assert_eq!(repeats(&[&[(0, 1)], &[(1, 1)], &[(0, 1)]]), (1.0, None));
        assert_eq!(repeats(&[&[(0, 2)], &[(1, 2)], &[(0, 4)]]), (2.0, None));
        assert_eq!(repeats(&[&[(0, 1)], &[(0, 1)], &[(0, 1)], &[(1, 9)]]), (1.0, None));
        // under each label once, it has them all
        assert_eq!(repeats(&[&[(0, 1), (1, 1)], &[(0, 1)]]), (1.0, None));
        // drawn, and then given twice
        assert_eq!(repeats(&[&[(0, 3), (1, 1)], &[(0, 1)], &[(1, 4)]]), (1.0, Some(1)));
        assert_eq!(repeats(&[&[(0, 6), (1, 2)], &[(0, 2)], &[(1, 8)]]), (2.0, Some(2)));
        assert_eq!(repeats(&[&[(0, 20), (1, 20), (2, 20)]]), (1.0, Some(1)));
        // a single contradiction among many copies
        let copied: &[(ClassId, u32)] = &[(0, 3)];
        assert_eq!(repeats(&[&[&[(0, 2), (1, 1)][..]], &[copied; 20][..]].concat()), (3.0, None));
    }
}
