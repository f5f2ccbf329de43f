//! Makes the character table from the Unicode crates. Only the build script uses it.

use std::collections::HashMap;

use unicode_normalization::char::{canonical_combining_class, is_combining_mark, is_public_assigned};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};
use unicode_segmentation::UnicodeSegmentation;

use crate::entry::{CharacterClass, CharacterEntry};
use crate::rules::{
    fold_char, is_diacritic, is_invisible, is_letter_emoji, is_sign, is_unspaced, look_alike, stand_in,
};

/// End of the characters in the table; only private and invisible ones lie beyond.
const CHARACTERS: u32 = 0x4_0000;
/// Number of blocks of one- and two-byte characters, which are found without [`CharacterTable::blocks`].
const SHORT: usize = 0x800 / 64;

/// Entries in blocks of 64 characters, which share all UTF-8 bytes but the last.
pub(crate) struct CharacterTable {
    /// The index in `entries` for each block of 64 characters.
    pub(crate) blocks: Vec<u16>,
    pub(crate) entries: Vec<[CharacterEntry; 64]>,
    /// For each block of at most three bytes a character, a mask of those that are [steady](is_steady).
    pub(crate) steady: Vec<u64>,
}

pub(crate) fn table() -> CharacterTable {
    let mut table = CharacterTable { blocks: Vec::new(), entries: Vec::new(), steady: Vec::new() };
    let mut known = HashMap::new();
    for block in 0..CHARACTERS / 64 {
        let entries: [CharacterEntry; 64] = std::array::from_fn(|i| {
            char::from_u32(block * 64 + i as u32).map_or(CharacterEntry::UNUSUAL, entry)
        });
        let next = table.entries.len() as u16;
        let number = match known.get(&entries) {
            Some(number) if table.blocks.len() >= SHORT => *number,
            _ => next,
        };
        if number == next {
            known.insert(entries, next);
            table.entries.push(entries);
        }
        table.blocks.push(number);
    }
    let is = |block: u32, i: u32| char::from_u32(block * 64 + i).is_some_and(is_steady);
    let mask = |block| (0..64).filter(|i| is(block, *i)).fold(0, |mask, i| mask | 1 << i);
    table.steady = (0..0x1_0000 / 64).map(mask).collect();
    table
}

/// Whether the character stays as it is in words of its like: it has no case, looks like no ASCII, and is not reordered
/// among its like, as viramas are not.
fn is_steady(c: char) -> bool {
    const VIRAMA: u8 = 9;
    let entry = entry(c);
    let class = entry.class();
    let is_plain = entry == CharacterEntry(CharacterEntry::PLAIN | CharacterEntry::new(class, 0).0);
    let is_virama = class == CharacterClass::Mark && canonical_combining_class(c) == VIRAMA;
    is_plain && class != CharacterClass::Hebrew || is_virama
}

fn entry(c: char) -> CharacterEntry {
    if is_invisible(c) {
        return CharacterEntry::UNUSUAL;
    }
    let word = if is_sign(c) { CharacterEntry::WORD } else { 0 };
    // Unassigned code points join nothing.
    if !is_public_assigned(c) && !c.is_alphanumeric() {
        return CharacterEntry::new(CharacterClass::Neutral, word | CharacterEntry::NON_ASCII);
    }
    if [c].into_iter().nfkc().ne([c]) {
        return of_variant(&[c].into_iter().nfkc().collect::<Vec<_>>());
    }
    let class = class(c);
    match class {
        CharacterClass::Unusual => CharacterEntry::UNUSUAL,
        CharacterClass::Neutral => CharacterEntry::new(class, word | sign_flags(&[c])),
        _ if is_sign(c) => CharacterEntry::UNUSUAL,
        _ if class.is_mid() => CharacterEntry::new(class, sign_flags(&[c])),
        _ => flips(c).map_or(CharacterEntry::UNUSUAL, |flips| {
            CharacterEntry::new(class, flips | letter_flags(c, class))
        }),
    }
}

/// The entry of a character that normalization changes. It is known only if the result is not part of a word.
fn of_variant(normal: &[char]) -> CharacterEntry {
    let entries: Vec<CharacterEntry> = normal.iter().map(|c| entry(*c)).collect();
    let is_no_word =
        |entry: &CharacterEntry| entry.class() == CharacterClass::Neutral || entry.class().is_mid();
    if !entries.iter().all(|entry| is_no_word(entry) && !entry.is(CharacterEntry::WORD)) {
        return CharacterEntry::UNUSUAL;
    }
    let class = if let [entry] = entries[..] { entry.class() } else { CharacterClass::Neutral };
    CharacterEntry::new(class, CharacterEntry::VARIANT | sign_flags(normal))
}

fn sign_flags(normal: &[char]) -> u32 {
    let separates = |c: &char| c.is_ascii() && !(c.is_ascii_alphanumeric() || "$'!%-".contains(*c));
    if normal.iter().all(separates) {
        CharacterEntry::SEPARATES
    } else if normal.iter().all(|c| !c.is_ascii()) {
        CharacterEntry::NON_ASCII
    } else {
        0
    }
}

