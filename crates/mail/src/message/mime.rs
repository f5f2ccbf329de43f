//! MIME: splits a message into parts (RFC 2045, RFC 2046).
use crate::html::{html_to_text, looks_like_html};
use crate::message::charset;
use crate::message::encoded_word::decode_words;
use crate::message::fields::{Field, HeaderFields, line_end, verdicts_in};
use crate::message::ignored::is_verdict;
use crate::message::limits::{Limits, LimitsHit};
use crate::message::parameters::MimeParameters;
use crate::message::transfer;
use memchr::memmem;
use std::borrow::Cow;
use std::iter;

/// Maximum nesting of multiparts. Each level is one more pass over the message; real mail has a few.
const DEEPEST: usize = 32;
/// Maximum number of passes over the message in total. In real mail, parts lie within two or three others.
const MOST_PASSES: usize = 4;
/// Maximum nesting of messages, whatever the limit says: each level may take 4 KiB of stack.
const MOST_NESTED: usize = 256;
/// Number of parts to examine for each one that may be read.
const LOOKED_AT: usize = 64;

/// A MIME part. A message that is not a multipart has one part.
#[derive(Clone, PartialEq, Eq, Debug)]
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
    /// The text of a `text/*` part, attachments included; HTML has its tags. For a nested message, its subject; for a
    /// container or nested message beyond the limits, its whole content. `None` for other parts.
    pub text: Option<String>,
    /// Whether the text is HTML: declared, or with an `<html` tag in its first 2,000 bytes.
    pub is_html: bool,
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
}

/// Reads the parts of a message. Returns them with the limits that were hit, and calls `see` with the message's header
/// fields.
pub(crate) fn read_parts(
    raw: &[u8],
    limits: &Limits,
    hit: LimitsHit,
    see: &mut dyn FnMut(&Field<'_>),
) -> (Vec<Part>, LimitsHit) {
    let mut reader = PartReader {
        limits,
        hit,
        parts: Vec::new(),
        text_left: limits.text,
        attached_left: limits.text,
        with_text_left: limits.parts,
        without_text_left: limits.parts,
        looks_left: limits.parts.saturating_mul(LOOKED_AT),
        passes_left: limits.bytes.saturating_mul(MOST_PASSES),
        messages_left: limits.nested_messages.min(MOST_NESTED),
    };
    reader.entity(raw, "text/plain", Depth { parts: 0, multiparts: 0 }, see);
    (reader.parts, reader.hit)
}

/// The nesting depth of a part.
#[derive(Clone, Copy)]
struct Depth {
    parts: usize,
    multiparts: usize,
}

/// Reads parts. Each kind of part has a budget of its own, so that one kind cannot crowd out another.
struct PartReader<'l> {
    limits: &'l Limits,
    hit: LimitsHit,
    parts: Vec<Part>,
    /// Bytes left for text, and for the text of attachments.
    text_left: usize,
    attached_left: usize,
    /// Parts left to read: those with text and containers, and those without text.
    with_text_left: usize,
    without_text_left: usize,
    /// Parts left to examine, of whatever kind.
    looks_left: usize,
    /// Bytes left to search in multiparts and nested messages.
    passes_left: usize,
    messages_left: usize,
}

/// Takes `n` from what is left. Takes nothing and returns `false` if there is less.
fn take(left: &mut usize, n: usize) -> bool {
    let less = left.checked_sub(n);
    *left = less.unwrap_or(*left);
    less.is_some()
}

