//! Messages made to break parsers.
use proptest::prelude::*;
use tamis_mail::{Limits, LimitsHit, Message, looks_like_mail};

/// Everything a caller may ask of a message.
fn exercise(raw: &[u8], limits: &Limits) -> Message {
    looks_like_mail(raw);
    let message = Message::parse(raw, limits);
    assert!(message.parts().len() <= limits.parts);
    assert!(message.headers().len() <= limits.headers);
    assert!(
        message.parts().iter().filter_map(|p| p.text.as_ref()).map(String::len).sum::<usize>() <= limits.text
    );
    message.for_each_field(|_, _| {});
    message
}

#[track_caller]
fn check(raw: &str, expected: LimitsHit) -> Message {
    let message = exercise(raw.as_bytes(), &Limits::default());
    assert_eq!(message.limits_hit(), expected);
    message
}

const NONE: LimitsHit = LimitsHit {
    bytes: false,
    nested_messages: false,
    parts: false,
    headers: false,
    text: false,
    depth: false,
};

#[test]
fn nested_messages() {
    for levels in [21_875, 100_000] {
        for kind in ["message/rfc822", "MESSAGE/RFC822", "message/global"] {
            let raw = format!("Content-Type: {kind}\n\n").repeat(levels);
            let message = exercise(raw.as_bytes(), &Limits::default());
            assert!(message.limits_hit().nested_messages);
            assert_eq!(message.parts().len(), 65);
            assert!(message.body().starts_with("Content-Type: message/rfc822\n") || kind != "message/rfc822");
        }
    }
    let mut all = Limits::default();
    all.nested_messages = usize::MAX;
    all.bytes = usize::MAX;
    assert!(
        exercise("Content-Type: message/rfc822\n\n".repeat(100_000).as_bytes(), &all)
            .limits_hit()
            .nested_messages
    );
    let digests: String =
        (0..9_000).map(|i| format!("Content-Type:multipart/digest;boundary=a{i}\n\n--a{i}\n\n")).collect();
    assert!(exercise(digests.as_bytes(), &Limits::default()).limits_hit().depth);
    let unit = "Content-Type:message/rfc822\nContent-Transfer-Encoding:quoted-printable\n\n";
    assert!(exercise(unit.repeat(7_000).as_bytes(), &Limits::default()).limits_hit().nested_messages);
}

#[test]
fn nested_multiparts() {
    let mut raw = String::new();
    for level in 0..20_000 {
        raw += &format!("Content-Type:multipart/a;boundary=b{level}\n\n--b{level}\n");
    }
    let message = exercise(raw.as_bytes(), &Limits::default());
    assert!(message.limits_hit().depth);
    assert!(message.body().contains("boundary=b40"));
    // the same boundary over and over, and one that never comes
    for inner in ["B", "x"] {
        let unit = format!("--B\nContent-Type:multipart/a;boundary={inner}\n\n");
        exercise(
            format!("Content-Type:multipart/a;boundary=B\n\n{}", unit.repeat(12_000)).as_bytes(),
            &Limits::default(),
        );
    }
}

#[test]
fn boundaries_that_almost_match() {
    let dashes = "-".repeat(100_000);
    let lines = "--\n".repeat(130_000);
    check(&format!("Content-Type: multipart/a; boundary=\"{dashes}x\"\n\n{dashes}{dashes}"), NONE);
    for depth in [1, 40] {
        let open: String =
            (0..depth).map(|i| format!("Content-Type:multipart/a;boundary=-{i}\n\n---{i}\n")).collect();
        exercise(format!("{open}\n{lines}").as_bytes(), &Limits::default());
        exercise(format!("{open}\n{}", "\n".repeat(500_000)).as_bytes(), &Limits::default());
    }
}

#[test]
fn very_many_parts_and_headers() {
    let parts = format!("Content-Type: multipart/mixed; boundary=b\n\n{}", "--b\n\nx\n".repeat(1_000_000));
    check(&parts, LimitsHit { bytes: true, parts: true, ..NONE });
    let empty = format!("Content-Type: multipart/mixed; boundary=b\n\n{}", "--b\n".repeat(100_000));
    check(&empty, LimitsHit { parts: true, ..NONE });

    let headers = format!("{}\nbody", "a:\n".repeat(1_000_000));
    check(&headers, LimitsHit { bytes: true, headers: true, ..NONE });
    let message = check(&format!("{}\nbody", "a:\n".repeat(100_000)), LimitsHit { headers: true, ..NONE });
    assert_eq!(message.body(), "body");
    check(&format!("A: 1\n{}\n", " x\n".repeat(100_000)), NONE);
    check(&"From x\n".repeat(50_000), NONE);
}

