//! The model file against damage, and against time.

use tamis_train::options::{
    Column, ColumnKind, ExpectationMaximization, Likelihood, Parameters, WeightedOptions,
};
use tamis_train::{
    Document, ErrorKind, Filter, Keep, Kind, LearnOptions, LearnOutcome, Learner, Model, Score, Scoring,
    Scratch, TrainOptions, Trainer,
};

use crate::mail::attacks::Random;

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
    let mut options = options;
    options.keep = Some(Keep::Vectors);
    let mut trainer = Trainer::new(options).unwrap();
    texts.iter().for_each(|(label, text)| trainer.add(label, Document::Text(text)).unwrap());
    unlabelled.iter().for_each(|text| trainer.add_unlabelled(Document::Text(text)).unwrap());
    trainer.finish().unwrap()
}

fn table() -> Model {
    let kinds = [ColumnKind::Gaussian, ColumnKind::Bernoulli, ColumnKind::Categorical, ColumnKind::Text];
    let mut options = TrainOptions::new(Kind::Table);
    options.recipe.columns = NAMES.iter().zip(kinds).map(|(name, kind)| Column::new(*name, kind)).collect();
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
    let by = |scoring| {
        let mut options = TrainOptions::new(Kind::Text);
        options.scoring = Some(scoring);
        options
    };
    let mut weighted = WeightedOptions::default();
    weighted.correction = false;
    let counts = Scoring::Weighted(weighted);
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
fn check_damaged(bytes: Vec<u8>, question: Document<'_>, right: &Score, what: &str) {
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

/// A model file with a log of documents learned one by one, or forgotten if known under that label. Where its records
/// end, and what the file answered then.
fn with_log(
    model: &Model,
    documents: &[(&str, Document<'_>)],
    question: Document<'_>,
) -> (Vec<u8>, Vec<(usize, Score)>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.tamis");
    model.save(&path).unwrap();
    let mut options = LearnOptions::default();
    (options.log_limit, options.retrain) = (128 << 20, false);
    let mut learner = Learner::open(&path, options).unwrap();
    let state = || {
        let filter = Filter::open(&path).unwrap();
        (filter.information().file.bytes, filter.score(question, &mut Scratch::default()).unwrap())
    };
    let mut states = vec![state()];
    for (label, document) in documents {
        if learner.learn(label, *document).unwrap() == LearnOutcome::Already {
            learner.forget(Some(label), *document).unwrap();
        }
        learner.commit().unwrap();
        states.push(state());
    }
    (std::fs::read(path).unwrap(), states)
}

fn more() -> Vec<(&'static str, Document<'static>)> {
    let (gone, text) = TEXTS[1];
    let new = [("fruit", "plums are softer than tin"), ("metal", "gold"), ("fruit", "lead is a soft metal")];
    new.into_iter().chain([(gone, text)]).map(|(label, text)| (label, Document::Text(text))).collect()
}

#[test]
fn a_flipped_bit_anywhere_is_an_error_and_never_a_wrong_answer() {
    let mut files: Vec<_> = models()
        .into_iter()
        .map(|(name, model, question)| (name, model.as_bytes().to_vec(), question))
        .collect();
    let question = Document::Text(QUESTION);
    files.push(("two with a log", with_log(&small_model(), &more(), question).0, question));
    let three = train(TrainOptions::new(Kind::Text), &[&TEXTS[..], &MORE].concat(), &[]);
    files.push(("topics with a log", with_log(&three, &more(), question).0, question));
    for (name, file, question) in files {
        let filter = Filter::from_bytes(file.clone()).unwrap();
        filter.verify().unwrap();
        let right = filter.score(question, &mut Scratch::default()).unwrap();
        for at in 0..file.len() {
            for flip in [0x01, 0x80, 0xFF] {
                let mut bytes = file.clone();
                bytes[at] ^= flip;
                check_damaged(bytes, question, &right, &format!("{name}, byte {at} ^ {flip:#x}"));
            }
        }
    }
}

/// The label of the mail of a number, and the mail, some of whose words no other has.
pub fn mail(number: usize) -> (&'static str, String) {
    let mut random = Random(number as u64);
    let label = ["ham", "spam"][number % 2];
    let mut mail = format!("From: a{}@example.org\nSubject: {label} {number}\n\n", random.below(9));
    for _ in 0..20 + random.below(200) {
        let width = 1 << random.below(10);
        mail += &match random.below(8) {
            0 => format!("n{number}x{} ", random.below(1_000)),
            _ => format!("w{} ", 2 * random.below(width) + number % 2),
        };
    }
    (label, mail + "\n")
}

/// Mails of some kilobytes in the log, among them one with more new words than a sector has bytes.
#[test]
fn damage_to_a_larger_model_is_an_error_or_an_answer_of_before() {
    let mails: Vec<_> = (0..350).map(mail).collect();
    let documents: Vec<_> =
        mails.iter().map(|(label, mail)| (*label, Document::Mail(mail.as_bytes()))).collect();
    let (before, after) = documents.split_at(300);
    let mut trainer = Trainer::new(TrainOptions::new(Kind::Mail)).unwrap();
    before.iter().for_each(|(label, mail)| trainer.add(label, *mail).unwrap());
    let words: String = (0..1_500).map(|i| format!("only{i} ")).collect();
    let long = format!("Subject: long\n\n{words}\n");
    let after = [after, &[("spam", Document::Mail(long.as_bytes()))]].concat();
    let (file, states) = with_log(&trainer.finish().unwrap(), &after, after[7].1);
    let (_, right) = states[states.len() - 1];
    let log = states[0].0;
    let mut random = Random(5);
    for i in 0..1_500 {
        let range = if i % 2 == 0 { 0..file.len() } else { log..file.len() };
        let mut bytes = file.clone();
        let at = range.start + random.below(range.len());
        let bit = random.below(8);
        bytes[at] ^= 1 << bit;
        let answer = Filter::from_bytes(bytes).and_then(|f| f.score(after[7].1, &mut Scratch::default()));
        assert!(answer.is_err() || answer.is_ok_and(|answer| answer == right), "byte {at}, bit {bit}");
    }
    for _ in 0..250 {
        check_cut(&file, log + random.below(file.len() - log), &states, after[7].1);
    }
}

/// A file cut short in its log is what it was before the record that is not whole.
fn check_cut(file: &[u8], length: usize, states: &[(usize, Score)], question: Document<'_>) {
    let filter = Filter::from_bytes(file[..length].to_vec()).unwrap();
    let (bytes, score) = states[states.partition_point(|(end, _)| *end <= length) - 1];
    assert_eq!(filter.information().file.bytes, bytes);
    assert_eq!(filter.score(question, &mut Scratch::default()).unwrap(), score, "{length}");
}

#[test]
fn a_file_cut_short_anywhere_is_an_error_or_what_it_was_before() {
    let model = small_model();
    for length in 0..model.as_bytes().len() {
        let error = Filter::from_bytes(model.as_bytes()[..length].to_vec()).err().unwrap();
        assert!(matches!(error.kind(), ErrorKind::NotAModel | ErrorKind::Damaged), "{length}: {error}");
    }
    let (file, states) = with_log(&model, &more(), Document::Text(QUESTION));
    for length in model.as_bytes().len()..=file.len() {
        check_cut(&file, length, &states, Document::Text(QUESTION));
    }
    let longer = [model.as_bytes(), &[b'x'; 20]].concat();
    let error = Filter::from_bytes(longer).err().unwrap();
    assert!(error.kind() == ErrorKind::Damaged && error.to_string().contains("in its slots"), "{error}");
}

#[test]
fn each_fault_has_its_own_error() {
    let model = small_model();
    let changed = |at: usize, to: u8| {
        let mut bytes = model.as_bytes().to_vec();
        bytes[at] = to;
        Filter::from_bytes(bytes).err().unwrap()
    };
    let cases = [
        (changed(0, b'X'), ErrorKind::NotAModel, "begin with"),
        (changed(8, 9), ErrorKind::Version, "format 9"),
        (
            changed(30, model.as_bytes()[30] ^ 1),
            ErrorKind::Damaged,
            "in its header at byte 0: expected checksum",
        ),
        (Filter::from_bytes(b"SQLite format 3\0".to_vec()).err().unwrap(), ErrorKind::NotAModel, "SQLite f"),
        (Filter::open("nowhere.tamis").err().unwrap(), ErrorKind::Io, "nowhere.tamis"),
        (Filter::open(".").err().unwrap(), ErrorKind::Io, "expected a regular file"),
    ];
    for (error, kind, words) in cases {
        assert!(error.kind() == kind && error.to_string().contains(words), "{error}");
    }
}

#[test]
fn saving_replaces_whole_files_and_readers_keep_theirs() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.tamis");
    small_model().save(&path).unwrap();
    let mut filter = Filter::open(&path).unwrap();
    let before = filter.score_text(QUESTION, &mut Scratch::default()).unwrap();
    assert!(filter.reopened().unwrap().is_none());
    let mut trainer = Trainer::new(TrainOptions::new(Kind::Text)).unwrap();
    trainer.add("one", Document::Text("tin")).unwrap();
    trainer.add("two", Document::Text("lead")).unwrap();
    trainer.finish().unwrap().save(&path).unwrap();
    assert_eq!(filter.score_text(QUESTION, &mut Scratch::default()).unwrap(), before);
    filter = filter.reopened().unwrap().unwrap();
    assert_eq!(filter.classes().index("two"), Some(1));
    let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| name == "model.tamis" || name == "model.tamis.lock"), "{left:?}");
}
