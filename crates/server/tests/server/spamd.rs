//! spamd's protocol, byte for byte as its clients meet it.

use std::fs;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tamis_mail::passthrough::annotate;
use tamis_testing::wait_for;
use tamis_train::{Filter, Scratch};

use crate::support::{HAM, Running, SPAM, exchange, n_documents};

const DOORS: &str = "[spamd]\nlisten = [\"unix:FOLDER/spamd.sock\", \"tcp:127.0.0.1:0\"]\n";

/// The answer to a request with a message, its length announced.
fn ask(server: &Running, method: &str, headers: &str, mail: &[u8]) -> String {
    let head = format!("{method}\r\n{headers}Content-length: {}\r\n\r\n", mail.len());
    let answer = exchange(server.unix("spamd.sock"), &[head.as_bytes(), mail].concat());
    String::from_utf8(answer).unwrap()
}

/// The score in the scale of the protocol.
fn points(server: &Running, mail: &[u8]) -> String {
    let filter = Filter::open(server.path("model.tamis")).unwrap();
    let score = filter.score_mail(mail, &mut Scratch::default()).unwrap();
    format!("{:.1}", score.log_odds - filter.spam_threshold() + 5.0)
}

fn annotated(server: &Running, mail: &[u8]) -> String {
    let (filter, mut scratch) = (Filter::open(server.path("model.tamis")).unwrap(), Scratch::default());
    let score = filter.score_mail(mail, &mut scratch).unwrap();
    String::from_utf8(annotate(mail, &filter.verdict(&score, &scratch), false)).unwrap()
}

#[test]
fn answers_have_the_forms_of_spamd() {
    let server = Running::start(DOORS);
    let (spam, ham) = (points(&server, SPAM), points(&server, HAM));
    let is_spam = format!("Spam: True ; {spam} / 5.0\r\n\r\n");
    let is_ham = format!("Spam: False ; {ham} / 5.0\r\n\r\n");
    for version in ["1.2", "1.3", "1.5"] {
        let answer = ask(&server, &format!("CHECK SPAMC/{version}"), "User: joe\r\n", SPAM);
        assert_eq!(answer, format!("SPAMD/1.1 0 EX_OK\r\n{is_spam}"));
    }
    assert_eq!(
        ask(&server, "SYMBOLS SPAMC/1.5", "", HAM),
        format!("SPAMD/1.1 0 EX_OK\r\nContent-length: 9\r\n{is_ham}TAMIS_HAM")
    );
    assert_eq!(
        ask(&server, "SYMBOLS SPAMC/1.2", "", SPAM),
        format!("SPAMD/1.1 0 EX_OK\r\n{is_spam}TAMIS_SPAM\r\n")
    );
    let report = ask(&server, "REPORT SPAMC/1.2", "", SPAM);
    assert!(report.starts_with(&format!("SPAMD/1.1 0 EX_OK\r\n{is_spam}tamis ")), "{report}");
    assert!(report.contains(" cheap\n"), "{report}");
    assert_eq!(
        ask(&server, "REPORT_IFSPAM SPAMC/1.5", "", HAM),
        format!("SPAMD/1.1 0 EX_OK\r\nContent-length: 0\r\nSpam: No ; {ham} / 5.0\r\n\r\n")
    );
    let spam_report = ask(&server, "REPORT_IFSPAM SPAMC/1.5", "", SPAM);
    assert!(spam_report.contains(&format!("\r\nSpam: Yes ; {spam} / 5.0\r\n\r\ntamis ")), "{spam_report}");

    let mail = annotated(&server, SPAM);
    let length = mail.len();
    assert_eq!(
        ask(&server, "PROCESS SPAMC/1.5", "", SPAM),
        format!("SPAMD/1.1 0 EX_OK\r\nContent-length: {length}\r\n{is_spam}{mail}")
    );
    assert_eq!(
        ask(&server, "PROCESS SPAMC/1.2", "", SPAM),
        format!("SPAMD/1.1 0 EX_OK\r\nContent-length: {length}\r\n\r\n{mail}")
    );
    assert_eq!(ask(&server, "PROCESS SPAMC/1.0", "", SPAM), format!("SPAMD/1.0 0 EX_OK\r\n{mail}"));
    let head = &mail[..mail.find("\r\n\r\n").unwrap() + 4];
    let length = head.len();
    assert_eq!(
        ask(&server, "HEADERS SPAMC/1.4", "", SPAM),
        format!("SPAMD/1.1 0 EX_OK\r\nContent-length: {length}\r\n{is_spam}{head}")
    );
    assert_eq!(
        ask(&server, "CHECK RSPAMC/1.3", "Queue-Id: 1q\r\n", SPAM),
        format!(
            "RSPAMD/1.3 0 EX_OK\r\nMetric: default; True; {spam}0 / 5.00 / 15.00\r\nAction: add header\r\nSymbol: TAMIS_SPAM({spam}0)\r\n\r\n"
        )
    );
}

