//! The header of format 1, as it was written: frozen, so that the types in use may change.

use std::collections::BTreeMap;

use serde::Deserialize;
use tamis_mail::Limits;
use tamis_model::{
    ClassPrior, ClassTotals, Classes, Counting, FeatureLimits, Likelihood, Parameters, Smoothing, Temperature,
};
use tamis_tokenizer::TokenizerOptions;

use super::v2;
use crate::recipe::{Kind, Recipe};
use crate::scoring::{Decision, Expected, Scoring, Weighted};
use crate::trainer::Keep;

#[derive(Deserialize)]
pub(crate) struct Header {
    recipe: OldRecipe,
    keep: Keep,
    scoring: OldScoring,
    classes: Classes,
    totals: Vec<ClassTotals>,
    #[expect(dead_code, reason = "read to get past it; it follows from the counts")]
    summary: Option<OldSummary>,
    decision: Decision,
    expected: Option<OldExpected>,
    lengths: [u64; v2::N_SECTIONS],
}

#[derive(Deserialize)]
struct OldRecipe {
    version: u16,
    kind: OldKind,
    tokenizer: TokenizerOptions,
    limits: Limits,
    content_only: bool,
    ignored_headers: Vec<String>,
    windows: Option<u32>,
}

#[derive(Deserialize)]
enum OldKind {
    Mail,
    Text,
}

#[derive(Deserialize)]
enum OldScoring {
    Weighted(Weighted),
    NaiveBayes(OldParameters),
}

#[derive(Deserialize)]
struct OldParameters {
    likelihood: OldLikelihood,
    counting: Counting,
    alpha: Smoothing,
    prior: ClassPrior,
    features: OldLimits,
}

#[derive(Deserialize)]
enum OldLikelihood {
    Bernoulli,
    Multinomial,
}

#[derive(Deserialize)]
struct OldLimits {
    min_df: u64,
    max_df: Option<f64>,
    max_features: Option<usize>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "read to get past it")]
struct OldSummary {
    n_features: u64,
    totals: Vec<ClassTotals>,
    selection: (u64, u64, Option<(u64, u32)>),
    histograms: Vec<BTreeMap<u32, u64>>,
}

#[derive(Deserialize)]
struct OldExpected {
    negatives: u64,
    false_positives: u64,
    positives: u64,
    missed: u64,
}

impl From<Header> for v2::Header {
    /// Without a summary, which the store makes anew from the counts.
    fn from(old: Header) -> Self {
        let expected = |e: OldExpected| {
            let OldExpected { negatives, false_positives, positives, missed } = e;
            Expected::Detection { negatives, false_positives, positives, missed }
        };
        v2::Header {
            recipe: old.recipe.into(),
            keep: old.keep,
            scoring: old.scoring.into(),
            classes: old.classes,
            totals: old.totals,
            summary: None,
            table: None,
            decision: old.decision,
            temperature: Temperature::IDENTITY,
            expected_model: None,
            expected: old.expected.map(expected),
            lengths: old.lengths,
        }
    }
}

impl From<OldRecipe> for Recipe {
    fn from(old: OldRecipe) -> Self {
        let OldRecipe { version, kind, tokenizer, limits, content_only, ignored_headers, windows } = old;
        let kind = match kind {
            OldKind::Mail => Kind::Mail,
            OldKind::Text => Kind::Text,
        };
        Recipe { version, tokenizer, limits, content_only, ignored_headers, windows, ..Recipe::new(kind) }
    }
}

impl From<OldScoring> for Scoring {
    fn from(old: OldScoring) -> Self {
        match old {
            OldScoring::Weighted(weighted) => Scoring::Weighted(weighted),
            OldScoring::NaiveBayes(OldParameters { likelihood, counting, alpha, prior, features }) => {
                let OldLimits { min_df, max_df, max_features } = features;
                let likelihood = match likelihood {
                    OldLikelihood::Bernoulli => Likelihood::Bernoulli,
                    OldLikelihood::Multinomial => Likelihood::Multinomial,
                };
                let features = FeatureLimits { min_df, max_df, max_features, select: None };
                Scoring::NaiveBayes(Parameters { likelihood, counting, alpha, prior, features })
            }
        }
    }
}
