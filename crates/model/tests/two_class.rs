//! What must hold of two-class scores, their correction and cross-fitting, for all documents.

#![allow(clippy::unwrap_used, reason = "clippy knows tests by their attribute, not their helpers")]

use proptest::prelude::*;
use tamis_model::{
    COEFFICIENT_ONE, ClassId, Correction, CorrectionOptions, Counts, Labelled, Smoothing, Statistics,
    WeightedLogOdds, cross_fit, fit_correction, leave_one_out, metrics::log_loss,
};
use tamis_tokenizer::{CountVector, TermId};

const TERMS: TermId = 12;

#[derive(Debug)]
struct Document {
    row: CountVector,
    class: ClassId,
    multiplicity: u32,
    group: u64,
}

prop_compose! {
    fn document()(
        pairs in proptest::collection::btree_map(0..TERMS, 1..6u32, 0..8),
        class in 0..2u16,
        multiplicity in 1..4u32,
        group in 0..20u64,
    ) -> Document {
        Document { row: CountVector::from_pairs(pairs).unwrap(), class, multiplicity, group }
    }
}

fn documents() -> impl Strategy<Value = Vec<Document>> {
    proptest::collection::vec(document(), 1..25)
}

fn labelled(documents: &[Document]) -> Vec<Labelled<'_>> {
    let mut labelled = Vec::new();
    for d in documents {
        let Document { class, multiplicity, group, .. } = *d;
        labelled.push(Labelled { row: d.row.row(), class, multiplicity, group });
    }
    labelled
}

fn learn<'a>(documents: impl IntoIterator<Item = &'a Labelled<'a>>) -> Statistics {
    let mut statistics = Statistics::new(2);
    for d in documents {
        statistics.observe_times(d.class, d.row, d.multiplicity).unwrap();
    }
    statistics
}

fn scorer(alpha: f64, statistics: &Statistics) -> WeightedLogOdds {
    let alpha = Smoothing::try_from(alpha).unwrap();
    WeightedLogOdds::new(alpha, statistics.totals(), statistics.n_features() as u64, 1).unwrap()
}

fn alpha() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.1), Just(1.0), 1e-6..10.0]
}

proptest! {
    #[test]
    fn leaving_out_is_retraining(documents in documents(), alpha in alpha()) {
        let documents = labelled(&documents);
        let statistics = learn(&documents);
        let left_out = leave_one_out(&scorer(alpha, &statistics), &statistics, &documents);
        for (d, score) in documents.iter().zip(left_out) {
            let mut without = statistics.clone();
            without.forget(d.class, d.row).unwrap();
            let Ok(retrained) = scorer(alpha, &without).log_odds(&without, d.row);
            prop_assert_eq!(score, retrained); // to the last bit
        }
    }

    #[test]
    fn order_of_learning_leaves_no_trace(
        documents in documents(),
        seed in any::<prop::sample::Index>(),
        alpha in alpha(),
    ) {
        let documents = labelled(&documents);
        let mut turned = documents.clone();
        turned.rotate_left(seed.index(documents.len()));
        turned.reverse();
        let (a, b) = (learn(&documents), learn(&turned));
        for d in &documents {
            prop_assert_eq!(scorer(alpha, &a).log_odds(&a, d.row), scorer(alpha, &b).log_odds(&b, d.row));
        }
    }

    #[test]
    fn contributions_add_up(documents in documents(), probe in documents(), alpha in alpha()) {
        let documents = labelled(&documents);
        let statistics = learn(&documents);
        let scorer = scorer(alpha, &statistics);
        for d in labelled(&probe) {
            let mut terms = Vec::new();
            let Ok(()) = scorer.contributions(&statistics, d.row, &mut terms);
            let known = |&(term, _): &(TermId, u32)| statistics.document_frequency(term) > 0;
            prop_assert!(terms.iter().map(|t| t.0).eq(d.row.iter().filter(known).map(|t| t.0)));
            let sum: f64 = terms.iter().map(|t| t.1).sum();
            let Ok(score) = scorer.log_odds(&statistics, d.row);
            prop_assert_eq!(score.is_some(), !terms.is_empty());
            prop_assert!((sum - score.unwrap_or(0.0)).abs() < 1e-9 * (1.0 + sum.abs()));
        }
    }

    #[test]
    fn a_correction_is_the_sum_of_its_coefficients(documents in documents(), seed in any::<u64>()) {
        let documents = labelled(&documents);
        let statistics = learn(&documents);
        let options = CorrectionOptions { seed, ..CorrectionOptions::default() };
        let (fitted, coefficients) =
            fit_correction(&scorer(0.1, &statistics), &statistics, &documents, 1, &options);
        let mut rebuilt = Correction::new();
        for (d, &coefficient) in documents.iter().zip(&coefficients).rev() {
            rebuilt.add(d.row, coefficient);
        }
        prop_assert_eq!(&rebuilt, &fitted);
        for (d, &coefficient) in documents.iter().zip(&coefficients) {
            rebuilt.add(d.row, -coefficient);
        }
        prop_assert!(rebuilt.weights().iter().all(|w| *w == 0));
    }

    #[test]
    fn cross_fitting_is_finite_and_the_same_on_any_threads(
        documents in documents(),
        folds in 0..12usize,
        correct in any::<bool>(),
    ) {
        let documents = labelled(&documents);
        let statistics = learn(&documents);
        let options = CorrectionOptions::default();
        let options = correct.then_some(&options);
        let fit = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let alpha = Smoothing::try_from(0.1).unwrap();
            pool.install(|| cross_fit(alpha, &statistics, &documents, &[], 1, options, folds)).unwrap()
        };
        let scores = fit(1);
        prop_assert!(scores.iter().flatten().all(|s| s.is_finite()));
        prop_assert_eq!(&fit(2), &scores);
        prop_assert_eq!(&fit(8), &scores);
    }
}

