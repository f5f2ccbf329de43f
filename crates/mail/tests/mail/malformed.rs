//! Malformed messages in which some reader shows a text, each in its smallest form.
use tamis_mail::{Limits, Message};

/// "cheap pills" in base64, which only those who find type and encoding can read.
const CODED: &str = "Y2hlYXAgcGlsbHM=\n";

#[track_caller]
fn parse(raw: impl AsRef<[u8]>) -> Message {
    Message::parse(raw.as_ref(), &Limits::default())
}

#[track_caller]
fn check(raw: impl AsRef<[u8]>) {
    let message = parse(&raw);
    assert!(message.body().contains("cheap pills"), "{}", String::from_utf8_lossy(raw.as_ref()));
    assert!(message.limits_hit().is_empty());
}

#[test]
fn headers() {
    let many = "X: y\n".repeat(1_000);
    let long = format!("X: {}\n", "y".repeat(400 << 10));
    for before in [
        "\u{feff}",
        " folded\n",
        " \n",
        "no field\n",
        ": v\n",
        "X A B: v\n",
        "X-é: v\n",
        "\0\n",
        "\x0cX: y\n",
    ] {
        check(format!("{before}Subject: s\nContent-Transfer-Encoding: base64\n\n{CODED}"));
        if before != "\u{feff}" {
            check(format!("Subject: s\n{before}Content-Transfer-Encoding: base64\n\n{CODED}"));
        }
    }
    // limits bound the evidence
    for before in [many, long] {
        let message = parse(format!("{before}Content-Transfer-Encoding: base64\n\n{CODED}"));
        assert!(message.body().contains("cheap pills") && message.limits_hit().headers);
    }
    check(format!("Subject: s\n\rX: y\n\rContent-Transfer-Encoding: base64\n\r\n\r{CODED}"));
    let raw = "Subject: s\ncheap pills\nContent-Type: text/html\n\nhello";
    assert_eq!(parse(raw).body(), "cheap pills\n\nhello");
    // without a MIME field, and with one after the first boundary line, the header ends
    assert_eq!(parse("A: 1\nno field\nB: 2\n\nx").headers().len(), 1);
    assert_eq!(parse("A: 1\nno field\n--b\nContent-Type: a/b\n\nx").headers().len(), 1);
}

#[test]
fn boundaries() {
    for (content_type, boundary) in [
        ("multipart/mixed; boundary=b (a comment)", "b"),
        ("multipart/mixed; (a comment) boundary=b", "b"),
        ("multipart/mixed; boundary=(a comment)b", "b"),
        ("(a comment) multipart/mixed; boundary=b", "b"),
        ("multipart(a)/(b)mixed; boundary=b", "b"),
        ("multipart/mixed (x (y; boundary=z)); boundary=b", "b"),
        ("multipart; boundary=b", "b"),
        ("multipart/; boundary=b", "b"),
        ("multipart / mixed; boundary=b", "b"),
        ("multipart/\n mixed; boundary=b", "b"),
        ("multipart/mixed/x; boundary=b", "b"),
        ("\"multipart/mixed\"; boundary=b", "b"),
        ("=?utf-8?q?multipart/mixed=3B_boundary=3Db?=", "b"),
        ("text/plain; boundary=b", "b"),
        ("multipart/mixed; boundary=\"b", "b"),
        ("multipart/mixed; boundary=\"b; charset=utf-8", "b"),
        ("multipart/mixed; boundary=b\"", "b"),
        ("multipart/mixed; boundary='b'", "b"),
        ("multipart/mixed; boundary='b'", "'b'"),
        ("multipart/mixed; boundary=\"b \"", "b"),
        ("multipart/mixed; boundary=b x", "b"),
        ("multipart/mixed; boundary=b x", "b x"),
        ("multipart/mixed; boundary=\"=?utf-8?q?b?=\"", "b"),
        ("multipart/mixed; boundary=\"=?utf-8?q?b?=\"", "=?utf-8?q?b?="),
        ("multipart/mixed; boundary=x; boundary=b", "b"),
        ("multipart/mixed; boundary=x; boundary*=us-ascii''%62", "b"),
        ("multipart/mixed; boundary=x; boundary*0=b; boundary*1=c", "bc"),
        ("multipart/mixed", "b"),
        ("multipart/mixed; boundary=\"\"", ""),
        ("multipart/mixed; boundary=B", "b"),
        ("\nContent-Type: multipart/mixed; boundary=b", "b"),
        ("text/plain\nContent-Type: multipart/mixed; boundary=b", "b"),
        ("multipart/mixed; boundary=x\nContent-Type: multipart/mixed; boundary=b", "b"),
    ] {
        let part = format!("--{boundary}\nContent-Transfer-Encoding: base64\n\n{CODED}");
        check(format!("Content-Type: {content_type}\n\n{part}--{boundary}--\n"));
    }
    let part = format!("--b\nContent-Transfer-Encoding: base64\n\n{CODED}");
    for body in [
        format!("--b--\n{part}"),
        format!("--b\n\nhello\n--b--\n{part}--b--\n"),
        format!(
            "--b\nContent-Type: multipart/mixed; boundary=b--\n\n--b--\n{}--b----\n--b\n\nhello\n--b--\n",
            &part[4..]
        ),
        format!("--b\n Content-Type: text/plain\n{}", &part[4..]),
        format!("--b\nno field\n{}", &part[4..]),
    ] {
        check(format!("Content-Type: multipart/mixed; boundary=b\n\n{body}"));
    }
    // a boundary with a colon looks like a field
    check(
        "Content-Type: multipart/mixed; boundary=\"b:\"\n \n--b:\nContent-Type: text/plain\n\ncheap pills\n--b:--\n",
    );
    // readers that take the last type show the body
    let fields = "Content-Type: multipart/mixed; boundary=b\nContent-Type: text/plain";
    check(format!("{fields}\n\ncheap pills\n--b\n\nhello\n--b--\n"));
}

