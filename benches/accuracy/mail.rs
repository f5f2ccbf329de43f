//! The SpamAssassin public corpus: half of it, folds, one message after the other, thresholds, attacks.

use std::path::Path;

use tamis_train::evaluate::{HeldOutScore, Prequential, cross_validate};
use tamis_train::{Filter, Kind, TrainOptions, positive_class};

use crate::answers::Answers;
use crate::attacks::{DISGUISES, Random, disguised, other_text, surrounded};
use crate::corpora::{Corpus, Labelled};
use crate::engine::{answers, counts_alone, evaluate, labels, of_second, options, train};
use crate::report::Report;

pub fn spamassassin(path: &Path, report: &mut Report) {
    let mails = Corpus::mail(path, [3_022, 3_024]);
    let default = || TrainOptions::new(Kind::Mail);
    let content_only = || options(Kind::Mail, |recipe| recipe.content_only = true);

    let plain = evaluate(report, "SpamAssassin", &mails, default());
    evaluate(report, "SpamAssassin, correction off", &mails, counts_alone(Kind::Mail));
    evaluate(report, "SpamAssassin, content only", &mails, content_only());
    for n_received in 0..=2 {
        let seen: Vec<_> = mails.test.iter().map(|mail| as_a_milter_sees_it(mail, n_received)).collect();
        let row = format!("SpamAssassin, in a milter: {n_received} Received less");
        report.row(&row, &answers(&plain, Kind::Mail, &seen), None);
    }
    for (row, options) in
        [("SpamAssassin, 10 folds", default()), ("SpamAssassin, 10 folds, content only", content_only())]
    {
        let labelled: Vec<_> = mails.all().map(|d| (&*d.label, None, d.document(Kind::Mail))).collect();
        report.row(row, &held_out(&cross_validate(&options, &labelled, &[], 10, 0).unwrap().1), None);
    }
    let mut online = Prequential::new(default(), ["ham", "spam"]).unwrap();
    let turns = mails.all().map(|mail| online.next(&mail.label, mail.document(Kind::Mail)).unwrap());
    report.row("SpamAssassin, online by MD5", &held_out(&turns.collect::<Vec<_>>()), None);

    thresholds(report, &mails);
    disguises(report, &plain, &mails);
    between_ham(report, &plain, &mails);
}

/// A message before its own server wrote into its header: without Return-Path, Delivered-To and the first `n_received`
/// Received fields.
fn as_a_milter_sees_it(mail: &Labelled, mut n_received: usize) -> Labelled {
    let mut raw = Vec::new();
    let (mut in_header, mut drops) = (true, false);
    for line in mail.raw.split_inclusive(|byte| *byte == b'\n') {
        in_header &= !line.trim_ascii().is_empty();
        if in_header && !line.starts_with(b" ") && !line.starts_with(b"\t") {
            let is =
                |name: &str| line.get(..name.len()).is_some_and(|n| n.eq_ignore_ascii_case(name.as_bytes()));
            let is_first_received = n_received > 0 && is("Received:");
            n_received -= usize::from(is_first_received);
            drops = is_first_received || is("Return-Path:") || is("Delivered-To:");
        }
        if !(in_header && drops) {
            raw.extend(line);
        }
    }
    Labelled { label: mail.label.clone(), raw }
}

fn held_out(documents: &[HeldOutScore]) -> Answers {
    Answers::Two(documents.iter().map(|d| (of_second(&d.score), d.class == 1)).collect())
}

/// What comes of a false-positive rate that was asked for.
fn thresholds(report: &mut Report, mails: &Corpus) {
    for asked in [0.005, 0.01] {
        let mut options = TrainOptions::new(Kind::Mail);
        options.decision.max_fpr = Some(asked);
        let filter = train(options, &mails.train).into_filter().unwrap();
        let called = labels(&filter, mails.kind, &mails.test);
        let called = || mails.test.iter().zip(&called);
        let spam_of = |label: &str| {
            let of_label = called().filter(|(d, _)| d.label == label);
            100.0 * of_label.clone().filter(|(_, said)| *said == "spam").count() as f64
                / of_label.count() as f64
        };
        let name = format!("SpamAssassin, at most {:.1} % FPR asked for", 100.0 * asked);
        report.single(&format!("{name}: FPR %"), spam_of("ham"), 2);
        report.single(&format!("{name}: % missed"), 100.0 - spam_of("spam"), 2);
    }
}

/// How many spam messages of the test half a threshold misses that lets 0.5 % of the ham through, the spam changed.
fn missed_after(filter: &Filter, mails: &Corpus, change: impl FnMut(&Labelled) -> Vec<u8>) -> usize {
    let (spam, ham): (Vec<_>, Vec<_>) = mails.test.iter().cloned().partition(|mail| mail.label == "spam");
    assert_eq!((ham.len(), spam.len(), positive_class(filter.classes())), (2_087, 937, 1));
    let log_odds = |mails: &[Labelled]| match answers(filter, Kind::Mail, mails) {
        Answers::Two(answers) => answers.into_iter().map(|(z, _)| z).collect::<Vec<_>>(),
        Answers::Many(_) => unreachable!("two labels"),
    };
    let mut of_ham = log_odds(&ham);
    of_ham.sort_by(|a, b| b.total_cmp(a));
    let threshold = of_ham[ham.len() / 200];
    let raws = spam.iter().map(change);
    let changed: Vec<_> = raws.map(|raw| Labelled { label: "spam".to_owned(), raw }).collect();
    log_odds(&changed).into_iter().filter(|z| *z <= threshold).count()
}

/// Words disguised, the message rewritten as plain text.
fn disguises(report: &mut Report, filter: &Filter, mails: &Corpus) {
    for disguise in DISGUISES {
        let mut random = Random(1);
        let missed = missed_after(filter, mails, |mail| disguised(&mail.raw, disguise, &mut random));
        let name = format!("SpamAssassin, words disguised ({disguise:?}): missed of 937");
        report.single(&name, missed as f64, 0);
    }
}

/// The whole message between two stretches of ham, 5 kB each.
fn between_ham(report: &mut Report, filter: &Filter, mails: &Corpus) {
    for (whose, half) in [("train", &mails.train), ("test", &mails.test)] {
        let ham: Vec<_> =
            half.iter().filter(|mail| mail.label == "ham").map(|mail| mail.raw.clone()).collect();
        let mut random = Random(1);
        let missed = missed_after(filter, mails, |mail| {
            let (before, after) = (other_text(&ham, 5000, &mut random), other_text(&ham, 5000, &mut random));
            surrounded(&mail.raw, &before, &after)
        });
        let name = format!("SpamAssassin, between ham of the {whose} half: % missed");
        report.single(&name, 100.0 * missed as f64 / 937.0, 1);
    }
}
