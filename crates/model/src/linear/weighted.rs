use tamis_tokenizer::{CountRow, TermId};

use crate::bayes::error::ParametersError;
use crate::counts::counts::{ClassId, ClassTotals, ClassWeights, Counts};
use crate::counts::sums::{DocumentSums, Scalars, TermEntry};
use crate::counts::term_frequency::log_tf_units;
use crate::counts::transform::{idf, log_documents};
use crate::linear::choices::Choices;
use crate::linear::coefficients::COEFFICIENT_ONE;
use crate::linear::columns::Columns;
use crate::numbers::logs::log_smoothed;

/// The score of mail and text: log-odds in which rare terms weigh more and long documents no more than short ones, with a
/// correction that was learned on top of them. Weighting happens only when scoring, so training stays counting.
///
/// There is one column of numbers a class, the class against all others together; of two classes one column in all, that of
/// the positive class. With `n` the document frequency of a term in the class, `N` the sum of the class's document
/// frequencies, `r` and `R` the same of all other classes together, `V` the number of terms with counts, `M` the documents,
/// `tf` how often the document to score contains the term, `u` and `b` weight and bias of the correction, and the
/// numbers `a, g, k, q` of its [`Choices`]:
///
/// ```text
/// w = ln((n + a) / (N + aV)) - ln((r + a) / (R + aV))      the log-odds of the term for the class, nats
/// i = ln((M + 1) / (n + r)),  v = ln(1 + tf) i^g           its weight in the document
/// s = sum(v w) / sqrt(sum(v v))                            what the counts say
/// B = k0 s + k1 p                                          p: 1 for two classes, else ln of the class's share
/// x = ln(1 + tf) i / sqrt(sum((ln(1 + tf) i)^2))           the document as a vector of length 1 (shorter if the root is below 1)
/// d = b + sum(x i u)                                       what the correction says
/// z = q0 B + q1 d + q2                                     the log-odds; of more than two classes their softmax
/// ```
///
/// Terms without counts are in no sum. A class without documents is never the likeliest. `ln(1 + tf)` is rounded to a 23rd
/// nat, so that the weights `u` are exact sums ([`ClassWeight`](crate::ClassWeight)).
///
/// A class without a term shares `ln a - ln(n + r + a)` with all classes that lack it, so the work for a document grows
/// with the cells of its terms, plus a few numbers a class. Making it takes hardly any time. The counts passed to a method must be
/// those the totals are of; with others the result is finite and means nothing.
///
/// Source: Rennie, Shih, Teevan and Karger, "Tackling the Poor Assumptions of Naive Bayes Text Classifiers" (2003):
/// one-versus-all-but-one weights and their document transforms, here on the document to score instead of the training data.
///
/// ```
/// use tamis_model::{Choices, Correction, Counts, Readings, Statistics, WeightedLogOdds};
/// use tamis_tokenizer::CountVector;
///
/// let rows = [[(0, 1), (3, 1)], [(1, 2), (3, 1)], [(2, 1), (3, 2)]].map(CountVector::from_pairs);
/// let mut statistics = Statistics::new(3);
/// for (class, row) in (0..).zip(rows) {
///     statistics.observe(class, row?.row())?;
/// }
/// let (choices, none) = (Choices::for_classes(3), Correction::default());
/// let scorer = WeightedLogOdds::new(&choices, &[], statistics.totals(), statistics.n_features() as u64, 0)?;
/// let (mut readings, mut z) = (Readings::default(), Vec::new());
/// let document = CountVector::from_pairs([(1, 1), (9, 1)])?;
/// let Ok(()) = scorer.read(&statistics, Some(&none), document.row(), &mut readings);
/// scorer.log_odds(&readings, &mut z);
/// assert_eq!(readings.known_terms, 1);
/// assert!(z[1] > z[0] && z[1] > z[2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedLogOdds {
    choices: Choices,
    columns: Columns,
    documents: u64,
    /// ln(M + 1)
    log_documents: f64,
    /// ln(R + aV) - ln(N + aV), one a column.
    log_totals: Vec<f64>,
    /// k1 p, one a column.
    prior: Vec<f64>,
    /// b, one a column.
    bias: Vec<f64>,
    /// Whether the class has documents, one a class.
    is_learned: Vec<bool>,
    logs: Logs,
}

