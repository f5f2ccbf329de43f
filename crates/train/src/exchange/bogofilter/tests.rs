//! Tests that a model made from bogofilter's word list answers as bogofilter does.

use std::path::Path;

use proptest::prelude::*;
use tamis_filter::extract::document::Document;
use tamis_store::config::scoring::Scoring;
use tamis_store::error::Reason;

use super::*;
use crate::exchange::import::import;
use crate::merge::models::merge;
use crate::update::learner::{LearnOptions, Learner};

fn word_list(list: &[u8]) -> Result<(Model, BogofilterImport)> {
    import_bogofilter(list, RobinsonFisher::default())
}

/// A small list of 60 ham and 40 spam messages.
const LIST: &str = ".MSG_COUNT 40 60 20240101
.WORDLIST_VERSION 20040500 0 20240101
FREE 30 1 20240101
free 8 12 20240101
pills 12 0 20240101
lunch 0 9 20240101
garden 1 22 20240101
subj:Offer 11 0 20240101
from:anna 0 17 20240101
head:X-Mailer 20 33 20240101
head:BulkMailer 9 0 20240101
rcvd:10.0.0.1 5 1
shop.example 6 0
href 28 99 20240101
mime:base64 3 3 20240101
never 0 0 20240101
";

#[test]
fn a_word_list_of_bogofilter_becomes_counts() {
    let (model, imported) = word_list(LIST.as_bytes()).unwrap();
    assert_eq!(imported, BogofilterImport { taken: 12, lost: 1, cut: 1 });
    let filter = model.into_filter().unwrap();
    let mut lines = Vec::new();
    crate::exchange::export(&filter, true, &mut lines).unwrap();
    let lines = String::from_utf8(lines).unwrap();
    for line in [
        r#"{"term":"FREE","counts":{"ham":[1,1],"spam":[30,30]}}"#,
        r#"{"term":"free","counts":{"ham":[12,12],"spam":[8,8]}}"#,
        r#"{"term":"subj:Offer","counts":{"spam":[11,11]}}"#,
        r#"{"term":"head:BulkMailer","counts":{"spam":[9,9]}}"#,
        r#"{"term":"rcvd:10.0.0.1","counts":{"ham":[1,1],"spam":[5,5]}}"#,
        r#"{"term":"href","counts":{"ham":[60,60],"spam":[28,28]}}"#,
    ] {
        assert!(lines.contains(line), "{line} in {lines}");
    }
    assert_eq!(lines.lines().count(), 13);
    assert!(import(lines.as_bytes()).unwrap() == Model::copy(&filter).unwrap());
    for bad in [
        "",
        "word 1 2 3\n",
        ".MSG_COUNT 1 1 0\nword one 2 3\n",
        ".MSG_COUNT 1 1 0\nword 1\n",
        ".MSG_COUNT 1 1 0\nword 1 2 3 4\n",
    ] {
        assert!(matches!(word_list(bad.as_bytes()).err().unwrap().reason(), Reason::Import { .. }), "{bad}");
    }
}

proptest! {
    #[test]
    fn any_word_list_gives_an_error_or_a_whole_model(list in "(\\.MSG_COUNT 3 [0-9] 0\n)?(([a-z:.]{1,7}|subj:a|url:a.b) [0-9]{1,11} [0-9]( [0-9])?\n){0,9}") {
        if let Ok((model, _)) = word_list(list.as_bytes()) {
            model.into_filter().unwrap().verify().unwrap();
        }
    }
}

/// Errors must not show words of somebody's mail.
#[test]
fn what_cannot_be_imported_is_told_without_its_words() {
    for bad in ["secret", "secret 1 x\n", ".MSG_COUNT 5 5\nsecret secret\n"] {
        let said = word_list(bad.as_bytes()).unwrap_err().to_string();
        assert!(said.starts_with("line ") && !said.contains("secret"), "{said}");
    }
}

/// Messages of `LIST`'s words, with their spamicities by bogofilter 1.2.5 and its verdicts.
const JUDGED: [(&str, f64, &str); 6] = [
    (
        "Subject: Offer\nX-Mailer: BulkMailer\n\nFREE pills at http://shop.example/\n",
        0.999_999_999_557_403,
        "spam",
    ),
    ("From: anna@example.org\nSubject: today\n\nlunch in the garden?\n", 0.000_027_758_492_747_0, "ham"),
    ("From: anna@example.org\nSubject: Offer\n\nfree lunch\n", 0.486_939_682_329_66, "unsure"),
    (
        "From: anna@example.org\nSubject: Offer\n\nFREE lunch, pills in the garden\n",
        0.500_168_334_146_745_2,
        "unsure",
    ),
    (
        "Received: from x [10.0.0.1]\nContent-Type: text/html\n\n\
         <html><p>free</p><a href=\"http://shop.example\">lunch</a></html>\n",
        0.995_432_090_838_432_4,
        "spam",
    ),
    ("Subject: hello\n\nunknown words alone\n", 0.52, "unsure"),
];

