//! Choices and weights that are fitted to documents.

use std::convert::Infallible;
use tamis_model::{
    ClassId, ClassWeight, Classes, Coefficients, Correction, Counts, Documents, ExpectedStatistics, FitError,
    HeldOut, Label, SmoothingChoice, Statistics, StatisticsError, WeightedOptions, WeightedVector,
};
use tamis_store::config::decision::{Decision, HeldOutPerformance};
use tamis_store::config::labels::columns_of;
use tamis_store::config::scoring::ExpectationMaximization;
use tamis_store::error::{Error, Result};
use tamis_store::file::fitted::FittedScoring;
use tamis_tokenizer::{CountVector, TermId};

/// The result of fitting.
pub(crate) struct Solution {
    pub(crate) scoring: FittedScoring,
    pub(crate) weights: SolutionWeights,
    /// With two classes, the held-out documents by increasing number, each with its scores.
    pub(crate) held_out: Vec<(usize, HeldOut)>,
    pub(crate) decision: Decision,
    pub(crate) expected: Option<HeldOutPerformance>,
}

/// The fitted weights of terms, in addition to their counts.
pub(crate) enum SolutionWeights {
    None,
    /// A correction and each document's coefficients in it.
    Correction(Correction, Coefficients),
    /// Labelled counts plus the expected counts of unlabelled documents.
    Expected(ExpectedStatistics),
}

impl Solution {
    /// A scoring with no weights of its own.
    pub(crate) fn by_counts(scoring: FittedScoring, decision: Decision) -> Self {
        Solution { scoring, weights: SolutionWeights::None, held_out: Vec::new(), decision, expected: None }
    }
}

impl SolutionWeights {
    /// The weights of a term as they are stored: fixed point, or the bits of a floating-point number.
    pub(crate) fn stored(&self, id: TermId) -> impl Iterator<Item = (ClassId, i64)> {
        let (correction, expected) = match self {
            SolutionWeights::None => (None, None),
            SolutionWeights::Correction(correction, _) => (Some(correction), None),
            SolutionWeights::Expected(expected) => (None, Some(expected)),
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

/// Fits by expectation maximization. Documents of class `n_classes` are unlabelled.
pub(crate) fn maximize_expectation(
    settings: ExpectationMaximization,
    statistics: &Statistics,
    n_classes: usize,
    documents: &dyn Documents,
) -> Result<Solution> {
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
    let weights = SolutionWeights::Expected(em.statistics);
    Ok(Solution { weights, ..Solution::by_counts(scoring, Decision::PLAIN) })
}

pub(crate) fn refused(error: FitError<StatisticsError>) -> Error {
    match error {
        FitError::Counts(error) => error.into(),
        FitError::Parameters(error) => error.into(),
    }
}
