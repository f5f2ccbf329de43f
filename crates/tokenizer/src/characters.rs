//! A table of all characters: everything segmentation, folding and normalization need, in one look-up.

use entry::CharacterEntry;
use rules::fold_char;

pub(crate) mod entry;
pub(crate) mod normalize;
pub(crate) mod rules;

// The build script makes BLOCKS, ENTRIES and STEADY: plain integers, which need no relocation at program start.
include!(concat!(env!("OUT_DIR"), "/characters.rs"));

/// The entry and length of the character at a byte position; past the end, [`CharacterEntry::END`] and 0.
#[inline(always)]
pub(crate) fn look(bytes: &[u8], at: usize) -> (CharacterEntry, usize) {
    let low = |byte: u8| usize::from(byte & 63);
    match bytes.get(at..) {
        Some([a @ 0..0x80, ..]) => (CharacterEntry(ENTRIES[usize::from(*a)]), 1),
        // the blocks of two-byte characters come first, in order
        Some([a @ 0..0xe0, b, ..]) => (CharacterEntry(ENTRIES[usize::from(a & 31) << 6 | low(*b)]), 2),
        Some([a @ 0..0xf0, b, c, ..]) => (entry(usize::from(a & 15) << 6 | low(*b), low(*c)), 3),
        Some([a, b, c, d, ..]) => (entry(usize::from(a & 7) << 12 | low(*b) << 6 | low(*c), low(*d)), 4),
        _ => (CharacterEntry::END, 0),
    }
}

/// The entry of a two-byte character given in little-endian order.
#[inline(always)]
pub(crate) fn look_two(bytes: u16) -> CharacterEntry {
    CharacterEntry(ENTRIES[usize::from((bytes & 31) << 6 | bytes >> 8 & 63)])
}

/// Whether three bytes are a letter, digit or mark that stays as it is in words of its like.
#[inline(always)]
pub(crate) fn is_steady([lead, second, third]: [u8; 3]) -> bool {
    let block = usize::from(lead.wrapping_sub(0xe0)) << 6 | usize::from(second & 63);
    STEADY.get(block).is_some_and(|mask| mask >> (third & 63) & 1 == 1)
}

/// The entry of a character.
pub(crate) fn entry_of(c: char) -> CharacterEntry {
    entry(c as usize >> 6, c as usize & 63)
}

#[inline(always)]
fn entry(block: usize, last: usize) -> CharacterEntry {
    let number = BLOCKS.get(block).map(|number| usize::from(*number));
    number
        .and_then(|number| ENTRIES.get(number << 6 | last))
        .map_or(CharacterEntry::UNUSUAL, |entry| CharacterEntry(*entry))
}

/// Sets `folded` to `text` in lower case, with `σ` for every sigma.
pub(crate) fn fold_into(text: &str, folded: &mut String) {
    folded.clear();
    for c in text.chars() {
        if stays(c) { folded.push(c) } else { folded.extend(fold_char(c)) }
    }
}

/// Whether the table shows that folding leaves the character alone.
pub(crate) fn stays(c: char) -> bool {
    let entry = entry_of(c);
    entry.class().begins() && entry.flips() == 0
}

#[cfg(test)]
mod tests {
    use entry::CharacterClass;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_character_is_found_by_its_bytes() {
        for c in '\0'..=char::MAX {
            let mut bytes = [0; 4];
            let length = c.encode_utf8(&mut bytes).len();
            assert_eq!(look(&bytes[..length], 0), (entry_of(c), length), "{c:?}");
        }
        assert_eq!(look(b"", 0), (CharacterEntry::END, 0));
    }

    #[test]
    fn what_characters_are() {
        for (c, class) in [
            ('a', CharacterClass::Letter),
            ('ж', CharacterClass::Letter),
            ('क', CharacterClass::Letter),
            ('한', CharacterClass::Letter),
            ('א', CharacterClass::Hebrew),
            ('٣', CharacterClass::Digit),
            ('_', CharacterClass::Underscore),
            ('\u{93f}', CharacterClass::PlainMark),
            ('\u{94d}', CharacterClass::Mark),
            ('\u{301}', CharacterClass::Composing),
            ('漢', CharacterClass::Unspaced),
            ('カ', CharacterClass::Unspaced),
            ('々', CharacterClass::UnspacedLetter),
            ('ั', CharacterClass::UnspacedPlainMark),
            (':', CharacterClass::MidLetter),
            ('，', CharacterClass::MidNum),
            ('’', CharacterClass::MidNumLet),
            ('\'', CharacterClass::SingleQuote),
            ('"', CharacterClass::DoubleQuote),
            ('。', CharacterClass::Neutral),
            ('…', CharacterClass::Neutral),
            ('\u{a0}', CharacterClass::Neutral),
            ('\u{200b}', CharacterClass::Unusual),
            ('İ', CharacterClass::Unusual),
            ('Ａ', CharacterClass::Unusual),
        ] {
            assert_eq!(entry_of(c).class(), class, "{c:?}");
        }
        assert!(
            entry_of('а').is(CharacterEntry::LOOK_ALIKE) && !entry_of('ж').is(CharacterEntry::LOOK_ALIKE)
        );
        assert!(
            entry_of('…').is(CharacterEntry::SEPARATES)
                && entry_of('。').is(CharacterEntry::NON_ASCII)
                && entry_of('…').is(CharacterEntry::VARIANT)
        );
    }

    fn fold(text: &str) -> String {
        let mut folded = "left over".to_owned();
        fold_into(text, &mut folded);
        folded
    }

    #[test]
    fn folds() {
        for (text, expected) in [
            ("", ""),
            ("Hello", "hello"),
            ("ÉCOLE", "école"),
            ("ΟΔΟΣ οδος", "οδοσ οδοσ"),
            ("İ", "i\u{307}"),
            ("漢字ẞ", "漢字ß"),
        ] {
            assert_eq!(fold(text), expected);
        }
    }

    #[test]
    fn the_table_tells_what_stays() {
        for c in ('\0'..=char::MAX).filter(|c| stays(*c)) {
            assert!(fold_char(c).eq([c]), "{c:?}");
        }
        assert!("وسلم漢字42é".chars().all(stays) && !stays('Ж') && !stays('ς'));
    }

    proptest! {
        #[test]
        fn folding_again_changes_nothing(text in ".*") {
            prop_assert_eq!(fold(&fold(&text)), fold(&text));
        }
    }
}
