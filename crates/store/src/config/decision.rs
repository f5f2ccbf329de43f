//! Decision: prior, thresholds and the unsure band, from score to verdict.

use serde::{Deserialize, Serialize};
use tamis_model::{ClassId, Classes};

use crate::config::labels::{positive_class, spam_class};
use crate::error::{Error, Result};

/// Requirements on decisions between two classes; see [`positive_class`].
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct DecisionOptions {
    /// Maximum false-positive rate (ham called spam), with 95 % confidence; takes precedence over `cost`. Without a
    /// spam class, the rate of negatives called positive.
    pub max_fpr: Option<f64>,
    /// Cost of one false positive, counted in missed spams (missed positives); by default 49 in a spam filter, 1
    /// elsewhere.
    pub cost: Option<f64>,
    /// Many labels: minimum precision of each label, with 95 % confidence; takes precedence over `cost`. By default,
    /// thresholds are those of the best F1.
    pub min_precision: Option<f64>,
    /// The prior: expected share of the positive class, if not that of the training documents.
    pub prior: Option<f64>,
    /// Minimum probability of a verdict, below which a document is unsure; by default 0.98 for spam and 0.6 for ham in
    /// a spam filter, none elsewhere. `max_fpr` and `cost` take precedence. Stored as thresholds.
    #[serde(skip)]
    pub unsure: Option<f64>,
}

impl DecisionOptions {
    /// The thresholds if neither `max_fpr` nor `cost` is given.
    pub fn default_for(&self, classes: &Classes) -> Result<Decision> {
        match self.unsure {
            Some(probability) => Decision::PLAIN.with_unsure_below(probability),
            None => Ok(Decision::for_classes(classes)),
        }
    }
}

/// The thresholds and the shift of the prior that turn a score into a verdict, for two classes.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Decision {
    /// Added to the log-odds to change the prior, in nats.
    pub shift: f64,
    /// Log-odds above which a document is of the positive class, in nats.
    pub upper: f64,
    /// Log-odds up to which a document is of the negative class, in nats; between `lower` and `upper` it is unsure.
    pub lower: f64,
}

impl Decision {
    /// No shift, both thresholds at zero.
    pub const PLAIN: Decision = Decision { shift: 0.0, upper: 0.0, lower: 0.0 };

    /// The default of a spam filter whose positive class is spam: spam above a probability of 0.98 (log-odds ln 49, a
    /// [cost](Self::with_cost) of 49), ham up to 0.4, unsure between.
    pub const CAREFUL: Decision =
        Decision { shift: 0.0, upper: 3.891_820_298_110_626_5, lower: -0.405_465_108_108_164_4 };

    /// No shift, unsure between two log-odds.
    pub fn between(lower: f64, upper: f64) -> Self {
        Decision { lower, upper, ..Decision::PLAIN }
    }

    /// The default: [careful](Self::CAREFUL) in a spam filter, a threshold at zero elsewhere.
    pub fn for_classes(classes: &Classes) -> Decision {
        Decision::for_spam(spam_class(classes), classes)
    }

    /// The default if `spam` is the spam class, whatever its label.
    pub fn for_spam(spam: Option<ClassId>, classes: &Classes) -> Decision {
        match spam.filter(|_| classes.len() == 2) {
            Some(spam) if spam == positive_class(classes) => Decision::CAREFUL,
            Some(_) => Decision::CAREFUL.mirrored(),
            None => Decision::PLAIN,
        }
    }

    /// Adapts the thresholds to `spam` as the spam class, whatever its label. Only default thresholds change.
    pub fn of_spam_filter(self, spam: Option<ClassId>, classes: &Classes) -> Decision {
        let [by_label, default] = [Decision::for_classes(classes), Decision::for_spam(spam, classes)];
        match (self.lower, self.upper) == (by_label.lower, by_label.upper) {
            true => Decision { lower: default.lower, upper: default.upper, ..self },
            false => self,
        }
    }

