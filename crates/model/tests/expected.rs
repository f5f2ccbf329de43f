//! Expected statistics and their model: against scikit-learn (tests/golden/expected.json, written by
//! make_expected.py beside it), against integer statistics, and what must hold for all documents.

use proptest::prelude::*;
use serde::Deserialize;
use tamis_model::{
    ClassId, ClassPrior, Counting, ExpectedError, ExpectedNaiveBayes, ExpectedStatistics, Likelihood,
    Parameters, ParametersError, Smoothing, Statistics, StatisticsError, WeightedVector, argmax, softmax,
};
use tamis_testing::{check_near, near};
use tamis_tokenizer::{CountVector, TermId};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/expected.json");
const LIKELIHOODS: [Likelihood; 4] = Likelihood::ALL;
const CLASSES: ClassId = 4;
const TERMS: TermId = 12;

#[derive(Deserialize)]
struct Golden {
    sets: Vec<Set>,
    categorical: Categories,
}

/// Documents of categories, one a feature.
#[derive(Deserialize)]
struct Categories {
    n_categories: Vec<TermId>,
    train: Vec<Vec<TermId>>,
    labels: Vec<ClassId>,
    weights: Vec<f64>,
    unseen: Vec<Vec<TermId>>,
    cases: Vec<CategoriesCase>,
}

#[derive(Deserialize)]
struct CategoriesCase {
    alpha: Smoothing,
    class_log_prior: Vec<f64>,
    /// By feature, class and category.
    feature_log_prob: Vec<Vec<Vec<f64>>>,
    joint_log_likelihood: Vec<Vec<f64>>,
    predict: Vec<ClassId>,
}

#[derive(Deserialize)]
struct Set {
    name: String,
    train: Vec<Vec<f64>>,
    labels: Vec<ClassId>,
    weights: Vec<f64>,
    unseen: Vec<Vec<f64>>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    likelihood: String,
    alpha: Smoothing,
    class_count: Vec<f64>,
    feature_count: Vec<Vec<f64>>,
    feature_log_prob: Vec<Vec<f64>>,
    class_log_prior: Vec<f64>,
    joint_log_likelihood: Vec<Vec<f64>>,
    proba: Vec<Vec<f64>>,
    predict: Vec<ClassId>,
}

fn vector(dense: &[f64]) -> WeightedVector {
    WeightedVector::from_pairs((0..).zip(dense.iter().copied())).unwrap()
}

fn counting(likelihood: Likelihood) -> Counting {
    match likelihood {
        Likelihood::Bernoulli => Counting::Presence,
        _ => Counting::Occurrences,
    }
}

fn compare(case: &Case, set: &Set) {
    let likelihood = case.likelihood.parse().unwrap();
    let mut statistics = ExpectedStatistics::new(case.class_count.len(), counting(likelihood));
    for ((dense, &class), &weight) in set.train.iter().zip(&set.labels).zip(&set.weights) {
        statistics.observe(class, vector(dense).row(), weight).unwrap();
    }
    let model = ExpectedNaiveBayes::fit(&statistics, likelihood, case.alpha, &ClassPrior::Learned).unwrap();
    check_near("class_count", statistics.class_weights(), &case.class_count, 1e-9);
    check_near("class_log_prior", model.class_log_prior(), &case.class_log_prior, 1e-9);
    assert_eq!(model.n_features() as usize, set.train[0].len());
    for (class, expected) in (0..).zip(&case.feature_log_prob) {
        let terms = 0..set.train[0].len() as TermId;
        let log_prob = |term| model.feature_log_prob(&statistics, term, class).unwrap().unwrap();
        check_near("feature_log_prob", &terms.clone().map(log_prob).collect::<Vec<_>>(), expected, 1e-9);
        let weight = |term| statistics.weights(term).find(|w| w.0 == class).map_or(0.0, |w| w.1);
        check_near(
            "feature_count",
            &terms.map(weight).collect::<Vec<_>>(),
            &case.feature_count[usize::from(class)],
            1e-9,
        );
    }
    let mut out = Vec::new();
    for (i, dense) in set.train.iter().chain(&set.unseen).enumerate() {
        let row = vector(dense);
        let known = model.joint_log_likelihood(&statistics, row.row(), &mut out).unwrap();
        assert_eq!(known, row.row().weights().len());
        check_near("joint_log_likelihood", &out, &case.joint_log_likelihood[i], 1e-9);
        assert_eq!(argmax(&out), case.predict[i]);
        softmax(&mut out);
        check_near("proba", &out, &case.proba[i], 1e-9);
        // terms that were never learned change nothing
        let unknown = WeightedVector::from_pairs(row.row().iter().chain([(99, 4.5)])).unwrap();
        assert_eq!(model.joint_log_likelihood(&statistics, unknown.row(), &mut out).unwrap(), known);
        check_near("joint_log_likelihood", &out, &case.joint_log_likelihood[i], 1e-9);
    }
}

