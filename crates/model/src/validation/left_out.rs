//! Exact leave-one-out scores of the counts: those of a model that has not learned the document.

use std::sync::OnceLock;

use crate::bayes::Smoothing;
use crate::counts::{ClassId, ClassTotals, Counts, DocumentSums, KnownTerms, Statistics, TF_UNIT, TermEntry};
use crate::linear::{Choices, Columns, Readings, WeightedLogOdds, norm};
use crate::numbers::log_smoothed;
use crate::validation::copies::{Copies, CountsWithout};
use crate::validation::documents::BlockRow;
use crate::validation::one_vs_rest::OneVsRestTerms;
use crate::validation::two_classes::{MOST_ALPHAS, MOST_POWERS, Points, TwoClassTerms};

/// Leave-one-out scores: exactly those of a model trained without (one copy of) the document. The parts that depend on
/// the term alone are computed once for all documents.
pub(crate) struct LeaveOneOut<'a> {
    counts: &'a Statistics,
    columns: &'a Columns,
    points: Points,
    all_df: u64,
    n_features: u64,
    /// The distinct df of the columns, and each column's index among them: many small classes share a value.
    dfs: Vec<u64>,
    places: Vec<u16>,
    terms: TermWeights,
    /// The scorer of each grid point, for documents with copies.
    scorers: OnceLock<Vec<WeightedLogOdds>>,
}

/// The weights of all terms.
enum TermWeights {
    /// Two classes, one grid point.
    TwoClass(TwoClassTerms<1, 1>),
    /// Two classes, several grid points.
    TwoClassGrid(TwoClassTerms<MOST_POWERS, MOST_ALPHAS>),
    /// One-vs-rest, one table per smoothing.
    OneVsRest(Vec<OneVsRestTerms>),
}

impl<'a> LeaveOneOut<'a> {
    /// Computes the weights of all terms, in parallel in the current rayon pool.
    pub(crate) fn new(points: Points, counts: &'a Statistics, columns: &'a Columns) -> Self {
        let totals = counts.totals();
        let terms = match points.len() {
            1 if columns.is_one() => TermWeights::TwoClass(TwoClassTerms::new(&points, counts, columns)),
            _ if columns.is_one() => TermWeights::TwoClassGrid(TwoClassTerms::new(&points, counts, columns)),
            _ => {
                let cells = |alpha: &Smoothing| OneVsRestTerms::new(*alpha, &points.powers, counts, columns);
                TermWeights::OneVsRest(points.alphas.iter().map(cells).collect())
            }
        };
        let all_df = totals.iter().map(|totals| totals.df).fold(0, u64::saturating_add);
        let of_columns = columns.totals(totals);
        let mut dfs: Vec<u64> = of_columns.iter().map(|totals| totals.df).collect();
        dfs.sort_unstable();
        dfs.dedup();
        // no more than columns, which are numbered by u16
        let place = |of: &ClassTotals| dfs.partition_point(|other| *other < of.df) as u16;
        let places = of_columns.iter().map(place).collect();
        let n_features = counts.n_features() as u64;
        let scorers = OnceLock::new();
        LeaveOneOut { counts, columns, points, all_df, n_features, dfs, places, terms, scorers }
    }

    /// Counts the document's terms that also occur in other documents.
    pub(crate) fn known_terms(&self, row: BlockRow<'_>, copies: &Copies) -> usize {
        if !copies.are_one() {
            let mut terms = CountsWithout::new(self.counts, copies);
            return row.ids.iter().filter(|id| !terms.is_unique(**id)).count();
        }
        match &self.terms {
            TermWeights::TwoClass(ratios) => ratios.known_terms(row),
            TermWeights::TwoClassGrid(ratios) => ratios.known_terms(row),
            TermWeights::OneVsRest(all) => all.first().map_or(0, |cells| cells.known_terms(row)),
        }
    }

    /// Writes to `out`, for each grid point, the scores of a document, one per column.
    pub(crate) fn scores(&self, row: BlockRow<'_>, copies: &Copies, out: &mut [Vec<f64>]) {
        if !copies.are_one() {
            return self.scores_without(row, copies, out);
        }
        let own = copies.own;
        match &self.terms {
            TermWeights::TwoClass(ratios) => self.scores_of_two(ratios, row, own, out),
            TermWeights::TwoClassGrid(ratios) => self.scores_of_two(ratios, row, own, out),
            TermWeights::OneVsRest(all) => {
                let powers = &self.points.powers;
                for ((cells, alpha), out) in
                    all.iter().zip(&self.points.alphas).zip(out.chunks_mut(powers.len()))
                {
                    let log_totals =
                        |unique_terms| self.log_totals(*alpha, own, row.len() as u64, unique_terms);
                    cells.scores(row, own, powers, out, log_totals);
                }
            }
        }
    }

    /// As [`scores`](Self::scores), of a document with copies, term by term.
    fn scores_without(&self, row: BlockRow<'_>, copies: &Copies, out: &mut [Vec<f64>]) {
        let mut terms = CountsWithout::new(self.counts, copies);
        let totals = copies.left_of(self.counts.totals(), row.len() as u64);
        let unique = row.ids.iter().filter(|id| terms.is_unique(**id)).count() as u64;
        let (mut entry, mut sums, mut readings) =
            (TermEntry::default(), DocumentSums::default(), Readings::default());
        for (scorer, out) in self.scorers.get_or_init(|| self.scorers()).iter().zip(out) {
            let scorer = scorer.with_totals(&totals, self.n_features.saturating_sub(unique));
            sums.begin(scorer.n_sums());
            for (id, factor) in row.iter() {
                let Ok(term) = terms.term(id);
                scorer.weigh_term(term, &mut entry);
                sums.add(&entry, f64::from(factor) * TF_UNIT);
            }
            scorer.read_sums(&sums, &mut readings);
            out.clone_from(&readings.counts);
        }
    }