/// A score never depends on the labels of its own group: no document of it took part.
#[test]
fn groups_are_never_split() {
    let made = |flip: bool| -> Vec<Document> {
        let make = |i: u32| {
            // group 0 has three documents, which trade their class
            let class = (i % 2) as ClassId;
            let class = if flip && i.is_multiple_of(20) { 1 - class } else { class };
            let row = CountVector::from_pairs([(i % 3, 1), (3 + i % 20, 1)]).unwrap();
            Document { row, class, multiplicity: 1, group: u64::from(i % 20) }
        };
        (0..60).map(make).collect()
    };
    let options = CorrectionOptions::default();
    let fit = |documents: &[Labelled<'_>]| {
        let alpha = Smoothing::try_from(0.1).unwrap();
        cross_fit(alpha, &learn(documents), documents, &[], 1, Some(&options), 20).unwrap()
    };
    let (a, b) = (made(false), made(true));
    let (a, b) = (fit(&labelled(&a)), fit(&labelled(&b)));
    assert!((0..60).filter(|i| i % 20 == 0).all(|i| a[i].is_some() && a[i] == b[i]));
    assert_ne!(a, b);
}

/// Documents in which one and the same evidence comes ten terms at a time: counting takes it for ten times the
/// evidence, the correction learns what it is worth.
fn correlated(n: u32, seed: u32) -> Vec<Document> {
    let mut state = u64::from(seed);
    let mut chance = |one_in: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33).is_multiple_of(one_in)
    };
    let make = |i| {
        let class = (i % 2) as ClassId;
        let mut terms = Vec::new();
        // weak evidence in bulk: right three times in four
        let block = if chance(4) { 1 - class } else { class };
        terms.extend((0..10).map(|t| (u32::from(block) * 10 + t, 1)));
        // strong evidence, one term each, in two documents of three
        for t in 0..3 {
            if !chance(3) {
                let side = if chance(12) { 1 - class } else { class };
                terms.push((20 + 2 * t + u32::from(side), 1));
            }
        }
        terms.push((30 + i / 2 % 50, 1));
        Document { row: CountVector::from_pairs(terms).unwrap(), class, multiplicity: 1, group: u64::from(i) }
    };
    (0..n).map(make).collect()
}

#[test]
fn a_correction_improves_held_out_log_loss() {
    let (train, test) = (correlated(1_000, 1), correlated(1_000, 2));
    let (train, test) = (labelled(&train), labelled(&test));
    let statistics = learn(&train);
    let scorer = scorer(0.1, &statistics);
    let options = CorrectionOptions { rate: 1.0, ..CorrectionOptions::default() };
    let (correction, _) = fit_correction(&scorer, &statistics, &train, 1, &options);
    assert!(correction.weights().iter().any(|w| w.abs() > COEFFICIENT_ONE / 10));

    let calibrated = |fit: &[Option<f64>], scores: Vec<f64>| {
        let truth = |d: &Labelled<'_>| d.class == 1;
        let fit: Vec<_> = fit.iter().zip(&train).map(|(s, d)| (s.unwrap(), truth(d))).collect();
        let platt = tamis_model::Platt::fit(&fit).unwrap();
        let scores: Vec<_> = scores.iter().zip(&test).map(|(s, d)| (platt.log_odds(*s), truth(d))).collect();
        log_loss(&scores).unwrap()
    };
    let score = |d: &Labelled<'_>| scorer.log_odds(&statistics, d.row).unwrap().unwrap();
    let plain: Vec<_> = test.iter().map(score).collect();
    let corrected = |d| tamis_model::corrected(&options, score(d), correction.value(d.row));
    let corrected: Vec<_> = test.iter().map(corrected).collect();

    let alpha = Smoothing::try_from(0.1).unwrap();
    let cross_fitted = cross_fit(alpha, &statistics, &train, &[], 1, Some(&options), 10).unwrap();
    let plain = calibrated(&leave_one_out(&scorer, &statistics, &train), plain);
    let corrected = calibrated(&cross_fitted, corrected);
    assert!(corrected < 0.8 * plain, "{corrected} {plain}");
}
