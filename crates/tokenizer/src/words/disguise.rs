//! Text as a person reads it: turned round where an override shows it so, and words that are spelled out.

use std::borrow::Cow;

use crate::bits::{BLOCK, equal};

/// The fewest letters of a word that is spelled out: `U.S.A.` is none.
const LEAST: usize = 4;

/// Signs that spell words out.
const fn is_sign(byte: u8) -> bool {
    matches!(byte, b'.' | b'|' | b'_' | b'-' | b'*' | b'/')
}

/// Undoes disguises that a reader looks through: letters that a right-to-left override (U+202E) shows in reverse, up to
/// its end or that of the line; words of four letters or more that are spelled out by dots, bars, underscores, hyphens,
/// stars or slashes; and words of three letters or more, not all the same, with every letter doubled.
///
/// ```
/// use tamis_tokenizer::undisguised;
///
/// assert_eq!(undisguised("cheap v.i.a.g.r.a!"), "cheap viagra!");
/// assert_eq!(undisguised("ccaasshh"), "cash");
/// assert_eq!(undisguised("\u{202e}argaiv\u{202c} now"), "viagra now");
/// assert_eq!(undisguised("U.S.A. a-b-c"), "U.S.A. a-b-c");
/// ```
pub fn undisguised(text: &str) -> Cow<'_, str> {
    let [is_turned, is_spelled, is_doubled] = disguises(text.as_bytes());
    let text = if is_turned { Cow::Owned(forwards(text)) } else { Cow::Borrowed(text) };
    let length = text.len();
    let text = if is_spelled || is_turned { Cow::Owned(spelled(&text)) } else { text };
    // letters that are joined may be doubled
    if is_doubled || is_turned || text.len() < length { Cow::Owned(halved(&text)) } else { text }
}

/// Turns round what overrides show in reverse, unless it is written from right to left.
fn forwards(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (words, end) = line.split_at(line.trim_end_matches(['\n', '\r']).len());
        let mut parts = words.split('\u{202e}');
        out.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let (turned, rest) = part.split_once('\u{202c}').unwrap_or((part, ""));
            match turned.chars().any(|c| ('\u{590}'..='\u{8ff}').contains(&c)) {
                true => out.push_str(turned),
                false => out.extend(turned.chars().rev()),
            }
            out.push_str(rest);
        }
        out.push_str(end);
    }
    out
}

/// Whether there may be reversed letters, spelled-out words, and words with every letter doubled.
fn disguises(bytes: &[u8]) -> [bool; 3] {
    let letters =
        |places: [usize; 3]| places.iter().all(|at| bytes.get(*at).is_some_and(u8::is_ascii_alphabetic));
    let mut found = [false; 3];
    for start in (0..bytes.len()).step_by(STEP) {
        let mut padded = [0; BLOCK + 2];
        let block = bytes[start..].first_chunk().unwrap_or_else(|| {
            padded[..bytes.len() - start].copy_from_slice(&bytes[start..]);
            &padded
        });
        // a block and two bytes have three such blocks
        let shifted = |by: usize| block[by..].first_chunk().unwrap_or(&[0; BLOCK]);
        let [next, after] = [1, 2].map(|by| equal(shifted(0), shifted(by)));
        // the same sign three times, and not the same byte all along
        let spelled = after & after >> 2 & !next;
        // three pairs of equal bytes, and not six equal ones
        let doubled = next & next >> 2 & next >> 4 & !(next >> 1 & next >> 3);
        let turned = equal(shifted(0), &[OVERRIDE[0]; BLOCK]);
        found[0] |= any(turned, |at| bytes[start + at..].starts_with(OVERRIDE));
        found[1] |= any(spelled, |at| is_sign(block[at]) && letters([1, 3, 5].map(|by| start + at + by)));
        found[2] |= any(doubled, |at| letters([0, 2, 4].map(|by| start + at + by)));
    }
    found
}

/// The right-to-left override.
const OVERRIDE: &[u8] = "\u{202e}".as_bytes();

/// From one block to the next: patterns of six bytes that begin before lie within one.
const STEP: usize = BLOCK - 4;

/// Whether it is so at one of the bits.
fn any(mut bits: u64, is_so: impl Fn(usize) -> bool) -> bool {
    while bits != 0 {
        if is_so(bits.trailing_zeros() as usize) {
            return true;
        }
        bits &= bits - 1;
    }
    false
}

