//! Parsing a message: header fields, MIME parts, text.
//!
//! A [`Message`] is the result. [`fields`] reads header fields and [`mime`] splits a message into [parts](part::Part) at
//! the lines that [`body_parts`] finds; [`transfer`] (quoted-printable, base64, uuencode), [`charset`], [`encoded_word`]
//! and [`parameters`] decode them, and [`data_uri`] takes out what HTML embeds. What is not declared a text is judged by its
//! bytes (`mime/files.rs`); [`cms`] and [`tnef`] open what S/MIME and Outlook pack.
//!
//! Readers of mail differ in what they make of broken mail, and a spammer needs one that shows the text. So what any of
//! them may take for a header field, a boundary or an encoding is tried: too much text does little harm, too little does.

pub(crate) mod author;
mod body_parts;
pub(crate) mod charset;
mod cms;
mod data_uri;
pub(crate) mod encoded_word;
pub(crate) mod fields;
pub(crate) mod forwarded;
pub mod ignored;
pub(crate) mod limits;
pub(crate) mod mime;
pub(crate) mod parameters;
pub(crate) mod part;
mod tnef;
pub(crate) mod transfer;
mod wrapper;

use memchr::memchr_iter;

use crate::message::encoded_word::decode_words;
use crate::message::ignored::{is_ignored, matches_any};
use crate::message::limits::{Limits, LimitsHit};
use crate::message::part::Part;

/// A mail message: its header fields, its parts, its text.
///
/// ```
/// use tamis_mail::{Limits, Message};
///
/// let raw = b"From: a@example.org\nSubject: Offer\nX-Spam-Flag: YES\n\nBuy now\n";
/// let message = Message::parse(raw, &Limits::default());
/// assert_eq!(message.header("from"), Some("a@example.org"));
/// assert_eq!(message.header("x-spam-flag"), None); // another filter's word is no evidence
///
/// assert_eq!((message.headers().len(), message.body()), (2, "Buy now\n".to_owned()));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The names and values of the header fields, concatenated.
    header_text: String,
    places: Vec<FieldSpan>,
    parts: Vec<Part>,
    limits_hit: LimitsHit,
}

/// The position of a header field in the concatenated text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct FieldSpan {
    end_of_name: usize,
    end: usize,
    key: u128,
}

/// A hash key of a name: its length and lower-cased beginning. Names that differ only in case have the same key. Names
/// that differ otherwise share a key only if they are long.
fn key(name: &str) -> u128 {
    const ONES: u128 = u128::MAX / 255;
    let mut key = [0; 16];
    let n = name.len().min(LONGEST_IN_KEY);
    key[..n].copy_from_slice(&name.as_bytes()[..n]);
    key[LONGEST_IN_KEY] = name.len().min(255) as u8;
    let key = u128::from_le_bytes(key);
    // all bytes at once: the highest bit of each byte compares its lower seven
    let seven = key & (ONES * 0x7f);
    let [from_a, behind_z] = [b'A', b'Z' + 1].map(|letter| seven + ONES * u128::from(0x80 - letter));
    let capitals = (from_a ^ behind_z) & !key & (ONES * 0x80);
    key | capitals >> 2
}

/// The longest name that fits into its key, in bytes.
const LONGEST_IN_KEY: usize = 15;

/// A header field of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeaderField<'m> {
    /// The name as written, without the colon.
    pub name: &'m str,
    /// The value on one line, with encoded words decoded (RFC 2047).
    pub value: &'m str,
}

impl Message {
    /// Parses a message. Never fails.
    ///
    /// A leading mbox `From ` line is dropped. Bytes without a header block are a plain text body. If SpamAssassin, amavis
    /// or Exchange wrapped the message into a report of theirs, reads the message inside.
    pub fn parse(raw: &[u8], limits: &Limits) -> Message {
        Message::parse_ignoring(raw, limits, &[])
    }

