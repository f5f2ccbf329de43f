//! Fitting and calibration: choices, correction, held-out scores, thresholds.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::convert::Infallible;

use tamis_filter::score::verdict::may_judge;
use tamis_model::{
    Choices, ClassId, ClassTotals, ClassWeight, Classes, Coefficients, Correction, Counts, Documents,
    ExpectedStatistics, FitProblem, FitError, Prediction, Label, SmoothingChoice, Statistics, StatisticsError,
    WeightedLoss, WeightedOptions, WeightedVector, threshold_for_fpr,
};
use tamis_store::config::decision::{Decision, DecisionOptions, Expected};
use tamis_store::config::label_set::{are_sets, columns_of};
use tamis_store::config::roles::{positive_class, spam_class};
use tamis_store::config::scoring::{Chosen, ExpectationMaximization, TriedTerms};
use tamis_store::error::{Error, Reason, Result};
use tamis_store::file::documents::as_kept;
use tamis_store::file::fitted::FittedScoring;
use tamis_store::file::groups::is_named;
use tamis_store::file::header::Header;
use tamis_tokenizer::{CountVector, TermId};

use crate::train::label_decisions::{decide_labels, expect_labels};

/// The result of fitting.
pub(crate) struct Fitted {
    pub(crate) scoring: FittedScoring,
    pub(crate) weights: FittedWeights,
    /// With two classes, the held-out documents by increasing number, each with its scores.
    pub(crate) held_out: Vec<(usize, [f64; 2])>,
    pub(crate) decision: Decision,
    pub(crate) expected: Option<Expected>,
}

/// The fitted weights of terms, in addition to their counts.
pub(crate) enum FittedWeights {
    None,
    /// A correction and each document's coefficients in it.
    Correction(Correction, Coefficients),
    /// Labelled counts plus the expected counts of unlabelled documents.
    Expected(ExpectedStatistics),
}

impl Fitted {
    /// A scoring with no weights of its own.
    pub(crate) fn by_counts(scoring: FittedScoring, decision: Decision) -> Self {
        Fitted { scoring, weights: FittedWeights::None, held_out: Vec::new(), decision, expected: None }
    }
}

impl FittedWeights {
    /// The weights of a term as they are stored: fixed point, or the bits of a floating-point number.
    pub(crate) fn of(&self, id: TermId) -> impl Iterator<Item = (ClassId, i64)> {
        let (correction, expected) = match self {
            FittedWeights::None => (None, None),
            FittedWeights::Correction(correction, _) => (Some(correction), None),
            FittedWeights::Expected(expected) => (None, Some(expected)),
        };
        let units = |weight: ClassWeight| (weight.class, weight.units);
        let bits = |(class, weight): (ClassId, f64)| (class, i64::from((weight as f32).to_bits()));
        let correction = correction.into_iter().flat_map(move |of| of.weights(id).map(units));
        correction.chain(expected.into_iter().flat_map(move |of| of.weights(id).map(bits)))
    }
}

/// Chooses the smoothing and the power of idf that best predict documents left out one by one.
pub(crate) fn smoothing(
    options: &WeightedOptions,
    statistics: &Statistics,
    documents: &dyn Documents,
    classes: &Classes,
) -> Result<SmoothingChoice> {
    options.check()?;
    Ok(SmoothingChoice::new(statistics, documents, &columns_of(classes)?, options))
}

/// The mean loss per document with further terms and without them, in nats.
pub(crate) fn tried_terms(with: &[WeightedLoss], without: &[WeightedLoss]) -> TriedTerms {
    let mean = |losses: &[WeightedLoss]| {
        let all: f64 = losses.iter().map(|of| of.weight).sum();
        losses.iter().map(|of| of.loss * of.weight).sum::<f64>() / all
    };
    TriedTerms { with: mean(with), without: mean(without) }
}

/// Fits the weights. Does not choose thresholds.
pub(crate) fn weights(
    options: &WeightedOptions,
    smoothing: SmoothingChoice,
    statistics: &Statistics,
    documents: &dyn Documents,
    classes: &Classes,
) -> Result<tamis_model::WeightedFit> {
    let problem = FitProblem { counts: statistics, documents, columns: columns_of(classes)?, options };
    problem.solve(smoothing).map_err(refused)
}

