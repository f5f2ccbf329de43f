//! Compares with scikit-learn's numbers: tests/golden/naive_bayes.json, written by make.py beside it.

use serde::Deserialize;
use tamis_model::{
    ClassId, Counting, Counts, Criterion, FeatureLimits, NaiveBayes, Parameters, Select, Smoothing,
    Statistics, chi_square, log_normalize, mutual_information,
};
use tamis_testing::{check_near, near};
use tamis_tokenizer::{CountVector, TermId};

use crate::support::Prior;

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
    selection: Option<Selection>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Selection {
    chi_square_presence: Scores,
    chi_square_occurrences: Scores,
    mutual_information: Scores,
}

#[derive(Deserialize)]
struct Scores {
    scores: Vec<f64>,
    best: Vec<TermId>,
}

/// `None` where scikit-learn's are infinite or NaN.
type Numbers = Vec<Vec<Option<f64>>>;

#[derive(Deserialize)]
struct Case {
    likelihood: String,
    counting: String,
    alpha: Smoothing,
    prior: Prior,
    feature_log_prob: Numbers,
    class_log_prior: Vec<f64>,
    joint_log_likelihood: Numbers,
    log_proba: Numbers,
    proba: Numbers,
    predict: Vec<ClassId>,
}

impl Case {
    fn parameters(&self) -> Parameters {
        Parameters {
            likelihood: self.likelihood.parse().unwrap(),
            counting: self.counting.parse().unwrap(),
            alpha: self.alpha,
            prior: self.prior.class_prior(),
            ..Parameters::default()
        }
    }
}

fn vector(dense: &[u32]) -> CountVector {
    CountVector::from_pairs((0..).zip(dense.iter().copied()).filter(|&(_, n)| n > 0)).unwrap()
}

fn close_where_finite(what: &str, got: &[f64], expected: &[Option<f64>]) {
    assert_eq!(got.len(), expected.len(), "{what}");
    assert!(got.iter().all(|g| !g.is_nan()), "{what}: {got:?}");
    for (g, e) in got.iter().zip(expected) {
        let is_near = e.is_none_or(|e| near(*g, e, 1e-9));
        assert!(is_near, "{what}: expected {expected:?}, got {got:?}");
    }
}

fn compare(case: &Case, statistics: &Statistics, model: &NaiveBayes, rows: &[&Vec<u32>], n_terms: usize) {
    check_near("class_log_prior", model.class_log_prior(), &case.class_log_prior, 1e-9);
    for (class, expected) in (0..).zip(&case.feature_log_prob) {
        let log_prob = |term: TermId| model.feature_log_prob(statistics, term, class).unwrap().unwrap();
        let got: Vec<f64> = (0..n_terms as TermId).map(log_prob).collect();
        close_where_finite("feature_log_prob", &got, expected);
        let infinite = got.iter().zip(expected).all(|(g, e)| e.is_some() || *g == f64::NEG_INFINITY);
        assert!(infinite, "{got:?}");
    }
    let mut out = Vec::new();
    for (i, dense) in rows.iter().enumerate() {
        let row = vector(dense);
        let known = model.joint_log_likelihood(statistics, row.row(), &mut out).unwrap();
        assert_eq!(known, row.row().len());
        close_where_finite("joint_log_likelihood", &out, &case.joint_log_likelihood[i]);
        log_normalize(&mut out);
        close_where_finite("log_proba", &out, &case.log_proba[i]);
        model.predict_proba(statistics, row.row(), &mut out).unwrap();
        close_where_finite("proba", &out, &case.proba[i]);
        if let Some(expected) = case.joint_log_likelihood[i].iter().copied().collect::<Option<Vec<_>>>() {
            // of classes that are equal up to rounding either will do
            let predicted = usize::from(model.predict(statistics, row.row()).unwrap());
            check_near("predict", &[expected[predicted]], &[expected[usize::from(case.predict[i])]], 1e-9);
        }
        // terms that were never learned change nothing
        let unknown = CountVector::from_pairs(row.row().iter().chain([(99, 4)])).unwrap();
        assert_eq!(model.joint_log_likelihood(statistics, unknown.row(), &mut out).unwrap(), known);
        close_where_finite("joint_log_likelihood", &out, &case.joint_log_likelihood[i]);
    }
}

fn compare_selection(selection: &Selection, statistics: &Statistics, n_terms: usize) {
    let Selection { chi_square_presence, chi_square_occurrences, mutual_information: information } =
        selection;
    let kinds = [
        (Criterion::ChiSquare, Counting::Presence, chi_square_presence),
        (Criterion::ChiSquare, Counting::Occurrences, chi_square_occurrences),
        (Criterion::MutualInformation, Counting::Occurrences, information),
    ];
    for (by, counting, expected) in kinds {
        let score = |term: TermId| {
            let cells: Vec<_> = statistics.cells(term).collect();
            match by {
                Criterion::ChiSquare => chi_square(&cells, statistics.totals(), counting),
                Criterion::MutualInformation => mutual_information(&cells, statistics.totals()),
            }
        };
        let got: Vec<f64> = (0..n_terms as TermId).map(score).collect();
        check_near(&format!("{by:?} {counting:?}"), &got, &expected.scores, 1e-9);
        let features = FeatureLimits { select: Some(Select { by, n: 3 }), ..FeatureLimits::default() };
        let model = Parameters { counting, features, ..Parameters::default() }.fit(statistics).unwrap();
        let is_feature = |term: &TermId| model.feature_log_prob(statistics, *term, 0).unwrap().is_some();
        let best: Vec<_> = (0..n_terms as TermId).filter(is_feature).collect();
        assert_eq!((&best, model.n_features()), (&expected.best, 3), "{by:?} {counting:?}");
    }
}

#[test]
fn as_scikit_learn() {
    let golden: Golden = serde_json::from_str(&std::fs::read_to_string(GOLDEN).unwrap()).unwrap();
    for set in &golden.sets {
        let mut statistics = Statistics::new(usize::from(*set.labels.iter().max().unwrap()) + 1);
        for (dense, class) in set.train.iter().zip(&set.labels) {
            statistics.observe(*class, vector(dense).row()).unwrap();
        }
        if let Some(selection) = &set.selection {
            compare_selection(selection, &statistics, set.train[0].len());
        }
        let rows: Vec<_> = set.train.iter().chain(&set.unseen).collect();
        for (i, case) in set.cases.iter().enumerate() {
            println!("set {}, case {i}: {} {}", set.name, case.likelihood, case.counting);
            let model = case.parameters().fit(&statistics).unwrap();
            compare(case, &statistics, &model, &rows, set.train[0].len());
        }
    }
}
