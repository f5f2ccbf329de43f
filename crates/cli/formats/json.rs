//! JSON: a row as an object on its line, and an array read as one line per element.

use std::fmt;
use std::io::{self, ErrorKind, Read};

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::error::Category;

/// The members of a JSON object, in order.
#[cfg_attr(test, derive(Debug))]
pub(crate) struct Object(pub(super) Vec<(String, Value)>);

impl Object {
    /// The value of a key. Case matters only if keys differ by nothing else.
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.position(key).map(|at| &self.0[at].1)
    }

    /// Takes a value out, which is null from then on.
    pub(crate) fn take(&mut self, key: &str) -> Option<Value> {
        self.position(key).map(|at| self.0[at].1.take())
    }

    fn position(&self, key: &str) -> Option<usize> {
        let find = |is_it: fn(&str, &str) -> bool| self.0.iter().position(|(known, _)| is_it(known, key));
        find(|known, key| known == key).or_else(|| find(str::eq_ignore_ascii_case))
    }

    /// Whether it holds a whole table, column by column, as pandas writes by default.
    pub(crate) fn is_of_columns(&self) -> bool {
        self.0.iter().all(|(_, value)| value.is_object() || value.is_array())
    }

    /// A key that occurs twice.
    fn repeated(&self) -> Option<String> {
        let mut keys: Vec<_> = self.0.iter().map(|(key, _)| key).collect();
        keys.sort_unstable();
        keys.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0].clone())
    }
}

/// A value as the text of a cell; null is empty.
pub(super) fn text_of(value: Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// Reads a line as an object without repeated keys.
pub(crate) fn read_object(line: &[u8]) -> Result<Object, String> {
    let line = str::from_utf8(line).map_err(|_| "expected a line of UTF-8, got other bytes".to_owned())?;
    // never the text itself, which may be private
    let line = line.strip_prefix('\u{feff}').unwrap_or(line);
    let read = match serde_json::from_str::<Object>(line) {
        Ok(object) if !object.0.iter().any(|(_, value)| is_rounded(value)) => Ok(object),
        read => serde_json::from_str(&mended(line)).or(read),
    };
    let object = read.map_err(|error: serde_json::Error| match error.classify() {
        Category::Eof => "expected a JSON object, got the beginning of one".to_owned(),
        Category::Data => "expected a JSON object, got a JSON value of another kind".to_owned(),
        _ => format!("expected a JSON object, got something else at column {}", error.column()),
    })?;
    let twice = object.repeated();
    twice.map_or(Ok(object), |key| Err(format!("expected each key once, got {key:?} twice")))
}

/// Whether a number in a value may have been an integer of more digits than a float keeps.
fn is_rounded(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64() && number.as_f64().is_some_and(|n| n.abs() >= 2f64.powi(63)),
        Value::Array(values) => values.iter().any(is_rounded),
        _ => false,
    }
}

/// What lax writers write, as JSON: numbers that are none or too large become null, halves of surrogate pairs U+FFFD,
/// integers that fit no type strings of their digits. So they cost no more than their value.
fn mended(line: &str) -> String {
    let (mut mended, mut rest) = (String::with_capacity(line.len()), line);
    while !rest.is_empty() {
        let quote = rest.find('"').unwrap_or(rest.len());
        for token in rest[..quote].split_inclusive([',', ':', '[', ']', '{', '}', ' ', '\t']) {
            let word = token.trim_end_matches([',', ':', '[', ']', '{', '}', ' ', '\t']);
            let is_number = word.parse().is_ok_and(f64::is_finite);
            let is_none = !is_number && word.parse::<f64>().is_ok();
            let is_integer = word.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit());
            let is_long =
                is_number && is_integer && word.parse::<i64>().is_err() && word.parse::<u64>().is_err();
            let quote = if is_long { "\"" } else { "" };
            mended.extend([quote, if is_none { "null" } else { word }, quote, &token[word.len()..]]);
        }
        rest = push_string(&rest[quote..], &mut mended);
    }
    mended
}

