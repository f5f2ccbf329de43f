use serde::{Deserialize, Serialize};
use tamis_tokenizer::CountRow;

use crate::crossfit::{Labelled, leave_one_out};
use crate::logs::sigmoid;
use crate::random::SplitMix64;
use crate::{ClassId, ParametersError, Statistics, WeightedLogOdds};

/// A real number in fixed point: [`COEFFICIENT_ONE`] is 1. Sums of such numbers are exact, so neither their
/// order nor adding and taking away again leaves a trace.
pub type Coefficient = i64;

/// The [`Coefficient`] that stands for 1: 2^20.
pub const COEFFICIENT_ONE: Coefficient = 1 << 20;

/// The largest step: far beyond what checked options can ask for, and 2^11 of them still fit an `i64`.
const MAX_STEP: f64 = (1_u64 << 52) as f64;

/// Copies of one document beyond this many teach the correction nothing more.
const MAX_COPIES: u32 = 1_000;

/// How a correction is learned.
///
/// | field | default | purpose | range |
/// | --- | --- | --- | --- |
/// | `mix` | 0.3 | share of the uncorrected log-odds | 0 to 10^6 |
/// | `rate` | 8 | length of a learning step | finite, > 0, <= 10^6 |
/// | `passes` | 3 | times each document is seen in fitting | 1 to 1,000 |
/// | `seed` | 0 | decides the order of the documents in fitting | |
///
/// The defaults were chosen by cross-validation on mail; [`for_topics`](Self::for_topics) is for a
/// [`ClassCorrection`](crate::ClassCorrection).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CorrectionOptions {
    /// What the uncorrected log-odds are multiplied with. By default 0.3.
    pub mix: f64,
    /// The length of a step. By default 8.
    pub rate: f64,
    /// How often each document is seen in fitting. By default 3.
    pub passes: u32,
    /// Decides the order in which documents are seen in fitting. By default 0.
    pub seed: u64,
}

impl Default for CorrectionOptions {
    fn default() -> Self {
        CorrectionOptions { mix: 0.3, rate: 8.0, passes: 3, seed: 0 }
    }
}

impl CorrectionOptions {
    /// The options for many classes: a rate of 1.6, because there idf enters into the step as well.
    pub fn for_topics() -> Self {
        CorrectionOptions { rate: 1.6, ..CorrectionOptions::default() }
    }

    /// Whether all options are in their ranges; to call on options that come from outside.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), ParametersError> {
        let error = |expected, got| Err(ParametersError::Correction { expected, got });
        // written so that NaN fails
        if !(0.0..=1e6).contains(&self.mix) {
            return error("a mix from 0 to 1000000", self.mix);
        }
        if !(self.rate > 0.0 && self.rate <= 1e6) {
            return error("a rate greater than 0, at most 1000000", self.rate);
        }
        if !(1..=1_000).contains(&self.passes) {
            return error("1 to 1000 passes", f64::from(self.passes));
        }
        Ok(())
    }

    /// The coefficient that a document teaches a correction, see [`Correction::step`], given its corrected log-odds: for
    /// weights that are kept elsewhere. An empty row teaches nothing.
    pub fn step(&self, row: CountRow<'_>, is_positive: bool, corrected: f64) -> Coefficient {
        // 1 - sigmoid(z) without subtracting from 1
        let error = if is_positive { sigmoid(-corrected) } else { -sigmoid(corrected) };
        let step = self.rate * error * scale(row) * COEFFICIENT_ONE as f64;
        // NaN, of options that were not checked, becomes 0
        step.round().clamp(-MAX_STEP, MAX_STEP) as Coefficient
    }
}

/// The corrected log-odds (nats): `mix * score + value`, with the uncorrected score and the
/// [value](Correction::value) of the correction for the same document.
pub fn corrected(options: &CorrectionOptions, score: f64, value: f64) -> f64 {
    options.mix * score + value
}

