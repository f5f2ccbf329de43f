//! Messages that others forward as attachments.
use std::fs;
use std::path::Path;
use tamis_mail::{Limits, LimitsHit, forwarded_messages};

const SPAM: &str =
    "Received: from x\n\tby y\nFrom: a@spam.example\nTo: b@example.org\nSubject: pills\n\ncheap pills\n";

/// A message of a colleague with these parts.
fn forward(kind: &str, parts: &[String]) -> String {
    let parts: String = parts.iter().map(|part| format!("--b\n{part}\n")).collect();
    format!("From: c@example.org\nTo: spam@example.org\nContent-Type: {kind}; boundary=b\n\n{parts}--b--\n")
}

fn attached(header: &str, content: &str) -> String {
    format!("{header}\n\n{content}")
}

fn base64(text: &str) -> String {
    let digit = |sextet: u32| {
        char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[sextet as usize & 63])
    };
    let chars = text.as_bytes().chunks(3).flat_map(|three| {
        let bits = (0..3).fold(0, |bits, n| bits << 8 | u32::from(three.get(n).copied().unwrap_or(0)));
        (0..4).map(move |n| if n <= three.len() { digit(bits >> (18 - 6 * n)) } else { '=' })
    });
    let chars: Vec<char> = chars.collect();
    chars.chunks(76).map(|line| line.iter().collect::<String>() + "\r\n").collect()
}

#[track_caller]
fn check(raw: &str, expected: &[&str]) {
    let (messages, hit) = forwarded_messages(raw.as_bytes(), &Limits::default());
    let messages: Vec<_> = messages.iter().map(|raw| String::from_utf8_lossy(raw)).collect();
    assert_eq!(messages, expected, "{raw}");
    assert!(hit.is_empty(), "{hit}: {raw}");
}

#[test]
fn however_they_are_attached() {
    let text = "Content-Type: text/plain\n\nIs this spam?".to_owned();
    let other = SPAM.replace("pills", "watches");
    for header in [
        "Content-Type: message/rfc822",
        "content-type: Message/RFC822; name=\"pills.eml\"\nContent-Disposition: attachment; filename=pills.eml",
        "Content-Type: message/global (EAI)",
        "Content-Type: application/octet-stream; name=\"PILLS.EML\"",
        "Content-Type: application/eml\nContent-Disposition: attachment;\n filename*=utf-8''p%C3%AFlls.eml",
    ] {
        let one = attached(header, SPAM);
        check(&forward("multipart/mixed", &[text.clone(), one.clone()]), &[SPAM]);
        let coded = attached(&format!("{header}\nContent-Transfer-Encoding: base64"), &base64(SPAM));
        // two of them
        check(&forward("multipart/mixed", &[coded, text.clone(), attached(header, &other)]), &[SPAM, &other]);
        // inside a multipart in a multipart that is signed
        let mixed =
            forward("multipart/mixed", &[text.clone(), one]).replace("=b\n", "=c\n").replace("--b", "--c");
        check(
            &forward("multipart/signed", &[mixed, "Content-Type: application/pgp-signature\n\nx".to_owned()]),
            &[SPAM],
        );
    }
    // in a digest, as it is their type
    check(&forward("multipart/digest", &[format!("\n{SPAM}"), format!("\n{other}")]), &[SPAM, &other]);
    check(&format!("Subject: Fwd\nContent-Type: message/rfc822\n\n{SPAM}"), &[SPAM]);
}

#[test]
fn not_what_is_attached_to_them() {
    let inside =
        forward("multipart/mixed", &[attached("Content-Type: message/rfc822", SPAM)]).replace("--b", "--c");
    let inside = inside.replace("=b\n", "=c\n");
    check(&forward("multipart/mixed", &[attached("Content-Type: message/rfc822", &inside)]), &[&inside]);
}

#[test]
fn what_was_not_forwarded() {
    let report = attached("Content-Type: message/delivery-status", "Action: failed\n");
    check(&forward("multipart/report", &[report, attached("Content-Type: message/rfc822", SPAM)]), &[]);
    check(SPAM, &[]);
    check(&format!("Subject: Fwd: pills\n\n-------- Forwarded message --------\n{SPAM}"), &[]);
    for part in [
        attached("Content-Type: text/plain", SPAM),
        attached("Content-Type: message/rfc822", "\n"),
        attached("Content-Type: message/external-body; access-type=URL", SPAM),
        attached("Content-Type: application/octet-stream; name=a.eml", "MZ\u{1}"),
        attached("Content-Type: application/octet-stream; name=a.txt", SPAM),
    ] {
        check(&forward("multipart/mixed", &[part]), &[]);
    }
}

#[test]
fn in_the_message_that_another_filter_wrapped() {
    let inside =
        forward("multipart/mixed", &[attached("Content-Type: message/rfc822", SPAM)]).replace("--b", "--c");
    let inside = inside.replace("=b\n", "=c\n");
    let wrapped = |inside: &str| {
        let original = attached("Content-Type: message/rfc822; x-spam-type=original", inside);
        forward("multipart/mixed", &["\n\nSpam detection software".to_owned(), original])
    };
    check(&wrapped(&inside), &[SPAM]);
    // wrapped is not forwarded
    check(&wrapped(SPAM), &[]);
}

#[test]
fn real_forms_of_mail_come_out_byte_for_byte() {
    let mail = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpora/mail");
    let mut n = 0;
    for folder in ["ham", "spam", "inbox"] {
        for file in fs::read_dir(mail.join(folder)).unwrap() {
            let original = fs::read(file.unwrap().path()).unwrap();
            let mut raw =
                b"From: c@example.org\nContent-Type: multipart/mixed; boundary=not-in-it\n\n".to_vec();
            for _ in 0..2 {
                raw.extend_from_slice(b"--not-in-it\nContent-Type: message/rfc822\n\n");
                raw.extend_from_slice(&original);
                raw.push(b'\n');
            }
            raw.extend_from_slice(b"--not-in-it--\n");
            let (messages, hit) = forwarded_messages(&raw, &Limits::default());
            assert!(messages == [&original[..], &original] && hit.is_empty());
            n += 1;
        }
    }
    assert!(n > 150);
}

#[test]
fn no_more_than_the_limits_allow() {
    let one = attached("Content-Type: message/rfc822", SPAM);
    let many = forward("multipart/mixed", &vec![one; 70]);
    let (messages, hit) = forwarded_messages(many.as_bytes(), &Limits::default());
    assert_eq!(messages, [SPAM.as_bytes(); 64]);
    assert_eq!(hit, LimitsHit { nested_messages: true, ..LimitsHit::default() });
    let mut few = Limits::default();
    few.bytes = many.len() - 1;
    assert!(forwarded_messages(many.as_bytes(), &few).1.bytes);
    // deeper than multiparts are read
    let deep: String =
        (0..70).map(|n| format!("Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n")).collect();
    let (messages, hit) = forwarded_messages(format!("{deep}{many}").as_bytes(), &Limits::default());
    assert!(messages.is_empty() && hit.depth, "{hit}");
}
