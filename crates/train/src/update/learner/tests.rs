mod behind;
mod corrections;
mod full_log;
mod replication;
mod segments;

use std::path::PathBuf;

use proptest::prelude::*;
use tamis_model::{Coefficient, Counts, Statistics};
use tamis_store::config::recipe::Keep;
use tamis_store::config::scoring::Scoring;
use tamis_store::config::training::TrainOptions;
use tamis_store::disk::map::ModelBytes;
use tamis_store::error::Error;
use tamis_store::file::documents::{NO_DATE, group_number};
use tamis_store::file::log::{Change, LogEntry};
use tamis_store::kind::Kind;
use tamis_store::store::opened::Store;
use tamis_tokenizer::{CountVector, TermId};

use super::*;
use crate::merge::models::{MergeOptions, merge};
use crate::tests::taught;
use crate::train::trainer::Trainer;

const LABELS: [&str; 3] = ["eggs", "ham", "spam"];

fn trained(n_labels: usize, keep: Keep, texts: &[(usize, String)]) -> Vec<u8> {
    let mut trainer = Trainer::new(TrainOptions {
        keep: Some(keep),
        refinements: Vec::new(),
        ..TrainOptions::new(Kind::Text)
    })
    .unwrap();
    LABELS[..n_labels].iter().for_each(|label| {
        trainer.class_of(label).unwrap();
    });
    for (label, text) in texts {
        trainer.add(LABELS[*label % n_labels], Document::Text(text)).unwrap();
    }
    trainer.finish().unwrap().as_bytes().to_vec()
}

/// A model that knows a document of each of its first two labels.
fn of_two(n_labels: usize, keep: Keep) -> Vec<u8> {
    trained(n_labels, keep, &[(0, "boiled egg".to_owned()), (1, "cooked ham".to_owned())])
}

fn model_path(folder: &tempfile::TempDir) -> PathBuf {
    folder.path().join("model.tamis")
}

fn model_bytes(folder: &tempfile::TempDir) -> Vec<u8> {
    std::fs::read(model_path(folder)).unwrap()
}

/// How much a learner appends to a file: the log limit in bytes, and whether segments may be added without limit.
type Limits = (usize, bool);

const LOG_ALONE: Limits = (1 << 20, false);

/// Writes a model file, if `bytes` are given, and opens a learner.
fn open(folder: &tempfile::TempDir, bytes: Option<&[u8]>, (log_limit, grows): Limits) -> Learner {
    bytes.into_iter().for_each(|bytes| std::fs::write(model_path(folder), bytes).unwrap());
    let growth_limit = grows.then_some(u64::MAX);
    let options = LearnOptions { log_limit, growth_limit, retrain: false, ..LearnOptions::default() };
    Learner::open(model_path(folder), options).unwrap()
}

fn limits() -> impl Strategy<Value = Limits> {
    proptest::sample::select(vec![(0, false), (300, false), LOG_ALONE, (1, true), (900, true), (3_000, true)])
}

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(0u8..20, 0..8)
        .prop_map(|words| words.iter().map(|w| format!("w{w} ")).collect::<String>())
}

fn texts() -> impl Strategy<Value = Vec<(usize, String)>> {
    proptest::collection::vec((0usize..3, text()), 0..12)
}

/// Counts by the texts of terms, since ids change.
fn counts(filter: &Filter) -> Vec<(String, Vec<tamis_model::Cell>)> {
    let store = filter.store();
    let mut counts = Vec::new();
    for id in 0..store.n_terms() as TermId {
        let mut cells = Vec::new();
        store.for_each_cell(id, |cell| cells.push(cell)).unwrap();
        if !cells.is_empty() {
            counts.push((store.text(id).unwrap().to_owned(), cells));
        }
    }
    counts.sort_by(|a, b| a.0.cmp(&b.0));
    counts
}

