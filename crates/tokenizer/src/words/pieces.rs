//! Pieces of words: windows of a few characters. The forms of a word share most of their pieces, and so do
//! misspellings.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::characters::rules::is_unspaced;

/// The lengths of pieces of words, in characters, with the mark of the word's end where there is one: 2 to 5.
///
/// In scripts whose signs are syllables (Hangul, Ethiopic and a few more), they are half as long, but at least 2.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PieceLengths {
    /// The length of the shortest pieces.
    pub min: u8,
    /// The length of the longest pieces.
    pub max: u8,
}

impl PieceLengths {
    /// Four characters: in eight languages they did as well as three to five together, at a third of the terms; three
    /// did worse.
    pub const FOUR: PieceLengths = PieceLengths { min: 4, max: 4 };

    /// All lengths: better for words that were made up, such as names of domains, at more than twice as many terms.
    pub const ALL: PieceLengths = PieceLengths { min: 2, max: LONGEST };

    /// Whether they are in their range.
    pub fn are_in_range(self) -> bool {
        2 <= self.min && self.min <= self.max && self.max <= LONGEST
    }

    /// The lengths of a word's pieces, by its first letter; none if the script has no spaces, so that its words are
    /// sequences of characters already.
    fn of(self, word: &str) -> Range<usize> {
        let half = |n: u8| usize::from(n.div_ceil(2).max(2));
        match word.chars().find(|c| c.is_alphabetic()) {
            Some(c) if is_unspaced(c) => 0..0,
            Some(c) if is_syllable(c) => half(self.min)..half(self.max) + 1,
            _ => self.min.into()..usize::from(self.max) + 1,
        }
    }
}

/// Calls `emit` with the pieces of a word, each after `prefix`. A piece is a window of `n` characters over the word with
/// a boundary mark added at both ends, for each length `n`. The mark itself is not written; instead, `~` stands where the
/// word goes on, so that no piece looks like a word. `iceland` has the pieces of four characters `ice~`, `~icel~`,
/// `~cela~`, `~elan~`, `~land~`, `~and`.
///
/// A window that is the whole word yields none, because the piece would say the same as the word. Neither do terms that
/// begin with `~`.
pub(crate) fn for_each_piece(
    lengths: PieceLengths,
    prefix: &str,
    word: &str,
    buffer: &mut String,
    mut emit: impl FnMut(&str),
) {
    let n_chars = word.chars().count();
    if word.starts_with(MARK) {
        return;
    }
    for n in lengths.of(word).take_while(|n| *n < n_chars + 2) {
        let mut starts = word.char_indices().map(|(start, _)| start);
        // the mark before the word is the first of the n_chars + 2 characters
        let mut ends = word.char_indices().map(|(start, c)| start + c.len_utf8()).skip(n - 2);
        for first in 0..n_chars + 3 - n {
            let start = if first < 2 { 0 } else { starts.next().unwrap_or(0) };
            if first == 1 {
                starts.next();
            }
            let is_last = first + n == n_chars + 2;
            let end = if is_last { word.len() } else { ends.next().unwrap_or(word.len()) };
            buffer.clear();
            buffer.push_str(prefix);
            if first > 0 {
                buffer.push(MARK);
            }
            buffer.push_str(&word[start..end]);
            if !is_last {
                buffer.push(MARK);
            }
            emit(buffer);
        }
    }
}

/// Whether a term is a piece of a word, with or without the prefix of a field.
///
/// ```
/// use tamis_tokenizer::is_piece;
///
/// assert!(is_piece("lan~") && is_piece("~land~") && is_piece("s:~and"));
/// assert!(!is_piece("land") && !is_piece("~long3"));
/// ```
pub fn is_piece(term: &str) -> bool {
    let word = &term[term.rfind(':').map_or(0, |colon| colon + 1)..];
    // terms for long words have more characters after the mark
    word.ends_with(MARK) || word.strip_prefix(MARK).is_some_and(|rest| rest.chars().count() < LONGEST.into())
}

