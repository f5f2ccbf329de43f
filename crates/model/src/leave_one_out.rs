use rayon::prelude::*;
use tamis_tokenizer::TermId;

use crate::columns::Columns;
use crate::counts::term_ids;
use crate::documents::Terms;
use crate::logs::log_smoothed;
use crate::term_frequency::TF_UNIT;
use crate::transform::{idf, log_documents};
use crate::weighted::{LOGS, Logs, norm, powered};
use crate::{Cell, ClassId, ClassTotals, Counts, Smoothing, Statistics};

/// The scores of the counts that learned documents would get had each (one copy of it) never been learned: exactly those
/// of a model trained without it. What depends on a term alone is settled once for all documents.
pub(crate) struct LeaveOneOut<'a> {
    columns: Columns,
    alpha: f64,
    totals: &'a [ClassTotals],
    all_df: u64,
    n_features: u64,
    terms: Vec<Term>,
    /// The columns of the cells of all terms.
    cells: Vec<ClassId>,
    /// What each cell of a term adds to the score of its column, for a weight of 1 in a document of another class; then,
    /// because they are read together, the same in a document of that class.
    parts: Vec<f64>,
}

/// A term with one document less than there is, which is the one left out.
#[derive(Clone, Copy, Default)]
struct Term {
    idf: f64,
    /// ln a - ln(n + r + a)
    absent: f64,
    /// Where its cells begin, and how many there are: none if no other document has the term.
    start: u32,
    len: u16,
    /// Whether only the document left out has it.
    is_own: bool,
}

/// The terms that one thread settles.
#[derive(Default)]
struct Stretch {
    terms: Vec<Term>,
    cells: Vec<ClassId>,
    parts: Vec<f64>,
}

/// Terms in a stretch.
const STRETCH: usize = 1 << 13;

impl<'a> LeaveOneOut<'a> {
    /// Settles all terms, in parallel in the current rayon pool.
    pub(crate) fn new(alpha: Smoothing, counts: &'a Statistics, columns: Columns) -> Self {
        let totals = counts.totals();
        let sum = |of: fn(&ClassTotals) -> u64| totals.iter().map(of).fold(0, u64::saturating_add);
        let logs = Logs::new(alpha.alpha(), LOGS);
        let log_documents = log_documents(sum(|t| t.documents).saturating_sub(1));
        let ids: Vec<TermId> = term_ids(counts).collect();
        let settle = |ids: &[TermId]| {
            let mut stretch = Stretch::default();
            ids.iter().for_each(|id| stretch.settle(counts, columns, &logs, log_documents, *id));
            stretch
        };
        let stretches: Vec<_> = ids.par_chunks(STRETCH).map(settle).collect();
        let (terms, cells, parts) = (Vec::with_capacity(ids.len()), Vec::new(), Vec::new());
        let n_features = counts.n_features() as u64;
        let mut all = LeaveOneOut {
            columns,
            alpha: alpha.alpha(),
            totals,
            all_df: sum(|t| t.df),
            n_features,
            terms,
            cells,
            parts,
        };
        for Stretch { terms, mut cells, mut parts } in stretches {
            // fewer cells than a u32 can number: their places in the counts are numbered so
            let before = all.cells.len() as u32;
            all.terms.extend(terms.into_iter().map(|term| Term { start: term.start + before, ..term }));
            all.cells.append(&mut cells);
            all.parts.append(&mut parts);
        }
        all
    }

    /// The totals that it leaves documents out of.
    pub(crate) fn totals(&self) -> &[ClassTotals] {
        self.totals
    }

    /// Writes to `out`, for each power of idf, the scores of a document of the class `own`, one a column.
    pub(crate) fn scores(&self, row: Terms<'_>, own: ClassId, powers: &[f64], out: &mut [Vec<f64>]) {
        let own_terms = self.terms(row).filter(|(term, _)| term.is_own).count() as u64;
        let log_totals = self.log_totals(own, row.len() as u64, own_terms);
        if let [log_totals] = *log_totals {
            return self.scores_of_one_column(row, own, powers, out, log_totals);
        }
        for (power, out) in powers.iter().zip(out) {
            out.clear();
            out.resize(self.columns.len(), 0.0);
            self.add_terms(row, own, *power, out, &log_totals);
        }
    }

    /// The same where two classes have one column: a term is looked up once for all powers, and what it adds is no branch.
    fn scores_of_one_column(
        &self,
        row: Terms<'_>,
        own: ClassId,
        powers: &[f64],
        out: &mut [Vec<f64>],
        log_totals: f64,
    ) {
        let is_own = usize::from(self.columns.of(own).is_some());
        // of each power: what its weights and their squares come to, what absence and what the column says
        let mut sums = vec![[0.0; 4]; powers.len()];
        for (term, log_tf) in self.terms(row) {
            let known = f64::from(u8::from(term.absent != 0.0));
            let cell = if term.len > 0 { self.parts.get(2 * term.start as usize + is_own) } else { None };
            let part = cell.copied().unwrap_or(0.0);
            for (power, [weight, square, absent, score]) in powers.iter().zip(&mut sums) {
                let v = known * log_tf * powered(term.idf, *power);
                *weight += v;
                *square += v * v;
                *absent += v * term.absent;
                *score += v * part;
            }
        }
        for ([weight, square, absent, score], out) in sums.into_iter().zip(out) {
            out.clear();
            out.push((score + (absent + weight * log_totals)) / norm(square));
        }
    }

