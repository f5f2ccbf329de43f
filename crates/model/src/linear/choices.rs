//! Options of weighted scoring, and the numbers that fitting chooses.

use serde::{Deserialize, Serialize};

use crate::bayes::{ParametersError, Smoothing};
use crate::linear::columns::Columns;

/// How a [`WeightedLogOdds`](crate::WeightedLogOdds) is fitted. Options that are not set are chosen by left-out
/// documents.
///
/// | field | default | purpose | range |
/// | --- | --- | --- | --- |
/// | `alpha` | chosen | smoothing of the counts | > 0 |
/// | `idf_power` | chosen | exponent of idf: 0 ignores it | 0 to 4 |
/// | `correction` | true | whether to fit the correction | |
/// | `regularisation` | 16 | C, the prior variance of the correction's weights | > 0, <= 10^6 |
/// | `seed` | 0 | order of the documents in the fit | |
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WeightedOptions {
    /// Smoothing of the document frequencies. Chosen by default.
    pub alpha: Option<Smoothing>,
    /// The exponent of idf in term weights. Chosen by default.
    pub idf_power: Option<f64>,
    /// Whether to fit the correction. By default true.
    pub correction: bool,
    /// C of the correction's L2-regularised logistic loss: the prior variance of its weights. By default 16.
    pub regularisation: f64,
    /// Determines the order of the documents in the fit. By default 0.
    pub seed: u64,
}

impl Default for WeightedOptions {
    fn default() -> Self {
        WeightedOptions { alpha: None, idf_power: None, correction: true, regularisation: 16.0, seed: 0 }
    }
}

impl WeightedOptions {
    /// Checks that all options are in range.
    ///
    /// # Errors
    /// The first value out of its range.
    pub fn check(&self) -> Result<(), ParametersError> {
        let error = |expected, got| Err(ParametersError::Weighted { expected, got });
        if let Some(alpha) = self.alpha.filter(|alpha| *alpha == Smoothing::maximum_likelihood()) {
            return Err(ParametersError::Smoothing { got: alpha.alpha() });
        }
        // written so that NaN fails
        if let Some(got) = self.idf_power.filter(|power| !(0.0..=MAX_POWER).contains(power)) {
            return error("an idf power from 0 to 4", got);
        }
        if !(self.regularisation > 0.0 && self.regularisation <= MAX_C) {
            return error("a regularisation C greater than 0, at most 1000000", self.regularisation);
        }
        Ok(())
    }
}

const MAX_POWER: f64 = 4.0;
const MAX_C: f64 = 1e6;

/// The fitted numbers of a [`WeightedLogOdds`](crate::WeightedLogOdds) besides counts and correction: those that
/// predict left-out documents best, or the [defaults](Self::for_classes) if documents are too few.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choices {
    /// Smoothing of the document frequencies.
    pub alpha: Smoothing,
    /// The exponent of idf in term weights.
    pub idf_power: f64,
    /// k0 and k1: the counts' log-odds are `B = k0 s + k1 p`, with the score `s` of the counts and the column's p, see
    /// [`priors`](crate::priors).
    pub bayes: [f64; 2],
    /// The share of the counts' log-odds that is the offset of the correction's regression.
    pub tau: f64,
    /// Stacking weights q0 to q4: the log-odds of a document are `q0 B + q1 d + q2 c + q3 v + q4 p`, with the log-odds `d` of
    /// the correction, `c` of the columns of a table that are not text, and `v` of the document's vector; 0 without them.
    pub stack: [f64; 5],
    /// The strength of the prior of the vectors' covariance, see [`VectorDiscriminant`](crate::VectorDiscriminant).
    pub strength: f64,
    /// What the log-odds of a part are lowered by, so that it is as bad as the whole: a number of nats, and a factor of the
    /// logarithm of the number of parts, of which one is high by chance.
    pub parts: [f64; 2],
    /// The log-odds that the worst part of 99 % of the negative documents does not exceed; `None` if there are too few.
    pub most_of_ham: Option<f64>,
}

impl Choices {
    /// The defaults, used if documents are too few to choose.
    pub fn for_classes(n_classes: usize) -> Self {
        let is_two = n_classes == 2;
        Choices {
            // 0.3 is in range
            alpha: Smoothing::try_from(0.3).unwrap_or(Smoothing::LAPLACE),
            idf_power: 1.0,
            bayes: if is_two { [0.3, 0.0] } else { [0.4, 1.0] },
            tau: if is_two { 0.5 } else { 0.25 },
            stack: if is_two { [1.0, 1.0, 1.0, VECTOR, 0.0] } else { [0.4, 2.0, 1.0, VECTOR, 0.0] },
            strength: DEFAULT_STRENGTH,
            parts: [0.0, 1.0],
            most_of_ham: None,
        }
    }

