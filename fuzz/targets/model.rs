//! Model files: as they come, and small ones with bytes changed behind their checksums.

use super::Choices;
use std::ops::Range;
use std::sync::LazyLock;
use tamis_train::options::{
    Column, ColumnKind, ExpectationMaximization, Likelihood, Parameters, WeightedOptions,
};
use tamis_train::{
    Document, Filter, Keep, Kind, LearnOptions, Learner, Scoring, Scratch, TrainOptions, Trainer,
};

const ROW: [(&str, &str); 4] = [("miles", "2"), ("notes", "late tin"), ("sky", "blue"), ("wet", "yes")];

static MODELS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(models);

pub fn run(data: &[u8]) {
    let mut choices = Choices(data);
    let (base, repair) = (usize::from(choices.byte()), choices.flag());
    let Some(model) = MODELS.get(base % 24) else {
        let mut file = choices.0.to_vec();
        if repair {
            repair_checksums(&mut file);
        }
        ask(&file);
        return;
    };
    let mut file = model.clone();
    choices.damage(&mut file);
    let is_same = file == *model;
    if repair {
        repair_checksums(&mut file);
    }
    let accepted = ask(&file);
    assert!(accepted.is_some() || !is_same || repair, "damage was seen where there is none");
    // but for records at the end of a log, which are there whole or not at all
    let is_right = |accepted| file.get(..accepted) == model.get(..accepted);
    assert!(accepted.is_none_or(is_right) || repair, "damage was not noticed");
}

/// Asks a file for everything: what it answers, if it does, are numbers. How much of it was read, if that is whole.
fn ask(file: &[u8]) -> Option<usize> {
    let Ok(mut filter) = Filter::from_bytes(file.to_vec()) else { return None };
    let mut scratch = Scratch::default();
    let document = match filter.information().recipe.kind {
        Kind::Mail => {
            // a spam filter, whose mail has parts
            let _ = filter.set_spam_label("metal");
            Document::Mail(
                b"Subject: tin\nFrom: a@b.org\nContent-Type: text/html\n\nan apple<p hidden>iron</p>\n",
            )
        }
        Kind::Text => Document::Text("tin and an apple grow soft"),
        Kind::Table => Document::Fields(&ROW),
    };
    if let Ok(score) = filter.score(document, &mut scratch) {
        assert_eq!(scratch.probabilities().len(), filter.classes().len());
        assert!(scratch.probabilities().iter().chain([&score.probability]).all(|p| (0.0..=1.0).contains(p)));
        assert!(!score.log_odds.is_nan());
        filter.label_of(&score);
    }
    if let Ok(why) = filter.explain(document, &mut scratch) {
        assert!(!why.intercept.is_nan() && why.terms.iter().all(|term| !term.contribution.is_nan()));
    }
    for (class, _) in filter.classes().iter().take(10) {
        let _ = filter.strongest_terms(class, 3);
    }
    let _ = (tamis_train::evaluate::suspects(&filter), filter.digest(document));
    filter.verify().ok().map(|()| filter.information().file.bytes)
}

/// Writes the checksums that a file should have, if the file goes so far: of the header, whose last numbers are the
/// lengths of the sections, and of every block of them. That of all sections nobody reads.
fn repair_checksums(file: &mut [u8]) {
    let Some((seed, at)) = repair_base(file, 5) else { return };
    let slots = at.next_multiple_of(SECTOR);
    let segments = repair_slots(file, seed, slots);
    segments.iter().for_each(|segment| repair_segment(file, seed, segment.clone()));
    repair_log(file, seed, segments.last().map_or(slots + 2 * SECTOR, |last| last.end));
}

/// Writes the checksums of the header, whose last numbers are the lengths of so many sections, and of these; returns the
/// header's and where they end.
pub(super) fn repair_base(file: &mut [u8], n_sections: usize) -> Option<(u32, usize)> {
    const PREFACE: usize = 24;
    let length = u32::from_le_bytes(*file.get(12..)?.first_chunk()?) as usize;
    let start = PREFACE.saturating_add(length);
    let header = file.get(PREFACE..start)?;
    let lengths = header[header.len().saturating_sub(n_sections * 8)..].to_vec();
    let seed = crc32(crc32(0, &file[8..20]), header);
    file[20..24].copy_from_slice(&seed.to_le_bytes());
    Some((seed, repair_sections(file, seed, start, &lengths)?))
}

