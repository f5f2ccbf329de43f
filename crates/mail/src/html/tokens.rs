//! A one-pass HTML tokenizer that follows section 13.2.5 of the HTML standard.
use crate::html::tags::{Attribute, Contents, LONGEST, Name};
use memchr::{memchr, memchr_iter, memchr2, memchr2_iter};
use std::borrow::Cow;
use std::ops::Range;

/// The attributes of a tag that matter, with their values decoded: the first of each name.
pub(super) type Attributes<'h> = Vec<(Attribute, Cow<'h, str>)>;

/// The value of an attribute of a tag, if it has the attribute.
pub(super) fn value<'a>(attributes: &'a Attributes<'_>, wanted: Attribute) -> Option<&'a str> {
    attributes.iter().find(|(attribute, _)| *attribute == wanted).map(|(_, value)| &**value)
}

/// Takes the tokens of a document.
pub(super) trait TokenSink<'h> {
    /// Takes a document type: what follows `<!doctype`.
    fn doctype(&mut self, _declaration: &str) {}
    /// Takes a start tag. Attributes may be moved out.
    fn start_tag(&mut self, name: Name, attributes: &mut Attributes<'h>);
    /// Takes an end tag.
    fn end_tag(&mut self, _name: Name) {}
    /// Takes the contents of the style sheet whose start tag came last.
    fn style_sheet(&mut self, _text: &str) {}
    /// Returns where the text that follows belongs: `encoded`, in which references are not yet decoded.
    fn text(&mut self, encoded: &str) -> &mut String;
    /// Whether it needs no more tokens.
    fn is_done(&self) -> bool {
        false
    }
}

/// Reads the tokens of a document with `\n` line ends, up to the first one that begins at `end` or after it.
pub(super) fn read_tokens<'h>(html: &'h str, end: usize, sink: &mut impl TokenSink<'h>) {
    let mut tokens = Tokens { html, bytes: html.as_bytes(), sink, attributes: Vec::new(), special: 0 };
    let mut position = Some(0);
    while let Some(start) = position.filter(|start| *start < end && !tokens.sink.is_done()) {
        let end = tokens.text(start);
        position = if end < html.len() { tokens.markup(end) } else { None };
    }
}

/// The state of reading a document.
struct Tokens<'h, 's, S> {
    html: &'h str,
    bytes: &'h [u8],
    sink: &'s mut S,
    /// The attributes of the current tag.
    attributes: Attributes<'h>,
    /// The position of the next `&` or NUL, from where it was searched last.
    special: usize,
}

impl<'h, S: TokenSink<'h>> Tokens<'h, '_, S> {
    /// Reads the text from `start` up to the next `<` that begins markup. Returns the position of that `<`.
    fn text(&mut self, start: usize) -> usize {
        let mut end = self.find(b'<', start);
        while let Some(at) = end
            && !self.is_markup(at + 1)
        {
            end = self.find(b'<', at + 1);
        }
        let end = end.unwrap_or(self.bytes.len());
        if end > start {
            let (text, is_plain) = (&self.html[start..end], self.is_plain(&(start..end)));
            let to = self.sink.text(text);
            if is_plain { to.push_str(text) } else { push_text(text, to) }
        }
        end
    }

    /// Whether a range has neither `&` nor NUL. It must not begin before the one of the last call.
    fn is_plain(&mut self, range: &Range<usize>) -> bool {
        if self.special < range.start {
            let found = memchr2(b'&', b'\0', &self.bytes[range.start..]).map(|length| range.start + length);
            self.special = self.reached(range.start, found).unwrap_or(usize::MAX);
        }
        range.end <= self.special
    }

    /// Whether what follows a `<` makes it more than text.
    fn is_markup(&self, at: usize) -> bool {
        match &self.bytes[at..] {
            [b'/', _, ..] | [b'!' | b'?', ..] => true,
            [first, ..] => first.is_ascii_alphabetic(),
            [] => false,
        }
    }

    fn find(&self, byte: u8, from: usize) -> Option<usize> {
        self.reached(from, memchr(byte, &self.bytes[from..]).map(|length| from + length))
    }

    /// Returns what a search from `from` on found. Tests count the bytes that it passed.
    #[inline(always)]
    #[cfg_attr(not(test), allow(unused_variables))]
    fn reached(&self, from: usize, found: Option<usize>) -> Option<usize> {
        #[cfg(test)]
        tamis_testing::step(found.unwrap_or(self.bytes.len()) - from);
        found
    }

