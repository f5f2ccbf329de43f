use std::convert::Infallible;

use rayon::prelude::*;
use tamis_tokenizer::{CountRow, TermId};

use crate::logs::log_smoothed;
use crate::transform::{idf, log_documents, log_tf};
use crate::{ClassId, ClassTotals, Counts, Labelled, ParametersError, Smoothing, Statistics};

/// The score of mail: two-class log-odds in which rare terms weigh more and long documents no more than
/// short ones. Weighting happens only when scoring, so training stays counting.
///
/// With `s` and `h` the document frequencies of a term in the positive and in the other class, `S` and `H`
/// their sums over all terms, `V` the number of terms with counts, `N` the documents, `tf` how often the
/// document to score contains the term, and `a` the smoothing:
///
/// ```text
/// w = ln((s + a) / (S + aV)) - ln((h + a) / (H + aV))      the log-odds of the term, nats
/// v = ln(1 + tf) ln((N + 1) / (s + h))                     its weight in the document
/// score = sum(v w) / sqrt(sum(v v))
/// ```
///
/// Terms without counts are in neither sum. There is no prior: that belongs to calibration
/// ([`Platt`](crate::Platt)). Greater than 0 speaks for the positive class.
///
/// Source: term weights of Rennie, Shih, Teevan and Karger, "Tackling the Poor Assumptions of Naive Bayes
/// Text Classifiers" (2003), here on the document to score instead of the training data.
///
/// It is a few numbers and takes no time to make. The counts passed to a method must be those the totals
/// are of; with others the result is finite and means nothing.
///
/// ```
/// use tamis_model::{Counts, Smoothing, Statistics, WeightedLogOdds};
/// use tamis_tokenizer::CountVector;
///
/// let (ham, spam) = (0, 1);
/// let (meeting, offer) = (CountVector::from_pairs([(0, 1)])?, CountVector::from_pairs([(1, 2)])?);
/// let mut statistics = Statistics::new(2);
/// statistics.observe(ham, meeting.row())?;
/// statistics.observe(spam, offer.row())?;
///
/// let alpha = Smoothing::try_from(0.1)?;
/// let scorer = WeightedLogOdds::new(alpha, statistics.totals(), statistics.n_features() as u64, spam)?;
/// let Ok(score) = scorer.log_odds(&statistics, offer.row());
/// assert!((score.unwrap_or(0.0) - 11f64.ln()).abs() < 1e-12); // (1 + 0.1) / (0 + 0.1)
///
/// // Had the offer never been learned, nothing would be known about it.
/// assert_eq!(scorer.log_odds_left_out(&statistics, offer.row(), spam), Ok(None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightedLogOdds {
    alpha: f64,
    positive: ClassId,
    documents: u64,
    n_features: u64,
    /// Sums of the document frequencies of the other and the positive class: H and S.
    df: [u64; 2],
}

/// What scoring needs of a term with counts, see [`WeightedLogOdds::term`]; the default adds nothing to a score.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
pub struct TermWeight {
    /// ln(s + a) - ln(h + a), nats.
    log_ratio: f64,
    /// ln((N + 1) / (s + h)), not negative.
    idf: f64,
}

/// Sums over the known terms of a document.
#[derive(Default)]
struct Sums {
    /// v (ln(s + a) - ln(h + a))
    dot: f64,
    /// v
    weight: f64,
    /// v v
    square: f64,
    /// Whether there are any.
    known: bool,
    /// Terms that only the document left out has.
    own: u64,
}

/// A term to score.
#[derive(Clone, Copy)]
enum Term {
    /// No document has it.
    Unknown,
    /// Only the document left out has it.
    LeftOut,
    /// Others have it.
    Known(TermWeight),
}

impl Sums {
    #[inline]
    fn add(&mut self, term: TermWeight, tf: u32) {
        let v = log_tf(tf) * term.idf;
        self.dot += v * term.log_ratio;
        self.weight += v;
        self.square += v * v;
        self.known = true;
    }

