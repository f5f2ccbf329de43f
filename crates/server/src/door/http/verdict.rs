//! A verdict as JSON, with the keys of the program's JSON output.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::service::answer::Answer;

/// A verdict as JSON.
#[derive(Serialize)]
pub(super) struct Verdict<'a> {
    label: &'a str,
    probability: f64,
    /// In nats.
    log_odds: f64,
    truncated: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty", serialize_with = "by_label")]
    probabilities: &'a [(String, f64)],
    #[serde(skip_serializing_if = "Option::is_none")]
    reasons: Option<Vec<Reason<'a>>>,
}

#[derive(Serialize)]
struct Reason<'a> {
    term: &'a str,
    /// In nats.
    contribution: f64,
}

impl<'a> Verdict<'a> {
    /// The verdict of an answer, with `n_reasons` strongest reasons at most, or none.
    pub(super) fn new(answer: &'a Answer, n_reasons: Option<usize>) -> Self {
        let Answer { label, probability, log_odds, truncated, probabilities, reasons, .. } = answer;
        let reasons = n_reasons.map(|n| {
            let reason =
                |(term, contribution): &'a (String, f64)| Reason { term, contribution: *contribution };
            reasons.iter().take(n).map(reason).collect()
        });
        Verdict {
            label,
            probability: *probability,
            log_odds: *log_odds,
            truncated: *truncated,
            probabilities,
            reasons,
        }
    }
}

/// Labels in their order.
fn by_label<S: Serializer>(labels: &&[(String, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(labels.len()))?;
    for (label, probability) in *labels {
        map.serialize_entry(label, probability)?;
    }
    map.end()
}
