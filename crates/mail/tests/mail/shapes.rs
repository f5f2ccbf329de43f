//! Messages of every shape that mail comes in.
use tamis_mail::{Limits, Message, Part};

fn parse(raw: impl AsRef<[u8]>) -> Message {
    let message = Message::parse(raw.as_ref(), &Limits::default());
    assert!(message.limits_hit().is_empty());
    message
}

/// Subject and body of a message.
#[track_caller]
fn check(raw: impl AsRef<[u8]>, subject: &str, body: &str) {
    let message = parse(&raw);
    assert_eq!((message.subject(), message.body().as_str()), (subject, body));
}

/// Depth, type and text of the parts.
fn outline(message: &Message) -> Vec<(usize, &str, Option<&str>)> {
    message.parts().iter().map(|p| (p.depth, p.content_type.as_str(), p.text.as_deref())).collect()
}

#[test]
fn without_header_or_body() {
    check("", "", "");
    check("\n", "", "");
    check("\n\nbody", "", "\nbody");
    check("just text\nand more\n", "", "just text\nand more\n");
    check("Subject: only", "only", "");
    check("Subject: only\n", "only", "");
    check("Subject: only\r\n\r\n", "only", "");
    check("From a@b Fri Aug 23 11:03:04 2002\nSubject: s\n\nbody", "s", "body");
    check("Subject: s\nno field\n\nbody", "s", "no field\n\nbody");
}

#[test]
fn line_ends_and_nuls() {
    check("Subject: a\r\n b\r\n\r\none\r\ntwo\r\n", "a b", "one\r\ntwo\r\n");
    check("Subject: a\r\nX: y\n\r\none\ntwo\r\n", "a", "one\ntwo\r\n");
    check("Subject: a\rb\n\none\rtwo", "ab", "one\rtwo");
    check("Subject: v\0i\n\na\0b", "vi", "ab");
}

#[test]
fn transfer_encodings() {
    for (encoding, body, expected) in [
        ("base64", "SGVsbG8s\r\nIHdvcmxk\r\n", "Hello, world"),
        ("BASE64 (really)", "SGVsbG8=", "Hello"),
        ("quoted-printable", "caf=C3=A9 =\r\nau lait", "café au lait"),
        ("8bit", "=41", "=41"),
        ("x-unknown", "=41", "=41"),
    ] {
        check(format!("Subject: s\nContent-Transfer-Encoding: {encoding}\n\n{body}"), "s", expected);
    }
}

#[test]
fn charsets() {
    for (charset, body, expected) in [
        ("iso-8859-1", &b"caf\xe9"[..], "café"),
        ("KOI8-R", b"\xf0\xd2\xc9", "При"),
        ("\"iso-2022-jp\"", b"\x1b$B$3$s\x1b(B", "こん"),
        ("gb2312", b"\xc4\xe3\xba\xc3", "你好"),
        ("us-ascii", b"caf\xc3\xa9", "café"),
        ("utf-8", b"caf\xe9", "café"),
    ] {
        check(
            [format!("Content-Type: text/plain; charset={charset}\n\n").as_bytes(), body].concat(),
            "",
            expected,
        );
    }
    check(b"Subject: caf\xe9\n\n\x80 5", "café", "€ 5");
    check(b"Subject: caf\xc3\xa9\n\ncaf\xc3\xa9", "café", "café");
}

#[test]
fn html() {
    check("Content-Type: Text/HTML\n\n<p>a<p>b", "", "a\nb");
    check("Content-Type: text/plain\n\n<HTML><p>a<p>b", "", "a\nb");
    check("Content-Type: text/plain\n\n<p>a<p>b", "", "<p>a<p>b");
    let message = parse("Content-Type: text/html\n\n<p>a");
    assert!(message.parts()[0].is_html);
    assert_eq!(message.parts()[0].text.as_deref(), Some("<p>a"));
}

