//! Header fields of a message or MIME part (RFC 5322, section 2.2), and whether a file is mail by them.
use crate::message::charset::decode_header;
use crate::message::ignored::is_verdict;
use memchr::{memchr, memchr_iter, memchr2};
use std::borrow::Cow;
use std::ops::Range;
use std::str::Utf8Error;

/// The byte order mark of UTF-8.
pub(crate) const MARK: &[u8] = b"\xef\xbb\xbf";

/// Bytes of a header block checked for UTF-8 at once; most blocks are shorter.
const PLAIN: usize = 4_096;

/// A raw header field, folded and undecoded.
#[derive(Clone, Debug)]
pub(crate) struct Field<'a> {
    /// The name as written.
    pub(crate) name: &'a str,
    /// Everything after the colon, line ends included.
    value: &'a [u8],
    /// The value as text, if known to be UTF-8 without NUL.
    text: Option<&'a str>,
    /// Whether the value is known to be one line, even if a lone carriage return counts as a line end.
    is_one_line: bool,
    /// Whether there may be encoded words.
    pub(crate) may_be_encoded: bool,
}

impl<'a> Field<'a> {
    pub(crate) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// Whether the value has no byte outside ASCII.
    pub(crate) fn is_ascii(&self) -> bool {
        self.value.is_ascii()
    }

    /// The value on one line, as text (RFC 5322, section 2.2.3); encoded words stay encoded.
    pub(crate) fn unfolded(&self) -> Cow<'a, str> {
        if let Some(text) = self.text {
            let text = text.strip_prefix('\u{feff}').unwrap_or(text);
            return if self.is_one_line { Cow::Borrowed(text.trim()) } else { on_one_line(text) };
        }
        match decode_header(self.value) {
            Cow::Borrowed(text) => on_one_line(text),
            Cow::Owned(text) => Cow::Owned(on_one_line(&text).into_owned()),
        }
    }
}

/// The text without line ends and surrounding white space, and without forged verdicts after a lone carriage return
/// (see [`verdicts_in`]).
fn on_one_line(text: &str) -> Cow<'_, str> {
    let whole = text;
    let text = whole.trim_start();
    let begins_a_line = whole[..whole.len() - text.len()].ends_with('\r');
    let text = text.trim_end();
    let is_forged =
        |rest: &str| field_name(rest.as_bytes()).is_some_and(|(name, _)| is_verdict(&rest[..name]));
    let mut forged = begins_a_line && is_forged(text);
    let first = memchr2(b'\r', b'\n', text.as_bytes());
    let Some(first) = first else { return Cow::Borrowed(if forged { "" } else { text }) };
    let (mut line, mut rest) = (String::with_capacity(text.len()), text);
    let mut end = Some(first);
    while let Some(at) = end {
        line.push_str(if forged { "" } else { &rest[..at] });
        let is_return = rest.as_bytes()[at] == b'\r';
        rest = &rest[at + 1..];
        if is_return && !rest.starts_with(['\n', ' ', '\t']) {
            forged = is_forged(rest);
        }
        end = memchr2(b'\r', b'\n', rest.as_bytes());
        #[cfg(test)]
        tamis_testing::step(at + 1);
    }
    line.push_str(if forged { "" } else { rest });
    line.truncate(line.trim_end().len());
    Cow::Owned(line)
}

/// An iterator over the fields of a header block, which ends at the first line that is not part of a field.
///
/// That is an empty line in a well-formed message, else the first line of text. `From ` and `>From ` lines, left by
/// mailboxes, are skipped, and so is a byte order mark.
pub(crate) struct HeaderFields<'a> {
    raw: &'a [u8],
    /// The prefix that is UTF-8 without NUL; checking it at once is cheaper than field by field.
    plain: &'a str,
    has_returns: bool,
    may_be_encoded: bool,
    /// The current position; the end of the block once the iterator has ended.
    pub(crate) position: usize,
    /// End of the last line of the block that begins a MIME field, up to which lines that are not fields are passed over;
    /// `None` until such a line is met.
    last_mime_field: Option<usize>,
}

impl<'a> HeaderFields<'a> {
    pub(crate) fn new(raw: &'a [u8]) -> Self {
        let start = &raw[..raw.len().min(PLAIN)];
        let start = &start[..memchr(0, start).unwrap_or(start.len())];
        let valid = |error: Utf8Error| str::from_utf8(&start[..error.valid_up_to()]).unwrap_or_default();
        let plain = str::from_utf8(start).unwrap_or_else(valid);
        let has_returns = memchr(b'\r', plain.as_bytes()).is_some();
        let is_word = |at: usize| at > 0 && plain.as_bytes()[at - 1] == b'=';
        let may_be_encoded = memchr_iter(b'?', plain.as_bytes()).any(is_word);
        let position = header_start(raw);
        HeaderFields { raw, plain, has_returns, may_be_encoded, position, last_mime_field: Some(0) }
    }

