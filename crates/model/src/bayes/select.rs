//! Chi-square and mutual information of a term and the class, for feature selection.

use serde::{Deserialize, Serialize};
use tamis_tokenizer::TermId;

use crate::bayes::features::Criterion;
use crate::bayes::likelihood::Counting;
use crate::counts::{Cell, ClassTotals};

/// The chi-square statistic of a term's counts against independence of the class: the sum over classes of
/// `(observed - expected)^2 / expected`. Expected counts are in proportion to the documents of the classes.
///
/// `cells` are the term's, `totals` those of all classes; `counting` selects documents (`df`) or occurrences (`tf`).
/// The result is at least 0, and 0 for a term or classes without counts. It equals scikit-learn's `chi2`.
///
/// ```
/// use tamis_model::{Cell, ClassTotals, Counting, chi_square};
///
/// let totals = [10, 30].map(|documents| ClassTotals { documents, ..ClassTotals::default() });
/// let cell = Cell { class: 0, df: 4, tf: 9 };
/// // 1 and 3 expected: (4-1)^2/1 + (0-3)^2/3
/// assert_eq!(chi_square(&[cell], &totals, Counting::Presence), 12.0);
/// ```
pub fn chi_square(cells: &[Cell], totals: &[ClassTotals], counting: Counting) -> f64 {
    score(Criterion::ChiSquare, counting == Counting::Presence, cells, totals)
}

/// The mutual information (nats) between the presence of a term in a document and the document's class.
///
/// `cells` are the term's, `totals` those of all classes (only `documents` is read). The result is at least 0 and at
/// most the entropy of the classes. It equals scikit-learn's `mutual_info_score`.
///
/// ```
/// use tamis_model::{Cell, ClassTotals, mutual_information};
///
/// let totals = [5, 5].map(|documents| ClassTotals { documents, ..ClassTotals::default() });
/// let cell = Cell { class: 1, df: 5, tf: 5 }; // tells the classes apart
/// assert!((mutual_information(&[cell], &totals) - 2f64.ln()).abs() < 1e-12);
/// ```
pub fn mutual_information(cells: &[Cell], totals: &[ClassTotals]) -> f64 {
    score(Criterion::MutualInformation, true, cells, totals)
}

fn score(by: Criterion, presence: bool, cells: &[Cell], totals: &[ClassTotals]) -> f64 {
    let documents = totals.iter().fold(0u64, |sum, class| sum.saturating_add(class.documents));
    Scorer::new(by, presence, documents).score(totals, Mass::of(cells), cells)
}

/// Scores terms by a criterion. Holds what all terms share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Scorer {
    by: Criterion,
    presence: bool,
    documents: u64,
}

impl Scorer {
    pub(crate) fn new(by: Criterion, presence: bool, documents: u64) -> Self {
        Scorer { by, presence, documents }
    }

    /// The bits of a term's score, which sort like the scores because none is negative. In single precision, so that
    /// rounding (from the order of the classes or the machine's logarithm) does not decide between equal terms.
    pub(crate) fn rank(&self, totals: &[ClassTotals], mass: Mass, cells: &[Cell]) -> u64 {
        u64::from((self.score(totals, mass, cells) as f32).to_bits())
    }

    /// The score of a term with these `cells`.
    fn score(&self, totals: &[ClassTotals], mass: Mass, cells: &[Cell]) -> f64 {
        let (mut sum, mut with_cells) = (0.0, 0u64);
        for &cell in cells {
            let class = totals.get(usize::from(cell.class)).map_or(0, |class| class.documents);
            if class > 0 {
                sum += self.of_cell(cell, class, mass);
                with_cells = with_cells.saturating_add(class);
            }
        }
        // classes without the term are treated as one class
        sum += self.of_absence(self.documents.saturating_sub(with_cells), mass);
        // rounding may give a value just below 0, corrupt counts may give any value
        if sum > 0.0 { sum } else { 0.0 }
    }

    /// The contribution of the cell of a class with `class` documents.
    fn of_cell(&self, cell: Cell, class: u64, mass: Mass) -> f64 {
        let (all, df) = (self.documents, u64::from(cell.df));
        match self.by {
            Criterion::ChiSquare => {
                let observed = if self.presence { cell.df } else { cell.tf };
                let expected = self.expected(class, mass);
                (f64::from(observed) - expected).powi(2) / expected
            }
            Criterion::MutualInformation => {
                information(df, mass.df, class, all)
                    + information(class.saturating_sub(df), all.saturating_sub(mass.df), class, all)
            }
        }
    }

    /// The contribution of the classes without a cell, which have `classes` documents together.
    fn of_absence(&self, classes: u64, mass: Mass) -> f64 {
        match self.by {
            Criterion::ChiSquare if classes > 0 => self.expected(classes, mass),
            Criterion::ChiSquare => 0.0,
            Criterion::MutualInformation => {
                information(classes, self.documents.saturating_sub(mass.df), classes, self.documents)
            }
        }
    }

    fn expected(&self, class: u64, mass: Mass) -> f64 {
        let total = if self.presence { mass.df } else { mass.tf };
        total as f64 * (class as f64 / self.documents as f64)
    }
}

/// The contribution to mutual information (nats) of the documents that have both of two properties: `one` documents
/// have the first, `other` the second, `both` have both, `all` is the number of documents.
fn information(both: u64, one: u64, other: u64, all: u64) -> f64 {
    if both == 0 || one == 0 || other == 0 {
        return 0.0;
    }
    let [both, one, other, all] = [both, one, other, all].map(|n| n as f64);
    both / all * (both / one * (all / other)).ln()
}

/// The best terms by a criterion, down to a cut-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BestTerms {
    scorer: Scorer,
    cut: Cut,
}

impl BestTerms {
    pub(crate) fn new(scorer: Scorer, cut: Cut) -> Self {
        BestTerms { scorer, cut }
    }

    pub(crate) fn contains(&self, totals: &[ClassTotals], term: TermId, mass: Mass, cells: &[Cell]) -> bool {
        keeps(self.cut, self.scorer.rank(totals, mass, cells), term)
    }
}

/// The counts of one term over all classes.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Mass {
    pub(crate) df: u64,
    pub(crate) tf: u64,
}

impl Mass {
    pub(crate) fn of(cells: &[Cell]) -> Mass {
        let mut mass = Mass::default();
        for cell in cells {
            mass.df += u64::from(cell.df);
            mass.tf += u64::from(cell.tf);
        }
        mass
    }
}

/// The last term that is kept: its rank (higher is better) and its id (lower wins a tie).
pub(crate) type Cut = (u64, TermId);

/// Whether a term of this rank is kept by the cut.
pub(crate) fn keeps(cut: Cut, rank: u64, term: TermId) -> bool {
    rank > cut.0 || (rank == cut.0 && term <= cut.1)
}
