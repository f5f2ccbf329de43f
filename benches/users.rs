//! Many users' models in turn, with one shared model behind them, in mails a second on one thread.
use std::fs;
use std::sync::Arc;

use criterion::{Criterion, Throughput};
use tamis_train::{Document, Filter, Kind, LearnOptions, Learner, Scratch};

use crate::data;
use crate::fit::train;

const USERS: usize = 1_000;

/// Different models of users, each of twenty corrections.
const MODELS: usize = 20;

fn n_descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Resident memory in bytes that is not of files.
fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
}

pub(crate) fn users(c: &mut Criterion) {
    let documents = data::read("mail", &["ham", "spam"]);
    let folder = tempfile::tempdir().unwrap();
    let shared = folder.path().join("shared.tamis");
    train(Kind::Mail, &documents).save(&shared).unwrap();
    let shared = Arc::new(Filter::open(shared).unwrap());
    let paths: Vec<_> = (0..MODELS).map(|n| folder.path().join(format!("{n}.tamis"))).collect();
    for (n, path) in paths.iter().enumerate() {
        let mut learner = Learner::create_behind(path, shared.clone(), LearnOptions::default()).unwrap();
        for i in 0..20 {
            let document = &documents[(7 * n + 3 * i) % documents.len()];
            let mail = [&document.bytes[..], format!("for user{n} mail{i}\n").as_bytes()].concat();
            learner.learn(&document.label, Document::Mail(&mail)).unwrap();
        }
        learner.commit().unwrap();
    }
    let (before, n_before) = (resident(), n_descriptors());
    let open = |path| {
        let mut filter = Filter::open(path).unwrap();
        filter.set_fallback(shared.clone()).unwrap();
        filter
    };
    let users: Vec<_> = paths.iter().cycle().take(USERS).map(open).collect();
    let mut scratch = Scratch::default();
    let ask = |user: usize, scratch: &mut Scratch| {
        users[user].score_mail(&documents[user % documents.len()].bytes, scratch).unwrap()
    };
    let mut group = c.benchmark_group("users");
    group.throughput(Throughput::Elements(USERS as u64));
    group.bench_function("in turn", |b| b.iter(|| (0..USERS).for_each(|user| _ = ask(user, &mut scratch))));
    group.bench_function("the same", |b| {
        b.iter(|| {
            for user in 0..USERS {
                users[0].score_mail(&documents[user % documents.len()].bytes, &mut scratch).unwrap();
            }
        });
    });
    for user in (0..USERS).step_by(7) {
        assert_eq!(ask(user, &mut scratch), ask(user, &mut Scratch::default()));
    }
    assert_eq!(n_descriptors(), n_before);
    let megabytes = resident().saturating_sub(before) as f64 / 1e6;
    assert!(megabytes < 40.0, "{megabytes} MB");
}
