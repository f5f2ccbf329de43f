//! Calibrates mixed naive Bayes on held-out rows.

use rayon::prelude::*;
use tamis_tokenizer::CountVector;

use crate::counts::{ClassId, Counts, DocumentSums, Statistics, TermEntry};
use crate::fit::{LEAST_BELIEF, least_belief, shrinkage};
use crate::numbers::log_sum_exp;
use crate::reals::gaussian_statistics::GaussianStatistics;
use crate::reals::mixed::{MixedChoices, MixedNaiveBayes};
use crate::validation::{Documents, Fold, Groups, Label, Repeats, cross_validate};

/// The shares by which variances are moved towards their mean over classes that are tried.
const SHRINKAGES: [f64; 6] = [0.0, 0.01, 0.03, 0.1, 0.3, 1.0];
/// The least gain in nats for which variances are moved at all.
const LEAST_GAIN: f64 = 4.0;
/// With fewer rows a class, the default is that all classes have the same variances.
const FEW: usize = 30;
/// So many numbers are chosen by held-out rows, as far as belief in them is concerned.
const CHOSEN: f64 = 3.0;
/// A single number of each label does not tell the scale of a column: it ranks labels, and hardly more.
const SCALELESS: f64 = 0.02;
/// Number of cross-validation folds.
const FOLDS: usize = 10;
/// Maximum number of held-out rows.
const MOST: usize = 10_000;
/// Maximum number of scores that are held in memory, but at least those of 200 rows.
const MOST_SCORES: usize = 1 << 20;
/// The logarithms of the powers that are considered.
const LOG_POWERS: [f64; 2] = [-12.0, 2.0];
/// How often the powers are improved one after another.
const ROUNDS: usize = 4;
/// Number of rows summed together; fixed, so that sums do not depend on the number of threads.
const CHUNK: usize = 256;

/// Finds the [`MixedChoices`] that predict held-out rows best, by cross-validation in 10 folds over at most 10,000 rows
/// (fewer with very many classes).
///
/// The shrinkage is 0 unless another one saves 4 nats. The powers have the least log loss plus `ln(power)^2 / 2` for
/// each kind, so that a few rows do not move them far from 1.
pub struct MixedFit<'a> {
    /// The counts of all columns that are not real-valued.
    pub counts: &'a Statistics,
    /// The statistics of the real-valued columns.
    pub reals: &'a GaussianStatistics,
    /// The rows.
    pub documents: &'a dyn Documents,
    /// The real values of a row.
    pub values: &'a (dyn Fn(usize) -> Vec<Option<f64>> + Sync),
    /// The part of the model that each term belongs to.
    pub parts: &'a [usize],
    /// The logarithm of each class's prior probability.
    pub class_log_prior: &'a [f64],
}

/// A held-out row.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RowPrediction {
    /// The position of the row.
    pub document: usize,
    /// The number of copies that were held out.
    pub copies: u32,
    /// Its joint log-likelihood with each class, calibrated, in nats.
    pub joint: Vec<f64>,
}

/// A row that was held out, before calibration.
struct RowScores {
    document: usize,
    class: ClassId,
    copies: u32,
    /// The log-likelihood of the parts of each kind in each class: real values, categories, texts.
    of_kinds: [Vec<f64>; 3],
}

/// Trust in each kind alone.
const ALONE: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

