//! What the tests share: documents, what is learned from them, and what a model says of one.

use proptest::prelude::*;
use serde::Deserialize;
use tamis_model::{ClassId, ClassPrior, NaiveBayes, Statistics};
use tamis_tokenizer::{CountVector, TermId};

/// A document and its class.
pub(crate) type Document = (ClassId, CountVector);

/// Documents of fewer than `size` of the terms, each fewer than `count` times.
pub(crate) fn vector(terms: TermId, count: u32, size: usize) -> impl Strategy<Value = CountVector> {
    let pairs = proptest::collection::btree_map(0..terms, 1..count, 0..size);
    pairs.prop_map(|pairs| CountVector::from_pairs(pairs).unwrap())
}

/// The statistics of documents.
pub(crate) fn learn(n_classes: ClassId, documents: &[Document]) -> Statistics {
    let mut statistics = Statistics::new(usize::from(n_classes));
    for (class, vector) in documents {
        statistics.observe(*class, vector.row()).unwrap();
    }
    statistics
}

/// What a model says of a document, by class.
pub(crate) fn joint(model: &NaiveBayes, statistics: &Statistics, vector: &CountVector) -> Vec<f64> {
    let mut out = Vec::new();
    let Ok(_) = model.joint_log_likelihood(statistics, vector.row(), &mut out);
    out
}

/// The prior of a golden case: by name, or its probabilities.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Prior {
    Name(String),
    Given(Vec<f64>),
}

impl Prior {
    pub(crate) fn class_prior(&self) -> ClassPrior {
        match self {
            Prior::Name(name) if name == "learned" => ClassPrior::Learned,
            Prior::Name(name) => {
                assert_eq!(name, "uniform");
                ClassPrior::Uniform
            }
            Prior::Given(prior) => ClassPrior::Given(prior.clone()),
        }
    }
}