    /// The position of the first byte at or after `from` that is of one of the kinds `of`.
    #[inline]
    fn find_any(&self, from: usize, of: u8) -> Option<usize> {
        let length = self.bytes[from..].iter().position(|byte| is_any(*byte, of));
        self.reached(from, length.map(|length| from + length))
    }

    /// Handles the markup that the `<` at `start` begins. Returns where text continues; `None` if the markup does not
    /// end.
    fn markup(&mut self, start: usize) -> Option<usize> {
        match &self.bytes[start + 1..] {
            [b'!', b'-', b'-', ..] => self.end_of_comment(start + 4),
            [b'!', ..] => {
                let end = self.find(b'>', start)?;
                let declaration = &self.html[start + 2..end];
                if declaration.get(..7).is_some_and(|word| word.eq_ignore_ascii_case("doctype")) {
                    self.sink.doctype(&declaration[7..]);
                }
                Some(end + 1)
            }
            [b'?', ..] => Some(self.find(b'>', start)? + 1),
            [b'/', first, ..] if first.is_ascii_alphabetic() => self.tag(start + 2, true),
            [b'/', _, ..] => Some(self.find(b'>', start)? + 1),
            _ => self.tag(start + 1, false),
        }
    }

    /// The position after `-->` or `--!>`. A `-->` may share its dashes with the `<!--` before `start`.
    fn end_of_comment(&self, start: usize) -> Option<usize> {
        let ends = |at: &usize| {
            self.bytes[start - 2..*at].ends_with(b"--") || self.bytes[start..*at].ends_with(b"--!")
        };
        let mut all = memchr_iter(b'>', &self.bytes[start..]).map(|length| start + length);
        self.reached(start, all.find(ends)).map(|at| at + 1)
    }

    /// Reads a tag from its name on, and the contents of an element that has no markup inside.
    fn tag(&mut self, start: usize, is_end: bool) -> Option<usize> {
        let mut at = self.find_any(start, SPACE | SLASH | CLOSE)?;
        let name = Name::at(self.html, start, at - start);
        self.attributes.clear();
        loop {
            at = self.find_any(at, CLOSE | EQUALS | OTHER)?;
            if self.bytes[at] == b'>' {
                break;
            }
            let start = at;
            at = self.find_any(at + 1, SPACE | SLASH | CLOSE | EQUALS)?;
            let attribute = Attribute::named(Name::at(self.html, start, at - start));
            at = self.find_any(at, !SPACE)?;
            let mut inner = at..at;
            if self.bytes[at] == b'=' {
                at = self.find_any(at + 1, !SPACE)?;
                (inner, at) = self.value(at)?;
            }
            if let Some(attribute) = attribute
                && self.attributes.iter().all(|(before, _)| *before != attribute)
            {
                let value = &self.html[inner.clone()];
                let value = if self.is_plain(&inner) { Cow::Borrowed(value) } else { decoded(value) };
                self.attributes.push((attribute, value));
            }
        }
        at += 1;
        if is_end {
            self.sink.end_tag(name);
            return Some(at);
        }
        self.sink.start_tag(name, &mut self.attributes);
        self.contents(name, at)
    }

    /// Reads the contents of an element whose start tag ends before `start`, unless they are markup. Returns where
    /// markup goes on, `None` if the contents do not end.
    fn contents(&mut self, name: Name, start: usize) -> Option<usize> {
        let Some(contents) = Contents::named(name) else { return Some(start) };
        let end = match contents {
            Contents::Script => return self.reached(start, self.end_of_script(start)),
            Contents::Rest => None,
            _ => {
                let mut all = memchr_iter(b'<', &self.bytes[start..]).map(|length| start + length);
                self.reached(start, all.find(|at| self.is_end_tag(*at, name)))
            }
        };
        let text = without_nul(Cow::Borrowed(&self.html[start..end.unwrap_or(self.html.len())]));
        match contents {
            Contents::StyleSheet => self.sink.style_sheet(&text),
            _ if text.is_empty() => (),
            Contents::Text => push_text(&text, self.sink.text(&text)),
            _ => self.sink.text(&text).push_str(&text),
        }
        end
    }

    /// Where the attribute value at `start` is, quoted or up to white space or the end of the tag; and where the tag goes on.
    fn value(&self, start: usize) -> Option<(Range<usize>, usize)> {
        Some(match self.bytes[start] {
            quote @ (b'"' | b'\'') => {
                let end = self.find(quote, start + 1)?;
                (start + 1..end, end + 1)
            }
            _ => {
                let end = self.find_any(start, SPACE | CLOSE)?;
                (start..end, end)
            }
        })
    }

