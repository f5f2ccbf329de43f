//! Records of learned and forgotten documents: as they come, and whole ones with bytes changed behind their checksum.

use super::Choices;
use super::learn::folder;
use super::model::crc32;
use std::path::Path;
use std::sync::LazyLock;
use tamis_train::options::PieceLengths;
use tamis_train::replication::Record;
use tamis_train::{Document, Keep, Kind, LearnOptions, Learner, TrainOptions};

static RECORDS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(records);

pub fn run(data: &[u8]) {
    let mut choices = Choices(data);
    let (base, repair) = (usize::from(choices.byte()), choices.flag());
    let keep = choices.of(&[Keep::Vectors, Keep::Digests]);
    // one that it may replace
    let before = &RECORDS[usize::from(choices.byte()) % RECORDS.len()];
    let known = RECORDS.get(base % 16);
    let mut bytes = known.map_or_else(|| choices.0.to_vec(), Vec::clone);
    if known.is_some() {
        choices.damage(&mut bytes);
    }
    let is_same = known == Some(&bytes);
    if repair && bytes.len() >= 16 {
        let sum = crc32(crc32(0, &bytes[8..12]), &bytes[16..]);
        bytes[12..16].copy_from_slice(&sum.to_le_bytes());
    }
    let Ok(record) = Record::from_bytes(&bytes) else {
        return assert!(!is_same, "damage was seen where there is none");
    };
    assert!(is_same || repair || known.is_none(), "damage was not noticed");
    assert!(Record::from_bytes(&record.to_bytes()).expect("it was read") == record);
    let folder = folder();
    let path = folder.join("record.tamis");
    let _ = std::fs::remove_file(&path);
    let mut learner = open(&path, keep, true);
    learner.apply(&Record::from_bytes(before).expect("a whole record")).expect("one of the same recipe");
    if learner.apply(&record).is_ok() {
        assert!(!learner.apply(&record).expect("it was just applied"), "applied twice is applied once");
    }
    learner.commit().expect("the disk has room");
    learner.filter().verify().expect("what was learned is whole");
    drop(learner);
    let _ = std::fs::remove_file(&path);
}

/// Learns by a small recipe with pieces of words.
fn open(path: &Path, keep: Keep, names: bool) -> Learner {
    let mut options = TrainOptions::new(Kind::Mail);
    (options.keep, options.names) = (Some(keep), names);
    options.recipe.pieces = Some(PieceLengths::FOUR);
    Learner::create(path, options, ["ham", "spam"], LearnOptions::default()).expect("a new model can be made")
}

/// Records with texts and without.
fn records() -> Vec<Vec<u8>> {
    let lunch = Document::Mail(b"Message-ID: <1@b>\nSubject: lunch\n\nsoup at noon, soup\n");
    let again = Document::Mail(b"Message-ID: <1@b>\nFrom: a@b\nSubject: lunch\n\nsoup at noon, soup\n");
    let mut records = Vec::new();
    for names in [false, true] {
        let path = folder().join("records.tamis");
        let _ = std::fs::remove_file(&path);
        let mut learner = open(&path, Keep::Vectors, names);
        for document in [lunch, again, Document::Fields(&[])] {
            for label in [None, Some("spam")] {
                let record = learner.record(label, document).expect("mail can be learned");
                records.push(record.to_bytes());
            }
        }
        drop(learner);
        let _ = std::fs::remove_file(&path);
    }
    records
}
