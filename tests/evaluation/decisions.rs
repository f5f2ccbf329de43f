//! Thresholds, priors and costs; what is expected; who is suspect; evaluation without a model.

use std::ops::Range;
use std::path::Path;

use crate::support::{World, root, stdout, verdict_fields};

fn mail() -> [String; 2] {
    let mail = root().join("corpora/mail").display().to_string();
    [format!("ham={mail}/ham"), format!("spam={mail}/spam")]
}

fn number(text: &str) -> f64 {
    text.trim().parse().unwrap()
}

fn inbox() -> String {
    root().join("corpora/mail/inbox").display().to_string()
}

fn log_odds(rows: &str) -> Vec<f64> {
    rows.lines().skip(1).map(|row| number(row.split(',').nth(3).unwrap())).collect()
}

#[test]
fn a_prior_shifts_the_log_odds_of_every_message_by_as_much() {
    let world = World::with_mail_model();
    let plain = log_odds(&world.succeed(&["label", &inbox()]));
    let shifted = log_odds(&world.succeed(&["label", "--prior", "spam=0.01", &inbox()]));
    let logit = |p: f64| (p / (1.0 - p)).ln();
    let expected = logit(0.01) - logit(85.0 / 167.0);
    assert!(
        plain.iter().zip(&shifted).all(|(a, b)| (b - a - expected).abs() < 1e-3),
        "{plain:?} {shifted:?}"
    );
    assert_eq!(shifted, log_odds(&world.succeed(&["label", "--prior", "ham=0.99", &inbox()])));
    let [ham, spam] = mail();
    world.succeed(&["train", "-m", "shifted.tamis", "--prior", "spam=0.01", &ham, &spam]);
    assert_eq!(shifted, log_odds(&world.succeed(&["label", "-m", "shifted.tamis", &inbox()])));
    assert!(world.fail(&["label", "--prior", "spam=2", &inbox()]).contains("between 0 and 1"));
    assert!(world.fail(&["label", "--prior", "eggs=0.5", &inbox()]).contains("eggs"));
}

/// Probabilities and verdicts of the documents that `label` wrote.
fn verdicts(rows: &str) -> Vec<(f64, String)> {
    let cells = rows.lines().skip(1).map(|row| row.split(',').collect::<Vec<_>>());
    cells.map(|cells| (number(cells[2]), cells[1].to_owned())).collect()
}

#[test]
fn a_spam_filter_calls_spam_what_is_spam_above_a_probability_of_98_percent() {
    let world = World::with_mail_model();
    let mail = root().join("corpora/mail").display().to_string();
    // a prior that leaves no probability near 1
    let label = |more: &[&str]| world.succeed(&[&["label", "--prior", "spam=0.002", &mail], more].concat());
    let check = |rows: &str, lower: f64, upper: f64| {
        let (rows, mut doubts) = (verdicts(rows), 0);
        for (p, verdict) in &rows {
            let p = *p;
            let expected = match p {
                _ if p > upper => "spam",
                _ if p <= lower => "ham",
                _ => "unsure",
            };
            // unsure where a part or the header says otherwise
            doubts += usize::from(verdict != expected);
            assert!(verdict == expected || verdict == "unsure", "{p}: {verdict}");
        }
        assert!(doubts * 10 <= rows.len(), "{doubts} of {}", rows.len());
    };
    let default = label(&[]);
    check(&default, 0.4, 0.98);
    let n_between = |range: Range<f64>| verdicts(&default).iter().filter(|(p, _)| range.contains(p)).count();
    let spread = [0.0..0.4, 0.4..0.6, 0.6..0.98, 0.98..1.0].map(n_between);
    assert!(spread.iter().all(|n| *n > 0), "{spread:?}");
    assert_eq!(default, label(&["--cost", "fp=49"]));
    // a cost moves the upper threshold alone, --unsure both
    check(&label(&["--cost", "fp=1"]), 0.4, 0.5);
    check(&label(&["--unsure", "0.6"]), 0.4, 0.6);
}