    /// As most readers find the end of the block: a line that is not a field does not end it if a MIME field follows
    /// (see [`last_mime_field`]). Such a line comes as a field without a name.
    pub(crate) fn lenient(raw: &'a [u8]) -> Self {
        HeaderFields { last_mime_field: None, ..HeaderFields::new(raw) }
    }

    /// Whether the line at `start`, which is not a field, is passed over.
    fn passes_over(&mut self, start: usize) -> bool {
        let find = || last_mime_field(&self.raw[start..]).map_or(0, |at| start + at);
        start < *self.last_mime_field.get_or_insert_with(find) && !is_empty_line(&self.raw[start..])
    }

    /// Skips to the end of the block and returns the body after it, without the empty line.
    pub(crate) fn into_body(mut self) -> &'a [u8] {
        self.by_ref().for_each(drop);
        let rest = &self.raw[self.position..];
        rest.strip_prefix(b"\n").or_else(|| rest.strip_prefix(b"\r\n")).unwrap_or(rest)
    }

    /// Whether the block ended at an empty line or at the end of the bytes.
    pub(crate) fn ended_well(&self) -> bool {
        let rest = &self.raw[self.position..];
        rest.is_empty() || is_empty_line(rest)
    }
}

impl<'a> Iterator for HeaderFields<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        loop {
            let mut start = self.position;
            let mut end = line_end(self.raw, start);
            let mut name = field_name(&self.raw[start..end]);
            let is_loose = name.is_none() && !is_mailbox_line(&self.raw[start..]);
            if is_loose && !self.passes_over(start) {
                return None;
            }
            // line ends in the wrong order, line feed first
            if is_loose && self.raw[start] == b'\r' {
                start += 1;
                name = field_name(&self.raw[start..end]);
            }
            let mut is_one_line = !self.has_returns;
            while matches!(self.raw.get(end), Some(b' ' | b'\t')) {
                end = line_end(self.raw, end);
                is_one_line = false;
            }
            self.position = end;
            if let Some((name, value)) = name.or(is_loose.then_some((0, 0))) {
                let name = start..start + name;
                let value = start + value..end;
                let text = self.plain.get(value.clone());
                // all ASCII
                let name = self.plain.get(name.clone()).or_else(|| str::from_utf8(&self.raw[name]).ok())?;
                let may_be_encoded = self.may_be_encoded || text.is_none();
                return Some(Field { name, value: &self.raw[value], text, is_one_line, may_be_encoded });
            }
        }
    }
}

/// End of the last line that begins a MIME field (RFC 2045, section 3) before the first empty line, and before the first
/// line that may be a boundary.
fn last_mime_field(raw: &[u8]) -> Option<usize> {
    let (mut start, mut last) = (0, None);
    while start < raw.len() && !is_empty_line(&raw[start..]) && !begins_part(&raw[start..]) {
        let end = line_end(raw, start);
        let line = raw[start..end].strip_prefix(b"\r").unwrap_or(&raw[start..end]);
        let name = field_name(line).map_or(&[][..], |(length, _)| &line[..length]);
        let is_mime = name.get(..8).is_some_and(|name| name.eq_ignore_ascii_case(b"content-"))
            || name.eq_ignore_ascii_case(b"mime-version");
        last = is_mime.then_some(end).or(last);
        start = end;
    }
    last
}

/// Where the header begins: behind a byte order mark.
fn header_start(raw: &[u8]) -> usize {
    if raw.starts_with(MARK) { MARK.len() } else { 0 }
}

/// The end of the line that begins at `start`, including its line feed.
pub(crate) fn line_end(raw: &[u8], start: usize) -> usize {
    let end = memchr(b'\n', &raw[start..]).map_or(raw.len(), |length| start + length + 1);
    #[cfg(test)]
    tamis_testing::step(end - start);
    end
}

