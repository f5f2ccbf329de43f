use proptest::prelude::*;
use tamis_filter::extract::document::Document;
use tamis_store::kind::Kind;

use super::*;
use crate::update::learner::{LearnOptions, Learner};
use crate::{ErrorKind, TrainOptions};

/// A learner of an empty model, with or without names.
fn learner(folder: &tempfile::TempDir, names: bool) -> Learner {
    let mut options = TrainOptions { names, ..TrainOptions::new(Kind::Mail) };
    options.recipe.pieces = Some(tamis_tokenizer::PieceLengths::FOUR);
    let path = folder.path().join(format!("{names}.tamis"));
    Learner::create(path, options, ["ham", "spam"], LearnOptions::default()).unwrap()
}

fn records() -> Vec<Record> {
    let folder = tempfile::tempdir().unwrap();
    let mut records = Vec::new();
    for names in [false, true] {
        let mut learner = learner(&folder, names);
        for text in [
            "",
            "Subject: lunch\n\nsoup at noon, soup\n",
            "Message-ID: <1@b>\nDate: 1 Jan 2024 10:00 +0000\n\nx",
        ] {
            for label in [None, Some("spam")] {
                records.push(learner.record(label, Document::Mail(text.as_bytes())).unwrap());
            }
        }
    }
    records
}

#[test]
fn records_come_back_and_every_changed_bit_is_noticed() {
    for record in records() {
        let bytes = record.to_bytes();
        assert_eq!(Record::from_bytes(&bytes).unwrap(), record);
        for length in 0..bytes.len() {
            assert!(Record::from_bytes(&bytes[..length]).is_err());
        }
        for at in 0..8 * bytes.len() {
            let mut changed = bytes.clone();
            changed[at / 8] ^= 1 << (at % 8);
            assert!(Record::from_bytes(&changed).is_err(), "bit {at}");
        }
        let longer = [&bytes[..], b"x"].concat();
        assert_eq!(Record::from_bytes(&longer).unwrap_err().kind(), ErrorKind::Damaged);
    }
}

#[test]
fn other_bytes_and_other_versions_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let model = std::fs::read({
        learner(&folder, true);
        folder.path().join("true.tamis")
    });
    let kind = |bytes: &[u8]| Record::from_bytes(bytes).unwrap_err().kind();
    assert_eq!(kind(&model.unwrap()), ErrorKind::NotAModel);
    assert_eq!(kind(b"GET / HTTP/1.1"), ErrorKind::NotAModel);
    let mut later = records()[0].to_bytes();
    later[8] += 1;
    assert_eq!(kind(&later), ErrorKind::Version);
}

/// Repairs the checksum.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.len() >= START {
        let sum = checksum_of(&bytes);
        bytes[SUM..START].copy_from_slice(&sum.to_le_bytes());
    }
    bytes
}

#[test]
fn a_record_that_says_what_none_would_is_refused() {
    let record = &records()[9];
    assert!(record.n_words > 3 && record.entry.new_terms.len() > record.n_words && record.label().is_some());
    let refused = |change: &dyn Fn(&mut Record)| {
        let mut changed = record.clone();
        change(&mut changed);
        assert_eq!(Record::from_bytes(&changed.to_bytes()).unwrap_err().kind(), ErrorKind::Damaged);
    };
    refused(&|record| record.label = None);
    refused(&|record| record.n_words += 1);
    refused(&|record| record.n_words = usize::MAX);
    refused(&|record| record.recipe_version += 1);
    refused(&|record| record.entry.change = Change::Forgotten);
    refused(&|record| record.entry.features = 1);
    refused(&|record| record.entry.document.class = 1);
    refused(&|record| record.entry.document.multiplicity = 0);
    refused(&|record| record.entry.document.learned = 1);
    refused(&|record| record.entry.document.held_out = Some([0.5; 5]));
    refused(&|record| record.entry.document.digest[3] ^= 1);
    refused(&|record| record.entry.document.vector = CountVector::default());
    refused(&|record| record.entry.new_terms.swap(0, 1));
    refused(&|record| record.entry.new_terms[0].0 ^= 1);
    refused(&|record| record.entry.new_terms[0].1.push('x'));
    refused(&|record| {
        let first = record.entry.new_terms[0].clone();
        *record.entry.new_terms.last_mut().unwrap() = first;
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_bytes_behind_a_right_checksum_are_an_error_or_a_record_that_can_be_applied(
        which: proptest::sample::Index,
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..3),
    ) {
        let all = records();
        let mut bytes = all[which.index(all.len())].to_bytes();
        for (at, value) in &changes {
            let at = START + at.index(bytes.len() - START);
            bytes[at] = *value;
        }
        if let Ok(record) = Record::from_bytes(&sealed(bytes)) {
            prop_assert_eq!(&Record::from_bytes(&record.to_bytes()).unwrap(), &record);
            let folder = tempfile::tempdir().unwrap();
            let mut learner = learner(&folder, true);
            let _ = learner.apply(&record);
            learner.filter().verify().unwrap();
        }
    }
}