    fn score(&self, log_totals: f64) -> Option<f64> {
        self.known.then(|| (self.dot + log_totals * self.weight) / norm(self.square))
    }
}

impl WeightedLogOdds {
    /// Takes what scoring needs from the totals of the two classes and `n_features`, the number of terms with
    /// counts ([`Statistics::n_features`](crate::Statistics::n_features)).
    ///
    /// # Errors
    /// Not exactly two classes, or a positive one that is neither; no smoothing at all.
    pub fn new(
        alpha: Smoothing,
        totals: &[ClassTotals],
        n_features: u64,
        positive: ClassId,
    ) -> Result<Self, ParametersError> {
        let (&[first, second], 0..=1) = (totals, positive) else {
            return Err(ParametersError::TwoClasses { expected: 2, got: totals.len(), positive });
        };
        if alpha == Smoothing::maximum_likelihood() {
            return Err(ParametersError::Smoothing { got: alpha.alpha() });
        }
        let (negative, own) = if positive == 1 { (first, second) } else { (second, first) };
        let documents = first.documents.saturating_add(second.documents);
        Ok(WeightedLogOdds {
            alpha: alpha.alpha(),
            positive,
            documents,
            n_features,
            df: [negative.df, own.df],
        })
    }

    /// The class that scores greater than 0 speak for.
    pub fn positive(&self) -> ClassId {
        self.positive
    }

    /// The score of a document in nats, never NaN or infinite; `None` when no term of it has counts, which
    /// is no evidence at all.
    ///
    /// # Errors
    /// Reading the counts fails.
    pub fn log_odds<C: Counts>(&self, counts: &C, row: CountRow<'_>) -> Result<Option<f64>, C::Error> {
        self.score(counts, row, [0, 0])
    }

    /// What scoring needs of a term, for those who meet it more than once; `None` if it has no counts.
    ///
    /// # Errors
    /// Reading the counts fails.
    pub fn term<C: Counts>(&self, counts: &C, term: TermId) -> Result<Option<TermWeight>, C::Error> {
        let df = self.document_frequencies(counts, term)?;
        Ok(match self.term_of(df, [0, 0], self.log_documents([0, 0])) {
            Term::Known(weight) => Some(weight),
            Term::LeftOut | Term::Unknown => None,
        })
    }

