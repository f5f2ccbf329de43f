//! An entry of the character table. The build script that makes the table includes this file too.

/// The role of a character in word segmentation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum CharacterClass {
    /// Needs the exact, slow code.
    Unusual,
    /// In no word and joins nothing.
    Neutral,
    Letter,
    /// A letter that quotation marks join.
    Hebrew,
    Digit,
    Underscore,
    /// A mark that is never reordered.
    PlainMark,
    /// A mark that may be reordered (canonical ordering).
    Mark,
    /// A mark that composes with some letters.
    Composing,
    /// A letter of a script without spaces.
    Unspaced,
    /// A letter of such a script that UAX #29 treats like other letters.
    UnspacedLetter,
    UnspacedPlainMark,
    UnspacedMark,
    /// Signs that join letters, digits, or both.
    MidLetter,
    MidNum,
    MidNumLet,
    SingleQuote,
    DoubleQuote,
}

impl CharacterClass {
    /// Every class, at its number.
    pub(crate) const ALL: [CharacterClass; 18] = {
        use CharacterClass::*;
        [
            Unusual,
            Neutral,
            Letter,
            Hebrew,
            Digit,
            Underscore,
            PlainMark,
            Mark,
            Composing,
            Unspaced,
            UnspacedLetter,
            UnspacedPlainMark,
            UnspacedMark,
            MidLetter,
            MidNum,
            MidNumLet,
            SingleQuote,
            DoubleQuote,
        ]
    };

    /// Whether the character can begin a word and does not interact with the one before it.
    #[inline(always)]
    pub(crate) fn begins(self) -> bool {
        self.is_letter() || matches!(self, CharacterClass::Digit) || self.is_unspaced()
    }

    #[inline(always)]
    pub(crate) fn is_letter(self) -> bool {
        matches!(self, CharacterClass::Letter | CharacterClass::Hebrew)
    }

    #[inline(always)]
    pub(crate) fn is_unspaced(self) -> bool {
        matches!(self, CharacterClass::Unspaced | CharacterClass::UnspacedLetter)
    }

    /// Whether the character may join those around it into one word.
    #[inline(always)]
    pub(crate) fn is_mid(self) -> bool {
        self as u8 >= CharacterClass::MidLetter as u8
    }
}

/// From the highest bit: three flags, the class in 5 bits, and 24 bits that depend on the class. In word characters
/// these are the bits that case folding flips; in signs and spaces they are flags.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct CharacterEntry(pub(crate) u32);

impl CharacterEntry {
    /// Letters, digits and marks that need no more than folding.
    pub(crate) const PLAIN: u32 = 1 << 31;
    /// Looks like an ASCII letter, which normalization may replace it with, in some words or only between ASCII letters.
    pub(crate) const LOOK_ALIKE: u32 = 1 << 30;
    /// An ASCII letter or digit, or a look-alike of one in any word.
    pub(crate) const LOOKS_ASCII: u32 = 1 << 29;

    /// In plain characters: the XOR mask that folds their bytes, little-endian.
    pub(crate) const FLIPS: u32 = 0xff_ffff;

    /// In signs: normalization changes the sign.
    pub(crate) const VARIANT: u32 = 1;
    /// In signs: its normalized form is ASCII that ends words of [`WordRule::Mail`](crate::WordRule::Mail).
    pub(crate) const SEPARATES: u32 = 2;
    /// In signs: its normalized form contains no ASCII.
    pub(crate) const NON_ASCII: u32 = 4;
    /// In signs: it is a word by itself.
    pub(crate) const WORD: u32 = 8;

    /// Needs the exact, slow code.
    pub(crate) const UNUSUAL: CharacterEntry = CharacterEntry::new(CharacterClass::Unusual, 0);
    /// The entry past the end of a text.
    pub(crate) const END: CharacterEntry =
        CharacterEntry::new(CharacterClass::Neutral, CharacterEntry::SEPARATES);

    pub(crate) const fn new(class: CharacterClass, bits: u32) -> CharacterEntry {
        CharacterEntry((class as u32) << 24 | bits)
    }

    #[inline(always)]
    pub(crate) fn class(self) -> CharacterClass {
        CharacterClass::ALL.get((self.0 >> 24 & 31) as usize).copied().unwrap_or(CharacterClass::Unusual)
    }

    #[inline(always)]
    pub(crate) fn is(self, flag: u32) -> bool {
        self.0 & flag != 0
    }

    #[inline(always)]
    pub(crate) fn flips(self) -> u32 {
        self.0 & CharacterEntry::FLIPS
    }
}
