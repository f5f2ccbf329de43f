use proptest::prelude::*;
use tamis_filter::extract::document::Document;
use tamis_filter::score::filter::Filter;
use tamis_filter::scorers::scratch::Scratch;
use tamis_store::config::labels::{NO_LABELS, join_labels};
use tamis_store::config::training::{Labels, TrainOptions};
use tamis_store::kind::Kind;

use super::*;
use crate::merge::models::{MergeOptions, merge};
use crate::model::Model;
use crate::tests::taught;
use crate::update::learner::{LearnOptions, Learner};

/// Texts about any of three subjects, in words of their own.
fn texts(n: usize) -> Vec<(String, String)> {
    let text = |i: usize| {
        let subjects = ["wheat", "gold", "oil"];
        let of = (0..3).filter(|bit| i >> bit & 1 == 1).map(|bit| subjects[bit]);
        let words = of.clone().map(|subject| format!("{subject}{} {subject}{}", i % 5, i % 7));
        (join_labels(of), format!("{} report {i}", words.collect::<Vec<_>>().join(" ")))
    };
    (0..n).map(text).collect()
}

fn options() -> TrainOptions {
    // whether pieces are terms would depend on the number of documents
    TrainOptions { labels: Labels::Many, refinements: Vec::new(), ..TrainOptions::new(Kind::Text) }
}

fn model(texts: &[(String, String)]) -> Model {
    taught(options(), texts.iter().cloned()).finish().unwrap()
}

fn labels_of(filter: &Filter, text: &str) -> String {
    let mut scratch = Scratch::default();
    filter.score_text(text, &mut scratch).unwrap();
    join_labels(scratch.labels().iter().map(|of| filter.classes().label(of.label).unwrap()))
}

#[test]
fn each_label_is_found_by_itself() {
    let filter = model(&texts(320)).into_filter().unwrap();
    assert!(filter.has_many_labels() && filter.spam().is_none());
    assert_eq!(filter.classes().iter().map(|(_, label)| label).collect::<Vec<_>>(), ["gold", "oil", "wheat"]);
    for (text, labels) in [
        ("wheat1 wheat2", &["wheat"][..]),
        ("wheat1 gold3 report", &["gold", "wheat"]),
        ("oil1 gold2 wheat3 wheat1", &["gold", "oil", "wheat"]),
        ("report 4", &[]),
    ] {
        assert_eq!(labels_of(&filter, text), join_labels(labels.iter().copied()), "{text}");
    }
    let information = filter.information();
    assert_eq!((information.documents, information.totals[0].documents), (320, 160));
    let Some(HeldOutPerformance::Labels { found, wrong, missed, .. }) = information.expected else {
        panic!()
    };
    assert!(found > 400 && wrong + missed < 20, "{found} {wrong} {missed}");
}

/// Four texts twenty times: no held-out text says how a label is told, and the best F1 would be to give all labels.
#[test]
fn a_label_that_cannot_be_told_is_not_given() {
    let four = ["wheat\tthe price of wheat", "gold\ta bar of gold", "oil\tcrude by the barrel", "tin\ta can"];
    let texts = (0..80).filter_map(|i| four[i % 4].split_once('\t'));
    let texts: Vec<_> = texts.map(|(label, text)| (join_labels([label]), text.to_owned())).collect();
    let filter = model(&texts).into_filter().unwrap();
    for text in ["something else", "the bar", ""] {
        assert_eq!(labels_of(&filter, text), NO_LABELS, "{text}");
    }
}

#[test]
fn an_explanation_adds_up_to_the_log_odds_of_the_label() {
    let filter = model(&texts(320)).into_filter().unwrap();
    for text in ["wheat1 wheat2 report", "gold1 oil2", "nothing known"] {
        let explanation = filter.explain(Document::Text(text), &mut Scratch::default()).unwrap();
        let sum: f64 = explanation.terms.iter().map(|term| term.contribution).sum();
        assert!((explanation.intercept + sum - explanation.score.log_odds).abs() < 1e-9, "{text}");
    }
}

#[test]
fn thresholds_are_those_asked_for() {
    // some labels are wrong, so that precision has a price
    let noisy = |(i, (labels, text)): (usize, (String, String))| match i % 9 {
        0 => (join_labels(["gold"]), text),
        _ => (labels, text),
    };
    let noisy: Vec<_> = texts(900).into_iter().enumerate().map(noisy).collect();
    let decided = |change: fn(&mut DecisionOptions)| {
        let mut options = options();
        change(&mut options.decision);
        let filter = taught(options, noisy.iter().cloned()).finish().unwrap().into_filter().unwrap();
        filter.information().chosen.unwrap().labels.clone()
    };
    let precision = |of: &LabelDecision| of.found as f64 / (of.found + of.wrong).max(1) as f64;
    let [best, precise] = [decided(|_| ()), decided(|asked| asked.min_precision = Some(0.97))];
    assert!(precision(&best[1]) < 0.97, "{best:?}");
    // a label for which that is impossible is never given
    assert!(precise.iter().all(|of| of.found + of.wrong == 0 || precision(of) >= 0.97), "{precise:?}");
    assert!(precise.iter().any(|of| of.found > 0), "{precise:?}");
    assert!(decided(|asked| asked.cost = Some(4.0)).iter().all(|of| of.threshold == 4f64.ln()));
    assert!(
        decided(|asked| asked.unsure = Some(0.8)).iter().all(|of| (of.threshold - 4f64.ln()).abs() < 1e-12)
    );
}

