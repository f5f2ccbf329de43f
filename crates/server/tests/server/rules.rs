//! Rules for some of the mail, over the doors.

use tamis_testing::wait_for;

use crate::http_client;
use crate::milter::mta::{Mta, content, expected, message, packet, settings};
use crate::support::{HAM, HTTP, Running, SPAM, exchange, n_documents};

/// What a milter's client is told of a message that a rule calls spam or ham.
const REJECTED: &str = "y 550 5.7.1 Message looks like spam";

fn start(rules: &str) -> Running {
    let doors = settings("reject = 0.9") + "[spamd]\nlisten = [\"unix:FOLDER/spamd.sock\"]\n" + HTTP;
    Running::start(&format!("{doors}[verdict]\nauthserv_id = \"mx\"\n[log]\nto = \"FOLDER/log\"\n{rules}"))
}

fn with(field: &str, raw: &[u8]) -> Vec<u8> {
    [field.as_bytes(), b"\r\n", raw].concat()
}

fn verdict(running: &Running, raw: &[u8], recipients: &[&str]) -> Vec<String> {
    let mut mta = Mta::postfix(running);
    mta.send(&message(raw, recipients));
    mta.verdict()
}

/// The field of a name that is added.
fn added(replies: &[String], name: &str) -> String {
    let field = format!("h {name}: ");
    replies.iter().find_map(|reply| reply.strip_prefix(&field)).unwrap_or_default().to_owned()
}

fn checked(running: &Running, user: &str, raw: &[u8]) -> String {
    let head = format!("PROCESS SPAMC/1.5\r\nUser: {user}\r\nContent-length: {}\r\n\r\n", raw.len());
    let answer = exchange(running.unix("spamd.sock"), &[head.as_bytes(), raw].concat());
    String::from_utf8(answer).unwrap()
}