/// The ranges of verdict fields from a line start on, as the most lenient reader would find them: up to the first empty
/// line, also after lines that are not fields (where [`HeaderFields`] ends) and after a lone carriage return, which some
/// programs treat as a line end.
pub(crate) fn verdicts_in(raw: &[u8], from: usize, is_wanted: impl Fn(&str) -> bool) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = from.max(header_start(raw));
    while start < raw.len() && !is_empty_line(&raw[start..]) {
        let mut end = line_end(raw, start);
        while matches!(raw.get(end), Some(b' ' | b'\t')) {
            end = line_end(raw, end);
        }
        let wanted = |at: usize| {
            let name = field_name(&raw[at..end]).map(|(length, _)| &raw[at..at + length]);
            name.and_then(|name| str::from_utf8(name).ok()).is_some_and(&is_wanted)
        };
        if wanted(start) {
            found.push(start..end);
        } else {
            let line = &raw[start..end];
            let text = line.strip_suffix(b"\n").map_or(line, |text| text.strip_suffix(b"\r").unwrap_or(text));
            let is_lone = |at: &usize| !matches!(raw.get(at + 1), Some(b'\n' | b' ' | b'\t'));
            let mut returns = memchr_iter(b'\r', text).map(|at| start + at).filter(is_lone).peekable();
            while let Some(at) = returns.next() {
                // at the start of a line, a carriage return makes an empty line, which ends the block
                if at > start && wanted(at + 1) {
                    found.push(at..returns.peek().copied().unwrap_or(start + text.len()));
                }
            }
        }
        start = end;
    }
    found
}

/// Copies a part of a message without the ranges `left_out`.
pub(crate) fn copy_without(left_out: &[Range<usize>], raw: &[u8], part: Range<usize>, out: &mut Vec<u8>) {
    let mut copied = part.start;
    for range in left_out {
        out.extend_from_slice(&raw[copied..range.start]);
        copied = range.end;
    }
    out.extend_from_slice(&raw[copied..part.end]);
}

/// Whether the line may be a boundary: `--` and more, but not a bare `--` or the blank of a signature.
fn begins_part(rest: &[u8]) -> bool {
    rest.starts_with(b"--") && rest.get(2).is_some_and(u8::is_ascii_graphic)
}

/// Whether an empty line comes first.
pub(crate) fn is_empty_line(rest: &[u8]) -> bool {
    rest.starts_with(b"\n") || rest.starts_with(b"\r\n")
}

/// Length of the field name (visible ASCII) at the start of a line, and the start of the value.
fn field_name(line: &[u8]) -> Option<(usize, usize)> {
    let length = line.iter().position(|byte| ENDS_NAME[usize::from(*byte)])?;
    // RFC 5322, section 4.5: obsolete white space before the colon
    let space = line[length..].iter().position(|c| !matches!(c, b' ' | b'\t'))?;
    (length > 0 && line[length + space] == b':').then_some((length, length + space + 1))
}

/// Whether a byte cannot be in a name. Names consist of visible ASCII without the colon.
static ENDS_NAME: [bool; 256] = {
    let mut ends = [true; 256];
    let mut byte = 0;
    while byte < 128 {
        ends[byte] = !(byte as u8).is_ascii_graphic() || byte as u8 == b':';
        byte += 1;
    }
    ends
};

pub(crate) fn is_mailbox_line(line: &[u8]) -> bool {
    line.starts_with(b"From ") || line.starts_with(b">From ")
}

/// Bytes examined to tell whether a file is mail.
const WINDOW: usize = 64 * 1024;

/// Fields typical of mail. From and Subject alone may be those of a newsgroup post.
const OF_MAIL: [&str; 9] =
    ["from", "to", "date", "received", "message-id", "return-path", "mime-version", "delivered-to", "sender"];

/// Whether bytes look like a mail message.
///
/// They must begin with well-formed header lines (RFC 5322, section 2.2; folding and an mbox `From ` line are allowed)
/// up to an empty line or the end, with at least two of From, To, Date, Received, Message-ID, Return-Path,
/// MIME-Version, Delivered-To and Sender. Examines the first 64 KiB.
///
/// ```
/// use tamis_mail::looks_like_mail;
///
/// assert!(looks_like_mail(b"From: a@example.org\nTo: b@example.org\n\nHello\n"));
/// assert!(!looks_like_mail(b"From: a@example.org\nSubject: a newsgroup post\n\nHello\n"));
/// assert!(!looks_like_mail(b"Dear reader,\nthis is a letter.\n"));
/// ```
pub fn looks_like_mail(bytes: &[u8]) -> bool {
    let mut fields = HeaderFields::new(&bytes[..bytes.len().min(WINDOW)]);
    let of_mail = are_of_mail(fields.by_ref().map(|field| field.name));
    fields.by_ref().for_each(drop);
    let cut_line = bytes.len() > WINDOW && !bytes[fields.position..WINDOW].contains(&b'\n');
    of_mail && (cut_line || fields.ended_well())
}

