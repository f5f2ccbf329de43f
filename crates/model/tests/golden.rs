//! Compares with scikit-learn's numbers: tests/golden/naive_bayes.json, written by make.py beside it.

#![allow(clippy::unwrap_used, reason = "clippy knows tests by their attribute, not their helpers")]

use serde::Deserialize;
use tamis_model::{ClassId, ClassPrior, NaiveBayes, Parameters, Smoothing, Statistics};
use tamis_tokenizer::{CountMatrix, CountVector, TermId};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/naive_bayes.json");

#[derive(Deserialize)]
struct Golden {
    sets: Vec<Set>,
}

#[derive(Deserialize)]
struct Set {
    name: String,
    train: Vec<Vec<u32>>,
    labels: Vec<ClassId>,
    unseen: Vec<Vec<u32>>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    likelihood: String,
    counting: String,
    alpha: Smoothing,
    prior: Prior,
    feature_log_prob: Vec<Vec<f64>>,
    class_log_prior: Vec<f64>,
    joint_log_likelihood: Vec<Vec<f64>>,
    log_proba: Vec<Vec<f64>>,
    proba: Vec<Vec<f64>>,
    predict: Vec<ClassId>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Prior {
    Name(String),
    Given(Vec<f64>),
}

impl Case {
    fn parameters(&self) -> Parameters {
        let prior = match &self.prior {
            Prior::Name(name) if name == "learned" => ClassPrior::Learned,
            Prior::Name(name) => {
                assert_eq!(name, "uniform");
                ClassPrior::Uniform
            }
            Prior::Given(prior) => ClassPrior::Given(prior.clone()),
        };
        Parameters {
            likelihood: self.likelihood.parse().unwrap(),
            counting: self.counting.parse().unwrap(),
            alpha: self.alpha,
            prior,
            ..Parameters::default()
        }
    }
}

fn vector(dense: &[u32]) -> CountVector {
    CountVector::from_pairs((0..).zip(dense.iter().copied()).filter(|&(_, n)| n > 0)).unwrap()
}

fn close(what: &str, got: &[f64], expected: &[f64]) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for (g, e) in got.iter().zip(expected) {
        assert!((g - e).abs() <= 1e-9 * (1.0 + e.abs()), "{what}: expected {expected:?}, got {got:?}");
    }
}

fn compare(case: &Case, statistics: &Statistics, model: &NaiveBayes, rows: &[&Vec<u32>], n_terms: usize) {
    close("class_log_prior", model.class_log_prior(), &case.class_log_prior);
    for (class, expected) in (0..).zip(&case.feature_log_prob) {
        let log_prob = |term: TermId| model.feature_log_prob(statistics, term, class).unwrap().unwrap();
        let got: Vec<f64> = (0..n_terms as TermId).map(log_prob).collect();
        close("feature_log_prob", &got, expected);
    }
    let mut out = Vec::new();
    for (i, dense) in rows.iter().enumerate() {
        let row = vector(dense);
        let known = model.joint_log_likelihood(statistics, row.row(), &mut out).unwrap();
        assert_eq!(known, row.row().len());
        close("joint_log_likelihood", &out, &case.joint_log_likelihood[i]);
        model.predict_log_proba(statistics, row.row(), &mut out).unwrap();
        close("log_proba", &out, &case.log_proba[i]);
        model.predict_proba(statistics, row.row(), &mut out).unwrap();
        close("proba", &out, &case.proba[i]);
        assert_eq!(model.predict(statistics, row.row()).unwrap(), case.predict[i]);
        // terms that were never learned change nothing
        let unknown = CountVector::from_pairs(row.row().iter().chain([(99, 4)])).unwrap();
        assert_eq!(model.joint_log_likelihood(statistics, unknown.row(), &mut out).unwrap(), known);
        close("joint_log_likelihood", &out, &case.joint_log_likelihood[i]);
    }
}

#[test]
fn as_scikit_learn() {
    let golden: Golden = serde_json::from_str(&std::fs::read_to_string(GOLDEN).unwrap()).unwrap();
    for set in &golden.sets {
        let mut x = CountMatrix::new();
        set.train.iter().for_each(|dense| {
            x.push(vector(dense).row());
        });
        let n_classes = usize::from(*set.labels.iter().max().unwrap()) + 1;
        let statistics = Statistics::from_matrix(&x, &set.labels, n_classes).unwrap();
        let rows: Vec<_> = set.train.iter().chain(&set.unseen).collect();
        for (i, case) in set.cases.iter().enumerate() {
            println!("set {}, case {i}: {} {}", set.name, case.likelihood, case.counting);
            let model = case.parameters().fit(&statistics).unwrap();
            compare(case, &statistics, &model, &rows, set.train[0].len());
        }
    }
}
