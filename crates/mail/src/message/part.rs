//! A MIME part and what its header fields declare: type, charset, transfer encoding, file name (RFC 2045, RFC 2183).
use crate::html::html_to_text;
use crate::message::encoded_word::decode_words;
use crate::message::fields::Field;
use crate::message::parameters::{MimeParameters, without_comments};
use memchr::memchr2_iter;
use std::borrow::Cow;
use tamis_tokenizer::fingerprint;

/// Maximum number of fields of one name that are read. Readers differ in which of several they take.
const MOST_FIELDS: usize = 4;
/// Maximum number of boundaries to try.
const MOST_BOUNDARIES: usize = 8;
/// The shortest content that its digest identifies, in bytes.
const SHORTEST_CONTENT: usize = 256;
/// What binary data of no known format is called.
pub(crate) const BINARY: &str = "binary data";
/// Bytes of a content that its digest covers.
const DIGESTED: usize = 4_096;

/// A MIME part. A message that is not a multipart has one part.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Part {
    /// Nesting depth: the number of enclosing parts.
    pub depth: usize,
    /// Type and subtype in lower case, such as `text/html`; `text/plain` if missing or invalid.
    pub content_type: String,
    /// The declared charset in lower case.
    pub charset: Option<String>,
    /// The declared transfer encoding in lower case.
    pub transfer_encoding: Option<String>,
    /// The decoded file name of an attachment.
    pub file_name: Option<String>,
    /// Whether the part is declared an attachment, or has text by its bytes alone.
    pub is_attached: bool,
    /// The text of a `text/*` part, attachments included, and of any other part that is text, HTML or a document by its
    /// bytes; HTML has its tags, without the content of `data:` URIs. For a nested message, its subject; for a container or
    /// nested message beyond the limits, its whole content. `None` for other parts.
    pub text: Option<String>,
    /// Whether the text is HTML: declared, named so, or with an `<html` tag in its first 2,000 bytes.
    pub is_html: bool,
    /// The encoded content of a `data:` URI, which is a part of its own, or of an unread part.
    pub content: Option<ContentDigest>,
    /// What the content is, such as "a PDF", if it has or may have text and was not read.
    pub unread: Option<&'static str>,
}

/// What identifies a content that is not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ContentDigest {
    /// The size as encoded, in bytes, without line ends.
    pub size: usize,
    /// A hash of the size and the beginning. Line ends make no difference.
    pub hash: u64,
}

impl Part {
    /// The text with HTML converted to text. Empty for parts without text.
    pub fn plain_text(&self) -> Cow<'_, str> {
        match &self.text {
            Some(text) if self.is_html => Cow::Owned(html_to_text(text)),
            Some(text) => Cow::Borrowed(text),
            None => Cow::Borrowed(""),
        }
    }

    /// Whether the part is judged by its bytes: what is declared neither a container nor text that is shown.
    pub(crate) fn is_file(&self) -> bool {
        match self.content_type.strip_prefix("text/") {
            Some(subtype) => self.is_attached || self.file_name.is_some() || subtype == "rtf",
            None => !is_multipart(&self.content_type) && !self.content_type.starts_with("message/"),
        }
    }
}

impl ContentDigest {
    /// `None` if the content is too short to identify anything.
    pub(crate) fn of(content: &[u8]) -> Option<Self> {
        let size = content.len() - memchr2_iter(b'\r', b'\n', content).count();
        let of_line = content.iter().filter(|byte| !matches!(byte, b'\r' | b'\n'));
        let start: Vec<u8> = of_line.copied().take(DIGESTED).collect();
        let hash = fingerprint(&String::from_utf8_lossy(&start)) ^ size as u64;
        (size >= SHORTEST_CONTENT).then_some(ContentDigest { size, hash })
    }

    /// Of a file, whose formats have at the end what tells files apart that begin alike: a directory, checksums, an identifier.
    pub(crate) fn of_file(content: &[u8]) -> Self {
        #[cfg(test)]
        tamis_testing::step(content.len());
        let size = content.len() - memchr2_iter(b'\r', b'\n', content).count();
        let of_line =
            || content.iter().filter(|byte| !matches!(byte, b'\r' | b'\n')).copied().map(char::from);
        let ends: String = of_line().take(DIGESTED).chain(of_line().rev().take(DIGESTED)).collect();
        ContentDigest { size, hash: fingerprint(&ends) ^ size as u64 }
    }
}

