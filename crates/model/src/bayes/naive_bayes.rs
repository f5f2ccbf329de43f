//! Naive Bayes over integer counts.

use tamis_tokenizer::{CountRow, TermId};

use crate::bayes::error::{FitError, ParametersError};
use crate::bayes::features::Selection;
use crate::bayes::likelihood::{Counting, Likelihood};
use crate::bayes::parameters::Parameters;
use crate::bayes::rule::{ClassLikelihood, Rule, Weight};
use crate::bayes::summary::Summary;
use crate::counts::{Cell, ClassId, ClassTotals, Counts, DocumentSums, Scalars, TermEntry, read_cells};
use crate::numbers::{argmax, softmax};

/// A naive Bayes model: a few numbers per class. The weight of a term is computed from its counts when a document
/// contains it.
///
/// The joint log-likelihood of a document and a class is the class's [`intercept`](Self::intercept) plus the
/// [weights](Self::term_weights) of the document's terms. Terms that are not features are skipped. All logarithms are
/// natural (nats); vectors over classes are in class order.
///
/// The counts passed to a method must be those that the [`Summary`] was made from. With others the result is finite but
/// meaningless.
///
/// ```
/// use tamis_model::{Likelihood, Parameters, Statistics};
/// use tamis_tokenizer::CountVector;
///
/// let mut statistics = Statistics::new(2);
/// statistics.observe(0, CountVector::from_pairs([(0, 1), (1, 1)])?.row())?;
/// statistics.observe(1, CountVector::from_pairs([(1, 1), (2, 4)])?.row())?;
/// let parameters = Parameters { likelihood: Likelihood::Bernoulli, ..Parameters::default() };
/// let model = parameters.fit(&statistics)?;
/// let Ok(class) = model.predict(&statistics, CountVector::from_pairs([(2, 1)])?.row());
/// assert_eq!(class, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NaiveBayes {
    rule: Rule,
    selection: Selection,
    n_features: u64,
    classes: Vec<ClassLikelihood>,
    class_log_prior: Vec<f64>,
    intercept: Vec<f64>,
    /// The finite part of each class's intercept. Without smoothing, followed by the number of zero factors of each
    /// class.
    start: Vec<f64>,
}

impl NaiveBayes {
    /// Derives the model from a summary of the counts.
    ///
    /// # Errors
    /// Parameters out of their ranges; a complement likelihood without smoothing; a prior that does not fit the
    /// classes; a summary that no counts can have, or one made for another likelihood.
    pub fn new(parameters: &Parameters, summary: &Summary) -> Result<NaiveBayes, ParametersError> {
        parameters.check()?;
        let rule = Rule::new(parameters);
        summary.check(&rule)?;
        let n_features = summary.n_features();
        let all = summary.totals().iter().fold(0u64, |sum, t| sum.saturating_add(rule.tokens(t)));
        let class = |totals| rule.class(rule.class_counts(totals, all), n_features);
        let mut classes: Vec<ClassLikelihood> = summary.totals().iter().map(class).collect();
        if let Some(complement) = &summary.complement {
            for (class, log_counts) in classes.iter_mut().zip(complement.log_counts(&rule)) {
                rule.normalize(class, log_counts, n_features);
            }
        }
        let class_log_prior = parameters.prior.log_prior(summary.totals())?;
        let has_prior = !parameters.likelihood.is_complement();
        let prior = |log: &f64| Weight { finite: if has_prior { *log } else { 0.0 }, zeros: 0.0 };
        let mut weights: Vec<Weight> = class_log_prior.iter().map(prior).collect();
        for ((sum, class), histogram) in weights.iter_mut().zip(&classes).zip(&summary.histograms) {
            *sum = sum.plus(rule.log_absence(class, histogram, n_features));
        }
        let intercept = weights.iter().map(|weight| weight.value()).collect();
        let mut start: Vec<f64> = weights.iter().map(|weight| weight.finite).collect();
        if rule.has_zeros() {
            start.extend(weights.iter().map(|weight| weight.zeros));
        }
        let selection = summary.selection;
        Ok(NaiveBayes { rule, selection, n_features, classes, class_log_prior, intercept, start })
    }

    /// The number of classes, at least 1.
    pub fn n_classes(&self) -> usize {
        self.classes.len()
    }

    /// The likelihood that the model was made with.
    pub fn likelihood(&self) -> Likelihood {
        self.rule.likelihood
    }