#[test]
fn alternatives_and_attachments() {
    let message = parse(
        "Content-Type: multipart/mixed; boundary=\"out er\"\n\npreamble\n--out er\n\
         Content-Type: multipart/alternative;\n\tboundary=inner\n\n\
         --inner\n\nplain\n--inner\nContent-Type: text/html; charset=UTF-8\n\n<p>html</p>\n--inner--\n\n\
         --out er\nContent-Type: image/gif; name=a.gif\nContent-Transfer-Encoding: base64\n\nR0lG\n\
         --out er\nContent-Disposition: attachment; filename=\"=?utf-8?q?=C3=A9.txt?=\"\nContent-Type: text/x-log\n\nlog\n\
         --out er--\nepilogue",
    );
    assert_eq!(
        outline(&message),
        [
            (0, "multipart/mixed", None),
            (1, "multipart/alternative", None),
            (2, "text/plain", Some("plain")),
            (2, "text/html", Some("<p>html</p>")),
            (1, "image/gif", None),
            (1, "text/x-log", Some("log")),
        ]
    );
    let of = |f: fn(&Part) -> Option<&str>| message.parts().iter().map(f).collect::<Vec<_>>();
    assert_eq!(of(|p| p.file_name.as_deref())[4..], [Some("a.gif"), Some("é.txt")]);
    assert_eq!(of(|p| p.charset.as_deref())[3], Some("utf-8"));
    assert_eq!(of(|p| p.transfer_encoding.as_deref())[4], Some("base64"));
    assert_eq!(message.body(), "plain\nhtml\nlog");
}

#[test]
fn broken_multiparts() {
    // never closed; inner never closed; boundary never used; no boundary; no type
    check("Content-Type: multipart/mixed; boundary=b\n\n--b\n\none\n--b\n\ntwo", "", "one\ntwo");
    check(
        "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: multipart/x; boundary=c\n\n--c\n\none\n--b\n\ntwo\n--b--",
        "",
        "one\ntwo",
    );
    check("Content-Type: multipart/mixed; boundary=b\n\n--c\n\none\n", "", "--c\n\none\n");
    check("Content-Type: multipart/mixed\n\n--c\n\none\n", "", "--c\n\none\n");
    check("Content-Type: nonsense\n\none\n", "", "one\n");
    check("Content-Type: multipart/mixed; boundary=b\n\n--b\n--b--", "", "");
}

#[test]
fn nested_messages() {
    let inner = "Subject: =?utf-8?q?in=6Eer?=\n\ninner text";
    let message = parse(format!("Subject: outer\nContent-Type: message/rfc822\n\n{inner}"));
    assert_eq!(
        outline(&message),
        [(0, "message/rfc822", Some("inner")), (1, "text/plain", Some("inner text"))]
    );
    check(
        "Subject: o\nContent-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\nU3ViamVjdDogaQoKdGV4dA==",
        "o",
        "i\ntext",
    );
    check(
        format!("Content-Type: multipart/digest; boundary=b\n\n--b\n\n{inner}\n--b\n\n{inner}\n--b--"),
        "",
        "inner\ninner text\ninner\ninner text",
    );
}

#[test]
fn headers_are_decoded_ordered_and_cleaned() {
    let message = parse(
        "Received: from a\n\tby b\nX-Spam-Status: No\nfrom: \"=?koi8-r?B?8NLJ18XU?=\" <a@b.ru> (=?utf-8?q?=C3=A9?=)\n\
         Status: RO\nReceived: c\nX-UIDL: 1\nContent-Type: text/plain\n\n",
    );
    let headers: Vec<_> = message.headers().map(|h| (h.name, h.value)).collect();
    assert_eq!(
        headers,
        [
            ("Received", "from a\tby b"),
            ("from", "\"Привет\" <a@b.ru> (é)"),
            ("Received", "c"),
            ("Content-Type", "text/plain"),
        ]
    );
    assert_eq!(message.header("RECEIVED"), Some("from a\tby b"));
    assert_eq!(message.header("status"), None);
}
