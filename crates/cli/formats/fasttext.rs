//! A line of fastText's format: words, and labels among them.

/// What a label begins with.
const LABEL: &str = "__label__";

/// Number of lines that must begin with a label, so that a text is taken for this format.
const LINES: usize = 10;

/// A line, without the prefix of its labels. Words are separated by single spaces.
pub(crate) struct Line<'a> {
    pub(crate) labels: Vec<&'a str>,
    pub(crate) text: String,
}

pub(crate) fn read(line: &str) -> Line<'_> {
    let (mut labels, mut text) = (Vec::new(), String::with_capacity(line.len()));
    for word in line.split(is_blank).filter(|word| !word.is_empty()) {
        match word.strip_prefix(LABEL) {
            Some(label) => labels.push(label),
            None if text.is_empty() => text.push_str(word),
            None => text.extend([" ", word]),
        }
    }
    Line { labels, text }
}

/// What separates words for fastText.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n' | '\x0b' | '\x0c' | '\0')
}

/// Whether a text with this beginning has a label at the beginning of each line.
pub(crate) fn looks_like_fasttext(start: &[u8]) -> bool {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    let has_label = |line: &[u8]| line.starts_with(LABEL.as_bytes());
    // the last line may be cut off
    let begins_one = |line: &[u8]| LABEL.as_bytes().starts_with(line.trim_ascii());
    let mut lines = start.split(|byte| *byte == b'\n').take(LINES);
    has_label(start) && lines.all(|line| has_label(line) || begins_one(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_may_be_anywhere_in_a_line() {
        for (line, labels, text) in [
            ("__label__a  some\twords \r", &["a"][..], "some words"),
            ("__label__a __label__b-c some words", &["a", "b-c"], "some words"),
            ("some __label__a words __label__b", &["a", "b"], "some words"),
            ("no__label__a __labe__b", &[], "no__label__a __labe__b"),
            ("__label__ __label____label__", &["", "__label__"], ""),
            ("", &[], ""),
        ] {
            let read = read(line);
            assert_eq!((&read.labels[..], &*read.text), (labels, text));
        }
    }

    #[test]
    fn it_is_recognised_by_its_first_lines() {
        for start in ["__label__a x", "__label__a x\n", "\u{feff}__label__a x\r\n\r\n__label__b y\n__la"] {
            assert!(looks_like_fasttext(start.as_bytes()), "{start}");
        }
        for start in ["", "\n__label__a", "x __label__a", "__label__a x\nand more\n", "__label"] {
            assert!(!looks_like_fasttext(start.as_bytes()), "{start}");
        }
    }
}
