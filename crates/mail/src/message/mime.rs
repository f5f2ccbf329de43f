//! MIME: splits a message into parts (RFC 2045, RFC 2046).
use crate::html::looks_like_html;
use crate::message::charset;
use crate::message::encoded_word::decode_words;
use crate::message::fields::{Field, Fields, line_end, verdicts_in};
use crate::message::ignored::is_verdict;
use crate::message::limits::{Limits, LimitsHit};
use crate::message::parameters::Parameters;
use crate::message::part::Part;
use crate::message::transfer;
use memchr::memmem;
use std::borrow::Cow;
use std::iter;

/// Maximum nesting of multiparts. Each level is one more pass over the message; real mail has a few.
const DEEPEST: usize = 32;
/// Maximum nesting of messages, whatever the limit says: each level may take 4 KiB of stack.
const MOST_NESTED: usize = 256;

/// The parts of a message and the limits it hit. Calls `see` with its header fields.
pub(crate) fn read_parts(
    raw: &[u8],
    limits: &Limits,
    hit: LimitsHit,
    see: &mut dyn FnMut(&Field<'_>),
) -> (Vec<Part>, LimitsHit) {
    let mut reader = Reader {
        limits,
        hit,
        parts: Vec::new(),
        text_left: limits.text,
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

struct Reader<'l> {
    limits: &'l Limits,
    hit: LimitsHit,
    parts: Vec<Part>,
    text_left: usize,
    messages_left: usize,
}

impl Reader<'_> {
    /// Reads one part, header and body, and the parts within it. Invariant: every call that goes deeper
    /// uses up a multipart level or a nested message, so recursion is bounded by `DEEPEST` + the limit.
    fn entity(&mut self, raw: &[u8], default_type: &str, depth: Depth, see: &mut dyn FnMut(&Field<'_>)) {
        #[cfg(test)]
        tamis_testing::step(1);
        let mut fields = Fields::new(raw);
        let (mut part, boundary) =
            declared(fields.by_ref().take(self.limits.headers).inspect(see), default_type);
        if self.parts.len() >= self.limits.parts {
            self.hit.parts = true;
            return;
        }
        part.depth = depth.parts;
        self.hit.headers |= fields.next().is_some();
        fields.by_ref().for_each(drop);
        let may_be_forged = depth.parts == 0 && !fields.ended_well();
        let body = fields.into_body();
        let body = if may_be_forged { without_verdicts(body) } else { Cow::Borrowed(body) };
        let body = &*body;

        let sections = boundary.and_then(|boundary| Sections::new(body, boundary));
        match sections {
            Some(sections) if depth.multiparts < DEEPEST => self.multipart(part, sections, depth),
            _ if is_message(&part.content_type) => self.nested_message(part, body, depth),
            _ => {
                self.hit.depth |= sections.is_some();
                let is_text = part.content_type.starts_with("text/") || is_multipart(&part.content_type);
                self.leaf(part, is_text.then_some(body));
            }
        }
    }

    fn multipart(&mut self, part: Part, sections: Sections<'_>, depth: Depth) {
        let default_type =
            if part.content_type == "multipart/digest" { "message/rfc822" } else { "text/plain" };
        self.parts.push(part);
        for section in sections {
            self.entity(
                section,
                default_type,
                Depth { parts: depth.parts + 1, multiparts: depth.multiparts + 1 },
                &mut |_| (),
            );
            if self.hit.parts {
                break;
            }
        }
    }

    /// A nested message: a part whose text is the subject, then its own parts.
    fn nested_message(&mut self, mut part: Part, body: &[u8], depth: Depth) {
        if self.messages_left == 0 {
            self.hit.nested_messages = true;
            return self.leaf(part, Some(body));
        }
        self.messages_left -= 1;
        #[cfg(test)]
        tamis_testing::step(body.len());
        let body = transfer::decode(body, part.transfer_encoding.as_deref());
        let subject = Fields::new(&body).take(self.limits.headers).find(|field| field.is("subject"));
        part.text = subject.map(|field| self.keep(&decode_words(&field.unfolded())));
        self.parts.push(part);
        self.entity(&body, "text/plain", Depth { parts: depth.parts + 1, ..depth }, &mut |_| ());
    }

    fn leaf(&mut self, mut part: Part, body: Option<&[u8]>) {
        if let Some(body) = body {
            #[cfg(test)]
            tamis_testing::step(body.len());
            let bytes = transfer::decode(body, part.transfer_encoding.as_deref());
            let text = charset::decode(&bytes, part.charset.as_deref(), self.hit.bytes);
            let text = self.keep(&text);
            part.is_html = part.content_type == "text/html" || looks_like_html(&text);
            part.text = Some(text);
        }
        self.parts.push(part);
    }

    /// Truncates a text to what the limit still allows.
    fn keep(&mut self, text: &str) -> String {
        let kept = text.floor_char_boundary(self.text_left);
        self.hit.text |= kept < text.len();
        self.text_left -= kept;
        text[..kept].to_owned()
    }
}

/// A body that begins after a line which is not a field, without verdict fields up to the first empty line: other
/// programs would read on there.
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

/// The part that header fields declare, and the boundary of a multipart.
fn declared<'a>(fields: impl Iterator<Item = Field<'a>>, default_type: &str) -> (Part, Option<String>) {
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
    let kind = kind.as_deref().map(Parameters::read);
    let disposition = disposition.as_deref().map(Parameters::read);
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
    let part = Part {
        depth: 0,
        charset: parameter("charset").map(|charset| first_word(&charset)),
        transfer_encoding: encoding.map(|encoding| first_word(&encoding)),
        file_name: disposition.and_then(|d| d.get("filename")).or_else(|| parameter("name")),
        content_type,
        text: None,
        is_html: false,
    };
    (part, boundary)
}

/// A token in lower case, without quotes and a following comment.
fn first_word(value: &str) -> String {
    let word =
        value.split(|c: char| c.is_whitespace() || matches!(c, '(' | ';')).find(|word| !word.is_empty());
    word.unwrap_or_default().trim_matches(['"', '\'']).to_ascii_lowercase()
}

/// The regions between the boundary lines of a multipart (RFC 2046, section 5.1.1).
struct Sections<'a> {
    body: &'a [u8],
    boundary: String,
    /// Start of the next region; `None` after the closing boundary.
    next: Option<usize>,
}

impl<'a> Sections<'a> {
    /// `None` if no line of the body is a boundary.
    fn new(body: &'a [u8], boundary: String) -> Option<Self> {
        let mut sections = Sections { body, boundary, next: None };
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

impl<'a> Iterator for Sections<'a> {
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
        let sections = Sections::new(body.as_bytes(), "b".to_owned());
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
