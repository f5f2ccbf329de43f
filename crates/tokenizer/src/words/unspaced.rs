//! Scripts without spaces between words: their runs become overlapping bigrams of characters.

use std::ops::Range;

use crate::characters::rules::is_unspaced;
use crate::words::plain::Span;

/// A word, or a bigram of an unspaced script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Segment<'t> {
    /// Text of other scripts.
    Word(&'t str),
    /// Two characters of a run, or its only one.
    Pair(&'t str),
}

/// Joins adjacent words into runs and emits their bigrams.
pub(crate) struct BigramRuns<'t> {
    text: &'t str,
    run: Range<usize>,
}

impl<'t> BigramRuns<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        BigramRuns { text, run: 0..0 }
    }

    /// Adds the next word, which may mix scripts with and without spaces.
    pub(crate) fn word(&mut self, word: Span<'t>, emit: &mut impl FnMut(Segment<'t>)) {
        let Span { mut start, text: mut rest } = word;
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
                // at most a joiner, a mark or a variation selector may be between runs
                if length == word.text.len() || piece.contains(char::is_alphanumeric) {
                    emit(Segment::Word(piece));
                }
            }
            start += length;
            rest = after;
        }
    }

    /// Emits the bigrams of the current run, if any, and ends it.
    #[inline]
    pub(crate) fn finish(&mut self, emit: &mut impl FnMut(Segment<'t>)) {
        if !self.run.is_empty() {
            for_each_pair(&self.text[self.run.clone()], |pair| emit(Segment::Pair(pair)));
            self.run.start = self.run.end;
        }
    }
}

/// The overlapping bigrams of a run, or the run itself if it has only one character.
fn for_each_pair<'t>(run: &'t str, mut emit: impl FnMut(&'t str)) {
    let starts = run.char_indices().map(|(start, _)| start);
    let ends = run.char_indices().skip(1).map(|(start, c)| start + c.len_utf8());
    let mut alone = true;
    for (start, end) in starts.zip(ends) {
        alone = false;
        emit(&run[start..end]);
    }
    if alone {
        emit(run);
    }
}

#[cfg(test)]
mod tests {
    use super::Segment::{Pair, Word};
    use super::*;
    use crate::words::rule::WordRule;

    fn pieces(text: &str) -> Vec<Segment<'_>> {
        let mut pieces = Vec::new();
        let mut runs = BigramRuns::new(text);
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
            ("สวัส", &[Pair("สว"), Pair("วั"), Pair("ัส")]),
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