#[test]
fn encodings_and_types() {
    for fields in [
        "Content-Transfer-Encoding:\nContent-Transfer-Encoding: base64",
        "Content-Transfer-Encoding: 7bit\nContent-Transfer-Encoding: base64",
        "Content-Transfer-Encoding: (a comment) base64",
        "Content-Transfer-Encoding: 7bit base64.",
        "Content-Transfer-Encoding: =?us-ascii?q?base64?=",
        "Content-Type: application/octet-stream\nContent-Type: text/html\nContent-Transfer-Encoding: base64",
        "Content-Type: \"text/html\"\nContent-Transfer-Encoding: base64",
        "Content-Type: =?utf-8?q?text/html?=\nContent-Transfer-Encoding: base64",
    ] {
        check(format!("{fields}\n\n{CODED}"));
    }
    for name in ["x-uuencode", "uuencode", "X-UUE"] {
        let text = "begin 644 a\n+8VAE87`@<&EL;',\n`\nend\n";
        check(format!("Content-Transfer-Encoding: {name}\n\n{text}"));
    }
    for kind in ["partial; number=1; total=1", "external-body", "delivery-status", "x-unknown"] {
        check(format!("Content-Type: message/{kind}\n\nContent-Type: text/plain\n\ncheap pills"));
    }
    // a report of fields alone has no text
    let report = "Content-Type: message/delivery-status\n\nReporting-MTA: dns; x\n\nAction: failed\n";
    assert_eq!(parse(report).body(), "");
}

#[test]
fn an_attached_page_does_not_hide_the_plain_text() {
    use tamis_mail::Piece;
    let page = "<p>soup at noon with bread and butter and a glass of water for you</p>";
    let raw = format!(
        "Content-Type: multipart/alternative; boundary=b\n\n--b\n\ncheap pills\n--b\n\
         Content-Type: text/html\nContent-Disposition: attachment\n\n{page}\n--b--\n"
    );
    let mut seen = String::new();
    parse(raw).for_each_piece(true, |piece| {
        if let Piece::Words { prefix: "", text, .. } = piece {
            seen += text;
        }
    });
    assert!(seen.contains("cheap pills"), "{seen}");
}

#[test]
fn text_that_cannot_be_decoded_is_told() {
    for (charset, body, expected) in [
        ("cp420", &b"\x83\x88\x85\x81\x97"[..], true),
        ("iso-2022-kr", b"\x1b$)C\x0e!!\x0f", true),
        ("x-unknown", b"cheap pills", false),
    ] {
        let raw = [format!("Content-Type: text/plain; charset={charset}\n\n").as_bytes(), body].concat();
        assert_eq!(parse(raw).limits_hit().text, expected, "{charset}");
    }
}

#[test]
fn embedded_pictures_do_not_keep_text_from_being_read() {
    let picture = "iVBORw0KGgo=".repeat(60_000);
    let image = format!("<img src=\"data:image/png;base64,{picture}\">");
    let html = format!("{image}{image}<p>cheap pills");
    check(format!("Content-Type: text/html\n\n{html}"));
    let message = parse(format!("Content-Type: text/html\n\n{html}"));
    let kinds: Vec<_> = message.parts().iter().map(|part| (part.depth, part.content_type.as_str())).collect();
    assert_eq!(kinds, [(0, "text/html"), (1, "image/png"), (1, "image/png")]);
    assert_eq!(message.parts()[1].content, message.parts()[2].content);
    assert_eq!(message.parts()[1].content.unwrap().size, picture.len());
}

#[test]
fn the_message_inside_a_wrapper_is_read() {
    let inside = "Subject: pills\nMessage-ID: <1@x>\nContent-Type: text/html\n\n<p>cheap pills\n";
    let wrapped = |field: &str, kind: &str| {
        format!(
            "Subject: report\n{field}Content-Type: multipart/mixed; boundary=\"b\"\n\n--b\nContent-Type: text/plain\n\n\
             Spam detection software\n\n--b\nContent-Type: {kind}\nContent-Disposition: attachment\n\n{inside}\n--b--\n"
        )
    };
    for (field, kind, is_wrapped) in [
        ("X-Spam-Flag: YES\n", "message/rfc822; x-spam-type=original", true),
        ("X-Spam-Flag: YES\n", "text/plain; x-spam-type=original", true),
        ("X-MS-Journal-Report:\n", "message/rfc822", true),
        ("", "message/rfc822", false),
        ("", "text/plain; charset=\"x-spam-type=original\"", false),
    ] {
        let message = parse(wrapped(field, kind));
        assert_eq!(message.subject() == "pills", is_wrapped, "{field}{kind}");
        assert_eq!(message.body().contains("detection"), !is_wrapped, "{field}{kind}");
        let hit = message.limits_hit();
        // nobody can tell what stood in the report
        assert_eq!((hit.wrapper, hit.text), (is_wrapped, is_wrapped), "{field}{kind}");
    }
}
