//! How a score becomes a decision.

use serde::{Deserialize, Serialize};
use tamis_model::Classes;

use crate::config::roles::spam_class;
use crate::config::scoring::Scoring;
use crate::error::{Error, ErrorKind, Result};

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
            Some(probability) => Decision::PLAIN.with_unsure_below(probability),
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
    pub fn with_unsure_below(self, probability: f64) -> Result<Self> {
        if !(0.0..1.0).contains(&probability) {
            let expected = "a probability of at least 0 and below 1";
            return Err(ErrorKind::Option { option: "unsure", expected, got: probability }.into());
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
    pub fn with_prior(self, positive: f64, training: f64) -> Result<Self> {
        let logit = |p: f64| (p / (1.0 - p)).ln();
        if !(positive > 0.0 && positive < 1.0) {
            return Err(ErrorKind::Option {
                option: "prior",
                expected: "a share between 0 and 1",
                got: positive,
            }
            .into());
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
    pub fn with_cost(self, cost: f64) -> Result<Self> {
        if !(cost > 0.0 && cost.is_finite()) {
            return Err(ErrorKind::Option { option: "cost", expected: "a positive number", got: cost }.into());
        }
        Ok(self.with_threshold(cost.ln()))
    }

    /// Puts the upper threshold at these log-odds, and the lower one at no more than that.
    pub fn with_threshold(self, upper: f64) -> Self {
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