    /// Parses the header of a message alone, as far as it stands in the first 64 KiB.
    pub fn parse_header(raw: &[u8]) -> Message {
        let raw = &raw[..raw.len().min(64 << 10)];
        let mut ends = memchr_iter(b'\n', raw).map(|at| at + 1);
        let end = ends.find(|end| raw[*end..].starts_with(b"\n") || raw[*end..].starts_with(b"\r\n"));
        Message::parse(&raw[..end.unwrap_or(raw.len())], &Limits::default())
    }

    /// Parses a message, ignoring header fields of these names too. Case does not matter; a final `*` stands for any
    /// ending.
    ///
    /// ```
    /// use tamis_mail::{Limits, Message};
    ///
    /// let raw = b"X-Our-Gateway: 1\nSubject: Offer\n\n";
    /// let message = Message::parse_ignoring(raw, &Limits::default(), &["x-our-*".to_owned()]);
    /// assert_eq!(message.headers().len(), 1);
    /// ```
    pub fn parse_ignoring(raw: &[u8], limits: &Limits, extra_ignored: &[String]) -> Message {
        let (mut header_text, mut places) = (String::with_capacity(2_000), Vec::with_capacity(30));
        let (parts, limits_hit, _) = mime::read_parts(raw, limits, None, &mut |field| {
            let Some(field) = field else {
                header_text.clear();
                return places.clear();
            };
            if !is_ignored(field.name) && !matches_any(field.name, extra_ignored) {
                header_text.push_str(field.name);
                let end_of_name = header_text.len();
                let value = field.unfolded();
                header_text.push_str(&if field.may_be_encoded { decode_words(&value) } else { value });
                places.push(FieldSpan { end_of_name, end: header_text.len(), key: key(field.name) });
            }
        });
        Message { header_text, places, parts, limits_hit }
    }

    /// The header fields in order, without those that [`ignored`](crate::message::ignored) lists.
    pub fn headers(&self) -> impl ExactSizeIterator<Item = HeaderField<'_>> {
        (0..self.places.len()).map(|number| self.field(number))
    }

    fn field(&self, number: usize) -> HeaderField<'_> {
        let FieldSpan { end_of_name, end, .. } = self.places[number];
        let start = number.checked_sub(1).map_or(0, |before| self.places[before].end);
        HeaderField {
            name: &self.header_text[start..end_of_name],
            value: &self.header_text[end_of_name..end],
        }
    }

    /// The value of the first field of this name; case does not matter.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.values(name).next()
    }

    /// The values of all fields of this name.
    pub(crate) fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        let key = key(name);
        let likely = self.places.iter().enumerate().filter(move |(_, place)| place.key == key);
        let fields = likely.map(|(number, _)| self.field(number));
        let is_it = move |field: &HeaderField<'_>| {
            name.len() <= LONGEST_IN_KEY || field.name.eq_ignore_ascii_case(name)
        };
        fields.filter(is_it).map(|field| field.value)
    }

    /// The decoded subject, empty if there is none.
    pub fn subject(&self) -> &str {
        self.header("subject").unwrap_or_default()
    }

    /// The parts, depth first, multipart containers included.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The text of all parts, HTML converted, joined by newlines.
    pub fn body(&self) -> String {
        let texts = self.parts.iter().map(Part::plain_text).filter(|text| !text.is_empty());
        texts.collect::<Vec<_>>().join("\n")
    }

    /// The limits that truncated the message.
    pub fn limits_hit(&self) -> LimitsHit {
        self.limits_hit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_tell_names_apart(a in "[!-~]{0,20}|[A-C]{14,16}|\\PC{0,9}", other in "[!-~]{0,20}|[a-c]{14,16}", b in 0..3) {
            let b = [a.to_ascii_lowercase(), a.to_ascii_uppercase(), other][b as usize].clone();
            let is_same = a.eq_ignore_ascii_case(&b);
            prop_assert!(!is_same || key(&a) == key(&b));
            prop_assert_eq!(is_same, key(&a) == key(&b) && (a.len() <= LONGEST_IN_KEY || a.eq_ignore_ascii_case(&b)));
        }
    }
}
