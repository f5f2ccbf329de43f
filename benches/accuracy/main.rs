//! The accuracy of mail filtering on the SpamAssassin public corpus, figure by figure.
//!
//!     cargo bench --bench accuracy -- PATH
//!
//! PATH holds `ham/` and `spam/`, a message a file (`corpora/README.md` tells how to get them). The split is by the MD5
//! digest of the file's name, first digit 0-7 to train on. Results of dated runs are kept beside this file.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr, missing_docs, unreachable_pub)]

#[path = "../../tests/attacks.rs"]
mod attacks;

use std::path::Path;

use attacks::{Disguise, Random, disguised, other_text, surrounded};
use tamis_filter::{
    Document, Filter, Kind, Online, Recipe, Score, Scoring, Scratch, TrainOptions, Trainer, Weighted,
};
use tamis_model::metrics::{
    brier, caught_at_fpr, expected_calibration_error, log_loss, one_minus_roc_auc_percent,
};

struct Mail {
    digest: [u8; 16],
    is_spam: bool,
    raw: Vec<u8>,
}

impl Mail {
    fn label(&self) -> &'static str {
        if self.is_spam { "spam" } else { "ham" }
    }

    fn is_train(&self) -> bool {
        self.digest[0] < 0x80
    }
}

fn read(corpus: &Path) -> Vec<Mail> {
    let mut mails = Vec::new();
    for (label, is_spam) in [("ham", false), ("spam", true)] {
        for entry in std::fs::read_dir(corpus.join(label)).unwrap() {
            let path = entry.unwrap().path();
            let digest = md5::compute(path.file_name().unwrap().as_encoded_bytes()).0;
            mails.push(Mail { digest, is_spam, raw: std::fs::read(path).unwrap() });
        }
    }
    mails.sort_by_key(|mail| mail.digest);
    mails
}

fn options(change: impl Fn(&mut Recipe)) -> TrainOptions {
    let mut options = TrainOptions::new(Kind::Mail);
    change(&mut options.recipe);
    options
}

fn train<'a>(options: TrainOptions, mails: impl Iterator<Item = &'a Mail>) -> Filter {
    let mut trainer = Trainer::new(options).unwrap();
    mails.for_each(|mail| trainer.add(mail.label(), Document::Mail(&mail.raw)).unwrap());
    trainer.finish().unwrap().into_filter().unwrap()
}

fn scores<'a>(filter: &Filter, mails: impl Iterator<Item = (&'a [u8], bool)>) -> Vec<(Score, bool)> {
    let mut scratch = Scratch::default();
    mails.map(|(raw, is_spam)| (filter.score_mail(raw, &mut scratch).unwrap(), is_spam)).collect()
}

fn log_odds(scores: &[(Score, bool)]) -> Vec<(f64, bool)> {
    scores.iter().map(|(score, is_spam)| (score.log_odds, *is_spam)).collect()
}

/// Prints a row: ranking, misses, decisions at zero, probabilities.
fn row(name: &str, scores: &[(f64, bool)]) {
    let missed = |fpr| 100.0 * (1.0 - caught_at_fpr(scores, fpr).unwrap());
    let wrong = |spam: bool| {
        let of_class = scores.iter().filter(|(_, s)| *s == spam);
        100.0 * of_class.clone().filter(|(z, _)| (*z > 0.0) != spam).count() as f64 / of_class.count() as f64
    };
    println!(
        "{name:<34} {:>7.4} {:>6.2} {:>5.2} {:>5.2} {:>5.2} {:>5.2} {:>7.4} {:>6.4} {:>6.4}",
        one_minus_roc_auc_percent(scores).unwrap(),
        missed(0.001),
        missed(0.005),
        missed(0.01),
        wrong(false),
        wrong(true),
        log_loss(scores).unwrap(),
        brier(scores).unwrap(),
        expected_calibration_error(scores, 15).unwrap(),
    );
}

/// How many spam messages a threshold misses that lets 0.5 % of the ham through, the spam changed by `change`.
fn missed_after(filter: &Filter, test: &[&Mail], change: impl FnMut(&Mail) -> Vec<u8>) -> (usize, usize) {
    let mut ham =
        log_odds(&scores(filter, test.iter().filter(|m| !m.is_spam).map(|m| (m.raw.as_slice(), false))));
    ham.sort_by(|a, b| b.0.total_cmp(&a.0));
    let threshold = ham[(0.005 * ham.len() as f64) as usize].0;
    let changed: Vec<Vec<u8>> = test.iter().filter(|m| m.is_spam).copied().map(change).collect();
    let spam = log_odds(&scores(filter, changed.iter().map(|raw| (raw.as_slice(), true))));
    (spam.iter().filter(|(z, _)| *z <= threshold).count(), spam.len())
}