/// What thresholds are chosen by, besides held-out scores.
#[derive(Clone, Copy)]
pub(crate) struct Thresholds<'a> {
    pub(crate) asked: &'a DecisionOptions,
    /// The thresholds that stay unless `asked` moves them.
    pub(crate) default: Decision,
    pub(crate) totals: &'a [ClassTotals],
}

/// Derives thresholds and expected error rates from the fit's held-out scores.
pub(crate) fn conclude(
    options: &WeightedOptions,
    fitted: tamis_model::WeightedFit,
    thresholds: &Thresholds<'_>,
    documents: &dyn Documents,
    classes: &Classes,
) -> Result<Fitted> {
    // without a correction, documents are left out one by one
    let in_folds = options.correction || documents.has_windows();
    let held_out = fitted.held_out.iter().filter(|held| in_folds && held.weight > 0.0);
    let groups = count_named(held_out.map(|held| documents.label(held.document).group));
    let (mut held_out, mut decision, mut labels) = (Vec::new(), Decision::PLAIN, Vec::new());
    let expected = match classes.len() {
        _ if are_sets(classes) => {
            let columns = columns_of(classes)?;
            labels = decide_labels(&fitted, documents, &columns, thresholds.asked)?;
            let n = fitted.held_out.iter().filter(|held| held.weight > 0.0).count() as u64;
            expect_labels(&labels, n, groups)
        }
        2 => {
            let known = fitted.held_out.iter().filter(|held| held.known_terms > 0 && held.weight > 0.0);
            // rounded as a model stores them, so that a refit starts from the same numbers
            let kept = |held: &Prediction| {
                Some((held.document, as_kept(held.highest(&fitted.choices)?).map(f64::from)))
            };
            held_out = known.filter_map(kept).collect();
            let positive = positive_class(classes);
            let judged = |(document, held_out): &(usize, [f64; 2])| {
                let Label { class, multiplicity, group, .. } = documents.label(*document);
                Judged {
                    held_out: *held_out,
                    is_positive: class == positive,
                    multiplicity,
                    learned: 0,
                    group,
                }
            };
            let scores = scores(&held_out.iter().map(judged).collect::<Vec<_>>(), &fitted.choices);
            let Thresholds { asked, default, totals } = *thresholds;
            decision = decide(&scores, asked, default, totals, classes)?;
            expect(&scores, &decision, classes, groups)
        }
        _ => expect_right(&fitted, documents, spam_class(classes), groups),
    };
    let (weights, bias) = match options.correction {
        true => {
            let bias = fitted.correction.bias().to_vec();
            (FittedWeights::Correction(fitted.correction, fitted.coefficients), bias)
        }
        false => (FittedWeights::None, Vec::new()),
    };
    let chosen = Chosen {
        choices: fitted.choices,
        refitted: None,
        smoothing: fitted.smoothing.tried,
        taus: fitted.taus,
        parts: fitted.parts,
        pairs: None,
        pieces: None,
        unlabelled: None,
        labels,
    };
    let scoring = FittedScoring::Weighted { options: *options, chosen, bias };
    Ok(Fitted { scoring, weights, held_out, decision, expected })
}

/// Fits by expectation maximization. Documents of class `n_classes` are unlabelled.
pub(crate) fn maximize_expectation(
    settings: ExpectationMaximization,
    statistics: &Statistics,
    n_classes: usize,
    documents: &dyn Documents,
) -> Result<Fitted> {
    let ExpectationMaximization { options, transform } = &settings;
    let all: u64 = statistics.totals().iter().map(|t| t.documents).sum();
    let df = |term| Ok(statistics.document_frequency(term));
    let weigh = |(document, row): (usize, &CountVector)| {
        let mut weights = WeightedVector::default();
        let Ok::<(), Infallible>(()) = transform.apply(row.row(), all, df, &mut weights);
        let Label { class, multiplicity, .. } = documents.label(document);
        std::iter::repeat_n((class, weights), multiplicity as usize)
    };
    let rows = documents.rows(&(0..documents.len()).collect::<Vec<_>>());
    let weighted: Vec<_> = rows.iter().enumerate().flat_map(weigh).collect();
    let is_labelled = |class: ClassId| usize::from(class) < n_classes;
    let (labelled, unlabelled): (Vec<_>, Vec<_>) =
        weighted.iter().map(|(class, weights)| (*class, weights.row())).partition(|(c, _)| is_labelled(*c));
    let unlabelled: Vec<_> = unlabelled.into_iter().map(|(_, row)| row).collect();
    let em = options.fit(n_classes, &labelled, &unlabelled)?;
    let scoring = FittedScoring::ExpectationMaximization { settings, model: em.model };
    let weights = FittedWeights::Expected(em.statistics);
    Ok(Fitted { weights, ..Fitted::by_counts(scoring, Decision::PLAIN) })
}

