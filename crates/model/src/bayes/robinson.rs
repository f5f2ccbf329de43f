//! Robinson's probabilities of single terms, combined by Fisher's method: the score of bogofilter.

use serde::{Deserialize, Serialize};
use tamis_tokenizer::{CountRow, TermId};

use crate::bayes::error::ParametersError;
use crate::counts::{ClassId, ClassTotals, DocumentSums, KnownTerm, KnownTerms, TermEntry};
use crate::numbers::{ln_gamma, log_sum_exp};

/// The parameters of Robinson's term probabilities, for two classes. By default those of bogofilter.
///
/// Let `n` be the number of documents that contain a term, `a` the share of positive documents that do, and `b` the
/// share of negative ones:
///
/// ```text
/// f = (s x + n a / (a + b)) / (s + n)            the term's probability of the positive class
/// P = -2 sum(ln f),  Q = -2 sum(ln(1 - f))       over the K terms with |f - 0.5| >= min_dev
/// p = chi2(P, 2K),  q = chi2(Q, 2K)              the probability of a larger sum by chance
/// S = (1 + p - q) / 2                            x if K = 0
/// ```
///
/// The log-odds of a document are `ln(S / (1 - S))`, computed so that they stay exact even where `S` rounds to 0 or 1.
///
/// Source: Gary Robinson, "A statistical approach to the spam problem", Linux Journal 107 (2003).
///
/// | Name | Default | Purpose | Range |
/// | --- | --- | --- | --- |
/// | `robs` | 0.0178 | s: the weight of `robx` relative to the counts, in documents | 1e-9 to 1e9 |
/// | `robx` | 0.52 | x: the probability of a term without counts | 1e-9 to 1 - 1e-9 |
/// | `min_dev` | 0.375 | terms nearer to 0.5 are left out | 0 to below 0.5 |
///
/// ```
/// use tamis_model::{CorrectedStatistics, Counts, RobinsonFisher, Statistics};
/// use tamis_tokenizer::CountVector;
///
/// let mut statistics = Statistics::new(2);
/// for (class, terms) in [(0, [(0, 1), (2, 1)]), (1, [(1, 1), (2, 1)])] {
///     statistics.observe(class, CountVector::from_pairs(terms)?.row())?;
/// }
/// let scorer = RobinsonFisher::default().scorer(statistics.totals(), 1)?;
/// let document = CountVector::from_pairs([(1, 3), (2, 1)])?;
/// let mut contributions = Vec::new();
/// let terms = &mut CorrectedStatistics::new(&statistics, None);
/// let Ok(intercept) = scorer.contributions(terms, document.row(), &mut contributions);
/// // of one positive document and no negative one; the other term is in both, and left out
/// let f: f64 = (0.0178 * 0.52 + 1.0) / 1.0178;
/// assert!((intercept + contributions[0].1 - (f / (1.0 - f)).ln()).abs() < 1e-12);
/// assert_eq!(contributions[1], (2, 0.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RobinsonFisher {
    /// The weight of `robx` relative to the counts of a term, in documents.
    pub robs: f64,
    /// The probability of a term without counts, and of a document without evidence.
    pub robx: f64,
    /// Minimum distance of a term's probability from 0.5; terms nearer to it are left out.
    pub min_dev: f64,
}

impl Default for RobinsonFisher {
    fn default() -> Self {
        RobinsonFisher { robs: 0.0178, robx: 0.52, min_dev: 0.375 }
    }
}

/// Smallest `robs`, and smallest distance of `robx` from 0 and 1: keeps every logarithm finite.
const LEAST: f64 = 1e-9;

