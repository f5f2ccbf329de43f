use std::collections::BTreeSet;

use proptest::prelude::*;
use tamis_filter::extract::document::Document;
use tamis_filter::score::filter::Filter;
use tamis_model::{ClassPrior, Counts, Likelihood, Parameters, Statistics, WeightedOptions};
use tamis_store::config::column::{Column, ColumnKind};
use tamis_store::config::labels::join_labels;
use tamis_store::config::recipe::Keep;
use tamis_store::config::scoring::{ExpectationMaximization, Scoring};
use tamis_store::config::training::{Labels, TrainOptions};
use tamis_store::error::Reason;
use tamis_store::kind::Kind;

use super::*;
use crate::train::trainer::Trainer;
use crate::update::learner::{LearnOptions, Learner};

const LABELS: [&str; 3] = ["ham", "spam", "eggs"];

/// A model with the scoring of number `which`, from `documents`: the index of a label and a text each. An index past
/// the labels marks an unlabelled document, which only the last scoring takes.
fn model(which: usize, keep: Keep, documents: &[(usize, String)]) -> Model {
    let bayes = |likelihood| {
        Scoring::NaiveBayes(Parameters { likelihood, prior: ClassPrior::Uniform, ..Scoring::parameters() })
    };
    let mut plain = WeightedOptions::default();
    plain.correction = false;
    let (n, scoring) = match which {
        0 => (2, None),
        1 => (3, None),
        2 => (2, Some(Scoring::Weighted(plain))),
        3 => (3, Some(Scoring::Weighted(plain))),
        4 => (3, Some(bayes(Likelihood::Bernoulli))),
        5 => (2, Some(bayes(Likelihood::Complement))),
        _ => (2, Some(Scoring::ExpectationMaximization(ExpectationMaximization::for_documents(1)))),
    };
    let is_em = which == 6;
    let mut trainer =
        Trainer::new(TrainOptions { scoring, keep: Some(keep), ..TrainOptions::new(Kind::Text) }).unwrap();
    for (label, text) in LABELS[..n].iter().zip(["w0 w1", "w2 \"w3\"", "w4 \u{e9}"]) {
        trainer.add(label, Document::Text(text)).unwrap();
    }
    for (label, text) in documents {
        match LABELS[..n].get(*label) {
            Some(label) => trainer.add(label, Document::Text(text)).unwrap(),
            None if is_em => trainer.add_unlabelled(Document::Text(text)).unwrap(),
            None => (),
        }
    }
    trainer.finish().unwrap()
}

fn table() -> Model {
    let mut options = TrainOptions::new(Kind::Table);
    let kinds =
        [("miles", ColumnKind::Gaussian), ("sky", ColumnKind::Categorical), ("notes", ColumnKind::Text)];
    options.recipe.columns = kinds.map(|(name, kind)| Column { name: name.into(), kind }).into();
    let mut trainer = Trainer::new(options).unwrap();
    for (label, miles, sky) in
        [("bus", "0.1", "blue"), ("bus", "0.7", ""), ("bike", "", "grey"), ("bike", "3e9", "blue")]
    {
        let row = [("miles", miles), ("sky", sky), ("notes", "on time")];
        trainer.add(label, Document::Fields(&row)).unwrap();
    }
    trainer.finish().unwrap()
}