/// Halves the words of which every letter is doubled.
fn halved(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for piece in text.split_inclusive(|c: char| !c.is_alphanumeric()) {
        let word = piece.trim_end_matches(|c: char| !c.is_alphanumeric());
        let mut pairs = word.as_bytes().chunks(2);
        let are_same = word.bytes().all(|byte| Some(&byte) == word.as_bytes().first());
        let is_doubled = word.len() >= 6
            && !are_same
            && pairs.all(|two| two[0].is_ascii_alphabetic() && two.get(1) == Some(&two[0]));
        match is_doubled {
            true => out.extend(word.chars().step_by(2)),
            false => out.push_str(word),
        }
        out.push_str(&piece[word.len()..]);
    }
    out
}

/// Joins the letters of words that are spelled out by one sign.
fn spelled(text: &str) -> String {
    let (bytes, mut out, mut copied, mut at) = (text.as_bytes(), String::with_capacity(text.len()), 0, 0);
    while at + 2 < bytes.len() {
        let sign = bytes[at + 1];
        let begins = |before: &u8| before.is_ascii() && !before.is_ascii_alphanumeric() && !is_sign(*before);
        let is_first = || at == 0 || begins(&bytes[at - 1]);
        if !(is_sign(sign) && bytes[at].is_ascii_alphabetic() && is_first()) {
            at += 1;
            continue;
        }
        let pairs = bytes[at + 1..].chunks_exact(2);
        let n = pairs.take_while(|pair| pair[0] == sign && pair[1].is_ascii_alphabetic()).count();
        let end = at + 2 * n + 1;
        let ends_word = bytes.get(end).is_none_or(|next| !next.is_ascii_alphanumeric() && *next < 0x80);
        if n + 1 >= LEAST && ends_word {
            out.push_str(&text[copied..at]);
            out.extend(bytes[at..end].iter().step_by(2).map(|byte| char::from(*byte)));
            copied = end;
        }
        at = end.max(at + 1);
    }
    out.push_str(&text[copied..]);
    out
}

#[cfg(test)]
mod tests {
    use super::{forwards, halved, spelled, undisguised};
    use proptest::prelude::*;

    #[test]
    fn what_is_no_disguise_stays() {
        for text in [
            "",
            ".",
            "a.b",
            "www.a.b.org",
            "a.b.c.",
            "e.g. i.e.",
            "1.2.3.4.5",
            "- a - b - c - d",
            "a.b-c.d",
            "x.v.i.a.gra",
            "ab.c.d.e.f",
            "é.a.b.c.d",
            "a.b.c.d9",
            "\u{202d}abc",
            "xxxxxx",
            "-=-=-=- ------",
        ] {
            assert_eq!(undisguised(text), text);
        }
        // Hebrew is read from right to left
        assert_eq!(undisguised("\u{202e}שלום\u{202c} a"), "שלום a");
    }

    #[test]
    fn words_are_read_as_they_are_shown() {
        for (text, expected) in [
            ("v|i|a|g|r|a", "viagra"),
            ("F_R_E_E, c-a-s-h", "FREE, cash"),
            ("pprriizzee, TTOODDAAYY! aabb aabbc", "prize, TODAY! aabb aabbc"),
            ("eeeell c.c.a.a.s.s.h.h", "eel cash"),
            ("x a.b.c.d.\r\n", "x abcd.\r\n"),
            ("\u{202e}eerf\r\nnow", "free\r\nnow"),
            ("a \u{202e}b\u{202c}c \u{202e}a.i.v.a\u{202c}", "a bc avia"),
        ] {
            assert_eq!(undisguised(text), expected);
        }
    }

    proptest! {
        #[test]
        fn any_text_loses_nothing_but_signs_and_overrides(text in "([a-c.|é \u{202e}\u{202c}\n]|a\\.b\\.c\\.d){0,40}") {
            let kept = |text: &str| {
                let mut all: Vec<_> = text.chars().filter(|c| !".|\u{202e}\u{202c}".contains(*c)).collect();
                all.sort_unstable();
                all
            };
            prop_assert_eq!(kept(&undisguised(&text)), kept(&text));
        }

        #[test]
        fn no_disguise_is_left_out(text in "(aa|bb|cc|a\\.a\\.|b\\|b\\||[a-c.|é \u{202e}\u{202c}\n]){0,20}") {
            prop_assert_eq!(undisguised(&text), halved(&spelled(&forwards(&text))));
        }
    }
}
