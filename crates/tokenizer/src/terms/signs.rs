//! Signs: what a text has beside its words. Punctuation, hashtags and mentions, capitals.

use crate::bits::{BLOCK, bits, is_digit, is_letter, positions_by};
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
    let mut done = 0;
    for start in starts(text.as_bytes()) {
        if start < done {
            continue;
        }
        let rest = &text[start..];
        let Some(first) = rest.chars().next() else { break };
        let run = match first {
            c if is_punctuation(c) => {
                let (run, after) = split_after(rest, is_punctuation);
                signs.punctuation(run, after);
                run
            }
            c if is_alphanumeric(c) => {
                let (run, _) = split_after(rest, is_alphanumeric);
                let is_rest_of_word = text[..start].ends_with(|c: char| c.is_ascii_alphanumeric());
                if c.is_uppercase() && !is_rest_of_word {
                    signs.capitals(run);
                }
                run
            }
            c => &rest[..c.len_utf8()],
        };
        done = start + run.len();
    }
    let batches = Batch::of_bytes(signs.text.as_bytes(), &signs.spans);
    batches.map(|batch| Batch { are_signs: true, ..batch }).for_each(emit);
    signs.text.clear();
    signs.spans.clear();
}

/// Where signs may begin: at punctuation, at words that begin with a capital, and at bytes outside ASCII.
fn starts(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let mut is_in_word = 0;
    positions_by(bytes, move |block| {
        let words = bits(block, |byte| is_letter(byte) || is_digit(byte));
        let capitals = bits(block, |byte| byte.wrapping_sub(b'A') < 26);
        let others = bits(block, |byte| byte > b' ' && byte != 0x7f) & !words;
        let found = others | capitals & !(words << 1 | is_in_word);
        is_in_word = words >> (BLOCK - 1);
        found
    })
}

/// Splits a text after the characters at its beginning that are such.
fn split_after(text: &str, is_such: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !is_such(c)).unwrap_or(text.len()))
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
        self.push(|text| text.extend(run.chars().filter(is_written).take(LONGEST)));
        if let Some(mark) = run.chars().next_back().filter(|c| matches!(c, '#' | '@')) {
            let (word, _) = split_after(after, |c| is_alphanumeric(c) || c == '_');
            if (1..=LONGEST_WORD).contains(&word.chars().count()) {
                let mut folded = std::mem::take(&mut self.folded);
                fold_into(word, &mut folded);
                self.push(|text| {
                    text.push(mark);
                    text.push_str(&folded);
                });
                self.folded = folded;
            }
        }
    }

    /// A word that begins with a capital.
    fn capitals(&mut self, word: &str) {
        let mut plain = std::mem::take(&mut self.folded);
        // letters may be disguised
        let word = if word.is_ascii() { word } else { normalize(word, &mut plain) };
        let has_more = || word.chars().nth(1).is_some();
        if word.chars().all(char::is_uppercase) && has_more() {
            self.push(|text| text.push_str("AA"));
            if word.chars().nth(LONGEST_WORD).is_none() {
                self.push(|text| text.push_str(word));
            }
        } else {
            self.push(|text| text.push_str("Aa"));
        }
        self.folded = plain;
    }

    /// Adds a sign, of which `write` appends what follows the mark.
    fn push(&mut self, write: impl FnOnce(&mut String)) {
        let start = self.text.len();
        self.text.push(SIGN);
        write(&mut self.text);
        self.spans.push([start, self.text.len()]);
    }
}

/// Whether a character is part of a word.
#[inline]
fn is_alphanumeric(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphanumeric() } else { c.is_alphanumeric() }
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
    use proptest::prelude::*;

    fn signs(text: &str) -> String {
        let mut all = Vec::new();
        for_each_batch(text, &mut SignBuffers::default(), |batch| {
            all.extend(batch.iter().map(str::to_owned));
        });
        all.join(" ")
    }

    /// The same, a run of characters of a kind at a time.
    fn plain(text: &str) -> String {
        let kind = |c: char| (c.is_alphanumeric(), is_punctuation(c));
        let (mut signs, mut rest) = (SignBuffers::default(), text);
        while let Some(first) = rest.chars().next() {
            let (run, after) = split_after(rest, |c| kind(c) == kind(first));
            if is_punctuation(first) {
                signs.punctuation(run, after);
            } else if first.is_uppercase() {
                signs.capitals(run);
            }
            rest = after;
        }
        let all: Vec<_> = signs.spans.iter().map(|[start, end]| &signs.text[*start..*end]).collect();
        all.join(" ")
    }

    proptest! {
        #[test]
        fn signs_are_found_as_by_a_plain_search(
            text in "([aAzZ09 .#@_\\n\u{7f}\u{0}äÄ„你😀]|[a-z]{60,70}|[A-Z]{1,3}| {50,70}|\\PC){0,40}"
        ) {
            prop_assert_eq!(signs(&text), plain(&text));
        }
    }

    #[test]
    fn signs_are_what_is_beside_words() {
        assert_eq!(signs("no sign 1 of any"), "");
        assert_eq!(signs("Oh :-) WOW!!!!! a.b"), "^Aa ^:-) ^AA ^WOW ^!!! ^.");
        assert_eq!(signs("@Joe_S #TBT# I"), "^@ ^@joe_s ^Aa ^_ ^Aa ^# ^#tbt ^AA ^TBT ^# ^Aa");
        assert_eq!(signs("=-=-=-=-= ÜBER „ja“ 你好！"), "^=-=-=- ^AA ^ÜBER ^„ ^“ ^！");
        assert_eq!(signs("ＦＲＥＥ F\u{420}EE"), "^AA ^FREE ^AA ^FPEE");
        assert_eq!(signs("😀 x"), "");
        assert_eq!(signs(&format!("#{0} {0}", "X".repeat(33))), "^# ^AA ^AA");
    }
}
