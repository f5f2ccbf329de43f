//! Words cut the exact, slow way, character by character; and the context that words of UAX #29 depend on, for a run
//! that is not all ASCII.
//!
//! A run is a maximal piece that ASCII does not certainly separate from non-ASCII text; where all text is ASCII, the
//! runs are the words. The words of a run do not depend on its surroundings:
//! * It is surrounded by ASCII that is neutral (Newline, CR, LF, WSegSpace or Other in Word_Break), or that may join
//!   two letters or digits but is next to something neutral. No rule looks past the former (WB3c, WB15 and WB16 look
//!   along characters outside ASCII) or past two signs of the latter (WB6, WB7, WB7b, WB7c, WB11, WB12).
//! * A mark attaches to what is before it (WB4), even to spaces (WB3d). So a run that begins with a mark needs the text
//!   back to the previous run, and the spaces at the end of that run.
//! * A Hebrew letter and the single quotation mark after it are never separated (WB7a).

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use crate::bits::{is_mail_core, is_mail_joiner};
use crate::characters::entry::CharacterClass;
use crate::characters::entry_of;
use crate::characters::rules::{is_invisible, is_sign};
use crate::words::batch::WordSpan;
use crate::words::scan::NonAscii;

/// Calls `emit` with every word of a text, in the slow way: segments with a letter or a number, and signs.
pub(crate) fn for_each_word<'t>(text: &'t str, mut emit: impl FnMut(WordSpan<'t>)) {
    for (start, segment) in text.split_word_bound_indices() {
        if segment.contains(char::is_alphanumeric) {
            emit(WordSpan { start, text: segment });
        } else if !segment.is_ascii() {
            let signs = segment.char_indices().filter(|(_, c)| is_sign(*c));
            signs.for_each(|(at, c)| {
                emit(WordSpan { start: start + at, text: &segment[at..at + c.len_utf8()] })
            });
        }
    }
}

/// The range of text that the words of a run depend on.
pub(crate) fn range(text: &str, run: NonAscii) -> Range<usize> {
    start(text, run.after, run.end, false)
        ..run.end + usize::from(text.as_bytes().get(run.end) == Some(&b'\''))
}

/// The start of the text that the words of `text[from..to]` depend on. A mark at its start attaches to the spaces
/// before.
pub(crate) fn start(text: &str, from: usize, to: usize, normalize: bool) -> usize {
    let blank = |c: char| c.is_whitespace() || normalize && is_invisible(c);
    let first = text[from..to].trim_start_matches(blank).chars().next();
    let class = first.map_or(CharacterClass::Neutral, |first| entry_of(first).class());
    let attaches = !(class.begins() || class == CharacterClass::Neutral || class.is_mid());
    // blanks are read only once: two such ranges never share them
    let start = if attaches { text[..from].trim_end_matches(blank).len() } else { from };
    #[cfg(test)]
    tamis_testing::step(from - start);
    start
}

/// Calls `emit` with every word.
pub(crate) fn for_each_word_of_mail<'t>(text: &'t str, mut emit: impl FnMut(WordSpan<'t>)) {
    let mut at = 0;
    for run in text.split(|c: char| c.is_ascii() && !is_mail_core(c as u8) && !is_mail_joiner(c as u8)) {
        let trimmed = run.trim_start_matches(is_edge);
        let start = at + run.len() - trimmed.len();
        let trimmed = trimmed.trim_end_matches(is_edge);
        if !trimmed.is_ascii() {
            for_each_word(trimmed, |word| emit(WordSpan { start: start + word.start, ..word }));
        } else if !trimmed.is_empty() {
            emit(WordSpan { start, text: trimmed });
        }
        at += run.len() + 1;
    }
}

fn is_edge(c: char) -> bool {
    c == '\'' || c == '-'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::reference;
    use crate::testing::text;
    use crate::words::WordRule;

    fn words(text: &str) -> Vec<String> {
        crate::testing::words(text, WordRule::Unicode)
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
            "ש' ש'. \u{5e9}\u{5b8}' ש'א ש\"א a' x\u{301}' 'ש",
            "👍 a👍🏽b ❤\u{fe0f} 👩\u{200d}🚀 a\u{200d}🚀 €5 →x ★★ x\u{301}👍\u{301} 발👍 🇫🇮 1\u{fe0f}\u{20e3} ❶",
            "é. é.\u{301} .\u{301}x 1.é é.1 1.٣ é:1 é;٣",
        ] {
            assert_eq!(words(text), reference::unicode_words(text), "{text:?}");
        }
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

    mod mail {
        use super::*;

        fn words(text: &str) -> Vec<String> {
            crate::testing::words(text, WordRule::Mail)
        }

        #[test]
        fn words_of_mail() {
            for (text, expected) in [
                ("", &[][..]),
                (" ,.\0\r\n --- ' '-' ", &[]),
                ("FREE!!! 100% $$$", &["FREE!!!", "100%", "$$$"]),
                ("'quoted' -- don't, x-ray-", &["quoted", "don't", "x-ray"]),
                ("a.b@c_d 1,000", &["a", "b", "c", "d", "1", "000"]),
                ("caf\u{e9}! -na\u{ef}ve- $\u{20ac}", &["café", "naïve", "€"]),
                ("Gewinn🎉 +👍👍🏽 10€!", &["Gewinn", "🎉", "👍", "👍", "10", "€"]),
                ("gr\u{fc}n-wei\u{df} a\u{a0}b", &["grün", "weiß", "a", "b"]),
                ("\u{514d}\u{8d39}!", &["免", "费"]),
            ] {
                assert_eq!(words(text), expected, "{text:?}");
                assert_eq!(reference::mail_words(text), expected, "{text:?}");
            }
        }

        proptest! {
            #![proptest_config(ProptestConfig::with_cases(2000))]
            #[test]
            fn equals_the_reference(text in text()) {
                prop_assert_eq!(words(&text), reference::mail_words(&text));
                let mut plainly = Vec::new();
                for_each_word_of_mail(&text, |span| {
                    assert_eq!(&text[span.start..][..span.text.len()], span.text);
                    plainly.push(span.text);
                });
                prop_assert_eq!(words(&text), plainly);
            }

            #[test]
            fn equals_the_reference_on_any_text(text in ".{0,80}") {
                prop_assert_eq!(words(&text), reference::mail_words(&text));
            }
        }
    }
}
