//! `docs/format.md`, followed: a reader that knows nothing else finds in a file what the library says is in it.

use std::collections::BTreeMap;

use tamis_train::{Document, Filter, Kind, LearnOptions, Learner, TrainOptions, Trainer};

/// What is left to read.
#[derive(Clone, Copy)]
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, n: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(n);
        self.0 = rest;
        taken
    }

    fn number(&mut self, n: usize) -> usize {
        self.take(n).iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
    }

    fn varint(&mut self) -> usize {
        let byte = self.number(1);
        if byte < 0x80 { byte } else { byte & 0x7F | self.varint() << 7 }
    }

    fn run(&mut self) -> Bytes<'a> {
        let length = self.varint();
        Bytes(self.take(length))
    }

    fn text(&mut self) -> String {
        String::from_utf8(self.run().0.to_vec()).unwrap()
    }
}

/// `crc(s, x)`, bit by bit.
fn crc(s: u32, x: &[u8]) -> u32 {
    let step = |crc: u32| crc >> 1 ^ if crc & 1 == 1 { 0xEDB8_8320 } else { 0 };
    !x.iter().fold(!s, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
}

/// A document: its digest, class, copies and name, and how often each term is in it.
#[derive(Clone, PartialEq, Debug)]
struct Entry {
    digest: Vec<u8>,
    class: usize,
    copies: usize,
    name: String,
    terms: BTreeMap<String, usize>,
}

/// Bytes of an entry of `documents`.
const RECORD: usize = 82;

fn pass_coefficients(bytes: &mut Bytes<'_>) {
    // of each its column, what it adds to the bias, and to weights
    for _ in 0..3 * bytes.varint() {
        bytes.varint();
    }
}

fn pass_dense(bytes: &mut Bytes<'_>) {
    let length = bytes.varint();
    bytes.take(4 * length);
}

/// Reads a document off its two entries; what it adds to weights is passed over, and in a log its dense vector.
fn entry(mut record: Bytes<'_>, mut vector: Bytes<'_>, texts: &[String], is_logged: bool) -> Entry {
    let (digest, class, copies) = (record.take(16).to_vec(), record.number(2), record.number(4));
    let name = vector.text();
    pass_coefficients(&mut vector);
    if is_logged {
        pass_dense(&mut vector);
    }
    let (mut terms, mut next) = (BTreeMap::new(), 0);
    while !vector.0.is_empty() {
        let coded = vector.varint();
        let (id, count) = (next + (coded >> 1), if coded & 1 == 1 { vector.varint() } else { 1 });
        terms.insert(texts[id].clone(), count);
        next = id + 1;
    }
    Entry { digest, class, copies, name, terms }
}

/// Everything that was read of a file: by term and class documents and occurrences, the documents.
struct Model {
    texts: Vec<String>,
    counts: BTreeMap<(String, usize), (usize, usize)>,
    documents: Vec<Entry>,
}

fn read(file: &[u8]) -> Model {
    let mut rest = Bytes(file);
    assert_eq!(rest.take(8), b"TAMIS\r\n\x1a");
    let [version, length, of_sections, checksum] = [(); 4].map(|()| rest.number(4));
    assert_eq!(version, 1);
    let header = rest.take(length);
    assert_eq!(crc(crc(0, &file[8..20]), header) as usize, checksum);
    let mut size = Bytes(&header[length - 64..]);
    let [n_terms, n_cells, _] = [(); 3].map(|()| size.number(8));
    let sections = [(); 5].map(|()| {
        let content = rest.take(size.number(8));
        let sums = content.chunks(256).map(|block| crc(checksum as u32, block) as usize);
        sums.for_each(|sum| assert_eq!(rest.number(4), sum));
        content
    });
    assert_eq!(crc(0, &sections.concat()) as usize, of_sections);
    let mut model = Model { texts: Vec::new(), counts: BTreeMap::new(), documents: Vec::new() };
    read_terms(&mut model, n_terms, [sections[0], sections[1], sections[2]], false);
    assert_eq!(model.counts.len(), n_cells);
    read_documents(&mut model, sections[3], sections[4]);
    let end = file.len() - rest.0.len();
    let log = read_segments(&mut model, file, end, checksum as u32);
    read_log(&mut model, Bytes(&file[log.min(file.len())..]), file.len(), checksum as u32);
    model
}

/// Reads so many terms; in a segment, which believes itself, each begins with its id.
fn read_terms(model: &mut Model, n_terms: usize, sections: [&[u8]; 3], is_segment: bool) {
    let [mut directory, mut groups, mut texts] = sections.map(Bytes);
    for first in (0..n_terms).step_by(8) {
        let prefix = directory.number(4);
        assert_eq!(directory.number(4), sections[1].len() - groups.0.len());
        assert_eq!(groups.number(4), sections[2].len() - texts.0.len());
        let n = (n_terms - first).min(8);
        let fingerprints: Vec<_> = (0..n).map(|_| groups.number(8)).collect();
        assert!(fingerprints.is_sorted() && fingerprints[0] >> 32 == prefix);
        for (place, _) in (first..).zip(fingerprints) {
            let (own, mut run) = (texts.text(), groups.run());
            let id = if is_segment { run.varint() } else { place };
            model.texts.resize(model.texts.len().max(id + 1), String::new());
            assert_eq!(own.is_empty(), !model.texts[id].is_empty());
            model.texts[id] += &own;
            let (text, mut cells, mut class) = (model.texts[id].clone(), run.run(), 0);
            model.counts.retain(|(term, _), _| *term != text);
            while !cells.0.is_empty() {
                class += cells.varint();
                let df = cells.varint();
                model.counts.insert((text.clone(), class), (df, df + cells.varint()));
                class += 1;
            }
        }
    }
    assert!([directory, groups, texts].iter().all(|section| section.0.is_empty()));
}

fn read_documents(model: &mut Model, documents: &[u8], vectors: &[u8]) {
    let (mut documents, mut vectors, mut start) = (Bytes(documents), Bytes(vectors), 0);
    while !documents.0.is_empty() {
        let record = Bytes(documents.take(RECORD));
        let end = Bytes(&record.0[RECORD - 8..]).number(8);
        let vector = Bytes(vectors.take(end - start));
        let (digest, class) = (&record.0[..16], usize::from(record.0[16]));
        model.documents.retain(|known| known.digest != digest || known.class != class);
        if Bytes(&record.0[18..]).number(4) > 0 {
            model.documents.push(entry(record, vector, &model.texts, false));
        }
        start = end;
    }
    assert!(vectors.0.is_empty());
}

/// Reads what the slots name, which follow the sections; returns where the log begins.
fn read_segments(model: &mut Model, file: &[u8], end: usize, seed: u32) -> usize {
    let slots = end.next_multiple_of(512);
    let used = |at: &usize| file.get(*at..at + 512).filter(|slot| slot.iter().any(|byte| *byte != 0));
    let mut live = (0, Vec::new());
    for slot in [slots, slots + 512].iter().filter_map(used) {
        assert_eq!(crc(seed, &slot[..508]) as usize, Bytes(&slot[508..]).number(4));
        let mut slot = Bytes(slot);
        assert_eq!(slot.take(4), b"live");
        let (n, generation) = (slot.number(4), slot.number(8));
        let segments: Vec<_> = (0..n).map(|_| (slot.number(8), slot.number(8))).collect();
        live = live.max((generation, segments));
    }
    let mut log = slots + 1024;
    for (at, length) in live.1 {
        read_segment(model, Bytes(&file[at..at + length]), seed);
        log = at + length;
    }
    log
}

fn read_segment(model: &mut Model, mut segment: Bytes<'_>, seed: u32) {
    let length = segment.take(4);
    let (checksum, header) = (segment.number(4), segment.take(Bytes(length).number(4)));
    assert_eq!(crc(crc(seed, length), header) as usize, checksum);
    let mut size = Bytes(&header[header.len() - 64..]);
    let (first_new, n_terms) = (size.number(8), size.number(8));
    assert_eq!(first_new, model.texts.len());
    let sections = [(); 6].map(|()| {
        let content = segment.take(size.number(8));
        let sums = content.chunks(256).map(|block| crc(checksum as u32, block) as usize);
        sums.for_each(|sum| assert_eq!(segment.number(4), sum));
        content
    });
    assert!(segment.0.is_empty());
    let [directory, terms, texts, documents, vectors, ids] = sections;
    read_terms(model, n_terms, [directory, terms, texts], true);
    assert_eq!(model.texts.len(), first_new + ids.len() / 8);
    read_documents(model, documents, vectors);
}

fn read_log(model: &mut Model, mut log: Bytes<'_>, length: usize, seed: u32) {
    while !log.0.is_empty() {
        let left = 512 - (length - log.0.len()) % 512;
        assert!(log.take(if left < 12 { left } else { 0 }).iter().all(|byte| *byte == 0xFF));
        let head = log.take(8);
        assert_eq!((&head[..4], crc(seed, head) as usize), (&b"log\n"[..], log.number(4)));
        let content: Vec<u8> = log.take(Bytes(&head[4..]).number(4)).iter().map(|byte| !byte).collect();
        assert_eq!((crc(seed, &content) as usize, 0xFF), (log.number(4), log.number(1)));
        let mut entries = Bytes(&content);
        while !entries.0.is_empty() {
            let (is_learned, record) = (entries.number(1) != 0, Bytes(entries.take(RECORD)));
            entries.take(4);
            for _ in 0..entries.varint() {
                entries.take(8);
                model.texts.push(entries.text());
            }
            // its name, coefficients and dense vector stand before so many bytes of terms
            let mut terms = entries;
            terms.run();
            pass_coefficients(&mut terms);
            pass_dense(&mut terms);
            let n = entries.0.len() - terms.0.len() + Bytes(&record.0[RECORD - 8..]).number(8);
            apply(model, is_learned, entry(record, Bytes(entries.take(n)), &model.texts, true));
        }
    }
}

fn apply(model: &mut Model, is_learned: bool, entry: Entry) {
    for (term, count) in &entry.terms {
        let (df, tf) = model.counts.entry((term.clone(), entry.class)).or_default();
        let add = |to: &mut usize, n: usize| *to = if is_learned { *to + n } else { *to - n };
        add(df, entry.copies);
        add(tf, entry.copies * count);
    }
    model.counts.retain(|_, (df, _)| *df > 0);
    if is_learned {
        return model.documents.push(entry);
    }
    let known = model.documents.iter().position(|known| *known == entry);
    model.documents.remove(known.expect("it was learned"));
}

#[test]
fn a_reader_made_from_the_page_finds_what_is_there() {
    let mails: Vec<_> = (0..60).map(crate::faults::model_file::mail).collect();
    let named = |i: usize| format!("Message-ID: <{i}@example.org>\n{}", mails[i].1);
    let mut trainer = Trainer::new(TrainOptions::new(Kind::Mail)).unwrap();
    for (i, (label, _)) in mails[..40].iter().enumerate() {
        trainer.add(label, Document::Mail(named(i).as_bytes())).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.tamis");
    trainer.finish().unwrap().save(&path).unwrap();
    let mut options = LearnOptions::default();
    options.log_limit = 4_000;
    options.growth_limit = Some(u64::MAX);
    let mut learner = Learner::open(&path, options).unwrap();
    for (i, (label, _)) in mails.iter().enumerate().skip(30) {
        let mail = named(i);
        match i < 40 {
            true => drop(learner.forget(None, Document::Mail(mail.as_bytes())).unwrap()),
            false => drop(learner.learn(label, Document::Mail(mail.as_bytes())).unwrap()),
        }
        learner.commit().unwrap();
    }
    let file = std::fs::read(&path).unwrap();
    let (model, filter) = (read(&file), Filter::open(&path).unwrap());
    assert!(filter.information().file.segments > 0);
    let mut exported = Vec::new();
    tamis_train::exchange::export(&filter, true, &mut exported).unwrap();
    let (mut counts, mut documents) = (BTreeMap::new(), Vec::new());
    let class = |label: &str| usize::from(filter.classes().index(label).unwrap());
    for line in exported.split(|byte| *byte == b'\n').skip(1).filter(|line| !line.is_empty()) {
        let line: serde_json::Value = serde_json::from_slice(line).unwrap();
        let number = |value: &serde_json::Value| value.as_u64().unwrap() as usize;
        if let Some(term) = line["term"].as_str() {
            for (label, n) in line["counts"].as_object().unwrap() {
                counts.insert((term.to_owned(), class(label)), (number(&n[0]), number(&n[1])));
            }
            continue;
        }
        let digest = u128::from_str_radix(line["digest"].as_str().unwrap(), 16).unwrap();
        let terms = line["terms"].as_object().unwrap().iter();
        documents.push(Entry {
            digest: digest.to_be_bytes().to_vec(),
            class: class(line["label"].as_str().unwrap()),
            copies: number(&line["copies"]),
            name: line["name"].as_str().unwrap().to_owned(),
            terms: terms.map(|(term, n)| (term.clone(), number(n))).collect(),
        });
    }
    let mut got = model.documents;
    got.sort_by_key(|document| (document.digest.clone(), document.class));
    assert_eq!((got.len(), got), (50, documents));
    assert_eq!(model.counts, counts);
}
