//! Naive Bayes over count vectors: integer statistics and the models derived from them.
//!
//! **The integer statistics are the model.** Learning fills one value, [`Statistics`]: the documents of each class, and
//! the document and term frequency of each term in each class. It changes only by adding and subtracting integers, so
//! learning, forgetting and merging are exact and do not depend on the order of documents or the number of threads.
//!
//! Everything real-valued comes after counting. [`Parameters`] name the likelihood, the smoothing, the class prior and
//! the features. [`Parameters::summarize`] passes over the counts once and keeps a few integers per class
//! ([`Summary`]). [`NaiveBayes`] turns these into a few floating-point numbers per class and reads the counts of a term
//! only when a document contains it. It reads anything that implements [`Counts`]: `Statistics` in memory, or a
//! memory-mapped file.
//!
//! The likelihood is multinomial, Bernoulli or complement ([`Likelihood`]), with Laplace or other additive smoothing
//! ([`Smoothing`]) and feature selection by chi-square or mutual information ([`Select`]).
//!
//! For mail and text there is a better model, [`WeightedLogOdds`]: one-vs-rest log-odds from the same counts, with idf
//! weights and length normalisation. A [`Correction`], fitted by logistic regression, can be added to it. [`FitProblem`]
//! chooses all numbers on left-out documents: smoothing and idf by exact leave-one-out, the stacking weights of counts
//! and correction by cross-validation, which also calibrates the scores. [`threshold_for_fpr`] finds a threshold that
//! keeps a given false-positive rate, and [`metrics`] evaluate predictions.
//!
//! Real values are learned separately from counts: [`Moments`] give normal distributions.
//! [`MixedNaiveBayes`] combines table columns of different kinds. Dense vectors, such as sentence embeddings, have
//! [`VectorStatistics`], from which a [`VectorDiscriminant`] is derived. What the filter does not use of the theory, such as
//! sampling, decisions by loss and discriminant analysis, is in `tamis-textbook`.
//!
//! Invariant: memory and work grow with the non-zero counts, never with terms x classes. All terms that a class lacks
//! have the same weight in it, so absence costs one multiplication per class.
//!
//! ```
//! use tamis_model::{NaiveBayes, Parameters, Statistics};
//! use tamis_tokenizer::CountVector;
//!
//! const HAM: u16 = 0;
//! const SPAM: u16 = 1;
//! // terms: 0 "offer", 1 "free", 2 "meeting"
//! let offer = CountVector::from_pairs([(0, 2), (1, 1)])?;
//! let minutes = CountVector::from_pairs([(2, 2)])?;
//! let mut statistics = Statistics::new(2);
//! statistics.observe(SPAM, offer.row())?;
//! statistics.observe(HAM, minutes.row())?;
//!
//! let model = Parameters::default().fit(&statistics)?;
//! let mut probabilities = Vec::new();
//! let free = CountVector::from_pairs([(1, 1)])?;
//! let known = model.predict_proba(&statistics, free.row(), &mut probabilities)?;
//! assert_eq!(known, 1); // P(spam) = (1+1)/(3+3) / ((1+1)/(3+3) + (0+1)/(2+3)) = 5/8
//! assert!((probabilities[1] - 0.625).abs() < 1e-12);
//!
//! // What was learned can be forgotten: nothing remains of it.
//! statistics.forget(SPAM, offer.row())?;
//! statistics.forget(HAM, minutes.row())?;
//! assert_eq!(statistics, Statistics::new(2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

// The rooms, the lowest first: none uses one that comes after it (tests/code/rooms.rs).
mod counts;

mod numbers;

mod bayes;

mod linear;

mod vectors;

mod validation;

mod fit;

mod reals;

pub mod metrics;

pub use bayes::{
    ClassPrior, Counting, Criterion, FeatureLimits, FitError, Likelihood, LinearForm, NaiveBayes, Parameters,
    ParametersError, RobinsonFisher, RobinsonScorer, Select, Smoothing, Summary, chi_square,
    mutual_information,
};
#[doc(hidden)]
pub use counts::term_ids;
pub use counts::{
    Cell, ClassId, ClassTotals, ClassWeights, Classes, ClassesError, Counts, DocumentSums, KnownTerm,
    KnownTerms, ObservationError, Statistics, StatisticsError, TermEntry, TermTable, Transform, WeightedRow,
    WeightedVector, WeightsError,
};
#[doc(hidden)]
pub use fit::LEAST_BELIEF;
pub use fit::{Beside, FitProblem, Lesson, Partition, ROUNDS, RoundChange, TAUS, WeightedFit, is_sampled};
pub use linear::{
    Choices, ClassWeight, Coefficient, Coefficients, Columns, CorrectedStatistics, Correction, HeldOut,
    PartScores, PartsTrial, Readings, SmoothingTrial, TauTrial, WeightedLogOdds, WeightedOptions, priors,
};
pub use metrics::intervals::{
    Interval, TooFewNegatives, clopper_pearson, clopper_pearson_upper, threshold_for_fpr, wilson,
};
#[doc(hidden)]
pub use numbers::{Cholesky, SingularPivot, SplitMix64, Twofold, argmax, dot};
pub use numbers::{log_normalize, log_sum_exp, softmax};
#[doc(hidden)]
pub use reals::checked;
pub use reals::{
    ColumnLikelihood, Em, EmError, EmOptions, ExpectedError, ExpectedNaiveBayes, ExpectedStatistics,
    GaussianFeature, GaussianParameters, GaussianStatistics, MixedChoices, MixedFit, MixedNaiveBayes,
    Moments, RowPrediction, Trust,
};
pub use validation::{
    BLOCK, Block, Documents, Example, Label, NearDuplicates, Prediction, SmoothingChoice, Stretch,
    WeightedLoss, assign_folds, block_len, is_worse, is_worse_by, paired_difference, windows,
};
pub use vectors::{VectorDiscriminant, VectorStatistics};

/// The README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