/// What counting cannot see, learned on top of it: a logistic weight a term that makes up for terms that
/// occur together, and that counting takes for independent evidence.
///
/// Every step of learning adds one and the same [`Coefficient`] to all terms of one document. So the weights
/// are a sum over documents, and since it is in fixed point, an exact one: keep the coefficient with the
/// document, and [`add`](Self::add)ing its negative forgets the document's part, while adding the
/// coefficients of other documents merges. Only the coefficients themselves depend on the order of learning.
///
/// ```
/// use tamis_model::{Correction, CorrectionOptions};
/// use tamis_tokenizer::CountVector;
///
/// let offer = CountVector::from_pairs([(0, 2), (1, 1)])?;
/// let mut correction = Correction::new();
/// // the counts say ham (-1 nats), the truth is spam
/// let coefficient = correction.step(&CorrectionOptions::default(), offer.row(), true, -1.0);
/// assert!(coefficient > 0 && correction.value(offer.row()) > 0.0);
///
/// correction.add(offer.row(), -coefficient);
/// assert_eq!(correction.value(offer.row()), 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Correction {
    weights: Vec<i64>,
}

impl Correction {
    /// No correction: all weights 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// The weights by term id, in units of 1 / [`COEFFICIENT_ONE`]; terms beyond them weigh 0.
    pub fn weights(&self) -> &[i64] {
        &self.weights
    }

    /// The correction with these [`weights`](Self::weights).
    pub fn from_weights(weights: Vec<i64>) -> Self {
        Correction { weights }
    }

    /// Adds the coefficient to the weight of every term of the document, whatever its count. Memory grows
    /// with the highest term id.
    ///
    /// Sums wrap round at 2^63, so that taking away what was added is exact without exception; with steps of
    /// [checked](CorrectionOptions::check) options no sum of 2^23 of them gets there.
    pub fn add(&mut self, row: CountRow<'_>, coefficient: Coefficient) {
        // ids increase: the last is the highest
        let Some(&last) = row.ids().last() else { return };
        let n_terms = last as usize + 1;
        if self.weights.len() < n_terms {
            self.weights.resize(n_terms, 0);
        }
        for &term in row.ids() {
            let weight = &mut self.weights[term as usize];
            *weight = weight.wrapping_add(coefficient);
        }
    }

    /// What the correction adds to the log-odds of a document (nats): the sum of its terms' weights, each
    /// term counted once, divided by the square root of the number of terms in the row, those without
    /// weight included; 0 for an empty row.
    pub fn value(&self, row: CountRow<'_>) -> f64 {
        let weight = |&term: &u32| self.weights.get(term as usize).copied().unwrap_or(0);
        let sum = row.ids().iter().map(weight).fold(0_i64, i64::wrapping_add);
        sum as f64 / COEFFICIENT_ONE as f64 * scale(row)
    }

    /// Learns from one document: a gradient step of logistic loss at its corrected log-odds,
    /// `rate (y - sigmoid(z)) / |x|` for each term, rounded to fixed point. `score` is the document's
    /// uncorrected score by a model that has not learned it. Returns the coefficient, which was added.
    ///
    /// An empty row teaches nothing; its coefficient is 0.
    pub fn step(
        &mut self,
        options: &CorrectionOptions,
        row: CountRow<'_>,
        is_positive: bool,
        score: f64,
    ) -> Coefficient {
        let coefficient = options.step(row, is_positive, corrected(options, score, self.value(row)));
        self.add(row, coefficient);
        coefficient
    }
}

/// 1 / |x| of a document as presences; 0 for an empty one.
fn scale(row: CountRow<'_>) -> f64 {
    if row.is_empty() { 0.0 } else { 1.0 / (row.len() as f64).sqrt() }
}

