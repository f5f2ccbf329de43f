//! Evidence that was cut off, or hidden by the first bytes, makes no ham.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use tamis_train::{Document, Filter, Scratch};

use crate::support::{World, root, stderr, stdout, verdict_fields};

fn of_corpus(name: &str) -> Vec<u8> {
    std::fs::read(root().join("corpora/mail").join(name)).unwrap()
}

/// Header of a ham, without what it says of its parts, and its text.
fn ham() -> (String, String) {
    let raw = String::from_utf8(of_corpus("ham/001-meeting-notes.eml")).unwrap();
    let (header, text) = raw.split_once("\n\n").unwrap();
    let is_kept = |line: &&str| !line.to_ascii_lowercase().starts_with("content-");
    let header: String = header.lines().filter(is_kept).map(|line| format!("{line}\n")).collect();
    (header, text.to_owned())
}

const SPAM: &str = "<p>You must verify your account, your card number and your PIN. VERIFY MY ACCOUNT NOW at \
    http://198.51.100.23/fenland/login.php?id=8872. Cheap pills, buy now, limited offer, winner, free prize money!</p>";

fn multipart(header: &str, parts: &[String]) -> Vec<u8> {
    let parts: String = parts.iter().map(|part| format!("--b\n{part}\n")).collect();
    format!("{header}Content-Type: multipart/mixed; boundary=b\n\n{parts}--b--\n").into_bytes()
}

fn html(body: &str) -> String {
    format!("Content-Type: text/html; charset=utf-8\n\n{body}")
}

/// Messages of which text is left unread, by what keeps it from being read. What is read looks like ham.
fn unread() -> Vec<(&'static str, Vec<u8>)> {
    let (header, text) = ham();
    let plain = |body: &str| format!("Content-Type: text/plain; charset=utf-8\n\n{body}");
    let mut words = vec![plain(&text); 1_001];
    words.push(html(SPAM));
    let long = format!("{header}X-Long: {}\n", "word ".repeat(120_000));
    let many = format!("{header}{}", "X-Many: word\n".repeat(50_000));
    let image = format!("Content-Type: image/png\n\n{}", "iVBORw0KGgo=\n".repeat(6 << 20));
    vec![
        ("360 KB of spaces", multipart(&header, &[plain(&text), html(&"&nbsp;".repeat(60_000)), html(SPAM)])),
        ("600 KB of text", multipart(&header, &[plain(&text.repeat(600_000 / text.len())), html(SPAM)])),
        ("a thousand texts", multipart(&header, &words)),
        ("a header field of 600 KB", multipart(&long, &[plain(&text), html(SPAM)])),
        ("50,000 header fields", multipart(&many, &[plain(&text), html(SPAM)])),
        ("an image of 78 MB", multipart(&header, &[plain(&text), image, html(SPAM)])),
    ]
}

#[test]
fn what_was_not_read_is_never_ham() {
    let world = World::with_mail_model();
    let (header, text) = ham();
    let whole = format!("{header}\n{text}");
    let output = world.run_with_input(&["score"], whole.as_bytes());
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    for (name, message) in unread() {
        world.write("message", &message);
        for decision in [&[][..], &["--prior", "spam=0.001"], &["--cost", "fp=1000"], &["--unsure", "0"]] {
            let run = |more: &[&str]| world.run_with_input(&[more, decision].concat(), &message);
            let scored = run(&["score", "--json"]);
            let (code, line) = (scored.status.code(), stdout(&scored));
            assert!(matches!(code, Some(0 | 2)), "{name} {decision:?}: {code:?} {line} {}", stderr(&scored));
            let label = if code == Some(0) { "spam" } else { "unsure" };
            assert!(line.contains(&format!("\"label\":\"{label}\"")), "{name} {decision:?}: {line}");
            assert!(line.contains("\"truncated\":true"), "{name}: {line}");
            let passed = run(&["score", "--passthrough"]);
            let fields = verdict_fields(&message, &passed.stdout);
            assert!(fields.contains(&format!("X-Tamis: {label}; ")), "{name} {decision:?}: {fields}");
            assert!(fields.contains("; truncated; "), "{name}: {fields}");
            let status = if label == "spam" { "Yes, " } else { "No, " };
            assert!(fields.contains(&format!("X-Spam-Status: {status}")), "{name}: {fields}");
        }
        assert!(!world.succeed(&["label", "message"]).contains(",ham,"), "{name}");
        let filter = Filter::open(world.path(".local/share/tamis/model.tamis")).unwrap();
        let explained = filter.explain(Document::Mail(&message), &mut Scratch::default()).unwrap();
        assert_ne!(filter.label_of(&explained.score), "ham", "{name}");
    }
}