impl RobinsonFisher {
    /// Checks that all parameters are in range.
    ///
    /// # Errors
    /// The first parameter that is out of its range.
    pub fn check(&self) -> Result<(), ParametersError> {
        let checks = [
            ("robs", "1e-9 to 1e9", self.robs, LEAST..=1.0 / LEAST),
            ("robx", "1e-9 to 1 - 1e-9", self.robx, LEAST..=1.0 - LEAST),
            ("min_dev", "0 to below 0.5", self.min_dev, 0.0..=0.5 - LEAST),
        ];
        match checks.into_iter().find(|(_, _, got, range)| !range.contains(got)) {
            Some((name, expected, got, _)) => Err(ParametersError::OutOfRange { name, expected, got }),
            None => Ok(()),
        }
    }

    /// Returns a scorer for two classes with these `totals`. Its log-odds are those of the class `positive`.
    ///
    /// # Errors
    /// Parameters out of range; not exactly two classes; a `positive` that is neither of them.
    pub fn scorer(
        &self,
        totals: &[ClassTotals],
        positive: ClassId,
    ) -> Result<RobinsonScorer, ParametersError> {
        self.check()?;
        let [first, second] = totals else {
            return Err(ParametersError::TwoClasses { expected: 2, got: totals.len(), positive });
        };
        let [first, second] = [first, second].map(|totals| totals.documents.max(1) as f64);
        let documents = match positive {
            0 => [second, first],
            1 => [first, second],
            _ => return Err(ParametersError::TwoClasses { expected: 2, got: 2, positive }),
        };
        Ok(RobinsonScorer { parameters: *self, documents, positive })
    }
}

/// Scores documents by the method of [`RobinsonFisher`].
#[derive(Clone, Debug, PartialEq)]
pub struct RobinsonScorer {
    parameters: RobinsonFisher,
    /// Documents of the negative and the positive class, each at least 1.
    documents: [f64; 2],
    positive: ClassId,
}

impl RobinsonScorer {
    /// The class whose log-odds are computed.
    pub fn positive(&self) -> ClassId {
        self.positive
    }

    /// The number of [`DocumentSums`] that the scorer needs: one for each of the two logarithms, and one for the number
    /// of terms.
    pub fn n_sums(&self) -> usize {
        3
    }

    /// `ln f` and `ln(1 - f)` of a term; `None` if it has no counts or is left out.
    fn evidence(&self, term: KnownTerm<'_>) -> Option<[f64; 2]> {
        let RobinsonFisher { robs, robx, min_dev } = self.parameters;
        let mut counts = [0.0; 2];
        for cell in term.cells {
            counts[usize::from(cell.class == self.positive)] += f64::from(cell.df);
        }
        let n = counts[0] + counts[1];
        let shares = [counts[0] / self.documents[0], counts[1] / self.documents[1]];
        let drawn = |x: f64, share: f64| (robs * x + n * share / (shares[0] + shares[1])) / (robs + n);
        let [not_f, f] = [drawn(1.0 - robx, shares[0]), drawn(robx, shares[1])];
        // rounding must not exclude a term exactly at the limit
        (n > 0.0 && (f - 0.5).abs() >= min_dev - 1e-12).then(|| [f.ln(), not_f.ln()])
    }

    /// The log-odds of the positive class for a document with this term only; `None` if the term is left out.
    pub fn term_weight(&self, term: KnownTerm<'_>) -> Option<f64> {
        self.evidence(term).map(|[ln_f, ln_not_f]| ln_f - ln_not_f)
    }

    /// Writes the weights of a term to `out`.
    pub fn weigh_term(&self, term: KnownTerm<'_>, out: &mut TermEntry) {
        out.clear();
        out.is_known = !term.cells.is_empty();
        if let Some([ln_f, ln_not_f]) = self.evidence(term) {
            out.weight = 1.0;
            out.cells.extend([(0, ln_f), (1, ln_not_f), (2, 1.0)]);
        }
    }

    /// The log-odds (nats) of the positive class, from the sums over a document's terms, and the number of its known
    /// terms.
    pub fn log_odds(&self, sums: &DocumentSums) -> (f64, usize) {
        let sum = |at: usize| sums.columns.get(at).copied().unwrap_or(0.0);
        (self.combined([sum(0), sum(1)], sum(2)), sums.scalars.known)
    }

