//! The threshold of each label, from the scores of held-out documents.

use rayon::prelude::*;
use tamis_filter::score::verdict::sigmoid;
use tamis_model::{Columns, Documents, WeightedFit, clopper_pearson};
use tamis_store::config::decision::{Decision, DecisionOptions, HeldOutPerformance, LabelDecision};
use tamis_store::error::Result;

/// A held-out document, as one label sees it.
#[derive(Clone, Copy)]
struct LabelPrediction {
    /// The calibrated log-odds of the label, in nats.
    log_odds: f64,
    has_label: bool,
    /// The number of documents that it stands for.
    weight: f64,
}

/// Chooses the threshold of each label: by a minimum precision, a cost or a probability, if one is asked for; otherwise
/// the one with the best F1.
pub(crate) fn decide_labels(
    fitted: &WeightedFit,
    documents: &dyn Documents,
    columns: &Columns,
    asked: &DecisionOptions,
) -> Result<Vec<LabelDecision>> {
    let held_out = fitted.held_out.iter().filter(|held| held.weight > 0.0);
    let scored: Vec<_> = held_out.map(|held| (held, held.log_odds(&fitted.choices, &fitted.prior))).collect();
    let fixed = match (asked.cost, asked.unsure) {
        (Some(cost), _) => Some(Decision::PLAIN.with_cost(cost)?.upper),
        (None, Some(probability)) => Some((probability / (1.0 - probability)).ln().max(-MOST_CERTAIN)),
        (None, None) => None,
    };
    let decide = |(column, line): (usize, &[f64; 2])| {
        let judge = |(held, z): &(&tamis_model::Prediction, Vec<f64>)| LabelPrediction {
            log_odds: line[0] * z[column] + line[1],
            has_label: columns.is_positive(documents.label(held.document).class, column),
            weight: held.weight,
        };
        let mut judged: Vec<_> = scored.iter().map(judge).collect();
        judged.sort_by(|a, b| b.log_odds.total_cmp(&a.log_odds));
        let threshold = match (asked.min_precision, fixed) {
            (Some(precision), _) => for_precision(&judged, precision),
            (None, Some(threshold)) => threshold,
            (None, None) => for_f1(&judged),
        };
        count(&judged, LabelDecision { line: *line, threshold, ..LabelDecision::PLAIN })
    };
    Ok(fitted.lines.par_iter().enumerate().with_max_len(8).map(decide).collect())
}

/// Log-odds that no probability exceeds, for a label that is never given.
const MOST_CERTAIN: f64 = 1e3;

/// The counts of all labels together, if documents were held out.
pub(crate) fn expect_labels(
    labels: &[LabelDecision],
    documents: u64,
    groups: u64,
) -> Option<HeldOutPerformance> {
    let sum = |of: fn(&LabelDecision) -> u64| labels.iter().map(of).sum();
    let (found, wrong, missed) = (sum(|of| of.found), sum(|of| of.wrong), sum(|of| of.missed));
    (documents > 0).then_some(HeldOutPerformance::Labels { documents, found, wrong, missed, groups })
}

/// The threshold with the best F1, which lies between two documents. `judged` is sorted, the highest log-odds first.
///
/// What a few documents say of a label is chance, so the best F1 is sought for a mixture of two counts of its documents:
/// those that have the label, and the sum of its probabilities. The latter counts like [`PRIOR_DOCUMENTS`] documents. A label
/// that cannot be told would have the best F1 if every document had it, so it needs [evidence](least).
fn for_f1(judged: &[LabelPrediction]) -> f64 {
    let positives = positives_of(judged);
    let share = positives / (positives + PRIOR_DOCUMENTS);
    let mixed = |of: &LabelPrediction| {
        let observed = if of.has_label { 1.0 } else { 0.0 };
        of.weight * (share * observed + (1.0 - share) * sigmoid(of.log_odds))
    };
    let positives: f64 = judged.iter().map(mixed).sum();
    let least = least(judged);
    let (mut found, mut given, mut best, mut threshold) = (0.0, 0.0, 0.0, least.max(0.0));
    for (at, of) in judged.iter().take_while(|of| of.log_odds > least).enumerate() {
        given += of.weight;
        found += mixed(of);
        let next = next_log_odds(judged, at).max(least);
        let f1 = 2.0 * found / (given + positives);
        if f1 > best && next < of.log_odds {
            (best, threshold) = (f1, 0.5 * (of.log_odds + next));
        }
    }
    threshold
}

/// The weight of the documents that have the label.
fn positives_of(judged: &[LabelPrediction]) -> f64 {
    judged.iter().filter(|of| of.has_label).map(|of| of.weight).sum()
}

/// The lowest threshold of a label that fewer than half of the documents have: log-odds clearly above those of its share.
fn least(judged: &[LabelPrediction]) -> f64 {
    let (positives, all) = (positives_of(judged), judged.iter().map(|of| of.weight).sum::<f64>());
    let of_share = (positives / (all - positives)).ln();
    if of_share < 0.0 { of_share + EVIDENCE } else { f64::NEG_INFINITY }
}

/// The log-odds of the document after this one, between which a threshold may lie. After the last one the threshold gives
/// the label to every document, so it must not be above zero.
fn next_log_odds(judged: &[LabelPrediction], at: usize) -> f64 {
    let of = judged[at].log_odds;
    judged.get(at + 1).map_or((of - 1.0).min(-of), |next| next.log_odds)
}

/// Log-odds, in nats, that are evidence.
const EVIDENCE: f64 = 0.1;

/// The number of documents with a label that its probabilities count like.
const PRIOR_DOCUMENTS: f64 = 3.0;

/// The lowest threshold above which the precision is at least `precision` with 95 % confidence; one that no document
/// exceeds if there is none. `judged` is sorted, the highest log-odds first.
///
/// Source: Clopper and Pearson, "The use of confidence or fiducial limits" (1934).
fn for_precision(judged: &[LabelPrediction], precision: f64) -> f64 {
    let (mut found, mut given, mut threshold) = (0, 0, MOST_CERTAIN);
    for (at, of) in judged.iter().enumerate() {
        given += 1;
        found += u64::from(of.has_label);
        let next = next_log_odds(judged, at);
        let is_precise = || clopper_pearson(found, given, 0.90).low >= precision;
        if next < of.log_odds && is_precise() {
            threshold = 0.5 * (of.log_odds + next);
        }
    }
    threshold
}

/// Counts the verdicts that a decision gives held-out documents.
fn count(judged: &[LabelPrediction], decision: LabelDecision) -> LabelDecision {
    let sum = |is_given: bool, has_label: bool| {
        let counted = judged
            .iter()
            .filter(|of| (of.log_odds > decision.threshold) == is_given && of.has_label == has_label);
        counted.map(|of| of.weight).sum::<f64>().round() as u64
    };
    LabelDecision { found: sum(true, true), wrong: sum(true, false), missed: sum(false, true), ..decision }
}

#[cfg(test)]
mod tests;