/// Written where a piece ends and its word goes on. No word contains this character.
const MARK: char = '~';

/// Length of the longest pieces, in characters: no longer, so that none looks like a term for a long word.
const LONGEST: u8 = 5;

/// Whether the signs of the character's script are syllables: Hangul, Ethiopic, Cherokee, Canadian Aboriginal, Yi and
/// Vai.
fn is_syllable(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}'
        | '\u{1200}'..='\u{139f}' | '\u{2d80}'..='\u{2ddf}' | '\u{ab00}'..='\u{ab2f}' | '\u{1e7e0}'..='\u{1e7ff}'
        | '\u{13a0}'..='\u{13ff}' | '\u{ab70}'..='\u{abbf}'
        | '\u{1400}'..='\u{167f}' | '\u{18b0}'..='\u{18ff}'
        | '\u{a000}'..='\u{a4cf}' | '\u{a500}'..='\u{a63f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces_of(lengths: PieceLengths, word: &str) -> Vec<String> {
        let mut all = Vec::new();
        for_each_piece(lengths, "", word, &mut String::new(), |piece| all.push(piece.to_owned()));
        all
    }

    fn pieces(word: &str) -> Vec<String> {
        pieces_of(PieceLengths::FOUR, word)
    }

    #[test]
    fn pieces_are_stretches_of_the_marked_word() {
        assert_eq!(pieces("finland"), ["fin~", "~finl~", "~inla~", "~nlan~", "~land~", "~and"]);
        assert_eq!(pieces("the"), ["the~", "~the"]);
        assert_eq!(pieces("über"), ["übe~", "~über~", "~ber"]);
        assert_eq!(pieces("한국어"), ["한~", "~한국~", "~국어~", "~어"]);
        assert_eq!(pieces("ሰላም"), ["ሰ~", "~ሰላ~", "~ላም~", "~ም"]);
        assert_eq!(pieces("2018"), ["201~", "~2018~", "~018"]);
        for none in ["", "a", "of", "~long3", "中国", "ภา"] {
            assert_eq!(pieces(none), Vec::<String>::new(), "{none}");
        }
    }

    #[test]
    fn pieces_of_all_lengths() {
        let all = pieces_of(PieceLengths::ALL, "tea");
        assert_eq!(all, ["t~", "~te~", "~ea~", "~a", "te~", "~tea~", "~ea", "tea~", "~tea"]);
        assert_eq!(pieces_of(PieceLengths::ALL, "가나"), ["가~", "~가나~", "~나", "가나~", "~가나"]);
        assert!(!PieceLengths { min: 2, max: 6 }.are_in_range() && PieceLengths::ALL.are_in_range());
    }

    /// Checks the definition directly.
    #[test]
    fn pieces_are_windows_of_a_list_of_characters() {
        for word in ["ab", "abc", "abcdefgh", "наука", "हिन्दी", "가", "가나", "$1000", "don't", "x1한국"]
        {
            let marked: Vec<char> = std::iter::once('_').chain(word.chars()).chain(['_']).collect();
            let text = |n: usize| {
                let marked = &marked;
                move |(at, piece): (usize, &[char])| {
                    let inner: String = piece.iter().filter(|c| **c != '_').collect();
                    let mark = |is: bool| if is { "~" } else { "" };
                    format!("{}{inner}{}", mark(at > 0), mark(at + n < marked.len()))
                }
            };
            for lengths in [PieceLengths::FOUR, PieceLengths::ALL, PieceLengths { min: 3, max: 4 }] {
                let of_length = |n: usize| marked.windows(n).enumerate().map(text(n));
                let expected: Vec<String> =
                    lengths.of(word).filter(|n| *n < marked.len()).flat_map(of_length).collect();
                assert_eq!(pieces_of(lengths, word), expected, "{word}");
            }
        }
    }
}
