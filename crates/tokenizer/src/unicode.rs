//! The words of UAX #29, at the speed of a byte scan wherever the text is ASCII.
//!
//! A text is cut into stretches. Those that are all ASCII go through [`Ascii`]; the others, which
//! contain at least one character outside ASCII, through the unicode-segmentation crate. Cutting must not
//! change the words, so cuts are made only at [`is_cut`].

use crate::scan::{for_each_batch, next_foreign};
use crate::shapes::Ascii;
use crate::words::{Found, Span};

/// Bytes of ASCII that take part in no rule that joins them to a letter, a digit or a mark before or after.
fn is_neutral(byte: u8) -> bool {
    let joins = is_core(byte) || matches!(byte, b'\'' | b'"' | b'.' | b':' | b',' | b';');
    byte.is_ascii() && !joins
}

/// Whether text may be cut between `before` and `after` without changing its words.
///
/// `before` is a space, a control character or a sign that is Newline, CR, LF, WSegSpace or Other in
/// Word_Break; `after` is any ASCII byte.
/// * There is a boundary: what attaches to a character before it (WB4: Extend, Format, ZWJ) is not ASCII,
///   and no other rule joins `before` to what follows it, except CR LF (WB3), of which neither half is in a
///   word, and space space (WB3d). That last one is no cut, because a mark after the second space would
///   make both spaces part of one segment, and alphabetic marks make words.
/// * What comes before does not depend on what comes after: a rule that looks ahead (WB6, WB7b, WB12) looks
///   past one mid-character and its marks only, and none of those is `before`.
/// * What comes after does not depend on what comes before: rules that look back look past the same
///   (WB7, WB7c, WB11), at a ZWJ (WB3c) or along a run of regional indicators (WB15, WB16), and all of them
///   end at `before`.
fn is_cut(before: u8, after: u8) -> bool {
    is_neutral(before) && after.is_ascii() && !(before == b' ' && after == b' ')
}

/// Calls `emit` with every word.
pub(crate) fn for_each_word<'t>(text: &'t str, mut emit: impl FnMut(Found<'_, 't>)) {
    let bytes = text.as_bytes();
    let mut done = 0;
    loop {
        let foreign = next_foreign(bytes, done);
        let start = if foreign < bytes.len() { last_cut(bytes, done, foreign) } else { foreign };
        for_each_batch::<Ascii>(&bytes[..start], done, |spans| emit(Found::Ascii(spans)));
        if start == bytes.len() {
            return;
        }
        done = next_cut(bytes, foreign);
        Span::for_each_unicode_word(text, start..done, &mut emit);
    }
}

/// The last cut after `from` and before the byte outside ASCII at `foreign`, else `from`.
fn last_cut(bytes: &[u8], from: usize, foreign: usize) -> usize {
    (from + 1..foreign).rev().find(|&at| is_cut(bytes[at - 1], bytes[at])).unwrap_or(from)
}

/// The first cut after `from`, else the end.
fn next_cut(bytes: &[u8], from: usize) -> usize {
    (from + 1..bytes.len()).find(|&at| is_cut(bytes[at - 1], bytes[at])).unwrap_or(bytes.len())
}

/// Letters, digits and `_`: bytes that never have a word boundary between them.
fn is_core(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference;
    use crate::testing::text;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<&str> {
        crate::testing::words(text, |emit| for_each_word(text, emit))
    }

    #[test]
    fn words_of_ascii_text() {
        for (text, expected) in [
            ("", &[][..]),
            (" .,;:!?'\"--- \r\n\t\0", &[]),
            ("Hello, world!", &["Hello", "world"]),
            ("can't e.g. http://a.b:80/", &["can't", "e.g", "http", "a.b", "80"]),
            ("1,000.50; 12:30 127.0.0.1", &["1,000.50", "12", "30", "127.0.0.1"]),
            ("a,b 1.a a1.b2 x.1", &["a", "b", "1", "a", "a1", "b2", "x", "1"]),
            ("foo_bar _x_ __ _", &["foo_bar", "_x_"]),
            ("a\0b a''b a. 1.", &["a", "b", "a", "b", "a", "1"]),
        ] {
            assert_eq!(words(text), expected, "{text:?}");
            assert_eq!(reference::unicode_words(text), expected, "{text:?}");
        }
    }

    #[test]
    fn words_around_other_characters() {
        for text in [
            "naïve café, here",
            "a\u{301} b",
            "x  \u{93e} y",
            "x \u{3000} \u{345}y",
            "\u{200d}a \u{1f1e9}\u{1f1ea}\u{1f1eb}\u{1f1f7} b",
            "א\"א a\"א ' ד'",
            "a\u{ad}b it\u{2019}s 1\u{2019}000",
            "\r\n\u{301}a\r\u{301}",
            "iPhone发布会2024年 ok",
        ] {
            assert_eq!(words(text), reference::unicode_words(text), "{text:?}");
        }
    }

    #[test]
    fn a_cut_lies_between_a_neutral_byte_and_another() {
        assert!(is_cut(b' ', b'a') && is_cut(b'\n', b' ') && is_cut(b'!', b'!') && is_cut(b' ', b'\''));
        assert!(!is_cut(b' ', b' ') && !is_cut(b'a', b' ') && !is_cut(b'.', b' ') && !is_cut(b' ', 0xcc));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]
        #[test]
        fn equals_the_reference(text in text()) {
            prop_assert_eq!(words(&text), reference::unicode_words(&text));
        }

        #[test]
        fn equals_the_reference_on_any_text(text in ".{0,80}") {
            prop_assert_eq!(words(&text), reference::unicode_words(&text));
        }
    }
}
