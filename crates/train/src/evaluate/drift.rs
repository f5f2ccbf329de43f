//! Drift: how new documents differ from those that a model learned.

use serde_json::{Map, Value, json};
use tamis_model::metrics::{
    ChiSquare, Smirnov, chi_square_two_samples, population_stability, signed_log_likelihood, smirnov_lower,
};
use tamis_model::{ClassId, Classes};

/// Fewest documents that are compared: new ones, and learned ones.
const LEAST_NEW: u64 = 20;
const LEAST_LEARNED: u64 = 50;

/// Ranges of log-odds, each with a tenth of the learned documents.
const RANGES: usize = 10;

/// Fewest documents, learned or new, that a term must occur in to be listed; and most terms in a list.
const LEAST_DOCUMENTS: u64 = 5;
const MOST_TERMS: usize = 10;

/// How new documents differ from those that a model learned, by [`DriftReference::compare`](super::DriftReference::compare).
///
/// Each learned document is scored by a model without it. Three tests ask whether the new documents are less sure, have
/// more unknown words, or have other labels than the learned ones. There is drift if one of them finds it at a third of
/// the level (Bonferroni), so that documents like the learned ones are reported with a probability of at most `level`.
///
/// Held-out scores come from models of fewer documents, so new documents of the same kind are a little surer and have
/// fewer unknown words: this is why the tests are one-sided.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Drift {
    /// The probability of finding drift where there is none.
    pub level: f64,
    /// The learned documents, each scored by a model without it.
    pub learned: DriftSample,
    /// The new documents.
    pub new: DriftSample,
    /// How many of the new documents the model has learned: these hide drift.
    pub learned_again: u64,
    /// Whether the log-odds of the likeliest label are lower than held out.
    pub log_odds: Smirnov,
    /// Whether documents have a larger share of unknown words.
    pub unknown: Smirnov,
    /// Whether the likeliest labels have other shares.
    pub labels: ChiSquare,
    /// The population stability index of the log-odds, in the ranges between `bounds`. It decides nothing.
    pub log_odds_psi: f64,
    /// The same for the likeliest labels.
    pub labels_psi: f64,
    /// The log-odds between which a tenth of the learned documents lies, in nats.
    pub bounds: Vec<f64>,
    /// The words that are more frequent in new documents, those that moved most first. Words of fewer than five documents
    /// are never listed.
    pub risen: Vec<MovedTerm>,
    /// The words that are less frequent in new documents.
    pub fallen: Vec<MovedTerm>,
}

/// What is compared of learned or of new documents.
#[derive(Clone, PartialEq, Default, Debug)]
#[non_exhaustive]
pub struct DriftSample {
    /// Number of documents.
    pub documents: u64,
    /// The mean share of a document's words that the model does not know; of a learned document, would not know
    /// without it. `None` if the words of no document are known.
    pub unknown: Option<f64>,
    /// The share of documents without a verdict.
    pub unsure: f64,
    /// The mean log-odds of the likeliest label against all others, in nats.
    pub log_odds: f64,
    /// Documents by likeliest label, in class order. Unsure verdicts of a log are left out where it tells no label.
    pub labels: Vec<u64>,
    /// Documents by log-odds, in the ranges between [`Drift::bounds`].
    pub ranges: Vec<u64>,
}

/// A word whose share of documents has changed.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct MovedTerm {
    /// The word.
    pub term: String,
    /// The share of learned documents with it.
    pub learned: f64,
    /// The share of new documents with it.
    pub new: f64,
    /// How surely its share has changed, see [`signed_log_likelihood`]; negative if it fell.
    pub strength: f64,
}

/// A document, scored by a model that has not learned it.
#[derive(Clone, Copy)]
pub(crate) struct DriftScore {
    /// The likeliest label, and its log-odds against all others.
    /// The label is not known of an unsure verdict in a log.
    pub(crate) label: Option<ClassId>,
    pub(crate) log_odds: f64,
    pub(crate) is_unsure: bool,
    /// The share of unknown words; `None` if its words are not known.
    pub(crate) unknown: Option<f64>,
}

impl Drift {
    /// Compares new documents with learned ones, each scored by a model that has not learned it.
    pub(crate) fn new(learned: &[DriftScore], new: &[DriftScore], n_classes: usize, level: f64) -> Drift {
        let of = |documents: &[DriftScore], of: fn(&DriftScore) -> f64| {
            documents.iter().map(of).collect::<Vec<_>>()
        };
        let log_odds = |documents| of(documents, |scored| scored.log_odds);
        let bounds = bounds(log_odds(learned));
        let [of_learned, of_new] =
            [learned, new].map(|documents| DriftSample::new(documents, n_classes, &bounds));
        Drift {
            level,
            log_odds: smirnov_lower(&log_odds(new), &log_odds(learned)),
            unknown: smirnov_lower(&unknown_shares(learned), &unknown_shares(new)),
            labels: chi_square_two_samples(&of_learned.labels, &of_new.labels),
            log_odds_psi: population_stability(&of_learned.ranges, &of_new.ranges),
            labels_psi: population_stability(&of_learned.labels, &of_new.labels),
            learned: of_learned,
            new: of_new,
            learned_again: 0,
            bounds,
            risen: Vec::new(),
            fallen: Vec::new(),
        }
    }

