//! Pieces of words: windows of a few characters. The forms of a word share most of their pieces, and so do
//! misspellings.

use crate::characters::rules::is_unspaced;

/// Calls `emit` with the pieces of a word, each after `prefix`. A piece is a window of four characters over the word
/// with a boundary mark added at both ends; in scripts whose signs are syllables, of two characters. The mark itself is
/// not written; instead, `~` stands where the word goes on, so that no piece looks like a word. `iceland` has the
/// pieces `ice~`, `~icel~`, `~cela~`, `~elan~`, `~land~`, `~and`.
///
/// A word with a single piece yields none, because the piece would say the same as the word. Neither do words of
/// scripts without spaces, which are sequences of characters already, nor terms that begin with `~`.
pub(crate) fn for_each_piece(prefix: &str, word: &str, buffer: &mut String, mut emit: impl FnMut(&str)) {
    let n = length(word);
    let n_chars = word.chars().count();
    if n == 0 || n_chars + 2 <= n || word.starts_with(MARK) {
        return;
    }
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
    word.ends_with(MARK) || word.strip_prefix(MARK).is_some_and(|rest| rest.chars().count() < LONGEST)
}

/// Written where a piece ends and its word goes on. No word contains this character.
const MARK: char = '~';

/// Length of the longest pieces, in characters.
const LONGEST: usize = 4;

/// The length of a word's pieces in characters, by its first letter; 0 if it has none.
///
/// In eight languages, four characters did as well as three to five together, at a third of the terms; three did worse.
/// Two syllables are about as long as four letters.
fn length(word: &str) -> usize {
    match word.chars().find(|c| c.is_alphabetic()) {
        Some(c) if is_unspaced(c) => 0,
        Some(c) if is_syllable(c) => 2,
        _ => LONGEST,
    }
}

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

    fn pieces(word: &str) -> Vec<String> {
        let mut all = Vec::new();
        for_each_piece("", word, &mut String::new(), |piece| all.push(piece.to_owned()));
        all
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

    /// Checks the definition directly.
    #[test]
    fn pieces_are_windows_of_a_list_of_characters() {
        for word in ["ab", "abc", "abcdefgh", "наука", "हिन्दी", "가", "가나", "$1000", "don't", "x1한국"]
        {
            let n = length(word);
            let marked: Vec<char> = std::iter::once('_').chain(word.chars()).chain(['_']).collect();
            let expected: Vec<String> = if marked.len() <= n {
                Vec::new()
            } else {
                let text = |(at, piece): (usize, &[char])| {
                    let inner: String = piece.iter().filter(|c| **c != '_').collect();
                    let (before, after) = (at > 0, at + n < marked.len());
                    let mark = |is: bool| if is { "~" } else { "" };
                    format!("{}{inner}{}", mark(before), mark(after))
                };
                marked.windows(n).enumerate().map(text).collect()
            };
            assert_eq!(pieces(word), expected, "{word}");
        }
    }
}
