use tamis_tokenizer::{CountRow, TermId};

use crate::logs::log_smoothed;
use crate::transform::{idf, log_documents, log_tf};
use crate::{ClassId, ClassTotals, Counts, ParametersError, Smoothing};

/// The score of topics: for each class the log-odds of the class against all others, in which rare terms weigh
/// more and long documents no more than short ones. [`WeightedLogOdds`](crate::WeightedLogOdds) for any number
/// of classes; weighting happens only when scoring, so training stays counting.
///
/// With `n` the document frequency of a term in a class, `N` the sum of the class's document frequencies, `r`
/// and `R` the same of all other classes together, `V` the number of terms with counts, `M` the documents, `tf`
/// how often the document to score contains the term, and `a` the smoothing:
///
/// ```text
/// w = ln((n + a) / (N + aV)) - ln((r + a) / (R + aV))      the log-odds of the term for the class, nats
/// i = ln((M + 1) / (n + r)),  v = ln(1 + tf) i             its weight in the document
/// score = sum(v w) / sqrt(sum(v v))
/// ```
///
/// With a [`ClassCorrection`](crate::ClassCorrection), `w` is replaced by `mix w + i u`, with the correction's weight `u` for the term and
/// the class. Terms without counts are in neither sum. There is no prior: that belongs to calibration
/// ([`Temperature`](crate::Temperature)).
///
/// A class without a term shares `ln a - ln(n + r + a)` with all classes that lack it, so the work for a document
/// grows with the cells of its terms, plus one number a class.
///
/// Source: Rennie, Shih, Teevan and Karger, "Tackling the Poor Assumptions of Naive Bayes Text Classifiers"
/// (2003): one-versus-all-but-one weights and their document transforms, here on the document to score.
///
/// ```
/// use tamis_model::{Counts, OneAgainstRest, Smoothing, Statistics};
/// use tamis_tokenizer::CountVector;
///
/// let rows = [[(0, 1), (3, 1)], [(1, 2), (3, 1)], [(2, 1), (3, 2)]].map(CountVector::from_pairs);
/// let mut statistics = Statistics::new(3);
/// for (class, row) in (0..).zip(rows) {
///     statistics.observe(class, row?.row())?;
/// }
/// let alpha = Smoothing::try_from(0.1)?;
/// let scorer = OneAgainstRest::new(alpha, statistics.totals(), statistics.n_features() as u64)?;
/// let mut scores = Vec::new();
/// let Ok(known) = scorer.scores(&statistics, CountVector::from_pairs([(1, 1), (9, 1)])?.row(), &mut scores);
/// assert_eq!(known, 1);
/// assert!(scores[1] > 0.0 && scores[0] < 0.0 && scores[2] < 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct OneAgainstRest {
    alpha: f64,
    documents: u64,
    n_features: u64,
    /// The sum of the document frequencies of each class, and of all.
    df: Vec<u64>,
    all_df: u64,
    /// ln(R + aV) - ln(N + aV), one a class.
    log_totals: Vec<f64>,
    /// ln(n + a) for the first n, which are most of them.
    logs: Box<[f64]>,
}

/// How many logarithms are worth keeping.
const LOGS: usize = 1024;

/// The weights of a correction as something to read, in memory or in a mapped file.
pub trait ClassWeights {
    /// What reading can fail with.
    type Error;

    /// Visits the weights of a term, in increasing class order, as real numbers.
    ///
    /// # Errors
    /// Whatever reading fails with.
    fn for_each_weight(&self, term: TermId, visit: impl FnMut(ClassId, f64)) -> Result<(), Self::Error>;
}

/// A correction, and the share of the uncorrected weights beside it.
struct Corrected<'a, W> {
    weights: &'a W,
    mix: f64,
}

