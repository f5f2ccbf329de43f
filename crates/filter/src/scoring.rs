//! How counts become a score, and a score a decision.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use tamis_model::{
    Choices, ClassPrior, Classes, Counting, EmOptions, FeatureLimits, Likelihood, Parameters, Smoothing,
    Transform, WeightedOptions,
};

use crate::columns::{Column, ColumnKind};
use crate::error::{Error, Result};
use crate::recipe::{Kind, Recipe};
use crate::scorer::spam_class;
use crate::trainer::Keep;

/// How counts become scores. All of it is settled after counting.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Scoring {
    /// Log-odds over presence, weighted by idf and log tf and divided by the document's length when scoring, corrected, and all
    /// of it chosen and calibrated by what predicts documents best that did not take part. The default, for any number of classes.
    Weighted(WeightedOptions),
    /// Naive Bayes as the textbook has it, for any number of classes.
    NaiveBayes(Parameters),
    /// Naive Bayes by expectation maximization, from documents with and without labels.
    ExpectationMaximization(ExpectationMaximization),
    /// Naive Bayes of a table, each column with a likelihood of its own. The default for a table, unless all its columns
    /// are text.
    Mixed(Mixed),
}

/// The settings of [`Scoring::ExpectationMaximization`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ExpectationMaximization {
    /// The likelihood (multinomial or Bernoulli), its smoothing and prior, and how it goes about it.
    pub options: EmOptions,
    /// How counts become the weights that the multinomial likelihood is of.
    pub transform: Transform,
}

impl ExpectationMaximization {
    /// The default for so many documents, with and without labels: log tf, idf and length 5, of terms that five documents
    /// contain where there are 10,000, and fewer where there are fewer.
    pub fn for_documents(documents: u64) -> Self {
        let min_df = (documents / 2_000).clamp(1, 5);
        let transform = Transform { min_df, norm: NonZeroU32::new(5), ..Transform::default() };
        ExpectationMaximization { options: EmOptions::default(), transform }
    }
}

/// The settings of [`Scoring::Mixed`]. Real values are normally distributed within a class, with the maximum likelihood
/// estimates of mean and variance; missing cells, and categories that were never learned, are left out of the product.
///
/// ```
/// use tamis_filter::{Column, ColumnKind, Document, Kind, Scratch, TrainOptions, Trainer};
///
/// let mut options = TrainOptions::new(Kind::Table);
/// let column = |name: &str, kind| Column { name: name.to_owned(), kind };
/// options.recipe.columns =
///     vec![column("miles", ColumnKind::Gaussian), column("raining", ColumnKind::Bernoulli)];
/// let mut trainer = Trainer::new(options)?; // Mixed is what a table gets by default
/// for (mode, miles, raining) in
///     [("walk", "0.5", "no"), ("walk", "1.5", "no"), ("bus", "3.0", "no"), ("bus", "7.0", "yes")]
/// {
///     trainer.add(mode, Document::Fields(&[("miles", miles), ("raining", raining)]))?;
/// }
/// let filter = trainer.finish()?.into_filter()?;
/// let score = filter.score_fields(&[("miles", "NA"), ("raining", "yes")], &mut Scratch::default())?;
/// assert_eq!(filter.label_of(&score), "bus");
/// assert!((score.probability - 2.0 / 3.0).abs() < 1e-12); // (1+1)/(2+2) to (0+1)/(2+2)
/// # Ok::<(), tamis_filter::Error>(())
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Mixed {
    /// Smoothing of categories, and of yes and no; 1 (Laplace's) by default.
    pub alpha: Smoothing,
    /// Smoothing of the words of texts, of which presence is counted; 0.1 by default.
    pub text_alpha: Smoothing,
    /// The probability of a class before anything is read; by default its share of the rows.
    pub prior: ClassPrior,
    /// What is added to every variance, as a portion of the largest variance of a column; 1e-9 by default.
    pub var_smoothing: f64,
}

impl Default for Mixed {
    fn default() -> Self {
        Mixed {
            alpha: Smoothing::LAPLACE,
            text_alpha: small_alpha(),
            prior: ClassPrior::Learned,
            var_smoothing: 1e-9,
        }
    }
}

/// What [`Scoring::Weighted`] chose by what predicts left-out documents best, and the losses that decided; in nats a document.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Chosen {
    /// What was chosen, or fixed by hand.
    pub choices: Choices,
    /// The same with the weights of counts and correction as documents ask for that were learned one by one since.
    pub refitted: Option<Choices>,
    /// The smoothings and powers of idf that were tried, each with the mean log loss of exact leave-one-out; none where there were too
    /// few documents to choose by.
    pub smoothing: Vec<(Smoothing, f64, f64)>,
    /// The shares of the counts that the correction was tried on top of, each with the mean log loss of documents held out.
    pub taus: Vec<(f64, f64)>,
    /// Where pairs of words were tried: the mean log loss of exact leave-one-out with them, and without.
    pub pairs: Option<[f64; 2]>,
}

