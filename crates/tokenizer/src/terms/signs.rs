//! Signs: what a text has beside its words. Punctuation, hashtags and mentions, capitals.

use std::mem;

use crate::bits::{BLOCK, bits, is_digit, is_letter};
use crate::characters::normalize::normalize;
use crate::characters::{fold_into, stays};
use crate::words::batch::Batch;
use crate::words::scan::preceded;

/// Written before every sign. No word contains this character.
const SIGN: u8 = b'^';

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
    bytes: Vec<u8>,
    spans: Vec<[usize; 2]>,
    folded: String,
}

/// Calls `emit` with the signs of a text, in order, as [`TokenizerOptions::signs`](crate::TokenizerOptions::signs) says.
pub(crate) fn for_each_batch(text: &str, signs: &mut SignBuffers, emit: impl FnMut(Batch<'_>)) {
    let (blocks, rest) = text.as_bytes().as_chunks::<BLOCK>();
    let mut last = [0; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    let (mut before, mut done) = ([0; 3], 0);
    for (number, block) in blocks.iter().chain([&last]).enumerate() {
        let (mut starts, common) = starts(block, &mut before);
        while starts != 0 {
            let at = starts.trailing_zeros() as usize;
            starts &= starts - 1;
            let (start, byte) = (BLOCK * number + at, block[at]);
            if start < done {
                continue;
            }
            if common >> at & 1 == 0 {
                done = signs.other(text, start);
            } else if is_letter(byte) {
                signs.push(b"Aa");
            } else {
                signs.push(&[byte]);
            }
        }
    }
    let batches = Batch::of_bytes(&signs.bytes, &signs.spans);
    batches.map(|batch| Batch { are_signs: true, ..batch }).for_each(emit);
    signs.bytes.clear();
    signs.spans.clear();
}

/// Where signs may begin: at punctuation, at words that begin with a capital, and at characters beyond ASCII. And which of
/// these are surely a single mark or the sole capital before a small letter or digit. `before` is about the block before.
#[inline(always)]
fn starts(block: &[u8; BLOCK], before: &mut [u64; 3]) -> (u64, u64) {
    let words = bits(block, |byte| is_letter(byte) || is_digit(byte));
    let capitals = bits(block, |byte| byte.wrapping_sub(b'A') < 26);
    let beyond = bits(block, |byte| byte >= 0x80);
    let characters = bits(block, |byte| byte >= 0xc0);
    let marks = bits(block, |byte| byte > b' ' && byte != 0x7f) & !(words | beyond);
    let tags = bits(block, |byte| byte == b'#' || byte == b'@');
    let [words_before, marks_before, beyond_before] = mem::replace(before, [words, marks, beyond]);
    let runs = marks & !preceded(marks, marks_before);
    let capitals_first = capitals & !preceded(words, words_before);
    // what follows the last byte is not known
    let alone = runs & !(tags | (marks | characters) >> 1 | 1 << (BLOCK - 1));
    let capitalized = capitals_first & (words & !capitals) >> 1 & !preceded(beyond, beyond_before);
    (runs | capitals_first | characters, alone | capitalized)
}

/// Splits a text after the characters at its beginning that are such.
fn split_after(text: &str, is_such: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !is_such(c)).unwrap_or(text.len()))
}

impl SignBuffers {
    /// Adds the signs that begin at a character, of any kind. Returns where to go on, which is there or further on.
    #[inline(never)]
    fn other(&mut self, text: &str, start: usize) -> usize {
        let rest = &text[start..];
        match rest.chars().next() {
            // the common case beyond ASCII, told by the table
            Some(c @ '\u{80}'..='\u{ffff}') if stays(c) => start,
            Some(c) if is_punctuation(c) => {
                let (run, after) = split_after(rest, is_punctuation);
                self.punctuation(run, after);
                start + run.len()
            }
            Some(c) if c.is_uppercase() && !text[..start].ends_with(is_alphanumeric) => {
                self.word(split_after(rest, is_alphanumeric).0);
                start
            }
            _ => start,
        }
    }

    /// A run of punctuation, and with it the word after it if it ends with `#` or `@`.
    fn punctuation(&mut self, run: &str, after: &str) {
        let mut text = mem::take(&mut self.folded);
        let (mut last, mut n) = ('\0', 0);
        let is_written = |c: &char| {
            n = if *c == last { n + 1 } else { 1 };
            last = *c;
            n <= REPEATED
        };
        if run.len() <= REPEATED {
            self.push(run.as_bytes());
        } else {
            text.clear();
            text.extend(run.chars().filter(is_written).take(LONGEST));
            self.push(text.as_bytes());
        }
        if let Some(mark) = run.chars().next_back().filter(|c| matches!(c, '#' | '@')) {
            let (word, _) = split_after(after, |c| is_alphanumeric(c) || c == '_');
            if (1..=LONGEST_WORD).contains(&word.chars().count()) {
                fold_into(word, &mut text);
                text.insert(0, mark);
                self.push(text.as_bytes());
            }
        }
        self.folded = text;
    }

    /// A word that begins with a capital.
    fn word(&mut self, word: &str) {
        let mut plain = mem::take(&mut self.folded);
        // letters may be disguised
        let word = if word.is_ascii() { word } else { normalize(word, &mut plain) };
        let has_more = || word.chars().nth(1).is_some();
        if word.chars().all(char::is_uppercase) && has_more() {
            self.push(b"AA");
            if word.chars().nth(LONGEST_WORD).is_none() {
                self.push(word.as_bytes());
            }
        } else {
            self.push(b"Aa");
        }
        self.folded = plain;
    }

    /// Adds a sign.
    #[inline(always)]
    fn push(&mut self, sign: &[u8]) {
        let start = self.bytes.len();
        self.bytes.push(SIGN);
        self.bytes.extend_from_slice(sign);
        self.spans.push([start, self.bytes.len()]);
    }
}

/// Whether a character is part of a word.
#[inline(always)]
fn is_alphanumeric(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphanumeric() } else { c.is_alphanumeric() }
}

/// Whether a character is punctuation: of ASCII, of Latin, Arabic and Devanagari, and of East Asia. Others are rare, or
/// words by themselves.
#[inline(always)]
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
                signs.word(run);
            }
            rest = after;
        }
        let all: Vec<_> =
            Batch::of_bytes(&signs.bytes, &signs.spans).flat_map(|batch| batch.iter()).collect();
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
    fn what_folding_leaves_alone_begins_no_sign() {
        for c in ('\u{80}'..='\u{ffff}').filter(|c| stays(*c)) {
            assert!(!is_punctuation(c) && !c.is_uppercase(), "{c:?}");
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
