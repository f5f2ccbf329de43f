//! MIME: splits a message into parts (RFC 2045, RFC 2046).
use crate::html::looks_like_html;
use crate::message::body_parts::{body_parts, guess_boundary};
use crate::message::charset;
use crate::message::encoded_word::decode_words;
use crate::message::fields::{
    Field, HeaderFields, copy_without, is_empty_line, looks_like_mail, verdicts_in,
};
use crate::message::ignored::is_verdict;
use crate::message::limits::{Limits, LimitsHit};
use crate::message::part::{BINARY, Part, PartHeader, declared, is_message, is_multipart};
use crate::message::{data_uri, transfer, wrapper};
use std::borrow::Cow;
use std::iter;

mod files;

/// Maximum nesting of multiparts. Real mail has a few levels.
const DEEPEST: usize = 64;
/// Maximum number of passes over the message in total, to search it and to decode it: each level of parts takes one.
const MOST_PASSES: usize = 24;
/// Bytes that passes may take beyond that, which is about a millisecond: a small message may have every level.
const FREE: usize = 256 << 10;
/// What it costs to decode a byte, in bytes that are passed over.
const COST_OF_DECODING: usize = 4;
/// Maximum nesting of messages, whatever the limit says: each level may take 4 KiB of stack.
const MOST_NESTED: usize = 256;
/// Number of parts to examine for each one that may be read.
const LOOKED_AT: usize = 64;
/// Bytes that documents may take inflated, for each byte of the message, and beyond that.
const MOST_INFLATED: usize = 8;
const FREE_INFLATED: usize = 8 << 20;
/// A message that has fewer words beside what was not read says nothing itself.
const FEWEST_WORDS: usize = 3;

/// Sees the header fields of a message; `None` if those that it has seen are of a wrapper.
type See<'s> = dyn FnMut(Option<&Field<'_>>) + 's;