/// Fits a correction to learned documents: `passes` times over all of them in random order, each copy by
/// itself (at most 1,000 copies of a document), with their exact leave-one-out scores.
///
/// Returns the correction and one coefficient a document. The weights are exactly the sum of the coefficients
/// at the terms of their documents. The same documents in the same order give the same result, whatever the
/// number of threads. `counts` and `scorer` must be of these documents at least; `positive` is the scorer's.
///
/// ```
/// use tamis_model::{CorrectionOptions, Counts, Labelled, Smoothing, Statistics, WeightedLogOdds, fit_correction};
/// use tamis_tokenizer::CountVector;
///
/// let rows = [[(0, 1), (2, 1)], [(0, 1), (3, 1)], [(1, 1), (2, 1)], [(1, 1), (3, 1)]];
/// let rows = rows.map(CountVector::from_pairs).into_iter().collect::<Result<Vec<_>, _>>()?;
/// let document = |i: usize| Labelled { row: rows[i].row(), class: i as u16 / 2, multiplicity: 1, group: i as u64 };
/// let documents: Vec<_> = (0..4).map(document).collect();
/// let mut statistics = Statistics::new(2);
/// for d in &documents {
///     statistics.observe(d.class, d.row)?;
/// }
/// let alpha = Smoothing::try_from(0.1)?;
/// let scorer = WeightedLogOdds::new(alpha, statistics.totals(), statistics.n_features() as u64, 1)?;
/// let options = CorrectionOptions::default();
/// let (correction, coefficients) = fit_correction(&scorer, &statistics, &documents, 1, &options);
/// assert!(correction.weights()[0] < 0 && correction.weights()[1] > 0);
/// assert_eq!(coefficients.len(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fit_correction(
    scorer: &WeightedLogOdds,
    counts: &Statistics,
    documents: &[Labelled<'_>],
    positive: ClassId,
    options: &CorrectionOptions,
) -> (Correction, Vec<Coefficient>) {
    let scores = leave_one_out(scorer, counts, documents);
    let copies =
        |(i, d): (usize, &Labelled<'_>)| std::iter::repeat_n(i, d.multiplicity.min(MAX_COPIES) as usize);
    let mut order: Vec<usize> = documents.iter().enumerate().flat_map(copies).collect();
    let mut random = SplitMix64::new(options.seed);
    let (mut correction, mut coefficients) = (Correction::new(), vec![0; documents.len()]);
    for _ in 0..options.passes {
        random.shuffle(&mut order);
        for &i in &order {
            let document = &documents[i];
            let score = scores[i].unwrap_or(0.0);
            let step = correction.step(options, document.row, document.class == positive, score);
            coefficients[i] = step.wrapping_add(coefficients[i]);
        }
    }
    (correction, coefficients)
}

#[cfg(test)]
mod tests {
    use tamis_tokenizer::CountVector;

    use super::*;

    fn row(pairs: &[(u32, u32)]) -> CountVector {
        CountVector::from_pairs(pairs.iter().copied()).unwrap()
    }

    #[test]
    fn options_are_checked() {
        let good = CorrectionOptions::default();
        assert_eq!(good.check(), Ok(()));
        for bad in [
            CorrectionOptions { mix: -0.1, ..good },
            CorrectionOptions { mix: f64::NAN, ..good },
            CorrectionOptions { mix: 1e300, ..good },
            CorrectionOptions { rate: 0.0, ..good },
            CorrectionOptions { rate: f64::INFINITY, ..good },
            CorrectionOptions { passes: 0, ..good },
        ] {
            assert!(matches!(bad.check(), Err(ParametersError::Correction { .. })), "{bad:?}");
        }
    }

    #[test]
    fn a_step_by_hand() {
        let options = CorrectionOptions { mix: 0.5, rate: 4.0, ..CorrectionOptions::default() };
        let document = row(&[(0, 9), (1, 1), (2, 1), (5, 1)]);
        let mut correction = Correction::from_weights(vec![COEFFICIENT_ONE, 0, COEFFICIENT_ONE]);
        assert_eq!(correction.value(document.row()), 1.0); // (1 + 1) / sqrt(4)
        // z = 0.5 * -2 + 1 = 0
        assert_eq!(correction.step(&options, document.row(), false, -2.0), -COEFFICIENT_ONE);
        assert_eq!(correction.weights(), [0, -1, 0, 0, 0, -1].map(|w| w * COEFFICIENT_ONE));
        assert_eq!(correction.value(document.row()), -1.0);
    }

    #[test]
    fn extremes() {
        let (mut correction, empty, one) = (Correction::new(), row(&[]), row(&[(0, 1)]));
        assert_eq!(correction.step(&CorrectionOptions::default(), empty.row(), true, -3.0), 0);
        assert_eq!((correction.value(empty.row()), correction.weights()), (0.0, &[][..]));
        let wild = CorrectionOptions { rate: f64::INFINITY, ..CorrectionOptions::default() };
        let step = correction.step(&wild, one.row(), true, 0.0);
        assert_eq!(step, 1 << 52);
        assert_eq!(correction.step(&wild, one.row(), true, f64::NAN), 0);
        correction.add(one.row(), i64::MAX);
        assert!(correction.value(one.row()).is_finite());
        correction.add(one.row(), -step);
        assert_eq!(correction.weights(), [i64::MAX]);
    }
}
