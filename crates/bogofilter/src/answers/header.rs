//! Writes bogofilter's line into a header block, in the place where bogofilter would write it.

use tamis_mail::passthrough::Head;

/// The marks to write into a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks<'a> {
    /// The name of the field. Fields of the message that begin with it are removed.
    pub(crate) name: &'a str,
    /// The beginning of the field before which the line goes. If empty, the line goes to the end of the block.
    pub(crate) place: &'a str,
    /// The line, and the lines of statistics that follow it.
    pub(crate) lines: &'a [String],
    /// A tag for the subject; empty for none.
    pub(crate) subject_tag: &'a str,
}

/// The beginning of a message with the marks, and where its unchanged rest begins. An empty line follows the header
/// block, whether the message had one or not. `raw` must contain the whole header block.
pub(crate) fn head(raw: &[u8], marks: &Marks<'_>) -> Head {
    let mut block = HeaderBlock::new(raw, marks);
    let mut at = 0;
    loop {
        let line = block.skip_replaced(&mut at);
        if !marks.place.is_empty() && !block.is_marked && line.starts_with(marks.place.as_bytes()) {
            block.mark();
        }
        at += line.len();
        if line.is_empty() || is_empty_line(line) || !block.has_empty_line && is_blank(line) {
            break;
        }
        block.copy(line);
    }
    if !block.is_marked {
        block.mark();
    }
    if !block.is_tagged && !marks.subject_tag.is_empty() {
        block.add(&format!("Subject: {}", marks.subject_tag));
    }
    block.out.extend_from_slice(block.line_end);
    Head { bytes: block.out, rest: at }
}

/// The line ending of a message, taken from its first line.
pub(crate) fn line_end(raw: &[u8]) -> &'static [u8] {
    if first_line(raw).ends_with(b"\r\n") { b"\r\n" } else { b"\n" }
}

/// A header block that is being copied.
struct HeaderBlock<'a> {
    raw: &'a [u8],
    marks: &'a Marks<'a>,
    line_end: &'static [u8],
    /// Whether the message has an empty line, which then ends the block. Otherwise the first line of white space does.
    has_empty_line: bool,
    out: Vec<u8>,
    is_marked: bool,
    is_tagged: bool,
}

impl<'a> HeaderBlock<'a> {
    fn new(raw: &'a [u8], marks: &'a Marks<'a>) -> Self {
        let has_empty_line = raw.split_inclusive(|byte| *byte == b'\n').any(is_empty_line);
        let (line_end, out) = (line_end(raw), Vec::with_capacity(4096));
        Self { raw, marks, line_end, has_empty_line, out, is_marked: false, is_tagged: false }
    }

    /// The next line that is not part of a replaced field; empty at the end.
    fn skip_replaced(&self, at: &mut usize) -> &'a [u8] {
        let mut line = first_line(&self.raw[*at..]);
        while !self.marks.name.is_empty() && line.starts_with(self.marks.name.as_bytes()) {
            loop {
                *at += line.len();
                line = first_line(&self.raw[*at..]);
                if !line.starts_with(b" ") && !line.starts_with(b"\t") {
                    break;
                }
            }
        }
        line
    }

    fn copy(&mut self, line: &[u8]) {
        const SUBJECT: &[u8] = b"Subject:";
        let tag = self.marks.subject_tag;
        let is_subject = line.len() >= SUBJECT.len() && line[..SUBJECT.len()].eq_ignore_ascii_case(SUBJECT);
        if self.is_tagged || tag.is_empty() || !is_subject {
            self.out.extend_from_slice(line);
            return;
        }
        self.is_tagged = true;
        let (name, value) = line.split_at(SUBJECT.len());
        self.out.extend_from_slice(&[name, b" ", tag.as_bytes()].concat());
        self.out.extend_from_slice(if value.starts_with(b" ") { b"" } else { b" " });
        self.out.extend_from_slice(value);
    }

    fn mark(&mut self) {
        self.is_marked = true;
        self.marks.lines.iter().for_each(|line| self.add(line));
    }

    /// Adds a separate line.
    fn add(&mut self, line: &str) {
        if !self.out.is_empty() && !self.out.ends_with(b"\n") {
            self.out.extend_from_slice(self.line_end);
        }
        self.out.extend_from_slice(line.as_bytes());
        self.out.extend_from_slice(self.line_end);
    }
}