/// Reads the parts of a message, or of the one inside a wrapper. Returns them with the limits that were hit, and shows
/// `see` the message's header fields. With `attached`, finds the attached messages instead, and returns them too.
pub(crate) fn read_parts(
    raw: &[u8],
    limits: &Limits,
    attached: Option<Vec<Vec<u8>>>,
    see: &mut See<'_>,
) -> (Vec<Part>, LimitsHit, Vec<Vec<u8>>) {
    let bytes = raw.len() > limits.bytes;
    let raw = &raw[..raw.len().min(limits.bytes)];
    let read = |raw: &[u8], hit, see: &mut See<'_>| {
        let mut reader = PartReader {
            limits,
            hit,
            parts: Vec::new(),
            text_left: limits.text,
            attached_left: limits.text,
            with_text_left: limits.parts,
            without_text_left: limits.parts,
            looks_left: limits.parts.saturating_mul(LOOKED_AT),
            passes_left: raw.len().saturating_mul(MOST_PASSES).saturating_add(FREE),
            inflated_left: raw.len().saturating_mul(MOST_INFLATED).saturating_add(FREE_INFLATED),
            messages_left: limits.nested_messages.min(MOST_NESTED),
            may_be_wrapper: false,
            attached: attached.clone(),
        };
        reader.entity(raw, "text/plain", Depth { parts: 0, multiparts: 0 }, see);
        reader
    };
    let mut reader = read(raw, LimitsHit { bytes, text: bytes, ..LimitsHit::default() }, see);
    if reader.may_be_wrapper
        && let Some(inside) = wrapper::message_inside(raw)
    {
        see(None);
        // a spammer could write the text into the report
        let hit = LimitsHit { bytes, text: true, wrapper: true, ..LimitsHit::default() };
        reader = read(&inside, hit, see);
    }
    let is_unread = reader.parts.iter().any(|part| part.unread.is_some());
    reader.hit.text |= is_unread && !says_something(&reader.parts);
    (reader.parts, reader.hit, reader.attached.unwrap_or_default())
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
    /// Bytes left to pass over, whatever for.
    passes_left: usize,
    /// Bytes left that documents may take inflated.
    inflated_left: usize,
    messages_left: usize,
    /// Whether the message declares a boundary.
    may_be_wrapper: bool,
    /// The attached messages that were found, if they are read instead of text.
    attached: Option<Vec<Vec<u8>>>,
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
    fn entity(&mut self, raw: &[u8], default_type: &str, depth: Depth, see: &mut See<'_>) {
        #[cfg(test)]
        tamis_testing::step(1);
        let mut fields = HeaderFields::lenient(raw);
        let (mut left, mut is_over, mut loose) = (self.limits.headers, false, String::new());
        // limits bound what is evidence, not what says how to read the part
        let all = iter::from_fn(|| {
            let field = fields.next()?;
            is_over |= !take(&mut left, 1) || fields.position > self.limits.text;
            if !is_over && field.name.is_empty() {
                loose.push_str(&field.unfolded());
                loose.push('\n');
            } else if !is_over {
                see(Some(&field));
            }
            Some(field)
        });
        let PartHeader { mut part, multipart, boundaries, .. } = declared(all, default_type);
        self.may_be_wrapper |= depth.parts == 0 && !boundaries.is_empty();
        if !take(&mut self.looks_left, 1) {
            return self.leave_out_text_part();
        }
        part.depth = depth.parts;
        self.hit.headers |= is_over;
        self.hit.text |= is_over;
        if !loose.is_empty() {
            let content_type = "text/plain".to_owned();
            let loose_part = Part { depth: depth.parts, content_type, ..Part::default() };
            self.leaf(loose_part, Some(loose.as_bytes()));
        }
        let may_be_forged = depth.parts == 0 && !fields.ended_well();
        let body = fields.into_body();
        let body = if may_be_forged { without_verdicts(body) } else { Cow::Borrowed(body) };
        let body = &*body;
        if self.keep_attached(&part, body) {
            return;
        }

        match self.sections(body, &boundaries, multipart.is_some(), depth) {
            Some(sections) => {
                if !is_multipart(&part.content_type) {
                    // readers that go by the type show the body as it is
                    self.leaf(part.clone(), Some(body));
                    part.content_type = multipart.unwrap_or_else(|| "multipart/mixed".to_owned());
                }
                self.multipart(part, sections, depth);
            }
            _ if is_message(&part.content_type) => self.nested_message(part, body, depth),
            None => {
                part.is_attached &= depth.parts > 0;
                let is_text = || !part.content_type.starts_with("message/") || !is_only_fields(body);
                match part.is_file() {
                    true => self.file(part, body, depth),
                    false if is_text() => self.leaf(part, Some(body)),
                    false => self.leaf(part, None),
                }
            }
        }
    }

    /// The parts of a body, by the first of the boundaries that it has, or in a multipart by one that is guessed.
    fn sections<'b>(
        &mut self,
        body: &'b [u8],
        boundaries: &[String],
        is_multipart: bool,
        depth: Depth,
    ) -> Option<Vec<&'b [u8]>> {
        if !is_multipart && boundaries.is_empty() {
            return None;
        }
        if depth.multiparts >= DEEPEST || self.passes_left < body.len() {
            (self.hit.depth, self.hit.text) = (true, true);
            return None;
        }
        let (most, left) = (self.looks_left, &mut self.passes_left);
        let found = body_parts(body, boundaries, most, left);
        if found.is_some() || !is_multipart {
            return found;
        }
        let boundary = guess_boundary(body, left)?;
        body_parts(body, &[boundary], most, left)
    }

    /// If attached messages are read, keeps the one that a part holds, decoded. Returns whether no others are within the part:
    /// what a report (RFC 6522) returns was not attached by anyone.
    fn keep_attached(&mut self, part: &Part, body: &[u8]) -> bool {
        let Some(attached) = &mut self.attached else { return false };
        let kind = part.content_type.as_str();
        let is_message = matches!(kind, "message/rfc822" | "message/global" | "message/news");
        let is_file = |name: &String| name.to_ascii_lowercase().ends_with(".eml");
        if is_message || part.file_name.as_ref().is_some_and(is_file) {
            let message = transfer::decode(body, part.transfer_encoding.as_deref());
            let is_one =
                if is_message { !message.trim_ascii().is_empty() } else { looks_like_mail(&message) };
            match is_one && take(&mut self.messages_left, 1) {
                true => attached.push(message.into_owned()),
                false => self.hit.nested_messages |= is_one,
            }
        }
        kind == "multipart/report" || !is_multipart(kind)
    }

    fn multipart(&mut self, part: Part, sections: Vec<&[u8]>, depth: Depth) {
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
        if self.messages_left == 0 || self.passes_left < body.len() {
            self.hit.nested_messages = true;
            self.hit.text = true;
            part.is_attached = false;
            return self.leaf(part, Some(body));
        }
        if !take(&mut self.with_text_left, 1) {
            return self.leave_out_text_part();
        }
        self.messages_left -= 1;
        let message = transfer::decode(body, part.transfer_encoding.as_deref());
        if let Cow::Owned(decoded) = &message {
            #[cfg(test)]
            tamis_testing::step(body.len());
            let cost = COST_OF_DECODING.saturating_mul(body.len().max(decoded.len()));
            self.passes_left = self.passes_left.saturating_sub(cost);
        }
        let subject = HeaderFields::lenient(&message)
            .find(|field| field.is("subject"))
            .map(|field| decode_words(&field.unfolded()).into_owned());
        part.text = subject.map(|subject| self.keep(&subject, false, false));
        self.parts.push(part);
        self.entity(&message, "text/plain", Depth { parts: depth.parts + 1, ..depth }, &mut |_| ());
    }

    /// Reads a part that contains no other parts. Images and empty parts have a budget of their own, apart from that of
    /// text.
    fn leaf(&mut self, mut part: Part, body: Option<&[u8]>) {
        let text = body.filter(|body| !body.iter().all(u8::is_ascii_whitespace));
        let left = if text.is_some() { &mut self.with_text_left } else { &mut self.without_text_left };
        if !take(left, 1) {
            self.hit.parts = true;
            self.hit.text |= text.is_some() && !part.is_attached || part.unread.is_some();
            return;
        }
        let mut embedded = Vec::new();
        if let Some(body) = body {
            embedded = self.read_text(&mut part, body);
        }
        self.parts.push(part);
        for part in embedded {
            self.leaf(part, None);
        }
    }

    /// Reads the text of a part. Returns the contents of its `data:` URIs.
    fn read_text(&mut self, part: &mut Part, body: &[u8]) -> Vec<Part> {
        let left = if part.is_attached { self.attached_left } else { self.text_left };
        // quoted-printable may write one byte as three
        let most = left.saturating_mul(3).saturating_add(4096);
        let is_html = part.is_html || part.content_type == "text/html";
        let affordable = self.passes_left / COST_OF_DECODING;
        let encoded = &body[..body.len().min(affordable).min(if is_html { usize::MAX } else { most })];
        self.passes_left -= COST_OF_DECODING * encoded.len();
        #[cfg(test)]
        tamis_testing::step(encoded.len());
        let bytes = transfer::decode(encoded, part.transfer_encoding.as_deref());
        let (bytes, embedded) = match is_html {
            true => data_uri::extract(bytes, part.depth + 1),
            false => (bytes, Vec::new()),
        };
        let within = &bytes[..bytes.len().min(most)];
        let is_cut = encoded.len() < body.len() || within.len() < bytes.len();
        let charset = part.charset.as_deref();
        let text = charset::decode(within, charset, self.hit.bytes || is_cut);
        // without zeros, UTF-8 is borrowed
        if matches!(text, Cow::Owned(_)) && charset::is_binary(within, charset, &text) {
            self.mark_unread(part, body, BINARY);
            return Vec::new();
        }
        self.hit.text |= !part.is_attached && charset::is_unreadable(within, charset);
        let text = self.keep(&text, is_cut, part.is_attached);
        part.is_html = is_html || looks_like_html(&text);
        part.text = Some(text);
        embedded
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

/// Whether a message has some words of its own, beside its attachments.
fn says_something(parts: &[Part]) -> bool {
    let own = parts.iter().filter(|part| !part.is_attached);
    let text: Vec<_> = own.map(Part::plain_text).collect();
    let words = text.iter().flat_map(|text| text.split_whitespace());
    words.filter(|word| word.contains(char::is_alphanumeric)).nth(FEWEST_WORDS - 1).is_some()
}

/// Whether a body consists of header fields and empty lines alone, as in a report (RFC 3464, section 2.1).
fn is_only_fields(body: &[u8]) -> bool {
    let mut fields = HeaderFields::new(body);
    loop {
        let before = fields.position;
        fields.by_ref().for_each(drop);
        let rest = &body[fields.position..];
        fields.position += if is_empty_line(rest) { 1 + usize::from(rest[0] == b'\r') } else { 0 };
        if fields.position == before {
            return rest.iter().all(u8::is_ascii_whitespace);
        }
    }
}

/// Removes verdict fields up to the first empty line from a body that begins at a line that is not a field. Other
/// programs would look for fields there.
fn without_verdicts(body: &[u8]) -> Cow<'_, [u8]> {
    let forged = verdicts_in(body, 0, is_verdict);
    if forged.is_empty() {
        return Cow::Borrowed(body);
    }
    let mut kept = Vec::with_capacity(body.len());
    copy_without(&forged, body, 0..body.len(), &mut kept);
    Cow::Owned(kept)
}

#[cfg(test)]
mod tests;