    /// Sets thresholds that leave a document unsure unless one class reaches `probability`. With 0.5 or less, no
    /// document is unsure.
    ///
    /// # Errors
    /// The probability is not at least 0 and below 1.
    pub fn with_unsure_below(self, probability: f64) -> Result<Self> {
        let message = format_args!("expected a probability of at least 0 and below 1, got {probability}");
        Error::ensure_option((0.0..1.0).contains(&probability), "unsure", message)?;
        let probability = probability.max(0.5);
        let upper = (probability / (1.0 - probability)).ln();
        Ok(Decision { upper, lower: -upper, ..self })
    }

    /// The same thresholds for the log-odds of the other class.
    #[must_use]
    pub fn mirrored(self) -> Self {
        Decision { upper: -self.lower, lower: -self.upper, ..self }
    }

    /// Changes the prior of the positive class from its share in training.
    ///
    /// # Errors
    /// A share is not between 0 and 1.
    pub fn with_prior(self, positive: f64, training: f64) -> Result<Self> {
        let logit = |p: f64| (p / (1.0 - p)).ln();
        check_share("prior", positive)?;
        let shift = if training > 0.0 && training < 1.0 {
            logit(positive) - logit(training)
        } else {
            logit(positive)
        };
        Ok(Decision { shift, ..self })
    }

    /// Sets the upper threshold for a false positive that costs as much as `cost` missed positives: a probability of
    /// cost/(cost + 1).
    ///
    /// # Errors
    /// The cost is not positive and finite.
    pub fn with_cost(self, cost: f64) -> Result<Self> {
        let message = format_args!("expected a positive number, got {cost}");
        Error::ensure_option(cost > 0.0 && cost.is_finite(), "cost", message)?;
        self.with_threshold(cost.ln())
    }

    /// Sets the upper threshold. Lowers the lower one to it if necessary.
    ///
    /// # Errors
    /// The threshold is not finite.
    pub fn with_threshold(self, upper: f64) -> Result<Self> {
        let message = format_args!("expected a finite number, got {upper}");
        Error::ensure_option(upper.is_finite(), "threshold", message)?;
        Ok(Decision { upper, lower: self.lower.min(upper), ..self })
    }

    /// Converts log-odds under the training prior to log-odds under the expected prior, in nats.
    pub fn log_odds(&self, log_odds: f64) -> f64 {
        log_odds + self.shift
    }

    /// Whether a document with `log_odds` is positive; `None` if unsure.
    pub fn is_positive(&self, log_odds: f64) -> Option<bool> {
        if log_odds > self.upper {
            Some(true)
        } else if log_odds <= self.lower {
            Some(false)
        } else {
            None
        }
    }

    /// Checks the numbers, which may come from a file.
    ///
    /// # Errors
    /// If they are not numbers in their ranges.
    pub fn check(&self) -> Result<()> {
        let are_finite = [self.shift, self.upper, self.lower].iter().all(|n| n.is_finite());
        let is_well = are_finite && self.lower <= self.upper;
        let expected = "finite thresholds, the lower one first";
        Error::ensure(is_well, "header", expected, format_args!("{self:?}"))
    }
}

/// The calibration and the threshold of a label, in a model of many labels, and how well it was found in held-out
/// documents.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct LabelDecision {
    /// Slope and offset, from the log-odds that are fitted to all labels together to those of this label.
    pub line: [f64; 2],
    /// Log-odds above which a document has the label, in nats.
    pub threshold: f64,
    /// Held-out documents that have the label and were given it.
    pub found: u64,
    /// Held-out documents that were given the label and do not have it.
    pub wrong: u64,
    /// Held-out documents that have the label and were not given it.
    pub missed: u64,
}

impl LabelDecision {
    /// The decision on a label of which no document was held out.
    pub const PLAIN: LabelDecision =
        LabelDecision { line: [1.0, 0.0], threshold: 0.0, found: 0, wrong: 0, missed: 0 };

    /// Whether all numbers are finite.
    pub fn is_finite(&self) -> bool {
        self.line.iter().chain([&self.threshold]).all(|number| number.is_finite())
    }
}

pub(crate) fn check_share(option: &'static str, share: f64) -> Result<()> {
    let message = format_args!("expected a share between 0 and 1, got {share}");
    Error::ensure_option(share > 0.0 && share < 1.0, option, message)
}