#[test]
fn what_is_not_for_many_labels_is_refused() {
    let refused = |change: fn(&mut TrainOptions), labels: &[&str]| {
        let mut options = options();
        change(&mut options);
        taught(options, labels.iter().zip(labels)).finish().err().unwrap().to_string()
    };
    let two = ["a", "b"];
    assert!(refused(|o| o.decision.max_fpr = Some(0.1), &two).starts_with("max_fpr: expected two labels"));
    assert!(
        refused(|_| (), &["a", NO_LABELS]).contains("at least 2 labels"),
        "one label and none is two labels"
    );
    let mut one = TrainOptions::new(Kind::Text);
    one.decision.min_precision = Some(0.9);
    assert!(one.check_for(3).unwrap_err().to_string().starts_with("min_precision"));
    let single = taught(TrainOptions::new(Kind::Text), two.iter().zip(two)).finish().unwrap();
    let [single, many] = [single, model(&texts(64))].map(|model| model.into_filter().unwrap());
    let error = merge(&[&single, &many], MergeOptions::default()).err().unwrap().to_string();
    assert!(error.contains("one label a document"), "{error}");
}

#[test]
fn learning_and_forgetting_sets_is_exact() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.tamis");
    let texts = texts(160);
    model(&texts[..159]).save(&path).unwrap();
    let before = Filter::open(&path).unwrap().information().totals.into_owned();
    let mut learner = Learner::open(&path, LearnOptions::default()).unwrap();
    let (labels, text) = (join_labels(["gold", "wheat"]), "gold1 wheat4 novel");
    learner.learn(&labels, Document::Text(text)).unwrap();
    assert_eq!(learner.filter().information().totals[0].documents, before[0].documents + 1);
    assert!(learner.learn("silver", Document::Text(text)).is_err());
    learner.learn(NO_LABELS, Document::Text(text)).unwrap();
    assert_eq!(*learner.filter().information().totals, *before);
    learner.forget(None, Document::Text(text)).unwrap();
    learner.commit().unwrap();
    let filter = Filter::open(&path).unwrap();
    assert_eq!((*filter.information().totals).to_vec(), before);
    filter.verify().unwrap();
    // a new label, and a document that has it beside others
    learner.add_label(&join_labels(["gold", "silver"])).unwrap();
    learner.learn(&join_labels(["gold", "silver"]), Document::Text("gold1 silver2")).unwrap();
    learner.retrain().unwrap();
    assert_eq!(learner.filter().classes().len(), 4);
    learner.filter().verify().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn split_and_merged_is_the_whole(order in Just((0..120usize).collect::<Vec<_>>()).prop_shuffle(), at in 30..90usize) {
        let texts = texts(120);
        let of = |places: &[usize]| places.iter().map(|i| texts[*i].clone()).collect::<Vec<_>>();
        let whole = model(&texts);
        let shuffled = model(&of(&order));
        prop_assert_eq!(shuffled.as_bytes(), whole.as_bytes());
        let parts = [&order[..at], &order[at..]].map(|part| model(&of(part)).into_filter().unwrap());
        let merged = merge(&[&parts[0], &parts[1]], MergeOptions::default()).unwrap().into_filter().unwrap();
        let whole = whole.into_filter().unwrap();
        prop_assert_eq!(merged.classes(), whole.classes());
        prop_assert_eq!(merged.information().totals, whole.information().totals);
        prop_assert_eq!(merged.information().chosen, whole.information().chosen);
    }

    #[test]
    fn the_best_f1_of_many_documents_is_found(scores in proptest::collection::vec((-9.0..9.0f64, any::<bool>()), 1..60)) {
        let judge = |(log_odds, has_label): (f64, bool)| LabelPrediction { log_odds, has_label, weight: 1e6 };
        let mut judged: Vec<_> = scores.into_iter().map(judge).collect();
        judged.sort_by(|a, b| b.log_odds.total_cmp(&a.log_odds));
        let f1_at = |threshold: f64| {
            let given = |of: &&LabelPrediction| of.log_odds > threshold;
            let found = judged.iter().filter(given).filter(|of| of.has_label).count() as f64;
            let positives = judged.iter().filter(|of| of.has_label).count() as f64;
            2.0 * found / (judged.iter().filter(given).count() as f64 + positives).max(1.0)
        };
        let best = judged.iter().map(|of| f1_at((of.log_odds - 1e-9).max(least(&judged)))).fold(0.0, f64::max);
        prop_assert!(f1_at(for_f1(&judged)) >= best - 1e-3);
    }
}

#[test]
fn a_label_that_every_document_has_needs_no_more_than_even_odds() {
    let judged = [5.0, 4.0, 3.0].map(|log_odds| LabelPrediction { log_odds, has_label: true, weight: 1.0 });
    assert!(for_f1(&judged) <= 0.0 && for_precision(&judged, 0.3) <= 0.0);
    let judged = [-4.0, -5.0].map(|log_odds| LabelPrediction { log_odds, has_label: true, weight: 1.0 });
    assert!(for_f1(&judged) < -5.0);
}
