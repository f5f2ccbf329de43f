//! A table of all characters: everything segmentation, folding and normalization need, in one look-up.

pub(crate) mod entry;
pub(crate) mod fold;
pub(crate) mod normalize;
pub(crate) mod rules;

use entry::Entry;

// The build script makes BLOCKS and ENTRIES: plain integers, which need no relocation at program start.
include!(concat!(env!("OUT_DIR"), "/characters.rs"));

/// The entry and length of the character at a byte position; past the end, [`Entry::END`] and 0.
#[inline(always)]
pub(crate) fn look(bytes: &[u8], at: usize) -> (Entry, usize) {
    let low = |byte: u8| usize::from(byte & 63);
    match bytes.get(at..) {
        Some([a @ 0..0x80, ..]) => (Entry(ENTRIES[usize::from(*a)]), 1),
        // the blocks of two-byte characters come first, in order
        Some([a @ 0..0xe0, b, ..]) => (Entry(ENTRIES[usize::from(a & 31) << 6 | low(*b)]), 2),
        Some([a @ 0..0xf0, b, c, ..]) => (entry(usize::from(a & 15) << 6 | low(*b), low(*c)), 3),
        Some([a, b, c, d, ..]) => (entry(usize::from(a & 7) << 12 | low(*b) << 6 | low(*c), low(*d)), 4),
        _ => (Entry::END, 0),
    }
}

/// The entry of a two-byte character given in little-endian order.
#[inline(always)]
pub(crate) fn look_two(bytes: u16) -> Entry {
    Entry(ENTRIES[usize::from((bytes & 31) << 6 | bytes >> 8 & 63)])
}

/// The entry of a character.
pub(crate) fn of(c: char) -> Entry {
    entry(c as usize >> 6, c as usize & 63)
}

#[inline(always)]
fn entry(block: usize, last: usize) -> Entry {
    let number = BLOCKS.get(block).map(|number| usize::from(*number));
    number.and_then(|number| ENTRIES.get(number << 6 | last)).map_or(Entry::UNUSUAL, |entry| Entry(*entry))
}

#[cfg(test)]
mod tests {
    use super::*;
    use entry::Class;

    #[test]
    fn every_character_is_found_by_its_bytes() {
        for c in '\0'..=char::MAX {
            let mut bytes = [0; 4];
            let length = c.encode_utf8(&mut bytes).len();
            assert_eq!(look(&bytes[..length], 0), (of(c), length), "{c:?}");
        }
        assert_eq!(look(b"", 0), (Entry::END, 0));
    }

    #[test]
    fn what_characters_are() {
        for (c, class) in [
            ('a', Class::Letter),
            ('ж', Class::Letter),
            ('क', Class::Letter),
            ('한', Class::Letter),
            ('א', Class::Hebrew),
            ('٣', Class::Digit),
            ('_', Class::Underscore),
            ('\u{93f}', Class::PlainMark),
            ('\u{94d}', Class::Mark),
            ('\u{301}', Class::Composing),
            ('漢', Class::Unspaced),
            ('カ', Class::Unspaced),
            ('々', Class::UnspacedLetter),
            ('ั', Class::UnspacedPlainMark),
            (':', Class::MidLetter),
            ('，', Class::MidNum),
            ('’', Class::MidNumLet),
            ('\'', Class::SingleQuote),
            ('"', Class::DoubleQuote),
            ('。', Class::Neutral),
            ('…', Class::Neutral),
            ('\u{a0}', Class::Neutral),
            ('\u{200b}', Class::Unusual),
            ('İ', Class::Unusual),
            ('Ａ', Class::Unusual),
        ] {
            assert_eq!(of(c).class(), class, "{c:?}");
        }
        assert!(of('а').is(Entry::LOOK_ALIKE) && !of('ж').is(Entry::LOOK_ALIKE));
        assert!(of('…').is(Entry::SEPARATES) && of('。').is(Entry::NON_ASCII) && of('…').is(Entry::VARIANT));
    }
}