#[test]
fn a_word_list_answers_as_bogofilter_does() {
    let list = LIST.replace("href 28 99", "href 28 9");
    let filter = word_list(list.as_bytes()).unwrap().0.into_filter().unwrap();
    let mut scratch = Default::default();
    for (mail, spamicity, verdict) in JUDGED {
        let explanation = filter.explain(Document::Mail(mail.as_bytes()), &mut scratch).unwrap();
        let score = explanation.score;
        assert!((score.probability - spamicity).abs() < 1e-12, "{mail}: {}", score.probability);
        assert_eq!(filter.label_of(&score), verdict, "{mail}");
        let sum: f64 = explanation.terms.iter().map(|term| term.contribution).sum();
        assert!((explanation.intercept + sum - score.log_odds).abs() < 1e-9, "{mail}");
    }
    assert_eq!(filter.strongest_terms(1, 1).unwrap()[0].term, "pills");
    assert_eq!(filter.strongest_terms(0, 1).unwrap()[0].term, "from:anna");
    let twice = merge(&[&filter, &filter], Default::default()).unwrap().into_filter().unwrap();
    assert_eq!(twice.information().totals[1].documents, 80);
    let score = twice.score_mail(JUDGED[0].0.as_bytes(), &mut scratch).unwrap();
    assert_eq!(twice.label_of(&score), "spam");
}

/// A learner of a model made from `LIST`, which has learned `n` messages of each label.
fn taught(path: &Path, n: usize) -> Learner {
    word_list(LIST.as_bytes()).unwrap().0.save(path).unwrap();
    let mut learner =
        Learner::open(path, LearnOptions { retrain: false, ..LearnOptions::default() }).unwrap();
    for i in 0..n {
        for (label, word) in [("ham", "walnut"), ("spam", "casino")] {
            let mail = format!("From: anna@example.org\nSubject: {word}\n\n{word} number item{i}\n");
            learner.learn(label, Document::Mail(mail.as_bytes())).unwrap();
        }
    }
    learner.commit().unwrap();
    learner
}

fn is_robinsons(learner: &Learner) -> bool {
    matches!(learner.filter().information().scoring, Scoring::RobinsonFisher(_))
}

#[test]
fn a_word_list_gives_way_to_what_is_learned_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.tamis");
    let mut scratch = Default::default();
    let mut verdict = |learner: &Learner, mail: &str| {
        let score = learner.filter().score_mail(mail.as_bytes(), &mut scratch).unwrap();
        learner.filter().label_of(&score).to_owned()
    };
    let mail = "Subject: casino\n\ncasino\n";
    // it learns at once, as bogofilter does
    let mut learner = taught(&path, 1);
    assert_eq!(verdict(&learner, mail), "spam");
    learner
        .forget(
            Some("spam"),
            Document::Mail(b"From: anna@example.org\nSubject: casino\n\ncasino number item0\n"),
        )
        .unwrap();
    assert_eq!(verdict(&learner, mail), "unsure");
    drop(learner);

    let mut learner = taught(&path, 99);
    assert!(!learner.wants_retraining());
    learner.retrain().unwrap();
    assert!(is_robinsons(&learner));
    assert_eq!(verdict(&learner, JUDGED[3].0), "unsure");
    drop(learner);

    let mut learner = taught(&path, 100);
    assert!(is_robinsons(&learner) && learner.wants_retraining());
    learner.retrain().unwrap();
    assert!(!is_robinsons(&learner) && !learner.wants_retraining());
    let information = learner.filter().information();
    assert_eq!((information.totals[0].documents, information.size.documents), (160, 200));
    assert_eq!(learner.filter().decision(), Decision::for_classes(learner.filter().classes()));
    learner.filter().verify().unwrap();
    assert_eq!([verdict(&learner, mail), verdict(&learner, JUDGED[1].0)], ["spam", "ham"]);
}

#[test]
fn a_third_label_ends_the_scoring_of_a_word_list() {
    let folder = tempfile::tempdir().unwrap();
    for n in [0, 2] {
        let mut learner = taught(&folder.path().join(format!("{n}.tamis")), n);
        learner.add_label("list").unwrap();
        assert!(!is_robinsons(&learner));
        learner.filter().verify().unwrap();
        let score = learner.filter().score_mail(b"Subject: Offer\n\nFREE pills\n", &mut Default::default());
        assert_eq!(learner.filter().label_of(&score.unwrap()), "spam", "{n}");
    }
}