/// What counts and correction say of a document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Readings {
    /// What the counts say: s, one a column.
    pub counts: Vec<f64>,
    /// What the correction says, less its bias: d - b, one a column.
    pub correction: Vec<f64>,
    /// How many distinct terms of the document have counts; with none of them there is no evidence at all.
    pub known_terms: usize,
}

/// ln(n + a), for the first n kept ready.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Logs {
    alpha: f64,
    ready: Box<[f64]>,
}

impl Logs {
    pub(crate) fn new(alpha: f64, ready: usize) -> Logs {
        Logs { alpha, ready: (0..ready).map(|n| (n as f64 + alpha).ln()).collect() }
    }

    #[inline]
    pub(crate) fn of(&self, n: u64) -> f64 {
        let ready = usize::try_from(n).ok().and_then(|n| self.ready.get(n));
        ready.copied().unwrap_or_else(|| (n as f64 + self.alpha).ln())
    }
}

/// How many logarithms are worth keeping where there are many documents or classes.
pub(crate) const LOGS: usize = 1024;

/// idf to the power of g.
#[inline]
pub(crate) fn powered(idf: f64, power: f64) -> f64 {
    match power {
        1.0 => idf,
        0.0 => 1.0,
        0.5 => idf.sqrt(),
        _ => idf.powf(power),
    }
}

/// What a sum of weighted log-odds is divided by; 1 if all weights are 0, as only impossible counts have it.
pub(crate) fn norm(square: f64) -> f64 {
    if square > 0.0 { square.sqrt() } else { 1.0 }
}

/// What the vector of a document is divided by: its length, at least 1, so that nothing is made longer.
pub(crate) fn vector_length(square: f64) -> f64 {
    square.sqrt().max(1.0)
}

/// ln of the share of a class, smoothed, in nats.
pub(crate) fn log_share(documents: u64, all: u64, n_classes: usize) -> f64 {
    ((documents as f64 + 0.5) / (all as f64 + 0.5 * n_classes as f64)).ln()
}

/// The parts of a term with counts that do not depend on the class.
struct Part {
    /// v
    v: f64,
    /// ln(1 + tf) i i
    read: f64,
    /// ln a - ln(n + r + a)
    absent: f64,
    df: u64,
}

impl WeightedLogOdds {
    /// Takes what scoring needs from the choices, the bias of the correction (fixed point, one a column; none if all are 0),
    /// the totals of the classes and `n_features`, the number of terms with counts
    /// ([`Statistics::n_features`](crate::Statistics::n_features)). `positive` is the class of the one column where there are
    /// two classes, and else of no importance.
    ///
    /// # Errors
    /// No classes; choices out of their ranges; of two classes a positive one that is neither.
    pub fn new(
        choices: &Choices,
        bias: &[i64],
        totals: &[ClassTotals],
        n_features: u64,
        positive: ClassId,
    ) -> Result<Self, ParametersError> {
        choices.check()?;
        let columns = Columns::new(totals.len(), positive)?;
        let sum = |of: fn(&ClassTotals) -> u64| totals.iter().map(of).fold(0, u64::saturating_add);
        let (documents, all_df) = (sum(|t| t.documents), sum(|t| t.df));
        let alpha = choices.alpha.alpha();
        // without features nothing is scored: any number of them will do
        let n_features = n_features.max(1) as f64;
        let log_total = |class: ClassId| {
            let df = totals[usize::from(class)].df;
            log_smoothed(all_df.saturating_sub(df), alpha, n_features) - log_smoothed(df, alpha, n_features)
        };
        let prior = |class: ClassId| match columns.is_one() {
            true => 1.0,
            false => log_share(totals[usize::from(class)].documents, documents, totals.len()),
        };
        let units = |column: usize| bias.get(column).copied().unwrap_or(0) as f64;
        Ok(WeightedLogOdds {
            choices: *choices,
            columns,
            documents,
            log_documents: log_documents(documents),
            log_totals: columns.classes().map(log_total).collect(),
            prior: columns.classes().map(|class| choices.bayes[1] * prior(class)).collect(),
            bias: (0..columns.len()).map(|column| units(column) / COEFFICIENT_ONE as f64).collect(),
            is_learned: totals.iter().map(|totals| totals.documents > 0).collect(),
            logs: Logs::new(alpha, if columns.is_one() { 0 } else { LOGS }),
        })
    }

