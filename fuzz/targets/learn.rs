//! Learning and forgetting in any order, against documents kept in a map; and logs with bytes changed.

use super::Choices;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tamis_train::options::{ClassPrior, Parameters, WeightedOptions};
use tamis_train::{
    Document, ErrorKind, Filter, Keep, Kind, LearnOptions, LearnOutcome, Learner, MergeOptions, Scoring,
    Scratch, TrainOptions, Trainer, merge,
};

const LABELS: [&str; 4] = ["eggs", "ham", "spam", "bacon"];

pub fn run(data: &[u8]) {
    let mut choices = Choices(data);
    let folder = folder();
    let path = folder.join("model.tamis");
    let _ = std::fs::remove_file(&path);
    let mut options = TrainOptions::new(Kind::Text);
    options.keep = Some(choices.of(&[Keep::Vectors, Keep::Digests]));
    let n_labels = 2 + usize::from(choices.flag());
    let mut uncorrected = WeightedOptions::default();
    uncorrected.correction = false;
    options.scoring = choices.of(&[
        None,
        Some(Scoring::Weighted(uncorrected)),
        // learned priors want a document of each label
        Some(Scoring::NaiveBayes(Parameters { prior: ClassPrior::Smoothed, ..Scoring::parameters() })),
    ]);
    let (log_limit, growth_limit) =
        choices.of(&[(0, None), (300, None), (1 << 20, None), (1, Some(u64::MAX)), (400, Some(u64::MAX))]);
    let mut learn = LearnOptions::default();
    learn.log_limit = log_limit;
    learn.growth_limit = growth_limit;
    let labels = &LABELS[..n_labels];
    let mut learner =
        Learner::create(&path, options, labels.iter().copied(), learn).expect("a new model can be made");
    let mut documents = Documents::default();
    let mut committed = documents.clone();
    for _ in 0..40 {
        if choices.0.is_empty() {
            break;
        }
        let label = choices.of(&LABELS);
        match choices.byte() % 16 {
            0 => {
                learner.commit().expect("the disk has room");
                committed.clone_from(&documents);
                assert_eq!(documents.0.len(), learner.filter().information().size.documents);
                learner.filter().verify().expect("what was learned is whole");
            }
            1 => {
                drop(learner);
                learner = Learner::open(&path, learn).expect("what was written can be read");
                documents.clone_from(&committed);
            }
            2 => {
                learner.compact().expect("the disk has room");
                committed.clone_from(&documents);
            }
            3 => match learner.retrain() {
                Ok(()) => committed.clone_from(&documents),
                Err(error) => assert!(error.kind() == ErrorKind::TermsNotStored, "{error}"),
            },
            4 if learner.filter().classes().index(label).is_none() => {
                learner.add_label(label).expect("a label can be added");
                committed.clone_from(&documents);
            }
            5..=8 => documents.forget(&mut learner, label, &text(&mut choices), choices.flag()),
            _ => documents.learn(&mut learner, label, &text(&mut choices)),
        }
    }
    learner.commit().expect("the disk has room");
    documents.check(&mut learner);
    let filter = Filter::open(&path).expect("what was written can be read");
    filter.verify().expect("what was written is whole");
    let file = std::fs::read(&path).expect("it was just read");
    add_up(Filter::open(&path).expect("it was just opened"), &documents, &mut choices);
    change(&filter, file, &mut choices);
    drop(learner);
    let _ = std::fs::remove_dir_all(folder);
}

/// A folder of this thread, where the disk costs nothing if there is such a place.
pub fn folder() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    let place = if memory.is_dir() { memory } else { std::env::temp_dir() };
    let name = format!("tamis-fuzz-{}-{:?}", std::process::id(), std::thread::current().id());
    let folder = place.join(name);
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    folder
}

/// A few words of a few, and at least one: documents without terms are never equal.
fn text(choices: &mut Choices<'_>) -> String {
    let bits = choices.number();
    let mut text = String::new();
    (0..16).filter(|word| bits >> word & 1 == 1).for_each(|word| text += &format!("w{word} "));
    if bits.is_multiple_of(5) {
        text += "w1 w1 ";
    }
    if text.is_empty() {
        text += "w0 ";
    }
    text
}

/// Documents and occurrences by term and label.
type Counts = BTreeMap<String, BTreeMap<String, [u64; 2]>>;

/// The counts that a model says it has.
fn counts_of(filter: &Filter) -> Counts {
    let mut exported = Vec::new();
    tamis_train::exchange::export(filter, false, &mut exported).expect("a vector takes all");
    let lines = exported.split(|byte| *byte == b'\n').skip(1).filter(|line| !line.is_empty());
    let counts = lines.map(|line| {
        let line: serde_json::Value = serde_json::from_slice(line).expect("lines of JSON");
        let term = line["term"].as_str().expect("a term").to_owned();
        (term, serde_json::from_value(line["counts"].clone()).expect("counts by label"))
    });
    counts.collect()
}