pub(crate) fn refused(error: FitError<StatisticsError>) -> Error {
    match error {
        FitError::Counts(error) => error.into(),
        FitError::Parameters(error) => error.into(),
    }
}

/// Estimates accuracy: the number of held-out documents whose likeliest label is right.
fn expect_right(
    fitted: &tamis_model::WeightedFit,
    documents: &dyn Documents,
    spam: Option<ClassId>,
    groups: u64,
) -> Option<Expected> {
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
    (n > 0).then_some(Expected::Accuracy { documents: n, right: right.min(n), groups })
}

/// Counts the distinct named groups.
pub(crate) fn count_named(groups: impl Iterator<Item = u64>) -> u64 {
    groups.filter(|group| is_named(*group)).collect::<HashSet<_>>().len() as u64
}

/// The share of a class among the documents.
fn share(totals: &[ClassTotals], class: ClassId) -> f64 {
    let of_class = totals.get(usize::from(class)).map_or(0, |t| t.documents) as f64;
    of_class / totals.iter().map(|t| t.documents as f64).sum::<f64>()
}

/// A held-out document of two classes, with its scores.
pub(crate) struct Judged {
    pub(crate) held_out: [f64; 2],
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
pub(crate) fn calibrate(header: &mut Header, judged: &mut [Judged]) -> Result<()> {
    let FittedScoring::Weighted { options, chosen, .. } = &mut header.scoring else { return Ok(()) };
    let has_windows = header.recipe.windows.is_some();
    chosen.refitted = None;
    if options.correction && judged.iter().any(|judged| judged.learned > 0) {
        judged.sort_by_key(|judged| (Reverse(judged.learned), judged.group, judged.is_positive));
        let latest = judged.iter().take(LATEST);
        let weight = |judged: &Judged| f64::from(judged.multiplicity.min(1_000));
        let latest = latest.map(|judged| (judged.held_out, judged.is_positive, weight(judged)));
        chosen.refitted = Some(chosen.choices.refitted(&latest.collect::<Vec<_>>(), has_windows));
    }
    let scores = scores(judged, chosen.in_use());
    if let Some(asked) = &header.asked {
        let default = default_of(asked, header.decision, &header.classes);
        match decide(&scores, asked, default, &header.totals, &header.classes) {
            Err(error) if matches!(error.reason(), Reason::TooFewNegatives(_)) => (),
            decision => header.decision = decision?,
        }
    }
    // the model that scored a document learned one by one may have known others of its group
    let in_folds = (options.correction || has_windows) && judged.iter().all(|judged| judged.learned == 0);
    let groups = count_named(judged.iter().map(|judged| judged.group).filter(|_| in_folds));
    header.expected = expect(&scores, &header.decision, &header.classes, groups);
    Ok(())
}

/// The log-odds of each document and whether it belongs to the positive class, repeated for each copy.
fn scores(judged: &[Judged], choices: &Choices) -> Vec<(f64, bool)> {
    let repeated = |judged: &Judged| {
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
    options: &DecisionOptions,
    default: Decision,
    totals: &[ClassTotals],
    classes: &Classes,
) -> Result<Decision> {
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

pub(crate) fn expect(
    scores: &[(f64, bool)],
    decision: &Decision,
    classes: &Classes,
    groups: u64,
) -> Option<Expected> {
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
    let expected = Expected::Detection { negatives, false_positives, positives, missed, groups };
    (positives > 0 && negatives > 0).then_some(expected)
}
