//! The answer to a message, and how each protocol says its score.

use serde::{Serialize, Serializer};
use tamis_mail::passthrough::{SpamStatus, Verdict, fields, head_with};
use tamis_train::{CountedDocument, Filter, TermContribution};

use crate::settings::rules::{MilterActions, Rule, RuleVerdict};

/// The verdict on a document. As JSON, it has the keys of the program's output.
#[derive(Clone, Default, PartialEq, Serialize, Debug)]
#[non_exhaustive]
pub struct Answer {
    /// The label; `unsure` if there is none.
    pub label: String,
    /// The probability of spam in a spam filter, of the label in other models.
    pub probability: f64,
    /// The log-odds of the same, in nats.
    pub log_odds: f64,
    /// Whether only a part of the document was read.
    pub truncated: bool,
    /// Why the filter is unsure whatever the probability.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub doubt: String,
    /// The probability of each label, in order of the labels; empty unless asked for.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "by_label")]
    pub probabilities: Vec<(String, f64)>,
    /// The strongest reasons; `None` unless asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasons: Option<Vec<TermReason>>,
    /// The name of the rule that applies, if one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// What the milter does with the message in place of what its settings say.
    #[serde(skip)]
    pub(crate) actions: Option<MilterActions>,
    /// The verdict of the rule, if it has one.
    #[serde(skip)]
    pub(crate) by_rule: Option<RuleVerdict>,
    /// Whether the verdict is unsure.
    #[serde(skip)]
    pub unsure: bool,
    /// For models with a class for spam.
    #[serde(skip)]
    pub spam: Option<SpamStatus>,
    /// The counts of the message, until it is kept.
    #[serde(skip)]
    pub(crate) counted: Option<Box<CountedDocument>>,
    /// Its number in the history of the page, if it is kept there.
    #[serde(skip)]
    pub(crate) history: Option<u64>,
    /// The strongest reasons as text: `term +1.25, term -0.50`; empty unless asked for.
    #[serde(skip)]
    pub reasons_text: String,
}

/// A reason for a verdict: a term of the document.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct TermReason {
    /// The term.
    pub term: String,
    /// What it adds to the log-odds, in nats.
    pub contribution: f64,
}

impl From<TermContribution> for TermReason {
    fn from(TermContribution { term, contribution, .. }: TermContribution) -> Self {
        TermReason { term, contribution }
    }
}

