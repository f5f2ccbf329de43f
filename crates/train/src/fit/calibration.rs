//! Thresholds and expected error rates, from the scores of held-out documents.

use std::cmp::Reverse;
use std::collections::HashSet;
use tamis_filter::score::verdict::may_judge;
use tamis_model::{Choices, ClassId, ClassTotals, Classes, Documents, HeldOut, Label, threshold_for_fpr};
use tamis_store::config::decision::{Decision, DecisionOptions, HeldOutPerformance};
use tamis_store::config::labels::{positive_class, spam_class};
use tamis_store::error::{Reason, Result};
use tamis_store::file::documents::is_named;
use tamis_store::file::fitted::FittedScoring;
use tamis_store::file::header::ModelHeader;

/// What thresholds are chosen by, besides held-out scores.
#[derive(Clone, Copy)]
pub(crate) struct Thresholds<'a> {
    pub(crate) asked: &'a DecisionOptions,
    /// The thresholds that stay unless `asked` moves them.
    pub(crate) default: Decision,
    pub(crate) totals: &'a [ClassTotals],
}

/// A held-out document of two classes, with its scores.
pub(crate) struct BinaryPrediction {
    pub(crate) held_out: HeldOut,
    pub(crate) is_positive: bool,
    pub(crate) multiplicity: u32,
    /// Its position among the documents learned one by one.
    pub(crate) learned: u32,
    pub(crate) group: u64,
}

/// Refits the weights of counts and correction to at most this many of the latest documents.
pub(crate) const LATEST: usize = 1_000;

/// Recalibrates a model of two classes with weighted scoring by the scores of the remembered documents. Refits the
/// weights of counts and correction if documents were learned one by one, and chooses the thresholds again. Thresholds
/// meet the requirements of training. If those are unknown, or too little ham is left for them, the previous thresholds
/// stay.
pub(crate) fn calibrate(header: &mut ModelHeader, judged: &mut [BinaryPrediction]) -> Result<()> {
    let FittedScoring::Weighted { options, chosen, .. } = &mut header.scoring else { return Ok(()) };
    chosen.refitted = None;
    if options.correction && judged.iter().any(|judged| judged.learned > 0) {
        judged.sort_by_key(|judged| (Reverse(judged.learned), judged.group, judged.is_positive));
        let latest = judged.iter().take(LATEST);
        let weight = |judged: &BinaryPrediction| f64::from(judged.multiplicity.min(1_000));
        let latest = latest.map(|judged| (judged.held_out, judged.is_positive, weight(judged)));
        chosen.refitted = Some(Box::new(chosen.choices.refitted(&latest.collect::<Vec<_>>())));
    }
    let scores = scores(judged, chosen.in_use());
    if let Some(asked) = &header.asked {
        let default = default_of(asked, header.decision, &header.classes);
        match decide(&scores, &Thresholds { asked, default, totals: &header.totals }, &header.classes) {
            Err(error) if matches!(error.reason(), Reason::TooFewNegatives(_)) => (),
            decision => header.decision = decision?,
        }
    }
    // the model that scored a document learned one by one may have known others of its group
    let in_folds = options.correction && judged.iter().all(|judged| judged.learned == 0);
    let groups = count_named(judged.iter().map(|judged| judged.group).filter(|_| in_folds));
    header.expected = expect(&scores, &header.decision, &header.classes, groups);
    Ok(())
}

/// The log-odds of each document and whether it belongs to the positive class, repeated for each copy.
pub(crate) fn scores(judged: &[BinaryPrediction], choices: &Choices) -> Vec<(f64, bool)> {
    let repeated = |judged: &BinaryPrediction| {
        let score = (choices.log_odds(judged.held_out), judged.is_positive);
        // copies beyond a thousand add nothing
        std::iter::repeat_n(score, judged.multiplicity.min(1_000) as usize)
    };
    judged.iter().flat_map(repeated).collect()
}

/// The thresholds to start from: those of the model, unless a cost or a false-positive rate moves them.
pub(crate) fn default_of(asked: &DecisionOptions, before: Decision, classes: &Classes) -> Decision {
    let is_moved = asked.cost.is_some() || asked.max_fpr.is_some();
    let from = if is_moved { Decision::for_classes(classes) } else { before };
    Decision::between(from.lower, from.upper)
}

