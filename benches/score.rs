//! Documents to verdicts, in bytes a second; and opening a model.
use criterion::{Criterion, Throughput};
use tamis_train::{Filter, Kind, Scratch};

use crate::data;
use crate::fit::train;

pub(crate) fn score(c: &mut Criterion) {
    let documents = data::read("mail", &["ham", "spam"]);
    let filter = train(Kind::Mail, &documents).into_filter().unwrap();
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
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.tamis");
    train(Kind::Mail, &data::read("mail", &["ham", "spam"])).save(&path).unwrap();
    c.bench_function("open", |b| b.iter(|| assert_eq!(Filter::open(&path).unwrap().classes().len(), 2)));
}