/// Appends the string at the start, if there is one; returns what follows it.
fn push_string<'a>(text: &'a str, out: &mut String) -> &'a str {
    let half = |at: usize| {
        let digits = text.get(at..)?.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok().filter(|unit| (0xd800..0xe000).contains(unit))
    };
    let (mut at, mut copied) = (1.min(text.len()), 0);
    while let Some(byte) = text.as_bytes().get(at).filter(|byte| **byte != b'"') {
        let pair = half(at).map(|unit| unit < 0xdc00 && half(at + 6).is_some_and(|low| low >= 0xdc00));
        if pair == Some(false) {
            out.extend([&text[copied..at], "\\ufffd"]);
            copied = at + 6;
        }
        at += match pair {
            Some(true) => 12,
            Some(false) => 6,
            None => 1 + usize::from(*byte == b'\\'),
        };
    }
    let end = (at + 1).min(text.len());
    out.push_str(&text[copied..end]);
    &text[end..]
}

// `serde_json` alone would take the last value of a repeated key
impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Object(Vec::new()))
    }
}

impl<'de> Visitor<'de> for Object {
    type Value = Object;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Object, A::Error> {
        while let Some(member) = map.next_entry()? {
            self.0.push(member);
        }
        Ok(self)
    }
}

/// Whether JSON begins with an array, whatever the file's name says.
pub(crate) fn begins_array(start: &[u8]) -> bool {
    without_mark(start).first() == Some(&b'[')
}

/// Whether the first line of a file is a whole object. The line may be longer than what is known of it.
pub(crate) fn begins_object_line(start: &[u8]) -> bool {
    let line = without_mark(start).split(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_cut = line.len() == without_mark(start).len();
    line.first() == Some(&b'{') && (line.trim_ascii_end().last() == Some(&b'}') || is_cut && line.len() > 1)
}

fn without_mark(start: &[u8]) -> &[u8] {
    start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start()
}

/// Reads the JSON array in another reader. Each element becomes a line, so that elements are numbered from 1 and read
/// one at a time as in JSON lines. Elements are not checked here.
pub(crate) struct Elements<R> {
    array: R,
    position: ArrayState,
    /// Number of open brackets and braces within the element.
    depth: u64,
    /// The error to report after the bytes already read.
    failure: Option<&'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ArrayState {
    Before,
    Within,
    String,
    /// After the backslash in a string.
    Escape,
    After,
}

impl<R: Read> Elements<R> {
    pub(crate) fn new(array: R) -> Self {
        Elements { array, position: ArrayState::Before, depth: 0, failure: None }
    }

    /// The byte to write for a byte of the array.
    fn written(&mut self, byte: u8) -> Result<u8, &'static str> {
        match (self.position, byte) {
            (ArrayState::Escape, _) => self.position = ArrayState::String,
            (ArrayState::String, b'\\') => self.position = ArrayState::Escape,
            (ArrayState::String, b'"') => self.position = ArrayState::Within,
            (ArrayState::String, _) => (),
            // including the bytes of a byte order mark
            (ArrayState::Before, b' ' | b'\t' | b'\r' | b'\n' | 0xef | 0xbb | 0xbf) => return Ok(b' '),
            (ArrayState::Before, b'[') => {
                self.position = ArrayState::Within;
                return Ok(b' ');
            }
            (ArrayState::Before, _) => return Err("expected a JSON array, got another beginning"),
            (ArrayState::After, b' ' | b'\t' | b'\r' | b'\n') => return Ok(b' '),
            (ArrayState::After, _) => return Err("expected nothing after a JSON array, got more"),
            (ArrayState::Within, b'"') => self.position = ArrayState::String,
            (ArrayState::Within, b'{' | b'[') => self.depth += 1,
            (ArrayState::Within, b'}' | b']') if self.depth > 0 => self.depth -= 1,
            (ArrayState::Within, b']') => {
                self.position = ArrayState::After;
                return Ok(b'\n');
            }
            (ArrayState::Within, b',') if self.depth == 0 => return Ok(b'\n'),
            (ArrayState::Within, b'\r' | b'\n') => return Ok(b' '),
            (ArrayState::Within, _) => (),
        }
        Ok(byte)
    }
}

