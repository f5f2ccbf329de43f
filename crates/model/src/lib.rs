//! Naive Bayes over count vectors: integer statistics and the models derived from them.
//!
//! **The integer statistics are the model.** What is learned is one value, [`Statistics`]: per class the
//! number of documents, per term and class how many of them contain it and how often. Nothing but
//! additions and subtractions of integers ever touches it, so learning, forgetting and merging are exact,
//! and neither the order of the documents nor the number of threads leaves a trace.
//!
//! Everything real-valued comes after counting. [`Parameters`] name the likelihood, the smoothing, the
//! class prior and the features; [`Parameters::summarize`] passes once over the counts and keeps a few
//! integers a class ([`Summary`]); [`NaiveBayes`] turns those into a few floating-point numbers a class and
//! reads the counts of a term only when a document contains it. Whatever implements [`Counts`] can be read
//! that way: `Statistics` in memory, or a file mapped into it.
//!
//! The likelihood may be multinomial, Bernoulli or a complement's ([`Likelihood`]), the estimates smoothed or bare
//! ([`Smoothing`]), the features chosen by what they say about the class ([`Select`]). A model draws documents
//! ([`NaiveBayes::sample`]), and a [`CostMatrix`] turns its probabilities into the decision that costs least.
//!
//! Mail and text have a second, better way ([`WeightedLogOdds`]), one for any number of classes: the same counts, with rare terms
//! weighing more and long documents no more than short ones when they are scored. A [`Correction`] learns on top of it what
//! counting cannot see. [`Fit`] finds all numbers there are to choose by what predicts left-out documents best: smoothing and idf
//! by exact leave-one-out, the weights of counts and correction by held-out scores, which are calibrated by that;
//! [`threshold_for_fpr`] finds thresholds that hold.
//!
//! What is truly real-valued is learned apart from the counts: [`GaussianNaiveBayes`] from [`Moments`],
//! [`LinearDiscriminant`] from [`ScatterStatistics`]. [`CategoricalNaiveBayes`] counts again, and
//! [`MixedNaiveBayes`] multiplies the likelihoods of the columns of a table, each of its own kind.
//!
//! Invariant: memory and work grow with the non-zero counts, never with terms x classes. A class without
//! a term shares the weight of all its absent terms, so absence is one multiplication a class.
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

mod ascent;
mod bayes;
mod binomial;
mod categorical;
mod cells;
mod choices;
mod cholesky;
mod classes;
mod coefficients;
mod columns;
mod competitors;
mod complement;
mod counts;
mod decision;
mod discriminant;
mod documents;
mod em;
mod estimate;
mod expected;
mod fit;
mod folds;
mod gaussian;
mod held_out;
mod leave_one_out;
mod linear;
mod logs;
pub mod metrics;
mod mixed;
mod moments;
mod observation;
mod outcomes;
mod parameters;
mod random;
mod rows;
mod rule;
mod sample;
mod select;
mod smoothing_choice;
mod stacking;
mod statistics;
mod summary;
mod sums;
mod teach;
mod term_frequency;
mod transform;
mod twofold;
mod weighted;

pub use bayes::NaiveBayes;
pub use binomial::{TooLittleHam, clopper_pearson, clopper_pearson_upper, threshold_for_fpr};
pub use categorical::{CategoricalNaiveBayes, CategoricalStatistics};
pub use choices::{Choices, WeightedOptions};
pub use classes::{Classes, ClassesError};
pub use coefficients::{COEFFICIENT_ONE, ClassWeight, ClassWeights, Coefficient, Coefficients, Correction};
pub use columns::Columns;
pub use counts::{Cell, ClassId, ClassTotals, Counts};
pub use decision::{CostError, CostMatrix};
pub use discriminant::{
    DiscriminantParameters, Hyperplane, LinearDiscriminant, Regularization, ScatterStatistics,
};
pub use documents::{BLOCK, Block, Documents, InMemory, Label};
pub use em::{Em, EmError, EmOptions, Stopped};
pub use estimate::{Beta, Dirichlet, EstimateError};
pub use expected::{ExpectedError, ExpectedNaiveBayes, ExpectedStatistics};
pub use fit::{Fit, Fitted};
pub use folds::{Labelled, deal, hold_back};
pub use gaussian::{GaussianFeature, GaussianNaiveBayes, GaussianParameters, GaussianStatistics};
pub use held_out::HeldOut;
pub use linear::LinearForm;
pub use logs::{log_normalize, log_sum_exp, softmax};
pub use mixed::{Feature, MixedNaiveBayes, MixedParameters, MixedStatistics, Part, Value};
pub use moments::Moments;
pub use observation::ObservationError;
pub use parameters::{
    ClassPrior, Counting, FeatureLimits, FitError, Likelihood, Parameters, ParametersError, Smoothing,
};
pub use rows::{WeightedMatrix, WeightedRow, WeightedVector, WeightsError};
pub use sample::{Generator, SampleError};
pub use select::{Criterion, Select, chi_square, mutual_information};
pub use smoothing_choice::{SmoothingChoice, enough_to_choose, is_worse};
pub use statistics::{Statistics, StatisticsError};
pub use summary::Summary;
pub use sums::{DocumentSums, TermEntry, TermTable};
pub use transform::Transform;
pub use weighted::{Readings, WeightedLogOdds};