impl OneAgainstRest {
    /// Takes what scoring needs from the totals of the classes and `n_features`, the number of terms with counts
    /// ([`Statistics::n_features`](crate::Statistics::n_features)).
    ///
    /// # Errors
    /// No classes; no smoothing.
    pub fn new(alpha: Smoothing, totals: &[ClassTotals], n_features: u64) -> Result<Self, ParametersError> {
        if totals.is_empty() {
            return Err(ParametersError::NoClasses);
        }
        if alpha == Smoothing::maximum_likelihood() {
            return Err(ParametersError::Smoothing { got: alpha.alpha() });
        }
        let sum = |of: fn(&ClassTotals) -> u64| totals.iter().map(of).fold(0, u64::saturating_add);
        let mut scorer = OneAgainstRest {
            alpha: alpha.alpha(),
            documents: sum(|t| t.documents),
            n_features,
            df: totals.iter().map(|t| t.df).collect(),
            all_df: sum(|t| t.df),
            log_totals: Vec::new(),
            logs: (0..LOGS).map(|n| (n as f64 + alpha.alpha()).ln()).collect(),
        };
        scorer.log_totals = scorer.log_totals(None);
        Ok(scorer)
    }

    /// The number of classes, at least 1.
    pub fn n_classes(&self) -> usize {
        self.df.len()
    }

    /// M
    pub(crate) fn documents(&self) -> u64 {
        self.documents
    }

