//! The accuracy of mail and text filtering on public corpora: every figure that this project quotes, in two tables.
//!
//!     cargo bench --bench accuracy -- [--only NAME[,NAME]] [PATH]
//!
//! PATH, else the environment variable `TAMIS_CORPORA`, names the folder of the corpora (`corpora/README.md` tells how to
//! get them). One that is not there is passed over. What the figures are is told in the README beside this file.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, missing_docs, unreachable_pub)]

#[path = "../../tests/mail/attacks.rs"]
mod attacks;

mod answers;
mod corpora;
mod engine;
mod goals;
mod mail;
mod news;
mod replay;
mod report;
mod text;

use std::path::{Path, PathBuf};

use report::Report;

/// What can be measured alone: its name, the folder it needs, how to go about it.
type Part = (&'static str, &'static str, fn(&Path, &mut Report));

const PARTS: [Part; 15] = [
    ("sentence-polarity", "sentence-polarity", text::sentence_polarity),
    ("ohsumed-23", "ohsumed-23", text::ohsumed),
    ("sms", "sms-spam-collection", text::sms),
    ("r8", "reuters21578-r8", text::reuters),
    ("20newsgroups", "20newsgroups-bydate", news::newsgroups),
    ("titles", "thucnews-titles", text::titles),
    ("sib-200", "sib-200", text::sentences),
    ("korean-nsmc", "korean-nsmc", text::korean_reviews),
    ("german-germeval", "german-germeval", text::german_tweets),
    ("thai-wisesight", "thai-wisesight", text::thai_posts),
    ("short-texts", "short-texts", text::short_texts),
    ("spamassassin", "spamassassin", mail::spamassassin),
    ("replay", "spamassassin", replay::spamassassin),
    ("few-labels", "20newsgroups-bydate", news::few_labels),
    ("size", "20newsgroups-bydate", news::sizes),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let (only, path) = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--only", names] => (names, None),
        ["--only", names, path] => (names, Some(path)),
        [path] if !path.starts_with('-') => ("", Some(path)),
        [] => ("", None),
        _ => return eprintln!("expected [--only NAME[,NAME]] [PATH], got {}", arguments.join(" ")),
    };
    let Some(corpora) = path.map(PathBuf::from).or(std::env::var_os("TAMIS_CORPORA").map(PathBuf::from))
    else {
        return println!(
            "skipped: expected the folder of the corpora, as in: cargo bench --bench accuracy -- PATH"
        );
    };
    let known: Vec<&str> = PARTS.iter().map(|(name, ..)| *name).collect();
    let asked: Vec<&str> = if only.is_empty() { known.clone() } else { only.split(',').collect() };
    if let Some(unknown) = asked.iter().find(|name| !known.contains(name)) {
        return eprintln!("--only {unknown}: expected some of {}", known.join(","));
    }
    let mut report = Report::default();
    for (name, folder, measure) in PARTS.iter().filter(|(name, ..)| asked.contains(name)) {
        let folder = corpora.join(folder);
        if folder.is_dir() {
            eprintln!("{name}");
            measure(&folder, &mut report);
        } else {
            println!("skipped: {name}, as {} is not here\n", folder.display());
        }
    }
    report.print();
}
