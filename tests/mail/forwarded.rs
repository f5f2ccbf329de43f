//! Spam that people forward as an attachment teaches the spam, not who forwarded it (`tamis learn --forwarded`).

use std::fs;

use crate::support::{World, inbox, stderr, stdout};

/// The spam of the inbox.
const SPAM: [&str; 6] = ["01.eml", "04.eml", "05.eml", "08.eml", "10.eml", "12.eml"];

/// A message of a colleague, the rest of whose header and whose body are these.
fn colleague(n: usize, to: &str, subject: &str, rest: &str) -> String {
    format!(
        "Return-Path: <m.okafor@example.org>\nReceived: from desk7.example.org (desk7.example.org [192.0.2.17])\n\
         \tby mail.example.org (Postfix) with ESMTPSA id 4AB{n}\n\tfor <{to}>; Tue, 3 Nov 2026 10:0{n}:00 +0000\n\
         From: Miriam Okafor <m.okafor@example.org>\nTo: {to}\nSubject: {subject}\nDate: Tue, 3 Nov 2026 10:0{n}:00 +0000\n\
         Message-ID: <{n}@example.org>\nUser-Agent: Mozilla Thunderbird\nMIME-Version: 1.0\n{rest}"
    )
}

const SIGNATURE: &str = "\n\nMiriam Okafor\nAccounts, ext. 417\n";

/// The colleague's message that forwards these.
fn forward(n: usize, spam: &[Vec<u8>]) -> Vec<u8> {
    let text = "Content-Type: text/plain\n\nHello, another one that came through this morning.";
    let header =
        format!("Content-Type: multipart/mixed; boundary=\"--0Xh{n}\"\n\n----0Xh{n}\n{text}{SIGNATURE}");
    let mut raw = colleague(n, "spam@example.org", &format!("Fwd: spam {n}"), &header).into_bytes();
    for message in spam {
        raw.extend(format!("\n----0Xh{n}\nContent-Type: message/rfc822; name=\"spam.eml\"\n\n").bytes());
        raw.extend_from_slice(message);
    }
    raw.extend(format!("\n----0Xh{n}--\n").bytes());
    raw
}

/// The log-odds of a message.
fn log_odds(world: &World, raw: &[u8]) -> f64 {
    let line = stdout(&world.run_with_input(&["score"], raw));
    line.split(' ').nth(2).unwrap().trim().parse().unwrap()
}

/// Runs a command on a message. Returns the exit status, what it printed and what it said.
fn run(world: &World, arguments: &[&str], raw: &[u8]) -> (Option<i32>, String, String) {
    let output = world.run_with_input(arguments, raw);
    (output.status.code(), stdout(&output), stderr(&output))
}

#[test]
fn what_is_forwarded_is_learned_and_not_who_forwards_it() {
    let text = format!(
        "Content-Type: text/plain\n\nHello, shall we have lunch on Thursday? The invoice for the desks came this morning, I \
         will bring it.{SIGNATURE}"
    );
    let harmless = colleague(9, "you@example.org", "Lunch on Thursday", &text);
    let after = |options: &[&str]| {
        let world = World::with_mail_model();
        let before = log_odds(&world, harmless.as_bytes());
        for (n, name) in SPAM.into_iter().enumerate() {
            let (status, printed, said) =
                run(&world, &[&["learn", "spam"], options].concat(), &forward(n, &[inbox(name)]));
            assert_eq!((status, &printed[..]), (Some(0), "spam: learned 1 document\n"));
            let is_hint =
                said.lines().count() == 1 && said.contains("tamis forget, then tamis learn --forwarded");
            assert!(if options.is_empty() { is_hint } else { said.is_empty() }, "{said}");
        }
        let moved = log_odds(&world, harmless.as_bytes()) - before;
        println!("{options:?}: a harmless message of the colleague: {before:+.2} nats, then {moved:+.2}");
        (world, moved)
    };
    assert!(after(&[]).1 > 0.5);
    let (world, moved) = after(&["--forwarded"]);
    assert!(moved.abs() < 0.2, "{moved}");
    for name in SPAM {
        assert!(log_odds(&world, &inbox(name)) > 3.0);
        let again = run(&world, &["learn", "spam"], &inbox(name));
        assert_eq!(
            again,
            (Some(0), "spam: learned 0 documents, 1 already known\n".to_owned(), String::new())
        );
    }
}