impl<R: Read> Read for Elements<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(failure) = self.failure {
            return Err(io::Error::new(ErrorKind::InvalidData, failure));
        }
        let n = self.array.read(buffer)?;
        if n == 0 && !buffer.is_empty() && self.position != ArrayState::After {
            self.failure = Some("expected ] at the end of a JSON array, got the end of the file");
            return self.read(buffer);
        }
        for (at, byte) in buffer[..n].iter_mut().enumerate() {
            match self.written(*byte) {
                Ok(written) => *byte = written,
                Err(failure) => {
                    self.failure = Some(failure);
                    return if at == 0 { self.read(buffer) } else { Ok(at) };
                }
            }
        }
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_object_is_refused() {
        for line in ["{\"text\": ", "[1]", "{text}", "x", "{\"a\": 1, \"a\": 2} x"] {
            let error = read_object(line.as_bytes()).unwrap_err();
            assert!(error.starts_with("expected a JSON object, got "), "{error}");
        }
    }

    #[test]
    fn a_key_named_twice_is_refused_and_named() {
        let error =
            read_object(br#"{"label": "ham", "text": "a", "label": "spam", "text": "b"}"#).unwrap_err();
        assert_eq!(error, "expected each key once, got \"label\" twice");
        // other keys, and keys of other objects
        let object = read_object(br#"{"text": "a", "Text": "b", "x": {"text": "c"}}"#).unwrap();
        assert_eq!(object.0.len(), 3);
    }

    #[test]
    fn what_lax_writers_write_costs_no_more_than_its_value() {
        let line = r#"{"t": "NaN, \"\ud83d\ude00 \ud83d x\udc00\\", "n": NaN, "m": [-Infinity,1e999,Infinity], "k": 1e3, "ß": null}"#;
        let object = read_object(line.as_bytes()).unwrap();
        assert_eq!(object.get("t").unwrap(), "NaN, \"\u{1f600} \u{fffd} x\u{fffd}\\");
        let rest = ["n", "m", "k"].map(|key| object.get(key).unwrap().to_string());
        assert_eq!(rest, ["null", "[null,null,null]", "1000.0"]);
        assert!(read_object(br#"{"t": "\ud83d"#).is_err());
        let line = r#"{"n": 123456789012345678901234567890, "m": [-9223372036854775809, 18446744073709551615, 1e30]}"#;
        let object = read_object(line.as_bytes()).unwrap();
        let long = ["n", "m"].map(|key| object.get(key).unwrap().to_string());
        let expected =
            ["\"123456789012345678901234567890\"", "[\"-9223372036854775809\",18446744073709551615,1e+30]"];
        assert_eq!(long, expected);
    }

    fn lines(array: &str) -> (Vec<String>, Option<String>) {
        let mut text = Vec::new();
        let read = Elements::new(array.as_bytes()).read_to_end(&mut text);
        let text = String::from_utf8(text).unwrap();
        let lines = text.lines().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty());
        (lines.collect(), read.err().map(|error| error.to_string()))
    }

    #[test]
    fn elements_are_lines() {
        let array = "\u{feff} [ {\"a\":\n [1,\r\n 2]} ,\n\n{\"b\": \"x],\\\"[{\"},3\n] \n";
        assert_eq!(
            lines(array),
            (vec!["{\"a\":  [1,   2]}".into(), "{\"b\": \"x],\\\"[{\"}".into(), "3".into()], None)
        );
        assert_eq!(lines("[]"), (vec![], None));
    }

    #[test]
    fn what_is_no_whole_array_is_told_after_what_was_read() {
        for (array, n, told) in [
            ("{\"a\": 1}", 0, "expected a JSON array"),
            ("", 0, "expected ]"),
            ("[{}, {}", 2, "expected ]"),
            ("[{}, \"a]", 2, "expected ]"),
            ("[{}] []", 1, "expected nothing after"),
        ] {
            let (lines, error) = lines(array);
            assert_eq!(lines.len(), n, "{array}");
            assert!(error.as_ref().is_some_and(|error| error.starts_with(told)), "{array}: {error:?}");
        }
    }

    proptest! {
        #[test]
        fn anything_is_mended(line in "([\"\\\\ud8c0f, :é]|NaN|1e999|\\\\ud8[0-9a-f]{2}){0,20}") {
            drop(mended(&line));
        }

        #[test]
        fn an_array_of_objects_is_read_back(texts in prop::collection::vec("[a-z\"\\\\,\\[\\]{}\n]{0,12}", 0..5), pretty: bool) {
            let array = Value::from(texts.iter().map(|text| serde_json::json!({"t": [text]})).collect::<Vec<_>>());
            let written = if pretty { serde_json::to_string_pretty(&array) } else { serde_json::to_string(&array) }.unwrap();
            let (lines, error) = lines(&written);
            prop_assert_eq!(error, None);
            let read = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>();
            prop_assert_eq!(Value::from(read), array);
        }
    }
}