#[test]
fn clients_of_a_network_and_those_who_have_signed_in_are_left_alone() {
    let running = start(
        "[[rule]]\nclients = [\"192.0.2.0/24\", \"2001:db8::/32\"]\nverdict = \"skip\"\n[[rule]]\nname = \"own\"\nauthenticated = true\nverdict = \"skip\"\n",
    );
    let connect =
        |family: &str, address: &str| packet('C', format!("client\0{family}\x01\x02{address}\0").as_bytes());
    let after = |before: &[u8]| {
        let mut mta = Mta::postfix(&running);
        mta.send(before);
        mta.send(&message(&with("X-Spam-Flag: NO", SPAM), &["b@example.org"]));
        mta.verdict()
    };
    let skipped = ["m1 X-Spam-Flag", "c"];
    for client in [connect("4", "192.0.2.7"), connect("6", "IPv6:2001:db8::1"), connect("6", "2001:db8::1")] {
        assert_eq!(after(&client), skipped);
    }
    assert_eq!(after(&packet('D', b"M{auth_authen}\0joe\0")), skipped);
    for other in [
        connect("4", "192.0.3.7"),
        connect("L", "/192.0.2.7"),
        packet('D', b"M{auth_authen}\0\0"),
        [packet('D', b"M{auth_authen}\0joe\0"), packet('K', b"")].concat(),
        [connect("4", "192.0.2.7"), connect("4", "192.0.3.7")].concat(),
    ] {
        assert_eq!(after(&other), [REJECTED]);
    }
    let skipped_there = |fields: &[&str]| {
        let answer = http_client::ask(&running, "POST /checkv2", fields, SPAM).json();
        assert_eq!(answer["symbols"]["TAMIS_SKIPPED"].is_object(), answer["is_skipped"] == true);
        (answer["is_skipped"].as_bool().unwrap(), answer["action"].as_str().unwrap().to_owned())
    };
    let skipped = (true, "no action".to_owned());
    assert_eq!(skipped_there(&["IP: 192.0.2.7"]), skipped);
    assert_eq!(skipped_there(&["User: joe", "Rcpt: joe"]), skipped);
    assert_eq!(skipped_there(&["User: joe"]), (false, "add header".to_owned()));
    let log = || std::fs::read_to_string(running.path("log")).unwrap_or_default();
    wait_for(|| log().contains(r#""verdict":"skipped","rule":"own""#), log);
    assert!(log().contains(r#""verdict":"skipped","rule":"1""#));
    let metrics = http_client::ask(&running, "GET /metrics", &[], b"").text();
    assert!(metrics.contains("tamis_messages_total{door=\"milter\",verdict=\"skipped\"} 4"), "{metrics}");
}

#[test]
fn senders_are_let_through_if_proved_and_refused_in_any_case() {
    let running = start(
        "[[rule]]\nname = \"partners\"\nfrom = [\"@example.net\"]\nverdict = \"ham\"\n[[rule]]\nfrom = [\"c@example.org\"]\nverdict = \"spam\"\n",
    );
    let proved = with("Authentication-Results: mx; dmarc=pass header.from=example.net", SPAM);
    let let_through = verdict(&running, &proved, &["b@example.org"]);
    assert_eq!(added(&let_through, "X-Spam-Flag"), "NO");
    assert!(added(&let_through, "X-Spam-Status").starts_with("No, score=-100.00 required="));
    assert_eq!(added(&let_through, "X-Tamis-Reasons"), "rule partners");
    let forged = with("Authentication-Results: other; dmarc=pass header.from=example.net", SPAM);
    for unproved in [SPAM, &forged] {
        assert_eq!(verdict(&running, unproved, &["b@example.org"]), [REJECTED]);
    }
    assert_eq!(verdict(&running, HAM, &["b@example.org"]), [REJECTED]);
    let answer = checked(&running, "joe", HAM);
    assert!(answer.contains("X-Spam-Flag: YES") && answer.contains("log-odds=+100.00"), "{answer}");
    let answer =
        http_client::ask(&running, "POST /v1/score", &["Content-Type: message/rfc822"], &proved).json();
    assert_eq!(
        (&answer["label"], &answer["rule"], answer["log_odds"].as_f64()),
        (&"ham".into(), &"partners".into(), Some(-100.0))
    );
}

#[test]
fn users_and_domains_have_thresholds_and_actions_of_their_own() {
    let running = start(
        "[[rule]]\nto = [\"postmaster\", \"@quiet.example\"]\ndeliver = true\n[[rule]]\nto = [\"ann@example.org\"]\nquarantine = 0.5\nspam = 0.99999999\n[models]\nshared = \"FOLDER/model.tamis\"\ndomains = [\"example.org\"]\n",
    );
    let usual = expected(&running, SPAM);
    for to in [
        &["postmaster@example.org"][..],
        &["postmaster"],
        &["joe@quiet.example", "ann@Quiet.example"],
        &["joe@sub.quiet.example"],
    ] {
        assert_eq!(verdict(&running, SPAM, to), usual, "{to:?}");
    }
    for to in [&["joe@example.org"][..], &["joe@quiet.example", "joe@example.org"], &[]] {
        assert_eq!(verdict(&running, SPAM, to), [REJECTED], "{to:?}");
    }
    let ann = verdict(&running, SPAM, &["Ann@example.org"]);
    assert_eq!(added(&ann, "X-Spam-Flag"), "NO");
    assert!(added(&ann, "X-Spam-Status").contains(" required=18.42 "), "{ann:?}");
    assert!(added(&ann, "X-Tamis").starts_with("unsure; "), "{ann:?}");
    assert!(ann.contains(&"q tamis: message looks like spam".to_owned()));
    assert!(checked(&running, "ann", SPAM).contains("X-Tamis: unsure; "));
    // a message without recipients is for nobody of these
    let mut mta = Mta::postfix(&running);
    mta.send(&content(SPAM));
    assert_eq!(mta.verdict(), [REJECTED]);
}

#[test]
fn what_another_filter_calls_spam_is_learned_from_mail_servers_unless_it_is_known() {
    let running = start(
        "[[rule]]\nname = \"virus\"\nheader = \"X-Virus-Status: infected\"\nlearn = \"spam\"\ndeliver = true\n",
    );
    let before = n_documents(&running.path("model.tamis"));
    let infected = with("X-VIRUS-Status:  INFECTED by x", HAM);
    let other =
        |name: &str| String::from_utf8(HAM.to_vec()).unwrap().replace("ham1@", name).replace("Soup", name);
    // anyone may write the field
    http_client::ask(
        &running,
        "POST /checkv2",
        &[],
        &with("X-Virus-Status: infected", other("http").as_bytes()),
    );
    verdict(&running, other("plain").as_bytes(), &["b@example.org"]);
    let unlike = with("X-Virus-Status: not infected, clean", other("unlike").as_bytes());
    verdict(&running, &unlike, &["b@example.org"]);
    assert_eq!(added(&verdict(&running, &infected, &["b@example.org"]), "X-Spam-Flag"), "NO");
    let learned = || http_client::ask(&running, "GET /metrics", &[], b"").text();
    wait_for(|| learned().contains("tamis_learned_total 1"), learned);
    assert_eq!(n_documents(&running.path("model.tamis")), before + 1);
    let log = || std::fs::read_to_string(running.path("log")).unwrap_or_default();
    wait_for(|| log().contains(r#""learned":"spam","rule":"virus""#), log);
    // a person knows better, and stays right
    let teach = |class: &str| {
        let head = format!(
            "TELL SPAMC/1.5\r\nMessage-class: {class}\r\nSet: local\r\nContent-length: {}\r\n\r\n",
            infected.len()
        );
        exchange(running.unix("spamd.sock"), &[head.as_bytes(), &infected].concat())
    };
    teach("ham");
    let commits =
        || learned().lines().find(|line| line.starts_with("tamis_commits_total")).unwrap().to_owned();
    let n_commits = commits();
    checked(&running, "joe", &infected);
    wait_for(|| commits() != n_commits, learned);
    assert!(String::from_utf8_lossy(&teach("ham")).ends_with("EX_OK\r\n\r\n\r\n"), "it is known as ham");
}

#[test]
fn a_domain_is_that_of_the_recipient_and_an_empty_list_has_nobody() {
    let folder = tempfile::tempdir().unwrap();
    crate::support::train(&folder.path().join("model.tamis"));
    std::fs::write(folder.path().join("aliases"), "far@else.example: bob\n").unwrap();
    std::fs::write(folder.path().join("nobody"), "# none at the moment\n").unwrap();
    let running = Running::start_in(
        folder,
        &(settings("reject = 0.9")
            + "[[rule]]\nto = [\"@careful.example\"]\nfrom = [\"FOLDER/nobody\"]\nunproved = true\nverdict = \"ham\"\n[[rule]]\nto = [\"@careful.example\"]\ndeliver = true\n[spamd]\nlisten = [\"unix:FOLDER/spamd.sock\"]\n[models]\nshared = \"FOLDER/model.tamis\"\ndomains = [\"careful.example\", \"other.example\"]\naliases = \"FOLDER/aliases\"\n"),
    );
    let usual = expected(&running, SPAM);
    for to in ["joe@careful.example", "joe"] {
        assert_eq!(verdict(&running, SPAM, &[to]), usual, "{to}");
    }
    for to in ["joe@other.example", "far@else.example"] {
        assert_eq!(verdict(&running, SPAM, &[to]), [REJECTED], "{to}");
    }
}

#[test]
fn a_threshold_of_a_rule_holds_for_the_milter_too() {
    let running = start("[[rule]]\nto = [\"ann@example.org\"]\nspam = 0.99999999\n");
    assert_eq!(added(&verdict(&running, SPAM, &["ann@example.org"]), "X-Spam-Flag"), "NO");
    assert_eq!(verdict(&running, SPAM, &["joe@example.org"]), [REJECTED]);
    // words that nobody knows are no spam, whatever the threshold
    let running = start("[[rule]]\nto = [\"ann@example.org\"]\nspam = 0.000001\n");
    assert_eq!(added(&verdict(&running, HAM, &["ann@example.org"]), "X-Spam-Flag"), "YES");
    let unknown = b"X: y\r\n\r\nqqqq\r\n";
    assert!(added(&verdict(&running, unknown, &["ann@example.org"]), "X-Tamis").starts_with("unsure"));
}

#[test]
fn who_is_refused_is_found_in_any_form_and_long_addresses_cost_nothing() {
    let running = start("[[rule]]\nfrom = [\"@spammer.example\"]\nverdict = \"spam\"\n");
    let from = |author: &str| {
        let text = String::from_utf8(HAM.to_vec()).unwrap();
        text.replace("From: c@example.org", &format!("From: {author}")).into_bytes()
    };
    for author in [
        "Bob, A@Spammer.example",
        "b@x, a@spammer.example",
        "Team: a@spammer.example.;",
        "<a@m.spammer.example> x",
    ] {
        assert_eq!(verdict(&running, &from(author), &["b@example.org"]), [REJECTED], "{author}");
    }
    let long = from(&format!("x@{}spammer.example", "a.".repeat(100_000)));
    let begun = std::time::Instant::now();
    assert_eq!(added(&verdict(&running, &long, &["b@example.org"]), "X-Spam-Flag"), "NO");
    // it was half a minute
    assert!(begun.elapsed().as_secs() < 10);
}