    /// The position of a script's end tag. Inside a comment, the end tag of a script that begins there does not count.
    fn end_of_script(&self, start: usize) -> Option<usize> {
        let (mut in_comment, mut in_inner) = (false, false);
        for at in memchr2_iter(b'<', b'-', &self.bytes[start..]).map(|length| start + length) {
            let rest = &self.bytes[at..];
            if rest.starts_with(b"<!--") {
                in_comment = true;
            } else if rest.starts_with(b"-->") {
                (in_comment, in_inner) = (false, false);
            } else if self.is_end_tag(at, Name::of("script")) {
                if !in_inner {
                    return Some(at);
                }
                in_inner = false;
            } else if in_comment && rest[0] == b'<' && self.is_tag(at + 1, Name::of("script")) {
                in_inner = true;
            }
        }
        None
    }

    /// Whether the end tag of `name` begins at `at`.
    fn is_end_tag(&self, at: usize, name: Name) -> bool {
        self.bytes[at..].starts_with(b"</") && self.is_tag(at + 2, name)
    }

    /// Whether a tag's name is at `at`. Case does not matter.
    fn is_tag(&self, at: usize, name: Name) -> bool {
        let mut rest = self.bytes[at..].iter().take(LONGEST + 1);
        let end = rest.position(|byte| is_any(*byte, SPACE | SLASH | CLOSE));
        end.is_some_and(|length| Name::at(self.html, at, length) == name)
    }
}

/// The value of an attribute with character references decoded.
fn decoded(value: &str) -> Cow<'_, str> {
    without_nul(htmlize::unescape_attribute(value))
}

/// Whether bytes begin with a word. Case does not matter.
pub(super) fn begins(bytes: &[u8], with: &str) -> bool {
    bytes.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with.as_bytes()))
}

fn without_nul(text: Cow<'_, str>) -> Cow<'_, str> {
    match memchr(0, text.as_bytes()) {
        Some(_) => Cow::Owned(text.replace('\0', "\u{fffd}")),
        None => text,
    }
}

/// Appends text with its character references decoded.
pub(super) fn push_text(mut rest: &str, text: &mut String) {
    while let Some(at) = memchr(b'&', rest.as_bytes()) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        rest = &rest[push_reference(rest, text)..];
    }
    text.push_str(rest);
}

/// Appends a line break unless the text already ends with white space, to keep words apart.
pub(super) fn separate(text: &mut String) {
    if text.chars().next_back().is_some_and(|last| !last.is_whitespace()) {
        text.push('\n');
    }
}

/// Appends the decoded character reference at the start of `text`; returns its length.
fn push_reference(text: &str, out: &mut String) -> usize {
    let common = COMMON.iter().find(|(reference, _)| text.starts_with(reference));
    if let Some((reference, character)) = common {
        out.push(*character);
        return reference.len();
    }
    let length = text[1..].bytes().position(|c| !c.is_ascii_alphanumeric() && !matches!(c, b'#' | b';'));
    let length = length.map_or(text.len(), |length| 1 + length);
    #[cfg(test)]
    tamis_testing::step(length);
    out.push_str(&htmlize::unescape(&text[..length]));
    length
}

/// The most common character references.
const COMMON: [(&str, char); 5] =
    [("&nbsp;", '\u{a0}'), ("&amp;", '&'), ("&lt;", '<'), ("&gt;", '>'), ("&quot;", '"')];

// kinds of bytes within a tag
const SPACE: u8 = 1;
const SLASH: u8 = 2;
const CLOSE: u8 = 4;
const EQUALS: u8 = 8;
const OTHER: u8 = 16;

/// The kind of each byte.
static KINDS: [u8; 256] = {
    let mut kinds = [OTHER; 256];
    kinds[b' ' as usize] = SPACE;
    kinds[b'\t' as usize] = SPACE;
    kinds[b'\n' as usize] = SPACE;
    kinds[b'\x0c' as usize] = SPACE;
    kinds[b'/' as usize] = SLASH;
    kinds[b'>' as usize] = CLOSE;
    kinds[b'=' as usize] = EQUALS;
    kinds
};

/// Whether a byte is of any of the kinds `of`.
#[inline]
fn is_any(byte: u8, of: u8) -> bool {
    KINDS[usize::from(byte)] & of != 0
}
