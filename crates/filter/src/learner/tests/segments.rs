//! Segments: whatever is cut, torn, flipped or forged, nothing that was acknowledged is lost and no answer is wrong.

use super::*;
use crate::slots::Slots;

const SECTOR: usize = log::SECTOR;

/// Everything that a file says.
fn said(filter: &Filter) -> impl PartialEq + std::fmt::Debug + use<> {
    let documents: Vec<_> = filter.store.documents().map(|document| document.unwrap()).collect();
    let by_text = |document: &Remembered| {
        let row = document.vector.row();
        let mut terms: Vec<_> =
            row.iter().map(|(id, n)| (filter.store.text(id).unwrap().to_owned(), n)).collect();
        terms.sort();
        (document.key(), document.multiplicity, document.coefficients.clone(), terms)
    };
    let documents: Vec<_> = documents.iter().map(by_text).collect();
    let score = filter.score_text("w1 w2 w3 w4 w5 w6 new", &mut Scratch::default()).unwrap();
    let store = &filter.store;
    (documents, counts(filter), store.totals.clone(), store.changes(), store.n_documents(), score)
}

/// What a file was after each commit, and what it said then.
struct History<S> {
    files: Vec<Vec<u8>>,
    said: Vec<S>,
}

fn document(i: usize) -> String {
    // some words are frequent, some new
    format!("w{} w{} w{} new{i} new{}", i % 3, i % 7, 5 + i % 2, i + 1)
}

/// A model that learns and forgets texts one by one, with a segment whenever the log has so many bytes.
fn history(n: usize, log_limit: usize, keep: Keep) -> History<impl PartialEq + std::fmt::Debug> {
    let texts = [(0, "w1 w2 boiled egg".to_owned()), (1, "w3 w4 cooked ham".to_owned())];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.tamis");
    let mut learner = open(&folder, Some(&trained(2, keep, &texts)), (log_limit, true));
    let mut history = History { files: Vec::new(), said: Vec::new() };
    for i in 0..=n {
        history.files.push(std::fs::read(&path).unwrap());
        history.said.push(said(&Filter::open(&path).unwrap()));
        match i % 5 {
            4 => drop(learner.forget(None, Document::Text(&document(i - 2))).unwrap()),
            _ => drop(learner.learn(LABELS[i % 2], Document::Text(&document(i))).unwrap()),
        }
        learner.commit().unwrap();
    }
    history
}

#[test]
fn there_are_few_segments_and_they_say_what_the_log_would() {
    for keep in [Keep::Vectors, Keep::Digests] {
        let [short, long] = [1, 1 << 20].map(|log_limit| history(60, log_limit, keep));
        let mut most = 0;
        for (i, (a, b)) in short.files.iter().zip(&long.files).enumerate() {
            let [a, b] = [a, b].map(|file| Filter::from_bytes(file.clone()).unwrap());
            a.verify().unwrap();
            assert_eq!(a.store.overlay.documents().len(), 0);
            assert_eq!(a.information().segments > 0, i > 0);
            most = most.max(a.information().segments);
            let [a, b] = [a, b].map(|filter| (counts(&filter), rewrite::fold(&filter.store).unwrap()));
            assert!(a == b, "{i}");
        }
        assert!((2..=4).contains(&most), "{most}");
    }
}

#[test]
fn a_writer_stopped_anywhere_loses_nothing() {
    let history = history(25, 400, Keep::Vectors);
    let mut seen = [0; 2];
    for i in 1..history.files.len() {
        let [before, after] = [&history.files[i - 1], &history.files[i]];
        assert!(before.len() < after.len());
        let end = Filter::from_bytes(before.clone()).unwrap().store.base().len();
        let slots = end.next_multiple_of(SECTOR)..end + Slots::reach(end);
        let slots_before = before.get(slots.clone()).unwrap_or(&[0; 2 * SECTOR]);
        let is_segment = *slots_before != after[slots.clone()];
        seen[usize::from(is_segment)] += 1;
        // what is appended ends anywhere, or its sectors from a place on were never written
        let mut appended = after.clone();
        appended[slots.clone()].copy_from_slice(slots_before);
        for cut in (before.len()..after.len()).step_by(7) {
            check_stopped(&appended[..cut], &history, i, false);
            let mut zeros = appended.clone();
            zeros[cut.next_multiple_of(SECTOR).min(after.len())..].fill(0);
            check_stopped(&zeros, &history, i, cut.next_multiple_of(SECTOR) >= after.len());
        }
        // a part of the slot is written
        for cut in (0..=2 * SECTOR).step_by(37) {
            let mut torn = appended.clone();
            torn[slots.start..slots.start + cut].copy_from_slice(&after[slots.start..slots.start + cut]);
            check_stopped(&torn, &history, i, true);
            torn[slots.clone()].copy_from_slice(&after[slots.clone()]);
            torn[slots.start..slots.start + cut].copy_from_slice(&slots_before[..cut]);
            check_stopped(&torn, &history, i, true);
        }
    }
    assert!(seen.iter().all(|n| *n > 3), "{seen:?}");
}

/// A file of which a writer was stopped that was to acknowledge document `i` says what it did before, or if `may_be_there` that
/// too; and goes on learning.
#[track_caller]
fn check_stopped<S: PartialEq + std::fmt::Debug>(
    file: &[u8],
    history: &History<S>,
    i: usize,
    may_be_there: bool,
) {
    let filter = Filter::from_bytes(file.to_vec()).unwrap();
    filter.verify().unwrap();
    let is_there = filter.store.changes() == i as u64;
    assert!(!is_there || may_be_there);
    let folder = tempfile::tempdir().unwrap();
    // most of what may happen is alike
    if file.len().is_multiple_of(11) {
        let mut learner = open(&folder, Some(file), (1, true));
        for text in ["more", "and more"] {
            learner.learn("ham", Document::Text(text)).unwrap();
            learner.commit().unwrap();
            Filter::open(folder.path().join("model.tamis")).unwrap().verify().unwrap();
        }
        let n = if is_there { i } else { i - 1 } as u64;
        assert_eq!(learner.filter().store.changes(), n + 2);
    }
    let known = i - usize::from(!is_there);
    assert_eq!(filter.store.changes(), known as u64);
    assert_eq!(format!("{:?}", said(&filter)), format!("{:?}", history.said[known]));
}
