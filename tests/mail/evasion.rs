//! What is done to mail on its way, and to hide it: neither must change what is said of it.

use std::collections::BTreeMap;

use tamis_testing::public_corpus;
use tamis_train::{Document, Filter, Kind, Scratch, TrainOptions, Trainer};

use crate::mail::attacks::{DISGUISES, Disguise, Random, disguised, other_text, surrounded};
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

/// Ways of hiding text in HTML: what comes before it and after it.
const HIDING: [[&str; 2]; 15] = [
    ["<div style='display:none'>", "</div>"],
    ["<style>.zq1{display:none}</style><div class=zq1>", "</div>"],
    ["<div style='visibility:hidden'>", "</div>"],
    ["<span style='font-size:0'>", "</span>"],
    ["<span style='font-size:1px'>", "</span>"],
    ["<div style='background:#fff;color:#fefefe'>", "</div>"],
    ["<table bgcolor=#112233><tr><td><font color=#112233>", "</font></td></tr></table>"],
    ["<div style='opacity:0'>", "</div>"],
    ["<div style='position:absolute;left:-9999px'>", "</div>"],
    ["<div style='height:0;overflow:hidden'>", "</div>"],
    ["<p hidden>", "</p>"],
    ["<title>", "</title>"],
    ["<noframes>", "</noframes>"],
    ["<div style='text-indent:-9999px;white-space:nowrap;overflow:hidden'>", "</div>"],
    ["<details><summary></summary>", "</details>"],
];

/// The message as a single HTML page, with a text hidden at its beginning. `None` if it has no HTML.
fn with_hidden(raw: &[u8], [before, after]: [&str; 2], text: &str) -> Option<Vec<u8>> {
    let (header, html) = html_of(raw)?;
    let body = html.to_ascii_lowercase().find("<body").unwrap_or(0);
    let start = html[body..].find('>').map_or(0, |end| body + end + 1);
    let (head, rest) = html.split_at(if html[body..].starts_with('<') { start } else { 0 });
    let page = format!("{head}{before}{text}{after}{rest}");
    Some(format!("{header}Content-Type: text/html; charset=utf-8\n\n{page}\n").into_bytes())
}

/// The message as an HTML page with this plain text as its alternative. `None` if it has no HTML.
fn with_alternative(raw: &[u8], plain: &str) -> Option<Vec<u8>> {
    let (header, html) = html_of(raw)?;
    let part = |kind: &str, text: &str| format!("--zq1\nContent-Type: {kind}; charset=utf-8\n\n{text}\n");
    let parts = part("text/plain", plain) + &part("text/html", &html);
    let kind = "Content-Type: multipart/alternative; boundary=zq1";
    Some(format!("{header}{kind}\n\n{parts}--zq1--\n").into_bytes())
}

/// The header without the fields of its body, and the first HTML part.
fn html_of(raw: &[u8]) -> Option<(String, String)> {
    let message = tamis_mail::Message::parse(raw, &Default::default());
    let html = message.parts().iter().find(|part| part.is_html)?.text.clone()?;
    let of_body = ["content-type", "content-transfer-encoding"];
    let fields = message.headers().filter(|field| !of_body.contains(&&*field.name.to_ascii_lowercase()));
    Some((fields.map(|field| format!("{}: {}\n", field.name, field.value)).collect(), html))
}

/// A filter of the example corpus, with its messages.
fn filter_of_examples() -> (Filter, Messages, Messages) {
    let (ham, spam) = (messages("ham"), messages("spam"));
    let filter = train(&ham, &spam, TrainOptions::new(Kind::Mail)).finish().unwrap().into_filter().unwrap();
    (filter, ham, spam)
}

#[test]
fn spam_does_not_become_ham_by_what_is_added() {
    let (filter, ham, spam) = filter_of_examples();
    let (mut scratch, mut random) = (Scratch::default(), Random(1));
    let mut verdict = |raw: &[u8]| {
        let score = filter.score_mail(raw, &mut scratch).unwrap();
        filter.label_of(&score)
    };
    for (size, ahead) in [(3_000, false), (3_000, true), (10_000, false), (10_000, true)] {
        let mut counts = BTreeMap::new();
        for raw in &spam {
            let text = other_text(&ham, size, &mut random);
            let padded = if ahead { surrounded(raw, &text, "") } else { surrounded(raw, "", &text) };
            *counts.entry(verdict(&padded)).or_insert(0) += 1;
        }
        println!("{size} bytes, ahead {ahead}: {counts:?}");
        assert!(
            counts.get("ham").is_none_or(|n| n * 10 <= spam.len()),
            "{size} bytes, ahead {ahead}: {counts:?}"
        );
    }
}

