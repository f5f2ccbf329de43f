//! The parts of a multipart body (RFC 2046, section 5.1.1).
use crate::message::fields::line_end;
use memchr::memmem;

/// The longest boundary that is guessed, in bytes.
const LONGEST_GUESSED: usize = 200;

/// The regions between the boundary lines of a multipart. A closing line ends the last region only if no other boundary
/// line follows.
pub(crate) struct BodyParts<'a> {
    body: &'a [u8],
    boundary: Vec<u8>,
    /// Start of the next region; `None` after the last.
    next: Option<usize>,
    /// Start of the last boundary line that does not close; searched at the first line that closes.
    last_open: Option<usize>,
}

impl<'a> BodyParts<'a> {
    /// `None` if no line of the body is a boundary.
    pub(crate) fn new(body: &'a [u8], boundary: &[u8]) -> Option<Self> {
        let mut sections = BodyParts { body, boundary: boundary.to_owned(), next: None, last_open: None };
        let (_, next) = sections.find_boundary(0)?;
        sections.next = next;
        Some(sections)
    }

    /// Takes the first line that looks like a boundary line: two hyphens, and a MIME field in the line after it.
    pub(crate) fn guess(body: &'a [u8]) -> Option<Self> {
        let boundary = hyphen_lines(body, 0).find_map(|(start, end)| {
            let boundary = body[start + 2..end].trim_ascii_end();
            let name = body[end..].get(..8)?;
            let is_boundary = name.eq_ignore_ascii_case(b"content-") && boundary.len() <= LONGEST_GUESSED;
            is_boundary.then_some(boundary)
        });
        BodyParts::new(body, boundary?)
    }

    /// The first boundary line at or after the line start `position`: its start, and the start of the region after it.
    fn find_boundary(&mut self, position: usize) -> Option<(usize, Option<usize>)> {
        let found = self.boundary_lines(position).next();
        #[cfg(test)]
        tamis_testing::step(found.map_or(self.body.len(), |(start, ..)| start) - position);
        let (start, end, closes) = found?;
        if !closes {
            return Some((start, Some(end)));
        }
        let last_open = match self.last_open {
            Some(last_open) => last_open,
            None => self.boundary_lines(end).filter(|(.., closes)| !closes).last().map_or(0, |(at, ..)| at),
        };
        self.last_open = Some(last_open);
        Some((start, (start < last_open).then_some(end)))
    }

    /// The boundary lines from the line start `position` on: start, end, and whether they close the multipart.
    fn boundary_lines(&self, position: usize) -> impl Iterator<Item = (usize, usize, bool)> {
        hyphen_lines(self.body, position).filter_map(|(start, end)| {
            match self.body[start + 2..end].strip_prefix(self.boundary.as_slice())?.trim_ascii() {
                b"" => Some((start, end, false)),
                b"--" => Some((start, end, true)),
                _ => None,
            }
        })
    }
}

/// Start and end of the lines that begin with two hyphens, perhaps after a carriage return, from the line start `position`
/// on.
fn hyphen_lines(body: &[u8], position: usize) -> impl Iterator<Item = (usize, usize)> {
    let begins_line = |at: &usize| matches!(body[..*at], [] | [b'\r'] | [.., b'\n'] | [.., b'\n', b'\r']);
    let hyphens = memmem::find_iter(&body[position..], b"--").map(move |at| position + at);
    hyphens.filter(begins_line).map(|start| (start, line_end(body, start)))
}

impl<'a> Iterator for BodyParts<'a> {
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
        let sections = BodyParts::new(body.as_bytes(), b"b");
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
        check("preamble\n--b \nA\n\n--bb\n--b\t\r\nB\r\n--b--\nepilogue\n", Some(&["A\n\n--bb", "B"]));
        check("--b\r\nA\r\n\r\n--b\r\nno end\r\n", Some(&["A\r\n", "no end"]));
        // what closes ends nothing if the boundary comes again
        check("--b\nA\n--b--\nB\n--b\nC\n--b--\nepilogue\n", Some(&["A", "B", "C"]));
        check("--b--\n--b\nA\n--b--\n--b--\n", Some(&["", "A"]));
    }

    #[test]
    fn guesses() {
        for (body, expected) in [
            ("x\n--\n--a\ntext\n--c \nContent-Type: a/b\n\nA\n--c--\n", Some("Content-Type: a/b\n\nA")),
            ("--\r\ncontent-id: a\r\n\r\nA\r\n", Some("content-id: a\r\n\r\nA")),
            ("--a\n\nContent-Type: text/plain\n", None),
            ("--", None),
        ] {
            let first = BodyParts::guess(body.as_bytes()).and_then(|mut sections| sections.next());
            assert_eq!(first.map(|first| str::from_utf8(first).unwrap()), expected, "{body:?}");
        }
    }

    #[test]
    fn hostile_bodies_are_linear() {
        for unit in ["--b--\n", "--b--\n--b\n", "--b\n--b--\n--b--\n", "--\n", "--b--", "--b \n"] {
            check_linear(&[unit], |text| {
                for body in [text.to_owned(), format!("{text}--b\n"), format!("{text}--b\nContent-")] {
                    BodyParts::new(body.as_bytes(), b"b").into_iter().flatten().for_each(drop);
                    BodyParts::guess(body.as_bytes()).into_iter().flatten().for_each(drop);
                }
            });
        }
    }
}