    /// Whether the new documents differ from the learned ones; `None` if there are too few to tell: fewer than 20 new or
    /// 50 learned documents.
    pub fn is_found(&self) -> Option<bool> {
        let are_enough = self.new.documents >= LEAST_NEW && self.learned.documents >= LEAST_LEARNED;
        let of_any = [self.log_odds.p, self.unknown.p, self.labels.p].into_iter().any(|p| self.is_low(p));
        are_enough.then_some(of_any)
    }

    /// Whether a p-value of one of the three tests means drift.
    pub fn is_low(&self, p: f64) -> bool {
        p < self.level / 3.0
    }

    /// Sets the terms that moved most.
    pub(crate) fn set_terms(&mut self, terms: Vec<MovedTerm>) {
        let (mut risen, mut fallen): (Vec<_>, Vec<_>) =
            terms.into_iter().partition(|term| term.strength > 0.0);
        for terms in [&mut risen, &mut fallen] {
            terms.sort_by(|a, b| {
                b.strength.abs().total_cmp(&a.strength.abs()).then_with(|| a.term.cmp(&b.term))
            });
            terms.truncate(MOST_TERMS);
        }
        (self.risen, self.fallen) = (risen, fallen);
    }

    /// What `tamis drift --json` prints.
    pub fn to_json(&self, classes: &Classes) -> Value {
        let sample = |of: &DriftSample| {
            let labels = classes.iter().zip(&of.labels).map(|((_, label), n)| (label.to_owned(), json!(n)));
            json!({
                "documents": of.documents,
                "log_odds": of.log_odds,
                "unknown_words": of.unknown,
                "unsure": of.unsure,
                "labels": labels.collect::<Map<_, _>>(),
                "log_odds_ranges": of.ranges,
            })
        };
        let term = |of: &MovedTerm| json!({"term": of.term, "learned": of.learned, "new": of.new, "strength": of.strength});
        let terms = |of: &[MovedTerm]| of.iter().map(term).collect::<Value>();
        json!({
            "drift": self.is_found(),
            "level": self.level,
            "learned": sample(&self.learned),
            "new": sample(&self.new),
            "learned_again": self.learned_again,
            "log_odds_bounds": self.bounds,
            "tests": {
                "log_odds": {"d": self.log_odds.d, "p": self.log_odds.p},
                "unknown_words": {"d": self.unknown.d, "p": self.unknown.p},
                "labels": {"chi_square": self.labels.statistic, "degrees": self.labels.degrees, "p": self.labels.p},
            },
            "population_stability_index": {"log_odds": self.log_odds_psi, "labels": self.labels_psi},
            "more_frequent": terms(&self.risen),
            "less_frequent": terms(&self.fallen),
        })
    }
}

impl DriftSample {
    fn new(documents: &[DriftScore], n_classes: usize, bounds: &[f64]) -> Self {
        let n = documents.len().max(1) as f64;
        let mean =
            |of: fn(&DriftScore) -> f64| documents.iter().fold(0.0, |sum, scored| sum + of(scored)) / n;
        let unknown = unknown_shares(documents);
        let (mut labels, mut ranges) = (vec![0; n_classes], vec![0; bounds.len() + 1]);
        for DriftScore { label, log_odds, .. } in documents {
            label.iter().for_each(|label| labels[usize::from(*label)] += 1);
            ranges[bounds.partition_point(|bound| bound <= log_odds)] += 1;
        }
        DriftSample {
            documents: documents.len() as u64,
            unknown: (!unknown.is_empty()).then(|| unknown.iter().sum::<f64>() / unknown.len() as f64),
            unsure: mean(|scored| f64::from(u8::from(scored.is_unsure))),
            log_odds: mean(|scored| scored.log_odds),
            labels,
            ranges,
        }
    }
}

impl MovedTerm {
    /// A term of `new` of `n_new` new and `learned` of `n_learned` learned documents; `None` if it is in too few, or its
    /// share is the same.
    pub(crate) fn compare(
        term: &str,
        [new, n_new]: [u64; 2],
        [learned, n_learned]: [u64; 2],
    ) -> Option<Self> {
        let strength = signed_log_likelihood(new, n_new, learned, n_learned);
        let has_enough = if strength > 0.0 { new } else { learned } >= LEAST_DOCUMENTS;
        let share = |n: u64, all: u64| n as f64 / all.max(1) as f64;
        (has_enough && strength != 0.0 && !term.is_empty()).then(|| MovedTerm {
            term: term.to_owned(),
            learned: share(learned, n_learned),
            new: share(new, n_new),
            strength,
        })
    }
}

/// The shares of unknown words, of the documents whose words are known.
fn unknown_shares(documents: &[DriftScore]) -> Vec<f64> {
    documents.iter().filter_map(|scored| scored.unknown).collect()
}

/// The bounds of ranges with equal numbers of documents.
fn bounds(mut log_odds: Vec<f64>) -> Vec<f64> {
    log_odds.sort_by(f64::total_cmp);
    (1..RANGES).filter_map(|n| log_odds.get(n * log_odds.len() / RANGES).copied()).collect()
}
