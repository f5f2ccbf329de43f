//! Dense vectors: exact statistics in any order, the discriminant against numpy's numbers, few and hostile documents.

use proptest::prelude::*;
use serde::Deserialize;
use tamis_model::{
    Beside, ClassId, Columns, Example, FitProblem, ObservationError, Prediction, SmoothingChoice, SplitMix64,
    Statistics, VectorDiscriminant, VectorStatistics, WeightedFit, WeightedOptions, softmax,
};
use tamis_testing::check_near;
use tamis_tokenizer::{CountRow, CountVector};

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
    rows.iter().for_each(|(class, x)| statistics.observe_times(*class, x, 1).unwrap());
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

/// A column for each class; of two, that of the second.
fn derive(statistics: &VectorStatistics, strength: f64) -> VectorDiscriminant {
    let columns = Columns::new(statistics.documents().len(), 1).unwrap();
    VectorDiscriminant::derive(statistics, &columns, strength).unwrap()
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
            let model = derive(&statistics, case.strength);
            for (x, expected) in set.unseen.iter().zip(&case.scores) {
                let (got, expected) = (scores(&model, x), against_first(expected));
                match set.n_classes {
                    2 => check_near(&what, &got, &expected[1..], 1e-7),
                    _ => check_near(&what, &against_first(&got), &expected, 1e-7),
                }
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
            merged.forget_times(*class, x, 1).unwrap();
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
    fn scores_are_finite(rows in rows(), x in prop::collection::vec(-1024.0..1024.0f32, DIMENSIONS)) {
        let fitted = fit(CLASSES, DIMENSIONS, &rows);
        prop_assert!(fitted.choices.stack.iter().all(|weight| weight.is_finite()));
        let model = derive(&learn(CLASSES, DIMENSIONS, &rows), fitted.choices.strength);
        prop_assert!(scores(&model, &x).iter().all(|score| score.is_finite()));
    }
}

fn fit(n_classes: usize, d: usize, rows: &[Row]) -> WeightedFit {
    let mut counts = Statistics::new(n_classes);
    rows.iter().for_each(|(class, _)| counts.observe(*class, CountVector::default().row()).unwrap());
    // they have vectors alone
    let (row, multiplicity, fraction) = (CountRow::default(), 1, 0);
    let numbered = (0..).zip(rows);
    let documents: Vec<_> = numbered
        .map(|(group, (class, vector))| Example { row, class: *class, multiplicity, group, fraction, vector })
        .collect();
    let options = WeightedOptions::default();
    let columns = Columns::new(n_classes, 1).unwrap();
    let smoothing = SmoothingChoice::new(&counts, &documents, &columns, &options);
    let statistics = learn(n_classes, d, rows);
    let beside = Beside { columns: None, vectors: Some(&statistics) };
    let problem = FitProblem { counts: &counts, documents: &documents, columns, beside, options: &options };
    problem.solve(smoothing).unwrap()
}

#[test]
fn an_error_changes_nothing() {
    let rows = [(0, vec![1.0, 2.0, -3.0]), (0, vec![3.0, 2.0, 1.0]), (1, vec![0.5, 0.0, 1024.0])];
    let mut s = learn(2, 3, &rows);
    assert_eq!(s.observe_times(0, &[1.0], 1), Err(ObservationError::Features { expected: 3, got: 1 }));
    assert!(matches!(s.observe_times(2, &[0.0; 3], 1), Err(ObservationError::Counts(_))));
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1024.001, -1e30] {
        for error in [s.observe_times(1, &[0.0, bad, 0.0], 1), s.forget_times(1, &[0.0, bad, 0.0], 1)] {
            assert!(matches!(error, Err(ObservationError::Value { feature: 1, .. })), "{error:?}");
        }
        let model = derive(&s, 4.0);
        assert!(model.scores(&[bad, 0.0, 0.0], &mut Vec::new()).is_err());
    }
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(VectorDiscriminant::derive(&s, &Columns::new(2, 1).unwrap(), bad).is_err());
    }
    // more documents than the class has; a vector whose squares, products or sum are not in what was learned
    assert!(matches!(s.forget_times(1, &[0.0; 3], 2), Err(ObservationError::Counts(_))));
    for (class, gone) in [(1, [9.0, 0.0, 0.0]), (0, [-1.0, 2.0, -3.0]), (1, [1.0, 2.0, -3.0])] {
        let error = s.forget_times(class, &gone, 1);
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

/// The probabilities of a vector with what was fitted.
fn probabilities(statistics: &VectorStatistics, fitted: &WeightedFit, x: &[f32]) -> Vec<f64> {
    let vector = scores(&derive(statistics, fitted.choices.strength), x);
    let n = vector.len();
    let nothing = Prediction {
        bayes: vec![0.0; n],
        correction: vec![0.0; n],
        beside: [vec![], vector],
        ..Prediction::default()
    };
    let mut z = nothing.log_odds(&fitted.choices, &fitted.prior);
    if let [log_odds] = z[..] {
        z = vec![0.0, log_odds];
    }
    softmax(&mut z);
    z
}

#[test]
fn few_documents_are_not_certain() {
    let mut random = SplitMix64::new(7);
    for (n_classes, distance) in [(2, 0.0), (2, 1.0), (2, 4.0), (5, 0.0), (5, 4.0)] {
        let unseen = draw(&mut random, n_classes, 300, 64, distance);
        for per_class in [2, 4, 8] {
            let mut losses = [0.0; 2];
            for _ in 0..12 {
                let rows = draw(&mut random, n_classes, per_class * n_classes, 64, distance);
                let (statistics, fitted) = (learn(n_classes, 64, &rows), fit(n_classes, 64, &rows));
                let loss =
                    |(class, x): &Row| -probabilities(&statistics, &fitted, x)[usize::from(*class)].ln();
                losses[0] += unseen.iter().map(loss).sum::<f64>() / unseen.len() as f64 / 12.0;
                losses[1] += (n_classes as f64).ln() / 12.0;
            }
            println!("{n_classes} classes, {distance}, {per_class} each: {losses:?}");
            assert!(losses[0] <= losses[1] + 0.03, "{n_classes} {distance} {per_class}: {losses:?}");
            assert!(distance < 4.0 || per_class < 4 || losses[0] < 0.9 * losses[1], "{losses:?}");
        }
    }
}

#[test]
fn held_out_scores_are_those_of_the_other_documents() {
    let rows = draw(&mut SplitMix64::new(3), 3, 40, 9, 1.0);
    let fitted = fit(3, 9, &rows);
    for held in &fitted.held_out {
        // each document is a group, and there are more folds than a third of them: at most two others are held out too
        let own = held.document;
        let is_near = (0..rows.len()).any(|other| {
            let others = rows.iter().enumerate().filter(|(at, _)| *at != own && *at != other);
            let others: Vec<Row> = others.map(|(_, row)| row.clone()).collect();
            let model = derive(&learn(3, 9, &others), fitted.choices.strength);
            held.beside[1] == scores(&model, &rows[own].1)
        });
        assert!(is_near, "{own}");
    }
}

#[test]
fn degenerate_documents_have_an_answer() {
    let of = |statistics: &VectorStatistics, x: &[f32]| scores(&derive(statistics, 4.0), x);
    // nothing, zeros and one vector for all say nothing
    assert_eq!(of(&learn(2, 2, &[]), &[1.0, 0.0]), [0.0]);
    for x in [[0.0, 0.0], [0.6, 0.8]] {
        let mut same = learn(2, 2, &[(0, x.to_vec())]);
        same.observe_times(1, &x, 2).unwrap();
        assert_eq!(of(&same, &[1.0, 0.0]), [0.0]);
    }
    assert_eq!(of(&learn(2, 0, &[(1, vec![])]), &[]), [0.0]);
    // copies alone have no variance within their class; a class without documents is as the mean of all
    let mut copies = learn(3, 2, &[]);
    copies.observe_times(0, &[1.0, 0.0], 5).unwrap();
    copies.observe_times(1, &[0.0, 1.0], 5).unwrap();
    let z = of(&copies, &[0.9, 0.1]);
    assert!(z[0] > z[2] && z[2] > z[1] && z.iter().all(|z| z.is_finite()), "{z:?}");
}