    /// The number of features.
    pub fn n_features(&self) -> u64 {
        self.n_features
    }

    /// The logarithm of each class's prior probability.
    pub fn class_log_prior(&self) -> &[f64] {
        &self.class_log_prior
    }

    /// The joint log-likelihood of a document without features: the log-prior; for Bernoulli, plus the log-probability
    /// that all features are absent; 0 for the complement likelihoods.
    pub fn intercept(&self) -> &[f64] {
        &self.intercept
    }

    /// The logarithm of `p(term | class)`; for the complement likelihoods, the weight of an occurrence. `None` if the
    /// term is not a feature or the class is unknown.
    ///
    /// # Errors
    /// Reading the counts fails.
    pub fn feature_log_prob<C: Counts>(
        &self,
        counts: &C,
        term: TermId,
        class: ClassId,
    ) -> Result<Option<f64>, C::Error> {
        let mut cells = Vec::new();
        read_cells(counts, term, &mut cells)?;
        let Some(mass) = self.selection.feature(counts.totals(), term, &cells) else { return Ok(None) };
        let n = self.count_in(class, &cells);
        Ok(self.classes.get(usize::from(class)).map(|class| match self.rule.likelihood.is_complement() {
            true => self.rule.weight(class, self.rule.total(mass) as f64, n).value(),
            false => self.rule.log_prob(class, n),
        }))
    }

    /// The count in a class of a term with these `cells`.
    fn count_in(&self, class: ClassId, cells: &[Cell]) -> f64 {
        let own = cells.iter().find(|cell| cell.class == class);
        own.map_or(0.0, |cell| self.rule.evidence(*cell) as f64)
    }

    /// Writes the joint log-likelihood of the document and each class to `out`. Returns the number of distinct terms of
    /// the document that are features. Work grows with the number of their cells plus the number of classes.
    ///
    /// Without smoothing the log-likelihood is minus infinity for classes in which the document is impossible.
    ///
    /// # Errors
    /// Reading the counts fails; `out` is then unspecified.
    pub fn joint_log_likelihood<C: Counts>(
        &self,
        counts: &C,
        row: CountRow<'_>,
        out: &mut Vec<f64>,
    ) -> Result<usize, C::Error> {
        Ok(self.joint_log_likelihood_of(&self.sum_terms(counts, row.iter())?, out))
    }

    /// Adds up the weights of a document's terms.
    fn sum_terms<C: Counts>(
        &self,
        counts: &C,
        terms: impl Iterator<Item = (TermId, u32)>,
    ) -> Result<DocumentSums, C::Error> {
        let (mut cells, mut entry, mut sums) = (Vec::new(), TermEntry::default(), DocumentSums::default());
        sums.begin(self.n_sums());
        for (term, count) in terms {
            read_cells(counts, term, &mut cells)?;
            self.weigh_term(counts.totals(), term, &cells, &mut entry);
            sums.add(&entry, self.amount(count));
        }
        Ok(sums)
    }

    /// The number of [`DocumentSums`] that the model needs: one per class, or two without smoothing.
    pub fn n_sums(&self) -> usize {
        self.start.len()
    }

    /// The factor of a term that occurs `count` times.
    #[inline]
    pub fn amount(&self, count: u32) -> f64 {
        self.rule.count(count)
    }

    /// Writes the weights of a term with these `cells` to `out`; none if it is not a feature. `totals` must belong to
    /// the same counts.
    pub fn weigh_term(&self, totals: &[ClassTotals], term: TermId, cells: &[Cell], out: &mut TermEntry) {
        out.clear();
        if let Some(mass) = self.selection.feature(totals, term, cells) {
            let counts = cells.iter().map(|cell| (cell.class, self.rule.evidence(*cell) as f64));
            self.rule.weigh_term(&self.classes, self.rule.total(mass) as f64, counts, out);
        }
    }

    /// As [`joint_log_likelihood`](Self::joint_log_likelihood), from the sums over the document's terms.
    pub fn joint_log_likelihood_of(&self, sums: &DocumentSums, out: &mut Vec<f64>) -> usize {
        out.clear();
        out.extend_from_slice(&self.start);
        out.iter_mut().zip(&sums.columns).for_each(|(out, sum)| *out += sum);
        self.add_absence(&sums.scalars, out);
        sums.scalars.known
    }

