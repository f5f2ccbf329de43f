//! The model file against damage, and against time.

use std::path::Path;

use tamis_filter::{
    Column, ColumnKind, Document, Error, ExpectationMaximization, Filter, Keep, Kind, Likelihood, Model,
    Parameters, Scoring, Scratch, TrainOptions, Trainer, Weighted,
};

use crate::support::root;

const TEXTS: [(&str, &str); 4] = [
    ("fruit", "apples and pears, apples and plums"),
    ("fruit", "a pear is a fruit"),
    ("metal", "iron and tin, tin and lead"),
    ("metal", "lead is a soft metal"),
];
const MORE: [(&str, &str); 3] =
    [("tree", "oak and ash"), ("tree", "an ash is a tree"), ("tree", "apples grow on a tree")];
const QUESTION: &str = "is an apple softer than tin and lead";
const ROWS: [(&str, [&str; 4]); 6] = [
    ("bus", ["2.5", "yes", "sunny", "late again"]),
    ("bus", ["3", "no", "cloudy", "on time"]),
    ("bike", ["1.25", "no", "sunny", "lovely ride"]),
    ("bike", ["", "no", "sunny", "flat tyre"]),
    ("car", ["12", "yes", "", "traffic again"]),
    ("car", ["9.5", "NA", "cloudy", "traffic jam"]),
];
const NAMES: [&str; 4] = ["miles", "raining", "sky", "notes"];
const ROW: [(&str, &str); 4] = [("miles", "2"), ("raining", "yes"), ("sky", "?"), ("notes", "late traffic")];

fn train(options: TrainOptions, texts: &[(&str, &str)], unlabelled: &[&str]) -> Model {
    let mut trainer = Trainer::new(TrainOptions { keep: Keep::Vectors, ..options }).unwrap();
    texts.iter().for_each(|(label, text)| trainer.add(label, Document::Text(text)).unwrap());
    unlabelled.iter().for_each(|text| trainer.add_unlabelled(Document::Text(text)).unwrap());
    trainer.finish().unwrap()
}

fn table() -> Model {
    let kinds = [ColumnKind::Gaussian, ColumnKind::Bernoulli, ColumnKind::Categorical, ColumnKind::Text];
    let mut options = TrainOptions::new(Kind::Table);
    options.recipe.columns =
        NAMES.iter().zip(kinds).map(|(name, kind)| Column { name: (*name).into(), kind }).collect();
    let mut trainer = Trainer::new(options).unwrap();
    for (label, cells) in ROWS {
        let fields: Vec<_> = NAMES.into_iter().zip(cells).collect();
        trainer.add(label, Document::Fields(&fields)).unwrap();
    }
    trainer.finish().unwrap()
}

fn small_model() -> Model {
    train(TrainOptions::new(Kind::Text), &TEXTS, &[])
}

/// A small model of every scoring, with a document to ask it about.
fn models() -> Vec<(&'static str, Model, Document<'static>)> {
    let three = [&TEXTS[..], &MORE].concat();
    let by = |scoring| TrainOptions { scoring: Some(scoring), ..TrainOptions::new(Kind::Text) };
    let counts = Scoring::OneAgainstRest(Weighted { correction: None, ..Weighted::for_classes(3) });
    let bayes = |likelihood| Scoring::NaiveBayes(Parameters { likelihood, ..Scoring::parameters() });
    let em = Scoring::ExpectationMaximization(ExpectationMaximization::for_documents(6));
    let text = Document::Text(QUESTION);
    let unlabelled = ["tin is soft", "plums and pears"];
    vec![
        ("two", small_model(), text),
        ("topics", train(TrainOptions::new(Kind::Text), &three, &[]), text),
        ("topics-counts", train(by(counts), &three, &[]), text),
        ("bernoulli", train(by(bayes(Likelihood::Bernoulli)), &three, &[]), text),
        ("complement", train(by(bayes(Likelihood::ComplementNormalized)), &three, &[]), text),
        ("em", train(by(em), &TEXTS, &unlabelled), text),
        ("table", table(), Document::Fields(&ROW)),
    ]
}