#[test]
fn very_long_lines_and_texts() {
    let line = "x".repeat(5_000_000);
    let message = check(&format!("Subject: s\n\n{line}"), LimitsHit { bytes: true, text: true, ..NONE });
    assert_eq!(message.body().len(), Limits::default().text);
    check(&format!("Subject: {line}"), LimitsHit { bytes: true, ..NONE });
    check(&line, LimitsHit { bytes: true, text: true, ..NONE });
    check(
        &format!("Content-Type: text/html\n\n{}", "<".repeat(1_000_000)),
        LimitsHit { bytes: true, text: true, ..NONE },
    );
    check(&format!("Subject: {}\n\n", "=?utf-8?q?".repeat(50_000)), NONE);
    check(&format!("Content-Type: text/plain; {}\n\n", "name*0*=;".repeat(50_000)), NONE);
}

/// Limits with so many parts, headers and nested messages, and so many bytes of text and of the message.
fn limits(parts: usize, text: usize, bytes: usize) -> Limits {
    let mut limits = Limits::default();
    (limits.parts, limits.headers, limits.nested_messages) = (parts, parts, parts);
    (limits.text, limits.bytes) = (text, bytes);
    limits
}

#[test]
fn cut_text_ends_at_a_character() {
    let raw = "\né".as_bytes();
    for (bytes, expected) in [(3, "é"), (2, ""), (1, "")] {
        assert_eq!(Message::parse(raw, &limits(usize::MAX, usize::MAX, bytes)).body(), expected);
    }
    assert_eq!(Message::parse(raw, &limits(usize::MAX, 1, usize::MAX)).body(), "");
    assert_eq!(exercise(b"Subject: s\n\nbody", &limits(0, 0, 0)).body(), "");
}

/// Pieces that messages are made of, in orders that they are not.
const PIECES: &str = "(Subject: |Content-Type: |Content-Transfer-Encoding: |text/html|text/plain|multipart/mixed|\
    message/rfc822|; boundary=b|; charset=|utf-8|koi8-r|utf-16|iso-2022-jp|base64|quoted-printable|--b|--b--|\n|\r\n|\n\n|\n |=\
    |=\\?utf-8\\?q\\?|\\?=|=C3|<p>|<!--|<script>|&amp;|From x|\0|\u{e9}|[a-zA-Z0-9+/]{0,9}){0,60}";

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(raw: Vec<u8>) {
        exercise(&raw, &Limits::default());
    }

    #[test]
    fn arbitrary_messages_never_panic(raw in PIECES, parts in 0usize..5, text in 0usize..100, bytes in 0usize..500) {
        exercise(raw.as_bytes(), &Limits::default());
        exercise(raw.as_bytes(), &limits(parts, text, bytes));
    }

    #[test]
    fn mutated_messages_never_panic(at in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20), cut: prop::sample::Index) {
        let mut raw = MESSAGE.as_bytes().to_vec();
        for (index, byte) in at {
            let index = index.index(raw.len());
            raw[index] = byte;
        }
        raw.truncate(cut.index(raw.len()) + 1);
        exercise(&raw, &Limits::default());
    }
}

const MESSAGE: &str = "From a@b.org Fri Aug 23 11:03:04 2002\r\nReceived: from a (b [1.2.3.4])\r\n\tby c; Fri\r\n\
    From: =?iso-8859-1?Q?J=F6rg?= =?utf-8?B?w6k=?= <j@example.org>\r\nSubject: =?koi8-r?B?8NLJ18XU?=\r\n\
    MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=\"=_x\"\r\n\r\npreamble\r\n--=_x\r\n\
    Content-Type: multipart/alternative; boundary=y\r\n\r\n--y\r\nContent-Type: text/plain; charset=iso-8859-1\r\n\
    Content-Transfer-Encoding: quoted-printable\r\n\r\ncaf=E9 =\r\nau lait\r\n--y\r\nContent-Type: text/html\r\n\
    Content-Transfer-Encoding: base64\r\n\r\nPGh0bWw+PHA+SGVsbG8mYW1wOzxiPndvcmxkPC9iPg==\r\n--y--\r\n--=_x\r\n\
    Content-Type: message/rfc822\r\nContent-Disposition: attachment; filename*=utf-8''%c3%a9.eml\r\n\r\n\
    Subject: nested\r\nContent-Type: text/plain; charset=gb2312\r\n\r\n\u{4f60}\r\n--=_x--\r\n";
