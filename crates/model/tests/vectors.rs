//! Dense vectors: exact statistics in any order, the discriminant against numpy's numbers, few and hostile documents.

use proptest::prelude::*;
use serde::Deserialize;
use tamis_model::{
    ClassId, ObservationError, SplitMix64, VectorDiscriminant, VectorDocument, VectorFit, VectorStatistics,
};
use tamis_testing::check_near;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/vectors.json");

#[derive(Deserialize)]
struct Golden {
    sets: Vec<Set>,
}

#[derive(Deserialize)]
struct Set {
    name: String,
    n_classes: usize,
    train: Vec<Vec<f32>>,
    labels: Vec<ClassId>,
    unseen: Vec<Vec<f32>>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    strength: f64,
    scores: Vec<Vec<f64>>,
}

type Row = (ClassId, Vec<f32>);

fn learn(n_classes: usize, d: usize, rows: &[Row]) -> VectorStatistics {
    let mut statistics = VectorStatistics::new(n_classes, d).unwrap();
    rows.iter().for_each(|(class, x)| statistics.observe(*class, x).unwrap());
    statistics
}

fn scores(model: &VectorDiscriminant, x: &[f32]) -> Vec<f64> {
    let mut out = Vec::new();
    model.scores(x, &mut out).unwrap();
    out
}

fn bytes(statistics: &VectorStatistics) -> Vec<u8> {
    serde_json::to_vec(statistics).unwrap()
}

/// Less the first class's: scores are up to a constant.
fn against_first(scores: &[f64]) -> Vec<f64> {
    scores.iter().map(|score| score - scores[0]).collect()
}

#[test]
fn as_numpy() {
    let golden: Golden = serde_json::from_str(&std::fs::read_to_string(GOLDEN).unwrap()).unwrap();
    for set in &golden.sets {
        let rows: Vec<Row> = set.labels.iter().copied().zip(set.train.iter().cloned()).collect();
        let d = set.train[0].len();
        let statistics = learn(set.n_classes, d, &rows);
        for case in &set.cases {
            let what = format!("{} {}", set.name, case.strength);
            let model = VectorDiscriminant::derive(&statistics, case.strength).unwrap();
            for (x, expected) in set.unseen.iter().zip(&case.scores) {
                check_near(&what, &against_first(&scores(&model, x)), &against_first(expected), 1e-7);
            }
        }
    }
}

const CLASSES: usize = 3;
const DIMENSIONS: usize = 4;

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let value = prop_oneof![4 => -1.0..1.0f32, 1 => -1024.0..1024.0f32, 1 => Just(0.0), 1 => Just(-1024.0)];
    prop::collection::vec((0..CLASSES as ClassId, prop::collection::vec(value, DIMENSIONS)), 0..25)
}

proptest! {
    #[test]
    fn order_shards_and_what_was_forgotten_leave_no_trace(
        (all, other) in rows().prop_flat_map(|rows| (Just(rows.clone()), Just(rows).prop_shuffle())),
        size in 1..9usize,
        kept in 0..25usize,
    ) {
        let learned = learn(CLASSES, DIMENSIONS, &all);
        prop_assert_eq!(bytes(&learn(CLASSES, DIMENSIONS, &other)), bytes(&learned));
        let mut merged = learn(CLASSES, DIMENSIONS, &[]);
        for shard in other.chunks(size) {
            merged.merge(&learn(CLASSES, DIMENSIONS, shard)).unwrap();
        }
        prop_assert_eq!(bytes(&merged), bytes(&learned));
        let (kept, gone) = other.split_at(kept.min(other.len()));
        for (class, x) in gone {
            merged.forget(*class, x).unwrap();
        }
        prop_assert_eq!(bytes(&merged), bytes(&learn(CLASSES, DIMENSIONS, kept)));
        merged = learned;
        merged.subtract(&learn(CLASSES, DIMENSIONS, gone)).unwrap();
        prop_assert_eq!(bytes(&merged), bytes(&learn(CLASSES, DIMENSIONS, kept)));
        let read: VectorStatistics = serde_json::from_slice(&bytes(&merged)).unwrap();
        prop_assert_eq!(read, merged);
    }

    #[test]
    fn copies_are_equal_vectors((class, x) in rows().prop_filter_map("a row", |mut rows| rows.pop()), n in 0..9u32) {
        let mut times = learn(CLASSES, DIMENSIONS, &[]);
        times.observe_times(class, &x, n).unwrap();
        let rows = vec![(class, x.clone()); n as usize];
        prop_assert_eq!(&times, &learn(CLASSES, DIMENSIONS, &rows));
        times.forget_times(class, &x, n).unwrap();
        prop_assert_eq!(times, learn(CLASSES, DIMENSIONS, &[]));
    }

    /// Whatever was learned, there is an answer.
    #[test]
    fn scores_are_finite(rows in rows(), x in prop::collection::vec(-1024.0..1024.0f32, DIMENSIONS), folds in 1..9usize) {
        let statistics = learn(CLASSES, DIMENSIONS, &rows);
        let fit = VectorFit::new(&statistics, &documents(&rows, folds)).unwrap();
        prop_assert!(fit.scale > 0.0 && fit.loss.is_finite() && fit.held_out.len() == rows.len());
        let (model, mut p) = (VectorDiscriminant::derive(&statistics, fit.strength).unwrap(), Vec::new());
        prop_assert!(scores(&model, &x).iter().all(|score| score.is_finite()));
        model.predict_proba(&x, fit.scale, &mut p).unwrap();
        prop_assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }
}

