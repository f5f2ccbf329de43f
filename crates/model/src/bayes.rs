use tamis_tokenizer::{CountRow, TermId};

use crate::logs::argmax;
use crate::rule::{Class, Rule};
use crate::summary::{Mass, Selection};
use crate::{ClassId, Counts, LinearForm, Parameters, ParametersError, Summary, log_normalize, softmax};

/// A naive Bayes model: a few numbers a class; what a term weighs is computed from its counts when a
/// document contains it.
///
/// The joint log-likelihood of a document and a class is the class's [`intercept`](Self::intercept) plus,
/// for each term of the document that is a feature, its [weight](Self::term_weights). Terms that are no
/// features are skipped. All logarithms are natural (nats); vectors over classes are in class order.
///
/// The counts passed to a method must be those the [`Summary`] was made from. With others the result is
/// finite but means nothing.
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
    classes: Vec<Class>,
    class_log_prior: Vec<f64>,
    intercept: Vec<f64>,
}

impl NaiveBayes {
    /// Derives the model from the summary of some counts.
    ///
    /// # Errors
    /// Parameters out of their ranges; a prior that does not fit the classes; a summary that no counts have
    /// or that was made for the other likelihood.
    pub fn new(parameters: &Parameters, summary: &Summary) -> Result<NaiveBayes, ParametersError> {
        parameters.features.check()?;
        summary.check(parameters.likelihood)?;
        let rule = Rule::new(parameters);
        let n_features = summary.n_features();
        let classes: Vec<Class> = summary.totals().iter().map(|t| rule.class(t, n_features)).collect();
        let class_log_prior = parameters.prior.log_prior(summary.totals())?;
        let mut intercept = class_log_prior.clone();
        for ((sum, class), histogram) in intercept.iter_mut().zip(&classes).zip(summary.histograms()) {
            *sum += rule.log_absence(class, histogram, n_features);
        }
        let selection = summary.selection();
        Ok(NaiveBayes { rule, selection, n_features, classes, class_log_prior, intercept })
    }

    /// The number of classes, at least 1.
    pub fn n_classes(&self) -> usize {
        self.classes.len()
    }

    /// The number of features.
    pub fn n_features(&self) -> u64 {
        self.n_features
    }

    /// The logarithm of each class's prior probability.
    pub fn class_log_prior(&self) -> &[f64] {
        &self.class_log_prior
    }

    /// The joint log-likelihood of a document without features: the log-prior, for Bernoulli plus the
    /// log-probability that no feature is there.
    pub fn intercept(&self) -> &[f64] {
        &self.intercept
    }

    /// The logarithm of `p(term | class)`; `None` if the term is no feature or the class unknown.
    ///
    /// # Errors
    /// Reading the counts fails.
    pub fn feature_log_prob<C: Counts>(
        &self,
        counts: &C,
        term: TermId,
        class: ClassId,
    ) -> Result<Option<f64>, C::Error> {
        let mut n = 0;
        counts.for_each_cell(term, |cell| {
            if cell.class == class {
                n = self.rule.evidence(cell);
            }
        })?;
        let is_feature = self.is_feature(counts, term)?;
        let class = self.classes.get(usize::from(class)).filter(|_| is_feature);
        Ok(class.map(|class| self.rule.log_prob(class, n)))
    }

    /// Writes the joint log-likelihood of the document and each class to `out`; returns how many distinct
    /// terms of the document are features. Work grows with their cells plus the classes.
    ///
    /// # Errors
    /// Reading the counts fails; `out` then holds nothing of use.
    pub fn joint_log_likelihood<C: Counts>(
        &self,
        counts: &C,
        row: CountRow<'_>,
        out: &mut Vec<f64>,
    ) -> Result<usize, C::Error> {
        out.clear();
        out.extend_from_slice(&self.intercept);
        self.add_terms(counts, row, out)
    }

    /// Adds the logarithm of the likelihood of the document, the prior left out.
    pub(crate) fn add_log_likelihood<C: Counts>(
        &self,
        counts: &C,
        row: CountRow<'_>,
        out: &mut [f64],
    ) -> Result<usize, C::Error> {
        for (out, (intercept, prior)) in out.iter_mut().zip(self.intercept.iter().zip(&self.class_log_prior))
        {
            *out += intercept - prior;
        }
        self.add_terms(counts, row, out)
    }

