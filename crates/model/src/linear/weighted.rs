//! Weighted one-vs-rest log-odds of the counts, with the correction: the score of mail and text.

use std::sync::Arc;

use tamis_tokenizer::{CountRow, TermId};

use crate::bayes::ParametersError;
use crate::counts::{
    ClassId, ClassTotals, DocumentSums, KnownTerm, KnownTerms, Scalars, TermEntry, idf, log_documents,
    log_tf_units,
};
use crate::linear::choices::Choices;
use crate::linear::coefficients::COEFFICIENT_ONE;
use crate::linear::columns::Columns;
use crate::numbers::log_smoothed;

/// The score of mail and text: log-odds of the counts, weighted by idf and normalised for length, plus a correction
/// learned on top of them. Weighting happens only when scoring, so training is counting.
///
/// There is one column per class, the class against all others (one-vs-rest); two classes share one column, that of the
/// positive class. Where classes are sets of labels, there is one per label, the documents that have it against the rest
/// ([`Columns`]). Let `n` be the document frequency of a term in the class, `N` the sum of the class's document
/// frequencies, `r` and `R` the same for all other classes together, `V` the number of terms with counts, `M` the
/// number of documents, `tf` the occurrences of the term in the document to score, `u` and `b` weight and bias of the
/// correction, `v_x` the log-odds of the document's vector (a [`VectorDiscriminant`](crate::VectorDiscriminant); 0 without
/// one), `c_x` those of the columns of a table that are not text, and `a, g, k, q` the numbers of its [`Choices`]:
///
/// ```text
/// w = ln((n + a) / (N + aV)) - ln((r + a) / (R + aV))      the log-odds of the term for the class, nats
/// i = ln((M + 1) / (n + r)),  v = ln(1 + tf) i^g           its weight in the document
/// s = sum(v w) / sqrt(sum(v v))                            what the counts say
/// B = k0 s + k1 p                                          p: 1 for two classes, else see `priors`
/// x = ln(1 + tf) i / sqrt(sum((ln(1 + tf) i)^2))           the document as a vector of length 1 (shorter if the root is below 1)
/// d = b + sum(x i u)                                       what the correction says
/// z = q0 B + q1 d + q2 c_x + q3 v_x + q4 p                 the log-odds; of more than two classes their softmax
/// ```
///
/// Terms without counts are left out of all sums. A class without documents is never the likeliest. `ln(1 + tf)` is
/// rounded to a 23rd of a nat, so that the weights `u` are exact sums ([`ClassWeight`](crate::ClassWeight)).
///
/// All classes that lack a term share `ln a - ln(n + r + a)`, so the work for a document grows with the cells of its
/// terms, plus a few numbers per class. Creating the scorer is cheap. The counts passed to a method must be those the
/// totals belong to; with others the result is finite but meaningless.
///
/// Source: Rennie, Shih, Teevan and Karger, "Tackling the Poor Assumptions of Naive Bayes Text Classifiers" (2003):
/// one-versus-all-but-one weights and their document transforms, here on the document to score instead of the training data.
///
/// ```
/// use tamis_model::{Choices, Columns, CorrectedStatistics, Counts, Readings, Statistics, WeightedLogOdds};
/// use tamis_tokenizer::CountVector;
///
/// let rows = [[(0, 1), (3, 1)], [(1, 2), (3, 1)], [(2, 1), (3, 2)]].map(CountVector::from_pairs);
/// let mut statistics = Statistics::new(3);
/// for (class, row) in (0..).zip(rows) {
///     statistics.observe(class, row?.row())?;
/// }
/// let choices = Choices::for_classes(3);
/// let (columns, n_features) = (Columns::new(3, 0)?, statistics.n_features() as u64);
/// let scorer = WeightedLogOdds::new(&choices, &[], statistics.totals(), n_features, &columns)?;
/// let (mut readings, mut z) = (Readings::default(), Vec::new());
/// let document = CountVector::from_pairs([(1, 1), (9, 1)])?;
/// let Ok(()) = scorer.read(&mut CorrectedStatistics::new(&statistics, None), document.row(), &mut readings);
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
    /// ln(R + aV) - ln(N + aV), one per column.
    log_totals: Vec<f64>,
    /// p, one per column.
    prior: Vec<f64>,
    /// Whether q4 applies to each column: not to a label that was unknown when the correction was fitted, and so has no
    /// bias that it belongs to.
    is_stacked: Vec<bool>,
    /// b, one per column.
    bias: Vec<f64>,
    /// Whether each class (two classes) or column has documents.
    is_learned: Vec<bool>,
    /// The calibration line of each label; empty if there are none.
    lines: Vec<[f64; 2]>,
    logs: Arc<Logs>,
}