    /// The defaults for columns.
    pub(crate) fn for_columns(columns: &Columns) -> Self {
        Choices::for_classes(if columns.is_one() { 2 } else { 3 })
    }

    /// Replaces the choices that the options fix.
    #[must_use]
    pub fn fixed_by(self, options: &WeightedOptions) -> Self {
        Choices {
            alpha: options.alpha.unwrap_or(self.alpha),
            idf_power: options.idf_power.unwrap_or(self.idf_power),
            stack: if options.correction { self.stack } else { COUNTS_ALONE },
            ..self
        }
    }

    /// Checks that all numbers are in range.
    ///
    /// # Errors
    /// The first value out of its range.
    pub fn check(&self) -> Result<(), ParametersError> {
        let Choices { alpha, idf_power, bayes, tau, stack, strength, parts, most_of_ham } = *self;
        if alpha == Smoothing::maximum_likelihood() {
            return Err(ParametersError::Smoothing { got: alpha.alpha() });
        }
        let [q0, q1, q2, q3, q4] = stack;
        let numbers = [bayes[0], bayes[1], q0, q1, q2, q3, q4];
        let wrong = numbers.into_iter().find(|n| !(-MOST..=MOST).contains(n));
        let negative = [bayes[0], q0, q1, q2, q3, parts[0], parts[1], tau]
            .into_iter()
            .find(|n| !(0.0..=MOST).contains(n));
        let strength = Some(strength).filter(|strength| !(1e-3..=1e6).contains(strength));
        let power = Some(idf_power).filter(|power| !(0.0..=MAX_POWER).contains(power));
        let most = most_of_ham.filter(|most| !most.is_finite());
        match wrong.or(negative).or(power).or(strength).or(most) {
            Some(got) => Err(ParametersError::Weighted { expected: "choices within their ranges", got }),
            None => Ok(()),
        }
    }

    /// The log-odds of a held-out document of two classes.
    pub fn log_odds(&self, [b, d, c, v, lift]: HeldOut) -> f64 {
        self.stacked_of_two([b, d, c, v]) + lift
    }

    /// What parts of a document add to its log-odds `z`, in nats: a document is as bad as its worst part, and what nobody
    /// sees makes it no better.
    pub fn lift(&self, z: f64, parts: &PartScores) -> f64 {
        let worst = parts.highest - self.price(parts.windows);
        worst.max(parts.seen.unwrap_or(f64::NEG_INFINITY)).max(z) - z
    }

    /// What the log-odds of the highest of so many windows are lowered by, in nats.
    pub fn price(&self, windows: usize) -> f64 {
        self.parts[0] + self.parts[1] * (windows.max(1) as f64).ln()
    }

    /// q0 B + q1 d + q2 c + q3 v + q4 p
    pub(crate) fn stacked(&self, [b, d, c, v]: [f64; 4], p: f64) -> f64 {
        let [q0, q1, q2, q3, q4] = self.stack;
        q0 * b + q1 * d + q2 * c + q3 * v + q4 * p
    }

    /// As [`stacked`](Self::stacked) for two classes, where p is 1.
    pub(crate) fn stacked_of_two(&self, parts: [f64; 4]) -> f64 {
        self.stacked(parts, 1.0)
    }
}

/// The scores of a document of two classes: B, d, c and v, and its [lift](Choices::lift).
pub type HeldOut = [f64; 5];

/// The log-odds of the positive class of parts of a document.
#[derive(Clone, Copy, Debug)]
pub struct PartScores {
    /// The number of windows.
    pub windows: usize,
    /// The highest log-odds among them, minus infinity if there are none.
    pub highest: f64,
    /// Those of what people see, if not all.
    pub seen: Option<f64>,
}

/// The number of parts of a log-odds: counts, correction, columns, vector, class shares.
pub(crate) const PARTS: usize = 5;

/// The stacking weight of the vector by default. Its log-odds alone are too certain, the more so the fewer documents.
const VECTOR: f64 = 0.1;

/// The strengths that a fit chooses from, the default first.
pub(crate) const STRENGTHS: [f64; 3] = [DEFAULT_STRENGTH, 1.0, 16.0];
pub(crate) const DEFAULT_STRENGTH: f64 = 4.0;

