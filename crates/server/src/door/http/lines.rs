//! Splits a body into lines, however it is cut into chunks.

use crate::models::failure::Failure;
use crate::service::admission::Incoming;

/// Lines that arrive in chunks. Only one that is not yet complete is kept, as far as a message may be long.
#[derive(Default)]
pub(super) struct Lines {
    /// The beginning of a line, or why it cannot be kept.
    partial: Option<Result<Incoming, Failure>>,
}

impl Lines {
    /// Adds a chunk. Calls `on_line` for each line that it completes, without its line feed; empty ones are left out as
    /// `None`.
    pub(super) fn push(
        &mut self,
        chunk: &[u8],
        new: &dyn Fn() -> Incoming,
        mut on_line: impl FnMut(Option<Result<&[u8], Failure>>),
    ) {
        let mut rest = chunk;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.keep(&rest[..end], new);
            self.finish(&mut on_line);
            rest = &rest[end + 1..];
        }
        self.keep(rest, new);
    }

    /// Ends the current line. At the end of the body, it may have no line feed.
    pub(super) fn finish(&mut self, mut on_line: impl FnMut(Option<Result<&[u8], Failure>>)) {
        match self.partial.take() {
            Some(Ok(line)) => on_line(Some(Ok(line.bytes()))),
            Some(Err(failure)) => on_line(Some(Err(failure))),
            None => on_line(None),
        }
    }

    /// Whether a line has begun to arrive.
    pub(super) fn is_within(&self) -> bool {
        self.partial.is_some()
    }

    fn keep(&mut self, bytes: &[u8], new: &dyn Fn() -> Incoming) {
        if bytes.is_empty() {
            return;
        }
        let partial = self.partial.get_or_insert_with(|| Ok(new()));
        if let Ok(line) = partial
            && let Err(failure) = line.push(bytes)
        {
            *partial = Err(failure);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::admission::{Admission, TooLong};

    const LIMIT: usize = 9;

    fn split(chunks: &[&[u8]]) -> Vec<String> {
        let admission = Admission::new(1 << 20, LIMIT);
        let mut lines = Lines::default();
        let mut found = Vec::new();
        let mut on_line = |line: Option<Result<&[u8], Failure>>| {
            found.push(match line {
                Some(Ok(line)) => String::from_utf8(line.to_vec()).unwrap(),
                Some(Err(failure)) => format!("{failure:?}"),
                None => "-".to_owned(),
            });
        };
        for chunk in chunks {
            lines.push(chunk, &|| admission.incoming(TooLong::Refuse), &mut on_line);
        }
        lines.finish(&mut on_line);
        assert!(!lines.is_within() && admission.in_flight() == 0);
        found
    }

    #[test]
    fn lines_are_the_same_wherever_the_body_is_cut() {
        for body in
            ["", "\n", "one\ntwo\r\n\nthree", "a\nlonger than nine\nb\n", "123456789\n1234567890\n\n\n"]
        {
            let body = body.as_bytes();
            let whole = split(&[body]);
            for first in 0..=body.len() {
                for second in first..=body.len() {
                    let chunks = [&body[..first], &body[first..second], &body[second..]];
                    assert_eq!(split(&chunks), whole, "{first} {second}");
                }
            }
            let bytes: Vec<&[u8]> = body.chunks(1).collect();
            assert_eq!(split(&bytes), whole);
        }
        assert_eq!(split(&[b"one\ntwo\r\n\nthree"]), ["one", "two\r", "-", "three"]);
        assert_eq!(split(&[b"a\nlonger than nine\nb\n"]), ["a", "TooLarge(9)", "b", "-"]);
    }
}
