//! Messages made to break parsers.
use proptest::prelude::*;
use tamis_mail::{Limits, LimitsHit, Message, forwarded_messages, looks_like_mail};

/// Everything a caller may ask of a message.
fn exercise(raw: &[u8], limits: &Limits) -> Message {
    looks_like_mail(raw);
    let (forwarded, _) = forwarded_messages(raw, limits);
    assert!(forwarded.len() <= limits.nested_messages.min(256));
    let message = Message::parse(raw, limits);
    assert!(message.parts().len() <= limits.parts.saturating_mul(2));
    assert!(message.headers().len() <= limits.headers);
    let text: usize = message.parts().iter().filter_map(|p| p.text.as_ref()).map(String::len).sum();
    assert!(text <= limits.text.saturating_mul(2));
    message.headers().for_each(drop);
    message.body();
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
    attachments: false,
    depth: false,
    wrapper: false,
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
    let hit = exercise(digests.as_bytes(), &Limits::default()).limits_hit();
    assert!(hit.text && (hit.depth || hit.nested_messages));
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
    assert!(message.body().contains("boundary=b70"));
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
    check(&parts, LimitsHit { parts: true, text: true, ..NONE });
    let empty = format!("Content-Type: multipart/mixed; boundary=b\n\n{}", "--b\n".repeat(100_000));
    check(&empty, LimitsHit { parts: true, text: true, ..NONE });

    let headers = format!("{}\nbody", "a:\n".repeat(1_000_000));
    let message = check(&headers, LimitsHit { headers: true, text: true, ..NONE });
    assert_eq!(message.body(), "body");
    check(&format!("A: 1\n{}\n", " x\n".repeat(90_000)), NONE);
    check(&format!("A: 1\n{}\n", " x\n".repeat(110_000)), LimitsHit { headers: true, text: true, ..NONE });
    check(&"From x\n".repeat(50_000), NONE);
}

#[test]
fn very_long_lines_and_texts() {
    let line = "x".repeat(5_000_000);
    let (text, headers) = (LimitsHit { text: true, ..NONE }, LimitsHit { headers: true, text: true, ..NONE });
    let message = check(&format!("Subject: s\n\n{line}"), text);
    assert_eq!(message.body().len(), Limits::default().text);
    check(&format!("Subject: {line}"), headers);
    check(&line, text);
    check(&format!("Content-Type: text/html\n\n{}", "<".repeat(1_000_000)), text);
    check(&format!("Subject: {}\n\n", "=?utf-8?q?".repeat(30_000)), NONE);
    check(&format!("Content-Type: text/plain; {}\n\n", "name*0*=;".repeat(30_000)), NONE);
    let bytes = Limits::default().bytes;
    let image = "Content-Type: image/png\n\n".to_owned();
    check(&(image.clone() + &"x".repeat(bytes - image.len())), NONE);
    check(&(image.clone() + &"x".repeat(bytes)), LimitsHit { bytes: true, text: true, ..NONE });
}

/// A multipart of these parts.
fn multipart(parts: &[String]) -> String {
    let parts: String = parts.iter().map(|part| format!("--b\n{part}\n")).collect();
    format!("Content-Type: multipart/mixed; boundary=b\n\n{parts}--b--\n")
}

#[test]
fn what_is_no_text_does_not_keep_text_from_being_read() {
    let text = "Content-Type: text/plain\n\ncheap pills".to_owned();
    let attached = |kind: &str, body: &str| {
        format!("Content-Type: {kind}\nContent-Disposition: attachment; filename=a\n\n{body}")
    };
    let large = "iVBORw0KGgo=\n".repeat(50_000);
    let before: [(Vec<String>, LimitsHit); 6] = [
        (vec!["Content-Type: image/png\n\n".to_owned(); 1_000], NONE),
        (vec!["Content-Type: image/png\n\n".to_owned(); 3_000], LimitsHit { parts: true, ..NONE }),
        (vec!["\n".to_owned(); 1_000], NONE),
        (vec![format!("Content-Type: image/png\n\n{large}"); 3], NONE),
        (vec![attached("application/pdf\nContent-Transfer-Encoding: base64", &large)], NONE),
        (vec![attached("text/csv", &large)], LimitsHit { attachments: true, ..NONE }),
    ];
    for (mut parts, expected) in before {
        let first = parts[0].lines().next().unwrap_or_default().to_owned();
        parts.push(text.clone());
        let message = check(&multipart(&parts), expected);
        assert!(message.body().ends_with("cheap pills"), "{first}");
    }
}

#[test]
fn text_that_may_be_left_unread_is_told_whatever_the_limit() {
    let text = "Content-Type: text/plain\n\ncheap pills".to_owned();
    let html = |body: String| format!("Content-Type: text/html\n\n{body}");
    let nested = |levels: usize| {
        "Content-Type: message/rfc822\n\n".repeat(levels) + "Content-Type: text/plain\n\ncheap pills"
    };
    let mut parts = vec!["\nword".to_owned(); 1_000];
    parts.push(text.clone());
    for (name, raw, is_unread) in [
        ("a thousand parts of text", multipart(&parts), true),
        ("spaces", multipart(&[html("&nbsp;".repeat(60_000)), text.clone()]), true),
        (
            "an empty quoted-printable text",
            format!("Content-Transfer-Encoding: quoted-printable\n\n{}pills", "=\n".repeat(600_000)),
            true,
        ),
        ("a header", format!("X-Long: {}\n\ncheap pills", "x".repeat(600_000)), true),
        ("a header of many fields", format!("{}\ncheap pills", "X-Many: x\n".repeat(1_001)), true),
        ("seventy messages", nested(70), true),
        ("ten messages", nested(10), false),
        ("a text", multipart(&[text]), false),
    ] {
        let message = exercise(raw.as_bytes(), &Limits::default());
        assert_eq!(message.limits_hit().text, is_unread, "{name}: {}", message.limits_hit());
    }
}

/// A part within many others is searched some times in all, not once for each.
#[test]
fn many_passes_over_a_large_message_end() {
    for (levels, expected) in [(20, NONE), (60, LimitsHit { depth: true, text: true, ..NONE })] {
        let open: String = (0..levels)
            .map(|i| format!("Content-Type: multipart/mixed; boundary=a; boundary=b{i}\n\n--b{i}\n"))
            .collect();
        for (bytes, expected) in [(10, NONE), (250_000, expected)] {
            let raw = format!("{open}\n{}", "x\n".repeat(bytes / 2));
            assert_eq!(exercise(raw.as_bytes(), &Limits::default()).limits_hit(), expected, "{levels}");
        }
    }
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
