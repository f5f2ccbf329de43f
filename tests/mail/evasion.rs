//! What is done to mail on its way, and to hide it: neither must change what is said of it.

use std::collections::BTreeMap;

use tamis_testing::public_corpus;
use tamis_train::{Document, Filter, Kind, Scratch, TrainOptions, Trainer};

use crate::mail::attacks::{Disguise, Random, disguised, other_text, surrounded};
use crate::support::{World, root, stdout, verdict_fields};

fn read(folder: &std::path::Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries.map(|e| (e.file_name().into_string().unwrap(), std::fs::read(e.path()).unwrap())).collect()
}

fn messages(label: &str) -> Vec<Vec<u8>> {
    read(&root().join("corpora/mail").join(label)).into_values().collect()
}

fn train(ham: &[Vec<u8>], spam: &[Vec<u8>], options: TrainOptions) -> Trainer {
    let mut trainer = Trainer::new(options).unwrap();
    for (label, messages) in [("ham", ham), ("spam", spam)] {
        messages.iter().for_each(|raw| trainer.add(label, Document::Mail(raw)).unwrap());
    }
    trainer
}

/// Headers that mailboxes, delivery agents and other filters add.
const ADDED: &str = "Status: RO\nX-Status: A\nX-Keywords: work\nX-UID: 17\nX-UIDL: abc\nContent-Length: 1234\nLines: 17\n\
    Delivered-To: me@example.org\nX-Original-To: me@example.org\nX-Spam-Status: No, score=-1.2\n  required=5.0\n\
    X-Spam-Flag: NO\nX-Bogosity: Ham, spamicity=0.0\nX-MailScanner-From: a@example.org\nX-Mozilla-Status: 0001\n\
    X-Gmail-Labels: Inbox\nX-Tamis: ham; probability=0.0\n";

#[test]
fn what_mailboxes_add_to_one_class_teaches_nothing() {
    let (ham, spam) = (messages("ham"), messages("spam"));
    let touched: Vec<Vec<u8>> = ham
        .iter()
        .map(|raw| {
            let start =
                if raw.starts_with(b"From ") { raw.iter().position(|b| *b == b'\n').unwrap() + 1 } else { 0 };
            [&raw[..start], ADDED.as_bytes(), &raw[start..]].concat()
        })
        .collect();
    let clean = train(&ham, &spam, TrainOptions::new(Kind::Mail)).finish().unwrap();
    let poisoned = train(&touched, &spam, TrainOptions::new(Kind::Mail)).finish().unwrap();
    assert!(clean == poisoned, "the models differ");
}

#[test]
fn our_own_headers_change_no_score() {
    let world = World::with_mail_model();
    for (name, raw) in read(&root().join("corpora/mail/inbox")) {
        let passed = world.run_with_input(&["score", "--passthrough"], &raw).stdout;
        verdict_fields(&raw, &passed);
        let score = |raw: &[u8]| stdout(&world.run_with_input(&["score", "--json"], raw));
        assert_eq!(score(&raw), score(&passed), "{name}");
    }
}

/// Spam messages that a threshold misses which lets 0.5 % of the ham through.
fn missed(filter: &Filter, ham: &[Vec<u8>], spam: &[Vec<u8>]) -> usize {
    let mut scratch = Scratch::default();
    let mut score = |raw: &Vec<u8>| filter.score_mail(raw, &mut scratch).unwrap().log_odds;
    let mut of_ham: Vec<f64> = ham.iter().map(&mut score).collect();
    of_ham.sort_by(|a, b| b.total_cmp(a));
    let threshold = of_ham[ham.len() / 200];
    spam.iter().filter(|raw| score(raw) <= threshold).count()
}

/// Messages to learn and messages to test with.
fn halves(label: &str) -> Option<[Vec<Vec<u8>>; 2]> {
    let messages = read(&public_corpus("spamassassin")?.join(label));
    let (train, test): (Vec<_>, Vec<_>) =
        messages.into_iter().partition(|(name, _)| md5::compute(name).0[0] < 0x80);
    Some([train, test].map(|half| half.into_iter().map(|(_, raw)| raw).collect()))
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: 4 s"]
    fn disguised_words_hide_nothing() {
        let (Some([ham, test_ham]), Some([spam, test_spam])) = (halves("ham"), halves("spam")) else {
            return;
        };
        let filter =
            train(&ham, &spam, TrainOptions::new(Kind::Mail)).finish().unwrap().into_filter().unwrap();
        let after = |disguise| {
            let mut random = Random(1);
            let changed: Vec<_> = test_spam.iter().map(|raw| disguised(raw, disguise, &mut random)).collect();
            missed(&filter, &test_ham, &changed)
        };
        let clean = after(Disguise::None);
        for disguise in [Disguise::ZeroWidth, Disguise::FullWidth, Disguise::Cyrillic] {
            let missed = after(disguise);
            assert!(missed <= clean + 2, "{disguise:?}: {missed} missed, {clean} clean");
        }
    }

    #[test]
    #[ignore = "slow: 3 s"]
    fn windows_see_spam_between_ham() {
        let (Some([ham, test_ham]), Some([spam, test_spam])) = (halves("ham"), halves("spam")) else {
            return;
        };
        let mut options = TrainOptions::new(Kind::Mail);
        options.recipe.windows = Some(1500);
        let filter = train(&ham, &spam, options).finish().unwrap().into_filter().unwrap();
        let mut random = Random(1);
        let changed: Vec<_> = test_spam
            .iter()
            .map(|raw| {
                let (before, after) =
                    (other_text(&test_ham, 5000, &mut random), other_text(&test_ham, 5000, &mut random));
                surrounded(raw, &before, &after)
            })
            .collect();
        let missed = missed(&filter, &test_ham, &changed);
        assert!(missed * 100 <= 3 * changed.len(), "{missed} of {} missed", changed.len());
    }
}
