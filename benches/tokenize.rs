//! Text to terms, in bytes a second.
use criterion::{Criterion, Throughput};
use tamis_tokenizer::{Scratch, Tokenizer, TokenizerOptions, WordRule, reference};

use crate::data;

pub(crate) fn words(c: &mut Criterion) {
    let text = data::topics_text();
    let mut group = c.benchmark_group("words");
    group.throughput(Throughput::Bytes(text.len() as u64));
    for (rule, expected) in [
        (WordRule::Unicode, reference::unicode_words(&text).len()),
        (WordRule::Mail, reference::mail_words(&text).len()),
    ] {
        group.bench_function(rule.to_string(), |b| {
            b.iter(|| {
                let mut count = 0;
                rule.for_each_word(&text, |_| count += 1);
                assert_eq!(count, expected);
            });
        });
    }
}

pub(crate) fn terms(c: &mut Criterion) {
    let text = data::topics_text();
    let mut group = c.benchmark_group("terms");
    group.throughput(Throughput::Bytes(text.len() as u64));
    let mut stems = TokenizerOptions::text();
    stems.stemmer = Some("english".parse().unwrap());
    for (name, options) in
        [("text", TokenizerOptions::text()), ("mail", TokenizerOptions::mail()), ("stems", stems)]
    {
        let tokenizer = Tokenizer::new(options).unwrap();
        let mut scratch = Scratch::default();
        let mut expected = 0;
        tokenizer.for_each_term(&text, &mut scratch, |term| expected += term.len());
        assert!(expected > text.len() / 2);
        group.bench_function(name, |b| {
            b.iter(|| {
                let mut bytes = 0;
                tokenizer.for_each_term(&text, &mut scratch, |term| bytes += term.len());
                assert_eq!(bytes, expected);
            });
        });
    }
}
