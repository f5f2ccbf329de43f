//! What a part is by its bytes, whatever its header declares, and the text of documents.
use crate::message::cms::Cms;
use crate::message::fields::looks_like_mail;
use crate::message::part::Part;
use crate::message::tnef;
use tamis_documents::{Format, Limits, Text, Unread, is_binary, text_of};

/// What the content of a part is.
#[derive(PartialEq, Debug)]
pub(crate) enum Content {
    /// Text, and whether it is a page of HTML.
    Text { is_html: bool },
    /// A message.
    Mail,
    /// A document of which the text can be read.
    Document,
    /// A signed or encrypted message.
    Cms,
    /// A message's body and attachments as Outlook packs them.
    Tnef,
    /// What has no text: pictures, sound, programs, signatures.
    Other,
    /// What has, or may have, text that nothing here reads.
    Unread(&'static str),
}

/// Bytes of an encoded part by which its content is judged, and of a picture.
const JUDGED: usize = 8 << 10;
const JUDGED_OF_MEDIA: usize = 64;
/// Signatures and keys, and what says that a message is encrypted.
const SIGNATURES: [&str; 5] =
    ["pgp-signature", "pgp-keys", "pgp-encrypted", "pkcs7-signature", "x-pkcs7-signature"];
/// What the names of formats without text have in them.
const TEXTLESS: [&str; 8] = ["image", "metafile", "icon", "cursor", "font", "sound", "film", "program"];

/// The bytes of the encoded part by which to judge its content; `None` if it has no text, whatever they are.
pub(crate) fn judged_by(part: &Part) -> Option<usize> {
    let (_, subtype) = part.content_type.split_once('/').unwrap_or_default();
    let judged = if is_media(part) { JUDGED_OF_MEDIA } else { JUDGED };
    (!SIGNATURES.contains(&subtype)).then_some(judged)
}

/// Whether a part is declared a picture, sound or film. Drawings have text.
fn is_media(part: &Part) -> bool {
    let (kind, subtype) = part.content_type.split_once('/').unwrap_or_default();
    matches!(kind, "image" | "audio" | "video" | "font") && subtype != "svg+xml"
}

impl Content {
    /// Judges a part by its decoded beginning.
    pub(crate) fn of(start: &[u8], part: &Part) -> Content {
        let is_text = part.content_type.starts_with("text/");
        let begins = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
        // a file is opened by its name, whatever its type
        if begins.is_empty() || is_media(part) && !begins.starts_with(b"<") {
            return Content::Other;
        }
        match Format::of(start) {
            _ if start.starts_with(tnef::MARK) => Content::Tnef,
            Some(Format::Svg | Format::Notebook) if is_text => Content::Text { is_html: false },
            Some(Format::Foreign(name)) if TEXTLESS.iter().any(|word| name.contains(word)) => Content::Other,
            Some(format) if format.has_text() => Content::Document,
            Some(format) => Content::Unread(format.name()),
            None if is_text => Content::Text { is_html: false },
            None if Cms::read(start).is_some() => Content::Cms,
            None if looks_like_mail(start) => Content::Mail,
            // certificates and keys
            None if begins.starts_with(b"-----BEGIN ") && !begins.starts_with(b"-----BEGIN PGP SIGNED") => {
                Content::Other
            }
            None if is_binary(start) && !is_wide(start) => Content::Unread(BINARY),
            None => Content::Text { is_html: is_page(begins, part) },
        }
    }
}

/// What binary data of no known format is called.
pub(crate) const BINARY: &str = "binary data";

/// Whether a text has so many control characters as random bytes read as text. Zeros were left out.
pub(crate) fn is_mostly_control(text: &str) -> bool {
    let is_control = |byte: &u8| *byte < 0x20 && !matches!(byte, 8..=15 | 0x1b);
    40 * text.bytes().filter(is_control).count() > text.len()
}

/// Whether bytes are UTF-16 with a byte order mark.
fn is_wide(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff")
}

/// Whether a text is HTML by its type, its name, or a tag at its beginning.
fn is_page(begins: &[u8], part: &Part) -> bool {
    let name = part.file_name.as_deref().unwrap_or_default().to_ascii_lowercase();
    part.content_type == "application/xhtml+xml"
        || [".htm", ".html", ".shtml", ".xhtml", ".hta"].iter().any(|ending| name.ends_with(ending))
        || begins.starts_with(b"<") && !begins.starts_with(b"<?")
}

/// The text of a document, its title first and where its links lead last, and whether it was cut off; or what the document
/// is called that was not read.
pub(crate) fn text_of_document(
    bytes: &[u8],
    text: usize,
    inflated: usize,
) -> Result<(String, bool), &'static str> {
    let limits = Limits { text, inflated: inflated as u64, ..Limits::default() };
    match text_of(bytes, &limits) {
        Ok(Text { text, title, links, is_cut, .. }) => {
            let all: Vec<_> = title.into_iter().chain([text]).chain(links).collect();
            Ok((all.join("\n"), is_cut))
        }
        Err(Unread::Password(_)) => Err("a document with a password"),
        Err(Unread::Damaged(_)) => Err("a damaged document"),
        Err(Unread::NoText(format) | Unread::NoDocument(Some(format))) => Err(format.name()),
        Err(_) => Err(BINARY),
    }
}