    /// [`log_odds`](Self::log_odds) of a document given as its known terms, in any order, with their occurrences.
    ///
    /// ```
    /// # use tamis_model::{Counts, Smoothing, Statistics, WeightedLogOdds};
    /// # use tamis_tokenizer::CountVector;
    /// # let documents = [[(0, 1), (1, 2)], [(1, 1), (2, 5)]];
    /// # let mut statistics = Statistics::new(2);
    /// # for (class, document) in (0..).zip(documents) {
    /// #     statistics.observe(class, CountVector::from_pairs(document)?.row())?;
    /// # }
    /// let scorer = WeightedLogOdds::new(Smoothing::LAPLACE, statistics.totals(), 3, 1)?;
    /// let document = CountVector::from_pairs([(1, 3), (2, 1)])?;
    /// let mut known = Vec::new();
    /// for (term, count) in document.row().iter() {
    ///     let Ok(weight) = scorer.term(&statistics, term);
    ///     known.extend(weight.map(|weight| (weight, count)));
    /// }
    /// assert_eq!(Ok(scorer.log_odds_of(known.into_iter())), scorer.log_odds(&statistics, document.row()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn log_odds_of(&self, terms: impl Iterator<Item = (TermWeight, u32)>) -> Option<f64> {
        let mut sums = Sums::default();
        terms.for_each(|(term, tf)| sums.add(term, tf));
        sums.score(self.log_totals(self.df, self.n_features))
    }

    /// The score that a learned document of the class `own` would get had it (one copy of it) never been
    /// learned: exactly that of a model trained without it. Such scores are what calibration and correction
    /// need, and this way they cost no second model.
    ///
    /// # Errors
    /// Reading the counts fails.
    pub fn log_odds_left_out<C: Counts>(
        &self,
        counts: &C,
        row: CountRow<'_>,
        own: ClassId,
    ) -> Result<Option<f64>, C::Error> {
        self.score(counts, row, if own == self.positive { [0, 1] } else { [1, 0] })
    }

    /// [`log_odds_left_out`](Self::log_odds_left_out) of many documents, in parallel in the current rayon pool: what
    /// depends on a term alone is settled once for all documents of a class.
    pub(crate) fn all_left_out(&self, counts: &Statistics, documents: &[Labelled<'_>]) -> Vec<Option<f64>> {
        let settled = [[1, 0], [0, 1]].map(|taken| {
            let log_documents = self.log_documents(taken);
            let settle = |term| {
                let Ok(df) = self.document_frequencies(counts, term);
                self.term_of(df, taken, log_documents)
            };
            let ids = 0..counts.n_terms() as TermId;
            (taken, ids.into_par_iter().map(settle).collect::<Vec<_>>())
        });
        let score = |document: &Labelled<'_>| {
            let (taken, terms) = &settled[usize::from(document.class == self.positive)];
            let term = |(id, tf): (TermId, u32)| {
                let term = terms.get(id as usize).copied().unwrap_or(Term::Unknown);
                Ok((term, tf))
            };
            let row = document.row;
            let Ok::<_, Infallible>(score) = self.score_terms(row.iter().map(term), row.len() as u64, *taken);
            score
        };
        documents.par_iter().map(score).collect()
    }

    /// Writes each known term of the document with what it adds to the score to `out`, in the order of the
    /// row; together they are [`log_odds`](Self::log_odds).
    ///
    /// # Errors
    /// Reading the counts fails; `out` then holds nothing of use.
    pub fn contributions<C: Counts>(
        &self,
        counts: &C,
        row: CountRow<'_>,
        out: &mut Vec<(TermId, f64)>,
    ) -> Result<(), C::Error> {
        out.clear();
        let log_documents = log_documents(self.documents);
        let log_totals = self.log_totals(self.df, self.n_features);
        let mut square = 0.0;
        for (term, tf) in row.iter() {
            let df = self.document_frequencies(counts, term)?;
            if df != [0, 0] {
                let v = weight(tf, df, log_documents);
                square += v * v;
                out.push((term, v * (self.log_ratio(df) + log_totals)));
            }
        }
        let norm = norm(square);
        out.iter_mut().for_each(|(_, share)| *share /= norm);
        Ok(())
    }

    /// The score with a document left out that counts once in each class where `taken` is 1.
    fn score<C: Counts>(
        &self,
        counts: &C,
        row: CountRow<'_>,
        taken: [u64; 2],
    ) -> Result<Option<f64>, C::Error> {
        let log_documents = self.log_documents(taken);
        let term = |(term, tf): (TermId, u32)| {
            let df = self.document_frequencies(counts, term)?;
            Ok((self.term_of(df, taken, log_documents), tf))
        };
        self.score_terms(row.iter().map(term), row.len() as u64, taken)
    }

    /// The score of a document of so many terms, given each with its occurrences.
    fn score_terms<E>(
        &self,
        terms: impl Iterator<Item = Result<(Term, u32), E>>,
        n_terms: u64,
        taken: [u64; 2],
    ) -> Result<Option<f64>, E> {
        let mut sums = Sums::default();
        for term in terms {
            let (term, tf) = term?;
            match term {
                Term::Known(term) => sums.add(term, tf),
                Term::LeftOut => sums.own += 1,
                Term::Unknown => (),
            }
        }
        let df = [0, 1].map(|c| self.df[c].saturating_sub(taken[c] * n_terms));
        let log_totals = self.log_totals(df, self.n_features.saturating_sub(sums.own));
        Ok(sums.score(log_totals))
    }

    /// A term of these document frequencies, with a document left out.
    fn term_of(&self, df: [u64; 2], taken: [u64; 2], log_documents: f64) -> Term {
        let left = [0, 1].map(|c| df[c].saturating_sub(taken[c]));
        if left != [0, 0] {
            let idf = idf(left[0] + left[1], log_documents);
            Term::Known(TermWeight { log_ratio: self.log_ratio(left), idf })
        } else if df != [0, 0] {
            Term::LeftOut
        } else {
            Term::Unknown
        }
    }

    /// ln(N + 1) with a document left out.
    fn log_documents(&self, taken: [u64; 2]) -> f64 {
        log_documents(self.documents.saturating_sub(taken[0] + taken[1]))
    }

    /// ln(H + aV) - ln(S + aV)
    fn log_totals(&self, df: [u64; 2], n_features: u64) -> f64 {
        // without features nothing is scored: any number of them will do
        let [other, positive] = df.map(|df| log_smoothed(df, self.alpha, n_features.max(1) as f64));
        other - positive
    }

    /// ln(s + a) - ln(h + a)
    fn log_ratio(&self, df: [u64; 2]) -> f64 {
        (df[1] as f64 + self.alpha).ln() - (df[0] as f64 + self.alpha).ln()
    }

    /// The document frequencies of a term in the other and the positive class.
    fn document_frequencies<C: Counts>(&self, counts: &C, term: TermId) -> Result<[u64; 2], C::Error> {
        let mut df = [0; 2];
        counts
            .for_each_cell(term, |cell| df[usize::from(cell.class == self.positive)] += u64::from(cell.df))?;
        Ok(df)
    }
}