#[test]
fn text_is_read_whatever_comes_before_it() {
    let world = World::with_mail_model();
    let (header, text) = ham();
    let spam = String::from_utf8(of_corpus("spam/001-bank-security-notice.eml")).unwrap();
    let (of_spam, body) = spam.split_once("\n\n").unwrap();
    let of_spam: String = of_spam
        .lines()
        .filter(|line| !line.starts_with("Content-"))
        .map(|line| format!("{line}\n"))
        .collect();
    let image = |body: &str| format!("Content-Type: image/png\nContent-Transfer-Encoding: base64\n\n{body}");
    let large = image(&"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk\n".repeat(10_000));
    let attached =
        format!("Content-Type: text/csv\nContent-Disposition: attachment\n\n{}", "1,2\n".repeat(200_000));
    for (name, before) in [
        ("1,000 empty images", vec![image(""); 1_000]),
        ("1,000 empty parts", vec!["\n".to_owned(); 1_000]),
        ("an image of 640 KB", vec![large]),
        ("an attachment of 800 KB", vec![attached]),
    ] {
        for (header, text, code) in [(&of_spam, html(body), 0), (&header, format!("\n{text}"), 1)] {
            let message = multipart(header, &[&before[..], &[text]].concat());
            let output = world.run_with_input(&["score", "--cost", "fp=19"], &message);
            assert_eq!(output.status.code(), Some(code), "{name}: {}{}", stdout(&output), stderr(&output));
        }
    }
}

#[test]
fn a_byte_order_mark_hides_no_text() {
    let world = World::with_mail_model();
    let filter = Filter::open(world.path(".local/share/tamis/model.tamis")).unwrap();
    let log_odds = |raw: &[u8]| filter.score_mail(raw, &mut Scratch::default()).unwrap().log_odds;
    let spam = String::from_utf8(of_corpus("spam/001-bank-security-notice.eml")).unwrap();
    for charset in ["us-ascii", "UTF-8", "iso-8859-1", "windows-1252"] {
        let spam = spam.replace("charset=UTF-8", &format!("charset={charset}"));
        let (header, body) = spam.split_once("\n\n").unwrap();
        for mark in [&b"\xff\xfe"[..], b"\xfe\xff", b"\xef\xbb\xbf"] {
            let marked = [header.as_bytes(), b"\n\n", mark, body.as_bytes()].concat();
            assert_eq!(log_odds(&marked), log_odds(spam.as_bytes()), "{charset} {mark:?}");
        }
    }
}

fn packed(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// What every door says of a message, its label and its log-odds: standard input, a file, what is passed on, a file to
/// label.
fn verdicts(world: &World, message: &[u8]) -> Vec<(String, f64)> {
    let path = world.write("doors/message", message);
    let path = path.to_str().unwrap();
    let verdict = |label: &str, log_odds: &str| (label.to_owned(), log_odds.parse::<f64>().unwrap());
    let of_line = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        verdict(words[0], words[2])
    };
    let scored = stdout(&world.run_with_input(&["score"], message));
    let named = world.succeed(&["score", "--exit-zero", path]);
    let passed = world.run_with_input(&["score", "--passthrough"], message);
    let out = String::from_utf8_lossy(&passed.stdout).into_owned();
    let fields: Vec<_> =
        out.lines().find_map(|line| line.strip_prefix("X-Tamis: ")).unwrap().split("; ").collect();
    let rows = world.succeed(&["label", path]);
    let row: Vec<_> = rows.lines().nth(1).unwrap().rsplitn(4, ',').collect();
    let of_field = verdict(fields[0], fields[2].strip_prefix("log-odds=").unwrap());
    vec![of_line(&scored), of_line(&named), of_field, verdict(row[2], row[0])]
}

fn is_same((label, log_odds): &(String, f64), other: &(String, f64)) -> bool {
    *label == other.0 && (log_odds - other.1).abs() < 0.011
}

#[test]
fn every_door_takes_the_same_bytes_for_the_same_mail() {
    let world = World::with_mail_model();
    let spam = of_corpus("spam/001-bank-security-notice.eml");
    let wide: Vec<u8> =
        String::from_utf8(spam.clone()).unwrap().encode_utf16().flat_map(u16::to_le_bytes).collect();
    let beginnings: [&[u8]; 9] = [
        b"\xff\xfe",
        b"\xfe\xff",
        b"\xef\xbb\xbf",
        b"\x1f\x8b\x08",
        b"\x28\xb5\x2f\xfd",
        b"%PDF-1.4\n",
        b"\x89PNG\r\n",
        b"PK\x03\x04",
        b"TAMIS\r\n\x1a",
    ];
    let mut messages: Vec<_> = beginnings.iter().map(|start| [start, &spam[..]].concat()).collect();
    messages.extend([packed(&spam), [b"\xff\xfe", &wide[..]].concat(), wide]);
    let plain = verdicts(&world, &spam);
    for message in &messages {
        let said = verdicts(&world, message);
        assert!(said.iter().all(|verdict| is_same(verdict, &said[0])), "{:?}: {said:?}", &message[..12]);
    }
    // what is packed is the mail in it
    assert!(is_same(&verdicts(&world, &packed(&spam))[0], &plain[0]), "{plain:?}");
    for (at, message) in messages.iter().enumerate() {
        let path = world.write(&format!("learn/{at}"), message);
        let learned = world.run_with_input(&["learn", "spam", "--no-retrain"], message);
        assert!(learned.status.success(), "{:?}: {}", &message[..12], stderr(&learned));
        let again = world.succeed(&["learn", "spam", "--no-retrain", path.to_str().unwrap()]);
        assert_eq!(again, "spam: learned 0 documents, 1 already known\n", "{:?}", &message[..12]);
    }
}