/// The scores of a document by counts, by correction, and by what stands beside its text, before stacking.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Readings {
    /// The scores of the counts: s, one per column.
    pub counts: Vec<f64>,
    /// The scores of the correction without its bias: d - b, one per column.
    pub correction: Vec<f64>,
    /// The log-odds c of the columns of a table that are not text, and v of the document's vector, one per column of the
    /// scores; empty without them.
    pub beside: [Vec<f64>; 2],
    /// The number of distinct terms of the document with counts; 0 means no evidence.
    pub known_terms: usize,
}

/// ln(n + a), precomputed for small n.
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
    pub(crate) fn ln(&self, n: u64) -> f64 {
        let ready = usize::try_from(n).ok().and_then(|n| self.ready.get(n));
        ready.copied().unwrap_or_else(|| (n as f64 + self.alpha).ln())
    }
}

/// Number of logarithms to precompute for many documents or classes.
pub(crate) const LOGS: usize = 1024;

/// The number for two classes, where a scorer may be created for a single document: enough for the counts of most
/// terms.
const FEW_LOGS: usize = 16;

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

/// The divisor of a sum of weighted log-odds; 1 if all weights are 0, which consistent counts never give.
pub(crate) fn norm(square: f64) -> f64 {
    if square > 0.0 { square.sqrt() } else { 1.0 }
}

/// The divisor of a document's vector: its length, but at least 1, so that no vector gets longer.
pub(crate) fn vector_length(square: f64) -> f64 {
    square.sqrt().max(1.0)
}

/// p of each column: 1 for two classes; for more, the logarithm of the class's share; for labels, the log-odds of the
/// label's share. Shares are smoothed by half a document.
pub fn priors(totals: &[ClassTotals], columns: &Columns) -> Vec<f64> {
    let all = totals.iter().map(|totals| totals.documents).fold(0, u64::saturating_add) as f64;
    let smoothed = |of_column: &ClassTotals| of_column.documents as f64 + 0.5;
    let log_share = |of_class| (smoothed(of_class) / (all + 0.5 * totals.len() as f64)).ln();
    let log_odds = |of_label| (smoothed(of_label) / (all + 1.0 - smoothed(of_label))).ln();
    match columns.totals(totals) {
        _ if columns.is_one() => vec![1.0],
        of_labels if columns.are_labels() => of_labels.iter().map(log_odds).collect(),
        of_classes => of_classes.iter().map(log_share).collect(),
    }
}

/// The divisors of the sums over a document: the lengths of its two vectors.
#[derive(Clone, Copy)]
struct VectorLengths {
    counts: f64,
    correction: f64,
}

impl VectorLengths {
    fn new(sums: &Scalars) -> Self {
        VectorLengths { counts: norm(sums.square), correction: vector_length(sums.full_square) }
    }
}

impl WeightedLogOdds {
    /// Creates a scorer from the choices, the bias of the correction (fixed point, one per column; empty if all are 0),
    /// the totals of the classes and the number of terms with counts
    /// ([`Statistics::n_features`](crate::Statistics::n_features)).
    ///
    /// # Errors
    /// Choices out of their ranges; totals of another number of classes than the columns are of.
    pub fn new(
        choices: &Choices,
        bias: &[i64],
        totals: &[ClassTotals],
        n_features: u64,
        columns: &Columns,
    ) -> Result<Self, ParametersError> {
        choices.check()?;
        if columns.n_classes() != totals.len() {
            let (expected, got) = (columns.n_classes(), totals.len());
            return Err(ParametersError::NumberOfClasses { expected, got });
        }
        let logs = Logs::new(choices.alpha.alpha(), if columns.is_one() { FEW_LOGS } else { LOGS });
        Ok(WeightedLogOdds::of_totals(choices, bias, totals, n_features, columns, Arc::new(logs)))
    }

    /// The scorer of other totals, with the bias 0.
    pub(crate) fn with_totals(&self, totals: &[ClassTotals], n_features: u64) -> Self {
        WeightedLogOdds::of_totals(&self.choices, &[], totals, n_features, &self.columns, self.logs.clone())
    }