    fn add_terms(&self, row: Terms<'_>, own: ClassId, power: f64, out: &mut [f64], log_totals: &[f64]) {
        let (mut absent, mut weight, mut square, mut own_score) = (0.0, 0.0, 0.0, 0.0);
        let own_column = self.columns.of(own);
        for (term, log_tf) in self.terms(row) {
            let known = f64::from(u8::from(term.absent != 0.0));
            let v = known * log_tf * powered(term.idf, power);
            absent += v * term.absent;
            weight += v;
            square += v * v;
            let (start, len) = (term.start as usize, usize::from(term.len));
            let cells = &self.cells[start..start + len];
            let (parts, own_parts) = self.parts[2 * start..2 * (start + len)].split_at(len);
            let own_cell = if parts.len() == out.len() {
                // all classes have the term, as they have most terms of a text
                out.iter_mut().zip(parts).for_each(|(out, part)| *out += v * part);
                own_column
            } else {
                cells.iter().zip(parts).for_each(|(column, part)| out[usize::from(*column)] += v * part);
                own_column.and_then(|own| cells.binary_search(&(own as ClassId)).ok())
            };
            own_score += own_cell.and_then(|at| own_parts.get(at)).map_or(0.0, |part| v * part);
        }
        if let Some(out) = own_column.and_then(|own| out.get_mut(own)) {
            *out = own_score;
        }
        let norm = norm(square);
        for (out, log_totals) in out.iter_mut().zip(log_totals) {
            *out = (*out + (absent + weight * log_totals)) / norm;
        }
    }

    /// ln(R + aV) - ln(N + aV), one a column, without a document of a class, of so many terms, of which only it has some.
    fn log_totals(&self, own: ClassId, n_terms: u64, own_terms: u64) -> Vec<f64> {
        // without features nothing is scored: any number of them will do
        let n_features = self.n_features.saturating_sub(own_terms).max(1) as f64;
        let all = self.all_df.saturating_sub(n_terms);
        let log = |df: u64| log_smoothed(df, self.alpha, n_features);
        let of_class = |class: ClassId| {
            let df = self.totals[usize::from(class)].df;
            let df = if own == class { df.saturating_sub(n_terms) } else { df };
            log(all.saturating_sub(df)) - log(df)
        };
        self.columns.classes().map(of_class).collect()
    }

    /// The terms of a document with ln(1 + tf).
    fn terms(&self, row: Terms<'_>) -> impl Iterator<Item = (&Term, f64)> {
        let log_tf = |factor: f32| f64::from(factor) * TF_UNIT;
        row.iter().filter_map(move |(id, factor)| Some((self.terms.get(id as usize)?, log_tf(factor))))
    }
}

impl Stretch {
    fn settle(
        &mut self,
        counts: &Statistics,
        columns: Columns,
        logs: &Logs,
        log_documents: f64,
        term: TermId,
    ) {
        let df = counts.document_frequency(term);
        let left = df.saturating_sub(1);
        if left == 0 {
            return self.terms.push(Term { is_own: df == 1, ..Term::default() });
        }
        let absent = logs.of(0) - logs.of(left);
        let part = |n: u64| logs.of(n) - logs.of(left.saturating_sub(n)) - absent;
        let start = self.cells.len() as u32;
        let cells = || counts.cells(term).filter_map(|cell| Some((columns.of(cell.class)?, cell)));
        for (column, cell) in cells() {
            self.cells.push(column as ClassId);
            self.parts.push(part(cell.df.into()));
        }
        let own_part = |(_, cell): (usize, Cell)| part(u64::from(cell.df).saturating_sub(1));
        self.parts.extend(cells().map(own_part));
        // at most Classes::MAX cells, which is u16::MAX
        let len = (self.cells.len() - start as usize) as u16;
        self.terms.push(Term { idf: idf(left, log_documents), absent, start, len, is_own: false });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tamis_tokenizer::CountVector;

    use super::*;
    use crate::documents::Block;
    use crate::{Choices, Correction, Readings, WeightedLogOdds};

    proptest! {
        #[test]
        fn scores_are_those_of_a_model_without_the_document(
            n_classes in 2usize..6,
            rows in proptest::collection::vec((0u16..4, proptest::collection::btree_map(0u32..9, 1u32..99, 0..8)), 1..30),
            positive in 0u16..2,
        ) {
            let rows: Vec<_> = rows.into_iter().map(|(c, r)| (c % n_classes as u16, CountVector::from_pairs(r).unwrap())).collect();
            let mut statistics = Statistics::new(n_classes);
            rows.iter().for_each(|(class, row)| statistics.observe(*class, row.row()).unwrap());
            let alpha = Smoothing::try_from(0.1).unwrap();
            let powers = [0.0, 0.5, 1.0, 1.7];
            let left_out = LeaveOneOut::new(alpha, &statistics, Columns::new(n_classes, positive).unwrap());
            let block = Block::of(rows.iter().map(|(_, row)| row.row()));
            for (at, (class, row)) in rows.iter().enumerate() {
                let mut scores = vec![Vec::new(); powers.len()];
                left_out.scores(block.terms(at), *class, &powers, &mut scores);
                let mut others = statistics.clone();
                others.forget(*class, row.row()).unwrap();
                for (idf_power, scores) in powers.into_iter().zip(scores) {
                    let choices = Choices { alpha, idf_power, ..Choices::for_classes(n_classes) };
                    let n_features = others.n_features() as u64;
                    let scorer = WeightedLogOdds::new(&choices, &[], others.totals(), n_features, positive).unwrap();
                    let mut expected = Readings::default();
                    let Ok(()) = scorer.read(&others, None::<&Correction>, row.row(), &mut expected);
                    for (score, expected) in scores.iter().zip(&expected.counts) {
                        prop_assert!((score - expected).abs() < 1e-9 * (1.0 + expected.abs()), "{score} {expected}");
                    }
                }
            }
        }
    }
}