/// What the header fields of a part declare.
pub(crate) struct PartHeader {
    pub(crate) part: Part,
    /// The type that declares a multipart, if one does.
    pub(crate) multipart: Option<String>,
    /// What readers may take for the boundary, the likeliest first.
    pub(crate) boundaries: Vec<String>,
    /// Whether SpamAssassin or amavis marked the part as the message that they wrapped.
    pub(crate) is_original: bool,
}

/// Reads the fields of a part. `default_type` is its type if no field declares one.
pub(crate) fn declared<'a>(fields: impl Iterator<Item = Field<'a>>, default_type: &str) -> PartHeader {
    let (mut types, mut encodings, mut disposition) = (Vec::new(), Vec::new(), None);
    for field in fields {
        if field.is("content-type") && types.len() < MOST_FIELDS {
            types.push(readable(&field.unfolded()));
        } else if field.is("content-transfer-encoding") && encodings.len() < MOST_FIELDS {
            encodings.push(readable(&field.unfolded()));
        } else if disposition.is_none() && field.is("content-disposition") {
            disposition = Some(field.unfolded());
        }
    }
    let types: Vec<_> = types.iter().map(|text| MimeParameters::read(text)).collect();
    let mut boundaries: Vec<String> = Vec::new();
    for boundary in types.iter().flat_map(|kind| kind.readings("boundary")) {
        if boundaries.len() < MOST_BOUNDARIES && !boundaries.contains(&boundary) {
            boundaries.push(boundary);
        }
    }
    // the body of a multipart that is also declared a text is read as both
    let begins = |prefixes: &[&str]| {
        types.iter().find(|kind| prefixes.iter().any(|prefix| kind.value.starts_with(prefix)))
    };
    let known = begins(&["text/", "message/"]).or_else(|| begins(&["multipart"]));
    let kind = known.or_else(|| types.iter().find(|kind| !kind.value.is_empty())).or(types.first());
    let parameter = |name: &str| kind.and_then(|kind| kind.get(name));
    let attached = disposition.as_deref().map(|value| first_word(&without_comments(value)));
    let file_name = disposition.and_then(|value| MimeParameters::read(&value).get("filename"));
    let part = Part {
        content_type: kind.map_or_else(|| default_type.to_owned(), |kind| content_type(&kind.value)),
        charset: parameter("charset").map(|charset| first_word(&charset)),
        transfer_encoding: (!encodings.is_empty()).then(|| encodings.join(" ").trim().to_ascii_lowercase()),
        file_name: file_name.or_else(|| parameter("name")),
        is_attached: attached.is_some_and(|disposition| disposition == "attachment"),
        ..Part::default()
    };
    let multipart = types.iter().find(|kind| is_multipart(&kind.value)).map(|kind| content_type(&kind.value));
    let is_original = parameter("x-spam-type").is_some_and(|kind| kind == "original");
    PartHeader { part, multipart, boundaries, is_original }
}

/// A value without comments, also if an encoded word stands for it.
fn readable(value: &str) -> String {
    let value = if value.starts_with("=?") { decode_words(value) } else { value.into() };
    without_comments(&value).into_owned()
}

/// RFC 2045, section 5.2: an invalid type means plain text. One that begins with `multipart` is read as a multipart.
fn content_type(value: &str) -> String {
    match value.split('/').filter(|half| !half.is_empty()).count() {
        2 => value.to_owned(),
        _ if is_multipart(value) => "multipart/mixed".to_owned(),
        _ => "text/plain".to_owned(),
    }
}

pub(crate) fn is_multipart(content_type: &str) -> bool {
    content_type.starts_with("multipart")
}

/// Whether a part of this type is read as a message.
pub(crate) fn is_message(content_type: &str) -> bool {
    let kinds = ["rfc822", "global", "news", "partial", "external-body"];
    content_type.strip_prefix("message/").is_some_and(|kind| kinds.contains(&kind))
}

/// A token in lower case, without quotes and a following comment.
fn first_word(value: &str) -> String {
    let word =
        value.split(|c: char| c.is_whitespace() || matches!(c, '(' | ';')).find(|word| !word.is_empty());
    word.unwrap_or_default().trim_matches(['"', '\'']).to_ascii_lowercase()
}