/// The file without the number of changes, which may differ.
fn unchanging(bytes: Vec<u8>) -> Vec<u8> {
    let mut store = Store::new(ModelBytes::Owned(bytes), None).unwrap();
    store.header.changes = Default::default();
    rewrite::compact(&store).unwrap().as_bytes().to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Forgetting, in any order, what was learned restores the original file with its counts, correction and
    /// calibration, whatever the log limit, the number of labels and what is remembered.
    #[test]
    fn learned_and_forgotten_is_never_learned(
        n_labels in 2usize..=3,
        before in texts(), more in texts(),
        digests: bool,
        limits in limits(),
        order in any::<u64>(),
    ) {
        let keep = if digests { Keep::Digests } else { Keep::Vectors };
        let start = trained(n_labels, keep, &before);
        let folder = tempfile::tempdir().unwrap();
        let mut learner = open(&folder, Some(&start), limits);
        let mut new = Vec::new();
        for (label, text) in &more {
            let document = Document::Text(text);
            if learner.known(learner.filter.digest(document).unwrap()).unwrap().is_empty() {
                prop_assert_eq!(learner.learn(LABELS[label % n_labels], document).unwrap(), LearnOutcome::New);
                new.push(text);
            }
            learner.commit().unwrap();
            prop_assert!(learner.filter().verify().is_ok(), "{:?}", learner.filter().verify());
        }
        drop(learner);
        let mut learner = open(&folder, None, limits);
        if !new.is_empty() {
            let middle = order as usize % new.len();
            new.rotate_left(middle);
        }
        for text in &new {
            learner.forget(None, Document::Text(text)).unwrap();
            learner.commit().unwrap();
            learner.filter().verify().unwrap();
            let again = learner.forget(None, Document::Text(text));
            let is_refused = matches!(again.as_ref().map_err(Error::reason), Err(Reason::NotLearned { .. }));
            prop_assert!(is_refused);
        }
        learner.compact().unwrap();
        prop_assert_eq!(unchanging(model_bytes(&folder)), unchanging(start));
    }

    /// Learning one by one, in any order and by several processes, gives the same counts as training on everything at
    /// once.
    #[test]
    fn learning_one_by_one_counts_as_training_does(
        n_labels in 2usize..=3, all in texts(), split in 0usize..12, limits in limits(),
    ) {
        let mut different: Vec<(usize, String)> = Vec::new();
        let empty = Filter::from_bytes(trained(n_labels, Keep::Vectors, &[])).unwrap();
        let digest = |text: &str| empty.digest(Document::Text(text)).unwrap();
        for (label, text) in all {
            if different.iter().all(|(_, known)| digest(known) != digest(&text)) {
                different.push((label, text));
            }
        }
        let at_once = Filter::from_bytes(trained(n_labels, Keep::Vectors, &different)).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (first, rest) = different.split_at(split.min(different.len()));
        let mut bytes = Some(trained(n_labels, Keep::Vectors, rest));
        for (label, text) in first.iter().rev() {
            let mut learner = open(&folder, bytes.take().as_deref(), limits);
            learner.learn(LABELS[label % n_labels], Document::Text(text)).unwrap();
            let document = Document::Text(text);
            if !text.is_empty() {
                prop_assert_eq!(learner.learn(LABELS[label % n_labels], document).unwrap(), LearnOutcome::Already);
            }
            learner.commit().unwrap();
        }
        let learner = open(&folder, bytes.take().as_deref(), limits);
        prop_assert_eq!(counts(learner.filter()), counts(&at_once));
        prop_assert_eq!(&learner.filter.store().totals, &at_once.store().totals);
        prop_assert_eq!(learner.filter.store().n_features(), at_once.store().n_features());
        prop_assert_eq!(learner.filter.information().size.documents, different.len());
        // other readers see what the learner knows
        let read = Filter::open(model_path(&folder)).unwrap();
        for (_, text) in &different {
            let scores = [&read, learner.filter()].map(|f| f.score_text(text, &mut Scratch::default()).unwrap());
            prop_assert_eq!(scores[0], scores[1]);
        }
        let statistics: Statistics = read.store().statistics().unwrap();
        prop_assert_eq!(statistics.n_features() as u64, at_once.store().n_features());
    }

    /// Moving to another label and back.
    #[test]
    fn a_document_moves(n_labels in 2usize..=3, before in texts(), pick: proptest::sample::Index, to in 0usize..3) {
        let before: Vec<_> = before.into_iter().filter(|(_, text)| !text.is_empty()).collect();
        prop_assume!(!before.is_empty());
        let folder = tempfile::tempdir().unwrap();
        let start = trained(n_labels, Keep::Vectors, &before);
        let mut learner = open(&folder, Some(&start), LOG_ALONE);
        let text = &before[pick.index(before.len())].1;
        let known: Vec<_> = learner.known(learner.filter.digest(Document::Text(text)).unwrap()).unwrap();
        let copies: u32 = known.iter().map(|known| known.multiplicity).sum();
        let label = LABELS[to % n_labels];
        let outcome = learner.learn(label, Document::Text(text)).unwrap();
        let from: Vec<_> =
            known.iter().map(|known| learner.label(known.class)).filter(|known| known != label).collect();
        prop_assert_eq!(outcome, if from.is_empty() { LearnOutcome::Already } else { LearnOutcome::Moved { from } });
        let now = learner.known(learner.filter.digest(Document::Text(text)).unwrap()).unwrap();
        prop_assert_eq!(now.len(), 1);
        let under = learner.label(now[0].class);
        prop_assert_eq!((under.as_str(), now[0].multiplicity), (label, copies));
        learner.filter().verify().unwrap();
        learner.commit().unwrap();
        Filter::open(model_path(&folder)).unwrap().verify().unwrap();
    }

    /// Retraining gives the same bytes as training on the documents that are left, whatever was learned, forgotten,
    /// rewritten and merged before, committed or not.
    #[test]
    fn what_is_left_decides(
        n_labels in 2usize..=3, before in texts(), more in texts(), others in texts(), commits: bool,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut learner = open(&folder, Some(&trained(n_labels, Keep::Vectors, &before)), LOG_ALONE);
        let mut all = before.clone();
        let digest = |learner: &Learner, text: &str| learner.filter.digest(Document::Text(text)).unwrap();
        for (at, (label, text)) in more.iter().enumerate() {
            let own = digest(&learner, text);
            if learner.known(own).unwrap().is_empty() {
                learner.learn(LABELS[label % n_labels], Document::Text(text)).unwrap();
                all.push((*label, text.clone()));
            } else if learner.is_nothing(own) {
                continue;
            } else if at % 2 == 0 {
                while learner.forget(None, Document::Text(text)).is_ok() {}
                all.retain(|(_, other)| digest(&learner, other) != own);
            } else {
                learner.compact().unwrap();
            }
        }
        if commits {
            learner.commit().unwrap();
        }
        let known: Vec<_> = all.iter().map(|(_, text)| digest(&learner, text)).collect();
        let apart: Vec<_> =
            others.into_iter().filter(|(_, text)| !known.contains(&digest(&learner, text))).collect();
        learner.retrain().unwrap();
        let expected = trained(n_labels, Keep::Vectors, &all);
        prop_assert_eq!(unchanging(model_bytes(&folder)), unchanging(expected));
        let other = Filter::from_bytes(trained(n_labels, Keep::Vectors, &apart)).unwrap();
        let merged = merge(&[&other, learner.filter()], MergeOptions::default()).unwrap();
        all.extend(apart);
        let expected = trained(n_labels, Keep::Vectors, &all);
        prop_assert_eq!(unchanging(merged.as_bytes().to_vec()), unchanging(expected));
    }
}