    /// The scorer of each grid point.
    fn scorers(&self) -> Vec<WeightedLogOdds> {
        let scorer = |(alpha, idf_power)| {
            let choices = Choices { alpha, idf_power, ..Choices::for_columns(self.columns) };
            WeightedLogOdds::new(&choices, &[], self.counts.totals(), self.n_features, self.columns)
        };
        // points and counts are in their ranges
        self.points.iter().filter_map(|point| scorer(point).ok()).collect()
    }

    /// As [`scores`](Self::scores), for two classes in one column: looks up a term once for all grid points.
    fn scores_of_two<const P: usize, const A: usize>(
        &self,
        ratios: &TwoClassTerms<P, A>,
        row: BlockRow<'_>,
        own: ClassId,
        out: &mut [Vec<f64>],
    ) {
        let sums = ratios.sum_terms(row, self.columns.is_positive(own, 0));
        let powers = self.points.powers.len();
        for (at, (alpha, out)) in self.points.alphas.iter().zip(out.chunks_mut(powers)).enumerate() {
            let log_totals = self.log_totals(*alpha, own, row.len() as u64, sums.unique_terms);
            let log_totals = log_totals.first().copied().unwrap_or(0.0);
            for ((out, [weight, square]), ratios) in out.iter_mut().zip(sums.weights).zip(&sums.ratios) {
                out.clear();
                out.push((ratios[at] + weight * log_totals) / norm(square));
            }
        }
    }

    /// ln(R + aV) - ln(N + aV), one per column, without a document of the class `own` that has `n_terms` terms,
    /// `unique_terms` of them in no other document.
    fn log_totals(&self, alpha: Smoothing, own: ClassId, n_terms: u64, unique_terms: u64) -> Vec<f64> {
        // without features nothing is scored, so any number will do
        let n_features = self.n_features.saturating_sub(unique_terms).max(1) as f64;
        let all = self.all_df.saturating_sub(n_terms);
        let log = |df: u64| log_smoothed(df as f64, alpha.alpha(), n_features);
        let of = |df: u64| log(all.saturating_sub(df)) - log(df);
        let by_df: Vec<f64> = self.dfs.iter().map(|df| of(*df)).collect();
        let of_column = |(column, place): (usize, &u16)| match self.columns.is_positive(own, column) {
            true => of(self.dfs[usize::from(*place)].saturating_sub(n_terms)),
            false => by_df[usize::from(*place)],
        };
        self.places.iter().enumerate().map(of_column).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tamis_tokenizer::CountVector;

    use super::*;
    use crate::linear::CorrectedStatistics;
    use crate::validation::documents::Block;

    proptest! {
        #[test]
        fn scores_are_those_of_a_model_without_the_document(
            n_classes in 2usize..6,
            rows in proptest::collection::vec((0u16..4, proptest::collection::btree_map(0u32..9, 1u32..99, 0..8)), 1..30),
            positive in 0u16..2,
            is_one: bool,
            are_labels: bool,
        ) {
            let rows: Vec<_> = rows.into_iter().map(|(c, r)| (c % n_classes as u16, CountVector::from_pairs(r).unwrap())).collect();
            let mut statistics = Statistics::new(n_classes);
            rows.iter().for_each(|(class, row)| statistics.observe(*class, row.row()).unwrap());
            let smoothings = [0.1, 2.0].map(|alpha| Smoothing::try_from(alpha).unwrap());
            let points = match is_one {
                true => Points::one(smoothings[0], 1.7),
                false => Points { alphas: smoothings.to_vec(), powers: vec![0.0, 0.5, 1.7] },
            };
            let columns = match are_labels {
                // class 0 has no label, 1 has label 0, 2 has label 1, 3 has both
                true => Columns::of_sets(3, (0..n_classes as u16).map(|c| (0..3).filter(|l| c & (1 << l) != 0).collect())).unwrap(),
                false => Columns::new(n_classes, positive).unwrap(),
            };
            let left_out = LeaveOneOut::new(points.clone(), &statistics, &columns);
            let block = Block::from_rows(rows.iter().map(|(_, row)| row.row()));
            for (at, (class, row)) in rows.iter().enumerate() {
                let mut scores = vec![Vec::new(); points.len()];
                left_out.scores(block.terms(at), &Copies::one(*class), &mut scores);
                let mut others = statistics.clone();
                others.forget(*class, row.row()).unwrap();
                for ((alpha, idf_power), scores) in points.iter().zip(scores) {
                    let choices = Choices { alpha, idf_power, ..Choices::for_classes(n_classes) };
                    let n_features = others.n_features() as u64;
                    let scorer = WeightedLogOdds::new(&choices, &[], others.totals(), n_features, &columns).unwrap();
                    let mut expected = Readings::default();
                    let Ok(()) = scorer.read(&mut CorrectedStatistics::new(&others, None), row.row(), &mut expected);
                    for (score, expected) in scores.iter().zip(&expected.counts) {
                        prop_assert!((score - expected).abs() < 1e-5 * (1.0 + expected.abs()), "{score} {expected}");
                    }
                }
            }
        }
    }
}