impl PartReader<'_> {
    /// Reads one part, header and body, and the parts within it. Invariant: every call that goes deeper
    /// uses up a multipart level or a nested message, so recursion is bounded by `DEEPEST` + the limit.
    fn entity(&mut self, raw: &[u8], default_type: &str, depth: Depth, see: &mut dyn FnMut(&Field<'_>)) {
        #[cfg(test)]
        tamis_testing::step(1);
        let mut fields = HeaderFields::new(raw);
        let mut is_over = false;
        let within = fields_within(&mut fields, self.limits, &mut is_over);
        let PartHeader { mut part, boundary, is_attached } = declared(within.inspect(see), default_type);
        if !take(&mut self.looks_left, 1) {
            return self.leave_out_text_part();
        }
        part.depth = depth.parts;
        self.hit.headers |= is_over;
        self.hit.text |= is_over;
        fields.by_ref().for_each(drop);
        let may_be_forged = depth.parts == 0 && !fields.ended_well();
        let body = fields.into_body();
        let body = if may_be_forged { without_verdicts(body) } else { Cow::Borrowed(body) };
        let body = &*body;

        let sections = boundary.and_then(|boundary| BodyParts::new(body, boundary));
        match sections {
            Some(sections) if depth.multiparts < DEEPEST && take(&mut self.passes_left, body.len()) => {
                self.multipart(part, sections, depth);
            }
            _ if is_message(&part.content_type) => self.nested_message(part, body, depth),
            _ => {
                self.hit.depth |= sections.is_some();
                self.hit.text |= sections.is_some();
                let is_text = part.content_type.starts_with("text/") || is_multipart(&part.content_type);
                self.leaf(part, is_text.then_some(body), is_attached && depth.parts > 0);
            }
        }
    }

    fn multipart(&mut self, part: Part, sections: BodyParts<'_>, depth: Depth) {
        if !take(&mut self.with_text_left, 1) {
            return self.leave_out_text_part();
        }
        let default_type =
            if part.content_type == "multipart/digest" { "message/rfc822" } else { "text/plain" };
        self.parts.push(part);
        for section in sections {
            if self.looks_left == 0 {
                return self.leave_out_text_part();
            }
            self.entity(
                section,
                default_type,
                Depth { parts: depth.parts + 1, multiparts: depth.multiparts + 1 },
                &mut |_| (),
            );
        }
    }

    /// Reads a nested message: a part whose text is the subject, then the message's own parts.
    fn nested_message(&mut self, mut part: Part, body: &[u8], depth: Depth) {
        let may_be_read = self.messages_left > 0 && take(&mut self.passes_left, body.len());
        if !may_be_read {
            self.hit.nested_messages = true;
            self.hit.text = true;
            return self.leaf(part, Some(body), false);
        }
        if !take(&mut self.with_text_left, 1) {
            return self.leave_out_text_part();
        }
        self.messages_left -= 1;
        #[cfg(test)]
        tamis_testing::step(body.len());
        let body = transfer::decode(body, part.transfer_encoding.as_deref());
        let subject = fields_within(&mut HeaderFields::new(&body), self.limits, &mut false)
            .find(|field| field.is("subject"))
            .map(|field| decode_words(&field.unfolded()).into_owned());
        part.text = subject.map(|subject| self.keep(&subject, false, false));
        self.parts.push(part);
        self.entity(&body, "text/plain", Depth { parts: depth.parts + 1, ..depth }, &mut |_| ());
    }

    /// Reads a part that contains no other parts. Images and empty parts have a budget of their own, apart from that of
    /// text.
    fn leaf(&mut self, mut part: Part, body: Option<&[u8]>, is_attached: bool) {
        let text = body.filter(|body| !body.trim_ascii().is_empty());
        let left = if text.is_some() { &mut self.with_text_left } else { &mut self.without_text_left };
        if !take(left, 1) {
            self.hit.parts = true;
            self.hit.text |= text.is_some() && !is_attached;
            return;
        }
        if let Some(body) = body {
            let left = if is_attached { self.attached_left } else { self.text_left };
            // quoted-printable may write one byte as three
            let most = left.saturating_mul(3).saturating_add(4096);
            let within = &body[..body.len().min(most)];
            let is_cut = within.len() < body.len();
            #[cfg(test)]
            tamis_testing::step(within.len());
            let bytes = transfer::decode(within, part.transfer_encoding.as_deref());
            let text = charset::decode(&bytes, part.charset.as_deref(), self.hit.bytes || is_cut);
            let text = self.keep(&text, is_cut, is_attached);
            part.is_html = part.content_type == "text/html" || looks_like_html(&text);
            part.text = Some(text);
        }
        self.parts.push(part);
    }

    /// Truncates a text to what the limit still allows. `is_cut` says that the text was cut off before.
    fn keep(&mut self, text: &str, is_cut: bool, is_attached: bool) -> String {
        let (left, hit) = match is_attached {
            true => (&mut self.attached_left, &mut self.hit.attachments),
            false => (&mut self.text_left, &mut self.hit.text),
        };
        let kept = text.floor_char_boundary(*left);
        *hit |= is_cut || kept < text.len();
        *left -= kept;
        text[..kept].to_owned()
    }

    /// Records that a part was not read although it may have text.
    fn leave_out_text_part(&mut self) {
        self.hit.parts = true;
        self.hit.text = true;
    }
}