    /// The numbers it scores by.
    pub fn choices(&self) -> &Choices {
        &self.choices
    }

    /// Where the numbers of the classes stand.
    pub fn columns(&self) -> Columns {
        self.columns
    }

    /// The bias of a column, in nats.
    pub(crate) fn bias(&self, column: usize) -> f64 {
        self.bias.get(column).copied().unwrap_or(0.0)
    }

    /// M
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// Writes what counts and correction say of a document to `out`, never NaN or infinite.
    ///
    /// # Errors
    /// Reading the counts or the weights fails; `out` then holds nothing of use.
    pub fn read<C: Counts, W: ClassWeights<Error = C::Error>>(
        &self,
        counts: &C,
        weights: Option<&W>,
        row: CountRow<'_>,
        out: &mut Readings,
    ) -> Result<(), C::Error> {
        let Readings { counts: scores, correction, .. } = out;
        for numbers in [&mut *scores, &mut *correction] {
            numbers.clear();
            numbers.resize(self.columns.len(), 0.0);
        }
        let mut sums = Scalars::default();
        for (term, tf) in row.iter() {
            let Some(part) = self.part(counts, term, tf, &mut sums)? else { continue };
            self.for_each_score(counts, term, &part, |column, share| {
                if let Some(score) = scores.get_mut(column) {
                    *score += share;
                }
            })?;
            if let Some(weights) = weights {
                weights.for_each_weight(term, |column, weight| {
                    if let Some(sum) = correction.get_mut(usize::from(column)) {
                        *sum += part.read * weight;
                    }
                })?;
            }
        }
        self.divide(&sums, out);
        Ok(())
    }

    /// What does not depend on the class of a term that some document has; it is added to the sums.
    #[inline]
    fn part<C: Counts>(
        &self,
        counts: &C,
        term: TermId,
        tf: u32,
        sums: &mut Scalars,
    ) -> Result<Option<Part>, C::Error> {
        let df = counts.document_frequency(term)?;
        if df == 0 {
            return Ok(None);
        }
        let (log_tf, idf) = (log_tf_units(tf), idf(df, self.log_documents));
        let weight = powered(idf, self.choices.idf_power);
        let absent = self.log_ratio(0, df);
        sums.add([weight, idf, absent], log_tf);
        sums.known += 1;
        Ok(Some(Part { v: log_tf * weight, read: log_tf * idf * idf, absent, df }))
    }

    /// Visits what a term adds to the scores of the counts besides the part of the absent, before these are divided by the norm.
    #[inline]
    fn for_each_score<C: Counts>(
        &self,
        counts: &C,
        term: TermId,
        part: &Part,
        mut visit: impl FnMut(usize, f64),
    ) -> Result<(), C::Error> {
        counts.for_each_cell(term, |cell| {
            let Some(column) = self.columns.of(cell.class) else { return };
            let log_ratio = self.log_ratio(cell.df.into(), part.df);
            visit(column, part.v * (log_ratio - part.absent));
        })
    }

    /// ln(n + a) - ln(r + a), of a term of which a class has `n` documents of `df`.
    #[inline]
    fn log_ratio(&self, n: u64, df: u64) -> f64 {
        self.logs.of(n) - self.logs.of(df.saturating_sub(n))
    }

    /// Writes the counts' log-odds B to `out`, one a column, in nats.
    pub fn bayes(&self, readings: &Readings, out: &mut Vec<f64>) {
        out.clear();
        out.extend(
            readings.counts.iter().zip(&self.prior).map(|(s, prior)| self.choices.bayes[0] * s + prior),
        );
    }

    /// What the correction says, d, one a column, in nats.
    pub fn correction(&self, readings: &Readings) -> Vec<f64> {
        readings.correction.iter().zip(&self.bias).map(|(sum, bias)| sum + bias).collect()
    }

