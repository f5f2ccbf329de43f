//! Compares with scikit-learn's numbers: tests/golden/real.json, written by make_real.py beside it.

use serde::Deserialize;
use tamis_model::{ClassId, GaussianParameters, GaussianStatistics, Smoothing};
use tamis_testing::check_near;
use tamis_textbook::{
    CategoricalNaiveBayes, CategoricalStatistics, DiscriminantParameters, GaussianNaiveBayes, Regularization,
    ScatterStatistics,
};

use crate::support::Prior;

const TESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/");

#[derive(Deserialize)]
struct Golden {
    real: Vec<Set<f64, Case>>,
    categorical: Vec<Set<u32, Categorical>>,
    iris: Iris,
}

#[derive(Deserialize)]
struct Set<T, C> {
    name: String,
    train: Vec<Vec<T>>,
    labels: Vec<ClassId>,
    unseen: Vec<Vec<T>>,
    cases: Vec<C>,
}

#[derive(Deserialize)]
struct Iris {
    accuracy: [f64; 2],
    cases: [Case; 2],
}

#[derive(Deserialize)]
#[serde(tag = "model", rename_all = "lowercase")]
enum Case {
    Gaussian(Gaussian),
    Discriminant(Discriminant),
}

#[derive(Deserialize)]
struct Gaussian {
    prior: Prior,
    var_smoothing: f64,
    weights: Option<Vec<f64>>,
    mean: Vec<Vec<f64>>,
    variance: Vec<Vec<f64>>,
    #[serde(default)]
    joint_log_likelihood: Vec<Vec<f64>>,
    log_proba: Vec<Vec<f64>>,
    predict: Vec<ClassId>,
}

#[derive(Deserialize)]
struct Discriminant {
    prior: Prior,
    shrinkage: Option<f64>,
    mean: Vec<Vec<f64>>,
    covariance: Option<Vec<Vec<f64>>>,
    #[serde(default)]
    decision_function: Vec<Vec<f64>>,
    log_proba: Vec<Vec<f64>>,
    predict: Vec<ClassId>,
}

#[derive(Deserialize)]
struct Categorical {
    prior: Prior,
    alpha: Smoothing,
    min_categories: Option<Vec<u32>>,
    class_log_prior: Vec<f64>,
    feature_log_prob: Vec<Vec<Vec<f64>>>,
    joint_log_likelihood: Vec<Vec<f64>>,
    log_proba: Vec<Vec<f64>>,
    predict: Vec<ClassId>,
}

fn golden() -> Golden {
    serde_json::from_str(&std::fs::read_to_string(format!("{TESTS}golden/real.json")).unwrap()).unwrap()
}

fn some<T: Copy>(row: &[T]) -> Vec<Option<T>> {
    row.iter().copied().map(Some).collect()
}

fn n_classes(labels: &[ClassId]) -> usize {
    usize::from(*labels.iter().max().unwrap()) + 1
}

/// The share of the rows that a model puts in their class.
fn accuracy(predicted: &[ClassId], labels: &[ClassId]) -> f64 {
    let right = predicted.iter().zip(labels).filter(|(a, b)| a == b).count();
    right as f64 / labels.len() as f64
}

/// Returns the accuracy on the training rows.
fn compare_gaussian(case: &Gaussian, train: &[Vec<f64>], labels: &[ClassId], unseen: &[Vec<f64>]) -> f64 {
    let mut statistics = GaussianStatistics::new(n_classes(labels), train[0].len());
    let weights = case.weights.clone().unwrap_or_else(|| vec![1.0; train.len()]);
    for ((row, &class), &weight) in train.iter().zip(labels).zip(&weights) {
        statistics.observe_weighted(class, &some(row), weight).unwrap();
    }
    let mut parameters = GaussianParameters::default();
    (parameters.prior, parameters.var_smoothing) = (case.prior.class_prior(), case.var_smoothing);
    let model = GaussianNaiveBayes::new(&parameters, &statistics).unwrap();
    for (class, (mean, variance)) in (0..).zip(case.mean.iter().zip(&case.variance)) {
        let fitted = model
            .features()
            .iter()
            .map(|feature| (feature.mean(class).unwrap(), feature.variance(class).unwrap()));
        let (m, v): (Vec<f64>, Vec<f64>) = fitted.unzip();
        check_near("mean", &m, mean, 1e-9);
        // variances may be tiny: relative to themselves
        let ratios: Vec<f64> = v.iter().zip(variance).map(|(got, expected)| got / expected).collect();
        check_near("variance", &ratios, &vec![1.0; ratios.len()], 1e-9);
    }
    let (mut out, mut predicted) = (Vec::new(), Vec::new());
    for (i, row) in train.iter().chain(unseen).enumerate() {
        assert_eq!(model.predict_log_proba(&some(row), &mut out), row.len());
        check_near("log_proba", &out, &case.log_proba[i], 1e-9);
        predicted.push(model.predict(&some(row)));
        model.joint_log_likelihood(&some(row), &mut out);
        if let Some(expected) = case.joint_log_likelihood.get(i) {
            check_near("joint_log_likelihood", &out, expected, 1e-9);
        }
    }
    assert_eq!(predicted, case.predict);
    accuracy(&predicted, labels)
}

