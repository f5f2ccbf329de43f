//! Runs of letters of two or three bytes, the usual words of many scripts. Eight letters of two bytes are looked up at a
//! time, which avoids an unpredictable branch per letter.

use crate::characters::entry::{CharacterClass, CharacterEntry};
use crate::characters::{is_steady, look, look_two};

/// Number of bytes looked up at once.
const BLOCK: usize = 16;

/// A run of letters and the flags of their entries.
#[derive(Clone, Copy)]
pub(crate) struct Letters {
    pub(crate) first: CharacterEntry,
    /// The AND and the OR of the entries.
    pub(crate) all: u32,
    pub(crate) any: u32,
}

/// The letters of `bytes[start..end]`, if each has two bytes and enough text follows.
#[inline(always)]
pub(crate) fn of_two_bytes(bytes: &[u8], start: usize, end: usize) -> Option<Letters> {
    let mut letters = Letters { first: CharacterEntry::END, all: u32::MAX, any: 0 };
    let mut at = start;
    while at < end {
        let block = bytes.get(at..).and_then(<[u8]>::first_chunk::<BLOCK>)?;
        let (low, high) = (half(block, 0), half(block, 8));
        let length = end - at;
        // replaces what follows the run by the first letter, which leaves the AND and the OR as they are
        let again = (low & 0xffff) * 0x0001_0001_0001_0001;
        let low = low & ones(length) | again & !ones(length);
        let high = high & ones(length.saturating_sub(8)) | again & !ones(length.saturating_sub(8));
        if !are_pairs(low) || !are_pairs(high) {
            return None;
        }
        letters.first = if at == start { look_two(low as u16) } else { letters.first };
        for half in [low, high] {
            for letter in 0..4 {
                let entry = look_two((half >> (16 * letter)) as u16);
                letters.all &= entry.0;
                letters.any |= entry.0;
            }
        }
        at += BLOCK;
    }
    Some(letters)
}

/// Where the word that begins at `start` ends, if it consists of characters of three bytes that stay as they are and what
/// follows surely ends it.
#[inline(always)]
pub(crate) fn end_of_three_bytes(bytes: &[u8], start: usize, end: usize) -> Option<usize> {
    let (characters, _) = bytes[start..end].as_chunks();
    let at = start + 3 * characters.iter().take_while(|character| is_steady(**character)).count();
    let ends = at == end || look(bytes, at).0.class() == CharacterClass::Neutral;
    (at > start && ends && look(bytes, start).0.class().begins()).then_some(at)
}

#[inline(always)]
fn half(block: &[u8; BLOCK], from: usize) -> u64 {
    block[from..].first_chunk().map_or(0, |half| u64::from_le_bytes(*half))
}

/// A mask of the lowest `bytes` bytes.
#[inline(always)]
fn ones(bytes: usize) -> u64 {
    if bytes < 8 { (1 << (8 * bytes)) - 1 } else { u64::MAX }
}

/// Whether the eight bytes are four characters of two bytes each.
#[inline(always)]
fn are_pairs(bytes: u64) -> bool {
    bytes & 0xc0e0_c0e0_c0e0_c0e0 == 0x80c0_80c0_80c0_80c0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::characters::entry_of;
    use proptest::prelude::*;
    use unicode_normalization::char::canonical_combining_class;

    proptest! {
        #[test]
        fn are_looked_up_one_by_one(text in "[а-яА-ЯéΣא٣]{1,40}", before in "[ aж]{0,3}", after in "[ -.]{16,20}|[ -.]{0,15}") {
            let whole = format!("{before}{text}{after}");
            let (start, end) = (before.len(), before.len() + text.len());
            match of_two_bytes(whole.as_bytes(), start, end) {
                Some(letters) => {
                    let entries: Vec<u32> = text.chars().map(|c| entry_of(c).0).collect();
                    prop_assert_eq!(letters.first.0, entries[0]);
                    prop_assert_eq!(letters.all, entries.iter().fold(u32::MAX, |all, entry| all & entry));
                    prop_assert_eq!(letters.any, entries.iter().fold(0, |any, entry| any | entry));
                }
                None => prop_assert!(after.len() < BLOCK),
            }
        }

        #[test]
        fn words_of_three_bytes_end_where_a_plain_search_ends(
            before in "[ aж]{0,3}", text in "[क-हि\u{94d}\u{93c}ঁ-য\u{9bc}한글३॥।ка漢ไ\u{301}!_]{1,12}"
        ) {
            let stays = |c: &char| {
                let (entry, virama) = (entry_of(*c), canonical_combining_class(*c) == 9);
                let is_word = entry.is(CharacterEntry::PLAIN) || entry.class() == CharacterClass::Mark && virama;
                c.len_utf8() == 3 && is_word
            };
            let length: usize = text.chars().take_while(stays).map(char::len_utf8).sum();
            let class = |text: &str| text.chars().next().map(|c| entry_of(c).class());
            let ends = class(&text[length..]).is_none_or(|class| class == CharacterClass::Neutral);
            let is_word = length > 0 && class(&text).is_some_and(CharacterClass::begins);
            let (whole, start) = (format!("{before}{text}"), before.len());
            prop_assert_eq!(
                end_of_three_bytes(whole.as_bytes(), start, whole.len()),
                (is_word && ends).then_some(start + length)
            );
        }

        #[test]
        fn other_lengths_are_told(text in "[а-яaא漢😀\u{301}]{1,20}") {
            let whole = format!("{text}{:20}", "");
            let two = text.chars().all(|c| c.len_utf8() == 2);
            prop_assert_eq!(of_two_bytes(whole.as_bytes(), 0, text.len()).is_some(), two);
        }
    }
}