#[test]
fn other_requests_are_answered_as_spamd_does() {
    let server = Running::start(DOORS);
    let ask = |bytes: &[u8]| String::from_utf8(exchange(server.unix("spamd.sock"), bytes)).unwrap();
    assert_eq!(ask(b"PING SPAMC/1.5\r\n\r\n"), "SPAMD/1.5 0 PONG\r\n");
    assert_eq!(ask(b"PING SPAMC/1.2\r\n"), "SPAMD/1.5 0 PONG\r\n");
    assert_eq!(ask(b"SKIP SPAMC/1.5\r\n\r\n"), "");
    assert_eq!(ask(b""), "");
    for (request, words) in [
        (&b"FOO SPAMC/1.5\r\n\r\n"[..], "FOO SPAMC/1.5"),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.1"),
        (b"CHECK SPAMC/1.5\nContent-length: 1\n\nx", "(header not in 'Name: value' format)"),
        (b"CHECK SPAMC/1.5\r\nContent-length: x\r\n\r\nx", "(Content-Length contains non-numeric bytes)"),
        (b"CHECK SPAMC/1.5\r\nCompress: zlib\r\n\r\nx", "(compression type not supported: zlib)"),
        (
            b"PROCESS SPAMC/1.5\r\nContent-length: 5\r\n\r\nSubject: x\n\n",
            "(Content-Length mismatch: Expected 5 bytes, got 12 bytes)",
        ),
    ] {
        assert_eq!(ask(request), format!("SPAMD/1.0 76 Bad header line: {words}\r\n"));
    }
    // a message that is only scored may have another length than announced, as amavis's
    for length in ["5", "5000000000", "99999999999999999999999"] {
        let request =
            [format!("CHECK SPAMC/1.3\r\nContent-length: {length}\r\n\r\n").as_bytes(), SPAM].concat();
        assert!(ask(&request).starts_with("SPAMD/1.1 0 EX_OK\r\nSpam: True ; "), "{length}");
    }
    // without a length, and with lines of the client in front
    let haraka =
        [b"CHECK SPAMC/1.4\r\nUser: default\r\n\r\nX-Envelope-From: a\r\nX-Haraka-UUID: 7\r\n", SPAM]
            .concat();
    assert!(ask(&haraka).ends_with(&format!(" ; {} / 5.0\r\n\r\n", points(&server, SPAM))));
}

#[test]
fn exim_does_not_close_its_side_and_slow_clients_are_waited_for() {
    let server = Running::start(DOORS);
    let mut stream = server.tcp("spamd");
    let head = format!("CHECK RSPAMC/1.3\r\nContent-length: {}\r\n\r\n", SPAM.len());
    for part in [head.as_bytes(), SPAM].concat().chunks(40) {
        stream.write_all(part).unwrap();
        thread::sleep(Duration::from_millis(2));
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("RSPAMD/1.3 0 EX_OK\r\n"), "{answer}");
}

#[test]
fn silent_clients_and_long_messages_are_refused() {
    let settings = format!(
        "{DOORS}[limits]\ncommand_seconds = 1\nmessage_seconds = 1\nmessage_bytes = 1_000_000\n[verdict]\ncost = 19.0\n"
    );
    let server = Running::start(&settings);
    let mut stream = server.unix("spamd.sock");
    let (begun, mut answer) = (Instant::now(), String::new());
    stream.write_all(b"CHECK SPAMC/1.5\r\nUser: a\r\n").unwrap();
    stream.read_to_string(&mut answer).unwrap();
    assert!(
        answer.starts_with("SPAMD/1.0 79 Timeout") && begun.elapsed() < Duration::from_secs(8),
        "{answer}"
    );
    let long = [SPAM, &b"cheap pills\r\n".repeat(200_000)].concat();
    let processed = ask(&server, "PROCESS SPAMC/1.5", "", &long);
    assert!(processed.starts_with("SPAMD/1.0 65 EX_DATAERR"), "{processed}");
    let checked = ask(&server, "CHECK SPAMC/1.5", "", &long);
    assert!(checked.contains("Spam: True"), "{checked}");
}