    /// The scorer of other totals with the same bias.
    pub(crate) fn recounted(&self, totals: &[ClassTotals], n_features: u64) -> Self {
        let (bias, is_stacked) = (self.bias.clone(), self.is_stacked.clone());
        WeightedLogOdds { bias, is_stacked, ..self.with_totals(totals, n_features) }
    }

    fn of_totals(
        choices: &Choices,
        bias: &[i64],
        totals: &[ClassTotals],
        n_features: u64,
        columns: &Columns,
        logs: Arc<Logs>,
    ) -> Self {
        let sum = |of: fn(&ClassTotals) -> u64| totals.iter().map(of).fold(0, u64::saturating_add);
        let (documents, all_df) = (sum(|t| t.documents), sum(|t| t.df));
        let alpha = choices.alpha.alpha();
        // without features nothing is scored, so any number will do
        let n_features = n_features.max(1) as f64;
        let of_columns = columns.totals(totals);
        let log_total = |of_column: &ClassTotals| {
            let log = |df: u64| log_smoothed(df as f64, alpha, n_features);
            log(all_df.saturating_sub(of_column.df)) - log(of_column.df)
        };
        let learned = if columns.is_one() { totals } else { &of_columns };
        let units = |column: usize| bias.get(column).copied().unwrap_or(0) as f64;
        WeightedLogOdds {
            choices: *choices,
            columns: columns.clone(),
            documents,
            log_documents: log_documents(documents),
            log_totals: of_columns.iter().map(log_total).collect(),
            prior: priors(totals, columns),
            is_stacked: (0..columns.len())
                .map(|column| bias.is_empty() || !columns.are_labels() || units(column) != 0.0)
                .collect(),
            bias: (0..columns.len()).map(|column| units(column) / COEFFICIENT_ONE as f64).collect(),
            is_learned: learned.iter().map(|totals| totals.documents > 0).collect(),
            lines: Vec::new(),
            logs,
        }
    }

    /// The choices that the scorer uses.
    pub fn choices(&self) -> &Choices {
        &self.choices
    }

    /// The columns of the scorer's classes.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// The bias of a column, in nats.
    pub(crate) fn bias(&self, column: usize) -> f64 {
        self.bias.get(column).copied().unwrap_or(0.0)
    }

    /// Replaces p of the columns by `prior`.
    pub(crate) fn with_prior(self, prior: Vec<f64>) -> Self {
        WeightedLogOdds { prior, ..self }
    }

    /// Sets the calibration lines of labels: slope and offset of each column, from `z` to its calibrated log-odds.
    #[must_use]
    pub fn with_lines(self, lines: Vec<[f64; 2]>) -> Self {
        WeightedLogOdds { lines, ..self }
    }

    /// The calibration line of a column.
    pub fn line(&self, column: usize) -> [f64; 2] {
        self.lines.get(column).copied().unwrap_or([1.0, 0.0])
    }

    /// M, the number of documents.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// Writes the scores of a document by counts and by correction to `out`; they are never NaN or infinite.
    ///
    /// # Errors
    /// Reading a term fails; `out` is then as it was.
    pub fn read<T: KnownTerms>(
        &self,
        terms: &mut T,
        row: CountRow<'_>,
        out: &mut Readings,
    ) -> Result<(), T::Error> {
        let (mut entry, mut sums) = (TermEntry::default(), DocumentSums::default());
        sums.begin(self.n_sums());
        for (term, tf) in row.iter() {
            self.weigh_term(terms.term(term)?, &mut entry);
            sums.add(&entry, self.amount(tf));
        }
        self.read_sums(&sums, out);
        Ok(())
    }

    /// ln(n + a) - ln(r + a) of a term with document frequency `df`, of which `n` are in the class.
    #[inline]
    fn log_ratio(&self, n: u64, df: u64) -> f64 {
        self.logs.ln(n) - self.logs.ln(df.saturating_sub(n))
    }

    /// Writes the counts' log-odds B to `out`, one per column, in nats.
    pub fn bayes(&self, readings: &Readings, out: &mut Vec<f64>) {
        let [k0, k1] = self.choices.bayes;
        out.clear();
        out.extend(readings.counts.iter().zip(&self.prior).map(|(s, p)| k0 * s + k1 * p));
    }

    /// For two classes, the log-odds of the positive one by counts, by correction and by what stands beside the text:
    /// B, d, c and v, in nats.
    pub fn parts(&self, readings: &Readings) -> [f64; 4] {
        let mut bayes = Vec::new();
        self.bayes(readings, &mut bayes);
        let first = |numbers: &[f64]| numbers.first().copied().unwrap_or(0.0);
        let [c, v] = readings.beside.each_ref().map(|of| first(of));
        [first(&bayes), first(&readings.correction) + self.bias(0), c, v]
    }

