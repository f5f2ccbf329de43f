//! Attachments are what their bytes are, whatever they are declared to be; what is not read is told.
use crate::packed::{base64, docx, properties, signed, signed_in_pieces, tnef, zip};
use proptest::prelude::*;
use tamis_mail::{Limits, LimitsHit, Message, Part, Piece, Scope};

/// A message with a text and a file.
fn mail(text: &str, kind: &str, bytes: &[u8]) -> Vec<u8> {
    let encoded = base64(bytes);
    let head = "From: a@example.org\nTo: b@example.org\nContent-Type: multipart/mixed; boundary=b\n\n";
    format!(
        "{head}--b\n\n{text}\n--b\nContent-Type: {kind}\nContent-Transfer-Encoding: base64\n\n{encoded}\n--b--\n"
    )
    .into_bytes()
}

fn parse(raw: &[u8]) -> Message {
    Message::parse(raw, &Limits::default())
}

/// What people see of the files of a message, and what nobody does.
fn words(message: &Message) -> String {
    let mut all = String::new();
    message.for_each_piece(true, |piece| {
        if let Piece::Words { text, .. } = piece {
            all += text;
            all.push('\n');
        }
    });
    all
}

const LINE: &str = "Here is what you asked for.";
const HTML: &str =
    "<!DOCTYPE html><title>Bank</title><style>p {color: red}</style><p>Verify your <b>account</b></p>";
const MAIL: &str = "From: c@example.org\nTo: d@example.org\nSubject: Offer\n\nVerify your account\n";
const SVG: &str = "<?xml version=\"1.0\"?>\n<!-- a drawing -->\n<svg xmlns=\"http://www.w3.org/2000/svg\"><style>text {fill: red}</style>\
    <text>Verify your account</text></svg>";
const RTF: &str = r"{\rtf1\ansi{\fonttbl{\f0 Arial;}}\f0 Verify your {\b account}\par}";
const ICS: &str =
    "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:Verify your account\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";
const PDF: &[u8] =
    b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<</Length 9>>stream\n\0\x01\x02\x03words\nendstream\n";

#[test]
fn text_is_read_whatever_it_is_declared() {
    let wide: Vec<u8> = "\u{feff}Verify your account".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let (docx, zip) = (docx("Verify your account"), zip(&[("a.txt", b"Verify your account", true)]));
    for (kind, bytes) in [
        ("application/octet-stream", HTML.as_bytes()),
        ("application/octet-stream; name=page.htm", b"<p>Verify your account"),
        ("application/x-unknown; name=page.html", b"Verify your account"),
        ("image/png; name=page.html", HTML.as_bytes()),
        ("application/xhtml+xml", b"<?xml version='1.0'?><html><body>Verify your account</body></html>"),
        ("application/octet-stream", b"Verify your account"),
        ("application/octet-stream", &wide),
        ("application/octet-stream", b"-----BEGIN PGP SIGNED MESSAGE-----\n\nVerify your account\n"),
        ("application/octet-stream", MAIL.as_bytes()),
        ("application/octet-stream; name=offer.eml", MAIL.as_bytes()),
        ("application/ics", ICS.as_bytes()),
        ("application/octet-stream", b"BEGIN:VCARD\r\nNOTE:Verify your account\r\nEND:VCARD\r\n"),
        ("image/svg+xml", SVG.as_bytes()),
        ("application/octet-stream; name=a.svg", SVG.as_bytes()),
        ("application/rtf", RTF.as_bytes()),
        ("text/rtf", RTF.as_bytes()),
        ("application/msword; name=a.doc", RTF.as_bytes()),
        ("text/plain; name=a.rtf", RTF.as_bytes()),
        ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", &docx),
        ("application/octet-stream", &docx),
        ("text/plain; name=letter.docx", &docx),
        ("application/zip", &zip),
        ("application/pkcs7-mime; smime-type=signed-data", &signed(b"\r\nVerify your account")),
        ("application/octet-stream; name=smime.p7m", &signed_in_pieces(MAIL.as_bytes())),
        ("application/ms-tnef", &tnef(&[(1, 0x2_800c, b"Verify your account\0")])),
    ] {
        let message = parse(&mail(LINE, kind, bytes));
        let seen = words(&message);
        let is_whole = seen.split_whitespace().collect::<Vec<_>>().join(" ").contains("Verify your account");
        assert!(is_whole, "{kind}: {seen:?}");
        assert!(seen.contains(LINE) && !seen.contains("red") && !seen.contains("Arial"), "{kind}: {seen:?}");
        assert!(message.limits_hit().is_empty(), "{kind}: {}", message.limits_hit());
        assert!(message.parts().iter().all(|part| part.unread.is_none()), "{kind}");
    }
}