#[test]
fn documents_without_terms_are_counted_and_never_known() {
    let folder = tempfile::tempdir().unwrap();
    let start = of_two(2, Keep::Vectors);
    let mut learner = open(&folder, Some(&start), LOG_ALONE);
    let nothing = Document::Text(" - ");
    let documents = |learner: &Learner| {
        learner.filter().information().totals.iter().map(|t| t.documents).collect::<Vec<_>>()
    };
    for label in ["eggs", "eggs", "ham", "eggs"] {
        assert_eq!(learner.learn(label, nothing).unwrap(), LearnOutcome::New);
    }
    assert_eq!(documents(&learner), [4, 2]);
    learner.filter().verify().unwrap();
    // only a label can tell which of them is meant
    let refused = learner.forget(None, nothing);
    assert!(
        matches!(refused.err().unwrap().reason(), Reason::NotLearned { known: Some(labels), .. } if labels == "eggs, ham")
    );
    learner.forget(Some("eggs"), nothing).unwrap();
    learner.forget(Some("ham"), nothing).unwrap();
    assert_eq!(documents(&learner), [3, 1]);
    learner.forget(None, nothing).unwrap();
    learner.forget(None, nothing).unwrap();
    assert!(matches!(
        learner.forget(None, nothing).err().unwrap().reason(),
        Reason::NotLearned { known: None, .. }
    ));
    learner.compact().unwrap();
    assert_eq!(unchanging(model_bytes(&folder)), unchanging(start));
}