fn golden() -> Golden {
    serde_json::from_str(&std::fs::read_to_string(GOLDEN).unwrap()).unwrap()
}

#[test]
fn as_scikit_learn() {
    for set in &golden().sets {
        for (i, case) in set.cases.iter().enumerate() {
            println!("set {}, case {i}: {}", set.name, case.likelihood);
            compare(case, set);
        }
    }
}

/// A document that has each of these categories once.
fn categories(of: impl IntoIterator<Item = TermId>) -> WeightedVector {
    WeightedVector::from_pairs(of.into_iter().map(|category| (category, 1.0))).unwrap()
}

#[test]
fn categories_of_weighted_documents_are_a_multinomial_each() {
    let Categories { n_categories, train, labels, weights, unseen, cases } = golden().categorical;
    let n_classes = usize::from(*labels.iter().max().unwrap()) + 1;
    let learn = |(feature, &n): (usize, &TermId)| {
        let mut statistics = ExpectedStatistics::new(n_classes, Counting::Occurrences);
        statistics.observe(0, categories(0..n).row(), 0.0).unwrap();
        for ((values, &class), &weight) in train.iter().zip(&labels).zip(&weights) {
            statistics.observe(class, categories([values[feature]]).row(), weight).unwrap();
        }
        statistics
    };
    let statistics: Vec<_> = n_categories.iter().enumerate().map(learn).collect();
    for case in &cases {
        let fit = |statistics| {
            let prior = &ClassPrior::Learned;
            ExpectedNaiveBayes::fit(statistics, Likelihood::Multinomial, case.alpha, prior).unwrap()
        };
        let models: Vec<_> = statistics.iter().map(fit).collect();
        let log_prob = |feature: usize, category, class| {
            let got = models[feature].feature_log_prob(&statistics[feature], category, class);
            got.unwrap().unwrap()
        };
        for (feature, expected) in case.feature_log_prob.iter().enumerate() {
            for (class, expected) in (0..).zip(expected) {
                let got = (0..n_categories[feature]).map(|category| log_prob(feature, category, class));
                check_near("feature_log_prob", &got.collect::<Vec<_>>(), expected, 1e-9);
            }
        }
        for (i, values) in train.iter().chain(&unseen).enumerate() {
            let mut joint = models[0].class_log_prior().to_vec();
            check_near("class_log_prior", &joint, &case.class_log_prior, 1e-9);
            for (class, joint) in (0..).zip(&mut joint) {
                let values = values.iter().enumerate();
                *joint += values.map(|(feature, &category)| log_prob(feature, category, class)).sum::<f64>();
            }
            check_near("joint_log_likelihood", &joint, &case.joint_log_likelihood[i], 1e-9);
            let best = (0..n_classes).max_by(|&a, &b| joint[a].total_cmp(&joint[b])).unwrap();
            assert_eq!(best, usize::from(case.predict[i]));
        }
    }
}

/// A document with its posterior over all classes and its weight.
type Document = (Vec<f64>, WeightedVector, f64);

fn document() -> impl Strategy<Value = Document> {
    let posterior =
        proptest::collection::vec(prop_oneof![Just(0.0), 1e-13..1e-7, 0.01..1.0], usize::from(CLASSES));
    let pairs = proptest::collection::btree_map(0..TERMS, 1e-3..50.0, 0..8);
    let pairs = pairs.prop_map(|pairs| WeightedVector::from_pairs(pairs).unwrap());
    (posterior, pairs, prop_oneof![Just(0.0), Just(1.0), 1e-3..5.0]).prop_map(
        |(mut posterior, row, weight)| {
            posterior[0] += 0.01;
            let sum: f64 = posterior.iter().sum();
            posterior.iter_mut().for_each(|p| *p /= sum);
            (posterior, row, weight)
        },
    )
}

/// Documents, and the same in another order.
fn shuffled() -> impl Strategy<Value = (Vec<Document>, Vec<Document>)> {
    let documents = proptest::collection::vec(document(), 0..25);
    documents.prop_flat_map(|d| (Just(d.clone()), Just(d).prop_shuffle()))
}

fn learn(documents: &[Document], counting: Counting) -> ExpectedStatistics {
    let mut statistics = ExpectedStatistics::new(usize::from(CLASSES), counting);
    for (posterior, row, weight) in documents {
        for (class, p) in (0..CLASSES).zip(posterior).filter(|(_, p)| **p > 0.0) {
            statistics.observe(class, row.row(), p * weight).unwrap();
        }
    }
    statistics
}