/// The stacking weights without a correction.
pub(crate) const COUNTS_ALONE: [f64; PARTS] = [1.0, 0.0, 1.0, VECTOR, 0.0];

/// The largest absolute value of a fitted number.
pub(crate) const MOST: f64 = 1e9;

/// A smoothing and power of idf that were tried, and their loss on left-out documents.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SmoothingTrial {
    /// The smoothing.
    pub alpha: Smoothing,
    /// The power of idf.
    pub idf_power: f64,
    /// The mean log loss of exact leave-one-out, in nats per document.
    pub loss: f64,
}

/// A share of the counts that the correction was tried with, and the loss of the two together on held-out documents.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TauTrial {
    /// The share, see [`Choices::tau`](crate::Choices::tau).
    pub tau: f64,
    /// The mean log loss of held-out documents, in nats per document.
    pub loss: f64,
}

/// How well models predict held-out documents, each adding a part to the one before, and how far the additions are
/// trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PartsTrial {
    /// The number of held-out documents.
    pub documents: f64,
    /// The mean log loss of the class shares alone, in nats per document.
    pub shares: f64,
    /// The mean log loss with the counts.
    pub counts: f64,
    /// The mean log loss with counts and correction; that of the counts if there is no correction.
    pub correction: f64,
    /// The mean log loss with the other columns of a table too; as before without any.
    pub columns: f64,
    /// The mean log loss with the vectors too; as before without vectors.
    pub vectors: f64,
    /// How far all parts are trusted, from 0 (class shares alone) to 1.
    pub belief: f64,
    /// How far their fitted ratio is trusted, from 0 (the default ratio) to 1.
    pub belief_in_ratio: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_choices_are_checked() {
        let good = WeightedOptions::default();
        assert_eq!(good.check(), Ok(()));
        for bad in [
            WeightedOptions { idf_power: Some(-0.1), ..good },
            WeightedOptions { idf_power: Some(f64::NAN), ..good },
            WeightedOptions { regularisation: 0.0, ..good },
            WeightedOptions { regularisation: f64::INFINITY, ..good },
        ] {
            assert!(matches!(bad.check(), Err(ParametersError::Weighted { .. })), "{bad:?}");
        }
        let bare = WeightedOptions { alpha: Some(Smoothing::maximum_likelihood()), ..good };
        assert!(matches!(bare.check(), Err(ParametersError::Smoothing { .. })));
        let good = Choices::for_classes(3);
        assert_eq!((good.check(), Choices::for_classes(2).check()), (Ok(()), Ok(())));
        for bad in [
            Choices { bayes: [-1.0, 0.0], ..good },
            Choices { stack: [0.0, f64::NAN, 0.0, 0.0, 0.0], ..good },
            Choices { strength: 0.0, ..good },
            Choices { tau: f64::NAN, ..good },
            Choices { parts: [1.0, f64::INFINITY], ..good },
            Choices { parts: [-1.0, 0.0], ..good },
            Choices { most_of_ham: Some(f64::NAN), ..good },
            Choices { idf_power: 9.0, ..good },
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_document_is_as_bad_as_its_worst_part_less_the_price() {
        let choices = Choices { parts: [1.0, 0.5], ..Choices::for_classes(2) };
        let price = |windows: f64| 1.0 + 0.5 * windows.ln();
        for windows in [1, 2, 4_000] {
            assert_eq!(choices.price(windows), price(windows as f64));
        }
        assert_eq!(choices.price(0), 1.0);
        let lift = |z, windows, highest, seen| choices.lift(z, &PartScores { windows, highest, seen });
        let none = f64::NEG_INFINITY;
        // without parts, or with none that is worse
        assert_eq!([lift(-3.0, 0, none, None), lift(2.0, 9, 2.5, Some(1.0))], [0.0; 2]);
        assert_eq!(lift(-3.0, 9, 5.0, None), 5.0 - price(9.0) + 3.0);
        // what people see has no price
        assert_eq!([lift(-3.0, 9, 1.0, Some(0.5)), lift(-3.0, 0, none, Some(-1.0))], [3.5, 2.0]);
        let of_two = Choices { stack: [1.0, 2.0, 0.0, 0.0, 0.5], ..choices };
        assert_eq!(of_two.log_odds([1.0, 2.0, 0.0, 0.0, 4.0]), 9.5);
    }
}
