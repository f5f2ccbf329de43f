//! Segments: whatever is cut, torn, flipped or forged, nothing that was acknowledged is lost and no answer is wrong.

use tamis_store::file::container::{BLOCK, decode};
use tamis_store::file::slots::SegmentSlots;
use tamis_store::store::segment::{SegmentHeader, write as write_segment};

use super::*;

const SECTOR: usize = log::SECTOR;

/// Everything that a file contains.
fn said(filter: &Filter) -> impl PartialEq + std::fmt::Debug + use<> {
    let documents: Vec<_> = filter.store().documents().map(|document| document.unwrap()).collect();
    let by_text = |document: &StoredDocument| {
        let row = document.vector.row();
        let mut terms: Vec<_> =
            row.iter().map(|(id, n)| (filter.store().text(id).unwrap().to_owned(), n)).collect();
        terms.sort();
        (document.key(), document.multiplicity, document.coefficients.clone(), terms)
    };
    let documents: Vec<_> = documents.iter().map(by_text).collect();
    let score = filter.score_text("w1 w2 w3 w4 w5 w6 new", &mut Scratch::default()).unwrap();
    let store = filter.store();
    (
        documents,
        counts(filter),
        store.totals.clone(),
        store.changes().since_training,
        store.n_documents(),
        score,
    )
}

/// A file after each commit, and what it contained then.
struct History<S> {
    files: Vec<Vec<u8>>,
    said: Vec<S>,
}

/// A model of two labels, some of whose words are those of the documents that are learned.
fn base(keep: Keep) -> Vec<u8> {
    trained(2, keep, &[(0, "w1 w2 boiled egg".to_owned()), (1, "w3 w4 cooked ham".to_owned())])
}

fn document(i: usize) -> String {
    // some words are frequent, some new
    format!("w{} w{} w{} new{i} new{}", i % 3, i % 7, 5 + i % 2, i + 1)
}

/// Learns and forgets `n` texts one by one, with a segment whenever the log reaches a quarter of `log_limit`.
fn history(n: usize, log_limit: usize, keep: Keep) -> History<impl PartialEq + std::fmt::Debug> {
    let folder = tempfile::tempdir().unwrap();
    let mut learner = open(&folder, Some(&base(keep)), (log_limit, true));
    let mut history = History { files: Vec::new(), said: Vec::new() };
    for i in 0..=n {
        history.files.push(model_bytes(&folder));
        history.said.push(said(&Filter::open(model_path(&folder)).unwrap()));
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
            assert!(a.store().overlay.documents.is_empty());
            assert_eq!(a.information().file.segments > 0, i > 0);
            most = most.max(a.information().file.segments);
            let [a, b] = [a, b].map(|filter| (counts(&filter), rewrite::compact(filter.store()).unwrap()));
            assert!(a == b, "{i}");
        }
        assert!((2..=4).contains(&most), "{most}");
    }
}

