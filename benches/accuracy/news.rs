//! 20 Newsgroups: twenty classes, few labels, a thousand classes.

use std::path::Path;

use tamis_train::{Kind, Trainer};

use crate::corpora::{Corpus, Labelled, stripped};
use crate::engine::{counted, counts_alone, evaluate, labels, train};
use crate::report::Report;
use crate::text::{default, words_and_pairs};

fn read(path: &Path) -> Corpus {
    Corpus::folders(path, [11_314, 7_532])
}

pub fn newsgroups(path: &Path, report: &mut Report) {
    let news = read(path);
    evaluate(report, "20 Newsgroups", &news, default());
    evaluate(report, "20 Newsgroups, counts alone", &news, counts_alone(Kind::Text));
    evaluate(report, "20 Newsgroups, words and pairs", &news, words_and_pairs());
    let bare = news.map(stripped);
    evaluate(report, "20 Newsgroups, stripped", &bare, default());
    evaluate(report, "20 Newsgroups, stripped, words and pairs", &bare, words_and_pairs());
}

/// Labels a class that are kept, drawn by a hash; the other documents come without. Mean accuracy of three draws.
pub fn few_labels(path: &Path, report: &mut Report) {
    let news = read(path);
    for labels in [1, 5, 25] {
        let (mut alone, mut with_others) = (0.0, 0.0);
        for draw in 0..3 {
            let (few, others) = drawn(&news.train, labels, draw);
            alone += accuracy(counted(default(), few.iter().copied()), &news.test) / 3.0;
            let mut trainer = counted(default(), few);
            others.iter().for_each(|d| trainer.add_unlabelled(d.document(Kind::Text)).unwrap());
            with_others += accuracy(trainer, &news.test) / 3.0;
        }
        let all = 20 * labels;
        report.single(&format!("20 Newsgroups, {all} labels alone: accuracy"), alone, 3);
        report.single(&format!("20 Newsgroups, {all} labels, the others without: accuracy"), with_others, 3);
    }
}

fn accuracy(trainer: Trainer, test: &[Labelled]) -> f64 {
    let filter = trainer.finish().unwrap().into_filter().unwrap();
    let said = labels(&filter, Kind::Text, test);
    said.iter().zip(test).filter(|(said, d)| **said == d.label).count() as f64 / test.len() as f64
}

fn drawn(documents: &[Labelled], labels: usize, draw: usize) -> (Vec<&Labelled>, Vec<&Labelled>) {
    let hash = |i: usize| md5::compute(format!("{draw} {i}")).0;
    let mut order: Vec<_> = documents.iter().enumerate().map(|(i, d)| (&d.label, hash(i), d)).collect();
    order.sort_unstable_by_key(|(label, hash, _)| (*label, *hash));
    let (mut few, mut others) = (Vec::new(), Vec::new());
    for class in order.chunk_by(|a, b| a.0 == b.0) {
        few.extend(class.iter().take(labels).map(|(_, _, d)| *d));
        others.extend(class.iter().skip(labels).map(|(_, _, d)| *d));
    }
    (few, others)
}

/// What a model of many classes takes: it grows with the cells that are not zero, not with terms x classes.
pub fn sizes(path: &Path, report: &mut Report) {
    let news = read(path);
    size(report, "20 Newsgroups", &news.train);
    let deal =
        |(i, d): (usize, &Labelled)| Labelled { label: format!("{} {}", d.label, i % 50), ..d.clone() };
    let dealt_out: Vec<_> = news.train.iter().enumerate().map(deal).collect();
    size(report, "20 Newsgroups, dealt out to 1,000 classes", &dealt_out);
}

fn size(report: &mut Report, name: &str, documents: &[Labelled]) {
    let model = train(default(), documents);
    let bytes = model.as_bytes().len();
    let filter = model.into_filter().unwrap();
    let information = filter.information();
    let (cells, weights) = (information.size.cells, information.size.weights);
    report.single(&format!("{name}: bytes of the model"), bytes as f64, 0);
    report.single(&format!("{name}: terms"), information.size.terms as f64, 0);
    report.single(&format!("{name}: cells, a term and a class"), cells as f64, 0);
    report.single(&format!("{name}: weights"), weights as f64, 0);
    report.single(&format!("{name}: bytes a cell or weight"), bytes as f64 / (cells + weights) as f64, 1);
}
