//! Hostile messages: work must grow no faster than the message, whatever it repeats.

use tamis_testing::check_linear;

use crate::message::Message;
use crate::message::limits::Limits;
use crate::passthrough::{Verdict, annotate};

/// Messages that would take quadratic time if a search started again at every place: a text that comes once, and a text
/// that is repeated.
const PATTERNS: [(&str, &str); 68] = [
    // HTML
    ("Content-Type: text/html\n\n", "<"),
    ("Content-Type: text/html\n\n", "<!--"),
    ("Content-Type: text/html\n\n", "<!-- -->"),
    ("Content-Type: text/html\n\n", "<!-- --!"),
    ("Content-Type: text/html\n\n", "<a "),
    ("Content-Type: text/html\n\n<a ", "b='"),
    ("Content-Type: text/html\n\n", "<a href=\""),
    ("Content-Type: text/html\n\n", "<a href='x&'>"),
    ("Content-Type: text/html\n\n<a href='", "&"),
    ("Content-Type: text/html\n\n", "&"),
    ("Content-Type: text/html\n\n", "&amp"),
    ("Content-Type: text/html\n\n", "&#x"),
    ("Content-Type: text/html\n\n", "<script>"),
    ("Content-Type: text/html\n\n<script><!--", "<script>"),
    ("Content-Type: text/html\n\n", "</script"),
    ("Content-Type: text/html\n\n", "<style>"),
    ("Content-Type: text/html\n\n", "<b><p>"),
    ("Content-Type: text/html\n\n", "<a href=http://example.org/x>x</a> "),
    // structure
    ("Content-Type: multipart/mixed; boundary=b\n\n", "--b\n"),
    ("Content-Type: multipart/mixed; boundary=b\n\n", "--b"),
    ("Content-Type: multipart/mixed; boundary=b\n\n", "--b\nContent-Type: multipart/mixed; boundary=b\n\n"),
    ("Content-Type: multipart/mixed; boundary=b\n\n", "--b\nContent-Type: multipart/mixed; boundary=c\n\n"),
    ("Content-Type: multipart/digest; boundary=b\n\n", "--b\n\nSubject: x\n\n"),
    ("Content-Type: message/rfc822\n\n", "Content-Type: message/rfc822\n\n"),
    ("Content-Transfer-Encoding: base64\n\n", "=?*"),
    ("Content-Transfer-Encoding: base64\n\n", "Y2FzaCA="),
    ("Content-Transfer-Encoding: quoted-printable\n\n", "=\n"),
    ("Content-Transfer-Encoding: quoted-printable\n\n", "= "),
    ("Content-Transfer-Encoding: quoted-printable\n\n", "=\t=3D"),
    // header fields
    ("Subject: ", "=?utf-8?q?"),
    ("Subject: ", "=?utf-8?q?x?= "),
    ("Subject: ", "=?a?b?=?="),
    ("Subject: ", "=?"),
    ("To: ", "("),
    ("To: ", "(a)"),
    ("To: ", "\\("),
    ("To: ", "a:b;"),
    ("To: ", "a@b,"),
    ("To: ", "<"),
    ("To: ", "\""),
    ("To: ", "\"a@b\" <c@d>, "),
    ("To: ", "@"),
    ("Date: ", "("),
    ("Date: ", "1 "),
    ("Message-ID: ", "<a@"),
    ("Content-Type: text/plain", "; name*0*=a"),
    ("Content-Type: text/plain", ";name="),
    ("Content-Type: text/plain; name=", "\\\""),
    ("Content-Disposition: attachment; filename*=utf-8''", "%41"),
    ("Received: ", "from a (b [1.2.3.4]) by c with d; "),
    ("Received: ", "(["),
    ("X: y\n", "Received: from a (b [1.2.3.4]) by c\n"),
    ("X: y\n", "A: b\n"),
    ("X: y\n", " z\n"),
    // text
    ("\nhttp://", "a."),
    ("\nhttp://a/", "http://"),
    ("\n", "http://a.b/c?d "),
    ("\n", "www."),
    ("\n", "$1,"),
    ("\n", "!"),
    ("\n", "\u{301}"),
    ("\na", "\u{301}\u{316}"),
    ("\n", "\u{1f1e9}"),
    ("\n", "\u{1f469}\u{200d}"),
    ("\n", "'\u{e9}"),
    ("\n", "\u{5d0}\""),
    ("\n", "\u{3099}"),
    ("\n", "\u{6f22}"),
];

/// Texts that are repeated in every field, and in the body.
const UNITS: [&str; 12] =
    ["@", ".", "http://", "http://a ", "a@b ", "helo=", "$1", "!? ", "&amp;", "=?utf-8?q?@?=", "é.", ";="];

/// Checks, by counted steps, that reading a message, making its terms and adding a verdict take linear time.
fn check(once: &str, repeated: &str) {
    let boundless = Limits {
        bytes: usize::MAX,
        text: usize::MAX,
        nested_messages: usize::MAX,
        parts: usize::MAX,
        headers: usize::MAX,
    };
    let verdict = Verdict {
        label: "spam",
        unsure: false,
        probability: 1.0,
        log_odds: 1.0,
        spam: None,
        truncated: false,
        doubt: "",
        reasons: "",
        version: "1",
    };
    check_linear(&[repeated], |text| {
        let raw = format!("From: a@b\nTo: c@d\n{once}{text}\n\n").into_bytes();
        let message = Message::parse(&raw, &boundless);
        message.for_each_piece(false, |_| ());
        message.date();
        assert!(annotate(&raw, &verdict, false).len() > raw.len());
    });
}

#[test]
fn hostile_messages_are_linear() {
    for (once, repeated) in PATTERNS {
        check(once, repeated);
    }
    let name = "A".repeat(30_000);
    for unit in UNITS {
        for field in ["From", "Received", "Message-ID", "Date", "Content-Type", "Subject", &name] {
            check(&format!("{field}: "), unit);
        }
        for kind in ["text/plain", "text/html"] {
            check(&format!("Content-Type: {kind}\n\n"), unit);
        }
    }
}
