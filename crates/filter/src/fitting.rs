//! What is derived from counted documents for two classes: correction, held-out scores, calibration, thresholds.

use tamis_model::{
    ClassId, Coefficient, Correction, Labelled, Platt, Statistics, WeightedLogOdds, cross_fit,
    fit_correction, leave_one_out, threshold_for_fpr,
};
use tamis_tokenizer::CountRow;

use crate::error::Result;
use crate::scoring::{Decision, DecisionOptions, Expected, Weighted};

/// Folds of the scores that calibration and thresholds are taken from.
pub(crate) const FOLDS: usize = 10;

/// All that fitting gives.
pub(crate) struct Fitted {
    pub(crate) correction: Correction,
    /// One a document.
    pub(crate) coefficients: Vec<Coefficient>,
    /// A document's score by a model that had not seen it; one a document.
    pub(crate) held_out: Vec<Option<f64>>,
    pub(crate) decision: Decision,
    pub(crate) expected: Option<Expected>,
}

/// Fits to documents in canonical order; `windows` are those of each document, or none at all.
pub(crate) fn fit(
    weighted: &Weighted,
    options: &DecisionOptions,
    statistics: &Statistics,
    n_features: u64,
    documents: &[Labelled<'_>],
    windows: &[Vec<CountRow<'_>>],
    positive: ClassId,
) -> Result<Fitted> {
    use tamis_model::Counts;
    let scorer = WeightedLogOdds::new(weighted.alpha, statistics.totals(), n_features, positive)?;
    let (correction, coefficients) = match &weighted.correction {
        Some(options) => fit_correction(&scorer, statistics, documents, positive, options),
        None => (Correction::new(), vec![0; documents.len()]),
    };
    // With pure counts and whole documents leaving one out is exact and cheap; anything else is fitted anew per fold.
    let held_out = if weighted.correction.is_none() && windows.is_empty() {
        leave_one_out(&scorer, statistics, documents)
    } else {
        cross_fit(
            weighted.alpha,
            statistics,
            documents,
            windows,
            positive,
            weighted.correction.as_ref(),
            FOLDS,
        )?
    };
    let share = |of: ClassId| statistics.totals().get(usize::from(of)).map_or(0, |t| t.documents) as f64;
    let training = share(positive) / statistics.totals().iter().map(|t| t.documents as f64).sum::<f64>();
    let scores = copies(documents, &held_out, positive);
    let decision = decide(&scores, options, training)?;
    let expected = expect(&scores, &decision);
    Ok(Fitted { correction, coefficients, held_out, decision, expected })
}

/// The held-out scores, as often as their documents were given, and whether they are of the positive class.
fn copies(documents: &[Labelled<'_>], scores: &[Option<f64>], positive: ClassId) -> Vec<(f64, bool)> {
    let scored = documents.iter().zip(scores).filter_map(|(document, score)| Some((document, (*score)?)));
    scored
        .flat_map(|(document, score)| {
            std::iter::repeat_n((score, document.class == positive), document.multiplicity as usize)
        })
        .collect()
}

fn decide(scores: &[(f64, bool)], options: &DecisionOptions, training: f64) -> Result<Decision> {
    let calibration = Platt::fit(scores).unwrap_or(Platt::IDENTITY);
    let mut decision = Decision { calibration, ..Decision::BANDED };
    if let Some(prior) = options.prior {
        decision = decision.expecting(prior, training)?;
    }
    if let Some(cost) = options.cost {
        decision = decision.costing(cost)?;
    }
    if let Some(max_fpr) = options.max_fpr {
        let mut negatives: Vec<f64> =
            scores.iter().filter(|(_, positive)| !positive).map(|(s, _)| *s).collect();
        negatives.sort_by(f64::total_cmp);
        decision = decision.cutting_at(decision.log_odds(threshold_for_fpr(&negatives, max_fpr)?));
    }
    Ok(decision)
}

fn expect(scores: &[(f64, bool)], decision: &Decision) -> Option<Expected> {
    let mut expected = Expected::default();
    for (score, positive) in scores {
        let called = decision.is_positive(decision.log_odds(*score)) == Some(true);
        if *positive {
            expected.positives += 1;
            expected.missed += u64::from(!called);
        } else {
            expected.negatives += 1;
            expected.false_positives += u64::from(called);
        }
    }
    (expected.positives > 0 && expected.negatives > 0).then_some(expected)
}