    /// Writes the log-odds z of a document to `out`, one a column, in nats: of two classes those of the positive one, of more
    /// numbers of which the softmax is the probability of each.
    pub fn log_odds(&self, readings: &Readings, out: &mut Vec<f64>) {
        self.bayes(readings, out);
        for ((z, sum), bias) in out.iter_mut().zip(&readings.correction).zip(&self.bias) {
            *z = self.choices.stacked([*z, sum + bias]);
        }
        self.rule_out(out);
    }

    /// Makes classes without documents the least likely ones.
    fn rule_out(&self, z: &mut [f64]) {
        if self.is_learned.iter().all(|is_learned| *is_learned) {
            return;
        }
        if self.columns.is_one() {
            let order = self.columns.order(&self.is_learned);
            z.iter_mut().for_each(|z| match order {
                [true, false] => *z = z.min(0.0),
                [false, true] => *z = z.max(f64::MIN_POSITIVE),
                _ => (),
            });
            return;
        }
        let learned = z.iter().zip(&self.is_learned).filter(|(_, is_learned)| **is_learned);
        let least = learned.map(|(z, _)| *z).fold(f64::INFINITY, f64::min);
        let least = if least.is_finite() { least - UNLIKELY } else { 0.0 };
        z.iter_mut()
            .zip(&self.is_learned)
            .filter(|(_, is_learned)| !**is_learned)
            .for_each(|(z, _)| *z = least);
    }

    /// How many [`DocumentSums`] it needs: of two classes one, of more one a class for the counts and one for the correction.
    pub fn n_sums(&self) -> usize {
        if self.columns.is_one() { 1 } else { 2 * self.columns.len() }
    }

    /// What so many occurrences of a term amount to: ln(1 + tf).
    #[inline]
    pub fn amount(&self, count: u32) -> f64 {
        log_tf_units(count)
    }

    /// Writes what a term says to `out`, for those who meet it more than once: nothing if it has no counts.
    ///
    /// # Errors
    /// Reading the counts or the weights fails.
    pub fn weigh_term<C: Counts, W: ClassWeights<Error = C::Error>>(
        &self,
        counts: &C,
        weights: Option<&W>,
        term: TermId,
        out: &mut TermEntry,
    ) -> Result<(), C::Error> {
        out.clear();
        let df = counts.document_frequency(term)?;
        if df == 0 {
            return Ok(());
        }
        let is_one = self.columns.is_one();
        let idf = idf(df, self.log_documents);
        (out.is_known, out.full, out.weight) = (true, idf, powered(idf, self.choices.idf_power));
        if is_one {
            // the one column is all there is to say
            let mut n = 0;
            counts.for_each_cell(term, |cell| {
                n += if self.columns.of(cell.class).is_some() { u64::from(cell.df) } else { 0 };
            })?;
            out.absent = self.log_ratio(n, df);
        } else {
            let absent = self.log_ratio(0, df);
            out.absent = absent;
            counts.for_each_cell(term, |cell| {
                let Some(column) = self.columns.of(cell.class) else { return };
                let log_ratio = self.log_ratio(cell.df.into(), df);
                out.cells.push((column, out.weight * (log_ratio - absent)));
            })?;
        }
        if let Some(weights) = weights {
            let first = if is_one { 0 } else { self.columns.len() };
            let read = idf * idf;
            weights.for_each_weight(term, |column, weight| {
                out.cells.push((first + usize::from(column), read * weight));
            })?;
        }
        Ok(())
    }

