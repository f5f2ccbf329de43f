//! Makes the character table from the Unicode crates. Only the build script uses it.

use std::collections::HashMap;

use unicode_normalization::char::{canonical_combining_class, is_combining_mark, is_public_assigned};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};
use unicode_segmentation::UnicodeSegmentation;

use crate::entry::{Class, Entry};
use crate::rules::{fold_char, is_invisible, is_sign, is_unspaced, look_alike};

/// End of the characters in the table; only private and invisible ones lie beyond.
const CHARACTERS: u32 = 0x4_0000;
/// Number of blocks of one- and two-byte characters, which are found without [`CharacterTable::blocks`].
const SHORT: usize = 0x800 / 64;

/// Entries in blocks of 64 characters, which share all UTF-8 bytes but the last.
pub(crate) struct CharacterTable {
    /// The index in `entries` for each block of 64 characters.
    pub(crate) blocks: Vec<u16>,
    pub(crate) entries: Vec<[Entry; 64]>,
}

pub(crate) fn table() -> CharacterTable {
    let mut table = CharacterTable { blocks: Vec::new(), entries: Vec::new() };
    let mut known = HashMap::new();
    for block in 0..CHARACTERS / 64 {
        let entries: [Entry; 64] =
            std::array::from_fn(|i| char::from_u32(block * 64 + i as u32).map_or(Entry::UNUSUAL, entry));
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
    table
}

fn entry(c: char) -> Entry {
    if is_invisible(c) {
        return Entry::UNUSUAL;
    }
    let word = if is_sign(c) { Entry::WORD } else { 0 };
    // Unassigned code points join nothing.
    if !is_public_assigned(c) && !c.is_alphanumeric() {
        return Entry::new(Class::Neutral, word | Entry::NON_ASCII);
    }
    if [c].into_iter().nfkc().ne([c]) {
        return of_variant(&[c].into_iter().nfkc().collect::<Vec<_>>());
    }
    let class = class(c);
    match class {
        Class::Unusual => Entry::UNUSUAL,
        Class::Neutral => Entry::new(class, word | sign_flags(&[c])),
        _ if is_sign(c) => Entry::UNUSUAL,
        _ if class.is_mid() => Entry::new(class, sign_flags(&[c])),
        _ => flips(c).map_or(Entry::UNUSUAL, |flips| Entry::new(class, flips | letter_flags(c, class))),
    }
}

/// The entry of a character that normalization changes. It is known only if the result is not part of a word.
fn of_variant(normal: &[char]) -> Entry {
    let entries: Vec<Entry> = normal.iter().map(|c| entry(*c)).collect();
    let is_no_word = |entry: &Entry| entry.class() == Class::Neutral || entry.class().is_mid();
    if !entries.iter().all(|entry| is_no_word(entry) && !entry.is(Entry::WORD)) {
        return Entry::UNUSUAL;
    }
    let class = if let [entry] = entries[..] { entry.class() } else { Class::Neutral };
    Entry::new(class, Entry::VARIANT | sign_flags(normal))
}

fn sign_flags(normal: &[char]) -> u32 {
    let separates = |c: &char| c.is_ascii() && !(c.is_ascii_alphanumeric() || "$'!%-".contains(*c));
    if normal.iter().all(separates) {
        Entry::SEPARATES
    } else if normal.iter().all(|c| !c.is_ascii()) {
        Entry::NON_ASCII
    } else {
        0
    }
}

fn letter_flags(c: char, class: Class) -> u32 {
    let plain = matches!(class, Class::Letter | Class::Hebrew | Class::Digit | Class::PlainMark);
    let mut flags = if plain { Entry::PLAIN } else { 0 };
    if look_alike(c).is_some() {
        flags |= Entry::LOOK_ALIKE | Entry::LOOKS_ASCII;
    }
    if c.is_ascii_alphanumeric() {
        flags |= Entry::LOOKS_ASCII;
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
fn class(c: char) -> Class {
    let quick = is_nfkc_quick([c].into_iter());
    let (ccc, unspaced, mark) = (canonical_combining_class(c), is_unspaced(c), is_combining_mark(c));
    let alphanumeric = c.is_alphanumeric();
    // The crate and the standard library may know different versions of Unicode.
    if c.encode_utf8(&mut [0; 4]).unicode_words().next().is_some() != alphanumeric {
        return Class::Unusual;
    }
    let break_of = word_break(c);
    if look_alike(c).is_some() && (break_of, unspaced) != (Break::Letter, false) {
        return Class::Unusual;
    }
    match break_of {
        Break::Extend if quick == IsNormalized::Maybe && mark && !unspaced => Class::Composing,
        _ if quick != IsNormalized::Yes => Class::Unusual,
        // a character that is not a mark ends a word that looks like ASCII
        Break::Extend if !mark => Class::Unusual,
        Break::Extend => match (unspaced, ccc) {
            (false, 0) => Class::PlainMark,
            (false, _) => Class::Mark,
            (true, 0) => Class::UnspacedPlainMark,
            (true, _) => Class::UnspacedMark,
        },
        _ if ccc != 0 => Class::Unusual,
        Break::Letter if alphanumeric && unspaced => Class::UnspacedLetter,
        Break::Other | Break::Katakana if alphanumeric && unspaced => Class::Unspaced,
        Break::Letter if alphanumeric => Class::Letter,
        Break::Hebrew if alphanumeric && !unspaced => Class::Hebrew,
        Break::Numeric if alphanumeric && !unspaced => Class::Digit,
        _ if alphanumeric || mark => Class::Unusual,
        Break::Other => Class::Neutral,
        _ if unspaced => Class::Unusual,
        Break::ExtendNumLet if c == '_' => Class::Underscore,
        Break::MidLetter => Class::MidLetter,
        Break::MidNum => Class::MidNum,
        Break::MidNumLet => Class::MidNumLet,
        Break::SingleQuote => Class::SingleQuote,
        Break::DoubleQuote => Class::DoubleQuote,
        _ => Class::Unusual,
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
