//! A one-pass HTML reader that follows the tokenizer of the HTML standard (section 13.2.5).
use memchr::{memchr, memchr_iter, memchr2, memchr2_iter, memmem};
use std::borrow::Cow;

/// Maximum number of links per document.
pub(super) const MOST_LINKS: usize = 200;

/// The result of [`read_html`](crate::read_html).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HtmlText {
    /// The text: see [`html_to_text`](crate::html_to_text).
    pub text: String,
    /// The links: see [`html_links`](crate::html_links).
    pub links: Vec<String>,
}

/// The state of reading a document with `\n` line ends and closed comments.
pub(super) struct HtmlReader<'h> {
    html: &'h str,
    bytes: &'h [u8],
    most_links: usize,
    found: HtmlText,
}

/// The value of an attribute: the part after the `=`.
struct AttributeValue<'h> {
    /// The value without its quotes.
    inner: &'h str,
    /// Where the tag continues after the value and its quotes.
    end: usize,
}

impl<'h> HtmlReader<'h> {
    /// Text and links of a document, at most `most_links` links.
    pub(super) fn read(html: &'h str, most_links: usize) -> HtmlText {
        let found = HtmlText { text: String::with_capacity(html.len()), links: Vec::new() };
        let mut reader = HtmlReader { html, bytes: html.as_bytes(), most_links, found };
        let mut position = Some(0);
        while let Some(start) = position {
            let end = reader.text(start);
            position = if end < html.len() { reader.markup(end) } else { None };
        }
        reader.found
    }

    /// Appends the text from `start` up to the next `<`, with character references decoded. Returns the position of the
    /// `<`.
    fn text(&mut self, start: usize) -> usize {
        let (mut done, mut next) = (start, start);
        loop {
            match self.bytes.get(next) {
                Some(b'<') | None => {
                    self.found.text.push_str(&self.html[done..next]);
                    return next;
                }
                Some(b'&') => {
                    self.found.text.push_str(&self.html[done..next]);
                    done = next + push_reference(&self.html[next..], &mut self.found.text);
                    next = done;
                }
                _ => {
                    let length = memchr2(b'<', b'&', &self.bytes[next..]);
                    next = self.reached(next, length.map(|length| next + length)).unwrap_or(self.bytes.len());
                }
            }
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
            [b'!' | b'?', ..] => Some(self.find(b'>', start)? + 1),
            [b'/', first, ..] if first.is_ascii_alphabetic() => self.tag(start + 2, true),
            [b'/', _, ..] => Some(self.find(b'>', start)? + 1),
            [first, ..] if first.is_ascii_alphabetic() => self.tag(start + 1, false),
            _ => {
                self.found.text.push('<');
                Some(start + 1)
            }
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

    /// Reads a tag from its name on, and skips the script or style sheet that it begins.
    fn tag(&mut self, start: usize, is_end: bool) -> Option<usize> {
        let mut lower = [0; LONGEST_NAME];
        let mut at = start;
        loop {
            let byte = *self.bytes.get(at)?;
            if is_any(byte, SPACE | SLASH | CLOSE) {
                break;
            }
            if let Some(lower) = lower.get_mut(at - start) {
                *lower = byte.to_ascii_lowercase();
            }
            at += 1;
        }
        // a name that is too long is not one that matters
        let name = lower.get(..at - start).unwrap_or_default();
        let separates = is_separator(name) || is_end && name == b"a";
        let (mut is_open, mut last) = (false, None);
        loop {
            at = self.find_any(at, CLOSE | EQUALS | OTHER)?;
            // a tag counts from its first attribute on; an attribute counts once another one or the end of the tag
            // follows
            if separates && !is_end && !is_open {
                self.separate();
            }
            is_open = true;
            if let Some((name, value)) = last.take() {
                self.attribute(name, &value);
            }
            if self.bytes[at] == b'>' {
                break;
            }
            let name = at;
            at = self.find_any(at + 1, SPACE | SLASH | CLOSE | EQUALS)?;
            let name = &self.bytes[name..at];
            at = self.find_any(at, !SPACE)?;
            if self.bytes[at] == b'=' {
                at = self.find_any(at + 1, !SPACE)?;
                let value = self.value(at)?;
                at = value.end;
                last = Some((name, value));
            }
        }
        match name {
            _ if is_end && separates => self.separate(),
            b"script" if !is_end => return self.reached(at, self.end_of_script(at)),
            b"style" if !is_end => {
                let mut all = memchr_iter(b'<', &self.bytes[at..]).map(|length| at + length);
                return self.reached(at, all.find(|at| self.is_tag(*at, b"</style")));
            }
            _ => {}
        }
        Some(at + 1)
    }

    /// The attribute value at `start`: quoted, or up to white space or the end of the tag.
    fn value(&self, start: usize) -> Option<AttributeValue<'h>> {
        let (inner, end, past) = match self.bytes[start] {
            quote @ (b'"' | b'\'') => {
                let end = self.find(quote, start + 1)?;
                (start + 1, end, end + 1)
            }
            _ => {
                let end = self.find_any(start, SPACE | CLOSE)?;
                (start, end, end)
            }
        };
        Some(AttributeValue { inner: &self.html[inner..end], end: past })
    }

    fn attribute(&mut self, name: &[u8], value: &AttributeValue<'_>) {
        if value.inner.is_empty() {
            return;
        }
        if name.eq_ignore_ascii_case(b"alt") {
            self.separate();
            self.found.text.push_str(&value.text());
            self.separate();
        } else if self.found.links.len() < self.most_links
            && (name.eq_ignore_ascii_case(b"href") || name.eq_ignore_ascii_case(b"src"))
        {
            let link = value.text();
            let link = link.trim();
            if leads_elsewhere(link) {
                self.found.links.push(link.to_owned());
            }
        }
    }

    fn separate(&mut self) {
        if self.found.text.chars().next_back().is_some_and(|last| !last.is_whitespace()) {
            self.found.text.push('\n');
        }
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
            } else if self.is_tag(at, b"</script") {
                if !in_inner {
                    return Some(at);
                }
                in_inner = false;
            } else if in_comment && self.is_tag(at, b"<script") {
                in_inner = true;
            }
        }
        None
    }

    /// Whether `tag` is at `at`. Case does not matter.
    fn is_tag(&self, at: usize, tag: &[u8]) -> bool {
        let rest = &self.bytes[at..];
        rest.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag))
            && rest.get(tag.len()).is_some_and(|c| is_any(*c, SPACE | SLASH | CLOSE))
    }
}