/// All numbers of statistics; which cells there are must be equal, not close.
fn numbers(statistics: &ExpectedStatistics) -> (Vec<(TermId, ClassId)>, Vec<f64>) {
    let cells = (0..TERMS).flat_map(|t| statistics.weights(t).map(move |(class, w)| ((t, class), w)));
    let (places, weights): (Vec<_>, Vec<f64>) = cells.unzip();
    let sums = statistics.class_weights().iter().chain(statistics.totals()).copied();
    (places, sums.chain(weights).collect())
}

fn same(a: &ExpectedStatistics, b: &ExpectedStatistics) -> bool {
    let ((a_places, a), (b_places, b)) = (numbers(a), numbers(b));
    a_places == b_places && a.iter().zip(&b).all(|(a, b)| near(*a, *b, 1e-12))
}

proptest! {
    #[test]
    fn order_and_shards_do_not_matter((documents, other) in shuffled(), size in 1..10usize, presence in any::<bool>()) {
        let counting = if presence { Counting::Presence } else { Counting::Occurrences };
        let expected = learn(&documents, counting);
        prop_assert!(same(&learn(&other, counting), &expected));
        let mut merged = ExpectedStatistics::new(usize::from(CLASSES), counting);
        for shard in other.chunks(size) {
            merged.merge(&learn(shard, counting)).unwrap();
        }
        prop_assert!(same(&merged, &expected));
    }

    #[test]
    fn a_document_counts_once_in_all((documents, _) in shuffled()) {
        let statistics = learn(&documents, Counting::Occurrences);
        let sum = |numbers: &[f64]| numbers.iter().sum::<f64>();
        let weights: Vec<f64> = documents.iter().map(|(_, _, weight)| *weight).collect();
        prop_assert!(near(sum(statistics.class_weights()), sum(&weights), 1e-12));
        for class in 0..CLASSES {
            let of_class = |term| statistics.weights(term).filter(|w| w.0 == class).map(|w| w.1).sum::<f64>();
            let total: f64 = (0..TERMS).map(of_class).sum();
            prop_assert!(near(total, statistics.totals()[usize::from(class)], 1e-12));
            // the part of each document, straight from the definition; what is below 1e-10 is within tolerance
            for term in 0..TERMS {
                let part = |(posterior, row, weight): &Document| {
                    let w = row.row().iter().find(|w| w.0 == term).map_or(0.0, |w| w.1);
                    posterior[usize::from(class)] * weight * w
                };
                prop_assert!(near(of_class(term), documents.iter().map(part).sum(), 1e-7));
            }
        }
    }

    #[test]
    fn whole_documents_are_integer_statistics(
        documents in proptest::collection::vec(
            (0..CLASSES, proptest::collection::btree_map(0..TERMS, 1..6u32, 0..8)), 0..25),
        unseen in proptest::collection::btree_map(0..TERMS + 3, 1..6u32, 0..8),
        alpha in prop_oneof![Just(1.0), 1e-6..10.0],
        likelihood in proptest::sample::select(&LIKELIHOODS[..]),
    ) {
        let (alpha, prior) = (Smoothing::try_from(alpha).unwrap(), ClassPrior::Smoothed);
        let mut whole = Statistics::new(usize::from(CLASSES));
        let mut expected = ExpectedStatistics::new(usize::from(CLASSES), counting(likelihood));
        let mut rows: Vec<_> = documents.iter().map(|d| CountVector::from_pairs(d.1.clone()).unwrap()).collect();
        for ((class, _), row) in documents.iter().zip(&rows) {
            whole.observe(*class, row.row()).unwrap();
            expected.observe(*class, WeightedVector::from(row.row()).row(), 1.0).unwrap();
        }
        let parameters = Parameters { likelihood, alpha, prior: prior.clone(), ..Parameters::default() };
        let integer = parameters.fit(&whole).unwrap();
        let model = ExpectedNaiveBayes::fit(&expected, likelihood, alpha, &prior).unwrap();
        prop_assert_eq!(model.n_features(), integer.n_features());
        rows.push(CountVector::from_pairs(unseen).unwrap());
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for row in &rows {
            let known = integer.joint_log_likelihood(&whole, row.row(), &mut a).unwrap();
            let weights = WeightedVector::from(row.row());
            prop_assert_eq!(model.joint_log_likelihood(&expected, weights.row(), &mut b).unwrap(), known);
            prop_assert!(a.iter().zip(&b).all(|(a, b)| near(*a, *b, 1e-12)), "{:?} {:?}", a, b);
        }
    }
}

