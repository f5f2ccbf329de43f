//! Fits a scoring to documents, beyond counting them.

use crate::fit::label_decisions::{decide_labels, expect_labels};
use tamis_model::{
    Beside, Classes, Counts, Documents, FitProblem, HeldOut, Label, Prediction, Statistics, VectorStatistics,
    WeightedOptions,
};
use tamis_store::config::decision::{Decision, DecisionOptions};
use tamis_store::config::labels::{are_sets, columns_of, positive_class, spam_class};
use tamis_store::config::scoring::{ModelSelection, Scoring};
use tamis_store::error::{Error, Result};
use tamis_store::file::documents::as_kept;
use tamis_store::file::fitted::FittedScoring;

use crate::fit::calibration::{
    BinaryPrediction, Thresholds, count_named, decide, expect, expect_right, scores,
};
use crate::fit::self_training::PseudoLabels;
use crate::fit::solution::{self, Solution, SolutionWeights};
use crate::fit::table::TableInput;
use crate::gather::collection::Collection;

/// What a scoring is fitted to.
pub(crate) struct FitInput<'a> {
    pub(crate) classes: &'a Classes,
    pub(crate) statistics: &'a Statistics,
    /// The statistics of dense vectors, if there are any.
    pub(crate) vectors: Option<&'a VectorStatistics>,
    pub(crate) documents: &'a mut Collection,
    /// Which of the documents had no label.
    pub(crate) taught: Option<PseudoLabels>,
    /// What mixed naive Bayes needs of a table.
    pub(crate) table: Option<TableInput<'a>>,
}

/// Fits the scoring to the documents. Thresholds are chosen to meet the requirements `asked`, and otherwise stay at
/// `default`.
pub(crate) fn fit(
    scoring: Scoring,
    asked: &DecisionOptions,
    default: Decision,
    learned: FitInput<'_>,
) -> Result<Solution> {
    let FitInput { classes, statistics, vectors, documents, taught, table } = learned;
    let mut fitted = match scoring {
        Scoring::NaiveBayes(parameters) => {
            let Ok(summary) = parameters.summarize(statistics);
            Solution::by_counts(FittedScoring::NaiveBayes { parameters, summary }, Decision::PLAIN)
        }
        Scoring::Mixed(settings) => {
            let table = table.ok_or_else(|| Error::inconsistent("header", "a table", "none"))?;
            table.fit(settings, classes, statistics, documents)?
        }
        Scoring::RobinsonFisher(parameters) => {
            Solution::by_counts(FittedScoring::RobinsonFisher(parameters), default)
        }
        Scoring::Weighted(options) => {
            let thresholds = Thresholds { asked, default, totals: statistics.totals() };
            let table = table.map(|table| table.beside_text(classes, statistics, documents)).transpose()?;
            let beside = Beside { columns: table.as_ref().map(|(_, held_out)| held_out), vectors };
            let smoothing = solution::smoothing(&options, statistics, documents, classes)?;
            let by = taught.as_ref().filter(|taught| taught.record.teacher.is_some());
            let columns = columns_of(classes)?;
            let problem = FitProblem { counts: statistics, documents, columns, beside, options: &options };
            // the weights of counts and correction by the documents that it holds out, or by scores of others
            let fitted = match by {
                Some(taught) => problem.solve_by(smoothing, taught.held_out.clone()),
                None => problem.solve(smoothing),
            };
            let fitted = fitted.map_err(solution::refused)?;
            let mut fitted = conclude(&options, fitted, &thresholds, documents, classes)?;
            if let FittedScoring::Weighted { table: of, .. } = &mut fitted.scoring {
                *of = table.map(|(table, _)| Box::new(table));
            }
            fitted
        }
        Scoring::ExpectationMaximization(settings) => {
            solution::maximize_expectation(settings, statistics, classes.len(), documents)?
        }
    };
    if let FittedScoring::Weighted { chosen, .. } = &mut fitted.scoring {
        chosen.near_duplicates = documents.near_duplicates.documents();
        chosen.independent = documents.independent();
        chosen.unlabelled = taught.map(|taught| taught.record);
    }
    documents.check().map(|()| fitted)
}

/// Derives thresholds and expected error rates from the fit's held-out scores.
pub(crate) fn conclude(
    options: &WeightedOptions,
    fitted: tamis_model::WeightedFit,
    thresholds: &Thresholds<'_>,
    documents: &dyn Documents,
    classes: &Classes,
) -> Result<Solution> {
    // without a correction, documents are left out one by one
    let held_out = fitted.held_out.iter().filter(|held| options.correction && held.weight > 0.0);
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
            let known = fitted.held_out.iter().filter(|held| held.has_evidence() && held.weight > 0.0);
            // rounded as a model stores them, so that a refit starts from the same numbers
            let kept = |held: &Prediction| {
                Some((held.document, as_kept(held.held_out(&fitted.choices)?).map(f64::from)))
            };
            held_out = known.filter_map(kept).collect();
            let positive = positive_class(classes);
            let judged = |(document, held_out): &(usize, HeldOut)| {
                let Label { class, multiplicity, group, .. } = documents.label(*document);
                BinaryPrediction {
                    held_out: *held_out,
                    is_positive: class == positive,
                    multiplicity,
                    learned: 0,
                    group,
                }
            };
            let scores = scores(&held_out.iter().map(judged).collect::<Vec<_>>(), &fitted.choices);
            decision = decide(&scores, thresholds, classes)?;
            expect(&scores, &decision, classes, groups)
        }
        _ => expect_right(&fitted, documents, spam_class(classes), groups),
    };
    let (weights, bias) = match options.correction {
        true => {
            let bias = fitted.correction.bias().to_vec();
            (SolutionWeights::Correction(fitted.correction, fitted.coefficients), bias)
        }
        false => (SolutionWeights::None, Vec::new()),
    };
    let chosen = ModelSelection {
        choices: fitted.choices,
        smoothing: fitted.smoothing.tried,
        taus: fitted.taus,
        parts: fitted.parts,
        labels,
        ..ModelSelection::for_classes(classes.len())
    };
    let scoring = FittedScoring::Weighted { options: *options, chosen, bias, table: None };
    Ok(Solution { scoring, weights, held_out, decision, expected })
}
