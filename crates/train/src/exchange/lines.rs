//! Reading lines of bounded length.

use std::io::{BufRead, Read};

use tamis_store::error::{Error, Reason, Result};

/// Maximum length of a line in bytes: a document with tens of millions of distinct terms.
const LINE_LIMIT: u64 = 1 << 30;

/// Lines of a file, of bounded length.
pub(super) struct Lines<R> {
    pub(super) input: R,
    /// The number of the last line read, from 1.
    pub(super) line: u64,
    pub(super) bytes: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn next(&mut self) -> Result<Option<&[u8]>> {
        self.bytes.clear();
        self.line += 1;
        let read = self.input.by_ref().take(LINE_LIMIT).read_until(b'\n', &mut self.bytes);
        let n = read.map_err(|source| Reason::Io { path: "input".into(), source })?;
        if n as u64 == LINE_LIMIT {
            return Err(self.unlike(format!("at most {LINE_LIMIT} bytes"), "more"));
        }
        Ok((n > 0).then(|| self.bytes.trim_ascii_end()))
    }

    pub(super) fn parse<T: serde::de::DeserializeOwned>(&mut self, what: &str) -> Result<Option<T>> {
        if self.next()?.is_none() {
            return Ok(None);
        }
        self.read(what).map(Some)
    }

    /// Parses the last line read. Errors give only the position, since the text may be from somebody's mail.
    pub(super) fn read<T: serde::de::DeserializeOwned>(&self, what: &str) -> Result<T> {
        serde_json::from_slice(&self.bytes).map_err(|error| {
            let got = if error.is_data() { "something else" } else { "a line that is no JSON" };
            self.unlike(what, format!("{got} at column {}", error.column()))
        })
    }

    pub(super) fn unlike(&self, expected: impl ToString, got: impl ToString) -> Error {
        Reason::Import { line: self.line, expected: expected.to_string(), got: got.to_string() }.into()
    }
}