    /// Adds the logarithm of the probability of one outcome, the row's only term; if that has no counts, of
    /// any outcome that was never seen.
    pub(crate) fn add_outcome<C: Counts>(
        &self,
        counts: &C,
        row: CountRow<'_>,
        out: &mut [f64],
    ) -> Result<(), C::Error> {
        if self.add_terms(counts, row, out)? == 0 {
            self.add_absence(1.0, out);
        }
        Ok(())
    }

    fn add_terms<C: Counts>(
        &self,
        counts: &C,
        row: CountRow<'_>,
        out: &mut [f64],
    ) -> Result<usize, C::Error> {
        let (mut known, mut tokens) = (0, 0.0);
        for (term, count) in row.iter() {
            if self.is_feature(counts, term)? {
                let count = self.rule.count(count);
                known += 1;
                tokens += count;
                self.add_presence(counts, term, count, out)?;
            }
        }
        self.add_absence(tokens, out);
        Ok(known)
    }

    /// As [`joint_log_likelihood`](Self::joint_log_likelihood), normalised to the logarithms of the posterior
    /// probabilities: each at most 0, never NaN.
    ///
    /// # Errors
    /// Reading the counts fails.
    pub fn predict_log_proba<C: Counts>(
        &self,
        counts: &C,
        row: CountRow<'_>,
        out: &mut Vec<f64>,
    ) -> Result<usize, C::Error> {
        let known = self.joint_log_likelihood(counts, row, out)?;
        log_normalize(out);
        Ok(known)
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
        let known = self.joint_log_likelihood(counts, row, out)?;
        softmax(out);
        Ok(known)
    }

    /// The most probable class; of equally probable ones the lowest.
    ///
    /// # Errors
    /// Reading the counts fails.
    pub fn predict<C: Counts>(&self, counts: &C, row: CountRow<'_>) -> Result<ClassId, C::Error> {
        let mut joint = Vec::new();
        self.joint_log_likelihood(counts, row, &mut joint)?;
        Ok(argmax(&joint))
    }

    /// Writes to `out` what a term occurring `count` times adds to the joint log-likelihood of each class,
    /// compared with its absence (for Bernoulli `log p - log(1-p)`); zeros and `false` if the term is no
    /// feature or
    /// `count` is 0. [`intercept`](Self::intercept) plus the weights of a document's terms is its joint
    /// log-likelihood.
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
        out.clear();
        out.resize(self.n_classes(), 0.0);
        let is_feature = count > 0 && self.is_feature(counts, term)?;
        if is_feature {
            let count = self.rule.count(count);
            self.add_presence(counts, term, count, out)?;
            self.add_absence(count, out);
        }
        Ok(is_feature)
    }

    /// The log-odds of one class against another as a linear function of a document's counts: weights of
    /// all terms, computed once. For a class the model does not have it is zero everywhere.
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
        let class = |id: ClassId| self.classes.get(usize::from(id)).zip(self.intercept.get(usize::from(id)));
        let (Some((minus, down)), Some((plus, up))) = (class(negative), class(positive)) else {
            return Ok(LinearForm { weights, bias: 0.0 });
        };
        for (term, weight) in (0..).zip(&mut weights) {
            let (mut mass, mut n_minus, mut n_plus) = (Mass::default(), 0, 0);
            counts.for_each_cell(term, |cell| {
                mass.add(cell);
                if cell.class == negative {
                    n_minus = self.rule.evidence(cell);
                }
                if cell.class == positive {
                    n_plus = self.rule.evidence(cell);
                }
            })?;
            if self.selection.contains(term, mass) {
                *weight = self.rule.weight(plus, n_plus) - self.rule.weight(minus, n_minus);
            }
        }
        Ok(LinearForm { weights, bias: up - down })
    }

    fn is_feature<C: Counts>(&self, counts: &C, term: TermId) -> Result<bool, C::Error> {
        let mut mass = Mass::default();
        counts.for_each_cell(term, |cell| mass.add(cell))?;
        Ok(self.selection.contains(term, mass))
    }

    /// Adds for the classes that have the term what it weighs more than an absent one.
    fn add_presence<C: Counts>(
        &self,
        counts: &C,
        term: TermId,
        count: f64,
        out: &mut [f64],
    ) -> Result<(), C::Error> {
        counts.for_each_cell(term, |cell| {
            let at = usize::from(cell.class);
            if let (Some(class), Some(out)) = (self.classes.get(at), out.get_mut(at)) {
                *out += count * (self.rule.weight(class, self.rule.evidence(cell)) - class.absent);
            }
        })
    }

    /// Adds for all classes what as many tokens weigh that no class has.
    fn add_absence(&self, tokens: f64, out: &mut [f64]) {
        for (out, class) in out.iter_mut().zip(&self.classes) {
            *out += tokens * class.absent;
        }
    }
}