/// Labels in their order.
fn by_label<S: Serializer>(labels: &[(String, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(labels.iter().map(|(label, probability)| (label, probability)))
}

/// The label of messages that are neither.
const UNSURE: &str = "unsure";

/// The log-odds of a verdict that a rule gives, in nats.
const CERTAIN_LOG_ODDS: f64 = 100.0;

/// The score at which other programs expect spam to begin.
pub const REQUIRED: f64 = 5.0;

impl Answer {
    pub(crate) fn new(verdict: &Verdict<'_>, reasons: Vec<TermReason>) -> Self {
        let Verdict { label, unsure, probability, log_odds, spam, truncated, doubt, .. } = *verdict;
        let text = |reason: &TermReason| format!("{} {:+.2}", one_line(&reason.term), reason.contribution);
        Answer {
            label: label.to_owned(),
            probability,
            log_odds,
            truncated,
            doubt: doubt.to_owned(),
            reasons_text: reasons.iter().map(text).collect::<Vec<_>>().join(", "),
            reasons: Some(reasons).filter(|reasons| !reasons.is_empty()),
            unsure,
            spam,
            ..Answer::default()
        }
    }

    /// The answer to a message that a rule leaves alone.
    pub(crate) fn skipped(rule: &Rule) -> Self {
        let (label, rule) = ("skipped".to_owned(), Some(rule.name.clone()));
        Answer { label, rule, by_rule: Some(RuleVerdict::Skip), ..Answer::default() }
    }

    /// Whether a rule leaves the message alone.
    pub(crate) fn is_skipped(&self) -> bool {
        self.by_rule == Some(RuleVerdict::Skip)
    }

    /// Applies a rule's verdict or threshold, and its actions. A threshold makes no spam of a message without known terms.
    pub(crate) fn apply(&mut self, rule: &Rule, filter: &Filter, has_known: bool) {
        self.rule = Some(rule.name.clone());
        self.actions = rule.actions();
        let (Some(status), Some(spam)) = (&mut self.spam, filter.spam()) else { return };
        let was_spam = status.is_spam;
        self.by_rule = rule.verdict;
        match (rule.verdict, rule.spam) {
            (Some(verdict), _) => {
                status.is_spam = verdict == RuleVerdict::Spam;
                status.score = if status.is_spam { CERTAIN_LOG_ODDS } else { -CERTAIN_LOG_ODDS };
                self.unsure = false;
                self.log_odds = status.score;
                self.probability = 1.0 / (1.0 + (-status.score).exp());
                self.reasons_text = format!("rule {}", one_line(&rule.name));
                self.reasons = None;
            }
            (None, Some(least)) => {
                status.threshold = (least / (1.0 - least)).ln();
                status.is_spam = has_known && status.score >= status.threshold;
                self.unsure = !status.is_spam && (self.unsure || was_spam);
                if !status.is_spam {
                    // what is not spam for the rule is not for the milter
                    self.actions.get_or_insert_default();
                }
            }
            (None, None) => return,
        }
        let ham = || (0..).find(|class| *class != spam).and_then(|class| filter.classes().label(class));
        let label = match status.is_spam {
            true => filter.classes().label(spam),
            false if self.unsure => Some(UNSURE),
            false if was_spam || self.label == UNSURE => ham(),
            false => return,
        };
        self.label = label.unwrap_or_default().to_owned();
    }

    /// With at most `n` reasons, or none.
    pub(crate) fn with_reasons(mut self, n: Option<usize>) -> Self {
        self.reasons = n.map(|n| self.reasons.into_iter().flatten().take(n).collect());
        self
    }

    /// Whether the message is spam.
    pub fn is_spam(&self) -> bool {
        self.spam.is_some_and(|spam| spam.is_spam)
    }

    /// The probability of spam, from 0 to 1; 0 for models without a class for spam.
    pub fn spam_probability(&self) -> f64 {
        self.spam.map_or(0.0, |spam| 1.0 / (1.0 + (-spam.score).exp()))
    }

    /// The score in tenths for protocols in which spam begins at [`REQUIRED`]: the log-odds of spam, moved so that the
    /// model's threshold is there. Rounding never contradicts the verdict.
    pub fn score(&self) -> f64 {
        let Some(SpamStatus { is_spam, score, threshold }) = self.spam else { return 0.0 };
        let tenths = ((score - threshold + REQUIRED) * 10.0).round();
        let required = REQUIRED * 10.0;
        let tenths = if is_spam { tenths.max(required) } else { tenths.min(required - 1.0) };
        // not -0.0
        tenths.clamp(-9_999.0, 9_999.0) / 10.0 + 0.0
    }

    fn verdict(&self) -> Verdict<'_> {
        Verdict {
            label: &self.label,
            unsure: self.unsure,
            probability: self.probability,
            log_odds: self.log_odds,
            spam: self.spam,
            truncated: self.truncated,
            doubt: &self.doubt,
            reasons: &self.reasons_text,
            version: env!("CARGO_PKG_VERSION"),
        }
    }

    /// The header fields of the verdict, as names and values, as `tamis score --passthrough` writes them.
    pub fn fields(&self) -> Vec<(&'static str, String)> {
        if self.is_skipped() { Vec::new() } else { fields(&self.verdict()) }
    }

    /// The header block of a message with the verdict added, and where its unchanged rest begins; as `tamis score
    /// --passthrough` writes it.
    pub fn head(&self, message: &[u8], keep_headers: bool) -> (Vec<u8>, usize) {
        let head = head_with(message, &self.fields(), keep_headers);
        (head.bytes, head.rest)
    }
}

/// A term on one line of a header or a log.
fn one_line(term: &str) -> String {
    term.chars().take(60).map(|c| if c.is_control() || c == ',' { '_' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_never_contradicts_the_verdict() {
        let score = |is_spam, score, threshold| {
            let verdict = Verdict {
                label: "x",
                unsure: false,
                probability: 0.5,
                log_odds: score,
                spam: Some(SpamStatus { is_spam, score, threshold }),
                truncated: false,
                doubt: "",
                reasons: "",
                version: "",
            };
            Answer::new(&verdict, Vec::new()).score()
        };
        assert_eq!(score(true, 2.95, 2.94), 5.0);
        assert_eq!(score(false, 2.94, 2.94), 4.9);
        assert_eq!(score(false, 2.94 - 4.98, 2.94).to_string(), "0");
        assert_eq!(score(false, f64::NEG_INFINITY, 0.0), -999.9);
        assert_eq!(score(true, 7.26, 2.0), 10.3);
    }
}