#[test]
fn an_encoding_need_not_be_declared() {
    let encoded = base64(HTML.as_bytes());
    let raw = format!("Content-Type: application/octet-stream\n\n{encoded}");
    assert!(words(&parse(raw.as_bytes())).contains("Verify your account"));
    let pdf = base64(&PDF.repeat(3));
    let message = parse(format!("Content-Type: application/octet-stream\n\n{pdf}").as_bytes());
    assert_eq!((message.parts()[0].unread, message.body().as_str()), (Some("a PDF"), ""));
    // declared, but plain to see
    let raw = format!("Content-Type: application/octet-stream\nContent-Transfer-Encoding: base64\n\n{HTML}");
    assert!(words(&parse(raw.as_bytes())).contains("Verify your account"));
}

#[test]
fn what_is_no_text_gives_no_words() {
    let noise: Vec<u8> = (0..4_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let packed = zip(&[("a.bin", &noise, true)]);
    let cut = &docx("Verify your account")[..80];
    let mut locked = docx("Verify your account");
    let at = locked.windows(4).rposition(|at| at == b"PK\x01\x02").unwrap();
    (locked[6], locked[at + 8]) = (1, 1);
    for (kind, bytes) in [
        ("application/pdf", PDF),
        ("application/octet-stream", PDF),
        ("text/plain; name=a.pdf", PDF),
        ("text/plain", &noise),
        ("text/html", &noise),
        ("application/octet-stream", &noise),
        ("text/plain; name=a.zip", &packed),
        ("application/zip", cut),
        ("application/octet-stream", &locked),
        ("application/msword", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0 words"),
        ("application/octet-stream", b"-----BEGIN PGP MESSAGE-----\n\nd29yZHM=\n-----END PGP MESSAGE-----\n"),
        ("application/ms-tnef", b"\x78\x9f\x3e\x22 words"),
        ("application/pkcs7-mime; smime-type=certs-only", &signed(b"")),
    ] {
        let raw = mail(LINE, kind, bytes);
        let message = parse(&raw);
        assert_eq!(words(&message).trim(), LINE, "{kind}");
        let unread = message.parts()[2].unread;
        assert!(unread.is_some() && message.parts()[2].content.is_some(), "{kind}");
        let text = kind.starts_with("text/");
        assert_eq!(
            message.limits_hit(),
            LimitsHit { attachments: true, text, ..LimitsHit::default() },
            "{kind}"
        );
        // beside nothing, or two words, it may be all that the message says
        for line in ["", "See attachment", "<p></p>"] {
            assert!(parse(&mail(line, kind, bytes)).limits_hit().text, "{kind} {line:?}");
        }
    }
}

#[test]
fn what_is_no_text_and_has_none_is_as_it_was() {
    for (kind, bytes) in [
        ("image/png", &b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..]),
        ("image/unknown", b"words"),
        ("application/octet-stream; name=a.jpg", b"\xff\xd8\xff\xe0\0\x10JFIF\0"),
        ("audio/mpeg", b"ID3\x03\0words"),
        ("application/octet-stream", b"MZ\x90\0\x03\0\0\0\x04\0\0\0\xff\xff\0\0"),
        ("application/pgp-signature", b"-----BEGIN PGP SIGNATURE-----\n\nd29yZHM=\n"),
        ("application/pgp-encrypted", b"Version: 1\n"),
        ("application/x-pkcs7-signature", &signed(b"")),
        ("application/x-x509-ca-cert", b"-----BEGIN CERTIFICATE-----\nd29yZHM=\n"),
        ("application/octet-stream", b" \r\n"),
    ] {
        let message = parse(&mail("", kind, bytes));
        assert_eq!(words(&message).trim(), "", "{kind}");
        assert_eq!(message.limits_hit(), LimitsHit::default(), "{kind}");
        assert_eq!((message.parts()[2].unread, message.parts()[2].content), (None, None), "{kind}");
    }
}

#[test]
fn a_file_is_a_part_of_its_own() {
    let raw = mail(LINE, "application/pdf; name=letter.docx", &docx("Dear Ada"));
    let parts = parse(&raw).parts().to_vec();
    let [_, text, file] = &parts[..] else { panic!("{parts:?}") };
    assert_eq!(text.text.as_deref(), Some(LINE));
    let Part { depth, content_type, file_name, is_attached, .. } = file;
    assert_eq!((*depth, content_type.as_str(), *is_attached), (1, "application/pdf", true));
    assert_eq!((file_name.as_deref(), file.plain_text().trim()), (Some("letter.docx"), "Dear Ada"));
    // a page that is a file does not replace the text beside it
    let raw = String::from_utf8(mail(LINE, "application/octet-stream", HTML.as_bytes())).unwrap();
    assert!(words(&parse(raw.replace("mixed", "alternative").as_bytes())).contains(LINE));
    // the text of files has a limit of its own
    let mut limits = Limits::default();
    limits.text = 200;
    let long = docx(&"word ".repeat(200));
    let message = Message::parse(&mail(LINE, "application/octet-stream", &long), &limits);
    assert_eq!(message.limits_hit(), LimitsHit { attachments: true, ..LimitsHit::default() });
    // without the space at the end
    assert_eq!(message.parts()[2].text.as_ref().map(String::len), Some(199));
}

/// The terms of a message, and those by its words alone.
fn terms(raw: &[u8]) -> [Vec<String>; 2] {
    [false, true].map(|content_only| {
        let mut terms = Vec::new();
        parse(raw).for_each_piece(content_only, |piece| match piece {
            Piece::Words { prefix, text, .. } => terms.push(format!("{prefix}{text}")),
            Piece::Terms(batch, _) => terms.extend(batch.iter().map(str::to_owned)),
            Piece::EndOfPart => (),
        });
        terms
    })
}

#[test]
fn a_file_does_not_make_better_what_is_seen_beside_it() {
    let scopes = |raw: &[u8]| {
        let mut scopes = Vec::new();
        parse(raw).for_each_piece(true, |piece| match piece {
            Piece::Words { text, scope, .. } => scopes.push((text.trim().to_owned(), scope)),
            Piece::Terms(..) | Piece::EndOfPart => (),
        });
        scopes
    };
    let (line, file) = ((LINE.to_owned(), Scope::Part), |scope| ("Dear Ada".to_owned(), scope));
    for (kind, bytes, scope) in [
        ("application/octet-stream", &docx("Dear Ada")[..], Scope::Unseen),
        ("application/octet-stream; name=a.htm", b"Dear Ada", Scope::Unseen),
        // as ever
        ("text/plain\nContent-Disposition: attachment", b"Dear Ada", Scope::Part),
    ] {
        assert_eq!(scopes(&mail(LINE, kind, bytes)), [line.clone(), file(scope)], "{kind}");
    }
}

#[test]
fn files_tell_messages_apart() {
    let long = [PDF, &[b'x'; 9_000], b"%%EOF"].concat();
    let mut changed = long.clone();
    let end = changed.len() - 20;
    changed[end] ^= 1;
    let mut longer = long.clone();
    longer.extend(b"\n   ");
    let [first, others @ ..] =
        [&long, &changed, &longer].map(|pdf| terms(&mail("See attachment", "application/pdf", pdf)));
    for other in others {
        assert!(first[0] != other[0] && first[1] != other[1]);
    }
    assert_eq!(first, terms(&mail("See attachment", "application/pdf", &long)));
    let wrapped = String::from_utf8(mail("See attachment", "application/pdf", &long)).unwrap();
    assert_eq!(first, terms(wrapped.replace('\n', "\r\n").as_bytes()));
    // pictures that are attached do not
    let picture = |n| terms(&mail("See photo", "image/png", &[b"\x89PNG\r\n\x1a\n", &[n; 400][..]].concat()));
    assert_eq!(picture(1), picture(2));
}

#[test]
fn signed_mail_is_read_as_it_was_before() {
    let inner = "Content-Type: multipart/mixed; boundary=i\r\n\r\n--i\r\n\r\nDear Ada\r\n--i\r\nContent-Type: text/html\r\n\r\n<p>Verify</p>\r\n--i--\r\n";
    for der in [signed(inner.as_bytes()), signed_in_pieces(inner.as_bytes())] {
        let encoded = base64(&der);
        let head = "Content-Type: application/x-pkcs7-mime\nContent-Transfer-Encoding: base64";
        let message = parse(format!("{head}\n\n{encoded}").as_bytes());
        let kinds: Vec<_> =
            message.parts().iter().map(|part| (part.depth, part.content_type.as_str())).collect();
        let inside = [(1, "multipart/mixed"), (2, "text/plain"), (2, "text/html")];
        assert_eq!((kinds[0], &kinds[1..]), ((0, "application/x-pkcs7-mime"), &inside[..]));
        assert_eq!(message.body(), "Dear Ada\nVerify");
        assert!(message.limits_hit().is_empty());
    }
    // the same object for encrypted data
    let mut sealed = signed(b"Verify");
    let at = sealed.windows(3).position(|at| at == [0x0d, 1, 7]).unwrap();
    sealed[at + 3] = 3;
    let message = parse(&mail("", "application/pkcs7-mime; name=smime.p7m", &sealed));
    assert_eq!(message.parts()[2].unread, Some("an encrypted message (S/MIME)"));
    assert!(message.limits_hit().text);
}

#[test]
fn winmail_dat_is_opened() {
    let wide: Vec<u8> = "Grüße".encode_utf16().flat_map(u16::to_le_bytes).collect();
    // compressed: "Verify", then a reference to "\par" in what every stream begins with
    let rtf = [&b"\0\0\0\0\0\0\0\0LZFu\0\0\0\0"[..], b"\0{\\rtf1 V\x20erify\x0a\xa3}"].concat();
    let of_message = properties(&[
        (0x1f, 0x1000, &wide),
        (0x102, 0x1013, b"<p>Verify <b>it</b></p>"),
        (0x102, 0x1009, &rtf),
    ]);
    let inner = tnef(&[(1, 0x2_800c, b"Within")]);
    let embedded = properties(&[(0x0d, 0x3701, &[&[0; 16], &inner[..]].concat())]);
    let docx = docx("Dear Ada");
    let bytes = tnef(&[
        (1, 0x6_9007, b"\xe4\x04\0\0\0\0\0\0"),
        (1, 0x2_800c, b"caf\xe9"),
        (1, 0x6_9003, &of_message),
        (2, 0x6_9002, b"\x01\0"),
        (2, 0x1_8010, b"letter.docx\0"),
        (2, 0x6_800f, &docx),
        (2, 0x6_9002, b"\x01\0"),
        (2, 0x6_800f, PDF),
        (2, 0x1_8010, b"a.pdf\0"),
        (2, 0x6_9002, b"\x01\0"),
        (2, 0x6_9005, &embedded),
    ]);
    let message = parse(&mail(LINE, "application/ms-tnef; name=winmail.dat", &bytes));
    let parts: Vec<_> = message.parts()[2..]
        .iter()
        .map(|part| (part.depth, part.file_name.as_deref(), part.plain_text().trim().to_owned(), part.unread))
        .collect();
    let text = |text: &str| (2, None, text.to_owned(), None);
    assert_eq!(
        parts,
        [
            (1, Some("winmail.dat"), String::new(), None),
            text("café"),
            text("Grüße"),
            text("Verify it"),
            text("Verify"),
            (2, Some("letter.docx"), "Dear Ada".to_owned(), None),
            (2, Some("a.pdf"), String::new(), Some("a PDF")),
            text(""),
            (3, None, "Within".to_owned(), None),
        ]
    );
}

#[test]
fn hostile_files_end() {
    let bomb = zip(&[("word/document.xml", &vec![b' '; 30 << 20], true), ("[Content_Types].xml", b"", true)]);
    let many = format!(
        "Content-Type: multipart/mixed; boundary=b\n\n{}",
        format!("--b\nContent-Type: a/b\nContent-Transfer-Encoding: base64\n\n{}\n", base64(&bomb))
            .repeat(30)
    );
    let mut nested = b"\r\nVerify".to_vec();
    for _ in 0..1_000 {
        let head = b"Content-Type: application/pkcs7-mime\r\n\r\n";
        nested = [&head[..], &signed(&nested)].concat();
    }
    let mut packed = tnef(&[(1, 0x2_800c, b"Verify")]);
    for _ in 0..1_000 {
        packed = tnef(&[(2, 0x6_9002, b""), (2, 0x6_800f, &packed)]);
    }
    let beyond = [&tnef(&[])[..], b"\x01\x0c\x80\x02\0\xff\xff\xff\xffVerify"].concat();
    let count = [&8u32.to_le_bytes()[..], &[0x03, 0x10, 0, 0x10], &u32::MAX.to_le_bytes()].concat();
    let counts = tnef(&[(1, 0x6_9003, &[0xff; 40]), (1, 0x6_9003, &count), (1, 0x2_800c, b"Verify")]);
    let garbage =
        "Content-Type: a/b\nContent-Transfer-Encoding: base64\n\n".to_owned() + &"=?*A".repeat(50_000);
    for (name, raw) in [
        ("bombs", many.into_bytes()),
        ("signed", nested),
        ("packed", mail("", "application/ms-tnef", &packed)),
        ("beyond", mail("", "application/ms-tnef", &beyond)),
        ("counts", mail("", "application/ms-tnef", &counts)),
        ("garbage", garbage.into_bytes()),
    ] {
        let message = parse(&raw);
        let is_read = matches!(name, "beyond" | "counts");
        assert_eq!(is_read, words(&message).contains("Verify"), "{name}");
        // garbage in base64 is left as it is, which is text
        let is_told = !is_read && name != "garbage";
        assert_eq!(is_told, message.limits_hit().text, "{name}: {}", message.limits_hit());
        let mut all = Limits::default();
        all.nested_messages = usize::MAX;
        Message::parse(&raw, &all);
    }
}

/// Files of each kind that is opened.
fn files() -> Vec<Vec<u8>> {
    let found = properties(&[
        (0x1f, 0x1000, b"V\0e\0"),
        (0x102, 0x1009, b"0123456789abcdef\0{\\rtf1 x\x02}\x0a\xa3"),
        (0x1003, 0x8001, b""),
    ]);
    let letter = docx("Verify");
    vec![
        signed(MAIL.as_bytes()),
        signed_in_pieces(MAIL.as_bytes()),
        tnef(&[(1, 0x6_9003, &found), (2, 0x6_9002, b""), (2, 0x1_8010, b"a\0"), (2, 0x6_800f, &letter)]),
        letter,
        RTF.into(),
        SVG.into(),
        PDF.into(),
    ]
}

#[test]
fn files_cut_at_any_byte_are_read_or_told() {
    for file in files() {
        for end in 0..file.len() {
            let message = parse(&mail(LINE, "application/octet-stream", &file[..end]));
            assert!(words(&message).contains(LINE));
        }
    }
}

proptest! {
    #[test]
    fn changed_files_never_panic(
        file in 0..7usize,
        at in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut file = files().swap_remove(file);
        for (index, byte) in at {
            let index = index.index(file.len());
            file[index] = byte;
        }
        words(&parse(&mail("", "application/octet-stream", &file)));
    }
}