#[test]
fn an_error_changes_nothing() {
    let rows = [(0, vec![1.0, 2.0, -3.0]), (0, vec![3.0, 2.0, 1.0]), (1, vec![0.5, 0.0, 1024.0])];
    let mut s = learn(2, 3, &rows);
    assert_eq!(s.observe(0, &[1.0]), Err(ObservationError::Features { expected: 3, got: 1 }));
    assert!(matches!(s.observe(2, &[0.0; 3]), Err(ObservationError::Counts(_))));
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1024.001, -1e30] {
        for error in [s.observe(1, &[0.0, bad, 0.0]), s.forget(1, &[0.0, bad, 0.0])] {
            assert!(matches!(error, Err(ObservationError::Value { feature: 1, .. })), "{error:?}");
        }
        let model = VectorDiscriminant::derive(&s, 4.0).unwrap();
        assert!(model.scores(&[bad, 0.0, 0.0], &mut Vec::new()).is_err());
    }
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(VectorDiscriminant::derive(&s, bad).is_err());
    }
    // more documents than the class has; a vector whose squares, products or sum are not in what was learned
    assert!(matches!(s.forget_times(1, &[0.0; 3], 2), Err(ObservationError::Counts(_))));
    for (class, gone) in [(1, [9.0, 0.0, 0.0]), (0, [-1.0, 2.0, -3.0]), (1, [1.0, 2.0, -3.0])] {
        let error = s.forget(class, &gone);
        assert!(matches!(error, Err(ObservationError::NotLearned { .. })), "{gone:?} {error:?}");
    }
    // a sum of squares of 2^31 is one too many
    assert!(s.observe_times(0, &[1024.0, 0.0, 0.0], 2_047).is_ok());
    assert!(s.forget_times(0, &[1024.0, 0.0, 0.0], 2_047).is_ok());
    let error = s.observe_times(0, &[1024.0, 0.0, 0.0], 2_048);
    assert!(matches!(error, Err(ObservationError::Value { feature: 0, .. })), "{error:?}");
    let mut full = learn(2, 3, &[]);
    full.observe_times(1, &[0.0, 0.0, 1024.0], 2_047).unwrap();
    assert!(matches!(s.merge(&full), Err(ObservationError::Value { feature: 2, .. })));
    assert!(s.merge(&learn(2, 4, &[])).is_err() && s.subtract(&learn(3, 3, &[])).is_err());
    assert!(VectorStatistics::new(1, VectorStatistics::MAX_DIMENSIONS + 1).is_err());
    assert_eq!(s, learn(2, 3, &rows));
}

#[test]
fn stored_sums_are_checked() {
    let good = r#"{"n_dimensions":2,"documents":[1,1],"sums":[3,4,0,1],"products":[9,12,17]}"#;
    assert!(serde_json::from_str::<VectorStatistics>(good).is_ok());
    for (sums, bad) in [
        ("[9,12,17]", "[9,12]"),
        ("[9,12,17]", "[9,13,17]"),
        ("[9,12,17]", "[-9,12,17]"),
        ("[3,4,0,1]", "[3,4,1,1]"),
        ("[3,4,0,1]", "[3,4]"),
        ("[1,1]", "[1,0]"),
        ("[1,1]", "[1,9007199254740992]"),
        (":2", ":18446744073709551615"),
    ] {
        let bad = good.replacen(sums, bad, 1);
        assert!(serde_json::from_str::<VectorStatistics>(&bad).is_err(), "{bad}");
    }
}

/// Vectors of unit length around a mean per class.
fn draw(random: &mut SplitMix64, n_classes: usize, n: usize, d: usize, distance: f32) -> Vec<Row> {
    let row = |i: usize| {
        let class = i % n_classes;
        let noise = |_| (0..4).map(|_| random.below(2_001) as f32 / 1_000.0 - 1.0).sum::<f32>();
        let mut x: Vec<f32> = (0..d).map(noise).collect();
        x[class] += distance;
        let norm = x.iter().map(|x| x * x).sum::<f32>().sqrt();
        x.iter_mut().for_each(|x| *x /= norm);
        (class as ClassId, x)
    };
    (0..n).map(row).collect()
}