/// Opens, scores and verifies: an answer must be the right one, and some step must notice the damage.
fn check_damaged(bytes: Vec<u8>, question: Document<'_>, right: &tamis_filter::Score, what: &str) {
    let filter = match Filter::from_bytes(bytes) {
        Ok(filter) => filter,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    if let Ok(score) = filter.score(question, &mut Scratch::default()) {
        assert_eq!(score, *right, "{what}: a wrong answer");
    }
    let _ = filter.explain(question, &mut Scratch::default());
    assert!(filter.verify().is_err(), "{what}: not noticed");
}

#[test]
fn a_flipped_bit_anywhere_is_an_error_and_never_a_wrong_answer() {
    for (name, model, question) in models() {
        let filter = Filter::from_bytes(model.as_bytes().to_vec()).unwrap();
        filter.verify().unwrap();
        let right = filter.score(question, &mut Scratch::default()).unwrap();
        for at in 0..model.as_bytes().len() {
            for flip in [0x01, 0x80, 0xFF] {
                let mut bytes = model.as_bytes().to_vec();
                bytes[at] ^= flip;
                check_damaged(bytes, question, &right, &format!("{name}, byte {at} ^ {flip:#x}"));
            }
        }
    }
}

#[test]
fn a_file_cut_short_anywhere_is_an_error() {
    let model = small_model();
    for length in 0..model.as_bytes().len() {
        let error = Filter::from_bytes(model.as_bytes()[..length].to_vec()).err().unwrap();
        assert!(matches!(error, Error::NotAModel { .. } | Error::Length { .. }), "{length}: {error}");
    }
    let longer = [model.as_bytes(), b"x"].concat();
    assert!(matches!(Filter::from_bytes(longer), Err(Error::Length { .. })));
}

#[test]
fn each_fault_has_its_own_error() {
    let model = small_model();
    let changed = |at: usize, to: u8| {
        let mut bytes = model.as_bytes().to_vec();
        bytes[at] = to;
        Filter::from_bytes(bytes).err().unwrap()
    };
    assert!(matches!(changed(0, b'X'), Error::NotAModel { .. }));
    assert!(matches!(changed(8, 9), Error::Version { got: 9, .. }));
    assert!(matches!(changed(30, model.as_bytes()[30] ^ 1), Error::Checksum { part: "header", .. }));
    assert!(matches!(Filter::from_bytes(b"SQLite format 3\0".to_vec()), Err(Error::NotAModel { .. })));
    assert!(matches!(Filter::open("nowhere.tamis"), Err(Error::Io { .. })));
    assert!(matches!(Filter::open("."), Err(Error::Io { .. })));
}

#[test]
fn saving_replaces_whole_files_and_readers_keep_theirs() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.tamis");
    small_model().save(&path).unwrap();
    let mut filter = Filter::open(&path).unwrap();
    let before = filter.score_text(QUESTION, &mut Scratch::default()).unwrap();
    assert!(!filter.reload_if_changed().unwrap());
    let mut trainer = Trainer::new(TrainOptions::new(Kind::Text)).unwrap();
    trainer.add("one", Document::Text("tin")).unwrap();
    trainer.add("two", Document::Text("lead")).unwrap();
    trainer.finish().unwrap().save(&path).unwrap();
    assert_eq!(filter.score_text(QUESTION, &mut Scratch::default()).unwrap(), before);
    assert!(filter.reload_if_changed().unwrap());
    assert_eq!(filter.classes().index("two"), Some(1));
    let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| name == "model.tamis" || name == "model.tamis.lock"), "{left:?}");
}

#[test]
fn models_of_every_format_written_so_far_still_answer() {
    let formats = root().join("tests/data/formats");
    let mut seen = 0;
    for version in 1..=tamis_filter::FORMAT_VERSION {
        let folder = formats.join(format!("v{version}"));
        let answers = std::fs::read_to_string(folder.join("answers.json")).unwrap();
        let answers: serde_json::Value = serde_json::from_str(&answers).unwrap();
        for (model, answer) in answers.as_object().unwrap() {
            check_answer(&folder.join(model), answer);
            seen += 1;
        }
    }
    assert!(seen >= 2);
}

fn check_answer(model: &Path, answer: &serde_json::Value) {
    let filter = Filter::open(model).unwrap();
    filter.verify().unwrap();
    let question = answer["question"].as_str().unwrap();
    let mut scratch = Scratch::default();
    let score = match filter.information().recipe.kind {
        Kind::Mail => filter.score_mail(question.as_bytes(), &mut scratch),
        Kind::Text => filter.score_text(question, &mut scratch),
        Kind::Table => filter.score_fields(&ROW, &mut scratch),
    };
    let score = score.unwrap();
    assert_eq!(filter.label_of(&score), answer["label"].as_str().unwrap(), "{}", model.display());
    assert!((score.log_odds - answer["log_odds"].as_f64().unwrap()).abs() < 1e-9, "{}", model.display());
}

/// Writes the models of a new format, once: `cargo test --test tests -- --ignored write_models`.
#[test]
#[ignore = "writes into the repository"]
fn write_models_of_this_format() {
    let folder = root().join(format!("tests/data/formats/v{}", tamis_filter::FORMAT_VERSION));
    std::fs::create_dir(&folder).unwrap();
    let mut answers = serde_json::Map::new();
    let mail = {
        let mut trainer = Trainer::new(TrainOptions::new(Kind::Mail)).unwrap();
        for (label, text) in TEXTS {
            trainer.add(label, Document::Mail(format!("Subject: {label}\n\n{text}\n").as_bytes())).unwrap();
        }
        trainer.finish().unwrap()
    };
    let letter = Document::Mail(b"Subject: hello\n\nis tin softer than lead\n");
    for (name, model, question) in models().into_iter().chain([("mail", mail, letter)]) {
        let name = format!("{name}.tamis");
        std::fs::write(folder.join(&name), model.as_bytes()).unwrap();
        let filter = model.into_filter().unwrap();
        let score = filter.score(question, &mut Scratch::default()).unwrap();
        let question = match question {
            Document::Mail(raw) => std::str::from_utf8(raw).unwrap(),
            Document::Text(text) => text,
            // the row above
            _ => "",
        };
        let label = filter.label_of(&score);
        answers.insert(
            name,
            serde_json::json!({"question": question, "label": label, "log_odds": score.log_odds}),
        );
    }
    let answers = serde_json::to_string_pretty(&answers).unwrap();
    std::fs::write(folder.join("answers.json"), answers + "\n").unwrap();
}
