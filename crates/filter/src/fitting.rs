//! What is derived from counted documents: correction, held-out scores, calibration, thresholds.

use std::convert::Infallible;

use rayon::prelude::*;
use tamis_model::{
    ClassCorrection, ClassId, ClassTotals, ClassWeight, Classes, Coefficient, Correction, Counts,
    ExpectedNaiveBayes, ExpectedStatistics, FitError, HeldOutScores, Labelled, OneAgainstRest, Platt,
    Smoothing, Statistics, StatisticsError, Temperature, WeightedLogOdds, WeightedVector, cross_fit,
    cross_fit_classes, fit_and_cross_fit_classes, fit_correction, leave_one_out, log_normalize,
    threshold_for_fpr,
};
use tamis_tokenizer::CountRow;

use crate::error::{Error, Result};
use crate::scorer::{positive_class, spam_class};
use crate::scoring::{Decision, DecisionOptions, ExpectationMaximization, Expected, Weighted};

/// Folds of the scores that calibration and thresholds are taken from.
pub(crate) const FOLDS: usize = 10;

/// As many held-out documents as the temperature of many classes needs: it is two numbers.
const ENOUGH: usize = 1_000;

/// All that fitting gives.
pub(crate) struct Fitted {
    pub(crate) correction: Fit,
    /// A document's score by a model that had not seen it; one a document, or none at all.
    pub(crate) held_out: Vec<Option<f64>>,
    pub(crate) decision: Decision,
    pub(crate) temperature: Temperature,
    pub(crate) expected_model: Option<ExpectedNaiveBayes>,
    pub(crate) expected: Option<Expected>,
}

/// A correction and the part of each document in it.
pub(crate) enum Fit {
    None,
    Two(Correction, Vec<Coefficient>),
    Many(ClassCorrection, Vec<Vec<ClassWeight>>),
    /// No correction: the counts that documents without a label are expected to have, and the others.
    Expected(ExpectedStatistics),
}

impl Fitted {
    /// Nothing to fit.
    pub(crate) const NONE: Fitted = Fitted {
        correction: Fit::None,
        held_out: Vec::new(),
        decision: Decision::PLAIN,
        temperature: Temperature::IDENTITY,
        expected_model: None,
        expected: None,
    };
}