impl MixedFit<'_> {
    /// Calibrates a model. `derive` derives it from the given counts and statistics, with uniform priors, for each of
    /// the shrinkages. Returns the choices, and the held-out rows in order.
    ///
    /// # Errors
    /// Those of `derive`.
    pub fn fit<E: Send>(
        &self,
        derive: impl Fn(&Statistics, &GaussianStatistics, &[f64]) -> Result<Vec<MixedNaiveBayes>, E> + Sync,
    ) -> Result<(MixedChoices, Vec<RowPrediction>), E> {
        let shrinkages = if self.reals.n_features() > 0 { &SHRINKAGES[..] } else { &SHRINKAGES[..1] };
        let mut scored: Vec<Vec<RowScores>> = shrinkages.iter().map(|_| Vec::new()).collect();
        let score = |fold: &Fold, counts: &Statistics| self.score_fold(fold, counts, shrinkages, &derive);
        let mut folds = self.folds();
        for fold in cross_validate(&folds, self.counts, self.documents, score)? {
            scored.iter_mut().zip(fold).for_each(|(all, fold)| all.extend(fold));
        }
        scored.iter_mut().for_each(|rows| rows.sort_by_key(|row| row.document));
        let problem = |rows| PowerSearch { rows, class_log_prior: self.class_log_prior };
        let n: f64 = scored[0].iter().map(|row| f64::from(row.copies)).sum();
        if n == 0.0 {
            // no label has a second row: of the learned ones, how far they are apart
            for fold in &mut folds {
                fold.weights.fill(0.0);
                scored[0].extend(score(fold, self.counts)?.swap_remove(0));
            }
            let least = least_belief(scored[0].len(), 0) * if shrinkages.len() > 1 { SCALELESS } else { 1.0 };
            let powers = problem(&scored[0]).believed([1.0; 3], 0.0, least);
            return Ok((MixedChoices { trust: powers.into(), ..MixedChoices::default() }, Vec::new()));
        }
        // the variance of a few rows says little
        let fewness = (FEW * self.class_log_prior.len()) as f64 / n;
        let default = if fewness > 1.0 { shrinkages.len() - 1 } else { 0 };
        let least_gain = LEAST_GAIN * fewness.max(1.0);
        let (mut best, mut powers, mut least) = (default, [1.0; 3], f64::INFINITY);
        for (at, rows) in scored.iter().enumerate() {
            let tried = problem(rows).powers();
            let loss = problem(rows).objective(&tried) + if at == default { 0.0 } else { least_gain };
            if loss < least {
                (best, powers, least) = (at, tried, loss);
            }
        }
        let rows = problem(&scored[best]);
        let belief = shrinkage((rows.loss(&[0.0; 3]) - rows.loss(&powers)) / CHOSEN);
        let powers = rows.believed(powers, belief, LEAST_BELIEF);
        let losses = Some([problem(&scored[0]).loss(&[1.0; 3]), rows.loss(&powers)].map(|loss| loss / n));
        let held_out = |row: &RowScores| {
            let (mut joint, &RowScores { document, copies, .. }) = (Vec::new(), row);
            rows.joint(row, &powers, &mut joint);
            RowPrediction { document, copies, joint }
        };
        let choices = MixedChoices { shrinkage: shrinkages[best], trust: powers.into(), losses };
        Ok((choices, scored[best].iter().map(held_out).collect()))
    }

    /// The rows to hold out.
    fn folds(&self) -> Vec<Fold> {
        let most = MOST.min(MOST_SCORES / self.class_log_prior.len().max(1)).max(200);
        let sample = Groups::new(self.documents).sample(most, 0);
        let dealt = sample.groups.deal(self.documents, &Repeats::new(self.documents), FOLDS);
        dealt.into_iter().map(|held| Fold::new(self.documents, held, |_, copies| f64::from(copies))).collect()
    }

    /// Scores a fold by models of all other rows, one for each shrinkage.
    fn score_fold<E>(
        &self,
        fold: &Fold,
        counts: &Statistics,
        shrinkages: &[f64],
        derive: impl Fn(&Statistics, &GaussianStatistics, &[f64]) -> Result<Vec<MixedNaiveBayes>, E>,
    ) -> Result<Vec<Vec<RowScores>>, E> {
        let values: Vec<_> = fold.documents.iter().map(|document| (self.values)(*document)).collect();
        let mut reals = self.reals.clone();
        for ((document, weight), values) in fold.documents.iter().zip(&fold.weights).zip(&values) {
            let class = self.documents.label(*document).class;
            // refused without a change if it was never learned
            let _ = reals.forget_weighted(class, values, *weight);
        }
        let score = |model: MixedNaiveBayes| {
            let alone = ALONE.map(|powers| model.clone().with_trust(powers.into()));
            let score = |at: usize| {
                let (document, copies) = (fold.documents[at], fold.copies[at]);
                let Label { class, .. } = self.documents.label(document);
                // what a class without other rows is like is unknown
                if counts.totals()[usize::from(class)].documents == 0 {
                    return None;
                }
                let of_kinds =
                    alone.each_ref().map(|model| self.score(model, counts, &fold.rows[at], &values[at]));
                Some(RowScores { document, class, copies, of_kinds })
            };
            (0..fold.documents.len()).filter_map(score).collect()
        };
        Ok(derive(counts, &reals, shrinkages)?.into_iter().map(score).collect())
    }

    /// The joint log-likelihood of a row and each class.
    fn score(
        &self,
        model: &MixedNaiveBayes,
        counts: &Statistics,
        row: &CountVector,
        values: &[Option<f64>],
    ) -> Vec<f64> {
        let (mut entry, mut sums, mut out) = (TermEntry::default(), DocumentSums::default(), Vec::new());
        sums.begin(model.n_sums());
        for (term, count) in row.row().iter() {
            let Some(&part) = self.parts.get(term as usize) else { continue };
            let cells: Vec<_> = counts.cells(term).collect();
            model.weigh_term(part, counts.totals(), term, &cells, &mut entry);
            sums.add(&entry, model.amount(part, count));
        }
        model.joint_log_likelihood_of(values, &sums, &mut out);
        out
    }
}