impl AttributeValue<'_> {
    /// The text with character references decoded.
    fn text(&self) -> Cow<'_, str> {
        if !self.inner.contains(['&', '\0']) {
            return Cow::Borrowed(self.inner);
        }
        match htmlize::unescape_attribute(self.inner) {
            text if text.contains('\0') => Cow::Owned(text.replace('\0', "\u{fffd}")),
            text => text,
        }
    }
}

/// Appends the decoded character reference at the start of `text`; returns its length.
pub(super) fn push_reference(text: &str, out: &mut String) -> usize {
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

pub(super) fn leads_elsewhere(link: &str) -> bool {
    let link = link.as_bytes();
    [&b"http:"[..], b"https:", b"ftp:", b"mailto:"]
        .iter()
        .any(|scheme| link.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))
}

/// Length of the longest name in [`is_separator`].
const LONGEST_NAME: usize = 10;

/// Whether a start or end tag separates words. All HTML tags do, except formatting ones.
#[rustfmt::skip]
pub(super) fn is_separator(name: &[u8]) -> bool {
    matches!(
        name,
        b"address" | b"applet" | b"area" | b"article" | b"aside" | b"audio" | b"base" | b"blockquote" | b"body"
            | b"br" | b"button" | b"canvas" | b"caption" | b"center" | b"col" | b"colgroup" | b"dd" | b"details"
            | b"dialog" | b"dir" | b"div" | b"dl" | b"dt" | b"embed" | b"fieldset" | b"figcaption" | b"figure"
            | b"footer" | b"form" | b"frame" | b"frameset" | b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6"
            | b"head" | b"header" | b"hr" | b"html" | b"iframe" | b"img" | b"input" | b"legend" | b"li" | b"link"
            | b"listing" | b"main" | b"map" | b"marquee" | b"menu" | b"meta" | b"nav" | b"noembed" | b"noframes"
            | b"noscript" | b"object" | b"ol" | b"optgroup" | b"option" | b"p" | b"plaintext" | b"pre"
            | b"script" | b"section" | b"select" | b"style" | b"summary" | b"svg" | b"table" | b"tbody" | b"td"
            | b"template" | b"textarea" | b"tfoot" | b"th" | b"thead" | b"title" | b"tr" | b"ul" | b"video"
            | b"xmp"
    )
}

/// Closes unclosed comments at the end of their tag, as mail readers do. By the standard the rest of the document would
/// be part of the comment, which would hide a spammer's text.
pub(super) fn close_comments(html: &str) -> Cow<'_, str> {
    if memmem::find(html.as_bytes(), b"<!--").is_none() {
        return Cow::Borrowed(html);
    }
    let (closed, open) = html.split_at(memmem::rfind(html.as_bytes(), b"-->").map_or(0, |at| at + 3));
    if !open.contains("<!--") {
        return Cow::Borrowed(html);
    }
    Cow::Owned([closed, &open.replace("<!--", "<?")].concat()) // a processing instruction: ends at `>`
}
