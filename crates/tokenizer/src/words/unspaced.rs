//! Scripts without spaces between words. Their runs become overlapping bigrams of characters and, where each sign is a
//! sound, sequences of four.

use std::ops::Range;

use crate::characters::rules::{is_unspaced, is_unspaced_alphabet};
use crate::words::batch::WordSpan;

/// Whether a term is a sequence of four characters of Thai, Lao, Khmer or Myanmar, which only single words as terms yield.
pub fn is_four(term: &str) -> bool {
    term.chars().count() == 4 && term.chars().all(is_unspaced_alphabet)
}

/// A word, or a bigram of an unspaced script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WordSegment<'t> {
    /// A word of other scripts.
    Word(&'t str),
    /// Two characters of a run, or the only one it has; or four of an alphabet.
    Pair(&'t str),
}

/// Joins adjacent words into runs and emits the bigrams of the runs.
pub(crate) struct BigramRuns<'t> {
    text: &'t str,
    has_fours: bool,
    run: Range<usize>,
}

impl<'t> BigramRuns<'t> {
    pub(crate) fn new(text: &'t str, has_fours: bool) -> Self {
        BigramRuns { text, has_fours, run: 0..0 }
    }

    /// Adds the next word, which may mix scripts with and without spaces.
    pub(crate) fn word(&mut self, word: WordSpan<'t>, emit: &mut impl FnMut(WordSegment<'t>)) {
        let WordSpan { mut start, text: mut rest } = word;
        while let Some(first) = rest.chars().next() {
            let unspaced = is_unspaced(first);
            let length = rest.find(|c| is_unspaced(c) != unspaced).unwrap_or(rest.len());
            let (piece, after) = rest.split_at(length);
            if unspaced {
                if self.run.end != start {
                    self.finish(emit);
                    self.run.start = start;
                }
                self.run.end = start + length;
            } else {
                self.finish(emit);
                // between runs there may be at most a joiner, a mark or a variation selector
                if length == word.text.len() || piece.contains(char::is_alphanumeric) {
                    emit(WordSegment::Word(piece));
                }
            }
            start += length;
            rest = after;
        }
    }

    /// Emits the bigrams of the current run, if any, and ends it.
    #[inline]
    pub(crate) fn finish(&mut self, emit: &mut impl FnMut(WordSegment<'t>)) {
        if !self.run.is_empty() {
            for_each_pair(&self.text[self.run.clone()], self.has_fours, |pair| emit(WordSegment::Pair(pair)));
            self.run.start = self.run.end;
        }
    }
}

/// Calls `emit` with the overlapping bigrams of a run, or with the run itself if it has only one character. A bigram
/// that completes four characters of an alphabet is followed by those four.
fn for_each_pair<'t>(run: &'t str, has_fours: bool, mut emit: impl FnMut(&'t str)) {
    let (mut before, mut four, mut alone) = (0, Four::default(), true);
    for (start, c) in run.char_indices() {
        let end = start + c.len_utf8();
        let first = four.push(start, has_fours && is_unspaced_alphabet(c));
        if start > 0 {
            alone = false;
            emit(&run[before..end]);
            first.into_iter().for_each(|first| emit(&run[first..end]));
        }
        before = start;
    }
    if alone {
        emit(run);
    }
}

/// Where the last characters of a run begin, going back as long as they belong to an alphabet.
#[derive(Clone, Copy, Default)]
pub(crate) struct Four {
    starts: [usize; 3],
    n: usize,
}

impl Four {
    /// Adds the next character. Returns where the last four begin, if all of them belong to an alphabet.
    #[inline(always)]
    pub(crate) fn push(&mut self, start: usize, is_of_alphabet: bool) -> Option<usize> {
        if !is_of_alphabet {
            self.n = 0;
            return None;
        }
        let [first, second, third] = self.starts;
        let has_four = self.n == 3;
        self.starts = [second, third, start];
        self.n = (self.n + 1).min(3);
        has_four.then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::WordSegment::{Pair, Word};
    use super::*;
    use crate::words::WordRule;

    fn pieces(text: &str) -> Vec<WordSegment<'_>> {
        let mut pieces = Vec::new();
        let mut runs = BigramRuns::new(text, true);
        WordRule::Unicode
            .for_each_word_plainly(text, |word| runs.word(word, &mut |piece| pieces.push(piece)));
        runs.finish(&mut |piece| pieces.push(piece));
        pieces
    }

    #[test]
    fn runs_become_pairs() {
        for (text, expected) in [
            ("", &[][..]),
            ("plain text", &[Word("plain"), Word("text")]),
            ("漢", &[Pair("漢")]),
            ("漢字仮名", &[Pair("漢字"), Pair("字仮"), Pair("仮名")]),
            ("漢字 仮", &[Pair("漢字"), Pair("仮")]),
            ("漢，字。", &[Pair("漢"), Pair("字")]),
            ("東京タワーへ", &[Pair("東京"), Pair("京タ"), Pair("タワ"), Pair("ワー"), Pair("ーへ")]),
            ("iPhone发布会2024年", &[Word("iPhone"), Pair("发布"), Pair("布会"), Word("2024"), Pair("年")]),
            ("สวั", &[Pair("สว"), Pair("วั")]),
            ("สวัส", &[Pair("สว"), Pair("วั"), Pair("ัส"), Pair("สวัส")]),
            (
                "漢สวัสด",
                &[Pair("漢ส"), Pair("สว"), Pair("วั"), Pair("ัส"), Pair("สวัส"), Pair("สด"), Pair("วัสด")],
            ),
            ("๒๕๖๗ปี", &[Word("๒๕๖๗"), Pair("ปี")]),
            ("カ_a", &[Pair("カ"), Word("_a")]),
            ("葛\u{e0100}飾", &[Pair("葛"), Pair("飾")]),
            ("한국 말", &[Word("한국"), Word("말")]),
        ] {
            assert_eq!(pieces(text), expected, "{text:?}");
        }
    }

    #[test]
    fn digits_and_separators_are_not_part_of_a_run() {
        for c in "0a é·・゠๐໐၀៰០ー゙々〇漢ｶ".chars() {
            let expected = "ー゙々〇漢ｶ".contains(c);
            assert_eq!(is_unspaced(c), expected, "{c:?}");
        }
    }
}
