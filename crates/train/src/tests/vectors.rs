//! Documents with dense vectors, through everything that documents go through.

use proptest::prelude::*;
use tamis_model::SplitMix64;
use tamis_store::config::recipe::{Keep, VectorSpace};
use tamis_store::config::training::TrainOptions;
use tamis_store::error::{ErrorKind, Reason, Result};
use tamis_store::kind::Kind;

use crate::distributed::Partial;
use crate::distributed::tests::fit;
use crate::exchange::{export, import};
use crate::model::Model;
use crate::train::trainer::Trainer;
use crate::{Document, Filter, LearnOptions, Learner, MergeOptions, Scratch, merge};

const DIMENSIONS: usize = 6;
const LABELS: [&str; 3] = ["fruit", "metal", "wood"];

/// A document: its label, words and vector, which may be missing.
type Row = (usize, String, Vec<f32>);

/// Documents whose vectors tell their labels apart, as far as `noise` lets them, and whose words tell little.
fn rows(seed: u64, n: usize, noise: f32) -> Vec<Row> {
    let mut random = SplitMix64::new(seed);
    let row = |i: usize| {
        let label = i % LABELS.len();
        let words = format!("w{} w{} {seed}x{i}", random.below(40), random.below(40));
        let mut vector: Vec<f32> =
            (0..DIMENSIONS).map(|_| noise * (random.below(2_001) as f32 / 1_000.0 - 1.0)).collect();
        vector[label] += 1.0;
        (label, words, vector)
    };
    (0..n).map(row).collect()
}

fn options(keep: Keep) -> TrainOptions {
    let mut options = TrainOptions::new(Kind::Text);
    options.keep = Some(keep);
    (options.names, options.refinements) = (false, Vec::new());
    options.recipe.vectors = Some(VectorSpace { dimensions: DIMENSIONS as u32, encoder: "e5".to_owned() });
    options
}

fn add(trainer: &mut Trainer, (label, words, vector): &Row) -> Result<()> {
    trainer.add(LABELS[*label], Document::Text(words).with_vector(vector))
}

fn trained(keep: Keep, rows: &[Row]) -> Model {
    let mut trainer = Trainer::new(options(keep)).unwrap();
    rows.iter().for_each(|row| add(&mut trainer, row).unwrap());
    trainer.finish().unwrap()
}

fn filter(model: &Model) -> Filter {
    let filter = model.clone().into_filter().unwrap();
    filter.verify().unwrap();
    filter
}

fn probabilities(filter: &Filter, (_, words, vector): &Row) -> Vec<f64> {
    let mut scratch = Scratch::default();
    filter.score(Document::Text(words).with_vector(vector), &mut scratch).unwrap();
    scratch.probabilities().to_vec()
}

fn right(filter: &Filter, rows: &[Row]) -> f64 {
    let is_right = |row: &&Row| {
        let p = probabilities(filter, row);
        p.iter().all(|other| *other <= p[row.0])
    };
    rows.iter().filter(is_right).count() as f64 / rows.len() as f64
}

#[test]
fn vectors_tell_what_words_do_not_and_a_missing_one_leaves_the_words() {
    let (train, test) = (rows(1, 120, 0.8), rows(2, 120, 0.8));
    // documents that are counted again with more terms keep their vectors
    let mut refined = options(Keep::Vectors);
    refined.refinements = TrainOptions::new(Kind::Text).refinements;
    let mut trainer = Trainer::new(refined).unwrap();
    train.iter().for_each(|row| add(&mut trainer, row).unwrap());
    let with = filter(&trainer.finish().unwrap());
    let bare: Vec<Row> = train.iter().map(|(label, words, _)| (*label, words.clone(), Vec::new())).collect();
    let (of_both, of_words) = (right(&with, &test), right(&filter(&trained(Keep::Vectors, &bare)), &test));
    assert!(of_both > 0.9 && of_words < 0.6, "{of_both} {of_words}");
    let parts = with.information().chosen.unwrap().parts.unwrap();
    assert!(parts.vectors < 0.5 * parts.correction, "{parts:?}");
    let (label, words, _) = &test[0];
    let p = probabilities(&with, &(*label, words.clone(), Vec::new()));
    assert!(p.iter().all(|p| (0.1..0.7).contains(p)), "{p:?}");
}