#[cfg(test)]
mod tests {
    use tamis_tokenizer::CountVector;

    use super::*;
    use crate::{ClassPrior, FeatureLimits, FitError, Likelihood, Smoothing, Statistics};

    fn row(pairs: &[(TermId, u32)]) -> CountVector {
        CountVector::from_pairs(pairs.iter().copied()).unwrap()
    }

    fn both(change: impl Fn(&mut Parameters)) -> [Parameters; 2] {
        [Likelihood::Bernoulli, Likelihood::Multinomial].map(|likelihood| {
            let mut parameters = Parameters { likelihood, ..Parameters::default() };
            change(&mut parameters);
            parameters
        })
    }

    #[test]
    fn nothing_learned_predicts_the_prior() {
        let statistics = Statistics::new(2);
        for parameters in both(|p| p.prior = ClassPrior::Given(vec![0.25, 0.75])) {
            let model = parameters.fit(&statistics).unwrap();
            let mut out = Vec::new();
            assert_eq!(model.predict_proba(&statistics, row(&[(3, 9)]).row(), &mut out), Ok(0));
            assert!((out[1] - 0.75).abs() < 1e-12);
            assert!(model.linear_form(&statistics, 0, 1).unwrap().weights.is_empty());
        }
        let error = Parameters::default().fit(&statistics).unwrap_err();
        assert!(matches!(error, FitError::Parameters(ParametersError::EmptyClass { class: 0, .. })));
        assert!(Parameters::default().fit(&Statistics::new(0)).is_err());
    }

    #[test]
    fn extreme_smoothing_stays_finite() {
        let mut statistics = Statistics::new(2);
        statistics.observe(0, row(&[(0, u32::MAX), (1, 1)]).row()).unwrap();
        statistics.observe(1, row(&[(1, 1)]).row()).unwrap();
        for alpha in [f64::from_bits(1), 1e-300, 1e300, f64::MAX] {
            for parameters in both(|p| p.alpha = Smoothing::try_from(alpha).unwrap()) {
                let model = parameters.fit(&statistics).unwrap();
                let mut out = Vec::new();
                model.predict_log_proba(&statistics, row(&[(0, u32::MAX), (1, 7)]).row(), &mut out).unwrap();
                assert!(out.iter().all(|x| x.is_finite() && *x <= 0.0), "{alpha} {out:?}");
            }
        }
    }

    #[test]
    fn ties_go_to_the_lowest_class_and_unknown_classes_to_nothing() {
        let mut statistics = Statistics::new(3);
        for class in 0..3 {
            statistics.observe(class, row(&[(0, 1)]).row()).unwrap();
        }
        for parameters in both(|_| {}) {
            let model = parameters.fit(&statistics).unwrap();
            assert_eq!(model.predict(&statistics, row(&[(0, 2)]).row()), Ok(0));
            assert_eq!(model.feature_log_prob(&statistics, 0, 3), Ok(None));
            assert_eq!(model.feature_log_prob(&statistics, 1, 0), Ok(None));
            let form = model.linear_form(&statistics, 0, 3).unwrap();
            assert_eq!((form.weights, form.bias), (vec![0.0], 0.0));
        }
    }

    #[test]
    fn parameters_are_checked() {
        let mut statistics = Statistics::new(1);
        statistics.observe(0, row(&[(0, 1)]).row()).unwrap();
        for bad in [0.0, -1.0, 1.1, f64::NAN, f64::INFINITY] {
            let features = FeatureLimits { max_df: Some(bad), ..FeatureLimits::default() };
            let fitted = Parameters { features, ..Parameters::default() }.fit(&statistics);
            assert!(matches!(fitted, Err(FitError::Parameters(ParametersError::MaxDf { .. }))), "{bad}");
        }
        let features = FeatureLimits { max_features: Some(0), ..FeatureLimits::default() };
        let fitted = Parameters { features, ..Parameters::default() }.fit(&statistics);
        assert!(matches!(fitted, Err(FitError::Parameters(ParametersError::MaxFeatures { .. }))));
    }
}