/// Fits to documents in canonical order, for any number of classes.
pub(crate) fn fit_classes(
    weighted: &Weighted,
    statistics: &Statistics,
    documents: &[Labelled<'_>],
) -> Result<Fitted> {
    let (alpha, correction) = (weighted.alpha, weighted.correction.as_ref());
    let (correction, held_out) = match correction {
        Some(options) => {
            let fitted = fit_and_cross_fit_classes(alpha, statistics, documents, options, FOLDS, ENOUGH);
            let ((correction, each), held_out) = fitted.map_err(refused)?;
            (Fit::Many(correction, each), held_out)
        }
        None => {
            let held_out = cross_fit_classes(alpha, statistics, documents, None, FOLDS, ENOUGH);
            (Fit::None, held_out.map_err(refused)?)
        }
    };
    let all: Vec<_> = held_out
        .iter()
        .flat_map(|held_out| {
            let copies = documents[held_out.document].multiplicity as usize;
            std::iter::repeat_n(scored(held_out, documents), copies)
        })
        .collect();
    Ok(Fitted {
        correction,
        temperature: Temperature::fit(&all).unwrap_or_default(),
        expected: expect_right(&all),
        ..Fitted::NONE
    })
}

/// Fits to documents of which those of the class after the last have no label.
pub(crate) fn maximize_expectation(
    ExpectationMaximization { options, transform }: &ExpectationMaximization,
    statistics: &Statistics,
    n_classes: usize,
    documents: &[Labelled<'_>],
) -> Result<Fitted> {
    let all: u64 = statistics.totals().iter().map(|t| t.documents).sum();
    let df = |term| Ok(statistics.document_frequency(term));
    let weigh = |document: &Labelled<'_>| {
        let mut weights = WeightedVector::default();
        let Ok::<(), Infallible>(()) = transform.apply(document.row, all, df, &mut weights);
        (document.class, weights)
    };
    let copies = documents.iter().flat_map(|d| std::iter::repeat_n(d, d.multiplicity as usize));
    let weighted: Vec<_> = copies.map(weigh).collect();
    let is_labelled = |class: ClassId| usize::from(class) < n_classes;
    let (labelled, unlabelled): (Vec<_>, Vec<_>) =
        weighted.iter().map(|(class, weights)| (*class, weights.row())).partition(|(c, _)| is_labelled(*c));
    let unlabelled: Vec<_> = unlabelled.into_iter().map(|(_, row)| row).collect();
    let em = options.fit(n_classes, &labelled, &unlabelled)?;
    Ok(Fitted { correction: Fit::Expected(em.statistics), expected_model: Some(em.model), ..Fitted::NONE })
}

/// A held-out document as calibration takes it: scores, known terms, true class.
pub(crate) fn scored<'a>(
    held_out: &'a HeldOutScores,
    documents: &[Labelled<'_>],
) -> (&'a [f64], usize, usize) {
    let class = documents[held_out.document].class;
    (&held_out.scores, held_out.known_terms, usize::from(class))
}

/// The mean log loss of exact leave-one-out scores after calibration on them, in nats a document.
pub(crate) fn leave_one_out_loss(
    alpha: Smoothing,
    statistics: &Statistics,
    documents: &[Labelled<'_>],
) -> Result<f64> {
    let scorer = OneAgainstRest::new(alpha, statistics.totals(), statistics.n_features() as u64)?;
    let held_out: Vec<_> = documents
        .par_iter()
        .enumerate()
        .map(|(document, d)| {
            let mut scores = Vec::new();
            let Ok(known_terms) = scorer.scores_left_out(statistics, d.row, d.class, &mut scores);
            HeldOutScores { document, scores, known_terms }
        })
        .collect();
    let all: Vec<_> = held_out.iter().map(|held_out| scored(held_out, documents)).collect();
    let temperature = Temperature::fit(&all).unwrap_or_default();
    let loss = |(scores, known_terms, class): &(&[f64], usize, usize)| {
        let mut joint = scores.to_vec();
        temperature.apply(&mut joint, *known_terms);
        log_normalize(&mut joint);
        -joint[*class]
    };
    Ok(all.iter().map(loss).sum::<f64>() / all.len().max(1) as f64)
}

pub(crate) fn refused(error: FitError<StatisticsError>) -> Error {
    match error {
        FitError::Counts(error) => error.into(),
        FitError::Parameters(error) => error.into(),
    }
}

fn expect_right(scored: &[(&[f64], usize, usize)]) -> Option<Expected> {
    let is_right = |(scores, known_terms, class): &&(&[f64], usize, usize)| {
        *known_terms > 0 && scores.iter().all(|score| *score <= scores[*class])
    };
    let right = scored.iter().filter(is_right).count() as u64;
    (!scored.is_empty()).then_some(Expected::Accuracy { documents: scored.len() as u64, right })
}

/// Fits to documents in canonical order; `windows` are those of each document, or none at all.
pub(crate) fn fit(
    weighted: &Weighted,
    decide: impl FnOnce(&[(f64, bool)]) -> Result<Decision>,
    statistics: &Statistics,
    n_features: u64,
    documents: &[Labelled<'_>],
    windows: &[Vec<CountRow<'_>>],
    classes: &Classes,
) -> Result<Fitted> {
    let positive = positive_class(classes);
    let scorer = WeightedLogOdds::new(weighted.alpha, statistics.totals(), n_features, positive)?;
    let correction = || match &weighted.correction {
        Some(options) => {
            let (correction, each) = fit_correction(&scorer, statistics, documents, positive, options);
            Fit::Two(correction, each)
        }
        None => Fit::None,
    };
    // With pure counts and whole documents leaving one out is exact and cheap; anything else is fitted anew per fold.
    let held_out = || match weighted.correction.as_ref() {
        None if windows.is_empty() => Ok(leave_one_out(&scorer, statistics, documents)),
        options => cross_fit(weighted.alpha, statistics, documents, windows, positive, options, FOLDS),
    };
    let (correction, held_out) = rayon::join(correction, held_out);
    // as a model keeps them, so that calibration can be fitted again to the same scores
    let held_out: Vec<_> = held_out?.into_iter().map(|s| s.map(|s| f64::from(s as f32))).collect();
    let scores = copies(documents, &held_out, positive);
    let decision = decide(&scores)?;
    let expected = expect(&scores, &decision, classes);
    Ok(Fitted { correction, held_out, decision, expected, ..Fitted::NONE })
}

/// The share of a class among the documents.
fn share(totals: &[ClassTotals], class: ClassId) -> f64 {
    let of_class = totals.get(usize::from(class)).map_or(0, |t| t.documents) as f64;
    of_class / totals.iter().map(|t| t.documents as f64).sum::<f64>()
}

/// Calibration and thresholds anew, from held-out scores of the documents that a model remembers: as they were asked
/// for, or with the thresholds of the decision before where that is not known, or where there is too little ham for it
/// by now.
pub(crate) fn settle(
    scores: &[(f64, bool)],
    asked: Option<&DecisionOptions>,
    before: Decision,
    totals: &[ClassTotals],
    classes: &Classes,
) -> Result<(Decision, Option<Expected>)> {
    let decide = |asked| decide(scores, asked, default_of(asked, before, classes), totals, classes);
    let decision = match asked.map(decide) {
        Some(Err(Error::TooLittleHam(_))) | None => {
            Decision { calibration: Platt::fit(scores).unwrap_or(Platt::IDENTITY), ..before }
        }
        Some(decision) => decision?,
    };
    Ok((decision, expect(scores, &decision, classes)))
}

/// The thresholds where those asked for go from: those that a model has, unless they were moved.
pub(crate) fn default_of(asked: &DecisionOptions, before: Decision, classes: &Classes) -> Decision {
    let is_moved = asked.cost.is_some() || asked.max_fpr.is_some();
    let Decision { lower, upper, .. } = if is_moved { Decision::for_classes(classes) } else { before };
    Decision { lower, upper, ..Decision::PLAIN }
}

/// The held-out scores, as often as their documents were given, and whether they are of the positive class.
fn copies(documents: &[Labelled<'_>], scores: &[Option<f64>], positive: ClassId) -> Vec<(f64, bool)> {
    let scored = documents.iter().zip(scores).filter_map(|(document, score)| Some((document, (*score)?)));
    scored.flat_map(|(d, score)| repeated(score, d.class == positive, d.multiplicity)).collect()
}

/// The score of a document and whether it is of the positive class, as often as it was given. A thousand copies say as much
/// as more.
pub(crate) fn repeated(
    score: f64,
    is_positive: bool,
    multiplicity: u32,
) -> impl Iterator<Item = (f64, bool)> {
    std::iter::repeat_n((score, is_positive), multiplicity.min(1_000) as usize)
}

/// From held-out scores, and whether they are of the positive class, to calibration and thresholds.
pub(crate) fn decide(
    scores: &[(f64, bool)],
    options: &DecisionOptions,
    default: Decision,
    totals: &[ClassTotals],
    classes: &Classes,
) -> Result<Decision> {
    let positive = positive_class(classes);
    // where ham is the positive class, what is asked of it is asked of the other end
    let ham_is_positive = ham_class(classes) == Some(positive);
    let seen_by_ham = |decision: Decision| if ham_is_positive { decision.mirrored() } else { decision };
    let calibration = Platt::fit(scores).unwrap_or(Platt::IDENTITY);
    let mut decision = Decision { calibration, ..default };
    if let Some(prior) = options.prior {
        decision = decision.expecting(prior, share(totals, positive))?;
    }
    if let Some(cost) = options.cost {
        decision = seen_by_ham(seen_by_ham(decision).costing(cost)?);
    }
    if let Some(max_fpr) = options.max_fpr {
        let sign = if ham_is_positive { -1.0 } else { 1.0 };
        let of_ham = scores.iter().filter(|(_, positive)| *positive == ham_is_positive);
        let mut ham: Vec<f64> = of_ham.map(|(score, _)| sign * score).collect();
        ham.sort_by(f64::total_cmp);
        let threshold = sign * decision.log_odds(sign * threshold_for_fpr(&ham, max_fpr)?);
        decision = seen_by_ham(seen_by_ham(decision).cutting_at(threshold));
    }
    Ok(decision)
}

/// The class that is not spam, in a spam filter.
fn ham_class(classes: &Classes) -> Option<ClassId> {
    spam_class(classes).filter(|_| classes.len() == 2).map(|spam| 1 - spam)
}

fn expect(scores: &[(f64, bool)], decision: &Decision, classes: &Classes) -> Option<Expected> {
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
    let expected = Expected::Detection { negatives, false_positives, positives, missed };
    (positives > 0 && negatives > 0).then_some(expected)
}
