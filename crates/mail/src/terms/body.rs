//! Terms for the form of the body: amounts of money, numbers, punctuation, capitals, length.
use super::emitter::Emitter;
use super::scan::padded;
use memchr::memchr2;
use tamis_tokenizer::WordRule;
use tamis_tokenizer::bits::{BLOCK, bits, is_mail_core, is_mail_joiner, next_non_ascii, positions};

/// Emits terms for the amounts of money, percentages, telephone numbers and runs of `!` and `?` in a text.
pub(super) fn figures(text: &str, out: &mut Emitter<'_>) {
    let (bytes, mut end) = (text.as_bytes(), 0);
    for start in positions(bytes, |byte| byte.is_ascii_digit()) {
        if start >= end {
            let length = bytes[start..].iter().position(|c| !c.is_ascii_digit());
            end = length.map_or(bytes.len(), |length| start + length);
            #[cfg(test)]
            tamis_testing::step(end - start);
            Number { before: &text[..start], digits: &text[start..end], after: &text[end..] }.terms(out);
        }
    }
    punctuation(text, out);
}

/// Emits runs of two or more `!` and `?`, distinguished by their first three characters.
fn punctuation(text: &str, out: &mut Emitter<'_>) {
    let mut rest = text;
    while let Some(at) = memchr2(b'!', b'?', rest.as_bytes()) {
        let from = &rest[at..];
        rest = from.trim_start_matches(['!', '?']);
        let length = from.len() - rest.len();
        #[cfg(test)]
        tamis_testing::step(at + length);
        if length >= 2 {
            out.term(&["pun:", &from[..length.min(3)]]);
        }
    }
}

/// A maximal run of digits, with the text around it.
struct Number<'t> {
    before: &'t str,
    digits: &'t str,
    after: &'t str,
}

impl Number<'_> {
    fn terms(&self, out: &mut Emitter<'_>) {
        if let Some(sign) = self.currency_sign() {
            self.amount(sign, out);
        }
        if self.after.strip_prefix(' ').unwrap_or(self.after).starts_with('%') {
            out.term(&["num:pct"]);
        }
        if !self.before.ends_with(is_in_word) {
            if self.is_phone() {
                out.term(&["num:phone"]);
            }
            if self.is_toll_free() {
                out.term(&["num:tollfree"]);
            }
        }
    }

    /// The currency sign before the digits, with the space that may follow it.
    fn currency_sign(&self) -> Option<&str> {
        let rest = self.before.strip_suffix(' ').unwrap_or(self.before);
        let sign = rest.chars().next_back().filter(|c| matches!(c, '$' | '£' | '€'))?;
        Some(&self.before[rest.len() - sign.len_utf8()..])
    }

    /// Emits the shape of an amount of money, with the word that may multiply it.
    fn amount(&self, sign: &str, out: &mut Emitter<'_>) {
        let more = self.after.find(|c: char| !matches!(c, '0'..='9' | ',' | '.')).unwrap_or(self.after.len());
        let (more, rest) = self.after.split_at(more);
        let word = rest.strip_prefix(' ').unwrap_or(rest);
        let length = word.find(|c| !is_in_word(c)).unwrap_or(word.len());
        #[cfg(test)]
        tamis_testing::step(more.len() + length);
        let multiplies = ["million", "billion", "k", "m", "usd"];
        let is_multiplied = multiplies.iter().any(|unit| word[..length].eq_ignore_ascii_case(unit));
        let unit = if is_multiplied { &rest[..rest.len() - word.len() + length] } else { "" };
        out.shape("cur:", &[sign, self.digits, more.trim_end_matches([',', '.']), unit].concat());
    }

    /// Whether the digits begin a number such as `212-555-0100`, also with dots or spaces.
    fn is_phone(&self) -> bool {
        let last = || group(group(self.after, 3)?.1, 4);
        self.digits.len() == 3 && last().is_some_and(|(_, rest)| !rest.starts_with(is_in_word))
    }

    /// Whether the digits begin a number such as `1-800` or `1800`.
    fn is_toll_free(&self) -> bool {
        let (code, rest) = match self.digits.strip_prefix('1') {
            Some("") => group(self.after, 3).unwrap_or_default(),
            Some(code) => (code, self.after),
            None => return false,
        };
        matches!(code, "800" | "833" | "844" | "855" | "866" | "877" | "888") && !rest.starts_with(is_in_word)
    }
}