/// Merges a model with another that is like it, and puts that behind it: the counts are those of all documents, and both
/// ways two labels get the same scores, unless merging fits all anew.
fn add_up(mut filter: Filter, documents: &Documents, choices: &mut Choices<'_>) {
    let about = filter.information();
    let is_bayes = matches!(about.scoring, Scoring::NaiveBayes(_));
    let is_as_it_was = filter.classes().len() == 2 && about.stored.keep == Keep::Digests;
    let mut options = TrainOptions::new(Kind::Text);
    options.recipe = about.recipe.clone();
    options.scoring = Some(about.scoring.clone());
    options.keep = Some(about.stored.keep);
    let labels: Vec<String> = filter.classes().iter().map(|(_, label)| label.to_owned()).collect();
    let mut trainer = Trainer::new(options).expect("options that were in use");
    let mut others = Documents::default();
    for label in &labels {
        let text = text(choices);
        trainer.add(label, Document::Text(&text)).expect("text of some words");
        let digest = filter.digest(Document::Text(&text)).expect("text has a digest");
        // under two labels it counts for both
        let key = (0u8..).map(|i| digest.map(|byte| byte ^ i)).find(|key| !others.0.contains_key(key));
        others.0.insert(key.expect("there are few"), (label.clone(), text));
    }
    let other = trainer.finish().expect("documents of every label").into_filter().expect("it was just made");
    // a merged model has the choices of the first, and one in front of another those of the one behind
    let choices_of = |filter: &Filter| filter.information().chosen.map(|chosen| *chosen.in_use());
    let is_as_it_was = is_as_it_was && choices_of(&filter) == choices_of(&other);
    let mut repeat = MergeOptions::default();
    repeat.repeat = true;
    let both = merge(&[&filter, &other], repeat).expect("models that are alike");
    let mut both = both.into_filter().expect("it was just made");
    both.verify().expect("models that were whole");
    let mut counts = Counts::new();
    documents.count(&mut counts);
    others.count(&mut counts);
    assert_eq!(counts_of(&both), counts);
    both.set_decision(other.decision());
    assert_eq!(filter.set_fallback(Arc::new(other)).is_err(), is_bayes);
    let mut scratch = Scratch::default();
    for (_, text) in others.0.values().chain(documents.0.values()).take(8).filter(|_| !is_bayes) {
        let score = filter.score_text(text, &mut scratch).expect("what was learned can be scored");
        let expected = both.score_text(text, &mut scratch).expect("what was learned can be scored");
        assert_eq!(score.known_terms, expected.known_terms);
        assert!(!is_as_it_was || (score.log_odds - expected.log_odds).abs() < 1e-6, "{text}");
    }
}

/// What should be known: of each document by its digest the label, the words and the copies.
#[derive(Clone, Default)]
struct Documents(BTreeMap<[u8; 16], (String, String)>);

impl Documents {
    fn learn(&mut self, learner: &mut Learner, label: &str, text: &str) {
        let document = Document::Text(text);
        let digest = learner.filter().digest(document).expect("text has a digest");
        let known = self.0.get(&digest).map(|(label, _)| label.clone());
        let expected = match &known {
            Some(known) if known == label => LearnOutcome::Already,
            Some(known) => LearnOutcome::Moved { from: vec![known.clone()] },
            None => LearnOutcome::New,
        };
        match learner.learn(label, document) {
            Ok(learned) => assert_eq!(learned, expected),
            Err(error) => {
                assert!(error.kind() == ErrorKind::Label, "{error}");
                assert!(learner.filter().classes().index(label).is_none());
                return;
            }
        }
        self.0.insert(digest, (label.to_owned(), text.to_owned()));
    }

    fn forget(&mut self, learner: &mut Learner, label: &str, text: &str, by_digest: bool) {
        let document = Document::Text(text);
        let digest = learner.filter().digest(document).expect("text has a digest");
        let outcome = match by_digest {
            true => learner.forget_digest(None, digest),
            false => learner.forget(Some(label), document),
        };
        let known = self.0.get(&digest).map(|(known, _)| by_digest || known == label);
        match outcome {
            Ok(_) => {
                assert_eq!(known, Some(true));
                self.0.remove(&digest);
            }
            Err(error) => match error.kind() {
                ErrorKind::NotLearned => assert_ne!(known, Some(true)),
                ErrorKind::Label => assert!(learner.filter().classes().index(label).is_none()),
                ErrorKind::TermsNotStored => assert!(by_digest && known == Some(true)),
                _ => panic!("{error}"),
            },
        }
    }

    /// Adds the counts of the documents.
    fn count(&self, counts: &mut Counts) {
        for (label, text) in self.0.values() {
            let mut words: BTreeMap<&str, u64> = BTreeMap::new();
            text.split_whitespace().for_each(|word| *words.entry(word).or_default() += 1);
            for (word, n) in words {
                let [df, tf] = counts.entry(word.to_owned()).or_default().entry(label.clone()).or_default();
                (*df, *tf) = (*df + 1, *tf + n);
            }
        }
    }

    /// Counts equal to those of the documents, and scores that are numbers.
    fn check(&self, learner: &mut Learner) {
        let mut counts = Counts::new();
        self.count(&mut counts);
        assert_eq!(counts_of(learner.filter()), counts);
        for (_, text) in self.0.values().take(5) {
            let score = learner.score(Document::Text(text)).expect("what was learned can be scored");
            assert!(!score.log_odds.is_nan() && (0.0..=1.0).contains(&score.probability));
        }
    }
}

/// A file with bytes changed is an error, or what it was with records missing at its end.
fn change(filter: &Filter, mut file: Vec<u8>, choices: &mut Choices<'_>) {
    let (full, at) = (filter.information().file.log_bytes, choices.number());
    let log = file.len() - full;
    if full == 0 {
        return;
    }
    let cut = choices.flag();
    match cut {
        true => file.truncate(log + at % full),
        false => file[log + at % full] ^= 1 << (choices.byte() % 8),
    }
    match Filter::from_bytes(file) {
        Ok(changed) => {
            assert!(cut, "a changed bit was not noticed");
            assert!(changed.information().file.log_bytes < full);
            changed.verify().expect("records that are whole");
            let _ = changed.score_text("w1 w2 w3", &mut Scratch::default()).expect("records that are whole");
        }
        Err(error) => assert!(!cut, "{error}"),
    }
}