    /// Adds to `out` the weight, without the prior, of a document with this number of `occurrences` of features, in
    /// classes that have none of these features. All of it is multiplied by `factor`. In `out`, the zeros of all classes
    /// follow their finite parts.
    pub(crate) fn add_without_cells(&self, factor: f64, occurrences: f64, out: &mut [f64]) {
        let n = self.n_classes();
        let document = Scalars { weight: occurrences, ..Scalars::default() };
        for (at, absence) in self.absences(&document) {
            out[at] += factor * (self.start[at] - self.class_log_prior[at] + absence.finite);
            if let Some(zeros) = self.start.get(at + n) {
                out[at + n] += zeros + absence.zeros;
            }
        }
    }

    /// Adds the log-probability of one outcome, the row's only term, without the prior. If the term has no counts, adds
    /// that of an outcome never seen. Not for the complement likelihoods, whose intercept does not contain the prior.
    pub fn add_outcome<C: Counts>(
        &self,
        counts: &C,
        row: CountRow<'_>,
        out: &mut [f64],
    ) -> Result<(), C::Error> {
        let (mut sums, mut joint) = (self.sum_terms(counts, row.iter())?, Vec::new());
        if sums.scalars.known == 0 {
            sums.scalars.weight = 1.0;
        }
        self.joint_log_likelihood_of(&sums, &mut joint);
        for ((out, joint), prior) in out.iter_mut().zip(joint).zip(&self.class_log_prior) {
            *out += joint - prior;
        }
        Ok(())
    }

    /// As [`joint_log_likelihood`](Self::joint_log_likelihood), normalised to posterior probabilities that
    /// add up to 1.
    ///
    /// # Errors
    /// Reading the counts fails.
    pub fn predict_proba<C: Counts>(
        &self,
        counts: &C,
        row: CountRow<'_>,
        out: &mut Vec<f64>,
    ) -> Result<usize, C::Error> {
        self.joint_log_likelihood(counts, row, out).inspect(|_| softmax(out))
    }

    /// The most probable class; ties go to the lowest id.
    ///
    /// # Errors
    /// Reading the counts fails.
    pub fn predict<C: Counts>(&self, counts: &C, row: CountRow<'_>) -> Result<ClassId, C::Error> {
        let mut joint = Vec::new();
        self.joint_log_likelihood(counts, row, &mut joint).map(|_| argmax(&joint))
    }

    /// Writes to `out` what a term that occurs `count` times contributes to the joint log-likelihood of each class,
    /// compared with its absence (for Bernoulli `log p - log(1-p)`). Returns `false`, with zeros, if the term is not a
    /// feature or `count` is 0. [`intercept`](Self::intercept) plus the weights of a document's terms is its joint
    /// log-likelihood, as long as all are finite: without smoothing, infinities of both signs may meet.
    ///
    /// # Errors
    /// Reading the counts fails.
    pub fn term_weights<C: Counts>(
        &self,
        counts: &C,
        term: TermId,
        count: u32,
        out: &mut Vec<f64>,
    ) -> Result<bool, C::Error> {
        let sums = self.sum_terms(counts, Some((term, count)).filter(|_| count > 0).into_iter())?;
        *out = sums.columns;
        self.add_absence(&sums.scalars, out);
        Ok(sums.scalars.known > 0)
    }

    /// The log-likelihood ratio (nats) of a document: how much more probable the positive class makes it than the
    /// negative one. These are the log-odds without the priors: adding
    /// `class_log_prior[positive] - class_log_prior[negative]` gives the difference of the joint log-likelihoods. (The
    /// complement likelihoods have no prior; for them it is that difference already.)
    ///
    /// Infinite if the document is impossible in only one of the classes; 0 if it is impossible in both, or if the
    /// model lacks a class. For the log-odds of many documents, use [`linear_form`](Self::linear_form).
    ///
    /// # Errors
    /// Reading the counts fails.
    pub fn log_likelihood_ratio<C: Counts>(
        &self,
        counts: &C,
        row: CountRow<'_>,
        negative: ClassId,
        positive: ClassId,
    ) -> Result<f64, C::Error> {
        let mut joint = Vec::new();
        self.joint_log_likelihood(counts, row, &mut joint)?;
        let log_likelihood = |class: ClassId| {
            let (joint, prior) =
                joint.get(usize::from(class)).zip(self.class_log_prior.get(usize::from(class)))?;
            Some(if self.rule.likelihood.is_complement() { *joint } else { joint - prior })
        };
        let ratio =
            log_likelihood(positive).zip(log_likelihood(negative)).map_or(0.0, |(up, down)| up - down);
        Ok(if ratio.is_nan() { 0.0 } else { ratio })
    }

