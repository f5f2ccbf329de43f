//! Words of [`WordRule::Mail`](crate::WordRule::Mail), found character by character (reference implementation).

use crate::bits::{is_mail_core, is_mail_joiner};
use crate::words::batch::Span;
use crate::words::unicode;

/// Calls `emit` with every word.
pub(crate) fn for_each_word_of_mail<'t>(text: &'t str, mut emit: impl FnMut(Span<'t>)) {
    let mut at = 0;
    for run in text.split(|c: char| c.is_ascii() && !is_mail_core(c as u8) && !is_mail_joiner(c as u8)) {
        let trimmed = run.trim_start_matches(is_edge);
        let start = at + run.len() - trimmed.len();
        let trimmed = trimmed.trim_end_matches(is_edge);
        if !trimmed.is_ascii() {
            unicode::for_each_word(trimmed, |word| emit(Span { start: start + word.start, ..word }));
        } else if !trimmed.is_empty() {
            emit(Span { start, text: trimmed });
        }
        at += run.len() + 1;
    }
}

fn is_edge(c: char) -> bool {
    c == '\'' || c == '-'
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference;
    use crate::testing::text;
    use crate::words::rule::WordRule;
    use proptest::prelude::*;

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
