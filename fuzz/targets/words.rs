//! Encoded words, parameters, transfer encodings and charsets: what is encoded comes back, what is not does no harm.

use super::Choices;
use tamis_mail::{Limits, Message, decode_text};

const CHARSETS: [&str; 8] =
    ["utf-8", "us-ascii", "koi8-r", "gb2312", "iso-2022-jp", "utf-16", "utf-7", "Shift_JIS"];

pub fn run(data: &[u8]) {
    let mut choices = Choices(data);
    let charset = choices.of(&CHARSETS);
    let (quoted, length) = (choices.flag(), usize::from(choices.byte()) + 1);
    let bytes = choices.0;
    let parse =
        |header: &[u8], body: &[u8]| Message::parse(&[header, b"\n\n", body].concat(), &Limits::default());

    let text = decode_text(bytes, Some(charset));
    assert!(!text.contains('\0'));
    // as they are
    for name in [
        "Subject: ",
        "Content-Type: text/plain; name=",
        "Content-Type: ",
        "Content-Disposition: ",
        "Date: ",
        "To: ",
    ] {
        parse(&[name.as_bytes(), bytes].concat(), b"x").for_each_piece(false, |_| ());
    }
    // encoded
    let encode = |bytes: &[u8]| if quoted { escape('=', bytes) } else { base64(bytes) };
    let kind = if quoted { 'Q' } else { 'B' };
    let words = bytes.chunks(length).map(|word| format!("=?{charset}?{kind}?{}?=", encode(word)));
    let subject = format!("Subject: {}", words.collect::<Vec<_>>().join(" "));
    assert_eq!(parse(subject.as_bytes(), b"").subject(), text, "{subject}");

    let encoding = if quoted { "quoted-printable" } else { "base64" };
    let header =
        format!("Content-Type: text/plain; charset={charset}\nContent-Transfer-Encoding: {encoding}");
    let lines: Vec<_> = bytes.chunks(length).map(encode).collect();
    let body = lines.join(if quoted { "=\n" } else { "\n" });
    let message = parse(header.as_bytes(), body.as_bytes());
    let part = &message.parts()[0];
    // unless it is binary data
    assert!(part.unread.is_some() || part.text.as_deref() == Some(&*text), "{body}");

    let pieces = bytes.chunks(length).take(90).enumerate().map(|(i, piece)| {
        let charset = if i == 0 { format!("{charset}''") } else { String::new() };
        format!("; name*{i}*={charset}{}", escape('%', piece))
    });
    let header = format!("Content-Type: text/plain{}", pieces.collect::<String>());
    let expected = decode_text(&bytes[..bytes.len().min(90 * length)], Some(charset));
    assert_eq!(
        parse(header.as_bytes(), b"").parts()[0].file_name.as_deref().unwrap_or_default(),
        expected,
        "{header}"
    );
}

fn escape(mark: char, bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{mark}{byte:02X}")).collect()
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let bits =
            group.iter().fold(0, |bits, byte| bits << 8 | usize::from(*byte)) << (8 * (3 - group.len()));
        for i in 0..4 {
            out.push(if i <= group.len() { char::from(DIGITS[bits >> (18 - 6 * i) & 63]) } else { '=' });
        }
    }
    out
}