#[test]
fn what_is_held_out_is_judged_as_the_model_will() {
    let world = World::new();
    let [ham, spam] =
        ["ham", "spam"].map(|label| root().join("corpora/mail").join(label).display().to_string());
    // the labels say nothing of spam, and stand in the same order
    let [ham_named, spam_named] = [format!("friends={ham}"), format!("others={spam}")];
    let verdicts = |sources: [&str; 2], more: &[&str]| {
        let [a, b] = sources;
        world.succeed(&[&["evaluate", "--folds", "5", "--scores", "scores.tsv", a, b], more].concat());
        let scores = std::fs::read_to_string(world.path("scores.tsv")).unwrap();
        scores.lines().skip(1).map(|row| row.split('\t').nth(3).unwrap().to_owned()).collect::<Vec<_>>()
    };
    let of_spam = verdicts([&format!("ham={ham}"), &format!("spam={spam}")], &[]);
    let of_others = verdicts([&ham_named, &spam_named], &["--spam-label", "others"]);
    let renamed: Vec<_> =
        of_others.iter().map(|label| label.replace("friends", "ham").replace("others", "spam")).collect();
    // parts are weighed where a label says spam: they leave some in doubt
    let pairs = renamed.iter().zip(&of_spam);
    let n_other = pairs.filter(|(named, of_spam)| named != of_spam && *of_spam != "unsure").count();
    assert_eq!((n_other, renamed.len()), (0, of_spam.len()));
    assert!(of_spam.iter().any(|label| label == "unsure"));
    assert!(!verdicts([&ham_named, &spam_named], &[]).iter().any(|label| label == "unsure"));
}

#[test]
fn a_cost_moves_the_threshold_and_not_the_scores() {
    let world = World::with_mail_model();
    let plain = world.succeed(&["label", &inbox()]);
    let costly = world.succeed(&["label", "--cost", "fp=1000000000", &inbox()]);
    assert_eq!(log_odds(&plain), log_odds(&costly));
    assert!(plain.contains(",spam,") && !costly.contains(",spam,"));
    // What is no longer spam for certain is unsure, not ham.
    assert!(costly.contains(",unsure,"));
    assert!(world.fail(&["label", "--cost", "fp=0", &inbox()]).contains("fp=N"));
    let message = std::fs::read(root().join("corpora/mail/inbox/01.eml")).unwrap();
    let passed = world.run_with_input(&["score", "-p", "--cost", "fp=9"], &message).stdout;
    let passed = verdict_fields(&message, &passed);
    assert!(passed.contains(" required=2.20 "), "{passed}");
}

#[test]
fn a_false_positive_rate_that_cannot_be_promised_is_refused() {
    let world = World::new();
    let [ham, spam] = mail();
    let said = world.fail(&["train", "--max-fpr", "0.1%", &ham, &spam]);
    assert!(said.contains("2995") && said.contains("82"), "{said}");
    let said = world.succeed(&["train", "--max-fpr", "5%", &ham, &spam]);
    assert!(
        said.contains("expected on messages drawn like these: 0.00 % (0.00 to 4.40) of ham lost"),
        "{said}"
    );
    assert!(world.fail(&["train", "--max-fpr", "2", &ham, &spam]).contains("0.5%"));
    let topics = root().join("corpora/topics/train").display().to_string();
    assert!(world.fail(&["train", "-m", "t.tamis", "--max-fpr", "5%", &topics]).contains("two labels"));
}

#[test]
fn a_handful_of_messages_works_and_says_so() {
    let world = World::new();
    world.write(
        "ham/1.eml",
        "From: a@example.org\nDate: Mon, 2 Mar 2026 10:00:00 +0000\nSubject: lunch\n\nsoup at noon\n",
    );
    world.write(
        "spam/1.eml",
        "From: b@example.net\nDate: Tue, 3 Mar 2026 10:00:00 +0000\nSubject: pills\n\nbuy now\n",
    );
    let said = world.succeed(&["train", "ham", "spam"]);
    assert!(said.contains("too few documents to tell what to expect"), "{said}");
    world.succeed(&["verify"]);
    let code = |more: &[&str], message: &[u8]| {
        world.run_with_input(&[&["score"], more].concat(), message).status.code()
    };
    // one message of each kind is too little to be sure of anything
    assert_eq!(code(&[], b"Subject: pills\n\nbuy pills now\n"), Some(2));
    assert_eq!(code(&["--cost", "fp=1"], b"Subject: pills\n\nbuy pills now\n"), Some(0));
    assert_eq!(code(&[], b"Subject: lunch\n\nsoup again\n"), Some(2));
    assert_eq!(code(&["--unsure", "0.5"], b"Subject: lunch\n\nsoup again\n"), Some(1));
    assert_eq!(code(&[], b"\n\nquite another matter\n"), Some(2));
}