/// Chooses thresholds from held-out log-odds, each with whether its document is of the positive class.
pub(crate) fn decide(
    scores: &[(f64, bool)],
    thresholds: &Thresholds<'_>,
    classes: &Classes,
) -> Result<Decision> {
    let Thresholds { asked: options, default, totals } = *thresholds;
    let positive = positive_class(classes);
    // if ham is the positive class, the requirement applies to the other end
    let ham_is_positive = ham_class(classes) == Some(positive);
    let seen_by_ham = |decision: Decision| if ham_is_positive { decision.mirrored() } else { decision };
    let mut decision = default;
    if let Some(prior) = options.prior {
        decision = decision.with_prior(prior, share(totals, positive))?;
    }
    if let Some(cost) = options.cost {
        decision = seen_by_ham(seen_by_ham(decision).with_cost(cost)?);
    }
    if let Some(max_fpr) = options.max_fpr {
        let sign = if ham_is_positive { -1.0 } else { 1.0 };
        let of_ham = scores.iter().filter(|(_, positive)| *positive == ham_is_positive);
        let mut ham: Vec<f64> = of_ham.map(|(score, _)| sign * score).collect();
        ham.sort_by(f64::total_cmp);
        let threshold = sign * decision.log_odds(sign * threshold_for_fpr(&ham, max_fpr)?);
        decision = seen_by_ham(seen_by_ham(decision).with_threshold(threshold)?);
    }
    Ok(decision)
}

/// The class that is not spam, if this is a spam filter with two labels.
fn ham_class(classes: &Classes) -> Option<ClassId> {
    spam_class(classes).filter(|_| classes.len() == 2).map(|spam| 1 - spam)
}

/// The share of a class among the documents.
fn share(totals: &[ClassTotals], class: ClassId) -> f64 {
    let of_class = totals.get(usize::from(class)).map_or(0, |t| t.documents) as f64;
    of_class / totals.iter().map(|t| t.documents as f64).sum::<f64>()
}

pub(crate) fn expect(
    scores: &[(f64, bool)],
    decision: &Decision,
    classes: &Classes,
    groups: u64,
) -> Option<HeldOutPerformance> {
    let positive = positive_class(classes);
    let ham = ham_class(classes);
    let (mut negatives, mut false_positives, mut positives, mut missed) = (0, 0, 0, 0);
    for (score, is_positive) in scores {
        let verdict = decision.is_positive(decision.log_odds(*score));
        let is_ham = ham.is_some_and(|ham| (ham == positive) == *is_positive);
        let is_wrong = verdict.map_or(!is_ham, |verdict| verdict != *is_positive);
        let (all, wrong) = match is_positive {
            true => (&mut positives, &mut missed),
            false => (&mut negatives, &mut false_positives),
        };
        *all += 1;
        *wrong += u64::from(is_wrong);
    }
    let expected = HeldOutPerformance::Detection { negatives, false_positives, positives, missed, groups };
    (positives > 0 && negatives > 0).then_some(expected)
}

/// Estimates accuracy: the number of held-out documents whose likeliest label is right.
pub(crate) fn expect_right(
    fitted: &tamis_model::WeightedFit,
    documents: &dyn Documents,
    spam: Option<ClassId>,
    groups: u64,
) -> Option<HeldOutPerformance> {
    let (mut all, mut right, mut n) = (0.0, 0.0, 0);
    for held in fitted.held_out.iter().filter(|held| held.weight > 0.0) {
        let Label { class, multiplicity, .. } = documents.label(held.document);
        let z = held.log_odds(&fitted.choices, &fitted.prior);
        let is_right =
            may_judge(spam, held.known_terms) && z.iter().all(|other| *other <= z[usize::from(class)]);
        (all, n) = (all + held.weight, n + u64::from(multiplicity));
        right += if is_right { held.weight } else { 0.0 };
    }
    // in a sample, each document counts by its weight
    let right = (right / all * n as f64).round() as u64;
    (n > 0).then_some(HeldOutPerformance::Accuracy { documents: n, right: right.min(n), groups })
}

/// Counts the distinct named groups.
pub(crate) fn count_named(groups: impl Iterator<Item = u64>) -> u64 {
    groups.filter(|group| is_named(*group)).collect::<HashSet<_>>().len() as u64
}