#[test]
fn explanations_have_a_line_for_the_vector_and_add_up() {
    for n_labels in [2, 3] {
        let mut train = rows(3, 90, 0.6);
        train.retain(|(label, ..)| *label < n_labels);
        let filter = filter(&trained(Keep::Vectors, &train));
        for (_, words, vector) in &train[..9] {
            let mut scratch = Scratch::default();
            let explained = filter.explain(Document::Text(words).with_vector(vector), &mut scratch).unwrap();
            let sum: f64 = explained.terms.iter().map(|term| term.contribution).sum();
            let p = scratch.probabilities();
            let expected = (p[usize::from(explained.class)] / p[usize::from(explained.against)]).ln();
            assert!((explained.intercept + sum - expected).abs() < 1e-6, "{expected}");
            let line = explained.terms.iter().find(|term| term.term == "vector of 6").unwrap();
            assert_eq!(line.document_frequencies, vec![30; n_labels]);
        }
    }
}

/// A learner that writes logs and segments.
fn open(folder: &tempfile::TempDir, model: &Model) -> Learner {
    let path = folder.path().join("model.tamis");
    model.save(&path).unwrap();
    let mut options = LearnOptions::default();
    (options.retrain, options.log_limit, options.learned_at) = (false, 2_000, Some(7));
    Learner::open(&path, options).unwrap()
}