#[test]
fn several_at_once_from_files_folders_and_mboxes_and_forgotten_again() {
    let world = World::with_mail_model();
    let mail = |range: std::ops::Range<usize>| SPAM[range].iter().map(|name| inbox(name)).collect::<Vec<_>>();
    let (first, second, third) = (forward(1, &mail(0..2)), forward(2, &mail(2..3)), forward(3, &mail(3..6)));
    world.write("one.eml", &first);
    world.write("reports/cur/2.eml:2,S", &first);
    world.write("reports/cur/3.eml:2,S", &second);
    let mbox = [b"From c@example.org Tue Nov  3 10:00:00 2026\n", &third[..], b"\n"].concat();
    world.write("reports.mbox", mbox);
    let learn = |path: &str| world.succeed(&["learn", "spam", "--forwarded", "--log", "log", path]);
    assert_eq!(learn("one.eml"), "spam: learned 2 documents\n");
    assert_eq!(learn("reports"), "spam: learned 1 document, 2 already known\n");
    assert_eq!(learn("reports.mbox"), "spam: learned 3 documents\n");
    // the log tells of what was learned
    let log = fs::read_to_string(world.path("log")).unwrap();
    assert!(log.lines().count() == 6 && !log.contains("id=1@example.org"), "{log}");
    assert!(log.contains("id=9dc383e5-b9b7-1d4e-59a8dff92339@lucky-palace.test"), "{log}");
    let forgotten = world.succeed(&["forget", "--forwarded", "reports.mbox", "one.eml"]);
    assert_eq!(forgotten, "forgot 5 documents\n");
    assert_eq!(learn("one.eml"), "spam: learned 2 documents\n");
}

#[test]
fn a_message_that_forwards_nothing_is_refused_and_changes_nothing() {
    let world = World::with_mail_model();
    let model = ".local/share/tamis/model.tamis";
    let before = fs::read(world.path(model)).unwrap();
    let refused = "expected a message that forwards others as attachments, got one without\n";
    let (status, printed, said) = run(&world, &["learn", "spam", "--forwarded"], &inbox("02.eml"));
    assert_eq!((status, &printed[..]), (Some(3), "spam: learned 0 documents\n"));
    assert_eq!(said, format!("tamis: -: {refused}"));
    // one of many is said, as what cannot be read in a folder
    world.write("reports/1.eml", inbox("02.eml"));
    for (options, expected) in [(&[][..], 0), (&["--strict"], 3)] {
        let arguments = [&["learn", "spam", "--forwarded", "reports"], options].concat();
        let (status, _, said) = run(&world, &arguments, b"");
        assert!(status == Some(expected) && said.contains(refused), "{status:?} {said}");
    }
    // in time for the caller to keep it
    let spool = ["learn", "spam", "--forwarded", "--spool", "spool"];
    let (status, _, said) = run(&world, &spool, &inbox("02.eml"));
    assert!(status == Some(3) && said.ends_with(refused), "{said}");
    assert!(!world.path("spool").exists());
    assert!(fs::read(world.path(model)).unwrap() == before);
}

#[test]
fn forwarded_messages_wait_in_a_spool_one_by_one() {
    let world = World::with_mail_model();
    let raw = forward(1, &[inbox("01.eml"), inbox("04.eml")]);
    let arguments = ["learn", "spam", "--forwarded", "--spool", "spool", "--wait", "0"];
    let busy = world.lock(".local/share/tamis/model.tamis");
    let (status, _, said) = run(&world, &arguments, &raw);
    assert!(status == Some(0) && said.contains("waits in spool"), "{said}");
    let waiting =
        fs::read_dir(world.path("spool")).unwrap().map(|file| fs::read(file.unwrap().path()).unwrap());
    let mut waiting: Vec<_> = waiting.collect();
    waiting.sort();
    let mut expected = ["01.eml", "04.eml"].map(|name| [b"spam\n", &inbox(name)[..]].concat());
    expected.sort();
    assert!(waiting == expected);
    drop(busy);
    // whoever comes next needs no option
    let learned = world.succeed(&["learn", "--spool", "spool"]);
    assert_eq!(learned, "spam: learned 2 documents\n");
    // without the option, it is said of the first alone
    let said = |n| run(&world, &["learn", "spam", "--spool", "spool"], &forward(n, &[inbox("05.eml")])).2;
    assert!(said(2).contains("learned itself, not the messages that it forwards"));
    // a spool that cannot be had
    world.write("file", "");
    let arguments = ["learn", "spam", "--forwarded", "--spool", "file/spool"];
    let (status, printed, _) = run(&world, &arguments, &forward(3, &[inbox("05.eml"), inbox("08.eml")]));
    assert_eq!((status, &printed[..]), (Some(0), "spam: learned 2 documents\n"));
}