/// The fields within the limits. Sets `is_over` if there are more.
fn fields_within<'a, 'f>(
    fields: &'f mut HeaderFields<'a>,
    limits: &'f Limits,
    is_over: &'f mut bool,
) -> impl Iterator<Item = Field<'a>> + use<'a, 'f> {
    let mut left = limits.headers;
    iter::from_fn(move || {
        let field = if *is_over { None } else { fields.next() };
        *is_over |= field.is_some() && (!take(&mut left, 1) || fields.position > limits.text);
        field.filter(|_| !*is_over)
    })
}

/// Removes verdict fields up to the first empty line from a body that begins at a line that is not a field. Other
/// programs would look for fields there.
fn without_verdicts(body: &[u8]) -> Cow<'_, [u8]> {
    let forged = verdicts_in(body, 0, is_verdict);
    if forged.is_empty() {
        return Cow::Borrowed(body);
    }
    let (mut kept, mut copied) = (Vec::with_capacity(body.len()), 0);
    for range in forged {
        kept.extend_from_slice(&body[copied..range.start]);
        copied = range.end;
    }
    kept.extend_from_slice(&body[copied..]);
    Cow::Owned(kept)
}

fn is_multipart(content_type: &str) -> bool {
    content_type.starts_with("multipart/")
}

fn is_message(content_type: &str) -> bool {
    matches!(content_type, "message/rfc822" | "message/global" | "message/news")
}

/// What the header fields of a part declare.
struct PartHeader {
    part: Part,
    /// The boundary of a multipart.
    boundary: Option<String>,
    is_attached: bool,
}

fn declared<'a>(fields: impl Iterator<Item = Field<'a>>, default_type: &str) -> PartHeader {
    let (mut kind, mut encoding, mut disposition) = (None, None, None);
    for field in fields {
        for (name, slot) in [
            ("content-type", &mut kind),
            ("content-transfer-encoding", &mut encoding),
            ("content-disposition", &mut disposition),
        ] {
            if slot.is_none() && field.is(name) {
                *slot = Some(field.unfolded());
            }
        }
    }
    let kind = kind.as_deref().map(MimeParameters::read);
    let disposition = disposition.as_deref().map(MimeParameters::read);
    let parameter = |name: &str| kind.as_ref().and_then(|kind| kind.get(name));
    // RFC 2045, section 5.2: an invalid type means plain text
    let content_type = match &kind {
        None => default_type.to_owned(),
        Some(kind) if kind.value.split('/').filter(|half| !half.is_empty()).count() == 2 => {
            kind.value.clone()
        }
        Some(_) => "text/plain".to_owned(),
    };
    let boundary =
        parameter("boundary").filter(|boundary| is_multipart(&content_type) && !boundary.is_empty());
    let is_attached = disposition.as_ref().is_some_and(|disposition| disposition.value == "attachment");
    let part = Part {
        depth: 0,
        charset: parameter("charset").map(|charset| first_word(&charset)),
        transfer_encoding: encoding.map(|encoding| first_word(&encoding)),
        file_name: disposition.and_then(|d| d.get("filename")).or_else(|| parameter("name")),
        content_type,
        text: None,
        is_html: false,
    };
    PartHeader { part, boundary, is_attached }
}

/// A token in lower case, without quotes and a following comment.
fn first_word(value: &str) -> String {
    let word =
        value.split(|c: char| c.is_whitespace() || matches!(c, '(' | ';')).find(|word| !word.is_empty());
    word.unwrap_or_default().trim_matches(['"', '\'']).to_ascii_lowercase()
}

