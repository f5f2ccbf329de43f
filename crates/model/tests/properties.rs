//! What must hold for all documents, orders, shards and parameters.

use proptest::prelude::*;
use tamis_model::{
    ClassId, ClassPrior, Counting, Counts, Criterion, FeatureLimits, Likelihood, NaiveBayes, Parameters,
    Select, Smoothing, Statistics, log_normalize,
    metrics::{one_minus_roc_auc_percent, roc_auc},
};
use tamis_testing::near;
use tamis_tokenizer::{CountVector, TermId};

use crate::support::{Document, joint, learn, vector};

const CLASSES: ClassId = 4;
const TERMS: TermId = 12;

fn documents() -> impl Strategy<Value = Vec<Document>> {
    proptest::collection::vec((0..CLASSES, vector(TERMS, 6, 8)), 0..25)
}

/// Documents, and the same in another order.
fn shuffled() -> impl Strategy<Value = (Vec<Document>, Vec<Document>)> {
    documents().prop_flat_map(|d| (Just(d.clone()), Just(d).prop_shuffle()))
}

fn parameters() -> impl Strategy<Value = Parameters> {
    let likelihood = prop::sample::select(&Likelihood::ALL[..]);
    let counting = prop_oneof![Just(Counting::Occurrences), Just(Counting::Presence)];
    let alpha = prop_oneof![Just(1.0), Just(0.1), Just(1e-3), 1e-6..10.0];
    let prior = prop_oneof![Just(ClassPrior::Smoothed), Just(ClassPrior::Uniform)];
    let share = proptest::option::of(0.1..=1.0);
    let by = prop_oneof![Just(Criterion::ChiSquare), Just(Criterion::MutualInformation)];
    let select = proptest::option::of((by, 1..15usize).prop_map(|(by, n)| Select { by, n }));
    let limits = (0..3u64, share, proptest::option::of(1..15usize), select);
    (likelihood, counting, alpha, prior, limits).prop_map(|(likelihood, counting, alpha, prior, limits)| {
        let (min_df, max_df, max_features, select) = limits;
        let features = FeatureLimits { min_df, max_df, max_features, select };
        Parameters { likelihood, counting, alpha: Smoothing::try_from(alpha).unwrap(), prior, features }
    })
}

/// What a Bernoulli or occurrence model takes of a count.
fn counting(parameters: &Parameters) -> Counting {
    match parameters.likelihood {
        Likelihood::Bernoulli => Counting::Presence,
        _ => parameters.counting,
    }
}

/// A model's features, straight from the limits.
fn features(statistics: &Statistics, model: &NaiveBayes) -> Vec<TermId> {
    let is_feature = |&t: &TermId| model.feature_log_prob(statistics, t, 0).unwrap().is_some();
    let features: Vec<_> = (0..TERMS).filter(is_feature).collect();
    assert_eq!(features.len() as u64, model.n_features());
    features
}

