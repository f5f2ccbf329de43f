//! The same for many classes: a row of numbers a word, one a class.

use std::collections::HashMap;
use std::path::Path;

use tamis_train::{Document, Filter, Kind, Scoring, Scratch, TrainOptions, Trainer};

use crate::words::{self, first_slot};
use crate::{print, rows};

/// Labels by class; the texts of however many folders there are share them out.
const LABELS: [&str; 20] =
    ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"];

/// The texts below a folder of folders, in an order that mixes them.
pub fn read(root: &Path) -> Vec<String> {
    let mut texts = Vec::new();
    for folder in std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).filter(|p| p.is_dir()) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let text = tamis_mail::decode_text(&std::fs::read(&path).unwrap(), None).into_owned();
            texts.push((md5::compute(path.as_os_str().as_encoded_bytes()).0, text));
        }
    }
    texts.sort_unstable();
    texts.into_iter().map(|(_, text)| text).collect()
}

/// Occurrences by word and class: hash and number by slot, a row by number.
struct Counts<const K: usize> {
    slots: Vec<(u64, u32)>,
    rows: Vec<[u32; K]>,
}

impl<const K: usize> Counts<K> {
    fn of(documents: &[words::Document]) -> Self {
        let mut counts = Counts { slots: vec![(0, 0); 1 << 16], rows: Vec::new() };
        for document in documents {
            document.for_each_word(|hash| counts.add(hash, document.class));
        }
        counts
    }

    #[inline(always)]
    fn add(&mut self, hash: u64, class: usize) {
        let slot = find(&self.slots, hash);
        if self.slots[slot].0 == hash {
            self.rows[self.slots[slot].1 as usize][class] += 1;
            return;
        }
        self.slots[slot] = (hash, self.rows.len() as u32);
        self.rows.push([0; K]);
        self.rows.last_mut().unwrap()[class] = 1;
        if 2 * self.rows.len() > self.slots.len() {
            self.grow();
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let mut slots = vec![(0, 0); 2 * self.slots.len()];
        for slot in self.slots.iter().filter(|slot| slot.0 != 0) {
            let at = find(&slots, slot.0);
            slots[at] = *slot;
        }
        self.slots = slots;
    }

    fn weights(self) -> Weights<K> {
        Weights { slots: self.slots, rows: self.rows.iter().map(weights).collect() }
    }
}

/// What a word's occurrences say of each class.
fn weights<const K: usize>(counts: &[u32; K]) -> [f32; K] {
    counts.map(|n| (f64::from(n) + 0.1).ln() as f32)
}

/// Where a hash is, else the empty slot where it belongs.
#[inline(always)]
fn find(slots: &[(u64, u32)], hash: u64) -> usize {
    let mut at = first_slot(hash, slots.len());
    while slots[at].0 != hash && slots[at].0 != 0 {
        at = (at + 1) & (slots.len() - 1);
    }
    at
}

struct Weights<const K: usize> {
    slots: Vec<(u64, u32)>,
    rows: Vec<[f32; K]>,
}

impl<const K: usize> Weights<K> {
    /// The sum of every document's highest score.
    fn score(&self, documents: &[words::Document]) -> f64 {
        let best = documents.iter().map(|document| {
            let mut sums = [0.0; K];
            document.for_each_word(|hash| {
                let row = &self.rows[self.slots[find(&self.slots, hash)].1 as usize];
                sums.iter_mut().zip(row).for_each(|(sum, weight)| *sum += weight);
            });
            f64::from(sums.into_iter().fold(f32::NEG_INFINITY, f32::max))
        });
        best.sum()
    }
}

/// Different words and what [`Weights::score`] must tell, in plain code.
fn reference<const K: usize>(documents: &[words::Document]) -> (usize, f64) {
    let mut counts = HashMap::<Vec<u8>, [u32; K]>::new();
    for document in documents {
        for word in document.words() {
            counts.entry(word).or_insert([0; K])[document.class] += 1;
        }
    }
    let best = documents.iter().map(|document| {
        let mut sums = [0.0; K];
        for word in document.words() {
            sums.iter_mut().zip(weights(&counts[&word])).for_each(|(sum, weight)| *sum += weight);
        }
        f64::from(sums.into_iter().fold(f32::NEG_INFINITY, f32::max))
    });
    (counts.len(), best.sum())
}

fn counted(scoring: Option<Scoring>, texts: &[String], n_classes: usize) -> Trainer {
    let mut options = TrainOptions::new(Kind::Text);
    options.scoring = scoring;
    let mut trainer = Trainer::new(options).unwrap();
    for (i, text) in texts.iter().enumerate() {
        trainer.add(LABELS[i % n_classes], Document::Text(text)).unwrap();
    }
    trainer
}

/// The sum of all documents' log-odds.
fn scored(filter: &Filter, texts: &[String], scratch: &mut Scratch) -> f64 {
    texts.iter().map(|text| filter.score_text(text, scratch).unwrap().log_odds).sum()
}

pub fn measure<const K: usize>(texts: &[String], rounds: usize) {
    let documents = texts.iter().enumerate().map(|(i, text)| words::Document::new(i % K, text));
    let documents: Vec<_> = documents.collect();
    let (different, expected_score) = reference::<K>(&documents);
    let weights = Counts::<K>::of(&documents).weights();
    let naive_bayes = || Some(Scoring::NaiveBayes(Scoring::parameters()));
    let filters = [naive_bayes(), None];
    let filters = filters.map(|of| counted(of, texts, K).finish().unwrap().into_filter().unwrap());
    let expected = filters.each_ref().map(|filter| scored(filter, texts, &mut Scratch::default()));
    let mut scratches = [Scratch::default(), Scratch::default()];
    let names = || ["the limit", "tamis, naive Bayes", "tamis, weighted"].map(str::to_owned);
    let (mut train, mut score) = (rows(names()), rows(names()));
    for _ in 0..rounds {
        assert_eq!(train[0].time(|| Counts::<K>::of(&documents)).rows.len(), different);
        drop(train[1].time(|| counted(naive_bayes(), texts, K)));
        drop(train[2].time(|| counted(None, texts, K)));
        let sum = score[0].time(|| weights.score(&documents));
        assert!((sum - expected_score).abs() <= 1e-4 * expected_score.abs(), "{sum} for {expected_score}");
        for (i, filter) in filters.iter().enumerate() {
            let sum = score[i + 1].time(|| scored(filter, texts, &mut scratches[i]));
            assert_eq!(sum, expected[i]);
        }
    }
    let bytes = texts.iter().map(String::len).sum();
    print(&format!("train: {K} classes"), &train, bytes);
    print(&format!("score: {K} classes"), &score, bytes);
}
