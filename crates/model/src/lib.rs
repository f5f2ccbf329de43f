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
#![allow(clippy::module_inception, reason = "a room has the type in it that it is named for")]

// The rooms, the lowest first: none uses one that comes after it (tests/rooms.rs).
mod counts;

mod numbers;

mod bayes;

mod em;

mod linear;

mod left_out;

mod fit;

mod gaussian;

mod textbook;

mod validation;

pub use bayes::error::{FitError, ParametersError};
pub use bayes::features::{Criterion, FeatureLimits, Select};
pub use bayes::likelihood::{Counting, Likelihood};
pub use bayes::linear_form::LinearForm;
pub use bayes::naive_bayes::NaiveBayes;
pub use bayes::parameters::Parameters;
pub use bayes::prior::ClassPrior;
pub use bayes::select::{chi_square, mutual_information};
pub use bayes::smoothing::Smoothing;
pub use bayes::summary::Summary;
pub use counts::classes::{Classes, ClassesError};
pub use counts::counts::{Cell, ClassId, ClassTotals, ClassWeights, Counts};
pub use counts::observation::ObservationError;
pub use counts::rows::{WeightedMatrix, WeightedRow, WeightedVector, WeightsError};
pub use counts::statistics::Statistics;
pub use counts::statistics::error::StatisticsError;
pub use counts::sums::{DocumentSums, TermEntry, TermTable};
pub use counts::transform::Transform;
pub use em::em::{Em, EmOptions, Stopped};
pub use em::error::EmError;
pub use em::expected::ExpectedStatistics;
pub use em::expected_bayes::ExpectedNaiveBayes;
pub use em::expected_error::ExpectedError;
pub use fit::fit::{Fit, Fitted};
pub use gaussian::discriminant::{DiscriminantParameters, Hyperplane, LinearDiscriminant, Regularization};
pub use gaussian::moments::Moments;
pub use gaussian::naive_bayes::{GaussianFeature, GaussianNaiveBayes, GaussianParameters};
pub use gaussian::scatter::ScatterStatistics;
pub use gaussian::statistics::GaussianStatistics;
pub use left_out::documents::{BLOCK, Block, Documents, InMemory, Label, Labelled};
pub use left_out::folds::{deal, hold_back};
pub use left_out::held_out::HeldOut;
pub use left_out::smoothing_choice::{SmoothingChoice, enough_to_choose, is_worse};
pub use linear::choices::{Choices, WeightedOptions};
pub use linear::coefficients::{COEFFICIENT_ONE, ClassWeight, Coefficient, Coefficients, Correction};
pub use linear::columns::Columns;
pub use linear::weighted::{Readings, WeightedLogOdds};
pub use numbers::logs::{log_normalize, log_sum_exp, softmax};
pub use textbook::categorical::{CategoricalNaiveBayes, CategoricalStatistics};
pub use textbook::decision::{CostError, CostMatrix};
pub use textbook::estimate::{Beta, Dirichlet, EstimateError};
pub use textbook::mixed::{ColumnLikelihood, MixedNaiveBayes};
pub use textbook::mixed_statistics::{Feature, MixedParameters, MixedStatistics, Value};
pub use textbook::sample::{Generator, SampleError};
pub use validation::binomial::{TooFewNegatives, clopper_pearson, clopper_pearson_upper, threshold_for_fpr};
pub use validation::metrics;