    /// Writes the log-odds z of a document to `out`, one per column, in nats: for two classes those of the positive
    /// one; with more, their softmax gives the probabilities.
    pub fn log_odds(&self, readings: &Readings, out: &mut Vec<f64>) {
        self.bayes(readings, out);
        for ((column, z), sum) in out.iter_mut().enumerate().zip(&readings.correction) {
            let [c, v] = readings.beside.each_ref().map(|of| of.get(column).copied().unwrap_or(0.0));
            *z = self.stacked(column, [*z, sum + self.bias[column], c, v]);
        }
        out.iter_mut().zip(&self.lines).for_each(|(z, [slope, offset])| *z = slope * *z + offset);
        self.rule_out(out);
    }

    /// The log-odds z of a column before calibration, from B, d, c and v.
    pub(crate) fn stacked(&self, column: usize, parts: [f64; 4]) -> f64 {
        let p = if self.is_stacked[column] { self.prior[column] } else { 0.0 };
        self.choices.stacked(parts, p)
    }

    /// Makes classes without documents the least likely.
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
        let learned = z.iter().zip(&self.is_learned).filter(|(_, is)| **is).map(|(z, _)| *z);
        let least = if self.columns.are_labels() { 0.0 } else { learned.fold(f64::INFINITY, f64::min) };
        let least = if least.is_finite() { least - UNLIKELY } else { 0.0 };
        let others = z.iter_mut().zip(&self.is_learned).filter(|(_, is_learned)| !**is_learned);
        others.for_each(|(z, _)| *z = least);
    }

    /// The number of sums that [`DocumentSums`] must hold: for each column, one for the counts and one for the
    /// correction.
    pub fn n_sums(&self) -> usize {
        2 * self.columns.len()
    }

    /// The factor of a term that occurs `count` times: ln(1 + tf).
    #[inline]
    pub fn amount(&self, count: u32) -> f64 {
        log_tf_units(count)
    }

    /// Writes the weights of a term to `out`; none if it has no counts.
    pub fn weigh_term(&self, term: KnownTerm<'_>, out: &mut TermEntry) {
        out.clear();
        let df = term.document_frequency();
        if df == 0 {
            return;
        }
        let (idf, absent) = (idf(df, self.log_documents), self.log_ratio(0, df));
        let weight = powered(idf, self.choices.idf_power);
        (out.is_known, out.full, out.weight, out.absent) = (true, idf, weight, absent);
        if self.columns.are_labels() {
            self.columns.for_each_df(term.cells, |column, n| {
                out.cells.push((usize::from(column), self.log_ratio(n, df) - absent));
            });
        }
        for cell in term.cells {
            let Some(column) = self.columns.only(cell.class) else { continue };
            out.cells.push((column, self.log_ratio(cell.df.into(), df) - absent));
        }
        // i i u, divided by the weight that multiplies all sums
        let factor = if weight > 0.0 { idf * idf / weight } else { 0.0 };
        let first = self.columns.len();
        out.cells.extend(term.weights.iter().map(|(column, u)| (first + usize::from(*column), factor * u)));
    }

    /// Writes the scores of a document by counts and by correction to `out`, given the sums over its terms.
    ///
    /// ```
    /// # use tamis_model::{Choices, Columns, CorrectedStatistics, Counts, DocumentSums, KnownTerms, Readings, Statistics, TermEntry, WeightedLogOdds};
    /// # use tamis_tokenizer::CountVector;
    /// # let documents = [[(0, 1), (1, 2)], [(1, 1), (2, 5)]];
    /// # let mut statistics = Statistics::new(2);
    /// # for (class, document) in (0..).zip(documents) {
    /// #     statistics.observe(class, CountVector::from_pairs(document)?.row())?;
    /// # }
    /// let scorer = WeightedLogOdds::new(&Choices::for_classes(2), &[], statistics.totals(), 3, &Columns::new(2, 1)?)?;
    /// let mut terms = CorrectedStatistics::new(&statistics, None);
    /// let (mut entry, mut sums) = (TermEntry::default(), DocumentSums::default());
    /// sums.begin(scorer.n_sums());
    /// for (term, count) in [(1, 3), (2, 1)] {
    ///     let Ok(known) = terms.term(term);
    ///     scorer.weigh_term(known, &mut entry);
    ///     sums.add(&entry, scorer.amount(count));
    /// }
    /// let mut readings = Readings::default();
    /// scorer.read_sums(&sums, &mut readings);
    /// assert!(readings.counts[0] > 0.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_sums(&self, sums: &DocumentSums, out: &mut Readings) {
        self.divide(sums, VectorLengths::new(&sums.scalars), out);
    }

    /// Divides the sums over the terms of a document by the lengths `by`, and writes the resulting scores to `out`.
    fn divide(
        &self,
        DocumentSums { scalars, columns }: &DocumentSums,
        by: VectorLengths,
        out: &mut Readings,
    ) {
        let (counts, correction) = columns.split_at(self.columns.len().min(columns.len()));
        let of_all = |log_total: &f64| scalars.absent + scalars.weight * log_total;
        let log_totals = self.log_totals.iter();
        out.counts.clear();
        out.counts.extend(counts.iter().zip(log_totals).map(|(sum, log)| (sum + of_all(log)) / by.counts));
        out.correction.clear();
        out.correction.extend(correction.iter().map(|sum| sum / by.correction));
        out.known_terms = scalars.known;
    }

    /// Writes each known term of the document to `out`, in order, with its contribution to the log-odds of the class
    /// `of` against the class `against`. Returns the log-odds before any term. Together with what
    /// [stands beside the text](Self::beside), these add up to the [log-odds](Self::log_odds) for two classes; for more, to
    /// the difference between the log-odds of the two. Where classes are sets of labels, `of` and `against` are columns,
    /// and the log-odds those before calibration.
    ///
    /// # Errors
    /// Reading a term fails; the contents of `out` are then undefined.
    pub fn contributions<T: KnownTerms>(
        &self,
        terms: &mut T,
        row: CountRow<'_>,
        [of, against]: [ClassId; 2],
        out: &mut Vec<(TermId, f64)>,
    ) -> Result<f64, T::Error> {
        let difference = |numbers: &[f64]| self.difference(numbers, [of, against]);
        let (mut entry, mut sums) = (TermEntry::default(), DocumentSums::default());
        sums.begin(self.n_sums());
        let mut known = Vec::new();
        for (term, tf) in row.iter() {
            self.weigh_term(terms.term(term)?, &mut entry);
            if entry.is_known {
                sums.add(&entry, self.amount(tf));
                known.push((term, self.amount(tf), entry.clone()));
            }
        }
        let (lengths, mut readings) = (VectorLengths::new(&sums.scalars), Readings::default());
        let [q0, q1, .., q4] = self.choices.stack;
        out.clear();
        for (term, amount, entry) in known {
            sums.begin(self.n_sums());
            sums.add(&entry, amount);
            self.divide(&sums, lengths, &mut readings);
            let (s, d) = (difference(&readings.counts), difference(&readings.correction));
            out.push((term, q0 * self.choices.bayes[0] * s + q1 * d));
        }
        let stacked: Vec<f64> =
            self.prior.iter().zip(&self.is_stacked).map(|(p, is)| if *is { *p } else { 0.0 }).collect();
        let shares = q0 * self.choices.bayes[1] * difference(&self.prior) + q4 * difference(&stacked);
        Ok(shares + q1 * difference(&self.bias))
    }
}

impl WeightedLogOdds {
    /// What the columns that are not text, and the vector, contribute to the log-odds of the class `of` against the class
    /// `against`, as in [`contributions`](Self::contributions), given [their scores](Readings::beside).
    pub fn beside(&self, scores: &[Vec<f64>; 2], classes: [ClassId; 2]) -> [f64; 2] {
        let [.., q2, q3, _] = self.choices.stack;
        let [c, v] = scores.each_ref().map(|scores| self.difference(scores, classes));
        [q2 * c, q3 * v]
    }

    /// The difference between the numbers of two classes, or columns of labels, given one per column.
    fn difference(&self, numbers: &[f64], [of, against]: [ClassId; 2]) -> f64 {
        let column = |class: ClassId| match self.columns.are_labels() {
            true => Some(usize::from(class)),
            false => self.columns.only(class),
        };
        let number = |class| column(class).and_then(|at| numbers.get(at)).copied().unwrap_or(0.0);
        number(of) - number(against)
    }
}

/// How much less likely a class without documents is than any other, in nats.
const UNLIKELY: f64 = 20.0;