fn documents(rows: &[Row], n_folds: usize) -> Vec<VectorDocument<'_>> {
    let of = |i: usize| {
        let (class, vector) = &rows[i];
        VectorDocument { class: *class, vector, times: 1, weight: 1.0, fold: i / 2 % n_folds }
    };
    (0..rows.len()).map(of).collect()
}

/// The mean log loss of the rows with what was fitted to others.
fn loss(statistics: &VectorStatistics, fit: &VectorFit, rows: &[Row]) -> f64 {
    let (model, mut p) = (VectorDiscriminant::derive(statistics, fit.strength).unwrap(), Vec::new());
    let of = |(class, x): &Row| {
        model.predict_proba(x, fit.scale, &mut p).unwrap();
        -p[usize::from(*class)].ln()
    };
    rows.iter().map(of).sum::<f64>() / rows.len() as f64
}

#[test]
fn few_documents_are_not_certain() {
    let mut random = SplitMix64::new(7);
    for (n_classes, distance) in [(2, 0.0), (2, 1.0), (2, 4.0), (5, 0.0), (5, 4.0)] {
        let unseen = draw(&mut random, n_classes, 300, 64, distance);
        for per_class in [1, 2, 4, 8] {
            let mut losses = [0.0; 2];
            for _ in 0..12 {
                let rows = draw(&mut random, n_classes, per_class * n_classes, 64, distance);
                let statistics = learn(n_classes, 64, &rows);
                let fit = VectorFit::new(&statistics, &documents(&rows, 20)).unwrap();
                losses[0] += loss(&statistics, &fit, &unseen) / 12.0;
                losses[1] += (n_classes as f64).ln() / 12.0;
            }
            println!("{n_classes} classes, {distance}, {per_class} each: {losses:?}");
            assert!(losses[0] <= losses[1] + 0.01, "{n_classes} {distance} {per_class}: {losses:?}");
            assert!(distance < 4.0 || per_class < 4 || losses[0] < 0.9 * losses[1], "{losses:?}");
        }
    }
}

#[test]
fn held_out_scores_are_those_of_the_other_documents() {
    let rows = draw(&mut SplitMix64::new(3), 3, 40, 9, 1.0);
    let documents = documents(&rows, 5);
    let fit = VectorFit::new(&learn(3, 9, &rows), &documents).unwrap();
    for (document, held) in documents.iter().zip(&fit.held_out) {
        let others = rows.iter().zip(&documents).filter(|(_, other)| other.fold != document.fold);
        let others: Vec<Row> = others.map(|(row, _)| row.clone()).collect();
        let model = VectorDiscriminant::derive(&learn(3, 9, &others), fit.strength).unwrap();
        assert_eq!(*held, scores(&model, document.vector));
    }
    let stranger = VectorDocument { vector: &[9.0; 9], ..documents[0] };
    assert!(VectorFit::new(&learn(3, 9, &rows), &[stranger]).is_err());
}

#[test]
fn degenerate_documents_have_an_answer() {
    let probabilities = |statistics: &VectorStatistics, x: &[f32]| {
        let mut p = Vec::new();
        VectorDiscriminant::derive(statistics, 4.0).unwrap().predict_proba(x, 1.0, &mut p).unwrap();
        p
    };
    // nothing, zeros and one vector for all leave the class shares
    check_near("nothing", &probabilities(&learn(2, 2, &[]), &[1.0, 0.0]), &[0.5, 0.5], 1e-12);
    for x in [[0.0, 0.0], [0.6, 0.8]] {
        let mut same = learn(2, 2, &[(0, x.to_vec())]);
        same.observe_times(1, &x, 2).unwrap();
        check_near("equal", &probabilities(&same, &[1.0, 0.0]), &[1.5 / 4.0, 2.5 / 4.0], 1e-12);
    }
    check_near("no dimensions", &probabilities(&learn(2, 0, &[(1, vec![])]), &[]), &[0.25, 0.75], 1e-12);
    // copies alone have no variance within their class; a class without documents is as the mean of all
    let mut copies = learn(3, 2, &[]);
    copies.observe_times(0, &[1.0, 0.0], 5).unwrap();
    copies.observe_times(1, &[0.0, 1.0], 5).unwrap();
    let p = probabilities(&copies, &[0.9, 0.1]);
    assert!(p[0] > 0.5 && p[0] > 10.0 * p[1] && p[2] < p[0] && p.iter().all(|p| *p > 0.0), "{p:?}");
}