fn letter_flags(c: char, class: CharacterClass) -> u32 {
    let plain = matches!(
        class,
        CharacterClass::Letter | CharacterClass::Hebrew | CharacterClass::Digit | CharacterClass::PlainMark
    );
    let mut flags = if plain { CharacterEntry::PLAIN } else { 0 };
    if look_alike(c).is_some() {
        flags |= CharacterEntry::LOOK_ALIKE | CharacterEntry::LOOKS_ASCII;
    }
    if stand_in(c).is_some() {
        flags |= CharacterEntry::LOOK_ALIKE;
    }
    if c.is_ascii_alphanumeric() {
        flags |= CharacterEntry::LOOKS_ASCII;
    }
    flags
}

/// The bits of its bytes that folding flips, if folding keeps its length.
fn flips(c: char) -> Option<u32> {
    let mut folded = fold_char(c);
    let (Some(lower), None) = (folded.next(), folded.next()) else { return None };
    let bytes = |c: char| {
        let mut bytes = [0; 4];
        c.encode_utf8(&mut bytes);
        u32::from_le_bytes(bytes)
    };
    let flips = bytes(c) ^ bytes(lower);
    (c.len_utf8() == lower.len_utf8() && flips >> 24 == 0).then_some(flips)
}

/// The class of a character that normalization leaves alone.
fn class(c: char) -> CharacterClass {
    let quick = is_nfkc_quick([c].into_iter());
    let (ccc, unspaced, mark) = (canonical_combining_class(c), is_unspaced(c), is_combining_mark(c));
    let alphanumeric = c.is_alphanumeric();
    // The crate and the standard library may know different versions of Unicode.
    if c.encode_utf8(&mut [0; 4]).unicode_words().next().is_some() != alphanumeric {
        return CharacterClass::Unusual;
    }
    // what becomes of these depends on their neighbours
    if is_letter_emoji(c) || is_diacritic(c) && ccc == 0 {
        return CharacterClass::Unusual;
    }
    let break_of = word_break(c);
    if look_alike(c).is_some() && (break_of, unspaced) != (Break::Letter, false) {
        return CharacterClass::Unusual;
    }
    match break_of {
        Break::Extend if quick == IsNormalized::Maybe && mark && !unspaced => CharacterClass::Composing,
        _ if quick != IsNormalized::Yes => CharacterClass::Unusual,
        // a character that is not a mark ends a word that looks like ASCII
        Break::Extend if !mark => CharacterClass::Unusual,
        Break::Extend => match (unspaced, ccc) {
            (false, 0) => CharacterClass::PlainMark,
            (false, _) => CharacterClass::Mark,
            (true, 0) => CharacterClass::UnspacedPlainMark,
            (true, _) => CharacterClass::UnspacedMark,
        },
        _ if ccc != 0 => CharacterClass::Unusual,
        Break::Letter if alphanumeric && unspaced => CharacterClass::UnspacedLetter,
        Break::Other | Break::Katakana if alphanumeric && unspaced => CharacterClass::Unspaced,
        Break::Letter if alphanumeric => CharacterClass::Letter,
        Break::Hebrew if alphanumeric && !unspaced => CharacterClass::Hebrew,
        Break::Numeric if alphanumeric && !unspaced => CharacterClass::Digit,
        _ if alphanumeric || mark => CharacterClass::Unusual,
        Break::Other => CharacterClass::Neutral,
        _ if unspaced => CharacterClass::Unusual,
        Break::ExtendNumLet if c == '_' => CharacterClass::Underscore,
        Break::MidLetter => CharacterClass::MidLetter,
        Break::MidNum => CharacterClass::MidNum,
        Break::MidNumLet => CharacterClass::MidNumLet,
        Break::SingleQuote => CharacterClass::SingleQuote,
        Break::DoubleQuote => CharacterClass::DoubleQuote,
        _ => CharacterClass::Unusual,
    }
}

/// The values of Word_Break that matter for words.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Break {
    Letter,
    Hebrew,
    Numeric,
    Katakana,
    ExtendNumLet,
    Extend,
    MidLetter,
    MidNum,
    MidNumLet,
    SingleQuote,
    DoubleQuote,
    Regional,
    Other,
}

/// Finds Word_Break by probing the segmenter around the character.
fn word_break(c: char) -> Break {
    let segments = |pattern: &str| {
        let text = pattern.replace('c', c.encode_utf8(&mut [0; 4]));
        text.split_word_bounds().count()
    };
    let joined = |pattern: &str| segments(pattern) == 1;
    // the common case: 13 segments if it joins nothing
    match () {
        () if segments("aca1c1אcאアc🇩c!c") == 13 => Break::Other,
        () if c == '\n' => Break::Other,
        () if joined("!c") => Break::Extend,
        () if joined("ac") && joined("アc") => Break::ExtendNumLet,
        () if joined("ac") && joined("c\"c") => Break::Hebrew,
        () if joined("ac") && joined("a:c") => Break::Letter,
        () if joined("1c") && joined("1,c") => Break::Numeric,
        () if joined("アc") => Break::Katakana,
        () if joined("אc") => Break::SingleQuote,
        () if joined("אcא") && !joined("aca") => Break::DoubleQuote,
        () if joined("aca") && joined("1c1") => Break::MidNumLet,
        () if joined("aca") => Break::MidLetter,
        () if joined("1c1") => Break::MidNum,
        () if joined("🇩c") => Break::Regional,
        () => Break::Other,
    }
}
