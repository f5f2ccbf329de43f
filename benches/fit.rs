//! Labelled documents to a model, in bytes a second.
use criterion::{Criterion, Throughput};
use tamis_train::{Document, Kind, Model, TrainOptions, Trainer};

use crate::data;

pub(crate) fn train(kind: Kind, documents: &[data::Labelled]) -> Model {
    let mut trainer = Trainer::new(TrainOptions::new(kind)).unwrap();
    for document in documents {
        let text = String::from_utf8_lossy(&document.bytes);
        let document_of_kind = match kind {
            Kind::Mail => Document::Mail(&document.bytes),
            Kind::Text | Kind::Table => Document::Text(&text),
        };
        trainer.add(&document.label, document_of_kind).unwrap();
    }
    trainer.finish().unwrap()
}

pub(crate) fn fit(c: &mut Criterion) {
    let mut group = c.benchmark_group("fit");
    for (kind, documents) in
        [(Kind::Mail, data::read("mail", &["ham", "spam"])), (Kind::Text, data::read("topics/train", &[]))]
    {
        group.throughput(Throughput::Bytes(documents.iter().map(|d| d.bytes.len() as u64).sum()));
        let expected = train(kind, &documents);
        group.bench_function(kind.to_string(), |b| b.iter(|| assert!(train(kind, &documents) == expected)));
    }
}
