//! The texts of terms, and what is stored in their place if they are unknown.

use tamis_tokenizer::fingerprint;

/// Begins the text of a term that is known by its fingerprint alone. No tokenizer makes a term of this and 16 digits.
const UNKNOWN: char = '#';
const DIGITS: usize = 16;

/// The text of a term that is known by its fingerprint alone: `#` and 16 hexadecimal digits.
pub fn unknown_text(fingerprint: u64) -> String {
    format!("{UNKNOWN}{fingerprint:016x}")
}

/// The fingerprint of a term by its stored text, which [`unknown_text`] may have made.
pub fn fingerprint_of(text: &str) -> u64 {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let digits = text.strip_prefix(UNKNOWN).filter(|digits| digits.len() == DIGITS);
    let digits = digits.filter(|digits| digits.bytes().all(is_digit));
    digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or_else(|| fingerprint(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tamis_tokenizer::{Ngrams, Tokenizer, TokenizerOptions, Vocabulary, WordRule};

    proptest! {
        #[test]
        fn the_text_of_an_unknown_term_is_its_fingerprint(of: u64, text in "#?[0-9a-g]{0,18}") {
            prop_assert_eq!(fingerprint_of(&unknown_text(of)), of);
            let is_made = fingerprint_of(&text) != fingerprint(&text);
            prop_assert_eq!(is_made, text.len() == 17 && unknown_text(fingerprint_of(&text)) == text);
        }
    }

    #[test]
    fn no_tokenizer_makes_the_text_of_an_unknown_term() {
        let text = unknown_text(0x0123_4567_89ab_cdef);
        for word_rule in [WordRule::Unicode, WordRule::Mail] {
            for terms in [Ngrams::Words { min: 1, max: 8 }, Ngrams::Characters { min: 1, max: 8 }] {
                let mut options = TokenizerOptions::text();
                (options.word_rule, options.terms) = (word_rule, terms);
                let mut vocabulary = Vocabulary::new();
                Tokenizer::new(options).unwrap().for_each_batch(&text, &mut Default::default(), |batch| {
                    vocabulary.count_batch(batch, |_| ()).unwrap();
                });
                assert!(vocabulary.iter().all(|(_, term)| fingerprint_of(term) == fingerprint(term)));
                assert!(!vocabulary.is_empty());
            }
        }
    }
}