    /// The log-odds of one class against another as a linear function of a document's counts, with the weights of all
    /// terms computed once. It is zero everywhere if the model lacks a class.
    ///
    /// The function is the difference of the joint log-likelihoods, that is
    /// [`log_likelihood_ratio`](Self::log_likelihood_ratio) with the priors. Without smoothing, weights and bias may be
    /// infinite.
    ///
    /// # Errors
    /// Reading the counts fails.
    pub fn linear_form<C: Counts>(
        &self,
        counts: &C,
        negative: ClassId,
        positive: ClassId,
    ) -> Result<LinearForm, C::Error> {
        let mut weights = vec![0.0; counts.n_terms()];
        let class = |id: ClassId| self.classes.get(usize::from(id)).zip(self.start(id));
        let (Some((minus, down)), Some((plus, up))) = (class(negative), class(positive)) else {
            return Ok(LinearForm { weights, bias: 0.0 });
        };
        let mut cells = Vec::new();
        for (term, weight) in (0..).zip(&mut weights) {
            read_cells(counts, term, &mut cells)?;
            let Some(mass) = self.selection.feature(counts.totals(), term, &cells) else { continue };
            let weigh =
                |of, class| self.rule.weight(of, self.rule.total(mass) as f64, self.count_in(class, &cells));
            *weight = weigh(plus, positive).minus(weigh(minus, negative)).value();
        }
        Ok(LinearForm { weights, bias: up.minus(down).value() })
    }

    /// The intercept of a class, with its zero factors counted.
    fn start(&self, class: ClassId) -> Option<Weight> {
        let at = usize::from(class);
        let finite = *self.start.get(..self.n_classes())?.get(at)?;
        Some(Weight { finite, zeros: self.start.get(at + self.n_classes()).copied().unwrap_or(0.0) })
    }

    /// What a document's features weigh in each class if it has none of them.
    fn absences(&self, document: &Scalars) -> impl Iterator<Item = (usize, Weight)> {
        self.classes.iter().map(|class| class.absence(document)).enumerate()
    }

    /// Adds to each class the weight that the document's features have in a class without them, and reduces `out` to
    /// one number per class.
    fn add_absence(&self, document: &Scalars, out: &mut Vec<f64>) {
        let n = self.n_classes();
        for (at, absence) in self.absences(document) {
            out[at] += absence.finite;
            if let Some(zeros) = out.get(at + n) {
                out[at] = Weight { finite: out[at], zeros: zeros + absence.zeros }.value();
            }
        }
        out.truncate(n);
    }
}

impl Parameters {
    /// Derives a model: [`summarize`](Self::summarize), then [`NaiveBayes::new`].
    ///
    /// # Errors
    /// Reading the counts fails; or as [`NaiveBayes::new`].
    pub fn fit<C: Counts>(&self, counts: &C) -> Result<NaiveBayes, FitError<C::Error>> {
        let summary = self.summarize(counts).map_err(FitError::Counts)?;
        NaiveBayes::new(self, &summary).map_err(FitError::Parameters)
    }
}

#[cfg(test)]
mod tests;

/// The log-odds of two classes as a linear function of a document's counts.
///
/// Made by [`NaiveBayes::linear_form`](crate::NaiveBayes::linear_form). Takes eight bytes per term of the vocabulary,
/// so it pays off when many documents are scored.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearForm {
    /// Log-odds (nats) added by one occurrence of each term, indexed by term id; 0 for terms that are not features.
    pub weights: Vec<f64>,
    /// Log-odds (nats) of a document without features.
    pub bias: f64,
}

impl LinearForm {
    /// The log-odds (nats) of a document: positive in favour of the positive class. `counting` must be the model's, and
    /// `Presence` for Bernoulli. Terms beyond the weights are skipped. Never NaN: without smoothing there may be
    /// infinite weights of both signs, which give 0.
    pub fn decision_function(&self, row: CountRow<'_>, counting: Counting) -> f64 {
        let mut sum = self.bias;
        for (term, count) in row.iter() {
            let count = if counting == Counting::Presence { 1.0 } else { f64::from(count) };
            sum += count * self.weights.get(term as usize).copied().unwrap_or(0.0);
        }
        if sum.is_nan() { 0.0 } else { sum }
    }
}