fn exported(filter: &Filter, documents: bool) -> String {
    let mut out = Vec::new();
    crate::exchange::export(filter, documents, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn documents() -> impl Strategy<Value = Vec<(usize, String)>> {
    let word = prop_oneof![4 => "w[0-9]", 1 => "[\\PC\"\\\\]{1,6}"];
    let text = proptest::collection::vec(word, 0..8).prop_map(|words| words.join(" "));
    proptest::collection::vec((0usize..4, text), 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn what_was_exported_comes_back_byte_for_byte(which in 0usize..7, vectors: bool, documents in documents()) {
        let keep = if vectors { Keep::Vectors } else { Keep::Digests };
        let model = model(which, keep, &documents);
        let text = exported(&model.clone().into_filter().unwrap(), true);
        let back = import(text.as_bytes()).unwrap();
        prop_assert!(back == model, "{text}");
        // the order of the lines after the first does not matter
        let (head, lines) = text.split_once('\n').unwrap();
        let reversed: Vec<_> = std::iter::once(head).chain(lines.lines().rev()).collect();
        prop_assert!(import(reversed.join("\r\n").as_bytes()).unwrap() == model);
    }

    #[test]
    fn without_documents_counts_and_weights_come_back(which in 0usize..7, documents in documents()) {
        let model = model(which, Keep::Vectors, &documents).into_filter().unwrap();
        let text = exported(&model, false);
        let back = import(text.as_bytes()).unwrap().into_filter().unwrap();
        prop_assert_eq!(back.information().size.documents, 0);
        prop_assert_eq!(back.information().stored.keep, Keep::Digests);
        prop_assert_eq!(&back.store().totals, &model.store().totals);
        let question = Document::Text("w1 w2 w3 w5 w8");
        let scores = [&back, &model].map(|f| f.score(question, &mut Default::default()).unwrap());
        prop_assert_eq!(scores[0], scores[1]);
        let lines = |filter| exported(filter, false).lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
        prop_assert_eq!(lines(&back), lines(&model));
    }

    /// A changed text gives an error, or a consistent model.
    #[test]
    fn any_text_gives_an_error_or_a_whole_model(
        which in 0usize..7, cuts in proptest::collection::vec((any::<prop::sample::Index>(), "[-0-9a-z{}\",.]{0,3}"), 1..4),
    ) {
        let documents = [(0, "w1 w2".to_owned()), (1, "w3".to_owned()), (3, "w1 w4".to_owned())];
        let mut text = exported(&model(which, Keep::Vectors, &documents).into_filter().unwrap(), true);
        for (at, new) in cuts {
            let at = text.floor_char_boundary(at.index(text.len()));
            let end = text.ceil_char_boundary((at + new.len()).min(text.len()));
            text.replace_range(at..end, &new);
        }
        if let Ok(model) = import(text.as_bytes()) {
            let filter = model.into_filter().unwrap();
            filter.verify().unwrap();
            let score = filter.score_text("w1 w2 w3", &mut Default::default());
            prop_assert!(score.is_err() || score.is_ok_and(|s| !s.probability.is_nan()));
        }
    }
}

#[test]
fn a_table_comes_back() {
    let model = table();
    assert!(import(exported(&model.clone().into_filter().unwrap(), true).as_bytes()).unwrap() == model);
}

#[test]
fn a_log_is_exported_and_an_import_learns() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.tamis");
    let open = || Learner::open(&path, LearnOptions::default()).unwrap();
    let text = exported(&model(0, Keep::Vectors, &[]).into_filter().unwrap(), false);
    let imported = import(text.as_bytes()).unwrap();
    imported.save(&path).unwrap();
    let mut learner = open();
    learner.learn("spam", Document::Text("something new")).unwrap();
    learner.commit().unwrap();
    assert!(exported(&Filter::open(&path).unwrap(), true).contains("\"term\":\"something\""));
    learner.filter().verify().unwrap();
    let known: Vec<_> = learner.filter().documents().map(|known| known.unwrap().digest).collect();
    assert_eq!(known.len(), 1);
    learner.forget(None, Document::Text("something new")).unwrap();
    learner.compact().unwrap();
    let after = exported(learner.filter(), false);
    assert_eq!(after.lines().skip(1).collect::<Vec<_>>(), text.lines().skip(1).collect::<Vec<_>>());
}

#[test]
fn what_contradicts_itself_is_refused() {
    let text = exported(&model(0, Keep::Vectors, &[]).into_filter().unwrap(), true);
    let lines: Vec<_> = text.lines().collect();
    let refused = |text: String| import(text.as_bytes()).unwrap_err().into_reason();
    assert!(matches!(refused(String::new()), Reason::Import { line: 1, .. }));
    assert!(matches!(
        refused(text.replacen("\"tamis_export\":1", "\"tamis_export\":2", 1)),
        Reason::Import { line: 1, .. }
    ));
    assert!(matches!(
        refused(text.replacen("\"changes\":0", "\"change\":0", 1)),
        Reason::Import { line: 1, .. }
    ));
    assert!(matches!(refused(text.replacen("\"term\":", "\"word\":", 1)), Reason::Import { line: 2, .. }));
    assert!(matches!(refused(text.replacen("[1,1]", "[2,1]", 1)), Reason::Import { .. }));
    for repeated in 1..lines.len() {
        let mut twice = lines.clone();
        twice.push(lines[repeated]);
        refused(twice.join("\n"));
        let mut without = lines.clone();
        without.remove(repeated);
        refused(without.join("\n"));
    }
}

/// Errors must not show words of somebody's mail.
#[test]
fn what_cannot_be_imported_is_told_without_its_words() {
    let documents = [(0, "secret".to_owned()), (1, "secret w2".to_owned())];
    let text = exported(&model(0, Keep::Vectors, &documents).into_filter().unwrap(), true);
    let digest = text.split("\"digest\":\"").nth(1).unwrap()[..32].to_owned();
    let bad = [
        text.replacen("{\"term\":\"secret\"", "\"secret\"", 1),
        text.replacen("\"term\":\"secret\"", "\"term\":[\"secret\"]", 1),
        text.replacen("\"counts\":{", "\"counts\":{\"ham\":\"secret\",", 1),
        text.replacen("\"secret\":1", "\"secret\":\"secret\"", 1),
        text.replacen("\"secret\":1", "\"another secret\":1", 1),
        text.replacen(&digest, "secret", 1),
        text.replacen("\"term\":\"secret\"", "\"term\":\"secret\",\"secret\"", 1),
        text.replacen("\"copies\":1", "\"copies\":\"secret\"", 1),
    ];
    for bad in bad {
        assert_ne!(bad, text);
        let said = import(bad.as_bytes()).unwrap_err().to_string();
        assert!(!said.contains("secret"), "{said}");
    }
    // a file that contradicts itself
    let mut lines = LineReader { input: text.as_bytes(), line: 0, bytes: Vec::new() };
    lines.next().unwrap();
    let mut draft = Draft::new(lines.read("a model").unwrap()).unwrap();
    lines.next().unwrap();
    draft.add_term(lines.read("a term").unwrap()).unwrap();
    draft.terms[0].fingerprint ^= 1;
    draft.terms[0].text = "secret".to_owned();
    draft.header.totals = {
        let mut statistics = Statistics::with_documents([9, 9]);
        statistics.push_term(&mut draft.terms[0].cells.clone()).unwrap();
        statistics.totals().to_vec()
    };
    let said = draft.finish().unwrap_err().to_string();
    assert!(said.contains("fingerprint") && !said.contains("secret"), "{said}");
}

#[test]
fn weights_of_labels_have_the_names_of_labels_and_documents_keep_their_own() {
    let mut options = TrainOptions { keep: Some(Keep::Vectors), ..TrainOptions::new(Kind::Text) };
    options.labels = Labels::Many;
    let mut trainer = Trainer::new(options).unwrap();
    for (weight, labels, text) in
        [(1.0, &["a", "b"][..], "w0 w1"), (0.4, &["a"], "w0"), (2.6, &["b"], "w1 w2"), (1.0, &[], "w3")]
    {
        let label = join_labels(labels.iter().copied());
        trainer.add_weighted(weight, &label, None, Document::Text(text)).unwrap();
    }
    let filter = trainer.finish().unwrap().into_filter().unwrap();
    let lines = exported(&filter, true);
    let names = |key: &str| -> BTreeSet<String> {
        let lines = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        lines
            .filter_map(|line| Some(line[key].as_object()?.keys().cloned().collect::<Vec<_>>()))
            .flatten()
            .collect()
    };
    let expected = BTreeSet::from(["a", "b"].map(str::to_owned));
    assert_eq!((names("weights"), names("coefficients")), (expected.clone(), expected));
    assert!(
        lines.contains("\"copies\":1,\"fraction\":-614,")
            && lines.contains("\"copies\":3,\"fraction\":-410,")
    );
    assert!(import(lines.as_bytes()).unwrap().as_bytes() == filter.store().as_bytes());
}