#[test]
fn hostile_values_are_refused_and_change_nothing() {
    let row = WeightedVector::from_pairs([(1, 2.0)]).unwrap();
    let mut statistics = ExpectedStatistics::new(2, Counting::Occurrences);
    statistics.observe(0, row.row(), 1.0).unwrap();
    let before = numbers(&statistics);
    for weight in [-1.0, f64::NAN, f64::INFINITY, 1e101] {
        let error = statistics.observe(1, row.row(), weight).unwrap_err();
        assert!(matches!(error, ExpectedError::Weight { .. }), "{weight}");
    }
    let unknown = ExpectedError::Statistics(StatisticsError::UnknownClass { expected: 2, got: 2 });
    assert_eq!(statistics.observe(2, row.row(), 1.0), Err(unknown));
    let classes = ExpectedError::Statistics(StatisticsError::Classes { expected: 2, got: 3 });
    assert_eq!(statistics.merge(&ExpectedStatistics::new(3, Counting::Occurrences)), Err(classes));
    let error = statistics.merge(&ExpectedStatistics::new(2, Counting::Presence)).unwrap_err();
    assert_eq!(error.to_string(), "expected statistics of occurrences, got those of presence");
    assert_eq!(numbers(&statistics), before);
}

#[test]
fn extreme_weights_stay_numbers() {
    let row = WeightedVector::from_pairs([(0, 1e100), (1, f64::from_bits(1))]).unwrap();
    for likelihood in LIKELIHOODS {
        let mut statistics = ExpectedStatistics::new(2, counting(likelihood));
        (0..3).for_each(|_| statistics.observe(0, row.row(), 1e100).unwrap());
        statistics.observe(1, WeightedVector::from_pairs([(1, 1.0)]).unwrap().row(), 1e-300).unwrap();
        for alpha in [f64::from_bits(1), 1e-300, 1.0, f64::MAX] {
            let alpha = Smoothing::try_from(alpha).unwrap();
            let model =
                ExpectedNaiveBayes::fit(&statistics, likelihood, alpha, &ClassPrior::Smoothed).unwrap();
            let mut out = Vec::new();
            model.joint_log_likelihood(&statistics, row.row(), &mut out).unwrap();
            assert!(model.is_consistent());
            assert!(out.iter().all(|x| x.is_finite()), "{alpha:?} {out:?}");
            softmax(&mut out);
            assert!((out.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{alpha:?} {out:?}");
        }
    }
}

#[test]
fn nothing_learned_predicts_the_prior() {
    let fit = |n_classes, prior| {
        let statistics = ExpectedStatistics::new(n_classes, Counting::Occurrences);
        ExpectedNaiveBayes::fit(&statistics, Likelihood::Multinomial, Smoothing::LAPLACE, &prior)
    };
    let row = WeightedVector::from_pairs([(3, 9.0)]).unwrap();
    let model = fit(2, ClassPrior::Given(vec![0.25, 0.75])).unwrap();
    let (statistics, mut out) = (ExpectedStatistics::new(2, Counting::Occurrences), Vec::new());
    assert_eq!(model.joint_log_likelihood(&statistics, row.row(), &mut out), Ok(0));
    softmax(&mut out);
    check_near("prior", &out, &[0.25, 0.75], 1e-9);
    assert_eq!(fit(0, ClassPrior::Uniform), Err(ParametersError::NoClasses));
    let empty = ParametersError::EmptyClass { class: 0, expected: 1, got: 0 };
    assert_eq!(fit(2, ClassPrior::Learned), Err(empty));
}

#[test]
fn one_class_or_feature_alone_says_nothing_of_others() {
    let row = WeightedVector::from_pairs([(2, 1.5)]).unwrap();
    for likelihood in [Likelihood::Complement, Likelihood::ComplementNormalized] {
        for n_classes in [1, 3] {
            let mut statistics = ExpectedStatistics::new(n_classes, Counting::Occurrences);
            statistics.observe(0, row.row(), 2.0).unwrap();
            let prior = &ClassPrior::Smoothed;
            let model = ExpectedNaiveBayes::fit(&statistics, likelihood, Smoothing::LAPLACE, prior).unwrap();
            let mut out = Vec::new();
            assert_eq!(model.joint_log_likelihood(&statistics, row.row(), &mut out), Ok(1));
            // of one feature a token is always that one
            check_near("joint_log_likelihood", &out, &vec![0.0; n_classes], 1e-9);
            assert_eq!(model.intercept(), vec![0.0; n_classes]);
        }
    }
}