#[test]
fn corrections_are_on_the_disk_when_they_are_answered() {
    let server = Running::start(DOORS);
    let model = server.path("model.tamis");
    let mail = b"From: d@example.com\r\nSubject: zebra\r\nMessage-ID: <z@x>\r\n\r\nzebra quagga okapi\r\n";
    let before = n_documents(&model);
    let learn = "Message-class: spam\r\nSet: local\r\n";
    assert_eq!(ask(&server, "TELL SPAMC/1.5", learn, mail), "SPAMD/1.1 0 EX_OK\r\nDidSet: local\r\n\r\n\r\n");
    assert_eq!(n_documents(&model), before + 1);
    let learned = points(&server, mail);
    assert!(ask(&server, "CHECK SPAMC/1.5", "", mail).contains(&format!(" ; {learned} / 5.0")));
    assert_eq!(ask(&server, "TELL SPAMC/1.5", learn, mail), "SPAMD/1.1 0 EX_OK\r\n\r\n\r\n");
    let ham = "Message-class: ham\r\nSet: local\r\nRemove: remote\r\n";
    assert_eq!(ask(&server, "TELL SPAMC/1.5", ham, mail), "SPAMD/1.1 0 EX_OK\r\nDidSet: local\r\n\r\n\r\n");
    let forget = "Remove: local\r\n";
    assert_eq!(
        ask(&server, "TELL SPAMC/1.5", forget, mail),
        "SPAMD/1.1 0 EX_OK\r\nDidRemove: local\r\n\r\n\r\n"
    );
    assert_eq!(ask(&server, "TELL SPAMC/1.5", forget, mail), "SPAMD/1.1 0 EX_OK\r\n\r\n\r\n");
    assert_eq!(n_documents(&model), before);
    let other = ask(&server, "TELL SPAMC/1.5", "Message-class: news\r\nSet: local\r\n", mail);
    assert!(other.starts_with("SPAMD/1.0 65 EX_DATAERR: expected one of the labels ham, spam"), "{other}");
    // over TCP nobody may teach
    let mut stream = server.tcp("spamd");
    stream
        .write_all(b"TELL SPAMC/1.5\r\nMessage-class: spam\r\nSet: local\r\nContent-length: 1\r\n\r\nx")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("SPAMD/1.0 77 EX_NOPERM"), "{answer}");
}

#[test]
fn users_have_models_of_their_own_behind_which_the_shared_one_stands() {
    let settings =
        format!("{DOORS}[models]\nshared = \"FOLDER/model.tamis\"\nusers = \"FOLDER/users/%u.tamis\"\n");
    let server = Running::start(&settings);
    let mail = b"From: d@example.com\r\nSubject: zebra\r\nMessage-ID: <z@x>\r\n\r\nzebra quagga okapi\r\n";
    let before = n_documents(&server.path("model.tamis"));
    let of_all = ask(&server, "CHECK SPAMC/1.5", "User: joe\r\n", mail);
    let learn = "Message-class: spam\r\nSet: local\r\nUser: Joe\r\n";
    for n in 0..20 {
        let mail = format!(
            "From: d@example.com\r\nSubject: zebra {n}\r\nMessage-ID: <z{n}@x>\r\n\r\nzebra quagga okapi\r\n"
        );
        assert!(ask(&server, "TELL SPAMC/1.5", learn, mail.as_bytes()).contains("DidSet"));
    }
    assert_eq!(n_documents(&server.path("users/joe.tamis")), 20);
    assert_eq!(n_documents(&server.path("model.tamis")), before);
    assert_ne!(ask(&server, "CHECK SPAMC/1.5", "User: joe\r\n", mail), of_all);
    assert_eq!(ask(&server, "CHECK SPAMC/1.5", "User: anna\r\n", mail), of_all);
    assert_eq!(ask(&server, "CHECK SPAMC/1.5", "User: ../joe\r\n", mail), of_all);
    let elsewhere = "Message-class: spam\r\nSet: local\r\nUser: ../joe\r\n";
    assert!(ask(&server, "TELL SPAMC/1.5", elsewhere, mail).starts_with("SPAMD/1.0 65"));
    fs::remove_file(server.path("users/joe.tamis")).unwrap();
    let of_joe = || ask(&server, "CHECK SPAMC/1.5", "User: joe\r\n", mail);
    wait_for(|| of_joe() == of_all, of_joe);
}

