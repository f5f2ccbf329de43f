//! Signs: what a text has beside its words. Punctuation, hashtags and mentions, capitals.

use crate::characters::fold_into;
use crate::characters::normalize::normalize;
use crate::words::batch::Batch;

/// Written before every sign. No word contains this character.
const SIGN: char = '^';

/// An end of a text, as a word.
pub(crate) const END: Batch<'static> = Batch { bytes: b"^", spans: &[[0, 1]], are_signs: false };

/// Of a character repeated in a row, this many are written.
const REPEATED: usize = 3;

/// Characters of the longest run of punctuation, and of the longest word that is part of a sign.
const LONGEST: usize = 6;
const LONGEST_WORD: usize = 32;

/// Buffers reused from text to text.
#[derive(Clone, Default, Debug)]
pub(crate) struct SignBuffers {
    text: String,
    spans: Vec<[usize; 2]>,
    folded: String,
}

/// Calls `emit` with the signs of a text, in order, as [`TokenizerOptions::signs`](crate::TokenizerOptions::signs) says.
pub(crate) fn for_each_batch(text: &str, signs: &mut SignBuffers, emit: impl FnMut(Batch<'_>)) {
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_of_run: fn(char) -> bool = match first {
            c if is_punctuation(c) => is_punctuation,
            c if c.is_alphanumeric() => char::is_alphanumeric,
            _ => |c| !c.is_alphanumeric() && !is_punctuation(c),
        };
        let (run, after) = rest.split_at(rest.find(|c| !is_of_run(c)).unwrap_or(rest.len()));
        if is_punctuation(first) {
            signs.punctuation(run, after);
        } else if first.is_uppercase() {
            signs.capitals(run);
        }
        rest = after;
    }
    let batches = Batch::of_bytes(signs.text.as_bytes(), &signs.spans);
    batches.map(|batch| Batch { are_signs: true, ..batch }).for_each(emit);
    signs.text.clear();
    signs.spans.clear();
}

impl SignBuffers {
    /// A run of punctuation, and with it the word after it if it ends with `#` or `@`.
    fn punctuation(&mut self, run: &str, after: &str) {
        let (mut last, mut n) = (SIGN, 0);
        let is_written = |c: &char| {
            n = if *c == last { n + 1 } else { 1 };
            last = *c;
            n <= REPEATED
        };
        let shortened = run.chars().filter(is_written).take(LONGEST);
        self.push(shortened);
        if let Some(mark) = run.chars().next_back().filter(|c| matches!(c, '#' | '@')) {
            let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
            let word = &after[..after.find(|c| !is_of_word(c)).unwrap_or(after.len())];
            if (1..=LONGEST_WORD).contains(&word.chars().count()) {
                let mut folded = std::mem::take(&mut self.folded);
                fold_into(word, &mut folded);
                self.push(std::iter::once(mark).chain(folded.chars()));
                self.folded = folded;
            }
        }
    }

    /// A word that begins with a capital.
    fn capitals(&mut self, word: &str) {
        let mut plain = std::mem::take(&mut self.folded);
        // letters may be disguised
        let word = if word.is_ascii() { word } else { normalize(word, &mut plain) };
        let n = word.chars().count();
        if n > 1 && word.chars().all(char::is_uppercase) {
            self.push("AA".chars());
            if n <= LONGEST_WORD {
                self.push(word.chars());
            }
        } else {
            self.push("Aa".chars());
        }
        self.folded = plain;
    }

    fn push(&mut self, sign: impl Iterator<Item = char>) {
        let start = self.text.len();
        self.text.push(SIGN);
        self.text.extend(sign);
        self.spans.push([start, self.text.len()]);
    }
}

/// Whether a character is punctuation: of ASCII, of Latin, Arabic and Devanagari, and of East Asia. Others are rare, or
/// words by themselves.
#[inline]
fn is_punctuation(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_punctuation() } else { is_punctuation_beyond_ascii(c) }
}

fn is_punctuation_beyond_ascii(c: char) -> bool {
    matches!(c,
        '\u{a1}' | '\u{a7}' | '\u{ab}' | '\u{b6}' | '\u{b7}' | '\u{bb}' | '\u{bf}'
        | '\u{60c}' | '\u{61b}' | '\u{61f}' | '\u{964}' | '\u{965}'
        | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}'
        | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301f}'
        | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}' | '\u{ff3b}'..='\u{ff40}' | '\u{ff5b}'..='\u{ff65}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_what_is_beside_words() {
        let signs = |text: &str| {
            let mut all = Vec::new();
            for_each_batch(text, &mut SignBuffers::default(), |batch| {
                all.extend(batch.iter().map(str::to_owned));
            });
            all.join(" ")
        };
        assert_eq!(signs("no sign 1 of any"), "");
        assert_eq!(signs("Oh :-) WOW!!!!! a.b"), "^Aa ^:-) ^AA ^WOW ^!!! ^.");
        assert_eq!(signs("@Joe_S #TBT# I"), "^@ ^@joe_s ^Aa ^_ ^Aa ^# ^#tbt ^AA ^TBT ^# ^Aa");
        assert_eq!(signs("=-=-=-=-= ÜBER „ja“ 你好！"), "^=-=-=- ^AA ^ÜBER ^„ ^“ ^！");
        assert_eq!(signs("ＦＲＥＥ F\u{420}EE"), "^AA ^FREE ^AA ^FPEE");
        assert_eq!(signs("😀 x"), "");
        assert_eq!(signs(&format!("#{0} {0}", "X".repeat(33))), "^# ^AA ^AA");
    }
}