    /// ln(S / (1 - S)), from the sums of `ln f` and `ln(1 - f)` over `n` terms.
    fn combined(&self, [ln_f, ln_not_f]: [f64; 2], n: f64) -> f64 {
        if n < 1.0 {
            let robx = self.parameters.robx;
            return (robx / (1.0 - robx)).ln();
        }
        let [p, not_p] = log_tails(-ln_f, n);
        let [q, not_q] = log_tails(-ln_not_f, n);
        log_sum_exp(&[p, not_q]) - log_sum_exp(&[q, not_p])
    }

    /// Writes each known term of the document to `out`, in order, with its contribution to the log-odds of the positive
    /// class: how much lower they would be without the term. Returns the log-odds minus all contributions.
    ///
    /// # Errors
    /// Reading a term fails; the contents of `out` are then undefined.
    pub fn contributions<T: KnownTerms>(
        &self,
        terms: &mut T,
        row: CountRow<'_>,
        out: &mut Vec<(TermId, f64)>,
    ) -> Result<f64, T::Error> {
        out.clear();
        let (mut evidence, mut sums, mut n) = (Vec::new(), [0.0; 2], 0.0);
        for id in row.ids() {
            let term = terms.term(*id)?;
            if term.cells.is_empty() {
                continue;
            }
            let both = self.evidence(term);
            if let Some([ln_f, ln_not_f]) = both {
                (sums, n) = ([sums[0] + ln_f, sums[1] + ln_not_f], n + 1.0);
            }
            out.push((*id, 0.0));
            evidence.push(both);
        }
        let all = self.combined(sums, n);
        for ((_, contribution), both) in out.iter_mut().zip(evidence) {
            if let Some([ln_f, ln_not_f]) = both {
                *contribution = all - self.combined([sums[0] - ln_f, sums[1] - ln_not_f], n - 1.0);
            }
        }
        Ok(all - out.iter().map(|(_, contribution)| contribution).sum::<f64>())
    }
}