impl Chosen {
    /// What is taken where there is nothing to choose by.
    pub(crate) fn for_classes(n_classes: usize) -> Self {
        let choices = Choices::for_classes(n_classes);
        Chosen { choices, refitted: None, smoothing: Vec::new(), taus: Vec::new(), pairs: None }
    }

    /// The same with what the options fix.
    pub(crate) fn for_options(options: &WeightedOptions, n_classes: usize) -> Self {
        let chosen = Chosen::for_classes(n_classes);
        Chosen { choices: chosen.choices.fixed_by(options), ..chosen }
    }

    /// The choices to score by.
    pub fn in_use(&self) -> &Choices {
        self.refitted.as_ref().unwrap_or(&self.choices)
    }
}

/// A column whose cells are not just words.
fn not_text(recipe: &Recipe) -> Option<&Column> {
    recipe.columns.iter().find(|column| column.kind != ColumnKind::Text)
}

fn small_alpha() -> Smoothing {
    // 0.1 is in range.
    Smoothing::try_from(0.1).unwrap_or(Smoothing::LAPLACE)
}

impl Scoring {
    /// The default for a recipe: [`Scoring::Mixed`] for a table with a column that is not text, else [`Scoring::Weighted`].
    pub fn for_recipe(recipe: &Recipe) -> Self {
        match not_text(recipe) {
            Some(_) => Scoring::Mixed(Mixed::default()),
            None => Scoring::Weighted(WeightedOptions::default()),
        }
    }

    /// Checks that the recipe's documents can be scored so, and so much of them remembered.
    pub(crate) fn check(&self, recipe: &Recipe, keep: Keep) -> Result<()> {
        let fail = |expected: &str, got: String| Err(Error::Columns { expected: expected.into(), got });
        match (self, not_text(recipe)) {
            (Scoring::Mixed(_), _) if recipe.kind != Kind::Table => {
                fail("a table for mixed naive Bayes", recipe.kind.to_string())
            }
            (Scoring::Mixed(_), _) if keep == Keep::Vectors => {
                fail("digests of rows to remember for mixed naive Bayes", "terms as well".to_owned())
            }
            (Scoring::Mixed(_), _) | (_, None) => Ok(()),
            (_, Some(column)) => fail(
                "nothing but text, except for mixed naive Bayes",
                format!("{:?}, {}", column.name, column.kind),
            ),
        }
    }

    /// The parameters of naive Bayes by default: multinomial over presence with alpha 0.1 and learned priors.
    pub fn parameters() -> Parameters {
        Parameters {
            likelihood: Likelihood::Multinomial,
            counting: Counting::Presence,
            // Measured: 0.01 to 0.1 is several times better than Laplace's 1 on mail and on topics.
            alpha: small_alpha(),
            prior: ClassPrior::Learned,
            features: FeatureLimits::default(),
        }
    }
}

/// What is asked of decisions between two classes; see [`positive_class`](crate::positive_class).
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct DecisionOptions {
    /// The largest share of ham that may be called spam, with 95 % confidence; goes before `cost`. Where no class is
    /// spam, of the negative class that may be called positive.
    pub max_fpr: Option<f64>,
    /// How many missed spam messages one lost ham message is as bad as; likewise.
    pub cost: Option<f64>,
    /// The share of the positive class to expect, where it is not that of the training documents.
    pub prior: Option<f64>,
    /// The least probability of a verdict; by default 0.6 in a spam filter, none elsewhere. `max_fpr` and `cost` go
    /// before. A model remembers it by its thresholds.
    #[serde(skip)]
    pub unsure: Option<f64>,
}

impl DecisionOptions {
    /// The thresholds where neither `max_fpr` nor `cost` moves them.
    pub(crate) fn default_for(&self, classes: &Classes) -> Result<Decision> {
        match self.unsure {
            Some(probability) => Decision::PLAIN.unsure_below(probability),
            None => Ok(Decision::for_classes(classes)),
        }
    }
}

/// From score to verdict, for two classes.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Decision {
    /// Added to the log-odds for another share of the classes, in nats.
    pub shift: f64,
    /// Log-odds above which a document is of the positive class, in nats.
    pub upper: f64,
    /// Log-odds up to which it is of the negative class; between the two it is unsure.
    pub lower: f64,
}

impl Decision {
    /// Log-odds as they are, cut at zero.
    pub const PLAIN: Decision = Decision { shift: 0.0, upper: 0.0, lower: 0.0 };

    /// The least log-odds of a verdict for either class by default: a probability of 0.6 (0.405 nats).
    pub const BAND: f64 = 0.405_465_108_108_164_4;

    /// Log-odds as they are, with the default band around zero.
    pub const BANDED: Decision = Decision { shift: 0.0, upper: Decision::BAND, lower: -Decision::BAND };