/// Terms and documents of the compacted model, and the statistics of its vectors.
fn compacted(mut learner: Learner) -> String {
    learner.commit().unwrap();
    learner.filter().verify().unwrap();
    learner.compact().unwrap();
    learner.filter().verify().unwrap();
    let mut bytes = Vec::new();
    export(learner.filter(), true, &mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let (head, lines) = text.split_once('\n').unwrap();
    let head: serde_json::Value = serde_json::from_str(head).unwrap();
    format!("{}\n{lines}", head["model"]["vectors"])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Order, threads, merged shards and what was forgotten leave no trace.
    #[test]
    fn the_order_leaves_no_trace(seed: u64, split in 1usize..29, keeps: bool) {
        let keep = if keeps { Keep::Vectors } else { Keep::Digests };
        let all = rows(seed, 30, 0.9);
        let expected = trained(keep, &all);
        let mut shuffled = all.clone();
        let mut random = SplitMix64::new(seed);
        (1..shuffled.len()).rev().for_each(|at| shuffled.swap(at, random.below(at + 1)));
        prop_assert!(trained(keep, &shuffled) == expected);
        let (here, there) = shuffled.split_at(split);
        let mut trainers = [here, there].map(|rows| {
            let mut trainer = Trainer::new(options(keep)).unwrap();
            rows.iter().for_each(|row| add(&mut trainer, row).unwrap());
            trainer
        });
        let [one, other] = &mut trainers;
        one.merge(std::mem::replace(other, Trainer::new(options(keep)).unwrap())).unwrap();
        let [one, _] = trainers;
        prop_assert!(one.finish().unwrap() == expected);

        let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let before = compacted(open(&folders[0], &expected));
        let mut learner = open(&folders[1], &expected);
        let more = rows(seed ^ 1, 12, 0.9);
        let more = more.iter().map(|(label, words, vector)| (LABELS[*label], format!("{words} new"), vector));
        let more: Vec<_> = more.collect();
        for (label, words, vector) in &more {
            learner.learn(label, Document::Text(words).with_vector(vector)).unwrap();
            learner.commit().unwrap();
        }
        for (_, words, vector) in more.iter().rev() {
            // where vectors are stored, the words are enough
            let vector = if keeps { &[][..] } else { vector };
            learner.forget(None, Document::Text(words).with_vector(vector)).unwrap();
        }
        prop_assert!(compacted(learner) == before);
    }
}

#[test]
fn merged_models_are_as_one_and_count_a_shared_document_once() {
    let all = rows(5, 60, 0.7);
    let (here, there) = (trained(Keep::Vectors, &all[..40]), trained(Keep::Vectors, &all[20..]));
    let (here, there) = (filter(&here), filter(&there));
    let merged = merge(&[&here, &there], MergeOptions::default()).unwrap();
    assert!(merge(&[&there, &here], MergeOptions::default()).unwrap() == merged);
    let (merged, whole) = (filter(&merged), filter(&trained(Keep::Vectors, &all)));
    assert!(merged.store().vectors == whole.store().vectors);
    all.iter().for_each(|row| assert_eq!(probabilities(&merged, row), probabilities(&whole, row)));
    let digests = [&all[..30], &all[30..]].map(|rows| filter(&trained(Keep::Digests, rows)));
    let sum = filter(&merge(&[&digests[0], &digests[1]], MergeOptions::default()).unwrap());
    assert!(sum.store().vectors == whole.store().vectors);
    let mut other = options(Keep::Vectors);
    other.recipe.vectors.as_mut().unwrap().encoder = "another".to_owned();
    let mut trainer = Trainer::new(other).unwrap();
    all.iter().for_each(|row| add(&mut trainer, row).unwrap());
    let error = merge(&[&here, &filter(&trainer.finish().unwrap())], MergeOptions::default()).err().unwrap();
    assert!(error.kind() == ErrorKind::Settings && error.to_string().contains("e5"), "{error}");
}

#[test]
fn a_file_as_text_comes_back_and_retraining_is_training() {
    let all = rows(6, 60, 0.7);
    let model = trained(Keep::Vectors, &all);
    let mut lines = Vec::new();
    export(&filter(&model), true, &mut lines).unwrap();
    assert!(import(&lines[..]).unwrap() == model);
    let folder = tempfile::tempdir().unwrap();
    let mut learner = open(&folder, &trained(Keep::Vectors, &all[..50]));
    for (label, words, vector) in &all[50..] {
        learner.learn(LABELS[*label], Document::Text(words).with_vector(vector)).unwrap();
    }
    learner.commit().unwrap();
    learner.retrain().unwrap();
    all.iter().for_each(|row| {
        assert_eq!(probabilities(learner.filter(), row), probabilities(&filter(&model), row))
    });
}

#[test]
fn partitions_elsewhere_have_their_vectors_counted() {
    let all = rows(8, 900, 0.9);
    let options = options(Keep::Digests);
    let mut counting = options.clone();
    counting.repeat = true;
    let count = |rows: &[Row]| {
        let mut trainer = Trainer::new(counting.clone()).unwrap();
        rows.iter().for_each(|row| add(&mut trainer, row).unwrap());
        trainer.into_partial().unwrap()
    };
    let partials: Vec<Partial> = all.chunks(300).map(count).collect();
    let distributed = filter(&fit(&counting, &partials, false));
    let one = filter(&trained(Keep::Digests, &all));
    assert!(distributed.store().vectors == one.store().vectors);
    let test = rows(9, 200, 0.9);
    let [distributed, one] = [distributed, one].map(|filter| right(&filter, &test));
    assert!(one > 0.75 && distributed > one - 0.04, "{distributed} {one}");
}

#[test]
fn a_server_tells_another_of_a_vector() {
    let model = trained(Keep::Vectors, &rows(6, 60, 0.7));
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let [mut here, mut there] = folders.each_ref().map(|folder| open(folder, &model));
    // with words, and with nothing but the vector
    for words in ["oak and ash", ""] {
        let (text, vector) = (Document::Text(words), [0.0, 0.1, 0.9, 0.0, -0.0, 0.0]);
        let document = text.with_vector(&vector);
        let record = here.record(Some("wood"), document).unwrap();
        assert!(here.apply(&record).unwrap());
        let told = crate::replication::Record::from_bytes(&record.to_bytes()).unwrap();
        assert!(there.apply(&told).unwrap() && !there.apply(&told).unwrap());
        assert_eq!(there.known_labels(document).unwrap(), ["wood"]);
    }
    assert!(there.filter().store().vectors == here.filter().store().vectors);
    let documents = here.filter().store().vectors.as_ref().unwrap().documents();
    assert_eq!(documents, [20, 20, 22]);
}

#[test]
fn vectors_that_are_none_are_refused_and_odd_ones_have_an_answer() {
    let mut trainer = Trainer::new(options(Keep::Vectors)).unwrap();
    let mut add = |vector: &[f32]| trainer.add("fruit", Document::Text("a pear").with_vector(vector));
    for (bad, what) in [
        (&[1.0; 5][..], "expected 6"),
        (&[f32::NAN; 6], "NaN"),
        (&[f32::INFINITY; 6], "inf"),
        (&[2_000.0; 6], "2000"),
    ] {
        let error = add(bad).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
    let mut bare = Trainer::new(TrainOptions::new(Kind::Text)).unwrap();
    assert!(bare.add("fruit", Document::Text("a pear").with_vector(&[1.0; 6])).is_err());
    for dimensions in [0, 5_000] {
        let mut wrong = options(Keep::Vectors);
        wrong.recipe.vectors.as_mut().unwrap().dimensions = dimensions;
        let error = Trainer::new(wrong).err().unwrap();
        assert!(matches!(error.reason(), Reason::Option { option: "vectors", .. }), "{error}");
    }
    // zeros; one vector for all; copies alone; one document a label; nothing but vectors
    let one = |label: usize, vector: [f32; 6]| (label, format!("w{label}"), vector.to_vec());
    let sets: [Vec<Row>; 5] = [
        (0..9).map(|i| one(i % 3, [0.0; 6])).collect(),
        (0..9).map(|i| one(i % 3, [0.5; 6])).collect(),
        (0..9).map(|i| one(i % 3, [(i % 3) as f32; 6])).collect(),
        (0..3).map(|i| one(i, [i as f32, 1.0, 0.0, 0.0, -1.0, 0.0])).collect(),
        rows(4, 30, 0.5).into_iter().map(|(label, _, vector)| (label, String::new(), vector)).collect(),
    ];
    for set in sets {
        let filter = filter(&trained(Keep::Vectors, &set));
        for row in &set {
            let p = probabilities(&filter, row);
            assert!(p.iter().all(|p| (0.0..=1.0).contains(p)), "{p:?}");
        }
    }
    let alone: Vec<Row> =
        rows(4, 60, 0.5).into_iter().map(|(label, _, vector)| (label, String::new(), vector)).collect();
    assert!(right(&filter(&trained(Keep::Vectors, &alone)), &alone) > 0.95);
}

/// Words tell nothing, vectors nearly all: unlabelled documents may help, and do no harm.
#[test]
fn unlabelled_documents_are_taught_by_their_vectors_too() {
    let (train, more, test) = (rows(11, 30, 0.8), rows(12, 90, 0.8), rows(13, 300, 0.8));
    let with = |unlabelled: &[Row]| {
        let mut trainer = Trainer::new(options(Keep::Vectors)).unwrap();
        train.iter().for_each(|row| add(&mut trainer, row).unwrap());
        for (_, words, vector) in unlabelled {
            trainer.add_unlabelled(Document::Text(words).with_vector(vector)).unwrap();
        }
        let filter = filter(&trainer.finish().unwrap());
        let loss = |row: &Row| -probabilities(&filter, row)[row.0].ln();
        (right(&filter, &test), test.iter().map(loss).sum::<f64>() / test.len() as f64)
    };
    let ((alone, loss_alone), (both, loss)) = (with(&[]), with(&more));
    assert!(both > alone - 0.02 && loss < loss_alone + 0.05, "{alone} {loss_alone}, {both} {loss}");
}