fn first_line(bytes: &[u8]) -> &[u8] {
    &bytes[..memchr::memchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1)]
}

fn is_empty_line(line: &[u8]) -> bool {
    matches!(line, b"\n" | b"\r\n")
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|byte| byte.is_ascii_whitespace() || matches!(byte, 0x08 | 0x0b))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever the message is, a line is added and an empty line follows the header block. Everything else stays.
        #[test]
        fn nothing_else_changes(raw in "([A-Z]: [a-z]*|[ \t]?[a-z]{0,3}|X-B: a|)(\r?\n([A-Z]: [a-z]*|[ \t]?[a-z]{0,3}|X-B: a|)){0,8}\n?") {
            let lines = ["X-Marked: 1".to_owned()];
            let marks = Marks { name: "X-B", place: "", lines: &lines, subject_tag: "" };
            let Head { bytes, rest } = head(raw.as_bytes(), &marks);
            prop_assert!(bytes.ends_with(b"\n"));
            let all = String::from_utf8([&bytes, &raw.as_bytes()[rest..]].concat()).unwrap();
            let wanted = |text: &str| -> Vec<String> {
                let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("X-Marked"));
                lines.map(str::to_owned).collect()
            };
            let (out, kept) = (wanted(&all), wanted(&raw));
            prop_assert_eq!(all.matches("X-Marked: 1").count(), 1);
            // replacing a field removes its folded lines too
            let without = |lines: Vec<String>| -> Vec<String> {
                lines.into_iter().filter(|line| !line.starts_with("X-B") && !line.starts_with([' ', '\t'])).collect()
            };
            prop_assert_eq!(without(out), without(kept));
        }
    }

    fn check_with(marks: Marks<'_>, raw: &str, expected: &str) {
        let Head { bytes, rest } = head(raw.as_bytes(), &marks);
        let whole = [&bytes, &raw.as_bytes()[rest..]].concat();
        assert_eq!(String::from_utf8_lossy(&whole), expected, "{raw:?}");
    }

    fn check(raw: &str, expected: &str) {
        let lines = ["X-B: Ham".to_owned()];
        check_with(Marks { name: "X-B", place: "", lines: &lines, subject_tag: "" }, raw, expected);
    }

    #[test]
    fn the_line_stands_at_the_end_of_the_block() {
        check("A: b\n\nbody\n", "A: b\nX-B: Ham\n\nbody\n");
        check("A: b\r\n\r\nbody\r\n", "A: b\r\nX-B: Ham\r\n\r\nbody\r\n");
        check("A: b\n c\n\n\n\nbody", "A: b\n c\nX-B: Ham\n\n\n\nbody");
        check("", "X-B: Ham\n\n");
        check("\n", "X-B: Ham\n\n");
        check("A: b\n", "A: b\nX-B: Ham\n\n");
        check("A: b", "A: b\nX-B: Ham\n\n");
    }

    #[test]
    fn a_line_of_spaces_ends_the_block_only_without_an_empty_one() {
        check("A: b\n \nC: d\n\nbody\n", "A: b\n \nC: d\nX-B: Ham\n\nbody\n");
        check("A: b\n \t\nC: d\n", "A: b\nX-B: Ham\n\nC: d\n");
    }

    #[test]
    fn lines_of_the_sender_are_removed_up_to_the_body() {
        check("X-B: a\n b\nX-B: c\nx-b: d\n\nX-B: e\n", "x-b: d\nX-B: Ham\n\nX-B: e\n");
        check("A: b\nX-B: c", "A: b\nX-B: Ham\n\n");
    }

    #[test]
    fn a_place_and_a_tag_of_the_subject() {
        let lines = ["X-B: Spam".to_owned(), "  more".to_owned()];
        let marks = Marks { name: "X-B", place: "Place", lines: &lines, subject_tag: "***" };
        check_with(
            marks,
            "A: b\nPlace: 1\nPlace: 2\n\n",
            "A: b\nX-B: Spam\n  more\nPlace: 1\nPlace: 2\nSubject: ***\n\n",
        );
        check_with(marks, "subject:  a\nSubject:b\n\n", "subject: ***  a\nSubject:b\nX-B: Spam\n  more\n\n");
        check_with(marks, "Subject:b\n\n", "Subject: *** b\nX-B: Spam\n  more\n\n");
    }
}
