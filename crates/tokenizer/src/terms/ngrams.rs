//! N-grams of words and of characters.

use crate::characters::rules::fold_char;
use crate::terms::options::MAX_NGRAM;
use crate::words::batch::Batch;

/// A sliding window over the last words of a text, joined by spaces.
#[derive(Clone, Default, Debug)]
pub(crate) struct WordWindow {
    text: Vec<u8>,
    starts: Vec<usize>,
    /// Spans of the n-grams in `text`.
    spans: Vec<[usize; 2]>,
}

impl WordWindow {
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.starts.clear();
    }

    /// Calls `emit` with the n-grams of `min` to `max` words that end with a word of the batch, word by word and
    /// shortest first. `max` is at least 2.
    pub(crate) fn push(
        &mut self,
        words: Batch<'_>,
        min: usize,
        max: usize,
        emit: &mut impl FnMut(Batch<'_>),
    ) {
        // drop the words that no further n-gram can start with
        self.starts.drain(..self.starts.len().saturating_sub(max - 1));
        let dropped = self.starts.first().copied().unwrap_or(0);
        self.text.drain(..dropped);
        self.starts.iter_mut().for_each(|start| *start -= dropped);
        self.spans.clear();
        for [start, end] in words.spans {
            if !self.starts.is_empty() {
                self.text.push(b' ');
            }
            self.starts.push(self.text.len());
            self.text.extend_from_slice(&words.bytes[*start..*end]);
            let starts = self.starts.iter().rev().take(max).skip(min - 1);
            self.spans.extend(starts.map(|start| [*start, self.text.len()]));
        }
        Batch::of_bytes(&self.text, &self.spans).for_each(emit);
    }
}

/// Sets `plain` to `text`, trimmed, with every run of white space and control characters as one space, and lower-cased
/// if `fold_case`.
pub(crate) fn collapse_into(text: &str, fold_case: bool, plain: &mut String) {
    plain.clear();
    let mut gap = false;
    for c in text.chars() {
        if c.is_whitespace() || c.is_control() {
            gap = !plain.is_empty();
            continue;
        }
        if gap {
            plain.push(' ');
            gap = false;
        }
        if fold_case {
            plain.extend(fold_char(c));
        } else {
            plain.push(c);
        }
    }
}

/// Calls `emit` with the character n-grams of `text`, ordered by where they end, shortest first.
pub(crate) fn for_each_char_ngram(text: &str, min: usize, max: usize, mut emit: impl FnMut(&str)) {
    // starts of the last characters: an n-gram that ends with character i starts n - 1 characters before it
    let mut starts = [0; MAX_NGRAM];
    for (index, (start, c)) in text.char_indices().enumerate() {
        starts[index % MAX_NGRAM] = start;
        for n in min..=max.min(index + 1) {
            emit(&text[starts[(index + 1 - n) % MAX_NGRAM]..start + c.len_utf8()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::text;
    use proptest::prelude::*;

    fn word_ngrams(words: &[&str], min: usize, max: usize) -> Vec<String> {
        let mut window = WordWindow::default();
        let mut terms = Vec::new();
        for words in words.chunks(3) {
            let (mut text, mut spans) = (String::new(), Vec::new());
            for word in words {
                text += word;
                spans.push([text.len() - word.len(), text.len()]);
            }
            let batch = Batch { bytes: text.as_bytes(), spans: &spans, are_signs: false };
            window.push(batch, min, max, &mut |batch| terms.extend(batch.iter().map(str::to_owned)));
        }
        terms
    }

    fn char_ngrams(text: &str, min: usize, max: usize) -> Vec<String> {
        let mut terms = Vec::new();
        for_each_char_ngram(text, min, max, |term| terms.push(term.to_owned()));
        terms
    }

    #[test]
    fn words_in_a_row() {
        let words = ["a", "bb", "c", "d"];
        assert_eq!(word_ngrams(&words, 1, 1), words);
        assert_eq!(word_ngrams(&words, 2, 2), ["a bb", "bb c", "c d"]);
        assert_eq!(
            word_ngrams(&words, 1, 3),
            ["a", "bb", "a bb", "c", "bb c", "a bb c", "d", "c d", "bb c d"]
        );
        assert!(word_ngrams(&words, 5, 8).is_empty());
    }

    #[test]
    fn characters_in_a_row() {
        assert_eq!(char_ngrams("aéb", 1, 2), ["a", "é", "aé", "b", "éb"]);
        assert_eq!(char_ngrams("日本語", 3, 5), ["日本語"]);
        assert!(char_ngrams("ab", 3, 3).is_empty());
        assert!(char_ngrams("", 1, 8).is_empty());
    }

    #[test]
    fn gaps_are_one_space() {
        let mut plain = "left over".to_owned();
        collapse_into(" \0 A\u{3000}\r\n\u{85}B\t ", true, &mut plain);
        assert_eq!(plain, "a b");
        collapse_into("A \u{7f}B", false, &mut plain);
        assert_eq!(plain, "A B");
        collapse_into(" \n\0", true, &mut plain);
        assert_eq!(plain, "");
    }

    proptest! {
        #[test]
        fn ngrams_equal_plain_windows(text in text(), min in 1..5_usize, more in 0..4_usize) {
            let max = min + more;
            let chars: Vec<char> = text.chars().collect();
            let words: Vec<&str> = text.split_inclusive(' ').collect();
            let (mut by_char, mut by_word) = (Vec::new(), Vec::new());
            for n in min..=max {
                by_char.extend(chars.windows(n).map(|window| window.iter().collect::<String>()));
                by_word.extend(words.windows(n).map(|window| window.join(" ")));
            }
            let sorted = |mut terms: Vec<String>| { terms.sort(); terms };
            prop_assert_eq!(sorted(char_ngrams(&text, min, max)), sorted(by_char));
            prop_assert_eq!(sorted(word_ngrams(&words, min, max)), sorted(by_word));
        }
    }
}
