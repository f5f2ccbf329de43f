//! The words of mail: runs of letters, digits and the signs that tell spam from ham.

use crate::scan::{for_each_run, next_foreign};
use crate::words::Span;

/// Calls `emit` with every word.
pub(crate) fn for_each_word<'t>(text: &'t str, mut emit: impl FnMut(Span<'t>)) {
    let bytes = text.as_bytes();
    let mut foreign = next_foreign(bytes, 0);
    for_each_trimmed_run(bytes, |start, end| {
        if foreign < start {
            foreign = next_foreign(bytes, start);
        }
        if foreign < end {
            Span::for_each_unicode_word(text, start..end, &mut emit);
        } else {
            emit(Span { start, text: &text[start..end], is_ascii: true });
        }
    });
}

/// Calls `emit` with where every run begins and ends, without the signs at its edges; in ASCII these are the words.
#[inline(always)]
pub(crate) fn for_each_trimmed_run(bytes: &[u8], mut emit: impl FnMut(usize, usize)) {
    for_each_run(bytes, is_in_run, |mut start, mut end| {
        while start < end && is_edge(bytes[start]) {
            start += 1;
        }
        while start < end && is_edge(bytes[end - 1]) {
            end -= 1;
        }
        if start < end {
            emit(start, end);
        }
    });
}

/// Bytes that are part of a run: every byte outside ASCII is.
fn is_in_run(byte: u8) -> bool {
    let letter_or_digit = (byte | 0x20).wrapping_sub(b'a') < 26 || byte.wrapping_sub(b'0') < 10;
    let sign = byte == b'$' || byte == b'\'' || byte == b'!' || byte == b'%' || byte == b'-';
    letter_or_digit || sign || byte >= 0x80
}

/// Signs that belong to a word only inside it.
fn is_edge(byte: u8) -> bool {
    matches!(byte, b'\'' | b'-')
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
    fn words_of_mail() {
        for (text, expected) in [
            ("", &[][..]),
            (" ,.\0\r\n --- ' '-' ", &[]),
            ("FREE!!! 100% $$$", &["FREE!!!", "100%", "$$$"]),
            ("'quoted' -- don't, x-ray-", &["quoted", "don't", "x-ray"]),
            ("a.b@c_d 1,000", &["a", "b", "c", "d", "1", "000"]),
            ("caf\u{e9}! -na\u{ef}ve- $\u{20ac}", &["café", "naïve"]),
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
        }

        #[test]
        fn equals_the_reference_on_any_text(text in ".{0,80}") {
            prop_assert_eq!(words(&text), reference::mail_words(&text));
        }
    }
}