/// The regions between the boundary lines of a multipart (RFC 2046, section 5.1.1).
struct BodyParts<'a> {
    body: &'a [u8],
    boundary: String,
    /// Start of the next region; `None` after the closing boundary.
    next: Option<usize>,
}

impl<'a> BodyParts<'a> {
    /// `None` if no line of the body is a boundary.
    fn new(body: &'a [u8], boundary: String) -> Option<Self> {
        let mut sections = BodyParts { body, boundary, next: None };
        let (_, next) = sections.find_boundary(0)?;
        sections.next = next;
        Some(sections)
    }

    /// The first boundary line at or after the line start `position`: its start, and the start of the region after it.
    fn find_boundary(&self, position: usize) -> Option<(usize, Option<usize>)> {
        let later = memmem::find_iter(&self.body[position..], b"\n--").map(|at| position + at + 1);
        let found = iter::once(position).chain(later).find_map(|start| {
            let end = line_end(self.body, start);
            let line = self.body[start..end].strip_prefix(b"--")?;
            match line.strip_prefix(self.boundary.as_bytes())?.trim_ascii() {
                b"" => Some((start, Some(end))),
                b"--" => Some((start, None)),
                _ => None,
            }
        });
        #[cfg(test)]
        tamis_testing::step(found.map_or(self.body.len(), |(start, _)| start) - position);
        found
    }
}

impl<'a> Iterator for BodyParts<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let start = self.next?;
        let (end, next) = self.find_boundary(start).unwrap_or((self.body.len(), None));
        self.next = next;
        let region = &self.body[start..end];
        // the line end before a boundary belongs to the boundary
        let region = region.strip_suffix(b"\n").unwrap_or(region);
        Some(region.strip_suffix(b"\r").unwrap_or(region))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_testing::check_linear;

    fn check(body: &str, expected: Option<&[&str]>) {
        let sections = BodyParts::new(body.as_bytes(), "b".to_owned());
        let found: Option<Vec<_>> = sections.map(|s| s.map(|s| str::from_utf8(s).unwrap()).collect());
        assert_eq!(found.as_deref(), expected, "{body:?}");
    }

    #[test]
    fn sections() {
        check("", None);
        check("text\n --b\nx--b\n--bc\n-b\n", None);
        check("--b", Some(&[""]));
        check("--b--", Some(&[]));
        check("--b\n--b\n\n--b--\n", Some(&["", ""]));
        check("preamble\n--b \nA\n\n--bb\n--b\t\r\nB\r\n--b--\nepilogue\n--b\n", Some(&["A\n\n--bb", "B"]));
        check("--b\r\nA\r\n\r\n--b\r\nno end\r\n", Some(&["A\r\n", "no end"]));
    }

    #[test]
    fn hostile_messages_are_linear() {
        let multipart = "Content-Type: multipart/mixed; boundary=b\n\n";
        let nested = format!("--b\n{multipart}");
        let units = [
            "--b\n",
            "--b",
            "--b\n\n",
            "\n--",
            "\n--c\n",
            &nested,
            "Content-Type: message/rfc822\n\n",
            "A: b\n",
            " c\n",
        ];
        let boundless = Limits {
            bytes: usize::MAX,
            parts: usize::MAX,
            headers: usize::MAX,
            text: usize::MAX,
            ..Limits::default()
        };
        let opened = format!("{multipart}--b\n\n");
        for once in ["", multipart, &opened, "Content-Type: multipart/digest; boundary=b\n\n", "Subject: x\n"]
        {
            check_linear(&units, |text| {
                read_parts(
                    format!("{once}{text}").as_bytes(),
                    &boundless,
                    LimitsHit::default(),
                    &mut |field| drop(field.unfolded()),
                );
            });
        }
    }

    #[test]
    fn first_words() {
        for (value, expected) in [
            ("Base64", "base64"),
            (" 8bit (comment)", "8bit"),
            ("\"UTF-8\"", "utf-8"),
            ("7bit;", "7bit"),
            ("", ""),
        ] {
            assert_eq!(first_word(value), expected);
        }
    }
}