#[test]
fn a_message_filed_wrongly_is_suspect() {
    let world = World::new();
    for (label, wrong) in [("ham", "031-"), ("spam", "005-")] {
        for entry in std::fs::read_dir(root().join("corpora/mail").join(label)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let other = if label == "ham" { "spam" } else { "ham" };
            let folder = if name.starts_with(wrong) { other } else { label };
            world.write(&format!("mail/{folder}/{name}"), std::fs::read(&path).unwrap());
        }
    }
    world.succeed(&["train", "mail"]);
    let shown = world.succeed(&["inspect", "--suspects=20", "mail"]);
    for wrong in ["mail/spam/031-", "mail/ham/005-"] {
        assert!(shown.contains(wrong), "{wrong} is not suspected:\n{shown}");
    }
    assert!(shown.contains("expected on messages drawn like these"));
    let object: serde_json::Value =
        serde_json::from_str(&world.succeed(&["inspect", "--json", "--suspects=3"])).unwrap();
    assert_eq!(object["suspects"].as_array().unwrap().len(), 3);
}

#[test]
fn evaluation_learns_by_folds_or_by_turns() {
    let world = World::new();
    let [ham, spam] = mail();
    let folds = world.succeed(&["evaluate", "--folds", "5", "--json", "--scores", "folds.tsv", &ham, &spam]);
    let folds: serde_json::Value = serde_json::from_str(&folds).unwrap();
    assert_eq!(folds["documents"], 167);
    assert!(folds["roc_auc"].as_f64().unwrap() > 0.85, "{folds}");
    for key in ["lam_percent", "one_minus_roc_auc_percent", "missed_at_fpr_0.5_percent", "log_loss", "brier"]
    {
        assert!(folds[key].is_number(), "{key}");
    }
    assert!(folds["one_minus_roc_auc_percent_interval"][1].is_number());
    let scores = std::fs::read_to_string(world.path("folds.tsv")).unwrap();
    assert_eq!(scores.lines().count(), 168);
    for row in scores.lines().skip(1) {
        let cells: Vec<_> = row.split('\t').collect();
        assert!(Path::new(cells[0]).parent().unwrap().ends_with(cells[1]), "{row}");
        let sigmoid = 1.0 / (1.0 + (-number(cells[2])).exp());
        assert!((sigmoid - number(cells[4])).abs() < 1e-12, "{row}");
    }
    let online = |order: &str| {
        let shown = world.succeed(&["evaluate", "--online", "--order", order, "--json", &ham, &spam]);
        serde_json::from_str::<serde_json::Value>(&shown).unwrap()
    };
    let shuffled = online("md5");
    assert_eq!(shuffled, online("md5"));
    assert_ne!(shuffled["roc_auc"], online("date")["roc_auc"]);
    assert!(world.fail(&["evaluate", "--content-only", &ham]).contains("--folds"));
    let topics = root().join("corpora/topics/train").display().to_string();
    assert!(world.succeed(&["evaluate", "--online", &topics]).contains("accuracy"));
}

#[test]
fn counts_alone_are_enough() {
    let world = World::new();
    let [ham, spam] = mail();
    world.succeed(&["train", "--correction", "off", &ham, &spam]);
    assert!(world.succeed(&["inspect"]).contains("likelihood  weighted, correction off"));
    world.succeed(&["verify"]);
    let one = root().join("corpora/mail/inbox/01.eml").display().to_string();
    assert!(stdout(&world.run(&["score", &one])).starts_with("spam "));
}
