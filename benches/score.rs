//! Documents to verdicts, in bytes a second; and opening a model.
use criterion::{Criterion, Throughput};
use tamis_train::{Document, Filter, Kind, Scratch, TrainOptions, Trainer};

use crate::data;

fn filter() -> (Filter, Vec<data::Labelled>) {
    let documents = data::read("mail", &["ham", "spam"]);
    let mut trainer = Trainer::new(TrainOptions::new(Kind::Mail)).unwrap();
    for document in &documents {
        trainer.add(&document.label, Document::Mail(&document.bytes)).unwrap();
    }
    (trainer.finish().unwrap().into_filter().unwrap(), documents)
}

pub(crate) fn score(c: &mut Criterion) {
    let (filter, documents) = filter();
    let mut scratch = Scratch::default();
    let mut group = c.benchmark_group("score");
    group.throughput(Throughput::Bytes(documents.iter().map(|d| d.bytes.len() as u64).sum()));
    group.bench_function("mail", |b| {
        b.iter(|| {
            for document in &documents {
                let score = filter.score_mail(&document.bytes, &mut scratch).unwrap();
                assert_eq!(filter.label_of(&score), document.label);
            }
        });
    });
}

pub(crate) fn open(c: &mut Criterion) {
    let documents = data::read("mail", &["ham", "spam"]);
    let mut trainer = Trainer::new(TrainOptions::new(Kind::Mail)).unwrap();
    for document in &documents {
        trainer.add(&document.label, Document::Mail(&document.bytes)).unwrap();
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.tamis");
    trainer.finish().unwrap().save(&path).unwrap();
    c.bench_function("open", |b| b.iter(|| assert_eq!(Filter::open(&path).unwrap().classes().len(), 2)));
}
