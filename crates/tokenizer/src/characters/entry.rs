//! What the table holds for a character. The build script, which makes the table, reads this too.

/// What a character does in a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Class {
    /// Only the exact code knows.
    Unusual,
    /// In no word, and joins nothing.
    Neutral,
    Letter,
    /// A letter that quotation marks join.
    Hebrew,
    Digit,
    Underscore,
    /// A mark that no other mark changes place with.
    PlainMark,
    /// A mark that others may change places with.
    Mark,
    /// A mark that some letters are made one with.
    Composing,
    /// Of a script without spaces.
    Unspaced,
    /// Of one, but UAX #29 takes it for a letter like those of other scripts.
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

impl Class {
    /// Every class, at its number.
    pub(crate) const ALL: [Class; 18] = {
        use Class::*;
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

    /// Whether it can begin a word, and nothing before it changes it or becomes part of it by itself.
    #[inline(always)]
    pub(crate) fn begins(self) -> bool {
        self.is_letter() || matches!(self, Class::Digit) || self.is_unspaced()
    }

    #[inline(always)]
    pub(crate) fn is_letter(self) -> bool {
        matches!(self, Class::Letter | Class::Hebrew)
    }

    #[inline(always)]
    pub(crate) fn is_unspaced(self) -> bool {
        matches!(self, Class::Unspaced | Class::UnspacedLetter)
    }

    /// Signs that may join what is before them to what follows.
    #[inline(always)]
    pub(crate) fn is_mid(self) -> bool {
        self as u8 >= Class::MidLetter as u8
    }
}

/// From the highest bit: three flags, the class in 5 bits, and 24 bits that depend on the class. For what words are made
/// of these are the bits of its bytes that folding flips; for signs and spaces, flags.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Entry(pub(crate) u32);

impl Entry {
    /// Letters, digits and marks that need no more than folding.
    pub(crate) const PLAIN: u32 = 1 << 31;
    /// Normalization may make an ASCII letter of it.
    pub(crate) const LOOK_ALIKE: u32 = 1 << 30;
    /// An ASCII letter or digit, or a look-alike of one.
    pub(crate) const LOOKS_ASCII: u32 = 1 << 29;

    /// Of a plain character: what is XORed into its bytes to fold it, the first byte lowest.
    pub(crate) const FLIPS: u32 = 0xff_ffff;

    /// Of a sign: normalization makes others of it.
    pub(crate) const VARIANT: u32 = 1;
    /// Of a sign: normalized, it is ASCII that ends runs of mail.
    pub(crate) const SEPARATES: u32 = 2;
    /// Of a sign: normalized, none of it is ASCII.
    pub(crate) const NON_ASCII: u32 = 4;

    /// What only the exact code knows.
    pub(crate) const UNUSUAL: Entry = Entry::new(Class::Unusual, 0);
    /// What follows the last character.
    pub(crate) const END: Entry = Entry::new(Class::Neutral, Entry::SEPARATES);

    pub(crate) const fn new(class: Class, bits: u32) -> Entry {
        Entry((class as u32) << 24 | bits)
    }

    #[inline(always)]
    pub(crate) fn class(self) -> Class {
        Class::ALL.get((self.0 >> 24 & 31) as usize).copied().unwrap_or(Class::Unusual)
    }

    #[inline(always)]
    pub(crate) fn is(self, flag: u32) -> bool {
        self.0 & flag != 0
    }

    #[inline(always)]
    pub(crate) fn flips(self) -> u32 {
        self.0 & Entry::FLIPS
    }
}