#[test]
fn a_friend_who_quotes_spam_sends_none() {
    let (filter, ham, spam) = filter_of_examples();
    let (mut scratch, mut lost) = (Scratch::default(), 0);
    for (i, raw) in ham.iter().enumerate() {
        let message = tamis_mail::Message::parse(raw, &Default::default());
        let of_body = |name: &str| name.to_ascii_lowercase().starts_with("content-");
        let fields = message.headers().filter(|field| !of_body(field.name));
        let header: String = fields.map(|field| format!("{}: {}\n", field.name, field.value)).collect();
        let spam = tamis_mail::Message::parse(&spam[i % spam.len()], &Default::default()).body();
        let quoted: String = spam.lines().map(|line| format!("> {line}\n")).collect();
        let mail =
            format!("{header}Content-Type: text/plain; charset=utf-8\n\nis this one real?\n\n{quoted}");
        let score = filter.score_mail(mail.as_bytes(), &mut scratch).unwrap();
        lost += usize::from(filter.label_of(&score) == "spam");
    }
    // so small a model does not judge headers by themselves
    assert!(lost <= 5, "{lost} of {}", ham.len());
}

type Messages = Vec<Vec<u8>>;

/// Messages to learn and messages to test with.
fn halves(label: &str) -> Option<[Messages; 2]> {
    let messages = read(&public_corpus("spamassassin")?.join(label));
    let (train, test): (Vec<_>, Vec<_>) =
        messages.into_iter().partition(|(name, _)| md5::compute(name).0[0] < 0x80);
    Some([train, test].map(|half| half.into_iter().map(|(_, raw)| raw).collect()))
}

/// A filter of the half to learn, and ham and spam of the other half.
fn filter_and_mail(options: TrainOptions) -> Option<(Filter, Messages, Messages)> {
    let ([ham, test_ham], [spam, test_spam]) = (halves("ham")?, halves("spam")?);
    let filter = train(&ham, &spam, options).finish().unwrap().into_filter().unwrap();
    Some((filter, test_ham, test_spam))
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: 7 s"]
    fn disguised_words_hide_nothing() {
        let options = TrainOptions::new(Kind::Mail);
        let Some((filter, test_ham, test_spam)) = filter_and_mail(options) else { return };
        let after = |disguise| {
            let mut random = Random(1);
            let changed: Vec<_> = test_spam.iter().map(|raw| disguised(raw, disguise, &mut random)).collect();
            missed(&filter, &test_ham, &changed)
        };
        let clean = after(Disguise::None);
        for disguise in DISGUISES {
            let missed = after(disguise);
            println!("{disguise:?}: {missed} missed, {clean} clean");
            // small capitals have no case, which signs need; letters of two scripts take one spam more
            let more = if matches!(disguise, Disguise::SmallCapitals | Disguise::Mixed) { 3 } else { 2 };
            assert!(missed <= clean + more, "{disguise:?}: {missed} missed, {clean} clean");
        }
    }

    #[test]
    #[ignore = "slow: 6 s"]
    fn hidden_words_of_ham_change_no_verdict() {
        let mut options = TrainOptions::new(Kind::Mail);
        options.decision.cost = Some(19.0);
        let Some((filter, test_ham, test_spam)) = filter_and_mail(options) else { return };
        let mut scratch = Scratch::default();
        let mut is_spam = |raw: &[u8]| {
            let score = filter.score_mail(raw, &mut scratch).unwrap();
            filter.label_of(&score) == "spam"
        };
        let mut random = Random(1);
        let (mut n, mut caught, mut lost) = (0, 0, [0; HIDING.len() + 1]);
        for raw in &test_spam {
            let Some(clean) = with_hidden(raw, ["", ""], "") else { continue };
            (n, caught) = (n + 1, caught + usize::from(is_spam(&clean)));
            if !is_spam(&clean) {
                continue;
            }
            let words: Vec<_> = other_text(&test_ham, 2_000, &mut random)
                .split_whitespace()
                .take(100)
                .map(str::to_owned)
                .collect();
            let words = words.join(" ").replace(['<', '>', '&'], " ");
            let hidden = HIDING.iter().map(|way| with_hidden(raw, *way, &words));
            for (lost, raw) in lost.iter_mut().zip(hidden.chain([with_alternative(raw, &words)])) {
                *lost += usize::from(!is_spam(&raw.unwrap()));
            }
        }
        println!("{caught} of {n} spams with HTML are caught; of these lost, by way of hiding ham: {lost:?}");
        assert!(n > 400 && caught * 100 >= 90 * n, "{caught} of {n} caught");
        for lost in &lost {
            assert!(lost * 100 <= caught, "{lost} of {caught} lost");
        }
    }

    #[test]
    #[ignore = "slow: 3 s"]
    fn spam_is_seen_between_ham() {
        let options = TrainOptions::new(Kind::Mail);
        let Some((filter, test_ham, test_spam)) = filter_and_mail(options) else { return };
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
        // without parts, nearly all would be
        assert!(missed * 100 <= 5 * changed.len(), "{missed} of {} missed", changed.len());
    }
}