#[test]
fn a_writer_stopped_anywhere_loses_nothing() {
    let history = history(25, 1_600, Keep::Vectors);
    let mut seen = [0; 2];
    for i in 1..history.files.len() {
        let [before, after] = [&history.files[i - 1], &history.files[i]];
        assert!(before.len() < after.len());
        let end = Filter::from_bytes(before.clone()).unwrap().store().base().len();
        let slots = end.next_multiple_of(SECTOR)..end + SegmentSlots::reach(end);
        let slots_before = before.get(slots.clone()).unwrap_or(&[0; 2 * SECTOR]);
        let is_segment = *slots_before != after[slots.clone()];
        seen[usize::from(is_segment)] += 1;
        let mut appended = after.clone();
        appended[slots.clone()].copy_from_slice(slots_before);
        let filter = Filter::from_bytes(appended.clone()).unwrap();
        let store = filter.store();
        let record = store.log.end() as usize;
        assert_eq!(record < after.len(), is_segment);
        // a record, and then a segment, ends anywhere, or its sectors from some point on were never written
        for (start, end) in [(before.len(), record), (record, after.len())] {
            for cut in (start..end).step_by(23) {
                check_stopped(&appended[..cut], &history, i, start == record);
                let mut zeros = appended[..end].to_vec();
                let whole = cut.next_multiple_of(SECTOR).min(end);
                zeros[whole..].fill(0);
                check_stopped(&zeros, &history, i, start == record || whole == end);
            }
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

/// Checks a file whose writer was stopped before it acknowledged document `i`: the file contains what it did before or,
/// if `may_be_there`, that document too, and a learner can go on with it.
#[track_caller]
fn check_stopped<S: PartialEq + std::fmt::Debug>(
    file: &[u8],
    history: &History<S>,
    i: usize,
    may_be_there: bool,
) {
    let filter = Filter::from_bytes(file.to_vec()).unwrap();
    filter.verify().unwrap();
    let is_there = filter.store().changes().since_training == i as u64;
    assert!(!is_there || may_be_there);
    let folder = tempfile::tempdir().unwrap();
    // most cases are alike, so only some are tried
    if file.len().is_multiple_of(31) {
        let mut learner = open(&folder, Some(file), (1, true));
        for text in ["more", "and more"] {
            learner.learn("ham", Document::Text(text)).unwrap();
            learner.commit().unwrap();
            Filter::open(model_path(&folder)).unwrap().verify().unwrap();
        }
        let n = if is_there { i } else { i - 1 } as u64;
        assert_eq!(learner.filter().store().changes().since_training, n + 2);
    }
    let known = i - usize::from(!is_there);
    assert_eq!(filter.store().changes().since_training, known as u64);
    assert_eq!(format!("{:?}", said(&filter)), format!("{:?}", history.said[known]));
}

#[test]
fn a_flipped_bit_is_an_error_or_changes_nothing() {
    for (log_limit, n) in [(1, 12), (1_600, 23)] {
        let history = history(n, log_limit, Keep::Vectors);
        let (file, right) = (&history.files[n], format!("{:?}", history.said[n]));
        let end = Filter::from_bytes(file.clone()).unwrap().store().base().len();
        let mut refused = 0;
        for at in end..file.len() {
            let mut bytes = file.clone();
            bytes[at] ^= 1 << (at % 8);
            match Filter::from_bytes(bytes).and_then(|filter| filter.verify().map(|()| filter)) {
                Ok(filter) => assert!(format!("{:?}", said(&filter)) == right, "{at}"),
                Err(error) => refused += usize::from(!error.to_string().is_empty()),
            }
        }
        assert!(refused > (file.len() - end) / 10, "{refused}");
    }
}

/// Runs every operation on a file.
fn try_all(file: &[u8]) {
    let Ok(filter) = Filter::from_bytes(file.to_vec()) else { return };
    let document = Document::Text("w1 w2 w3 new1 new2 q");
    ask(&filter, document);
    let _ = crate::exchange::export(&filter, true, std::io::sink());
    // compaction lists the scores of all copies
    if filter.store().documents().all(|known| known.is_ok_and(|known| known.multiplicity < 9)) {
        let _ = (rewrite::compact(filter.store()), refit::refit(filter.store()));
    }
    let options = LearnOptions { log_limit: 1, growth_limit: Some(1 << 20), ..LearnOptions::default() };
    teach(file, document, options);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Slots with the right checksums that name anything: ranges outside the file, overlapping ranges, the slots
    /// themselves, or what is not a segment.
    #[test]
    fn slots_that_name_anything_are_read_or_refused(
        named in proptest::collection::vec((any::<proptest::sample::Index>(), 0usize..3_000, 0u8..8), 1..4), sorted: bool,
    ) {
        thread_local!(static FILE: Vec<u8> = history(9, 1, Keep::Vectors).files[9].clone());
        let mut file = FILE.with(Clone::clone);
        let filter = Filter::from_bytes(file.clone()).unwrap();
        let store = filter.store();
        let real = store.slots.segments.clone();
        let mut segments: Vec<_> = named.iter().map(|(start, length, kind)| match kind {
            0 => usize::MAX - 9..usize::MAX,
            1 => start.index(file.len())..usize::MAX,
            2..5 => real[start.index(real.len())].clone(),
            _ => start.index(file.len())..start.index(file.len()) + length,
        }).collect();
        if sorted {
            segments.sort_by_key(|segment| segment.start);
        }
        let (at, slot) = store.slots.next(&segments, store.checksum);
        file[at as usize..][..SECTOR].copy_from_slice(&slot);
        try_all(&file);
    }

    /// A segment of arbitrary content, with the right checksums.
    #[test]
    fn a_segment_of_anything_is_read_or_refused(
        changes in proptest::collection::vec((0usize..7, any::<proptest::sample::Index>(), any::<u8>(), 0u8..8), 1..4),
    ) {
        thread_local!(static FILE: Vec<u8> = history(12, 1, Keep::Vectors).files[12].clone());
        let file = FILE.with(Clone::clone);
        let filter = Filter::from_bytes(file.clone()).unwrap();
        let store = filter.store();
        let newest = &file[store.slots.segments.last().unwrap().clone()];
        let mut end = 8 + u32::from_le_bytes(*newest.first_chunk().unwrap()) as usize;
        let mut header: SegmentHeader = decode(&newest[8..end]).unwrap();
        let mut sections = header.lengths.map(|length| {
            let (start, length) = (end, length as usize);
            end += length + 4 * length.div_ceil(BLOCK);
            newest[start..start + length].to_vec()
        });
        for (section, at, value, kind) in changes {
            let Some(bytes) = sections.get_mut(section) else {
                let number = u64::from(value).wrapping_sub(if kind < 4 { 0 } else { 200 });
                match kind % 4 {
                    0 => header.features = number as i64,
                    1 => header.changes[usize::from(kind) % 3] = number,
                    2 => header.n_terms = number,
                    _ => header.totals.iter_mut().for_each(|totals| totals.df = number),
                }
                continue;
            };
            match (kind, bytes.len()) {
                (0, n) => bytes.truncate(at.index(n + 1)),
                (_, 0) => bytes.push(value),
                (1, n) => bytes.insert(at.index(n), value),
                (_, n) => bytes[at.index(n)] = value >> (kind % 8),
            }
        }
        let content = write_segment(header, sections.each_ref().map(|section| &section[..]), store.checksum).unwrap();
        let mut forged = file;
        let start = forged.len();
        forged.extend(&content);
        let mut segments = store.slots.segments.clone();
        segments.pop();
        segments.push(start..forged.len());
        let (at, slot) = store.slots.next(&segments, store.checksum);
        forged[at as usize..][..SECTOR].copy_from_slice(&slot);
        try_all(&forged);
    }
}

#[test]
fn nothing_follows_a_segment_that_no_slot_names() {
    let folder = tempfile::tempdir().unwrap();
    let model = base(Keep::Vectors);
    let slots = model.len().next_multiple_of(SECTOR)..model.len().next_multiple_of(SECTOR) + 2 * SECTOR;
    let learn = |model: Option<&[u8]>, i: usize| {
        let mut learner = open(&folder, model, (1, true));
        learner.learn(LABELS[0], Document::Text(&document(i))).unwrap();
        learner.commit().unwrap();
        said(learner.filter())
    };
    let acknowledged = [learn(Some(&model), 0), {
        // the machine stopped before the slot was on the disk
        let mut bytes = model_bytes(&folder);
        bytes[slots.clone()].fill(0);
        learn(Some(&bytes), 1)
    }];
    // the machine stopped again, while the next writer's slot was being written
    let mut bytes = model_bytes(&folder);
    if let Some(slots) = bytes.get_mut(slots) {
        slots.chunks_mut(SECTOR).for_each(|slot| slot[SECTOR / 2..].fill(0));
    }
    let filter = Filter::from_bytes(bytes).unwrap();
    assert!(said(&filter) == acknowledged[1]);
}

/// A file that is open stays what it was, whatever is appended to it.
#[test]
fn who_has_the_file_open_goes_on_seeing_it_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = model_path(&folder);
    let mut learner = open(&folder, Some(&base(Keep::Vectors)), (1_600, true));
    let mut readers = Vec::new();
    for i in 0..20 {
        for reader in [Filter::open(&path), Filter::read(&path)] {
            let reader = reader.unwrap();
            readers.push((format!("{:?}", said(&reader)), reader));
        }
        learner.learn(LABELS[i % 2], Document::Text(&document(i))).unwrap();
        learner.commit().unwrap();
        for (before, reader) in &readers {
            assert_eq!(format!("{:?}", said(reader)), *before);
            reader.check_unchanged().unwrap();
            reader.verify().unwrap();
            // and so does a copy of it
            let copy = Model::copy(reader).unwrap().into_filter().unwrap();
            copy.verify().unwrap();
            assert_eq!(format!("{:?}", said(&copy)), *before);
        }
    }
    assert!(learner.filter().information().file.segments > 0);
    // a segment that was read is checked for changes like everything else
    let at = learner.filter().store().slots.segments[0].start + 40;
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[at] ^= 1;
    let reader = Filter::open(&path).unwrap();
    let _ = said(&reader);
    std::fs::write(&path, bytes).unwrap();
    assert!(matches!(reader.check_unchanged().err().unwrap().reason(), Reason::Changed { .. }));
}
