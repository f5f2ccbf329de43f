//! The SpamAssassin public corpus as its owner got it: message after message by date, and whatever the filter called wrongly
//! or left unsure is learned. bogofilter does the same beside it.

use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use tamis_mail::{Limits, Message};
use tamis_train::{Document, Kind, LearnOptions, Learner, TrainOptions};

use crate::corpora::{Labelled, sorted};
use crate::engine::train;
use crate::goals::Goal;
use crate::report::Report;

/// Messages of each label that are learned first.
const FIRST: usize = 100;

/// What became of the messages that were scored.
#[derive(Default)]
struct Outcome {
    ham_lost: usize,
    spam_missed: usize,
    unsure: usize,
    right: usize,
}

impl Outcome {
    fn corrections(&self) -> usize {
        self.ham_lost + self.spam_missed + self.unsure
    }

    /// Notes a verdict, and tells whether it has to be corrected.
    fn note(&mut self, label: &str, verdict: &str) -> bool {
        let count = match (label, verdict) {
            (_, "unsure") => &mut self.unsure,
            ("ham", "spam") => &mut self.ham_lost,
            ("spam", "ham") => &mut self.spam_missed,
            ("ham", "ham") | ("spam", "spam") => &mut self.right,
            _ => panic!("expected a verdict on {label}, got {verdict}"),
        };
        *count += 1;
        label != verdict
    }

    fn report(&self, report: &mut Report, who: &str, scored: usize, peer: Option<&Outcome>) {
        assert_eq!(self.right + self.corrections(), scored, "every message has one outcome");
        let limit = |limit: usize| Goal { limit: limit as f64, at_least: false };
        let figures = [
            ("ham called spam", self.ham_lost, peer.map(|peer| limit(peer.ham_lost))),
            ("spam called ham", self.spam_missed, None),
            ("unsure", self.unsure, None),
            ("corrections", self.corrections(), peer.map(|peer| limit(peer.corrections() / 2))),
        ];
        for (what, figure, goal) in figures {
            report.single_to(&format!("SpamAssassin replayed, {who}: {what}"), figure as f64, 0, goal);
        }
    }
}

pub fn spamassassin(path: &Path, report: &mut Report) {
    let (first, rest) = by_date(path);
    assert_eq!([first.len(), rest.len()], [2 * FIRST, 6_046 - 2 * FIRST], "messages learned and scored");
    let peer = by_bogofilter(&first, &rest);
    by_tamis(None, &first, &rest).report(report, "tamis", rest.len(), peer.as_ref());
    for cost in [1.0, 9.0, 39.0] {
        by_tamis(Some(cost), &first, &rest).report(report, &format!("cost fp={cost}"), rest.len(), None);
    }
    match peer {
        Some(peer) => peer.report(report, "bogofilter", rest.len(), None),
        None => println!("skipped: the replay by bogofilter, which is not here\n"),
    }
}

/// The first messages of each label, then all others by date; equal dates by the files' names.
fn by_date(path: &Path) -> (Vec<Labelled>, Vec<Labelled>) {
    let mut mails = Vec::new();
    for label in ["ham", "spam"] {
        for path in sorted(&path.join(label)) {
            let raw = std::fs::read(&path).unwrap();
            let key = (date(&raw), path.file_name().unwrap().to_owned());
            mails.push((key, Labelled { label: label.to_owned(), raw }));
        }
    }
    mails.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut seen = [0; 2];
    mails.into_iter().map(|(_, mail)| mail).partition(|mail| {
        let seen = &mut seen[usize::from(mail.label == "spam")];
        *seen += 1;
        *seen <= FIRST
    })
}

/// The date that a message bears, or that of the earliest Received field; in seconds since 1970.
fn date(raw: &[u8]) -> Option<i64> {
    let message = Message::parse(raw, &Limits::default());
    let received = message.headers().filter(|field| field.name.eq_ignore_ascii_case("received"));
    let dates = received.filter_map(|field| {
        let (_, date) = field.value.rsplit_once(';')?;
        Message::parse(format!("Date:{date}\n\n").as_bytes(), &Limits::default()).date()
    });
    message.date().or_else(|| dates.min())
}

/// As a user of `tamis train`, `tamis score` and `tamis learn`.
fn by_tamis(cost: Option<f64>, first: &[Labelled], rest: &[Labelled]) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.tamis");
    let mut options = TrainOptions::new(Kind::Mail);
    options.decision.cost = cost;
    train(options, first).save(&path).unwrap();
    let mut learner = Learner::open(&path, LearnOptions::default()).unwrap();
    let mut outcome = Outcome::default();
    for mail in rest {
        let document = Document::Mail(&mail.raw);
        let score = learner.score(document).unwrap();
        if outcome.note(&mail.label, learner.filter().label_of(&score)) {
            learner.learn(&mail.label, document).unwrap();
            learner.commit().unwrap();
        }
    }
    outcome
}

/// As a user of bogofilter without a configuration file; `None` if it is not here.
fn by_bogofilter(first: &[Labelled], rest: &[Labelled]) -> Option<Outcome> {
    let folder = tempfile::tempdir().unwrap();
    let run = |option: Option<&str>, mail: &Labelled| bogofilter(folder.path(), option, &mail.raw);
    let learn = |mail: &Labelled| {
        let status = run(Some(if mail.label == "spam" { "-s" } else { "-n" }), mail)?;
        assert_eq!(status, 0, "bogofilter learns");
        Some(())
    };
    for mail in first {
        learn(mail)?;
    }
    let mut outcome = Outcome::default();
    for mail in rest {
        let verdict = match run(None, mail)? {
            0 => "spam",
            1 => "ham",
            2 => "unsure",
            status => panic!("bogofilter: expected a verdict, got status {status}"),
        };
        if outcome.note(&mail.label, verdict) {
            learn(mail)?;
        }
    }
    Some(outcome)
}

/// The status that bogofilter ends with, given a message.
fn bogofilter(folder: &Path, option: Option<&str>, message: &[u8]) -> Option<i32> {
    let mut command = Command::new("bogofilter");
    command.arg("-C").arg("-d").arg(folder).args(option).stdin(Stdio::piped());
    let mut child = match command.spawn() {
        Err(error) if error.kind() == ErrorKind::NotFound => return None,
        child => child.unwrap(),
    };
    child.stdin.take().unwrap().write_all(message).unwrap();
    child.wait().unwrap().code()
}