/// Bytes that a disk writes whole.
const SECTOR: usize = 512;

/// Writes the checksums of the slots that are in use; returns the segments that count.
fn repair_slots(file: &mut [u8], seed: u32, start: usize) -> Vec<Range<usize>> {
    let mut live = (0, Vec::new());
    for place in [start, start + SECTOR] {
        let Some(slot) = file.get_mut(place..place + SECTOR).filter(|slot| slot[..4] == *b"live") else {
            continue;
        };
        let checksum = crc32(seed, &slot[..SECTOR - 4]);
        slot[SECTOR - 4..].copy_from_slice(&checksum.to_le_bytes());
        let numbers = slot[8..SECTOR - 8].as_chunks().0.iter().map(|number| u64::from_le_bytes(*number));
        let numbers: Vec<_> = numbers.map(|number| usize::try_from(number).unwrap_or(usize::MAX)).collect();
        if numbers[0] > live.0 {
            let n = usize::from(slot[4]).min(24);
            let segments = numbers[1..].as_chunks().0.iter().take(n);
            live = (numbers[0], segments.map(|[at, length]| *at..at.saturating_add(*length)).collect());
        }
    }
    live.1
}

/// Writes the checksums of a segment: of its header, whose last numbers are the lengths of its sections, and of these.
fn repair_segment(file: &mut [u8], seed: u32, segment: Range<usize>) {
    let Some(bytes) = file.get_mut(segment).filter(|bytes| bytes.len() > 8) else { return };
    let length = bytes[..4].iter().rev().fold(0, |length, byte| length << 8 | usize::from(*byte));
    let Some(lengths) = bytes.get(8..8 + length).and_then(|header| header.last_chunk::<48>()).copied() else {
        return;
    };
    let seed = crc32(crc32(seed, &bytes[..4]), &bytes[8..8 + length]);
    bytes[4..8].copy_from_slice(&seed.to_le_bytes());
    repair_sections(bytes, seed, 8 + length, &lengths);
}

/// Writes the checksums of sections of these lengths, which begin at a place; returns where they end.
fn repair_sections(file: &mut [u8], seed: u32, mut at: usize, lengths: &[u8]) -> Option<usize> {
    const BLOCK: usize = 256;
    for length in lengths.as_chunks().0 {
        let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
        let section = file.get(at..at.checked_add(length)?)?;
        let checksums: Vec<u8> =
            section.chunks(BLOCK).flat_map(|block| crc32(seed, block).to_le_bytes()).collect();
        at += length;
        file.get_mut(at..at + checksums.len())?.copy_from_slice(&checksums);
        at += checksums.len();
    }
    Some(at)
}

/// Writes the checksums of the records from a place on: of kind and length, and of the entries, which are inverted.
fn repair_log(file: &mut [u8], seed: u32, mut at: usize) {
    const HEAD: usize = 12;
    loop {
        let left = SECTOR - at % SECTOR;
        let head = if left < HEAD { at + left } else { at };
        let Some(kind) = file.get(head..).and_then(|rest| rest.first_chunk::<8>()) else { return };
        let length = kind.iter().skip(4).rev().fold(0, |length, byte| length << 8 | usize::from(*byte));
        let checksum = crc32(seed, kind);
        let Some(end) = head.checked_add(HEAD).and_then(|start| start.checked_add(length)) else { return };
        if file.len() < end.saturating_add(5) {
            return;
        }
        file[at..head].fill(0xFF);
        file[head + 8..head + HEAD].copy_from_slice(&checksum.to_le_bytes());
        let entries: Vec<u8> = file[head + HEAD..end].iter().map(|byte| !byte).collect();
        file[end..end + 4].copy_from_slice(&crc32(seed, &entries).to_le_bytes());
        file[end + 4] = 0xFF;
        at = end + 5;
    }
}

