//! Feature selection: document-frequency limits, chi-square and mutual information.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tamis_tokenizer::TermId;

use crate::bayes::error::ParametersError;
use crate::bayes::likelihood::Counting;
use crate::counts::{Cell, ClassTotals, Counts, read_cells};

/// Feature selection: which terms the model uses, decided from their counts. The counts themselves are never pruned.
///
/// ```
/// use tamis_model::FeatureLimits;
///
/// // in 2 documents or more, but not in more than half of them
/// let limits = FeatureLimits { min_df: 2, max_df: Some(0.5), ..FeatureLimits::default() };
/// assert_eq!(limits.max_features, None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FeatureLimits {
    /// Minimum document frequency. By default 1.
    pub min_df: u64,
    /// Maximum document frequency, as a share of the documents in (0, 1]. By default none.
    pub max_df: Option<f64>,
    /// Maximum number of features, at least 1. Applied after the frequency limits; keeps the terms with the most
    /// occurrences; ties go to lower ids. By default none.
    pub max_features: Option<usize>,
    /// Keeps only the terms most associated with the classes, of those within the other limits. By default all.
    pub select: Option<Select>,
}

impl Default for FeatureLimits {
    fn default() -> Self {
        FeatureLimits { min_df: 1, max_df: None, max_features: None, select: None }
    }
}

impl FeatureLimits {
    pub(crate) fn check(&self) -> Result<(), ParametersError> {
        match (self.max_df, self.max_features, self.select.map(|select| select.n)) {
            (Some(got), ..) if !(got > 0.0 && got <= 1.0) => Err(ParametersError::MaxDf { got }),
            (_, Some(got @ 0), _) | (.., Some(got @ 0)) => {
                Err(ParametersError::MaxFeatures { expected: 1, got })
            }
            _ => Ok(()),
        }
    }
}

/// Keeps the terms most associated with the classes (Yang and Pedersen, "A Comparative Study on Feature Selection in
/// Text Categorization", 1997).
///
/// The counts stay whole: a term's score is computed from its own counts whenever a document contains it.
///
/// ```
/// use tamis_model::{Criterion, FeatureLimits, Parameters, Select, Statistics};
/// use tamis_tokenizer::CountVector;
///
/// let mut statistics = Statistics::new(2);
/// statistics.observe(0, CountVector::from_pairs([(0, 1), (1, 1)])?.row())?;
/// statistics.observe(1, CountVector::from_pairs([(0, 1), (2, 1)])?.row())?;
/// let select = Some(Select { by: Criterion::ChiSquare, n: 2 });
/// let features = FeatureLimits { select, ..FeatureLimits::default() };
/// let Ok(summary) = Parameters { features, ..Parameters::default() }.summarize(&statistics);
/// assert_eq!(summary.n_features(), 2); // not the one in both classes alike
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Select {
    /// The measure of association.
    pub by: Criterion,
    /// Number of terms to keep, at least 1; ties go to lower ids.
    pub n: usize,
}

/// Parses `chi2=N` or `mi=N`.
impl FromStr for Select {
    type Err = ParametersError;

    fn from_str(text: &str) -> Result<Self, ParametersError> {
        let parsed = text.split_once('=').and_then(|(name, n)| {
            let by = match name {
                "chi2" => Criterion::ChiSquare,
                "mi" => Criterion::MutualInformation,
                _ => return None,
            };
            Some(Select { by, n: n.parse().ok().filter(|n| *n > 0)? })
        });
        let expected = "chi2=N or mi=N with a positive number";
        parsed.ok_or_else(|| ParametersError::Name { expected, got: text.to_owned() })
    }
}

/// A measure of the association of a term with the classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Criterion {
    /// [`chi_square`](crate::chi_square) of the counts the model uses (occurrences or documents).
    ChiSquare,
    /// [`mutual_information`](crate::mutual_information) of presence, whatever the model counts.
    MutualInformation,
}

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
    Association::new(by, presence, documents).score(totals, Mass::from_cells(cells), cells)
}

