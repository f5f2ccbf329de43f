//! Folders as mail programs leave them: what is read, and what is skipped by name.

use crate::sources::compressed::packed;
use crate::sources::trees::message;
use crate::support::{World, stderr, stdout};

const SEPARATOR: &str = "From a@example.org Mon Mar  2 10:00:00 2026\n";

fn mail(n: usize) -> String {
    message(&format!("number {n}"), &format!("body {n}"))
}

/// Three messages behind these separators and before these line ends.
fn mbox(separator: &str, end: &str) -> String {
    (0..3).map(|n| separator.to_owned() + &mail(n) + end).collect()
}

/// Files, how many documents are learned of them, and what is said of others; with `!` before it if it is an error with
/// --strict.
type Case<'a> = (&'a [(&'a str, Vec<u8>)], usize, &'a str);

fn check(cases: &[Case<'_>]) {
    for (i, (files, expected, said)) in cases.iter().enumerate() {
        let world = World::new();
        for n in 3..6 {
            world.write(&format!("z/{n}.eml"), mail(n));
        }
        for (name, content) in *files {
            world.write(&format!("L/{name}"), content);
        }
        let output = world.run(&["train", "-m", "m", "--strict", "L=L", "z=z"]);
        let (is_error, said) = said.strip_prefix('!').map_or((false, *said), |said| (true, said));
        let context = format!("case {i}, {}: {}", files[0].0, stderr(&output));
        let learned = format!("learned {} documents ({expected} L, 3 z)", expected + 3);
        assert!(stdout(&output).starts_with(&learned), "{context}");
        assert!(stderr(&output).contains(said), "{context}");
        assert_eq!(output.status.code(), Some(if is_error { 3 } else { 0 }), "{context}");
        let has_said = ["skipped", "left out", "expected mail"].iter().any(|it| stderr(&output).contains(it));
        assert_eq!(has_said, !said.is_empty(), "{context}");
    }
}

#[test]
fn mboxes_have_any_name_and_any_separator() {
    let plain = mbox(SEPARATOR, "\n");
    let marked = [b"\xef\xbb\xbf", plain.as_bytes()].concat();
    for content in [
        plain.clone().into_bytes(),
        plain.replace('\n', "\r").into_bytes(),
        plain.replace('\n', "\r\n").into_bytes(),
        marked,
        packed(&plain),
        mbox(SEPARATOR, "").into_bytes(),
        mbox("From a@example.org\n", "\n").into_bytes(),
        mbox("From \n", "\n").into_bytes(),
        mbox("From - \nX-Mozilla-Status: 0001\n", "\n").into_bytes(),
        mbox("From a@example.org 2026-03-02T10:00:00Z\n", "\n").into_bytes(),
    ] {
        check(&[
            (&[("Inbox", content.clone())], 3, ""),
            (
                &[("Junk.mbox/mbox", content.clone()), ("Junk.mbox/table_of_contents", b"\0\x01\x02".into())],
                3,
                "!binary",
            ),
        ]);
    }
}

#[test]
fn what_programs_keep_beside_messages_teaches_nothing_and_is_counted() {
    let marked = |field: &str| mail(0).replacen("Subject", &format!("{field}\nSubject"), 1);
    let internal = "Subject: DON'T DELETE THIS MESSAGE -- FOLDER INTERNAL DATA\nX-IMAP: 1 2\n\ntext\n\n";
    let mbox = |first: &str| format!("{SEPARATOR}{first}\n{SEPARATOR}{}", mail(1)).into_bytes();
    check(&[
        (&[("Inbox", mbox(&marked("X-Mozilla-Status: 0009")))], 1, "skipped 1 message: a deleted message\n"),
        (&[("mail", mbox(&marked("X-Status: D")))], 1, "skipped 1 message: a deleted message\n"),
        (&[("mail", mbox(internal))], 1, "skipped 1 message: data of the mail folder\n"),
        (
            &[("cut", format!("{SEPARATOR}{}\n{SEPARATOR}From: a\nDa", mail(0)).into_bytes())],
            1,
            "skipped 1 message: cut off in its header\n",
        ),
        (
            &[("cur/1:2,S", mail(0).into()), ("cur/2:2,ST", mail(1).into()), ("new/.keep", vec![])],
            1,
            "left out 1 hidden file or folder, 1 deleted message (L/cur/2:2,ST)\n",
        ),
        (
            &[("1", mail(0).into()), (",2", mail(1).into()), ("#3", mail(2).into())],
            1,
            "left out 2 deleted messages (such as L/#3)\n",
        ),
        (
            &[
                ("cur/1:2,S", mail(0).into()),
                ("new/2", mail(1).into()),
                ("Junk/cur/3", mail(2).into()),
                ("Junk/new/.keep", vec![]),
            ],
            2,
            "left out 1 Maildir subfolder (L/Junk)\n",
        ),
        // without new
        (&[("cur/1:2,S", mail(0).into()), ("tmp/2", mail(1).into())], 1, ""),
    ]);
}

#[test]
fn files_of_other_programs_are_read_or_skipped_by_name() {
    let emlx = |n| {
        format!("{}       \n{}<?xml version=\"1.0\"?>\n<plist>flags</plist>\n", mail(n).len(), mail(n))
            .into_bytes()
    };
    let tar = [&b"1.eml\0"[..], &[0; 251], b"ustar\x0000"].concat();
    check(&[
        (&[("Messages/1.emlx", emlx(0)), ("Messages/2.partial.emlx", emlx(1))], 2, ""),
        (&[("1.eml", b"From: a\nSubject: b\n\nc\n".into())], 1, ""),
        (&[("1.eml", mail(0).replace('\n', "\r").into())], 1, ""),
    ]);
    for (name, content, what) in [
        ("mmdf", b"\x01\x01\x01\x01\nFrom: a\n".to_vec(), "an MMDF mailbox"),
        ("babyl", b"BABYL OPTIONS:\nVersion: 5\n\x1f".to_vec(), "a Babyl mailbox"),
        ("x.mbx", b"*mbx*\r\n0000000100000001\r\n".to_vec(), "an mbx mailbox"),
        ("u.1", b"2 M1e C6b09579a\n\x01\x02N  ".to_vec(), "a dbox mailbox"),
        ("x.pst", b"!BDN\0\0".to_vec(), "an Outlook data file"),
        ("x.dbx", b"\xcf\xad\x12\xfe\xc5\xfd".to_vec(), "a mailbox of Outlook Express"),
        ("winmail.dat", b"\x78\x9f\x3e\x22\0".to_vec(), "an attachment of Outlook"),
        ("x.tar", tar.clone(), "a tar archive"),
        ("x.tar.gz", packed(&tar), "a tar archive"),
        ("Inbox.msf", b"// <!-- <mdb:mork:z v=\"1.4\"/> -->\n".to_vec(), "an index of Thunderbird"),
        ("x.json", b"{\"raw\": \"RnJvbTogYUBiCg==\"}".to_vec(), "JSON"),
        ("x.ics", b"BEGIN:VCALENDAR\nEND:VCALENDAR\n".to_vec(), "a calendar"),
        ("news", b"#! rnews 100\nFrom: a\n".to_vec(), "a batch of news"),
        ("smtp", b"HELO x\nMAIL FROM:<a@b>\nDATA\n".to_vec(), "a batch of SMTP commands"),
        ("README.txt", b"Note: these are mails\n\nof March\n".to_vec(), "a text without the header of mail"),
        ("empty", vec![], "an empty file"),
    ] {
        let files = [("1.eml", mail(0).into_bytes()), ("2.eml", mail(1).into_bytes()), (name, content)];
        check(&[(&files, 2, &format!("!L/{name}: expected mail, got {what}"))]);
    }
}

#[test]
fn a_folder_of_another_kind_than_its_names_or_neighbours_is_asked_about() {
    let world = World::new();
    for n in 0..4 {
        world.write(&format!("mail/ham/{n}"), mail(n));
        world.write(&format!("mail/spam/{n}"), format!("cheap pills {n}"));
        world.write(&format!("names/{n}.eml"), format!("cheap pills {n}"));
    }
    let said = world.fail(&["train", "mail"]);
    assert!(said.contains("got mail under ham and text under spam; choose with --as"), "{said}");
    let said = world.fail(&["train", "spam=names", "ham=mail/ham"]);
    assert!(said.contains("expected mail, as most names of files say, got text"), "{said}");
    world.succeed(&["train", "--as", "text", "mail"]);
    // mailboxes that cannot be read do not make a model of text
    world.write("pst/x.pst", "!BDN");
    let said = world.fail(&["train", "spam=pst", "ham=mail/ham"]);
    assert!(said.contains("pst/x.pst: skipped: an Outlook data file"), "{said}");
}