/// Splits off a separator and the `length` digits after it. Returns the digits and what follows them.
fn group(text: &str, length: usize) -> Option<(&str, &str)> {
    let (digits, rest) = text.strip_prefix(['-', '.', ' '])?.split_at_checked(length)?;
    digits.bytes().all(|c| c.is_ascii_digit()).then_some((digits, rest))
}

fn is_in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The number of words in all texts, and of those in capitals.
#[derive(Default)]
pub(super) struct CapitalsCount {
    all: usize,
    capitals: usize,
}

impl CapitalsCount {
    pub(super) fn count(&mut self, text: &str) {
        let (bytes, mut done) = (text.as_bytes(), 0);
        loop {
            let non_ascii = next_non_ascii(bytes, done);
            if non_ascii == bytes.len() {
                return self.count_ascii(&bytes[done..]);
            }
            // cuts out what is not ASCII at white space, where words end, together with more of it nearby
            let before = bytes[done..non_ascii].iter().rposition(|byte| is_space(*byte));
            let (start, mut end) = (done + before.unwrap_or(0), non_ascii);
            loop {
                end += bytes[end..].iter().position(|byte| is_space(*byte)).unwrap_or(bytes.len() - end);
                let near = &bytes[end..bytes.len().min(end + BLOCK)];
                let Some(more) = near.iter().position(|byte| !byte.is_ascii()) else { break };
                end += more;
            }
            #[cfg(test)]
            tamis_testing::step(2 * (non_ascii - start) + end - non_ascii);
            self.count_ascii(&bytes[done..start]);
            WordRule::Mail.for_each_word(&text[start..end], |word| {
                self.all += 1;
                self.capitals += usize::from(is_capitals(word));
            });
            done = end;
        }
    }

    /// The same for ASCII, 64 bytes at a time. For most words it is enough to know that they begin.
    fn count_ascii(&mut self, text: &[u8]) {
        let (blocks, rest) = text.as_chunks();
        let (mut core_before, mut joiner_before) = (0, 0);
        for number in 0..=blocks.len() {
            let last = &mut [0; BLOCK];
            let block = blocks.get(number).unwrap_or_else(|| {
                *last = padded(rest);
                last
            });
            #[cfg(test)]
            tamis_testing::step(BLOCK);
            let (core, joiners) = (bits(block, is_mail_core), bits(block, is_mail_joiner));
            let small = bits(block, |byte| byte.is_ascii_lowercase());
            let starts = core & !(core << 1 | core_before);
            self.all += starts.count_ones() as usize;
            // a word is not in capitals if it has a small letter among its first two characters, or fewer than three
            // characters
            let second = (core | joiners) >> 1 | 1 << (BLOCK - 1);
            let may_be = !(small | small >> 1) & second & (second >> 1 | 1 << (BLOCK - 1));
            let mut looked_at = starts & (may_be | joiners << 1 | joiner_before);
            (core_before, joiner_before) = (core >> (BLOCK - 1), joiners >> (BLOCK - 1));
            while looked_at != 0 {
                let start = BLOCK * number + looked_at.trailing_zeros() as usize;
                let before = text[..start].iter().rposition(|byte| !is_mail_joiner(*byte));
                #[cfg(test)]
                tamis_testing::step(start - before.unwrap_or(0));
                if before.is_some_and(|at| is_mail_core(text[at])) {
                    self.all -= 1; // goes on with the word before
                } else {
                    self.capitals += usize::from(begins_in_capitals(&text[start..]));
                }
                looked_at &= looked_at - 1;
            }
        }
    }