/// Scores terms by a criterion. Holds what all terms share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Association {
    by: Criterion,
    presence: bool,
    documents: u64,
}

impl Association {
    fn new(by: Criterion, presence: bool, documents: u64) -> Self {
        Association { by, presence, documents }
    }

    /// The bits of a term's score, which sort like the scores because none is negative. In single precision, so that
    /// rounding (from the order of the classes or the machine's logarithm) does not decide between equal terms.
    fn rank(&self, totals: &[ClassTotals], mass: Mass, cells: &[Cell]) -> u64 {
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
    scorer: Association,
    cut: Cut,
}

impl BestTerms {
    fn contains(&self, totals: &[ClassTotals], term: TermId, mass: Mass, cells: &[Cell]) -> bool {
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
    fn from_cells(cells: &[Cell]) -> Mass {
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
fn keeps(cut: Cut, rank: u64, term: TermId) -> bool {
    rank > cut.0 || (rank == cut.0 && term <= cut.1)
}

/// Decides from a term's own counts whether it is a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Selection {
    min_df: u64,
    max_df: u64,
    /// Number of occurrences and id of the last term that `max_features` keeps.
    cut: Option<Cut>,
    /// The terms most associated with the classes, of those within the other limits.
    best: Option<BestTerms>,
}

impl Selection {
    pub(crate) fn new<C: Counts>(
        limits: &FeatureLimits,
        presence: bool,
        counts: &C,
        terms: impl Iterator<Item = TermId> + Clone,
    ) -> Result<Selection, C::Error> {
        let documents = counts.totals().iter().fold(0u64, |sum, t| sum.saturating_add(t.documents));
        // the cast saturates and maps NaN to 0; NaiveBayes::new refuses limits out of range
        let max_df = limits.max_df.map_or(u64::MAX, |share| (share * documents as f64) as u64);
        let mut selection = Selection { min_df: limits.min_df.max(1), max_df, cut: None, best: None };
        if let Some(max) = limits.max_features {
            selection.cut = selection.find_cut(counts, terms.clone(), max, |mass, _| mass.tf)?;
        }
        if let Some(select) = limits.select {
            let scorer = Association::new(select.by, presence, documents);
            let rank = |mass, cells: &[Cell]| scorer.rank(counts.totals(), mass, cells);
            let cut = selection.find_cut(counts, terms, select.n, rank)?;
            selection.best = cut.map(|cut| BestTerms { scorer, cut });
        }
        Ok(selection)
    }

    /// Returns the last of the `max` features of highest rank; `None` if there are at most `max`.
    fn find_cut<C: Counts>(
        &self,
        counts: &C,
        terms: impl Iterator<Item = TermId>,
        max: usize,
        rank: impl Fn(Mass, &[Cell]) -> u64,
    ) -> Result<Option<Cut>, C::Error> {
        // the worst of the best features is on top
        let mut best = BinaryHeap::new();
        let (mut more, mut cells) = (false, Vec::new());
        for term in terms {
            read_cells(counts, term, &mut cells)?;
            if let Some(mass) = self.feature(counts.totals(), term, &cells) {
                best.push(Reverse((rank(mass, &cells), Reverse(term))));
                if best.len() > max {
                    best.pop();
                    more = true;
                }
            }
        }
        Ok(best.peek().filter(|_| more).map(|&Reverse((rank, Reverse(term)))| (rank, term)))
    }

    /// The counts of a term over all classes, if it is a feature.
    pub(crate) fn feature(&self, totals: &[ClassTotals], term: TermId, cells: &[Cell]) -> Option<Mass> {
        let mass = Mass::from_cells(cells);
        let within = self.min_df <= mass.df && mass.df <= self.max_df;
        let kept = within && self.cut.is_none_or(|cut| keeps(cut, mass.tf, term));
        let kept = kept && self.best.is_none_or(|best| best.contains(totals, term, mass, cells));
        kept.then_some(mass)
    }
}