proptest! {
    #[test]
    fn order_and_shards_leave_no_trace((documents, other) in shuffled(), size in 1..10usize) {
        let expected = learn(CLASSES, &documents);
        prop_assert_eq!(&learn(CLASSES, &other), &expected);
        let mut merged = Statistics::new(usize::from(CLASSES));
        for shard in other.chunks(size) {
            merged.merge(&learn(CLASSES, shard)).unwrap();
        }
        prop_assert_eq!(merged, expected);
    }

    #[test]
    fn merging_other_vocabularies(
        documents in documents(),
        order in Just((0..TERMS).collect::<Vec<_>>()).prop_shuffle(),
        at in 0..25usize,
    ) {
        let (here, there) = documents.split_at(at.min(documents.len()));
        let mut merged = learn(CLASSES, here);
        // there, the term `order[i]` has the id i
        merged.merge_mapped(&learn(CLASSES, there).permuted(&order), &order).unwrap();
        prop_assert_eq!(merged, learn(CLASSES, &documents));
    }

    #[test]
    fn forgetting_undoes_learning((documents, other) in shuffled(), keep in 0..25usize) {
        let mut statistics = learn(CLASSES, &documents);
        let (kept, forgotten) = other.split_at(keep.min(other.len()));
        for (class, vector) in forgotten {
            statistics.forget(*class, vector.row()).unwrap();
        }
        prop_assert_eq!(&statistics, &learn(CLASSES, kept));
        for (class, vector) in kept {
            statistics.forget(*class, vector.row()).unwrap();
        }
        prop_assert_eq!(statistics.n_features(), 0);
        prop_assert_eq!(statistics, Statistics::new(usize::from(CLASSES)));
    }

    #[test]
    fn forgetting_fails_whole_or_leaves_counts_documents_can_have(
        documents in documents(),
        strange in (0..CLASSES, vector(TERMS, 6, 8)),
    ) {
        let before = learn(CLASSES, &documents);
        let mut after = before.clone();
        match after.forget(strange.0, strange.1.row()) {
            Err(_) => prop_assert_eq!(after, before),
            Ok(()) => {
                for term in 0..TERMS {
                    prop_assert!(after.cells(term).all(|cell| 1 <= cell.df && cell.df <= cell.tf));
                }
                after.observe(strange.0, strange.1.row()).unwrap();
                prop_assert_eq!(after, before);
            }
        }
    }

    #[test]
    fn a_term_never_learned_cannot_be_forgotten(documents in documents(), class in 0..CLASSES, vector in vector(TERMS, 6, 8)) {
        let before = learn(CLASSES, &documents);
        let mut after = before.clone();
        let strange = CountVector::from_pairs(vector.row().iter().chain([(TERMS, 1)])).unwrap();
        prop_assert!(after.forget(class, strange.row()).is_err());
        prop_assert_eq!(after, before);
    }

    #[test]
    fn as_often_as_given(documents in documents(), class in 0..CLASSES, vector in vector(TERMS, 6, 8), times in 0..4u32) {
        let (mut once, before) = (learn(CLASSES, &documents), learn(CLASSES, &documents));
        let mut at_once = before.clone();
        for _ in 0..times {
            once.observe(class, vector.row()).unwrap();
        }
        at_once.observe_times(class, vector.row(), times).unwrap();
        prop_assert_eq!(&at_once, &once);
        at_once.forget_times(class, vector.row(), times).unwrap();
        prop_assert_eq!(at_once, before);
    }

    #[test]
    fn stored_cells_give_the_same_statistics(documents in documents()) {
        let statistics = learn(CLASSES, &documents);
        let mut stored = Statistics::with_documents(statistics.totals().iter().map(|t| t.documents));
        for term in 0..TERMS {
            statistics.cells(term).for_each(|cell| stored.push_cell(term, cell).unwrap());
        }
        prop_assert_eq!(stored, statistics);
    }

    #[test]
    fn probabilities_are_probabilities(documents in documents(), parameters in parameters(), vector in vector(TERMS, 6, 8)) {
        let statistics = learn(CLASSES, &documents);
        let model = parameters.fit(&statistics).unwrap();
        let (mut p, mut log_p) = (Vec::new(), Vec::new());
        model.predict_proba(&statistics, vector.row(), &mut p).unwrap();
        model.joint_log_likelihood(&statistics, vector.row(), &mut log_p).unwrap();
        log_normalize(&mut log_p);
        prop_assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{:?}", p);
        prop_assert!(log_p.iter().all(|x| *x <= 0.0), "{:?}", log_p);
        prop_assert!(p.iter().zip(&log_p).all(|(p, l)| near(*p, l.exp(), 1e-9)));
        let best = p.iter().copied().fold(0.0, f64::max);
        let predicted = model.predict(&statistics, vector.row()).unwrap();
        prop_assert!(near(p[usize::from(predicted)], best, 1e-9));
    }

    #[test]
    fn multinomial_features_add_up_to_one(documents in documents(), mut parameters in parameters()) {
        parameters.likelihood = Likelihood::Multinomial;
        let statistics = learn(CLASSES, &documents);
        let model = parameters.fit(&statistics).unwrap();
        let features = features(&statistics, &model);
        for class in (0..CLASSES).filter(|_| !features.is_empty()) {
            let p = |t: &TermId| model.feature_log_prob(&statistics, *t, class).unwrap().unwrap().exp();
            prop_assert!(near(features.iter().map(p).sum(), 1.0, 1e-9));
        }
    }

    #[test]
    fn normalized_complement_weights_add_up_to_one(documents in documents(), mut parameters in parameters()) {
        parameters.likelihood = Likelihood::ComplementNormalized;
        let statistics = learn(CLASSES, &documents);
        let model = parameters.fit(&statistics).unwrap();
        let features = features(&statistics, &model);
        for class in (0..CLASSES).filter(|_| !features.is_empty()) {
            let weight = |t: &TermId| model.feature_log_prob(&statistics, *t, class).unwrap().unwrap();
            let expected = if features.len() > 1 { 1.0 } else { 0.0 };
            prop_assert!(near(features.iter().map(weight).sum(), expected, 1e-9));
        }
    }

    #[test]
    fn intercept_and_weights_are_the_joint_log_likelihood(
        documents in documents(),
        parameters in parameters(),
        vector in vector(TERMS, 6, 8),
    ) {
        let statistics = learn(CLASSES, &documents);
        let model = parameters.fit(&statistics).unwrap();
        let mut sum = model.intercept().to_vec();
        let mut weights = Vec::new();
        let mut known = 0;
        for (term, count) in vector.row().iter() {
            known += usize::from(model.term_weights(&statistics, term, count, &mut weights).unwrap());
            sum.iter_mut().zip(&weights).for_each(|(sum, w)| *sum += w);
        }
        let mut out = Vec::new();
        prop_assert_eq!(model.joint_log_likelihood(&statistics, vector.row(), &mut out).unwrap(), known);
        prop_assert!(sum.iter().zip(&out).all(|(a, b)| near(*a, *b, 1e-9)), "{:?} {:?}", sum, out);
    }

    #[test]
    fn the_joint_log_likelihood_is_the_textbook_sum(
        documents in documents(),
        parameters in parameters(),
        vector in vector(TERMS, 6, 8),
    ) {
        let statistics = learn(CLASSES, &documents);
        let model = parameters.fit(&statistics).unwrap();
        let joint = joint(&model, &statistics, &vector);
        for class in 0..CLASSES {
            let mut sum = match parameters.likelihood {
                Likelihood::Bernoulli | Likelihood::Multinomial => model.class_log_prior()[usize::from(class)],
                Likelihood::Complement | Likelihood::ComplementNormalized => 0.0,
            };
            for term in features(&statistics, &model) {
                let log_p = model.feature_log_prob(&statistics, term, class).unwrap().unwrap();
                let count = vector.row().iter().find(|(t, _)| *t == term).map_or(0, |(_, n)| n);
                sum += match (parameters.likelihood, parameters.counting) {
                    (Likelihood::Bernoulli, _) if count > 0 => log_p,
                    (Likelihood::Bernoulli, _) => (-log_p.exp()).ln_1p(),
                    (_, Counting::Presence) => f64::from(count.min(1)) * log_p,
                    (_, Counting::Occurrences) => f64::from(count) * log_p,
                };
            }
            let got = joint[usize::from(class)];
            prop_assert!((got - sum).abs() <= 1e-8 * (1.0 + sum.abs()), "{} {}", got, sum);
        }
    }

    #[test]
    fn the_linear_form_is_the_difference(
        documents in documents(),
        parameters in parameters(),
        vector in vector(TERMS, 6, 8),
        (negative, positive) in (0..CLASSES, 0..CLASSES),
    ) {
        let statistics = learn(CLASSES, &documents);
        let model = parameters.fit(&statistics).unwrap();
        let form = model.linear_form(&statistics, negative, positive).unwrap();
        let joint = joint(&model, &statistics, &vector);
        let expected = joint[usize::from(positive)] - joint[usize::from(negative)];
        let got = form.decision_function(vector.row(), counting(&parameters));
        prop_assert!(near(expected, got, 1e-9), "{} {}", expected, got);
        let ratio = model.log_likelihood_ratio(&statistics, vector.row(), negative, positive).unwrap();
        let prior = match parameters.likelihood {
            Likelihood::Bernoulli | Likelihood::Multinomial => model.class_log_prior(),
            Likelihood::Complement | Likelihood::ComplementNormalized => &[0.0; CLASSES as usize],
        };
        let prior_log_odds = prior[usize::from(positive)] - prior[usize::from(negative)];
        prop_assert!(near(expected, ratio + prior_log_odds, 1e-9), "{} {} {}", expected, ratio, prior_log_odds);
    }

    #[test]
    fn a_permuted_vocabulary_changes_nothing(
        documents in documents(),
        mut parameters in parameters(),
        order in Just((0..TERMS).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        // its ties are broken by id
        parameters.features.max_features = None;
        parameters.features.select = None;
        let statistics = learn(CLASSES, &documents);
        let summary = parameters.summarize(&statistics).unwrap();
        prop_assert_eq!(parameters.summarize(&statistics.permuted(&order)).unwrap(), summary);
    }

    #[test]
    fn bernoulli_grown_in_steps_is_bernoulli_fitted_at_once(documents in documents(), vector in vector(TERMS, 6, 8)) {
        // linfa-bayes 0.8.1 divides by the documents of the last step only and gives NaN
        let parameters = Parameters {
            likelihood: Likelihood::Bernoulli,
            prior: ClassPrior::Smoothed,
            ..Parameters::default()
        };
        let mut grown = Statistics::new(usize::from(CLASSES));
        for (class, vector) in &documents {
            grown.observe(*class, vector.row()).unwrap();
            parameters.fit(&grown).unwrap();
        }
        let at_once = learn(CLASSES, &documents);
        let (a, b) = (parameters.fit(&grown).unwrap(), parameters.fit(&at_once).unwrap());
        prop_assert_eq!(joint(&a, &grown, &vector), joint(&b, &at_once, &vector));
    }

    #[test]
    fn the_area_under_the_curve_counts_pairs(scores in proptest::collection::vec((-4..4i8, any::<bool>()), 0..30)) {
        let scores: Vec<_> = scores.into_iter().map(|(s, positive)| (f64::from(s), positive)).collect();
        let (mut pairs, mut won) = (0.0, 0.0);
        for (a, _) in scores.iter().filter(|(_, positive)| *positive) {
            for (b, _) in scores.iter().filter(|(_, positive)| !*positive) {
                pairs += 1.0;
                won += if a > b { 1.0 } else if a == b { 0.5 } else { 0.0 };
            }
        }
        let expected = (pairs > 0.0).then(|| won / pairs);
        prop_assert_eq!(roc_auc(&scores), expected);
        let missing = one_minus_roc_auc_percent(&scores);
        prop_assert_eq!(missing.is_some(), expected.is_some());
        prop_assert!(missing.zip(expected).is_none_or(|(m, e)| near(m, 100.0 * (1.0 - e), 1e-9)));
    }
}

#[test]
fn a_long_document_has_finite_probabilities() {
    // linfa-bayes 0.8.1 answers [inf, inf]
    let words = |from: TermId| CountVector::from_pairs((from..from + 1_000).map(|t| (t, 2))).unwrap();
    let mut statistics = Statistics::new(2);
    statistics.observe(0, words(0).row()).unwrap();
    statistics.observe(1, words(1_000).row()).unwrap();
    for likelihood in [Likelihood::Bernoulli, Likelihood::Multinomial] {
        let model = Parameters { likelihood, ..Parameters::default() }.fit(&statistics).unwrap();
        let mut p = Vec::new();
        assert_eq!(model.predict_proba(&statistics, words(500).row(), &mut p), Ok(1_000));
        assert!((p[0] - 0.5).abs() < 1e-6, "{p:?}");
        assert_eq!(model.predict_proba(&statistics, words(1_000).row(), &mut p), Ok(1_000));
        assert!(p[1] > 0.999_999 && p[0].is_finite(), "{p:?}");
    }
}