fn main() {
    let Some(path) = std::env::args().skip(1).find(|a| !a.starts_with('-')) else {
        println!(
            "skipped: expected the folder of the SpamAssassin corpus, as in: cargo bench --bench accuracy -- PATH"
        );
        return;
    };
    let mails = read(Path::new(&path));
    let test: Vec<&Mail> = mails.iter().filter(|m| !m.is_train()).collect();
    let raw = |mails: &[&Mail]| mails.iter().map(|m| (m.raw.clone(), m.is_spam)).collect::<Vec<_>>();
    println!("{} messages, {} of them to test on\n", mails.len(), test.len());
    println!("{:<34} 1-ROCA%  missed at .1/.5/1 % FPR   FPR   FNR  log loss  Brier    ECE", "");

    let documents = raw(&test);
    let pairs = || documents.iter().map(|(raw, is_spam)| (raw.as_slice(), *is_spam));
    let evaluate = |name: &str, options: TrainOptions| {
        let filter = train(options, mails.iter().filter(|m| m.is_train()));
        row(name, &log_odds(&scores(&filter, pairs())));
        filter
    };
    let plain = evaluate("default", options(|_| ()));
    let counts = Scoring::Weighted(Weighted { correction: None, ..Weighted::default() });
    evaluate("correction off", TrainOptions { scoring: Some(counts), ..options(|_| ()) });
    evaluate("content only", options(|recipe| recipe.content_only = true));
    let windowed = evaluate("windows", options(|recipe| recipe.windows = Some(1500)));

    for (name, content_only) in [("10 folds over all", false), ("10 folds over all, content only", true)] {
        let mut trainer = Trainer::new(options(|recipe| recipe.content_only = content_only)).unwrap();
        mails.iter().for_each(|mail| trainer.add(mail.label(), Document::Mail(&mail.raw)).unwrap());
        let held_out = trainer.cross_validate(10).unwrap();
        row(name, &held_out.iter().map(|h| (h.score.log_odds, h.class == 1)).collect::<Vec<_>>());
    }
    let mut online = Online::new(options(|_| ()), ["ham", "spam"]).unwrap();
    let turns = mails.iter().map(|mail| online.next(mail.label(), Document::Mail(&mail.raw)).unwrap());
    row("online, by MD5", &turns.map(|h| (h.score.log_odds, h.class == 1)).collect::<Vec<_>>());

    thresholds(&mails, &test);
    attack(&plain, &windowed, &mails, &test);
}

fn thresholds(mails: &[Mail], test: &[&Mail]) {
    println!();
    for asked in [0.005, 0.01] {
        let mut options = options(|_| ());
        options.decision.max_fpr = Some(asked);
        let filter = train(options, mails.iter().filter(|m| m.is_train()));
        let scores = scores(&filter, test.iter().map(|m| (m.raw.as_slice(), m.is_spam)));
        let rate = |spam: bool, called: bool| {
            let of_class = scores.iter().filter(|(_, s)| *s == spam);
            let so = of_class.clone().filter(|(score, _)| (score.label == filter.spam()) == called).count();
            100.0 * so as f64 / of_class.count() as f64
        };
        println!(
            "at most {:.1} % FPR asked for: {:.2} % FPR, {:.2} % missed",
            100.0 * asked,
            rate(false, true),
            rate(true, false)
        );
    }
}

fn attack(plain: &Filter, windowed: &Filter, mails: &[Mail], test: &[&Mail]) {
    println!("\nspam missed at 0.5 % FPR after the spam was changed");
    for disguise in [Disguise::None, Disguise::ZeroWidth, Disguise::FullWidth, Disguise::Cyrillic] {
        let mut random = Random(1);
        let (missed, all) = missed_after(plain, test, |mail| disguised(&mail.raw, disguise, &mut random));
        println!("{:<34} {missed} of {all}", format!("words disguised: {disguise:?}"));
    }
    for (whose, train) in [("of the train half", true), ("of the test half", false)] {
        let ham = mails.iter().filter(|m| !m.is_spam && m.is_train() == train);
        let ham: Vec<_> = ham.map(|m| m.raw.clone()).collect();
        for (name, filter) in [("", plain), (", windows", windowed)] {
            let mut random = Random(1);
            let (missed, all) = missed_after(filter, test, |mail| {
                let (before, after) =
                    (other_text(&ham, 5000, &mut random), other_text(&ham, 5000, &mut random));
                surrounded(&mail.raw, &before, &after)
            });
            println!(
                "5 kB of ham {whose} before and after{name}: {missed} of {all} ({:.1} %)",
                100.0 * missed as f64 / all as f64
            );
        }
    }
}