/// The logarithms of both tails of the chi-squared distribution with `2n` degrees of freedom at `2m`, the upper one
/// first: the probabilities that a Poisson variable with mean `m` is below `n`, and that it is not.
fn log_tails(m: f64, n: f64) -> [f64; 2] {
    // rounding can make `m`, a sum of logarithms, slightly negative
    let m = m.max(0.0);
    let is_lower = m < n;
    // from n - 1 down for the upper tail, from n up for the lower one: either way the terms decrease
    let mut i = if is_lower { n } else { n - 1.0 };
    let first = if i == 0.0 { -m } else { i * m.ln() - m - ln_gamma(i + 1.0) };
    let (mut term, mut sum) = (1.0, 0.0);
    while term > f64::EPSILON * sum {
        sum += term;
        if is_lower {
            i += 1.0;
            term *= m / i;
        } else {
            term *= i / m;
            i -= 1.0;
        }
    }
    let tail = (first + f64::ln(sum)).min(0.0);
    let other = (-tail.exp()).ln_1p();
    if is_lower { [other, tail] } else { [tail, other] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::Cell;
    use proptest::prelude::*;

    fn scorer(documents: [u64; 2]) -> RobinsonScorer {
        let totals = documents.map(|documents| ClassTotals { documents, df: 0, tf: 0 });
        RobinsonFisher::default().scorer(&totals, 1).unwrap()
    }

    fn score(scorer: &RobinsonScorer, terms: &[[u32; 2]]) -> f64 {
        let (mut entry, mut sums) = (TermEntry::default(), DocumentSums::default());
        sums.begin(scorer.n_sums());
        for counts in terms {
            let cell = |(class, df): (ClassId, u32)| Cell { class, df, tf: df };
            let cells: Vec<_> = (0..).zip(*counts).filter(|(_, df)| *df > 0).map(cell).collect();
            scorer.weigh_term(KnownTerm { cells: &cells, weights: &[] }, &mut entry);
            sums.add(&entry, 1.0);
        }
        scorer.log_odds(&sums).0
    }

    /// The expected values are what bogofilter 1.2.5 prints for messages of words with these counts, after 80 ham and
    /// 80 spam messages.
    #[test]
    fn spamicities_are_those_of_bogofilter() {
        let scorer = scorer([80, 80]);
        let spamicity = |terms: &[[u32; 2]]| 1.0 / (1.0 + (-score(&scorer, terms)).exp());
        for (terms, expected) in [
            (&[[1, 0]][..], 0.009_094_124_582_432_7),
            (&[[0, 4]], 0.997_873_463_089_252_7),
            (&[[80, 80]], 0.52),
            (&[[0, 1], [1, 0]], 0.501_660_862_647_245_6),
            (&[[40, 2], [2, 40], [0, 4]], 0.698_946_411_840_683_6),
            (&[[60, 5], [0, 1]], 0.613_736_208_755_735_8),
            (&[[0, 1], [0, 1]], 0.999_557_640_873_354_7),
            (&[[40, 2], [40, 2], [7, 1], [0, 80]], 0.526_667_042_527_514_4),
            (&[[30, 60], [0, 80], [1, 0]], 0.525_379_380_946_953_3),
        ] {
            assert!((spamicity(terms) - expected).abs() < 1e-12, "{terms:?}: {}", spamicity(terms));
        }
    }

    #[test]
    fn certain_documents_have_exact_log_odds() {
        let scorer = scorer([80, 80]);
        let [spam, more] = [200, 2_000].map(|n| score(&scorer, &vec![[0, 4]; n]));
        assert!(spam > 500.0 && more > 9.0 * spam && more.is_finite(), "{spam} {more}");
        // robx is not 0.5, so ham is not exactly the mirror image
        assert!(score(&scorer, &vec![[4, 0]; 2_000]) < -9.0 * spam);
    }

    #[test]
    fn parameters_are_checked() {
        let good = RobinsonFisher::default();
        for bad in [
            RobinsonFisher { robs: 0.0, ..good },
            RobinsonFisher { robs: f64::INFINITY, ..good },
            RobinsonFisher { robx: 1.0, ..good },
            RobinsonFisher { min_dev: f64::NAN, ..good },
            RobinsonFisher { min_dev: 0.5, ..good },
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
        assert_eq!(good.check(), Ok(()));
        let totals = [ClassTotals::default(); 3];
        assert!(good.scorer(&totals, 1).is_err() && good.scorer(&totals[..2], 2).is_err());
    }

    proptest! {
        #[test]
        fn tails_are_those_of_the_sum(n in 1..200_u32, m in 0.0..300.0) {
            let term = |i: u32| f64::from(i) * f64::ln(m) - m - ln_gamma(f64::from(i) + 1.0);
            let upper = log_sum_exp(&(0..n).map(|i| if i == 0 { -m } else { term(i) }).collect::<Vec<_>>());
            let lower = log_sum_exp(&(n..n + 2_000).map(term).collect::<Vec<_>>());
            let tails = log_tails(m, n.into());
            for (tail, expected) in tails.iter().zip([upper, lower]) {
                prop_assert!((tail.exp() - expected.exp()).abs() < 1e-9, "{tails:?} {upper} {lower}");
            }
            // the smaller tail is exact to the last digits
            let smaller = tails[0].min(tails[1]);
            prop_assert!((smaller - upper.min(lower)).abs() < 1e-8 * (1.0 + smaller.abs()), "{tails:?} {upper} {lower}");
        }

        #[test]
        fn log_odds_are_finite(terms in prop::collection::vec([0..=80_u32, 0..=80_u32], 0..300)) {
            prop_assert!(score(&scorer([80, 80]), &terms).is_finite());
            prop_assert!(score(&scorer([0, 80]), &terms).is_finite());
        }
    }
}