/// F1 from true positives, false positives and false negatives; 0 if there are no true positives.
pub fn f1(found: u64, wrong: u64, missed: u64) -> f64 {
    if found == 0 { 0.0 } else { 2.0 * found as f64 / (2 * found + wrong + missed) as f64 }
}

/// Held-out performance: verdicts of models on documents that they had not learned.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum HeldOutPerformance {
    /// Two classes: misclassified documents of each. Unsure documents count as misclassified, except ham in a spam
    /// filter, since it is not lost.
    Detection {
        /// Documents of the negative class.
        negatives: u64,
        /// Misclassified documents of the negative class.
        false_positives: u64,
        /// Documents of the positive class.
        positives: u64,
        /// Misclassified documents of the positive class.
        missed: u64,
        /// Number of named groups, each of which was held out as a whole; 0 if groups may have been split, or none was
        /// named.
        groups: u64,
    },
    /// More classes: the share of correct labels.
    Accuracy {
        /// Documents that were held out.
        documents: u64,
        /// Correctly labelled documents.
        right: u64,
        /// Number of named groups, as above.
        groups: u64,
    },
    /// Many labels: the labels of all documents together. [`LabelDecision`] has those of each label.
    Labels {
        /// Documents that were held out.
        documents: u64,
        /// Labels that were given and right.
        found: u64,
        /// Labels that were given and wrong.
        wrong: u64,
        /// Labels that were not given.
        missed: u64,
        /// Number of named groups, as above.
        groups: u64,
    },
}

impl HeldOutPerformance {
    /// Whether this variant suits the number of classes, with documents of each and no more errors than documents.
    pub fn fits(&self, n_classes: usize) -> bool {
        match *self {
            HeldOutPerformance::Detection { negatives, false_positives, positives, missed, .. } => {
                n_classes == 2
                    && negatives > 0
                    && false_positives <= negatives
                    && positives > 0
                    && missed <= positives
            }
            HeldOutPerformance::Accuracy { documents, right, .. } => {
                n_classes != 2 && documents > 0 && right <= documents
            }
            HeldOutPerformance::Labels { documents, .. } => n_classes != 2 && documents > 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn default_of(labels: [&str; 2]) -> Decision {
        Decision::for_classes(&Classes::new(labels).unwrap())
    }

    #[test]
    fn a_spam_filter_is_careful_whichever_class_is_spam() {
        let logit = |p: f64| (p / (1.0 - p)).ln();
        let careful = default_of(["ham", "spam"]);
        assert!((careful.lower - logit(0.4)).abs() < 1e-12 && (careful.upper - logit(0.98)).abs() < 1e-12);
        assert_eq!(careful.with_cost(49.0).unwrap(), careful);
        assert_eq!(default_of(["ham", "Junk"]), careful);
        assert_eq!(default_of(["cooking", "cycling"]), Decision::PLAIN);
    }

    #[test]
    fn thresholds_are_finite() {
        for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let error = Decision::PLAIN.with_threshold(odd).unwrap_err().to_string();
            assert!(error.starts_with("threshold: expected a finite number, got "), "{error}");
        }
        assert_eq!(Decision::CAREFUL.with_threshold(-1.0).unwrap().lower, -1.0);
    }

    #[test]
    fn default_thresholds_follow_the_label_that_is_called_spam() {
        let classes = Classes::new(["cooking", "cycling"]).unwrap();
        let shifted = Decision { shift: 1.0, ..Decision::PLAIN };
        let of_spam = |spam| shifted.of_spam_filter(Some(spam), &classes);
        assert_eq!(of_spam(1), Decision { shift: 1.0, ..Decision::CAREFUL });
        assert_eq!(of_spam(0), Decision { shift: 1.0, ..Decision::CAREFUL.mirrored() });
        assert_eq!(shifted.of_spam_filter(None, &classes), shifted);
        let own = shifted.with_cost(3.0).unwrap();
        assert_eq!(own.of_spam_filter(Some(1), &classes), own);
    }
}
