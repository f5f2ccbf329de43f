//! What becomes of messages.

use tamis_train::{Document, LearnOptions, Learner};

use crate::milter::mta::{Mta, content, expected, message, packet, settings};
use crate::support::{HAM, HTTP, Running, SPAM};

/// Joins a header and a body.
fn mail(fields: &str, raw: &[u8]) -> Vec<u8> {
    [fields.as_bytes(), raw].concat()
}

fn verdict(running: &Running, raw: &[u8]) -> Vec<String> {
    let mut mta = Mta::postfix(running);
    mta.send(&message(raw, &["b@example.org"]));
    mta.verdict()
}

#[test]
fn forged_verdicts_are_deleted_and_ours_added() {
    let running = Running::start(&settings(""));
    let forged = "X-Spam-Flag: NO\r\nX-TAMIS: ham; probability=1.0000\r\nx-spam-flag: NO\r\nX-Spam-Report: long\r\nX-Bogosity: Ham\r\n folded\r\nX-Spam-Flag: NO\r\n";
    let deleted = ["m3 X-Spam-Flag", "m2 X-Spam-Flag", "m1 X-Spam-Flag", "m1 X-TAMIS", "m1 X-Bogosity"];
    let forged = mail(forged, SPAM);
    let added = expected(&running, &forged);
    assert_eq!(added, expected(&running, SPAM));
    let all: Vec<String> = deleted.map(str::to_owned).into_iter().chain(added.clone()).collect();
    assert_eq!(verdict(&running, &forged), all);
    drop(running);

    let running = Running::start(&(settings("") + "[verdict]\nkeep_headers = true\n"));
    let kept: Vec<String> = ["m1 X-TAMIS".to_owned()].into_iter().chain(added).collect();
    assert_eq!(verdict(&running, &forged), kept);
    drop(running);

    let running = Running::start(&settings("headers = false"));
    assert_eq!(verdict(&running, &forged), ["c"]);
}

#[test]
fn without_the_right_to_delete_nothing_is_added() {
    let running = Running::start(&settings(""));
    let mut mta = Mta(running.unix("milter.sock"));
    assert_eq!(mta.negotiate([6, 0x01, 0x1f_ffff])[1], 0);
    mta.send(&message(SPAM, &["b@example.org"]));
    assert_eq!(mta.verdict(), ["c"]);
}

#[test]
fn spam_is_rejected_held_or_asked_to_come_again() {
    for (keys, spam) in [
        ("reject = 0.9\nquarantine = 0.5\ntempfail = 0.5", "y 550 5.7.1 Message looks like spam"),
        ("reject = 0.9\nreject_text = \"5.7.1 100% spam\"", "y 550 5.7.1 100%% spam"),
        ("reject = 1.0\ntempfail = 0.9\nquarantine = 0.5", "t"),
        ("quarantine = 0.9", "q tamis: message looks like spam"),
    ] {
        let running = Running::start(&settings(keys));
        let replies = verdict(&running, SPAM);
        if spam.starts_with('q') {
            let added = expected(&running, SPAM);
            assert_eq!(replies[..added.len() - 1], added[..added.len() - 1]);
            assert_eq!(replies[added.len() - 1..], [spam, "c"]);
        } else {
            assert_eq!(replies, [spam], "{keys}");
        }
        assert_eq!(verdict(&running, HAM), expected(&running, HAM), "{keys}");
    }
}

#[test]
fn without_a_model_no_mail_is_lost_and_forged_verdicts_go() {
    let forged = mail("X-Spam-Flag: NO\r\n", SPAM);
    let running = Running::start_in(tempfile::tempdir().unwrap(), &settings("reject = 0.0"));
    assert_eq!(verdict(&running, &forged), ["m1 X-Spam-Flag", "c"]);
    let keys = settings("on_error = \"tempfail\"");
    let running = Running::start_in(tempfile::tempdir().unwrap(), &keys);
    assert_eq!(verdict(&running, &forged), ["t"]);
    crate::support::train(&running.path("model.tamis"));
    assert_eq!(verdict(&running, SPAM), expected(&running, SPAM));
}