    /// What is decided where nothing else is asked: with the default band in a spam filter, cut at zero elsewhere.
    pub fn for_classes(classes: &Classes) -> Decision {
        match spam_class(classes) {
            Some(_) if classes.len() == 2 => Decision::BANDED,
            _ => Decision::PLAIN,
        }
    }

    /// The thresholds of a spam filter of these classes, whatever they are called: where it has those by default, the band.
    pub(crate) fn of_spam_filter(self, classes: &Classes) -> Decision {
        let default = Decision::for_classes(classes);
        match (self.lower, self.upper) == (default.lower, default.upper) {
            true => Decision { lower: Decision::BANDED.lower, upper: Decision::BANDED.upper, ..self },
            false => self,
        }
    }

    /// With thresholds that leave a document unsure unless one of the classes has this probability; 0.5 or less leaves none
    /// unsure.
    ///
    /// # Errors
    /// If it is not at least 0 and below 1.
    pub fn unsure_below(self, probability: f64) -> Result<Self> {
        if !(0.0..1.0).contains(&probability) {
            let expected = "a probability of at least 0 and below 1";
            return Err(Error::Option { option: "unsure", expected, got: probability });
        }
        let probability = probability.max(0.5);
        let upper = (probability / (1.0 - probability)).ln();
        Ok(Decision { upper, lower: -upper, ..self })
    }

    /// The same thresholds for the log-odds of the other class.
    #[must_use]
    pub fn mirrored(self) -> Self {
        Decision { upper: -self.lower, lower: -self.upper, ..self }
    }

    /// Moves the log-odds from the share of the positive class in training to another.
    ///
    /// # Errors
    /// If the share is not between 0 and 1.
    pub fn expecting(self, positive: f64, training: f64) -> Result<Self> {
        let logit = |p: f64| (p / (1.0 - p)).ln();
        if !(positive > 0.0 && positive < 1.0) {
            return Err(Error::Option {
                option: "prior",
                expected: "a share between 0 and 1",
                got: positive,
            });
        }
        let shift = if training > 0.0 && training < 1.0 {
            logit(positive) - logit(training)
        } else {
            logit(positive)
        };
        Ok(Decision { shift, ..self })
    }

    /// Puts the upper threshold where a false positive, as bad as `cost` missed positives, is worth the risk: at a
    /// probability of cost/(cost + 1).
    ///
    /// # Errors
    /// If the cost is not positive and finite.
    pub fn costing(self, cost: f64) -> Result<Self> {
        if !(cost > 0.0 && cost.is_finite()) {
            return Err(Error::Option { option: "cost", expected: "a positive number", got: cost });
        }
        Ok(self.cutting_at(cost.ln()))
    }

    /// Puts the upper threshold at these log-odds, and the lower one at no more than that.
    pub fn cutting_at(self, upper: f64) -> Self {
        Decision { upper, lower: self.lower.min(upper), ..self }
    }

    /// Log-odds at the training share of the classes as those at the share expected, in nats.
    pub fn log_odds(&self, log_odds: f64) -> f64 {
        log_odds + self.shift
    }

    /// Whether a document of these log-odds is positive; `None` if unsure.
    pub fn is_positive(&self, log_odds: f64) -> Option<bool> {
        if log_odds > self.upper {
            Some(true)
        } else if log_odds <= self.lower {
            Some(false)
        } else {
            None
        }
    }

    pub(crate) fn check(&self) -> Result<()> {
        let finite = [self.shift, self.upper, self.lower].iter().all(|n| n.is_finite());
        if finite && self.lower <= self.upper {
            return Ok(());
        }
        Err(Error::inconsistent("header", "finite thresholds, the lower one first", format!("{self:?}")))
    }
}

/// What to expect on documents like those learned: verdicts on documents that took no part in the model that gave them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Expected {
    /// Of two classes, how many documents of each are not labelled right. Unsure ones count, except of ham in a spam
    /// filter, which is not lost.
    Detection {
        /// Documents of the negative class.
        negatives: u64,
        /// Of them, those labelled wrong.
        false_positives: u64,
        /// Documents of the positive class.
        positives: u64,
        /// Of them, those labelled wrong.
        missed: u64,
    },
    /// Of more classes, how often the label is right.
    Accuracy {
        /// Documents that were held out.
        documents: u64,
        /// Of them, those whose label was right.
        right: u64,
    },
}

impl Expected {
    /// Whether it is what such a scoring tells of so many classes, with shares of something.
    pub(crate) fn fits(&self, scoring: &Scoring, n_classes: usize) -> bool {
        let fits = match *self {
            Expected::Detection { negatives, false_positives, positives, missed } => {
                n_classes == 2
                    && negatives > 0
                    && false_positives <= negatives
                    && positives > 0
                    && missed <= positives
            }
            Expected::Accuracy { documents, right } => n_classes != 2 && documents > 0 && right <= documents,
        };
        fits && matches!(scoring, Scoring::Weighted(_))
    }
}
