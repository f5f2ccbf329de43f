//! Files as people have them: what stands in place of mail, and the text of whatever has one.

use std::borrow::Cow;

use tamis_documents::{Format, Limits as DocumentLimits, Unread, is_binary, text_of};

use crate::message::Message;
use crate::message::charset::{decode_text, is_utf16};
use crate::message::fields::{HeaderFields, looks_like_mail};
use crate::message::limits::Limits;
use crate::message::part::BINARY;
use crate::terms::Piece;

/// Texts that are not mail, by how they begin.
const NOT_MAIL: [(&[u8], &str); 6] = [
    (b"{\"", "JSON"),
    (b"[{", "JSON"),
    (b"BEGIN:V", "a calendar or address card"),
    (b"#! rnews ", "a batch of news (rnews)"),
    (b"HELO ", "a batch of SMTP commands"),
    (b"EHLO ", "a batch of SMTP commands"),
];

/// Bytes in which a header is looked for.
const WINDOW: usize = 64 << 10;

/// What bytes are that should be a message, if they are anything else: a file of another format, or binary data.
///
/// A message can begin with any bytes: one that [looks like mail](looks_like_mail), perhaps after a line or two that a sender
/// put before it, is mail, and so is text without a header.
///
/// ```
/// use tamis_mail::not_mail;
///
/// assert_eq!(not_mail(b"%PDF-1.7\n"), Some("a PDF"));
/// assert_eq!(not_mail(b"%PDF-1.7\nFrom: a@example.org\nTo: b@example.org\n\nHello\n"), None);
/// assert_eq!(not_mail(b"Hello\n"), None);
/// ```
pub fn not_mail(bytes: &[u8]) -> Option<&'static str> {
    let format = Format::of(bytes).map(|format| format.name());
    let what =
        format.or_else(|| NOT_MAIL.iter().find(|(mark, _)| bytes.starts_with(mark)).map(|(_, what)| *what));
    match what {
        Some(_) => what.filter(|_| !looks_like_mail(bytes) && !has_mail_behind(bytes)),
        None => {
            // a message may be long, and is looked through for zeros alone
            let start = &bytes[..bytes.len().min(4 << 10)];
            let is_binary = is_binary(start) || memchr::memchr(0, bytes).is_some() && is_binary(bytes);
            (is_binary && !is_utf16(bytes) && lacks_header(bytes)).then_some(BINARY)
        }
    }
}

/// Whether bytes have none of the header fields that most mail has, however damaged the header is.
///
/// ```
/// assert!(tamis_mail::lacks_header(b"Dear reader,\nthis is a letter.\n"));
/// assert!(!tamis_mail::lacks_header(b"Subject: a letter\n\nDear reader\n"));
/// ```
pub fn lacks_header(bytes: &[u8]) -> bool {
    const FIELDS: [&str; 7] = ["from", "to", "subject", "date", "received", "message-id", "content-type"];
    if looks_like_mail(bytes) {
        return false;
    }
    let message = Message::parse(&bytes[..bytes.len().min(WINDOW)], &Limits::default());
    FIELDS.iter().all(|field| message.header(field).is_none())
}

/// The text of a file: plain text of any encoding, the text of a document (DOCX, ODT, EPUB, RTF and others), and the subject
/// and text of mail that is encoded, and of a page saved as MHTML. HTML keeps its tags.
///
/// ```
/// use tamis_mail::file_text;
///
/// assert_eq!(file_text(b"caf\xe9")?, "café");
/// assert_eq!(file_text(br"{\rtf1 caf\'e9}")?.trim(), "café");
/// assert!(file_text(b"\x7fELF\x02\x01\x01").is_err());
/// # Ok::<(), tamis_documents::Unread>(())
/// ```
///
/// # Errors
/// [`Unread`]: the file is of a format that is not read, binary, damaged or encrypted, or has no text.
pub fn file_text(bytes: &[u8]) -> Result<Cow<'_, str>, Unread> {
    match Format::of(bytes) {
        Some(_) if looks_like_mail(bytes) => (),
        Some(_) => return text_of(bytes, &DocumentLimits::default()).map(|document| document.text.into()),
        None if is_binary(bytes) && !is_utf16(bytes) => return Err(Unread::Binary),
        None => (),
    }
    Ok(match is_encoded_mail(bytes) {
        true => text_of_mail(bytes).into(),
        false => decode_text(bytes, None),
    })
}

/// Whether it is mail, or a page as MHTML, in which words are encoded or stand in parts. Other mail is text as it is.
fn is_encoded_mail(bytes: &[u8]) -> bool {
    let mut fields = HeaderFields::new(&bytes[..bytes.len().min(WINDOW)]);
    looks_like_mail(bytes)
        && fields.any(|field| match () {
            () if field.is("content-type") => {
                field.unfolded().trim_start().to_ascii_lowercase().starts_with("multipart/")
            }
            () if field.is("content-transfer-encoding") => {
                ["base64", "quoted-printable"].contains(&&*field.unfolded().trim().to_ascii_lowercase())
            }
            () => false,
        })
}

fn text_of_mail(raw: &[u8]) -> String {
    let mut all = String::new();
    Message::parse(raw, &Limits::default()).for_each_piece(true, |piece| {
        if let Piece::Words { text, .. } = piece {
            all.push_str(if all.is_empty() { "" } else { "\n\n" });
            all.push_str(text);
        }
    });
    all
}

/// Whether mail follows the first lines, since a sender may put the first bytes of another kind of file before it.
fn has_mail_behind(bytes: &[u8]) -> bool {
    let mut lines = memchr::memchr_iter(b'\n', &bytes[..bytes.len().min(1 << 10)]).take(3);
    lines.any(|end| looks_like_mail(&bytes[end + 1..]))
}
