//! From log-odds or joint log-likelihoods to a verdict.

use std::fmt;

use tamis_model::{ClassId, argmax, log_sum_exp, softmax};
use tamis_store::config::decision::Decision;

/// The score of a document, with the verdict.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Score {
    /// The verdict: for two classes by the thresholds, for more the likeliest class. `None` means unsure: between the
    /// thresholds, below the probability of [`set_unsure`](crate::Filter::set_unsure), without a known term in a model
    /// with a spam class, impossible in every class (without smoothing), or [in doubt](Self::doubt). In models without a spam class, the shares of the labels decide if no term is known.
    pub label: Option<ClassId>,
    /// The class of `probability` and `log_odds`: spam in a spam filter, otherwise the verdict, or the likeliest class
    /// if unsure.
    pub scored_class: ClassId,
    /// The posterior probability of `scored_class`.
    pub probability: f64,
    /// Its log-odds against all others, in nats.
    pub log_odds: f64,
    /// Number of distinct known terms of the document; for mixed naive Bayes, the number of columns used.
    pub known_terms: usize,
    /// Why a spam filter withholds its verdict and is unsure, whatever the probability.
    pub doubt: Option<Doubt>,
}

/// Why a spam filter is unsure whatever the probability: of a document that would not be spam, unless it says otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Doubt {
    /// Text may have been left unread, see [`LimitsHit::text`](crate::LimitsHit::text).
    Unread,
    /// A part speaks more for spam than parts of ham do.
    Part,
    /// The model hardly knows the language of a mail: fewer than one in five running words of the body are words that more than ten
    /// documents have. In a model of fewer than 3,050 documents it is one document in 300 of those beyond fifty.
    Unfamiliar,
    /// The header alone says ham, although the whole says spam: people quote spam, and report it.
    Header,
}

impl Doubt {
    /// `unread`, `part`, `unfamiliar` or `header`: what JSON output says.
    pub fn name(self) -> &'static str {
        match self {
            Doubt::Unread => "unread",
            Doubt::Part => "part",
            Doubt::Unfamiliar => "unfamiliar",
            Doubt::Header => "header",
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Doubt::Unread => "text may have been left unread",
            Doubt::Part => "a part says more for spam than parts of ham do",
            Doubt::Unfamiliar => "the model hardly knows the language",
            Doubt::Header => "the header alone says that it is no spam",
        })
    }
}

/// Returns the verdict by the log-odds between two classes, one of which may be spam.
pub(crate) fn verdict(
    decision: &Decision,
    positive: ClassId,
    spam: Option<ClassId>,
    log_odds: f64,
    known_terms: usize,
) -> Score {
    let of_positive = decision.log_odds(log_odds);
    let is_positive = decision.is_positive(of_positive).filter(|_| may_judge(spam, known_terms));
    let class = |is_positive: bool| if is_positive { positive } else { 1 - positive };
    let label = is_positive.map(class);
    let scored_class = spam.or(label).unwrap_or(class(of_positive > 0.0));
    let log_odds = if scored_class == positive { of_positive } else { -of_positive };
    Score { label, scored_class, probability: sigmoid(log_odds), log_odds, known_terms, doubt: None }
}

/// Whether a verdict may be given. Without a known term, only the class shares decide, and these do not make a message
/// spam or ham.
pub fn may_judge(spam: Option<ClassId>, known_terms: usize) -> bool {
    known_terms > 0 || spam.is_none()
}

/// Returns the verdict by joint log-likelihoods or log-odds per class, and turns `joint` into the posterior.
pub(crate) fn likeliest(spam: Option<ClassId>, known_terms: usize, joint: &mut [f64]) -> Score {
    let best = argmax(joint);
    let scored_class = spam.filter(|_| joint.len() == 2).unwrap_or(best);
    // without smoothing a document can be impossible in every class: then all are equally likely
    let impossible = joint[usize::from(best)] == f64::NEG_INFINITY;
    let log_odds = against_others(scored_class.into(), joint);
    Score {
        label: (may_judge(spam, known_terms) && !impossible).then_some(best),
        scored_class,
        probability: sigmoid(log_odds),
        log_odds,
        known_terms,
        doubt: None,
    }
}

/// Turns joint log-likelihoods into the posterior; returns the log-odds of a class against all others.
fn against_others(class: usize, joint: &mut [f64]) -> f64 {
    let (before, from) = joint.split_at(class);
    let others = || before.iter().chain(&from[1..]).copied();
    let nearest = others().fold(f64::NEG_INFINITY, f64::max);
    // computed from logarithms, since the exponentials below may underflow
    let is_far = (joint[class] - nearest).abs() > 500.0;
    let of_far = is_far.then(|| joint[class] - log_sum_exp(&others().collect::<Vec<_>>()));
    softmax(joint);
    let others = joint[..class].iter().chain(&joint[class + 1..]).sum::<f64>();
    of_far.unwrap_or_else(|| (joint[class] / others).ln())
}

pub fn sigmoid(log_odds: f64) -> f64 {
    if log_odds >= 0.0 {
        1.0 / (1.0 + (-log_odds).exp())
    } else {
        let odds = log_odds.exp();
        odds / (1.0 + odds)
    }
}