    /// Writes the score of each class (nats, never NaN or infinite) to `out`; returns how many distinct terms of
    /// the document have counts. With none of them all scores are 0: no evidence at all.
    ///
    /// # Errors
    /// Reading the counts fails; `out` then holds nothing of use.
    pub fn scores<C: Counts>(
        &self,
        counts: &C,
        row: CountRow<'_>,
        out: &mut Vec<f64>,
    ) -> Result<usize, C::Error> {
        Ok(self.score(counts, None::<Corrected<'_, NoWeights<C::Error>>>, row, None, out)?.known)
    }

    /// As [`scores`](Self::scores), corrected: `mix` is the share of the uncorrected log-odds.
    ///
    /// # Errors
    /// Reading the counts or the weights fails.
    pub fn corrected_scores<C: Counts, W: ClassWeights<Error = C::Error>>(
        &self,
        counts: &C,
        weights: &W,
        mix: f64,
        row: CountRow<'_>,
        out: &mut Vec<f64>,
    ) -> Result<usize, C::Error> {
        Ok(self.score(counts, Some(Corrected { weights, mix }), row, None, out)?.known)
    }

    /// The scores that a learned document of the class `own` would get had it (one copy of it) never been
    /// learned: exactly those of a model trained without it. Returns how many of its terms other documents have.
    ///
    /// # Errors
    /// Reading the counts fails.
    pub fn scores_left_out<C: Counts>(
        &self,
        counts: &C,
        row: CountRow<'_>,
        own: ClassId,
        out: &mut Vec<f64>,
    ) -> Result<usize, C::Error> {
        Ok(self.score(counts, None::<Corrected<'_, NoWeights<C::Error>>>, row, Some(own), out)?.known)
    }

    /// Writes to `out` each known term of the document, in its order, with what it adds to the score of the class
    /// `of` less that of the class `against`; together they are the difference of the two [`scores`](Self::scores),
    /// or [corrected](Self::corrected_scores) ones with the weights and the mix of a correction.
    ///
    /// # Errors
    /// Reading the counts or the weights fails; `out` then holds nothing of use.
    pub fn contributions<C: Counts, W: ClassWeights<Error = C::Error>>(
        &self,
        counts: &C,
        correction: Option<(&W, f64)>,
        row: CountRow<'_>,
        [of, against]: [ClassId; 2],
        out: &mut Vec<(TermId, f64)>,
    ) -> Result<(), C::Error> {
        out.clear();
        let correction = correction.map(|(weights, mix)| Corrected { weights, mix });
        let total = |class: ClassId| self.log_totals.get(usize::from(class)).copied().unwrap_or(0.0);
        let class_part = correction.as_ref().map_or(1.0, |c| c.mix) * (total(of) - total(against));
        let mut sums = self.sums(None);
        for (term, tf) in row.iter() {
            let mut share = 0.0;
            let v = self.term(counts, correction.as_ref(), (term, tf), None, &mut sums, |class, part| {
                if class == of {
                    share += part;
                }
                if class == against {
                    share -= part;
                }
            })?;
            if let Some(v) = v {
                out.push((term, share + v * class_part));
            }
        }
        let norm = sums.norm();
        out.iter_mut().for_each(|(_, share)| *share /= norm);
        Ok(())
    }

    fn score<C: Counts, W: ClassWeights<Error = C::Error>>(
        &self,
        counts: &C,
        correction: Option<Corrected<'_, W>>,
        row: CountRow<'_>,
        own: Option<ClassId>,
        out: &mut Vec<f64>,
    ) -> Result<Sums, C::Error> {
        out.clear();
        out.resize(self.n_classes(), 0.0);
        let mut sums = self.sums(own);
        for term in row.iter() {
            self.term(counts, correction.as_ref(), term, own, &mut sums, |class, part| {
                if let Some(out) = out.get_mut(usize::from(class)) {
                    *out += part;
                }
            })?;
        }
        let left_out = own.map(|own| self.log_totals(Some((own, row.len() as u64, sums.own))));
        let log_totals = left_out.as_ref().unwrap_or(&self.log_totals);
        let mix = correction.as_ref().map_or(1.0, |c| c.mix);
        for (out, log_totals) in out.iter_mut().zip(log_totals) {
            *out = (*out + mix * (sums.absent + sums.weight * log_totals)) / sums.norm();
        }
        Ok(sums)
    }

    /// Adds a term to the sums and visits what it adds besides to single classes. Returns v; `None`, and nothing is
    /// added, if no document (but one left out of the class `own`) has the term.
    fn term<C: Counts, W: ClassWeights<Error = C::Error>>(
        &self,
        counts: &C,
        correction: Option<&Corrected<'_, W>>,
        (term, tf): (TermId, u32),
        own: Option<ClassId>,
        sums: &mut Sums,
        mut visit: impl FnMut(ClassId, f64),
    ) -> Result<Option<f64>, C::Error> {
        let one = u64::from(own.is_some());
        let df = counts.document_frequency(term)?;
        let left = df.saturating_sub(one);
        if left == 0 {
            sums.own += u64::from(df > 0);
            return Ok(None);
        }
        let idf = idf(left, sums.log_documents);
        let v = log_tf(tf) * idf;
        let absent = self.log(0) - self.log(left);
        sums.add(v, absent);
        let mix = correction.map_or(1.0, |c| c.mix);
        counts.for_each_cell(term, |cell| {
            let n = u64::from(cell.df).saturating_sub(u64::from(own == Some(cell.class)));
            visit(cell.class, mix * v * (self.log(n) - self.log(left.saturating_sub(n)) - absent));
        })?;
        if let Some(correction) = correction {
            correction.weights.for_each_weight(term, |class, weight| visit(class, v * idf * weight))?;
        }
        Ok(Some(v))
    }

    /// ln(R + aV) - ln(N + aV), one a class; without a document of a class, of so many terms, and so many terms that
    /// only it has.
    pub(crate) fn log_totals(&self, without: Option<(ClassId, u64, u64)>) -> Vec<f64> {
        let (own, n_terms, own_terms) =
            without.map_or((None, 0, 0), |(own, n_terms, own_terms)| (Some(own), n_terms, own_terms));
        // without features nothing is scored: any number of them will do
        let n_features = self.n_features.saturating_sub(own_terms).max(1) as f64;
        let all = self.all_df.saturating_sub(n_terms);
        let log = |df: u64| log_smoothed(df, self.alpha, n_features);
        let of_class = |(class, &df): (ClassId, &u64)| {
            let df = if own == Some(class) { df.saturating_sub(n_terms) } else { df };
            log(all.saturating_sub(df)) - log(df)
        };
        (0..=ClassId::MAX).zip(&self.df).map(of_class).collect()
    }

    /// Nothing added up yet, for a document of the class `own` left out.
    fn sums(&self, own: Option<ClassId>) -> Sums {
        let documents = self.documents.saturating_sub(u64::from(own.is_some()));
        Sums { log_documents: log_documents(documents), ..Sums::default() }
    }

    /// ln(n + a)
    pub(crate) fn log(&self, n: u64) -> f64 {
        let kept = usize::try_from(n).ok().and_then(|n| self.logs.get(n));
        kept.copied().unwrap_or_else(|| (n as f64 + self.alpha).ln())
    }
}

/// Sums over the known terms of a document.
#[derive(Default)]
struct Sums {
    /// ln(M + 1)
    log_documents: f64,
    /// v (ln a - ln(n + r + a))
    absent: f64,
    /// v
    weight: f64,
    /// v v
    square: f64,
    known: usize,
    /// Terms that only the document left out has.
    own: u64,
}

impl Sums {
    fn add(&mut self, v: f64, absent: f64) {
        self.absent += v * absent;
        self.weight += v;
        self.square += v * v;
        self.known += 1;
    }

    fn norm(&self) -> f64 {
        crate::weighted::norm(self.square)
    }
}

/// No correction.
struct NoWeights<E>(std::marker::PhantomData<E>);

impl<E> ClassWeights for NoWeights<E> {
    type Error = E;

    fn for_each_weight(&self, _: TermId, _: impl FnMut(ClassId, f64)) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tamis_tokenizer::CountVector;

    use super::*;
    use crate::{ClassCorrection, ClassWeight, Statistics, WeightedLogOdds};

    type Documents = Vec<(ClassId, CountVector)>;

    fn documents(n_classes: ClassId) -> impl Strategy<Value = Documents> {
        let row = proptest::collection::btree_map(0u32..12, 1u32..5, 0..8);
        let row = row.prop_map(|row| CountVector::from_pairs(row).unwrap());
        proptest::collection::vec((0..n_classes, row), 1..20)
    }

    fn learned(documents: &[(ClassId, CountVector)], n_classes: usize) -> Statistics {
        let mut statistics = Statistics::new(n_classes);
        documents.iter().for_each(|(class, row)| statistics.observe(*class, row.row()).unwrap());
        statistics
    }

    fn scorer(statistics: &Statistics) -> OneAgainstRest {
        let alpha = Smoothing::try_from(0.3).unwrap();
        OneAgainstRest::new(alpha, statistics.totals(), statistics.n_features() as u64).unwrap()
    }

    fn close(a: &[f64], b: &[f64]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + b.abs()))
    }

    /// The formula as it stands above, over all classes and terms.
    fn dense(statistics: &Statistics, correction: &ClassCorrection, mix: f64, row: CountRow<'_>) -> Vec<f64> {
        let (a, n_features) = (0.3, statistics.n_features() as f64);
        let all: f64 = statistics.totals().iter().map(|t| t.df as f64).sum();
        let documents: f64 = statistics.totals().iter().map(|t| t.documents as f64).sum();
        let score = |(class, totals): (u16, &ClassTotals)| {
            let (mut dot, mut square, own) = (0.0, 0.0, totals.df as f64);
            for (term, tf) in row.iter().filter(|(term, _)| statistics.document_frequency(*term) > 0) {
                let df = statistics.document_frequency(term) as f64;
                let n = statistics.cells(term).find(|c| c.class == class).map_or(0.0, |c| f64::from(c.df));
                let w = ((n + a) / (own + a * n_features)).ln()
                    - ((df - n + a) / (all - own + a * n_features)).ln();
                let i = ((documents + 1.0) / df).ln();
                let u: f64 = correction.weights(term).filter(|w| w.class == class).map(|w| w.value()).sum();
                let v = f64::from(1 + tf).ln() * i;
                dot += v * (mix * w + i * u);
                square += v * v;
            }
            if square > 0.0 { dot / square.sqrt() } else { dot }
        };
        (0..).zip(statistics.totals()).map(score).collect()
    }

    proptest! {
        #[test]
        fn as_the_formula_has_it(
            documents in documents(5),
            test in documents(1),
            weights in proptest::collection::vec((0u32..12, 0u16..5, -200_000i32..200_000), 0..30),
        ) {
            let statistics = learned(&documents, 5);
            let scorer = scorer(&statistics);
            let mut correction = ClassCorrection::new();
            for (term, class, units) in weights {
                let row = CountVector::from_pairs([(term, 1)]).unwrap();
                correction.add(row.row(), ClassWeight { class, units }).unwrap();
            }
            let (mut scores, mut shares) = (Vec::new(), Vec::new());
            for (_, row) in documents.iter().chain(&test) {
                let Ok(known) = scorer.scores(&statistics, row.row(), &mut scores);
                prop_assert!(close(&scores, &dense(&statistics, &ClassCorrection::new(), 1.0, row.row())));
                let Ok(same) = scorer.corrected_scores(&statistics, &correction, 0.3, row.row(), &mut scores);
                prop_assert!(close(&scores, &dense(&statistics, &correction, 0.3, row.row())));
                let corrected = Some((&correction, 0.3));
                let Ok(()) = scorer.contributions(&statistics, corrected, row.row(), [2, 4], &mut shares);
                let sum: f64 = shares.iter().map(|(_, share)| share).sum();
                prop_assert!(close(&[sum], &[scores[2] - scores[4]]));
                prop_assert_eq!((known, known), (same, shares.len()));
                let Ok(()) = scorer.contributions(&statistics, corrected, row.row(), [3, 3], &mut shares);
                prop_assert!(shares.iter().all(|(_, share)| *share == 0.0), "{:?}", shares);
            }
        }

        #[test]
        fn left_out_is_never_learned(documents in documents(4)) {
            let statistics = learned(&documents, 4);
            let (mut left_out, mut never) = (Vec::new(), Vec::new());
            for (class, row) in &documents {
                let mut others = statistics.clone();
                others.forget(*class, row.row()).unwrap();
                let Ok(a) = scorer(&statistics).scores_left_out(&statistics, row.row(), *class, &mut left_out);
                let Ok(b) = scorer(&others).scores(&others, row.row(), &mut never);
                prop_assert_eq!(a, b);
                prop_assert!(close(&left_out, &never), "{:?} {:?}", left_out, never);
            }
        }

        #[test]
        fn two_classes_are_weighted_log_odds(documents in documents(2)) {
            let statistics = learned(&documents, 2);
            let alpha = Smoothing::try_from(0.3).unwrap();
            let two =
                WeightedLogOdds::new(alpha, statistics.totals(), statistics.n_features() as u64, 1).unwrap();
            let mut scores = Vec::new();
            for (_, row) in &documents {
                let Ok(known) = scorer(&statistics).scores(&statistics, row.row(), &mut scores);
                let Ok(expected) = two.log_odds(&statistics, row.row());
                prop_assert_eq!(known > 0, expected.is_some());
                let expected = expected.unwrap_or(0.0);
                prop_assert!(close(&scores, &[-expected, expected]));
            }
        }
    }

    #[test]
    fn as_many_classes_as_ids_can_number() {
        let last = ClassId::MAX - 1;
        let [row, other] = [0, 1].map(|term| CountVector::from_pairs([(term, 1)]).unwrap());
        let statistics = learned(&[(last, row.clone()), (0, other)], ClassId::MAX.into());
        let mut scores = Vec::new();
        let Ok(known) = scorer(&statistics).scores(&statistics, row.row(), &mut scores);
        assert_eq!((known, crate::logs::argmax(&scores)), (1, last));
        let document = crate::Labelled { row: row.row(), class: last, multiplicity: 1, group: 0 };
        let options = crate::CorrectionOptions::for_topics();
        let (correction, _) =
            crate::fit_class_correction(&scorer(&statistics), &statistics, &[document], &options).unwrap();
        assert!(correction.weights(0).any(|weight| weight.class == last && weight.units > 0));
    }

    #[test]
    fn nothing_known_is_no_evidence() {
        let statistics = learned(&[(0, CountVector::from_pairs([(0, 1)]).unwrap())], 3);
        let mut scores = vec![1.0];
        let unknown = CountVector::from_pairs([(7, 2)]).unwrap();
        let Ok(known) = scorer(&statistics).scores(&statistics, unknown.row(), &mut scores);
        assert_eq!((known, &scores[..]), (0, &[0.0; 3][..]));
        let error = OneAgainstRest::new(Smoothing::LAPLACE, &[], 1);
        assert!(matches!(error, Err(ParametersError::NoClasses)));
    }
}
