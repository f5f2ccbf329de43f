//! Many who learn and read at once.

use std::collections::HashSet;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tamis_train::{Document, Filter, LearnOptions, Learner, Model, Scratch};

use crate::faults::crash::{MODEL, check, must_learn, of_first, options};
use crate::faults::model_file::mail;

/// Two writers learn mails from 30 on until that is enough, each opening the model for every mail, and eight readers
/// score a probe as often as they can: all that they are answered was committed.
fn crowd(is_enough: impl Fn(usize) -> bool + Sync, log_limit: usize) {
    let world = of_first(30);
    let path = world.path(MODEL);
    let probe = mail(1_000_001).1;
    let answer = |filter: &Filter| {
        let score = filter.score_mail(probe.as_bytes(), &mut Scratch::default()).unwrap();
        (filter.information().size.documents, score.log_odds.to_bits())
    };
    let committed = Mutex::new(HashSet::from([answer(&Filter::open(&path).unwrap())]));
    let (next, writing) = (AtomicUsize::new(30), AtomicUsize::new(2));
    let write = || {
        while !is_enough(next.load(Ordering::Relaxed)) {
            let (label, mail) = mail(next.fetch_add(1, Ordering::Relaxed));
            let mut learner = Learner::open(&path, options(log_limit, Duration::from_secs(600))).unwrap();
            learner.learn(label, Document::Mail(mail.as_bytes())).unwrap();
            learner.commit().unwrap();
            committed.lock().unwrap().insert(answer(learner.filter()));
        }
        writing.fetch_sub(1, Ordering::Relaxed);
    };
    let read = || {
        let mut answers = Vec::new();
        let mut kept = Filter::open(&path).unwrap();
        while writing.load(Ordering::Relaxed) > 0 {
            answers.push(answer(&Filter::open(&path).unwrap()));
            kept = kept.reopened().unwrap().unwrap_or(kept);
            answers.push(answer(&kept));
        }
        answers
    };
    let answers: Vec<_> = std::thread::scope(|scope| {
        (0..2).for_each(|_| drop(scope.spawn(write)));
        let readers: Vec<_> = (0..8).map(|_| scope.spawn(read)).collect();
        readers.into_iter().map(|reader| reader.join().unwrap()).collect()
    });
    let (committed, n) = (committed.into_inner().unwrap(), next.into_inner());
    assert_eq!(committed.len(), n - 30 + 1);
    for answers in &answers {
        assert!(answers.iter().all(|answer| committed.contains(answer)));
        assert!(answers.is_sorted_by_key(|(documents, _)| documents));
    }
    assert!(!check(&world, n));
    let n_answers: usize = answers.iter().map(Vec::len).sum();
    eprintln!("two writers, {n} mails, eight readers, {n_answers} answers, each of a committed state");
}

#[test]
fn readers_see_what_was_committed_while_two_write() {
    crowd(|n| n >= 160, 8_000);
}

/// Mails from 30 to `n`, a process each, eight at once: all are there, and nothing but what training on all of them gives.
fn stampede(n: usize, log_limit: usize) {
    let world = of_first(30);
    let next = AtomicUsize::new(30);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= n {
                        break;
                    }
                    must_learn(&world, number, log_limit);
                }
            });
        }
    });
    assert!(!check(&world, n));
    let [learned, trained] = [world, of_first(n)].map(|world| {
        // documents are remembered without their parts, so the trained model is fitted without them too
        world.succeed(&["retrain", "-m", MODEL]);
        let exported = world.succeed(&["export", "--documents", "-m", MODEL]);
        // the first line tells how often the model changed; what has no date gets that of the day it was learned
        let (_, lines) = exported.split_once('\n').unwrap();
        lines.lines().map(without_date).collect::<Vec<_>>()
    });
    assert!(learned == trained);
    eprintln!("{} processes, eight at once: all mails are there, as if trained at once", n - 30);
}

