//! The numbers that kinds are stored as: a new kind goes to the end of its enum, and none may move.

use std::fmt::Debug;

use serde::Serialize;
use tamis_model::{ClassPrior, Counting, Criterion, Likelihood, RobinsonFisher, WeightedOptions};
use tamis_tokenizer::{Language, Ngrams, WordRule};

use crate::config::column::ColumnKind;
use crate::config::decision::HeldOutPerformance;
use crate::config::recipe::Keep;
use crate::config::scoring::{ExpectationMaximization, Mixed, Scoring};
use crate::file::container::encode;
use crate::kind::Kind;

#[track_caller]
fn check<T: Serialize + Debug>(kinds: &[T]) {
    for (number, kind) in (0u32..).zip(kinds) {
        assert_eq!(encode(kind).unwrap()[..4], number.to_le_bytes(), "{kind:?}");
    }
}

#[test]
fn kinds_keep_their_numbers() {
    check(&[Kind::Mail, Kind::Text, Kind::Table]);
    check(&[Keep::Digests, Keep::Vectors]);
    check(&[ColumnKind::Gaussian, ColumnKind::Categorical, ColumnKind::Bernoulli, ColumnKind::Text]);
    check(&[
        Scoring::Weighted(WeightedOptions::default()),
        Scoring::NaiveBayes(Scoring::parameters()),
        Scoring::ExpectationMaximization(ExpectationMaximization::for_documents(0)),
        Scoring::Mixed(Mixed::default()),
        Scoring::RobinsonFisher(RobinsonFisher::default()),
    ]);
    check(&[
        HeldOutPerformance::Detection {
            negatives: 1,
            false_positives: 0,
            positives: 1,
            missed: 0,
            groups: 0,
        },
        HeldOutPerformance::Accuracy { documents: 1, right: 1, groups: 0 },
        HeldOutPerformance::Labels { documents: 1, found: 1, wrong: 0, missed: 0, groups: 0 },
    ]);
    check(&[
        Likelihood::Bernoulli,
        Likelihood::Multinomial,
        Likelihood::Complement,
        Likelihood::ComplementNormalized,
    ]);
    check(&[Counting::Occurrences, Counting::Presence]);
    check(&[ClassPrior::Learned, ClassPrior::Smoothed, ClassPrior::Uniform, ClassPrior::Given(vec![1.0])]);
    check(&[Criterion::ChiSquare, Criterion::MutualInformation]);
    check(&[Ngrams::Words { min: 1, max: 1 }, Ngrams::Characters { min: 1, max: 1 }]);
    check(&[WordRule::Unicode, WordRule::Mail]);
    check(&[
        Language::Arabic,
        Language::Danish,
        Language::Dutch,
        Language::English,
        Language::Finnish,
        Language::French,
        Language::German,
        Language::Hungarian,
        Language::Italian,
        Language::Norwegian,
        Language::Portuguese,
        Language::Romanian,
        Language::Russian,
        Language::Spanish,
        Language::Swedish,
        Language::Tamil,
        Language::Turkish,
    ]);
}