/// Returns the accuracy on the training rows.
fn compare_discriminant(
    case: &Discriminant,
    train: &[Vec<f64>],
    labels: &[ClassId],
    unseen: &[Vec<f64>],
) -> f64 {
    let mut statistics = ScatterStatistics::new(n_classes(labels), train[0].len());
    train.iter().zip(labels).for_each(|(row, &class)| statistics.observe(class, row).unwrap());
    for (class, mean) in (0..).zip(&case.mean) {
        check_near("mean", &statistics.mean(class).unwrap(), mean, 1e-9);
    }
    if let Some(expected) = &case.covariance {
        for (got, expected) in statistics.covariance().iter().zip(expected) {
            check_near("covariance", got, &expected[..got.len()], 1e-9);
        }
    }
    let mut parameters = DiscriminantParameters::default();
    parameters.prior = case.prior.class_prior();
    parameters.regularization = case.shrinkage.map_or(Regularization::None, Regularization::Shrinkage);
    let model = parameters.fit(&statistics).unwrap();
    let (mut out, mut predicted) = (Vec::new(), Vec::new());
    for (i, row) in train.iter().chain(unseen).enumerate() {
        model.predict_log_proba(row, &mut out).unwrap();
        check_near("log_proba", &out, &case.log_proba[i], 1e-9);
        predicted.push(model.predict(row).unwrap());
        let odds = |class| model.decision_boundary(0, class).unwrap().decision_function(row).unwrap();
        if let Some(expected) = case.decision_function.get(i) {
            let odds: Vec<f64> = (0..expected.len() as ClassId).map(odds).collect();
            check_near("decision_function", &odds, expected, 1e-9);
        }
    }
    assert_eq!(predicted, case.predict);
    accuracy(&predicted, labels)
}

#[test]
fn real_values_as_scikit_learn() {
    for set in golden().real {
        for (i, case) in set.cases.iter().enumerate() {
            println!("set {}, case {i}", set.name);
            match case {
                Case::Gaussian(case) => compare_gaussian(case, &set.train, &set.labels, &set.unseen),
                Case::Discriminant(case) => compare_discriminant(case, &set.train, &set.labels, &set.unseen),
            };
        }
    }
}

#[test]
fn categories_as_scikit_learn() {
    for set in golden().categorical {
        for (i, case) in set.cases.iter().enumerate() {
            println!("set {}, case {i}", set.name);
            compare_categorical(case, &set);
        }
    }
}

fn compare_categorical(case: &Categorical, set: &Set<u32, Categorical>) {
    let declared = case.min_categories.clone().unwrap_or_else(|| vec![0; set.train[0].len()]);
    let mut statistics = CategoricalStatistics::new(n_classes(&set.labels), declared);
    for (row, &class) in set.train.iter().zip(&set.labels) {
        statistics.observe(class, &some(row)).unwrap();
    }
    let model = CategoricalNaiveBayes::new(&case.prior.class_prior(), case.alpha, &statistics).unwrap();
    check_near("class_log_prior", model.class_log_prior(), &case.class_log_prior, 1e-9);
    for (feature, classes) in case.feature_log_prob.iter().enumerate() {
        assert_eq!(statistics.n_categories(feature), classes[0].len() as u64);
        for category in 0..classes[0].len() {
            let expected: Vec<f64> = classes.iter().map(|p| p[category]).collect();
            let got = model.feature_log_prob(&statistics, feature, category as u32).unwrap();
            check_near("feature_log_prob", &got, &expected, 1e-9);
        }
    }
    let last = case.feature_log_prob.iter().map(|classes| classes[0].len() as u32 - 1).collect();
    let mut out = Vec::new();
    for (i, row) in set.train.iter().chain(&set.unseen).chain([&last]).enumerate() {
        let row = some(row);
        assert_eq!(model.joint_log_likelihood(&statistics, &row, &mut out), row.len());
        check_near("joint_log_likelihood", &out, &case.joint_log_likelihood[i], 1e-9);
        model.predict_log_proba(&statistics, &row, &mut out);
        check_near("log_proba", &out, &case.log_proba[i], 1e-9);
        assert_eq!(model.predict(&statistics, &row), case.predict[i]);
    }
}

#[test]
fn iris() {
    let table = std::fs::read_to_string(format!("{TESTS}data/iris.csv")).unwrap();
    let (mut train, mut labels) = (Vec::new(), Vec::new());
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        train.push(cells[..4].iter().map(|cell| cell.parse().unwrap()).collect::<Vec<f64>>());
        let class = ["setosa", "versicolor", "virginica"].iter().position(|name| *name == cells[4]);
        labels.push(class.unwrap() as ClassId);
    }
    assert_eq!(labels.len(), 150);
    // the rows in which the UCI copy differs from Fisher's paper
    assert_eq!((&train[34], &train[37]), (&vec![4.9, 3.1, 1.5, 0.2], &vec![4.9, 3.6, 1.4, 0.1]));
    let Iris { accuracy, cases } = golden().iris;
    assert_eq!(accuracy, [0.96, 0.98]);
    let [Case::Gaussian(gaussian), Case::Discriminant(discriminant)] = &cases else {
        panic!("a Gaussian model, then a discriminant");
    };
    assert_eq!(compare_gaussian(gaussian, &train, &labels, &[]), accuracy[0]);
    assert_eq!(compare_discriminant(discriminant, &train, &labels, &[]), accuracy[1]);
}