#[test]
fn a_damaged_model_of_a_user_leaves_the_shared_one_until_it_is_repaired() {
    let settings =
        format!("{DOORS}[models]\nshared = \"FOLDER/model.tamis\"\nusers = \"FOLDER/users/%u.tamis\"\n");
    let server = Running::start(&settings);
    let mail = b"From: d@example.com\r\nSubject: zebra\r\nMessage-ID: <z@x>\r\n\r\nzebra quagga okapi\r\n";
    let of = |user: &str| ask(&server, "CHECK SPAMC/1.5", &format!("User: {user}\r\n"), mail);
    let learn = |user: &str| {
        let head = format!("Message-class: spam\r\nSet: local\r\nUser: {user}\r\n");
        ask(&server, "TELL SPAMC/1.5", &head, mail)
    };
    let by_shared = of("joe");
    assert!(learn("joe").contains("DidSet"));
    let by_joe = of("joe");
    assert_ne!(by_joe, by_shared);
    let whole = fs::read(server.path("users/joe.tamis")).unwrap();
    let mut flipped = whole.clone();
    flipped[40] ^= 0x10;
    for (n, damaged) in [&whole[..0], &whole[..100], &whole[..500], &flipped].into_iter().enumerate() {
        let (user, path) = (format!("ann{n}"), server.path(&format!("users/ann{n}.tamis")));
        fs::write(&path, damaged).unwrap();
        assert_eq!(of(&user), by_shared);
        let is_it = |line: &&String| line.contains(&format!("{user}.tamis: "));
        server.wait_for(|lines| lines.iter().any(|line| is_it(&line)));
        assert_eq!([of(&user), of(&user)], [by_shared.clone(), by_shared.clone()]);
        let refusal = learn(&user);
        assert!(refusal.contains("EX_") && refusal.contains("a whole copy"), "{refusal}");
        assert_eq!(fs::read(&path).unwrap(), damaged);
        fs::write(&path, &whole).unwrap();
        assert_eq!(of(&user), by_joe);
        let said = server.said.lock().unwrap();
        let said: Vec<_> = said.iter().filter(is_it).collect();
        assert!(
            said.len() == 1 && said[0].ends_with("; until then the shared model scores alone"),
            "{said:?}"
        );
    }
    // what is damaged while it is in use stays as it was
    fs::write(server.path("users/joe.tamis"), &whole[..100]).unwrap();
    assert_eq!(of("joe"), by_joe);
}

#[test]
fn without_a_model_every_answer_is_to_try_again() {
    let server = Running::start_in(tempfile::tempdir().unwrap(), DOORS);
    for method in ["CHECK", "PROCESS", "REPORT"] {
        let answer = ask(&server, &format!("{method} SPAMC/1.5"), "", SPAM);
        assert!(answer.starts_with("SPAMD/1.0 75 EX_TEMPFAIL: "), "{answer}");
    }
    let learn = "Message-class: spam\r\nSet: local\r\n";
    assert!(ask(&server, "TELL SPAMC/1.5", learn, SPAM).starts_with("SPAMD/1.0 75 EX_TEMPFAIL: "));
    crate::support::train(&server.path("model.tamis"));
    let told = || ask(&server, "CHECK SPAMC/1.5", "", SPAM);
    wait_for(|| told().contains("Spam: True"), told);
}

#[test]
fn spamc_reads_every_answer() {
    if Command::new("spamc").arg("-V").output().is_err() {
        return tamis_testing::skip("there is no spamc");
    }
    let server = Running::start(DOORS);
    let spamc = |arguments: &[&str], mail: &[u8]| {
        let mut child = Command::new("spamc")
            .args(["-x", "-U"])
            .arg(server.path("spamd.sock"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(mail).unwrap();
        let output = child.wait_with_output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(spamc(&[], SPAM), (0, annotated(&server, SPAM)));
    assert_eq!(spamc(&["-c"], SPAM), (1, format!("{}/5.0\n", points(&server, SPAM))));
    assert_eq!(spamc(&["-c"], HAM), (0, format!("{}/5.0\n", points(&server, HAM))));
    assert_eq!(spamc(&["-y"], SPAM), (0, "TAMIS_SPAM".to_owned()));
    assert!(spamc(&["-R"], SPAM).1.contains("Content analysis details:"));
    assert_eq!(spamc(&["-r"], HAM).1, "");
    let headers = spamc(&["--headers"], SPAM).1;
    assert!(
        headers.contains("X-Spam-Status: Yes, score=") && headers.contains("Buy cheap pills"),
        "{headers}"
    );
    assert_eq!(spamc(&["-K"], b"").1.trim_end(), "SPAMD/1.5 0");
    assert_eq!(spamc(&["-L", "spam", "-u", "joe"], HAM).1, "Message successfully un/learned\n");
    assert_eq!(spamc(&["-L", "spam"], HAM).1, "Message was already un/learned\n");
    assert_eq!(spamc(&["-L", "forget"], HAM).1, "Message successfully un/learned\n");
    assert!(!spamc(&["-C", "report"], HAM).1.is_empty());
}