/// A line of an exported document without its date.
fn without_date(line: &str) -> String {
    let Some((before, rest)) = line.split_once("\"date\":") else { return line.to_owned() };
    rest.split_once(',').map_or(before.to_owned(), |(_, after)| format!("{before}{after}"))
}

#[test]
fn a_process_a_mail_eight_at_once() {
    stampede(130, 16_000);
}

#[test]
#[ignore = "takes minutes"]
fn crowd_two_writers_and_eight_readers() {
    let start = Instant::now();
    crowd(|_| start.elapsed() > Duration::from_secs(60), 20_000);
}

#[test]
#[ignore = "takes minutes"]
fn crowd_a_thousand_processes() {
    stampede(1_030, LearnOptions::default().log_limit);
}

#[test]
fn what_is_learned_while_models_are_added_up_is_not_lost() {
    let world = of_first(30);
    fs::copy(of_first(10).path(MODEL), world.path("other")).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| (30..60).for_each(|number| must_learn(&world, number, 16_000)));
        for _ in 0..10 {
            world.succeed(&["merge", "-m", MODEL, MODEL, "other", "--replace"]);
        }
    });
    assert!(!check(&world, 60));
}

/// While a learner writes segment after segment, and the file anew now and then: no check takes that for a change in
/// place, and copies that two threads make of the same filter are whole.
fn beside_a_learner(n_checks: usize, n_copies: usize) {
    let world = of_first(30);
    let (path, is_done, commits) = (world.path(MODEL), AtomicBool::new(false), AtomicUsize::new(0));
    let learn = || {
        let mut options = options(4_000, Duration::from_secs(60));
        options.growth_limit = Some(u64::MAX);
        let mut learner = Learner::open(&path, options).unwrap();
        while !is_done.load(Ordering::Relaxed) {
            let number = commits.fetch_add(1, Ordering::Relaxed);
            let (label, mail) = mail(30 + number / 2 % 20);
            let document = Document::Mail(mail.as_bytes());
            match number % 2 {
                0 => drop(learner.learn(label, document).unwrap()),
                _ => drop(learner.forget(None, document).unwrap()),
            }
            learner.commit().unwrap();
            if number % 200 == 199 {
                learner.compact().unwrap();
            }
        }
    };
    let probe = mail(1_000_001).1;
    let opened = || {
        let filter = Filter::open(&path).unwrap();
        filter.score_mail(probe.as_bytes(), &mut Scratch::default()).unwrap();
        filter
    };
    let check = || {
        let mut filter = opened();
        for n in 0..n_checks {
            if n % 500 == 499 {
                filter = opened();
            }
            filter.check_unchanged().unwrap();
        }
    };
    let copy = |filter: &Filter| {
        let copy = Filter::from_bytes(Model::copy(filter).unwrap().as_bytes().to_vec()).unwrap();
        copy.verify().unwrap();
        assert_eq!(copy.information().size.documents, filter.information().size.documents);
    };
    struct Done<'a>(&'a AtomicBool);
    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    std::thread::scope(|scope| {
        let _done = Done(&is_done);
        scope.spawn(learn);
        let checking = scope.spawn(check);
        for _ in 0..n_copies.div_ceil(20) {
            let filter = opened();
            std::thread::scope(|scope| {
                (0..2).for_each(|_| drop(scope.spawn(|| (0..10).for_each(|_| copy(&filter)))));
            });
            // so that segments took the place of others
            Filter::read(&path).unwrap().verify().unwrap();
        }
        checking.join().unwrap();
    });
    let n_commits = commits.into_inner();
    eprintln!("{n_checks} checks and {n_copies} copies beside {n_commits} commits: none wrong");
    assert!(n_commits > 10);
}

#[test]
fn checks_and_copies_beside_a_learner_are_right() {
    beside_a_learner(20_000, 100);
}

#[test]
#[ignore = "takes minutes"]
fn crowd_a_million_checks_and_a_thousand_copies_beside_a_learner() {
    beside_a_learner(1_000_000, 1_000);
}