    /// What [`read`](Self::read) says, of a document whose known terms add up to these sums.
    ///
    /// ```
    /// # use tamis_model::{Choices, Correction, Counts, DocumentSums, Readings, Statistics, TermEntry, WeightedLogOdds};
    /// # use tamis_tokenizer::CountVector;
    /// # let documents = [[(0, 1), (1, 2)], [(1, 1), (2, 5)]];
    /// # let mut statistics = Statistics::new(2);
    /// # for (class, document) in (0..).zip(documents) {
    /// #     statistics.observe(class, CountVector::from_pairs(document)?.row())?;
    /// # }
    /// let none = Correction::default();
    /// let scorer = WeightedLogOdds::new(&Choices::for_classes(2), &[], statistics.totals(), 3, 1)?;
    /// let document = CountVector::from_pairs([(1, 3), (2, 1)])?;
    /// let (mut entry, mut sums) = (TermEntry::default(), DocumentSums::default());
    /// sums.begin(scorer.n_sums());
    /// for (term, count) in document.row().iter() {
    ///     let Ok(()) = scorer.weigh_term(&statistics, Some(&none), term, &mut entry);
    ///     sums.add(&entry, scorer.amount(count));
    /// }
    /// let [mut readings, mut of_sums] = [Readings::default(), Readings::default()];
    /// let Ok(()) = scorer.read(&statistics, Some(&none), document.row(), &mut readings);
    /// scorer.read_sums(&sums, &mut of_sums);
    /// assert!((readings.counts[0] - of_sums.counts[0]).abs() < 1e-12);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_sums(&self, sums: &DocumentSums, out: &mut Readings) {
        let DocumentSums { scalars, columns } = sums;
        let of_counts = if self.columns.is_one() { 0 } else { self.columns.len() };
        let (counts, correction) = columns.split_at(of_counts.min(columns.len()));
        for (to, sums) in [(&mut out.counts, counts), (&mut out.correction, correction)] {
            to.clear();
            to.extend_from_slice(sums);
            to.resize(self.columns.len(), 0.0);
        }
        self.divide(scalars, out);
    }

    /// From sums over the terms of a document to what is said of it.
    fn divide(&self, sums: &Scalars, out: &mut Readings) {
        let (norm, length) = (norm(sums.square), vector_length(sums.full_square));
        for (score, log_totals) in out.counts.iter_mut().zip(&self.log_totals) {
            *score = (*score + (sums.absent + sums.weight * log_totals)) / norm;
        }
        out.correction.iter_mut().for_each(|sum| *sum /= length);
        out.known_terms = sums.known;
    }

    /// Writes to `out` each known term of the document, in its order, with what it adds to the log-odds of the class `of` against
    /// the class `against`; returns what is said before any term. Together they are the [log-odds](Self::log_odds) of two classes, or
    /// their difference.
    ///
    /// # Errors
    /// Reading the counts or the weights fails; `out` then holds nothing of use.
    pub fn contributions<C: Counts, W: ClassWeights<Error = C::Error>>(
        &self,
        counts: &C,
        weights: Option<&W>,
        row: CountRow<'_>,
        [of, against]: [ClassId; 2],
        out: &mut Vec<(TermId, f64)>,
    ) -> Result<f64, C::Error> {
        out.clear();
        let sign = |column: usize| {
            f64::from(u8::from(self.columns.of(of) == Some(column)))
                - f64::from(u8::from(self.columns.of(against) == Some(column)))
        };
        let difference =
            |numbers: &[f64]| numbers.iter().enumerate().map(|(column, n)| sign(column) * n).sum::<f64>();
        let (log_totals, signs) =
            (difference(&self.log_totals), (0..self.columns.len()).map(sign).sum::<f64>());
        let [q0, q1, q2] = self.choices.stack;
        let mut sums = Scalars::default();
        let mut shares = Vec::new();
        for (term, tf) in row.iter() {
            let Some(part) = self.part(counts, term, tf, &mut sums)? else { continue };
            let mut share = part.v * (signs * part.absent + log_totals);
            self.for_each_score(counts, term, &part, |column, own| share += sign(column) * own)?;
            let mut correction = 0.0;
            if let Some(weights) = weights {
                weights.for_each_weight(term, |column, weight| {
                    correction += sign(usize::from(column)) * part.read * weight;
                })?;
            }
            shares.push((term, share, correction));
        }
        let (norm, length) = (norm(sums.square), vector_length(sums.full_square));
        let bayes = q0 * self.choices.bayes[0] / norm;
        out.extend(shares.into_iter().map(|(term, s, d)| (term, bayes * s + q1 / length * d)));
        Ok(q0 * difference(&self.prior) + q1 * difference(&self.bias) + signs * q2)
    }
}

/// How much less likely than any other a class without documents is, in nats.
const UNLIKELY: f64 = 20.0;