#[test]
fn without_room_a_message_goes_through_and_then_there_is_room_again() {
    let limits = "[limits]\nbytes_in_flight = 200000\nmessage_bytes = 100000\n";
    let running = Running::start(&(settings(HTTP) + limits));
    let body = "soup ".repeat(16_000);
    let large = mail("To: b@example.org\r\n\r\n", body.as_bytes());
    let mut first = Mta::postfix(&running);
    let packets = message(&large, &["b@example.org"]);
    first.send(&packets[..packets.len() - 1]);
    running.wait_for_bytes_in_flight(large.len() / 2);
    assert_eq!(verdict(&running, &large), ["c"]);
    first.send(&packets[packets.len() - 1..]);
    assert_eq!(first.verdict(), expected(&running, &large));
    assert_eq!(verdict(&running, &large), expected(&running, &large));
}

#[test]
fn a_message_that_is_too_long_is_scored_by_its_beginning() {
    let running = Running::start(&(settings("") + "[limits]\nmessage_bytes = 5000\n"));
    let body = SPAM.to_vec().repeat(100);
    let long = mail("Subject: x\r\n\r\n", &body);
    let replies = verdict(&running, &long);
    let expected = expected(&running, &long[..5000]);
    let tamis = expected.iter().find(|line| line.starts_with("h X-Tamis:")).unwrap();
    assert!(replies.contains(&tamis.replace("; version", "; truncated; version")), "{replies:?}\n{tamis}");
    assert_eq!(replies.len(), expected.len());
}

#[test]
fn one_recipient_has_a_model_of_his_own() {
    let users = "[models]\nshared = \"FOLDER/model.tamis\"\nusers = \"FOLDER/%u.tamis\"\n";
    let running = Running::start(&(settings("headers = true\n") + users));
    let shared = expected(&running, SPAM);
    let filter = tamis_train::Filter::open(running.path("model.tamis")).unwrap();
    let path = running.path("joe@example.org.tamis");
    let mut learner =
        Learner::create_behind(&path, std::sync::Arc::new(filter), LearnOptions::default()).unwrap();
    for n in 0..30 {
        let pharmacy = [SPAM, format!("order {n}\r\n").as_bytes()].concat();
        learner.learn("ham", Document::Mail(&pharmacy)).unwrap();
    }
    learner.commit().unwrap();
    let verdict = |recipients: &[&str]| {
        let mut mta = Mta::postfix(&running);
        mta.send(&message(SPAM, recipients));
        mta.verdict()
    };
    let own = verdict(&["Joe@Example.org"]);
    assert!(own.contains(&"h X-Spam-Flag: NO".to_owned()), "{own:?}");
    assert_eq!(verdict(&["joe@example.org", "JOE@example.org"]), own);
    for recipients in [&["ann@example.org"][..], &["joe@example.org", "ann@example.org"], &["../joe"], &[]] {
        assert_eq!(verdict(recipients), shared, "{recipients:?}");
    }
}

#[test]
fn the_queue_id_is_logged() {
    let running = Running::start(&(settings("") + "[log]\nto = \"FOLDER/log\"\n"));
    let mut mta = Mta::postfix(&running);
    mta.send(&content(SPAM));
    mta.verdict();
    mta.send(&[packet('M', b"<x@y>\0"), packet('E', b"")].concat());
    mta.verdict();
    let log = || std::fs::read_to_string(running.path("log")).unwrap_or_default();
    tamis_testing::wait_for(|| log().lines().count() >= 2, log);
    let lines: Vec<String> = log().lines().map(str::to_owned).collect();
    assert!(
        lines[0].contains(r#""door":"milter","queue_id":"4ABC123","id":"spam1@example.net""#),
        "{lines:?}"
    );
    assert!(!lines[1].contains("queue_id"), "{lines:?}");
}