#[test]
fn forgetting_wants_the_document_and_its_label() {
    let folder = tempfile::tempdir().unwrap();
    for (keep, known) in [(Keep::Vectors, true), (Keep::Digests, false)] {
        let mut learner = open(&folder, Some(&of_two(2, keep)), LOG_ALONE);
        let egg = Document::Text("boiled egg");
        let digest = learner.filter().digest(egg).unwrap();
        let refused = learner.forget(Some("ham"), egg).unwrap_err();
        assert!(matches!(refused.reason(), Reason::NotLearned { known: Some(label), .. } if label == "eggs"));
        let refused = learner.forget(Some("hum"), egg).unwrap_err();
        assert!(
            matches!(refused.reason(), Reason::UnknownLabel { nearest: Some(nearest), .. } if nearest == "ham")
        );
        assert!(matches!(
            learner.forget(None, Document::Text("x")).unwrap_err().reason(),
            Reason::NotLearned { known: None, .. }
        ));
        match (learner.forget_digest(None, digest).map_err(Error::into_reason), known) {
            (Ok(_), true) => (),
            (Err(Reason::TermsNotStored), false) => drop(learner.forget(Some("eggs"), egg).unwrap()),
            other => panic!("{other:?}"),
        }
        learner.commit().unwrap();
        assert_eq!(learner.filter().information().size.documents, 1);
        assert_eq!(learner.filter().information().size.terms, 2);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// A label is added later, and sorts before or after the others.
    #[test]
    fn a_label_comes_later(before in texts(), more in texts(), digests: bool, first: bool) {
        let keep = if digests { Keep::Digests } else { Keep::Vectors };
        let folder = tempfile::tempdir().unwrap();
        let mut learner = open(&folder, Some(&trained(2, keep, &before)), (300, false));
        let label = if first { "bacon" } else { "tea" };
        learner.add_label(label).unwrap();
        learner.filter().verify().unwrap();
        for (_, text) in &more {
            learner.learn(label, Document::Text(text)).unwrap();
            learner.commit().unwrap();
        }
        let read = Filter::open(model_path(&folder)).unwrap();
        read.verify().unwrap();
        let class = read.classes().index(label).unwrap();
        prop_assert_eq!(class, if first { 0 } else { 2 });
        for (_, text) in &more {
            let document = read.digest(Document::Text(text)).unwrap();
            prop_assert!(read.store().document((document, class)).unwrap().is_some());
        }
    }
}

#[test]
fn nothing_is_appended_to_another_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut learner = open(&folder, Some(&of_two(2, Keep::Vectors)), LOG_ALONE);
    learner.learn("ham", Document::Text("raw ham")).unwrap();
    // as after a compaction that failed just before its end
    let other = folder.path().join("other.tamis");
    std::fs::write(&other, of_two(3, Keep::Vectors)).unwrap();
    std::fs::rename(other, model_path(&folder)).unwrap();
    learner.commit().unwrap();
    let filter = Filter::open(model_path(&folder)).unwrap();
    filter.verify().unwrap();
    assert_eq!(filter.information().size.documents, 3);
}

/// Arbitrary log entries, for a model of few terms and labels.
fn entry() -> impl Strategy<Value = LogEntry> {
    let number = || prop_oneof![4 => 0u32..3, 1 => any::<u32>()];
    let row = proptest::collection::btree_map(0u32..7, number().prop_map(|n| n.max(1)), 0..5);
    let class = || prop_oneof![9 => 0u16..2, 1 => 2u16..5];
    let coefficients = proptest::collection::vec((class(), any::<i32>(), any::<i64>()), 0..4);
    let new = proptest::collection::vec((any::<u64>(), text()), 0..3);
    let numbers = (number(), number(), any::<Option<[f32; 5]>>(), -2i32..3);
    ((proptest::bool::weighted(0.8), class(), 0u8..3), row, coefficients, new, numbers).prop_map(
        |(
            (learned, class, digest),
            row,
            coefficients,
            new_terms,
            (multiplicity, place, held_out, features),
        )| {
            let coefficients = coefficients.into_iter().map(|(class, units, bias)| Coefficient {
                class,
                bias,
                units: units.into(),
            });
            let document = StoredDocument {
                fraction: 0,
                name: Box::default(),
                digest: [digest; 16],
                class,
                multiplicity,
                date: NO_DATE,
                group: 7,
                message: 8,
                coefficients: coefficients.collect(),
                held_out: held_out.map(|both| both.map(f64::from)),
                learned: place,
                vector: CountVector::from_pairs(row).unwrap(),
                dense: vec![0.5; usize::from(class > 1)].into(),
            };
            let change = if learned { Change::Learned } else { Change::Forgotten };
            LogEntry { change, document, features, new_terms }
        },
    )
}