/// Finding the powers of the kinds that predict rows best.
struct PowerSearch<'a> {
    rows: &'a [RowScores],
    class_log_prior: &'a [f64],
}

impl PowerSearch<'_> {
    /// Writes the joint log-likelihood of a row with each class to `out`.
    fn joint(&self, row: &RowScores, powers: &[f64; 3], out: &mut Vec<f64>) {
        out.clear();
        out.extend_from_slice(self.class_log_prior);
        for (power, of_kind) in powers.iter().zip(&row.of_kinds) {
            out.iter_mut().zip(of_kind).for_each(|(out, log)| *out += power * log);
        }
    }

    /// The log loss of all rows, in nats, without those that are impossible in their class.
    fn loss(&self, powers: &[f64; 3]) -> f64 {
        let of_chunk = |rows: &[RowScores]| {
            let mut joint = Vec::new();
            let of_row = |row: &RowScores| {
                self.joint(row, powers, &mut joint);
                let loss = log_sum_exp(&joint) - joint.get(usize::from(row.class)).copied().unwrap_or(0.0);
                if loss.is_finite() { f64::from(row.copies) * loss } else { 0.0 }
            };
            rows.iter().map(of_row).sum::<f64>()
        };
        self.rows.par_chunks(CHUNK).map(of_chunk).collect::<Vec<_>>().into_iter().sum()
    }

    /// The loss, with a penalty for powers other than 1.
    fn objective(&self, powers: &[f64; 3]) -> f64 {
        self.loss(powers) + powers.map(|power| 0.5 * power.ln().powi(2)).iter().sum::<f64>()
    }

    /// Powers that are believed so far. What they say need not earn a share `least` of belief, if that is no more than
    /// half a nat in the root mean square.
    fn believed(&self, mut powers: [f64; 3], belief: f64, least: f64) -> [f64; 3] {
        for (kind, power) in powers.iter_mut().enumerate() {
            let spread = |row: &RowScores| {
                let logs = &row.of_kinds[kind];
                let mean = logs.iter().sum::<f64>() / logs.len() as f64;
                logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / logs.len() as f64
            };
            let spread = self.rows.iter().map(spread).sum::<f64>() / self.rows.len() as f64;
            let unearned = least / (2.0 * *power * spread.sqrt()).max(1.0);
            *power *= if unearned.is_finite() { belief.max(unearned) } else { belief };
        }
        powers
    }

    /// The powers of least loss: first one for all kinds, then each in turn. A kind that tells no classes apart keeps 1.
    fn powers(&self) -> [f64; 3] {
        let tells = |kind: usize| {
            let differs =
                |row: &RowScores| row.of_kinds[kind].iter().any(|log| *log != row.of_kinds[kind][0]);
            self.rows.iter().any(differs)
        };
        let kinds: Vec<usize> = (0..3).filter(|kind| tells(*kind)).collect();
        let with = |mut powers: [f64; 3], kinds: &[usize], power: f64| {
            kinds.iter().for_each(|kind| powers[*kind] = power);
            powers
        };
        let mut powers = [1.0; 3];
        let in_turn = (0..if kinds.len() > 1 { ROUNDS } else { 0 }).flat_map(|_| kinds.chunks(1));
        for of in [&kinds[..]].into_iter().filter(|of| !of.is_empty()).chain(in_turn) {
            let log = minimum(|log| self.objective(&with(powers, of, log.exp())), LOG_POWERS);
            powers = with(powers, of, log.exp());
        }
        powers
    }
}

