//! The words of mail: runs of letters, digits and the signs that tell spam from ham.

use crate::scan::{Spans, for_each_batch, next_foreign};
use crate::shapes::Runs;
use crate::words::{Found, Span};

/// Calls `emit` with every word.
pub(crate) fn for_each_word<'t>(text: &'t str, mut emit: impl FnMut(Found<'_, 't>)) {
    let bytes = text.as_bytes();
    let mut foreign = next_foreign(bytes, 0);
    for_each_batch::<Runs>(bytes, 0, |Spans { mut spans, are_short }| {
        while let [[start, _], ..] = *spans {
            if foreign < start {
                foreign = next_foreign(bytes, start);
            }
            let (ascii, rest) = spans.split_at(spans.partition_point(|[_, end]| *end <= foreign));
            if !ascii.is_empty() {
                emit(Found::Ascii(Spans { spans: ascii, are_short }));
            }
            spans = rest;
            if let [[start, end], rest @ ..] = rest
                && foreign < *end
                && *start <= foreign
            {
                Span::for_each_unicode_word(text, *start..*end, &mut emit);
                spans = rest;
            }
        }
    });
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