/// Asks a file that may be anything about a document and about itself: an answer is a number.
fn ask(filter: &Filter, document: Document<'_>) {
    let mut scratch = Scratch::default();
    if let Ok(score) = filter.score(document, &mut scratch) {
        assert!((0.0..=1.0).contains(&score.probability) && !score.log_odds.is_nan());
    }
    let _ = (
        filter.explain(document, &mut scratch),
        crate::evaluate::suspects(filter),
        filter.verify(),
        filter.information(),
    );
    (0..filter.classes().len()).for_each(|class| drop(filter.strongest_terms(class as ClassId, 3)));
}

/// Lets a file that may be anything learn and forget.
fn teach(file: &[u8], document: Document<'_>, options: LearnOptions) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(model_path(&folder), file).unwrap();
    if let Ok(mut learner) = Learner::open(model_path(&folder), options) {
        let _ = (learner.learn("ham", document), learner.forget_digest(None, [0; 16]), learner.commit());
    }
}

/// Models of all scorings, without a log.
fn of_every_scoring() -> Vec<Vec<u8>> {
    use tamis_store::config::scoring::ExpectationMaximization;
    let scorings = [
        None,
        Some(Scoring::NaiveBayes(Scoring::parameters())),
        Some(Scoring::ExpectationMaximization(ExpectationMaximization::for_documents(4))),
    ];
    let model = |scoring: &Option<Scoring>, n_labels: usize| {
        let options = TrainOptions {
            scoring: scoring.clone(),
            keep: Some(Keep::Vectors),
            ..TrainOptions::new(Kind::Text)
        };
        let labelled = LABELS.iter().zip(["boiled egg", "cooked ham", "cheap ham"]).take(n_labels);
        taught(options, labelled).finish().unwrap().as_bytes().to_vec()
    };
    scorings.iter().flat_map(|scoring| [2, 3].map(|n_labels| model(scoring, n_labels))).collect()
}

#[test]
fn a_document_stays_in_its_group_wherever_it_goes() {
    let folder = tempfile::tempdir().unwrap();
    let mut learner = open(&folder, Some(&trained(3, Keep::Vectors, &[])), LOG_ALONE);
    let text = Document::Text("boiled egg");
    let alice = group_number(Some("alice"), 0);
    let of_record = |learner: &Learner| {
        let known: Vec<_> = learner.filter.store().documents().map(|known| known.unwrap()).collect();
        known.iter().map(|known| (known.class, known.group)).collect::<Vec<_>>()
    };
    learner.learn_in_group(LABELS[0], Some("alice"), text).unwrap();
    assert_eq!(learner.learn_in_group(LABELS[0], Some("bob"), text).unwrap(), LearnOutcome::Already);
    assert_eq!(of_record(&learner), [(0, alice)]);
    // another label, the same author
    assert!(matches!(learner.learn(LABELS[1], text).unwrap(), LearnOutcome::Moved { .. }));
    assert_eq!(of_record(&learner), [(1, alice)]);
    learner.commit().unwrap();
    learner.retrain().unwrap();
    assert_eq!(of_record(&learner), [(1, alice)]);
    // one of two documents without terms is forgotten, the other stays as it was
    learner.forget(None, text).unwrap();
    let nothing = Document::Text("");
    (0..2).for_each(|_| _ = learner.learn_in_group(LABELS[2], Some("alice"), nothing).unwrap());
    learner.forget(None, nothing).unwrap();
    assert_eq!(of_record(&learner), [(2, alice)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// An arbitrary log with the right checksums gives an error or an answer, whatever is asked.
    #[test]
    fn a_log_of_anything_is_read_or_refused(
        pick: proptest::sample::Index,
        records in proptest::collection::vec(proptest::collection::vec(entry(), 1..3), 1..4),
    ) {
        thread_local!(static MODELS: Vec<Vec<u8>> = of_every_scoring());
        let mut file = MODELS.with(|models| models[pick.index(models.len())].clone());
        let seed = tamis_store::file::header::checksum(&file).unwrap();
        file.resize(file.len() + tamis_store::file::slots::SegmentSlots::reach(file.len()), 0);
        for record in &records {
            let at = file.len();
            log::write(record, at, seed, &mut file).unwrap();
        }
        if let Ok(filter) = Filter::from_bytes(file.clone()) {
            let document = Document::Text("boiled ham w1 w2");
            ask(&filter, document);
            // compaction lists the scores of all copies
            prop_assume!(records.iter().flatten().all(|entry| entry.document.multiplicity < 3));
            let _ = (rewrite::compact(filter.store()), refit::refit(filter.store()));
            teach(&file, document, LearnOptions::default());
        }
    }
}