/// ln(1 + tf) ln((N + 1) / df): not negative whatever a file says.
fn weight(tf: u32, df: [u64; 2], log_documents: f64) -> f64 {
    log_tf(tf) * idf(df[0] + df[1], log_documents)
}

/// What the sum of weighted log-odds is divided by; 1 if all weights are 0, as only impossible counts have it.
pub(crate) fn norm(square: f64) -> f64 {
    if square > 0.0 { square.sqrt() } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use tamis_tokenizer::CountVector;

    use super::*;
    use crate::{Cell, Statistics};

    fn row(pairs: &[(TermId, u32)]) -> CountVector {
        CountVector::from_pairs(pairs.iter().copied()).unwrap()
    }

    /// Ham, ham, spam, spam.
    fn statistics() -> Statistics {
        let documents = [
            (0, row(&[(0, 1), (1, 4)])),
            (0, row(&[(1, 1)])),
            (1, row(&[(1, 1), (2, 2)])),
            (1, row(&[(2, 1)])),
        ];
        let mut statistics = Statistics::new(2);
        documents.iter().for_each(|(class, row)| statistics.observe(*class, row.row()).unwrap());
        statistics
    }

    fn scorer(alpha: f64, statistics: &Statistics, positive: ClassId) -> WeightedLogOdds {
        let alpha = Smoothing::try_from(alpha).unwrap();
        WeightedLogOdds::new(alpha, statistics.totals(), statistics.n_features() as u64, positive).unwrap()
    }

    #[test]
    fn by_hand() {
        let (statistics, document) = (statistics(), row(&[(1, 3), (2, 1), (9, 5)]));
        let Ok(score) = scorer(0.5, &statistics, 1).log_odds(&statistics, document.row());
        // V = 3, N = 4, sums of df 3 and 3; term 1: h = 2, s = 1; term 2: h = 0, s = 2
        let w = [(1.5_f64 / 2.5).ln(), (2.5_f64 / 0.5).ln()];
        let v = [4f64.ln() * (5.0_f64 / 3.0).ln(), 2f64.ln() * (5.0_f64 / 2.0).ln()];
        let expected = (v[0] * w[0] + v[1] * w[1]) / (v[0] * v[0] + v[1] * v[1]).sqrt();
        assert!((score.unwrap() - expected).abs() < 1e-12);
        let Ok(other) = scorer(0.5, &statistics, 0).log_odds(&statistics, document.row());
        assert!((other.unwrap() + expected).abs() < 1e-12);
    }

    #[test]
    fn nothing_known_is_no_evidence() {
        let statistics = statistics();
        let scorer = scorer(0.1, &statistics, 1);
        for document in [row(&[]), row(&[(7, 1)])] {
            assert_eq!(scorer.log_odds(&statistics, document.row()), Ok(None));
            let mut out = vec![(1, 1.0)];
            let Ok(()) = scorer.contributions(&statistics, document.row(), &mut out);
            assert_eq!(out, []);
        }
        // term 0 is the document's own
        assert_eq!(scorer.log_odds_left_out(&statistics, row(&[(0, 1)]).row(), 0), Ok(None));
    }

    #[test]
    fn many_left_out_as_one_by_one() {
        let statistics = statistics();
        // the last two were never learned
        let rows = [&[(0, 1), (1, 4)][..], &[(2, 1)], &[], &[(0, 70), (2, 64), (9, 1)], &[(0, 63)]];
        let rows = rows.map(row);
        for positive in [0, 1] {
            let scorer = scorer(0.1, &statistics, positive);
            for class in [0, 1] {
                let documents: Vec<_> = rows
                    .iter()
                    .map(|row| Labelled { row: row.row(), class, multiplicity: 1, group: 0 })
                    .collect();
                let one = |d: &Labelled<'_>| scorer.log_odds_left_out(&statistics, d.row, class);
                let expected: Result<Vec<_>, _> = documents.iter().map(one).collect();
                assert_eq!(Ok(scorer.all_left_out(&statistics, &documents)), expected);
            }
        }
    }

    #[test]
    fn classes_are_checked() {
        let new = |n, positive| {
            WeightedLogOdds::new(Smoothing::LAPLACE, &vec![ClassTotals::default(); n], 0, positive)
        };
        assert!(new(2, 0).is_ok() && new(2, 1).is_ok());
        for (n, positive) in [(0, 0), (1, 0), (3, 1), (2, 2)] {
            let error = Err(ParametersError::TwoClasses { expected: 2, got: n, positive });
            assert_eq!(new(n, positive), error);
        }
    }

    /// Counts that no documents have.
    struct Impossible;

    impl Counts for Impossible {
        type Error = Infallible;

        fn totals(&self) -> &[ClassTotals] {
            &[ClassTotals { documents: 1, df: 0, tf: 0 }; 2]
        }

        fn n_terms(&self) -> usize {
            2
        }

        fn for_each_cell(&self, _: TermId, mut visit: impl FnMut(Cell)) -> Result<(), Infallible> {
            (0..3).for_each(|class| visit(Cell { class, df: u32::MAX, tf: u32::MAX }));
            Ok(())
        }
    }

    #[test]
    fn never_nan() {
        let document = row(&[(0, 1), (1, u32::MAX)]);
        for alpha in [f64::MIN_POSITIVE, 1e-300, 1.0, f64::MAX] {
            for n_features in [0, 1, u64::MAX] {
                let alpha = Smoothing::try_from(alpha).unwrap();
                let scorer = WeightedLogOdds::new(alpha, Impossible.totals(), n_features, 1).unwrap();
                let Ok(score) = scorer.log_odds(&Impossible, document.row());
                let Ok(left_out) = scorer.log_odds_left_out(&Impossible, document.row(), 0);
                assert!(score.unwrap().is_finite() && left_out.unwrap().is_finite());
            }
        }
        let statistics = statistics();
        for alpha in [5e-324, f64::MAX] {
            let Ok(score) = scorer(alpha, &statistics, 1).log_odds(&statistics, document.row());
            assert!(score.unwrap().is_finite());
        }
    }
}
