//! The transform of counts to weights: log tf, idf, length normalisation.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use tamis_tokenizer::{CountRow, TermId};

use crate::counts::rows::WeightedVector;

/// The tf-idf transform of a document: repeated words count for less, rare words for more, and long documents for no
/// more than short ones.
///
/// With term frequency `tf`, document frequency `df` and `N` documents in all:
///
/// ```text
/// v = ln(1 + tf) ln((N + 1) / df)
/// weight = norm v / sqrt(sum(v v))
/// ```
///
/// | field | default | when off |
/// | --- | --- | --- |
/// | `log_tf` | true | the first factor is `tf` |
/// | `idf` | true | the second factor is 1 |
/// | `norm` | 10 | weight = v |
/// | `min_df` | 1 | |
///
/// A term with `df` 0 or below `min_df` weighs nothing, whatever the other fields are. Expectation maximization
/// ([`EmOptions`](crate::EmOptions)) needs length-normalised documents and gains much from a `min_df` of 5: a term of a
/// single document says nothing about others but, being rare, would weigh most.
///
/// Source: Rennie, Shih, Teevan and Karger, "Tackling the Poor Assumptions of Naive Bayes Text Classifiers"
/// (2003).
///
/// ```
/// use tamis_model::{Statistics, Transform, WeightedVector};
/// use tamis_tokenizer::CountVector;
///
/// let document = CountVector::from_pairs([(0, 3), (1, 4)])?;
/// let mut statistics = Statistics::new(1); // document frequencies are statistics without labels
/// statistics.observe(0, document.row())?;
///
/// let df = |term| Ok(statistics.document_frequency(term));
/// let mut transform = Transform::default();
/// (transform.log_tf, transform.idf) = (false, false);
/// let mut weights = WeightedVector::default();
/// let Ok::<(), std::convert::Infallible>(()) = transform.apply(document.row(), 1, df, &mut weights);
/// assert_eq!(weights.row().weights(), [6.0, 8.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Transform {
    /// Whether the weight is logarithmic in tf. By default true.
    pub log_tf: bool,
    /// Whether weights are multiplied by idf. By default true.
    pub idf: bool,
    /// The Euclidean length (L2) that documents are scaled to; `None` leaves them as they are. By default 10.
    pub norm: Option<NonZeroU32>,
    /// Minimum document frequency. By default 1; 0 means the same.
    pub min_df: u64,
}

impl Default for Transform {
    fn default() -> Self {
        Transform { log_tf: true, idf: true, norm: NonZeroU32::new(10), min_df: 1 }
    }
}

impl Transform {
    /// Raw counts.
    pub const COUNTS: Transform = Transform { log_tf: false, idf: false, norm: None, min_df: 1 };

    /// Writes the weights of a document's terms to `out`. `documents` is N, and `df` returns the document frequency of
    /// a term.
    ///
    /// # Errors
    /// `df` fails; `out` is then unchanged.
    pub fn apply<E>(
        &self,
        row: CountRow<'_>,
        documents: u64,
        df: impl Fn(TermId) -> Result<u64, E>,
        out: &mut WeightedVector,
    ) -> Result<(), E> {
        let log_documents = log_documents(documents);
        let weigh = |(term, tf)| Ok((term, self.amount(tf) * self.rarity(df(term)?, log_documents)));
        let weights = row.iter().map(weigh).collect::<Result<Vec<_>, E>>()?;
        let scale = self.scale(weights.iter().map(|(_, v)| v * v).sum());
        // zero weights are left out
        out.assign(weights.into_iter().map(|(term, v)| (term, v * scale)));
        Ok(())
    }

    /// The first factor of a term's weight, computed from its tf.
    #[inline]
    pub(crate) fn amount(&self, tf: u32) -> f64 {
        if self.log_tf { log_tf(tf) } else { f64::from(tf) }
    }

    /// The second factor of a term's weight, computed from its df; 0 below `min_df`.
    pub(crate) fn rarity(&self, df: u64, log_documents: f64) -> f64 {
        match df >= self.min_df.max(1) {
            true if self.idf => idf(df, log_documents),
            true => 1.0,
            false => 0.0,
        }
    }

    /// The factor that scales a document to `norm`, given the sum of squares of its weights; 1 if all weights are 0.
    pub(crate) fn scale(&self, square: f64) -> f64 {
        let norm = self.norm.filter(|_| square > 0.0);
        norm.map_or(1.0, |norm| f64::from(norm.get()) / square.sqrt())
    }
}

/// ln(N + 1)
pub(crate) fn log_documents(documents: u64) -> f64 {
    (documents as f64 + 1.0).ln()
}

/// ln(1 + tf), from a table for small tf.
#[inline]
fn log_tf(tf: u32) -> f64 {
    READY.get(tf as usize).copied().unwrap_or_else(|| f64::from(tf).ln_1p())
}

#[rustfmt::skip]
#[allow(clippy::approx_constant)]
const READY: [f64; 16] = [
    0.0, 0.6931471805599453, 1.0986122886681096, 1.3862943611198906, 1.6094379124341003,
    1.791759469228055, 1.9459101490553132, 2.0794415416798357, 2.1972245773362196, 2.302585092994046,
    2.3978952727983707, 2.4849066497880004, 2.5649493574615367, 2.639057329615259, 2.70805020110221,
    2.772588722239781,
];

/// ln((N + 1) / df) for df > 0; never negative, even for corrupt counts.
pub(crate) fn idf(df: u64, log_documents: f64) -> f64 {
    (log_documents - (df as f64).ln()).max(0.0)
}

/// Units per factor of two.
const PER_DOUBLING: u32 = 1 << 4;

