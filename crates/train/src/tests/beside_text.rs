//! Tables with a column of text: the text is scored as a text, the other columns stand beside it.

use tamis_model::SplitMix64;
use tamis_store::config::column::{Column, ColumnKind};
use tamis_store::config::recipe::Keep;
use tamis_store::config::training::TrainOptions;
use tamis_store::error::ErrorKind;
use tamis_store::kind::Kind;

use crate::model::Model;
use crate::train::trainer::Trainer;
use crate::{Document, Filter, LearnOptions, Learner, Scratch};

const LABELS: [&str; 3] = ["fruit", "metal", "wood"];

/// A row: its label, and a text that tells it in half of all rows, a number, and a category that tell a little.
struct Row {
    label: usize,
    text: String,
    number: String,
    category: &'static str,
}

fn rows(seed: u64, n: usize, n_labels: usize) -> Vec<Row> {
    let mut random = SplitMix64::new(seed);
    let row = |i: usize| {
        let label = i % n_labels;
        let mut noisy = |share: usize| if random.below(100) < share { random.below(n_labels) } else { label };
        let (said, number, category) = (noisy(50), noisy(30), noisy(60));
        let text = format!("a w{} w{} about {}", random.below(50), random.below(50), LABELS[said]);
        let number = (10 * number + random.below(8)).to_string();
        Row { label, text, number, category: ["red", "grey", "brown"][category] }
    };
    (0..n).map(row).collect()
}

fn options(columns: &[(&str, ColumnKind)]) -> TrainOptions {
    let mut options = TrainOptions { refinements: Vec::new(), ..TrainOptions::new(Kind::Table) };
    options.recipe.columns = columns.iter().map(|(name, kind)| Column::new(*name, *kind)).collect();
    options
}

const TEXT: (&str, ColumnKind) = ("text", ColumnKind::Text);
const ALL: [(&str, ColumnKind); 3] =
    [TEXT, ("number", ColumnKind::Gaussian), ("category", ColumnKind::Categorical)];

fn trained<'a>(options: &TrainOptions, rows: impl Iterator<Item = &'a Row>) -> Model {
    let mut trainer = Trainer::new(options.clone()).unwrap();
    rows.for_each(|row| trainer.add(LABELS[row.label], Document::Fields(&cells(row))).unwrap());
    trainer.finish().unwrap()
}

fn cells(row: &Row) -> [(&str, &str); 4] {
    [("text", &row.text), ("number", &row.number), ("category", row.category), ("constant", "7")]
}

fn probabilities(filter: &Filter, row: &Row) -> Vec<f64> {
    let mut scratch = Scratch::default();
    filter.score(Document::Fields(&cells(row)), &mut scratch).unwrap();
    scratch.probabilities().to_vec()
}

fn right(filter: &Filter, rows: &[Row]) -> f64 {
    let is_right = |row: &&Row| {
        let p = probabilities(filter, row);
        p.iter().all(|other| *other <= p[row.label])
    };
    rows.iter().filter(is_right).count() as f64 / rows.len() as f64
}

#[test]
fn columns_add_what_they_know_and_a_constant_one_nothing() {
    for n_labels in [2, 3] {
        let (train, test) = (rows(1, 400, n_labels), rows(2, 400, n_labels));
        let filter = |columns: &[(&str, ColumnKind)]| {
            let filter = trained(&options(columns), train.iter()).into_filter().unwrap();
            filter.verify().unwrap();
            filter
        };
        let (text, all) = (filter(&[TEXT]), filter(&ALL));
        let [of_text, of_all] = [&text, &all].map(|filter| right(filter, &test));
        assert!(of_all > of_text + 0.05, "{n_labels}: {of_text} {of_all}");
        let parts = all.information().chosen.unwrap().parts.unwrap();
        assert!(parts.columns < 0.9 * parts.correction && parts.vectors == parts.columns, "{parts:?}");
        let constant = filter(&[TEXT, ("constant", ColumnKind::Gaussian)]);
        let loss =
            |filter: &Filter| test.iter().map(|row| -probabilities(filter, row)[row.label].ln()).sum::<f64>();
        let [of_text, of_constant] = [&text, &constant].map(loss);
        assert!((of_text / of_constant - 1.0).abs() < 0.01, "{of_text} {of_constant}");
        assert!((right(&text, &test) - right(&constant, &test)).abs() < 0.01);
    }
}

#[test]
fn explanations_show_words_and_columns_and_add_up() {
    for n_labels in [2, 3] {
        let train = rows(3, 300, n_labels);
        let filter = trained(&options(&ALL), train.iter()).into_filter().unwrap();
        for row in &train[..12] {
            let mut scratch = Scratch::default();
            let explained = filter.explain(Document::Fields(&cells(row)), &mut scratch).unwrap();
            let sum: f64 = explained.terms.iter().map(|term| term.contribution).sum();
            let p = scratch.probabilities();
            let expected = (p[usize::from(explained.class)] / p[usize::from(explained.against)]).ln();
            assert!((explained.intercept + sum - expected).abs() < 1e-6, "{expected}");
            let named =
                |start: &str| explained.terms.iter().filter(|term| term.term.starts_with(start)).count();
            assert_eq!((named("number="), named("category=")), (1, 1));
            assert!(named("text:") >= 4, "{:?}", explained.terms);
        }
        let strongest = filter.strongest_terms(1, 5).unwrap();
        assert!(strongest.iter().any(|term| term.term == "text:metal"), "{strongest:?}");
    }
}

#[test]
fn the_order_leaves_no_trace_and_weights_need_not_be_whole() {
    let (train, options) = (rows(4, 120, 2), options(&ALL));
    let expected = trained(&options, train.iter());
    assert!(trained(&options, train.iter().rev()) == expected);
    let mut trainer = Trainer::new(options).unwrap();
    for row in &train {
        let weight = if row.label == 0 { 0.4 } else { 1.7 };
        trainer.add_weighted(weight, LABELS[row.label], None, Document::Fields(&cells(row))).unwrap();
    }
    let shifted = trainer.finish().unwrap().into_filter().unwrap();
    let before = expected.into_filter().unwrap();
    let mean = |filter: &Filter| train.iter().map(|row| probabilities(filter, row)[1]).sum::<f64>();
    assert!(mean(&shifted) > mean(&before) + 5.0);
}

#[test]
fn what_is_fitted_at_once_does_not_learn_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.tamis");
    trained(&options(&ALL), rows(5, 60, 2).iter()).save(&path).unwrap();
    let error = Learner::open(&path, LearnOptions::default()).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Settings);
    let mut keeps = options(&ALL);
    keeps.keep = Some(Keep::Vectors);
    let mut trainer = Trainer::new(keeps).unwrap();
    rows(5, 60, 2)
        .iter()
        .for_each(|row| trainer.add(LABELS[row.label], Document::Fields(&cells(row))).unwrap());
    assert!(trainer.finish().is_err());
}
