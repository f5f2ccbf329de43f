//! How fast text becomes terms, documents a model, and messages verdicts. Every bench asserts its answer.
#![allow(missing_docs, clippy::unwrap_used)]

mod data;
mod fit;
mod score;
mod tokenize;
mod users;

use criterion::{criterion_group, criterion_main};

criterion_group!(
    benches,
    tokenize::words,
    tokenize::terms,
    fit::fit,
    score::score,
    score::open,
    users::users
);
criterion_main!(benches);
