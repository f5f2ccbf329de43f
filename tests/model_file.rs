//! The model file against damage, and against time.

use std::path::Path;

use tamis_filter::{Document, Error, Filter, Keep, Kind, Model, Scratch, TrainOptions, Trainer};

use crate::support::root;

const TEXTS: [(&str, &str); 4] = [
    ("fruit", "apples and pears, apples and plums"),
    ("fruit", "a pear is a fruit"),
    ("metal", "iron and tin, tin and lead"),
    ("metal", "lead is a soft metal"),
];
const QUESTION: &str = "is an apple softer than tin and lead";

fn small_model() -> Model {
    let mut trainer =
        Trainer::new(TrainOptions { keep: Keep::Vectors, ..TrainOptions::new(Kind::Text) }).unwrap();
    for (label, text) in TEXTS {
        trainer.add(label, Document::Text(text)).unwrap();
    }
    trainer.finish().unwrap()
}

/// Opens, scores and verifies: an answer must be the right one, and some step must notice the damage.
fn check_damaged(bytes: Vec<u8>, right: &tamis_filter::Score, what: &str) {
    let filter = match Filter::from_bytes(bytes) {
        Ok(filter) => filter,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    if let Ok(score) = filter.score_text(QUESTION, &mut Scratch::default()) {
        assert_eq!(score, *right, "{what}: a wrong answer");
    }
    let _ = filter.explain_text(QUESTION, &mut Scratch::default());
    assert!(filter.verify().is_err(), "{what}: not noticed");
}

#[test]
fn a_flipped_bit_anywhere_is_an_error_and_never_a_wrong_answer() {
    let model = small_model();
    let right = Filter::from_bytes(model.as_bytes().to_vec())
        .unwrap()
        .score_text(QUESTION, &mut Scratch::default())
        .unwrap();
    for at in 0..model.as_bytes().len() {
        for flip in [0x01, 0x80, 0xFF] {
            let mut bytes = model.as_bytes().to_vec();
            bytes[at] ^= flip;
            check_damaged(bytes, &right, &format!("byte {at} ^ {flip:#x}"));
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
        Kind::Text | Kind::Table => filter.score_text(question, &mut scratch),
    };
    let score = score.unwrap();
    assert_eq!(filter.label_of(&score), answer["label"].as_str().unwrap(), "{}", model.display());
    assert!((score.log_odds - answer["log_odds"].as_f64().unwrap()).abs() < 1e-9, "{}", model.display());
}