    /// Emits the share of words in capitals, in steps of 5 % up to a half, and the number of words, in powers of two.
    pub(super) fn terms(&self, out: &mut Emitter<'_>) {
        if self.all == 0 {
            return out.term(&["len:none"]);
        }
        out.number("caps:", (20 * self.capitals / self.all).min(10));
        out.number("len:", (self.all + 1).ilog2() as usize);
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n')
}

/// [`is_capitals`] for the word at the beginning of an ASCII text.
fn begins_in_capitals(text: &[u8]) -> bool {
    let (mut length, mut capital) = (0, false);
    for (at, byte) in text.iter().enumerate() {
        #[cfg(test)]
        tamis_testing::step(1);
        if byte.is_ascii_lowercase() {
            return false;
        }
        if is_mail_core(*byte) {
            length = at + 1;
            capital |= byte.is_ascii_uppercase();
        } else if !is_mail_joiner(*byte) {
            break;
        }
    }
    capital && length > 2
}

/// Whether a word has at least three characters, among them a capital and no small letter.
fn is_capitals(word: &str) -> bool {
    let (mut length, mut capital) = (0, false);
    for c in word.chars() {
        if c.is_lowercase() {
            return false;
        }
        length += 1;
        capital |= c.is_uppercase();
    }
    capital && length > 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::emitter::testing::terms;
    use proptest::prelude::*;
    use tamis_testing::check_linear;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(terms(|out| figures(text, out)), expected, "{text:?}");
    }

    #[test]
    fn amounts() {
        check("$5 $ 1,000.50. £20 €9,99", &["cur:$0", "cur:$ 0,0.0", "cur:£0", "cur:€0,0"]);
        check("$5 Million, $3.5m $4k! $7USD", &["cur:$0 Aa", "cur:$0.0a", "cur:$0a", "cur:$0A"]);
        check("$5 many $6 ml $7 ", &["cur:$0", "cur:$0", "cur:$0"]);
        check("US$, $x $  5 $\n5 1,000 5$", &[]);
    }

    #[test]
    fn percentages() {
        check("100% 3.5 % 5%% %5 7\n% x%", &["num:pct"; 3]);
    }

    #[test]
    fn telephone_numbers() {
        check("212-555-0100 212.555.0100, (212) 555-0100", &["num:phone"; 2]);
        check("1212-555-0100 a212-555-0100 212-555-01000 212-555-010", &[]);
        check("123-123-123-1234", &["num:phone"]);
        check("1-800-555-0100", &["num:tollfree", "num:phone"]);
        check("1800 1 888, 1.877", &["num:tollfree"; 3]);
        check("21-800 1-8000 1-801 x1-800 1-", &[]);
    }

    #[test]
    fn runs_of_punctuation() {
        check("a! b? c!! d?!? e!!!!!", &["pun:!!", "pun:?!?", "pun:!!!"]);
    }

    #[test]
    fn capitals_and_length() {
        let check = |texts: &[&str], expected: &[&str]| {
            let mut words = CapitalsCount::default();
            texts.iter().for_each(|text| words.count(text));
            assert_eq!(terms(|out| words.terms(out)), expected, "{texts:?}");
        };
        check(&[], &["len:none"]);
        check(&[" . "], &["len:none"]);
        check(&["one two", "three"], &["caps:0", "len:2"]);
        check(&["BUY Now OK it is A1 123"], &["caps:2", "len:3"]);
        check(&["ÄÖÜ BUY!! $$$"], &["caps:10", "len:2"]);
    }

    #[test]
    fn hostile_texts_are_linear() {
        let units =
            ["1", "$1", "$1,", "!", "! ", "1-", "123-", "$", "1%", "1 ", "$1m", "1é", "A ", "-", "A-", "A--"];
        check_linear(&units, |text| {
            terms(|out| figures(text, out));
            CapitalsCount::default().count(text);
        });
    }

    proptest! {
        #[test]
        fn words_are_those_of_the_rule(text in "([A-Z]{1,3}|[a-z]{1,3}|[$!%0-9]|['-]{1,3}|[ ._\n]{1,30}|[éß漢\u{a0}]){0,60}") {
            let mut words = CapitalsCount::default();
            words.count(&text);
            let (mut all, mut capitals) = (0, 0);
            WordRule::Mail.for_each_word(&text, |word| {
                all += 1;
                capitals += usize::from(is_capitals(word));
            });
            prop_assert_eq!((words.all, words.capitals), (all, capitals));
        }

        #[test]
        fn never_panics(text in "([$£€%!? .,-]|[0-9]{1,4}|million|k|\\PC){0,40}") {
            terms(|out| figures(&text, out));
        }
    }
}