/// Occurrences beyond this tf do not count.
const MOST: u32 = u16::MAX as u32;

/// One [unit](tf_units) of ln(1 + tf), in nats.
pub(crate) const TF_UNIT: f64 = std::f64::consts::LN_2 / PER_DOUBLING as f64;

/// ln(1 + tf) in units of ln(2)/16, rounded, so that sums are exact: 16 for a term that occurs once. The rounding error
/// is at most 1.5 % (at tf 2); fitting and scoring both use this value, so they agree.
#[inline]
pub(crate) fn tf_units(tf: u32) -> u32 {
    READY_UNITS.get(tf as usize).map_or_else(|| units(tf), |units| u32::from(*units))
}

/// [`tf_units`] in nats.
#[inline]
pub(crate) fn log_tf_units(tf: u32) -> f64 {
    f64::from(tf_units(tf)) * TF_UNIT
}

/// Precomputed units, enough for nearly all terms of a document.
const READY_UNITS: [u16; 64] = {
    let mut ready = [0; 64];
    let mut tf = 0;
    while tf < ready.len() {
        ready[tf] = units(tf as u32) as u16;
        tf += 1;
    }
    ready
};

/// 16 log2(1 + tf), rounded. Computed bit by bit by squaring, so that all machines agree.
const fn units(tf: u32) -> u32 {
    let n = 1 + if tf < MOST { tf } else { MOST } as u64;
    let doublings = n.ilog2();
    // from 1 to below 2, in units of 2^-63
    let mut x = n << (63 - doublings);
    let mut half_units = doublings;
    let mut bit = 0;
    while bit < 5 {
        let square = (x as u128 * x as u128) >> 63;
        half_units = half_units << 1 | (square >> 64) as u32;
        x = if square >> 64 == 1 { (square >> 1) as u64 } else { square as u64 };
        bit += 1;
    }
    half_units.div_ceil(2)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use tamis_tokenizer::CountVector;

    use super::*;

    #[test]
    fn logarithms_that_are_ready_are_right() {
        for tf in 0..40 {
            assert!((log_tf(tf) - f64::from(tf).ln_1p()).abs() <= f64::EPSILON * f64::from(tf).ln_1p());
        }
    }

    /// Weights within four documents. Term 9 occurs in none of them, term 8 in more than there are.
    fn weights(transform: Transform, pairs: &[(TermId, u32)]) -> Vec<(TermId, f64)> {
        let df =
            |term| Ok::<_, Infallible>([4, 2, 1, 0, 0, 0, 0, 0, 9].get(term as usize).copied().unwrap_or(0));
        let row = CountVector::from_pairs(pairs.iter().copied()).unwrap();
        let mut out = WeightedVector::from_pairs([(1, 1.0)]).unwrap();
        let Ok(()) = transform.apply(row.row(), 4, df, &mut out);
        out.row().iter().collect()
    }

    #[test]
    fn by_hand() {
        let v = [2f64.ln() * 1.25f64.ln(), 4f64.ln() * 2.5f64.ln()];
        let length = (v[0] * v[0] + v[1] * v[1]).sqrt();
        let document = [(0, 1), (1, 3), (9, 7)];
        let got = weights(Transform::default(), &document);
        assert_eq!(got.len(), 2);
        for ((term, weight), expected) in got.into_iter().zip(v) {
            assert!((weight - 10.0 * expected / length).abs() < 1e-12, "term {term}");
        }
        assert_eq!(weights(Transform::COUNTS, &document), [(0, 1.0), (1, 3.0)]);
        let log_tf = Transform { log_tf: true, ..Transform::COUNTS };
        assert_eq!(weights(log_tf, &document), [(0, 1f64.ln_1p()), (1, 3f64.ln_1p())]);
        let idf = weights(Transform { idf: true, ..Transform::COUNTS }, &document);
        assert!((idf[1].1 - 3.0 * 2.5f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn what_weighs_nothing_is_left_out() {
        for transform in [Transform::default(), Transform { norm: None, ..Transform::default() }] {
            assert_eq!(weights(transform, &[]), []);
            assert_eq!(weights(transform, &[(8, 1), (9, u32::MAX)]), []);
        }
        assert_eq!(weights(Transform { min_df: 3, ..Transform::COUNTS }, &[(0, 2), (1, 2)]), [(0, 2.0)]);
        assert_eq!(weights(Transform { min_df: 0, ..Transform::COUNTS }, &[(2, 2), (9, 2)]), [(2, 2.0)]);
        let huge = weights(Transform { log_tf: false, ..Transform::default() }, &[(2, u32::MAX)]);
        assert!((huge[0].1 - 10.0).abs() < 1e-12);
    }

    #[test]
    fn a_failing_df_changes_nothing() {
        let row = CountVector::from_pairs([(0, 1), (1, 1)]).unwrap();
        let mut out = WeightedVector::from_pairs([(7, 1.0)]).unwrap();
        let df = |term| if term == 0 { Ok(1) } else { Err("torn") };
        assert_eq!(Transform::default().apply(row.row(), 2, df, &mut out), Err("torn"));
        assert!(out.row().iter().map(|(id, _)| id).eq([7]));
    }

    #[test]
    fn units_are_logarithms() {
        for tf in (0..3_000).chain([40_000, MOST - 1, MOST]) {
            let exact = 16.0 * f64::from(1 + tf).log2();
            assert_eq!(tf_units(tf), exact.round() as u32, "{tf}");
        }
        assert_eq!((tf_units(1), tf_units(3), tf_units(u32::MAX)), (16, 32, 256));
        assert!((log_tf_units(1) - 2f64.ln()).abs() < 1e-15);
    }
}
