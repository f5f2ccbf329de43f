//! A JSON array, read as one line per element.

use std::io::{self, ErrorKind, Read};

/// Reads the JSON array in another reader. Each element becomes a line, so that elements are numbered from 1 and read
/// one at a time as in JSON lines. Elements are not checked here.
pub(crate) struct Elements<R> {
    array: R,
    position: Position,
    /// Number of open brackets and braces within the element.
    depth: u64,
    /// The error to report after the bytes already read.
    failure: Option<&'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    Before,
    Within,
    String,
    /// After the backslash in a string.
    Escape,
    After,
}

impl<R: Read> Elements<R> {
    pub(crate) fn new(array: R) -> Self {
        Elements { array, position: Position::Before, depth: 0, failure: None }
    }

    /// The byte to write for a byte of the array.
    fn written(&mut self, byte: u8) -> Result<u8, &'static str> {
        match (self.position, byte) {
            (Position::Escape, _) => self.position = Position::String,
            (Position::String, b'\\') => self.position = Position::Escape,
            (Position::String, b'"') => self.position = Position::Within,
            (Position::String, _) => (),
            // including the bytes of a byte order mark
            (Position::Before, b' ' | b'\t' | b'\r' | b'\n' | 0xef | 0xbb | 0xbf) => return Ok(b' '),
            (Position::Before, b'[') => {
                self.position = Position::Within;
                return Ok(b' ');
            }
            (Position::Before, _) => return Err("expected a JSON array, got another beginning"),
            (Position::After, b' ' | b'\t' | b'\r' | b'\n') => return Ok(b' '),
            (Position::After, _) => return Err("expected nothing after a JSON array, got more"),
            (Position::Within, b'"') => self.position = Position::String,
            (Position::Within, b'{' | b'[') => self.depth += 1,
            (Position::Within, b'}' | b']') if self.depth > 0 => self.depth -= 1,
            (Position::Within, b']') => {
                self.position = Position::After;
                return Ok(b'\n');
            }
            (Position::Within, b',') if self.depth == 0 => return Ok(b'\n'),
            (Position::Within, b'\r' | b'\n') => return Ok(b' '),
            (Position::Within, _) => (),
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
        if n == 0 && !buffer.is_empty() && self.position != Position::After {
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
        fn an_array_of_objects_is_read_back(texts in prop::collection::vec("[a-z\"\\\\,\\[\\]{}\n]{0,12}", 0..5), pretty: bool) {
            let array = serde_json::Value::from(texts.iter().map(|text| serde_json::json!({"t": [text]})).collect::<Vec<_>>());
            let written = if pretty { serde_json::to_string_pretty(&array) } else { serde_json::to_string(&array) }.unwrap();
            let (lines, error) = lines(&written);
            prop_assert_eq!(error, None);
            let read = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<serde_json::Value>>();
            prop_assert_eq!(serde_json::Value::from(read), array);
        }
    }
}