/// Whether the names include at least two different fields typical of mail.
pub(crate) fn are_of_mail<'a>(names: impl Iterator<Item = &'a str>) -> bool {
    let mut seen = None;
    let mut numbers = names.filter_map(|name| OF_MAIL.iter().position(|it| name.eq_ignore_ascii_case(it)));
    numbers.any(|number| seen.replace(number).is_some_and(|before| before != number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(raw: &[u8]) -> (Vec<(String, String)>, &[u8]) {
        let fields = HeaderFields::new(raw).map(|f| (f.name.to_owned(), f.unfolded().into_owned())).collect();
        (fields, HeaderFields::new(raw).into_body())
    }

    fn check(raw: &str, expected: &[(&str, &str)], body: &str) {
        let (fields, rest) = read(raw.as_bytes());
        let fields: Vec<_> = fields.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        assert_eq!((fields.as_slice(), rest), (expected, body.as_bytes()), "{raw:?}");
    }

    #[test]
    fn blocks() {
        check("", &[], "");
        check("\nbody", &[], "body");
        check("body at once\n", &[], "body at once\n");
        check(" indented: text\n", &[], " indented: text\n");
        check("A: 1", &[("A", "1")], "");
        check("A: 1\n", &[("A", "1")], "");
        check("A: 1\r\nb:2 \r\n\r\nbody\r\n", &[("A", "1"), ("b", "2")], "body\r\n");
        check("A: 1\n 2\n\t3\nB:\n 4\n\n\nx", &[("A", "1 2\t3"), ("B", "4")], "\nx");
        check("A : 1\n\n", &[("A", "1")], "");
        check("A: 1\nno field\nB: 2\n", &[("A", "1")], "no field\nB: 2\n");
        check(": no name\n", &[], ": no name\n");
        check("From a@b Fri Aug 23\nA: 1\n>From c\n d\nB: 2\n\nbody", &[("A", "1"), ("B", "2")], "body");
    }

    #[test]
    fn eight_bit_and_nul_values() {
        let (fields, _) = read(b"A: caf\xe9\nB: caf\xc3\xa9\nC: a\0b\rc\n");
        let values: Vec<_> = fields.iter().map(|f| f.1.as_str()).collect();
        assert_eq!(values, ["café", "café", "abc"]);
        // byte order marks are ignored: UTF-16 would swallow the line end
        for (raw, expected) in
            [(&b"A:\xfe\xff ab"[..], "þÿ ab"), (b"A:\xfe\xff abc\n", "þÿ abc"), (b"A:\xef\xbb\xbfa", "a")]
        {
            assert_eq!(read(raw).0[0].1, expected);
        }
    }

    proptest! {
        #[test]
        fn text_checked_at_once_is_that_checked_field_by_field(
            raw in "([A-Za-z-]{1,9}: ?|[a-z\u{e9}]{0,9}|[ \t]|\u{feff}|\u{a0}|\0|\r|\r?\n|\n|:){0,40}",
            foreign in 0..200_usize,
        ) {
            let mut raw = raw.into_bytes();
            if let Some(byte) = raw.get_mut(foreign) {
                *byte = 0xe9;
            }
            let fields = |fields: HeaderFields<'_>| {
                let field = |field: Field<'_>| (field.name.to_owned(), field.unfolded().into_owned());
                fields.map(field).collect::<Vec<_>>()
            };
            let one_by_one = HeaderFields { plain: "", has_returns: true, ..HeaderFields::new(&raw) };
            prop_assert_eq!(fields(HeaderFields::new(&raw)), fields(one_by_one));
        }
    }

    #[test]
    fn mail_and_other_files() {
        for (bytes, expected) in [
            ("From: a\nTo: b\n\nbody", true),
            ("From a@b Fri Aug 23 2002\nFrom: a\nTo: b\n\nbody", true),
            ("Received: a\n\tb\r\nDate: c\r\n\r\n", true),
            ("MESSAGE-ID: a\nSender: b", true),
            ("", false),
            ("\nFrom: a\nTo: b\n\n", false),
            ("From: a\nFrom: b\n\n", false),
            ("From: a\nSubject: b\n\n", false),
            ("From: a\nTo: b\nno header line\n\n", false),
            ("From the desk of a writer\n\nDear all", false),
            ("{\"from\": 1, \"to\": 2}", false),
        ] {
            assert_eq!(looks_like_mail(bytes.as_bytes()), expected, "{bytes:?}");
        }
    }

    #[test]
    fn only_the_beginning_is_looked_at() {
        let mut long = "From: a\nTo: b\n".to_owned();
        long += &"X-Filler: 123456789\n".repeat(10_000);
        assert!(looks_like_mail(long.as_bytes()));
        assert!(!looks_like_mail(format!("{}From: a\nTo: b\n\n", "X: y\n".repeat(20_000)).as_bytes()));
    }
}
