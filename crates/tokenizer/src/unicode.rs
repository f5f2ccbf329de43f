//! The words of UAX #29, at the speed of a byte scan wherever the text is ASCII.
//!
//! A text is cut into stretches. Those that are all ASCII go through [`ascii_words`]; the others, which
//! contain at least one character outside ASCII, through the unicode-segmentation crate. Cutting must not
//! change the words, so cuts are made only at [`is_cut`].

use std::ops::Range;

use crate::scan::{for_each_run, next_foreign};
use crate::words::Span;

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
pub(crate) fn for_each_word<'t>(text: &'t str, mut emit: impl FnMut(Span<'t>)) {
    let bytes = text.as_bytes();
    let mut done = 0;
    loop {
        let foreign = next_foreign(bytes, done);
        if foreign == bytes.len() {
            return ascii_words(text, done..foreign, &mut emit);
        }
        let start = last_cut(bytes, done, foreign);
        ascii_words(text, done..start, &mut emit);
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

/// Calls `emit` with the words of an ASCII stretch.
fn ascii_words<'t>(text: &'t str, stretch: Range<usize>, emit: &mut impl FnMut(Span<'t>)) {
    let offset = stretch.start;
    let stretch = &text[stretch];
    for_each_ascii_word(stretch.as_bytes(), |start, end| {
        emit(Span { start: offset + start, text: &stretch[start..end], is_ascii: true });
    });
}

/// Calls `emit` with where every word of an ASCII text begins and ends.
#[inline(always)]
pub(crate) fn for_each_ascii_word(bytes: &[u8], mut emit: impl FnMut(usize, usize)) {
    let mut give = |start: usize, end: usize| {
        // A core byte that is not `_` is a letter or a digit; words of `_` alone do not count.
        if bytes[start] != b'_' || bytes[start..end].iter().any(|byte| *byte != b'_') {
            emit(start, end);
        }
    };
    let (mut start, mut end) = (0, 0);
    for_each_run(bytes, is_core, |from, to| {
        if end + 1 != from || !joins(bytes, end) {
            if start < end {
                give(start, end);
            }
            start = from;
        }
        end = to;
    });
    if start < end {
        give(start, end);
    }
}

/// Letters, digits and `_`: bytes that never have a word boundary between them.
fn is_core(byte: u8) -> bool {
    (byte | 0x20).wrapping_sub(b'a') < 26 || byte.wrapping_sub(b'0') < 10 || byte == b'_'
}

/// Whether the byte at `at`, which is not the last, joins the bytes around it into one word.
fn joins(bytes: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| bytes[before]) else { return false };
    let after = bytes[at + 1];
    match bytes[at] {
        // WB6 and WB7; WB11 and WB12
        b':' => both_letters(before, after),
        b',' | b';' => both_digits(before, after),
        b'\'' | b'.' => both_letters(before, after) || both_digits(before, after),
        _ => false,
    }
}

fn both_letters(before: u8, after: u8) -> bool {
    before.is_ascii_alphabetic() && after.is_ascii_alphabetic()
}

fn both_digits(before: u8, after: u8) -> bool {
    before.is_ascii_digit() && after.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference;
    use crate::testing::text;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<&str> {
        let mut words = Vec::new();
        for_each_word(text, |span| {
            assert_eq!(&text[span.start..][..span.text.len()], span.text);
            assert_eq!(span.is_ascii, span.text.is_ascii());
            words.push(span.text);
        });
        words
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