/// CRC-32 (IEEE 802.3) that goes on from another one, bit by bit.
pub(super) fn crc32(seed: u32, bytes: &[u8]) -> u32 {
    let step = |crc: u32| crc >> 1 ^ if crc & 1 == 1 { 0xEDB8_8320 } else { 0 };
    !bytes.iter().fold(!seed, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}

/// A small model of every scoring, one of a spam filter of mail, and those that have learned since.
fn models() -> Vec<Vec<u8>> {
    let text = |scoring| {
        let mut options = TrainOptions::new(Kind::Text);
        options.scoring = Some(scoring);
        options.keep = Some(Keep::Vectors);
        options
    };
    let bayes = |likelihood| Scoring::NaiveBayes(Parameters { likelihood, ..Scoring::parameters() });
    let weighted = Scoring::Weighted(WeightedOptions::default());
    let mut counts_alone = WeightedOptions::default();
    counts_alone.correction = false;
    let counts = Scoring::Weighted(counts_alone);
    vec![
        text_model(text(weighted.clone()), 2),
        text_model(TrainOptions::new(Kind::Mail), 2),
        text_model(text(weighted.clone()), 3),
        text_model(text(counts), 3),
        text_model(text(bayes(Likelihood::Multinomial)), 2),
        text_model(text(bayes(Likelihood::Bernoulli)), 3),
        text_model(text(bayes(Likelihood::ComplementNormalized)), 3),
        text_model(text(Scoring::ExpectationMaximization(ExpectationMaximization::for_documents(7))), 3),
        table_model(),
        taught(text_model(text(weighted.clone()), 2), 1 << 20),
        taught(text_model(text(weighted.clone()), 3), 1 << 20),
        taught(text_model(text(weighted.clone()), 2), 100),
    ]
}

/// The model with what it learned by two records, the second of which has two entries; beyond so many bytes they become a segment.
fn taught(model: Vec<u8>, log_limit: usize) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("model.tamis");
    std::fs::write(&path, model).expect("the disk has room");
    let mut options = LearnOptions::default();
    options.log_limit = log_limit;
    options.growth_limit = Some(u64::MAX);
    let mut learner = Learner::open(&path, options).expect("a model was written");
    for (label, text) in [("fruit", "plums and pears"), ("metal", "apples and pears")] {
        learner.learn(label, Document::Text(text)).expect("the label is known");
        learner.commit().expect("the disk has room");
    }
    std::fs::read(&path).expect("it was just written")
}

fn text_model(options: TrainOptions, n_labels: usize) -> Vec<u8> {
    const TEXTS: [(&str, &str); 6] = [
        ("fruit", "apples and pears"),
        ("fruit", "a pear is a fruit"),
        ("metal", "iron and tin and lead"),
        ("metal", "lead is a soft metal"),
        ("tree", "oak and ash"),
        ("tree", "apples grow on a tree"),
    ];
    let is_em = matches!(options.scoring, Some(Scoring::ExpectationMaximization(_)));
    let is_mail = options.recipe.kind == Kind::Mail;
    let mut trainer = Trainer::new(options).expect("options in range");
    for (label, text) in &TEXTS[..2 * n_labels] {
        let mail = format!("From: {label}@b.org\nSubject: {text}\nTo: c\n\n{text}\n");
        let document = if is_mail { Document::Mail(mail.as_bytes()) } else { Document::Text(text) };
        trainer.add(label, document).expect("a document");
    }
    if is_em {
        trainer.add_unlabelled(Document::Text("tin is soft")).expect("a document");
    }
    trainer.finish().expect("documents of every label").as_bytes().to_vec()
}

fn table_model() -> Vec<u8> {
    let kinds = [ColumnKind::Gaussian, ColumnKind::Text, ColumnKind::Categorical, ColumnKind::Bernoulli];
    let mut options = TrainOptions::new(Kind::Table);
    options.recipe.columns =
        ROW.into_iter().zip(kinds).map(|((name, _), kind)| Column::new(name, kind)).collect();
    let mut trainer = Trainer::new(options).expect("options in range");
    for (label, cells) in [
        ("walk", ["1", "late again", "grey", "y"]),
        ("walk", ["3", "lovely", "blue", "n"]),
        ("bus", ["7", "late", "", "n"]),
        ("bus", ["9", "tin", "grey", "y"]),
    ] {
        let row: Vec<_> = ROW.into_iter().zip(cells).map(|((name, _), cell)| (name, cell)).collect();
        trainer.add(label, Document::Fields(&row)).expect("a row");
    }
    trainer.finish().expect("rows of every label").as_bytes().to_vec()
}