/// Where a function with a single minimum between `low` and `high` has it, to 1e-4, by golden-section search.
fn minimum(of: impl Fn(f64) -> f64, [mut low, mut high]: [f64; 2]) -> f64 {
    let golden = 0.5 * (5f64.sqrt() - 1.0);
    let inner = |low: f64, high: f64| [high - golden * (high - low), low + golden * (high - low)];
    let mut at = inner(low, high);
    let mut values = at.map(&of);
    while high - low > 1e-4 {
        if values[0] <= values[1] {
            high = at[1];
            at = [inner(low, high)[0], at[0]];
            values = [of(at[0]), values[0]];
        } else {
            low = at[0];
            at = [at[1], inner(low, high)[1]];
            values = [values[1], of(at[1])];
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of two classes in which kind 0 claims `claim` nats for a class that is right 9 times in 10.
    fn rows(claim: f64, n: usize) -> Vec<RowScores> {
        let row = |document: usize| {
            let class = (document % 2) as ClassId;
            let said = if (document / 2).is_multiple_of(10) { 1 - class } else { class };
            let logs = [0, 1].map(|of| if of == said { claim } else { 0.0 });
            RowScores { document, class, copies: 1, of_kinds: [logs.to_vec(), vec![0.0; 2], vec![0.0; 2]] }
        };
        (0..n).map(row).collect()
    }

    #[test]
    fn claims_become_what_they_are_worth() {
        let class_log_prior = &[0.5f64.ln(); 2];
        for claim in [0.5, 9f64.ln(), 1e4] {
            let rows = rows(claim, 20_000);
            let problem = PowerSearch { rows: &rows, class_log_prior };
            let [power, others @ ..] = problem.powers();
            assert!((power * claim - 9f64.ln()).abs() < 0.02, "{claim}: {power}");
            assert_eq!(others, [1.0; 2]);
            let entropy = -(0.9 * 0.9f64.ln() + 0.1 * 0.1f64.ln());
            assert!((problem.loss(&[power, 1.0, 1.0]) / 20_000.0 - entropy).abs() < 1e-4);
        }
        // few rows move little
        let few = rows(1.0, 4);
        let [power, ..] = PowerSearch { rows: &few, class_log_prior }.powers();
        assert!((0.5..2.0).contains(&power), "{power}");
        assert_eq!(PowerSearch { rows: &[], class_log_prior }.powers(), [1.0; 3]);
    }

    #[test]
    fn kinds_are_weighed_against_each_other() {
        let class_log_prior = &[0.5f64.ln(); 2];
        let mut rows = rows(50.0, 20_000);
        // a second kind that says the same, and a third that says nothing true
        for (at, row) in rows.iter_mut().enumerate() {
            row.of_kinds[1] = row.of_kinds[0].iter().map(|log| log / 100.0).collect();
            row.of_kinds[2] = if at % 4 < 2 { vec![3.0, 0.0] } else { vec![0.0, 3.0] };
        }
        let [a, b, c] = PowerSearch { rows: &rows, class_log_prior }.powers();
        assert!((50.0 * a + 0.5 * b - 9f64.ln()).abs() < 0.05, "{a} {b}");
        assert!(3.0 * c < 0.05, "{c}");
    }

    #[test]
    fn golden_section_finds_the_minimum() {
        for at in [-11.9, -1.0, 0.3, 1.99] {
            assert!((minimum(|x| (x - at).abs(), [-12.0, 2.0]) - at).abs() < 1e-4);
        }
    }
}
