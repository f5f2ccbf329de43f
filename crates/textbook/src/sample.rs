//! Samples documents from naive Bayes, a generative model.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use tamis_model::{ClassId, Counts, Likelihood, NaiveBayes, SplitMix64, term_ids};
use tamis_tokenizer::{CountVector, TermId};

/// Samples documents of one class from its likelihood.
///
/// Made in one pass over the terms. Keeps twelve bytes per feature with a probability
/// above 0. The same seed gives the same documents.
///
/// ```
/// use tamis_model::{Parameters, Smoothing, Statistics};
/// use tamis_textbook::Generator;
/// use tamis_tokenizer::CountVector;
///
/// let mut statistics = Statistics::new(2);
/// statistics.observe(0, CountVector::from_pairs([(0, 3), (1, 1)])?.row())?;
/// statistics.observe(1, CountVector::from_pairs([(2, 1)])?.row())?;
/// let parameters = Parameters { alpha: Smoothing::maximum_likelihood(), ..Parameters::default() };
/// let generator = Generator::new(&parameters.fit(&statistics)?, &statistics, 0)?;
/// let document = generator.documents(7, 42).next().unwrap_or_default();
/// assert_eq!(document.row().total(), 7);
/// assert!(document.row().ids().iter().all(|term| *term < 2)); // term 2 is impossible in class 0
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Generator {
    likelihood: Likelihood,
    /// The features with a probability above 0, in increasing order.
    terms: Vec<TermId>,
    /// For each feature, its probability (Bernoulli) or the cumulative probability (multinomial).
    table: Vec<f64>,
}

impl Generator {
    /// A generator of documents of one class of a model. `counts` are those that the model was made from.
    ///
    /// # Errors
    /// Reading the counts fails; an unknown class; a complement likelihood, which is not generative.
    pub fn new<C: Counts>(
        model: &NaiveBayes,
        counts: &C,
        class: ClassId,
    ) -> Result<Self, SampleError<C::Error>> {
        let likelihood = model.likelihood();
        if !likelihood.is_generative() {
            return Err(SampleError::NotGenerative { expected: "bernoulli or multinomial", got: likelihood });
        }
        if usize::from(class) >= model.n_classes() {
            return Err(SampleError::UnknownClass { expected: model.n_classes(), got: class });
        }
        let mut generator = Generator { likelihood, terms: Vec::new(), table: Vec::new() };
        let mut sum = 0.0;
        for term in term_ids(counts) {
            let log_prob = model.feature_log_prob(counts, term, class).map_err(SampleError::Counts)?;
            let p = log_prob.map_or(0.0, f64::exp);
            if p > 0.0 {
                sum += p;
                generator.terms.push(term);
                generator.table.push(if likelihood.counts_presence_only() { p } else { sum });
            }
        }
        Ok(generator)
    }

    /// An endless stream of documents. Multinomial: each has `length` tokens drawn from the class, or none if the class
    /// has no features. Bernoulli: each feature is present or absent at random, and `length` is ignored.
    pub fn documents(&self, length: u32, seed: u64) -> impl Iterator<Item = CountVector> + '_ {
        let mut random = SplitMix64::new(seed);
        std::iter::repeat_with(move || self.draw(length, &mut random))
    }

    fn draw(&self, length: u32, random: &mut SplitMix64) -> CountVector {
        let mut ids = match self.likelihood.counts_presence_only() {
            true => {
                let coins = self.terms.iter().zip(&self.table);
                coins.filter(|(_, p)| random.unit() < **p).map(|(term, _)| *term).collect()
            }
            false => (0..length).filter_map(|_| self.token(random)).collect::<Vec<_>>(),
        };
        let mut document = CountVector::default();
        document.assign_ids(&mut ids);
        document
    }

    fn token(&self, random: &mut SplitMix64) -> Option<TermId> {
        // the sum is 1 up to rounding, so scale the draw by it
        let at = random.unit() * self.table.last()?;
        let rank = self.table.partition_point(|sum| *sum <= at);
        self.terms.get(rank).or(self.terms.last()).copied()
    }
}

/// Samples `n` documents: draws a class for each from the prior, then its terms as [`Generator::documents`] does.
/// The same seed gives the same documents.
///
/// Passes over the terms once for each class drawn, and keeps the class's [`Generator`] until the end.
///
/// ```
/// use tamis_model::{ClassPrior, Parameters, Statistics};
/// use tamis_textbook::sample;
/// use tamis_tokenizer::CountVector;
///
/// let mut statistics = Statistics::new(2);
/// statistics.observe(0, CountVector::from_pairs([(0, 1)])?.row())?;
/// statistics.observe(1, CountVector::from_pairs([(1, 1)])?.row())?;
/// let model = Parameters::default().fit(&statistics)?;
/// let documents = sample(&model, &statistics, 3, 20, 1)?;
/// assert_eq!(documents, sample(&model, &statistics, 3, 20, 1)?);
/// assert!(documents.iter().all(|(class, document)| *class < 2 && document.row().total() == 20));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`Generator::new`].
pub fn sample<C: Counts>(
    model: &NaiveBayes,
    counts: &C,
    n: usize,
    length: u32,
    seed: u64,
) -> Result<Vec<(ClassId, CountVector)>, SampleError<C::Error>> {
    let mut random = SplitMix64::new(seed);
    let mut sum = 0.0;
    let prior = model.class_log_prior().iter().map(|log_prior| {
        sum += log_prior.exp();
        sum
    });
    let prior: Vec<f64> = prior.collect();
    let mut generators = BTreeMap::new();
    let mut documents = Vec::new();
    for _ in 0..n {
        let at = random.unit() * sum;
        // the cast is safe: there are at most ClassId::MAX classes; rounding may put the draw beyond the last
        let class = prior.partition_point(|sum| *sum <= at).min(model.n_classes() - 1) as ClassId;
        let generator: &Generator = match generators.entry(class) {
            Entry::Occupied(found) => found.into_mut(),
            Entry::Vacant(place) => place.insert(Generator::new(model, counts, class)?),
        };
        documents.push((class, generator.draw(length, &mut random)));
    }
    Ok(documents)
}

/// Why documents cannot be sampled.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SampleError<E> {
    /// Reading the counts failed.
    #[error("{0}")]
    Counts(E),
    /// A likelihood that is not generative.
    #[error("drawing documents: expected a {expected} likelihood, got {got}")]
    NotGenerative {
        /// The generative likelihoods.
        expected: &'static str,
        /// The model's likelihood.
        got: Likelihood,
    },
    /// An unknown class.
    #[error("unknown class: expected an id below {expected}, got {got}")]
    UnknownClass {
        /// The number of classes: ids are below it.
        expected: usize,
        /// The id.
        got: ClassId,
    },
}
