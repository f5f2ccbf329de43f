//! The characters of ASCII words under the two word rules.

use crate::bits::{BLOCK, bits, is_digit, is_letter, is_mail_core, is_mail_joiner};
use crate::words::scan::{WordShape, followed, preceded};

/// Words of [`WordRule::Mail`](crate::WordRule::Mail): runs without the signs at their edges.
#[derive(Clone, Copy, Default)]
pub(crate) struct MailWords {
    /// Letters, digits, `$ ! %`, and every byte outside ASCII.
    core: u64,
    /// `'` and `-`, which are part of a word only inside it.
    signs: u64,
}

impl WordShape for MailWords {
    #[inline(always)]
    fn masks(block: &[u8; BLOCK]) -> Self {
        MailWords { core: bits(block, is_mail_core), signs: bits(block, is_mail_joiner) }
    }

    #[inline(always)]
    fn core(self) -> u64 {
        self.core
    }

    #[inline(always)]
    fn joins(self, before: Self, after: Self) -> u64 {
        self.signs & preceded(self.core, before.core) & followed(self.core, after.core)
    }

    #[inline(always)]
    fn rows(self, before: Self, after: Self) -> u64 {
        self.signs & preceded(self.core, before.core) & followed(self.signs, after.signs)
    }

    #[inline(never)]
    fn row(bytes: &[u8], at: usize) -> usize {
        let length = bytes[at..].iter().take_while(|byte| is_mail_joiner(**byte)).count();
        if bytes.get(at + length).is_some_and(|byte| is_mail_core(*byte)) { length } else { 0 }
    }
}

/// The words of UAX #29.
#[derive(Clone, Copy, Default)]
pub(crate) struct UnicodeWords {
    letters: u64,
    digits: u64,
    underscores: u64,
    /// Joiners of letters (MidLetter, MidNumLet, Single_Quote) and of digits (MidNum, MidNumLet, Single_Quote).
    for_letters: u64,
    for_digits: u64,
}

impl WordShape for UnicodeWords {
    #[inline(always)]
    fn masks(block: &[u8; BLOCK]) -> Self {
        let is_both = |byte| byte == b'.' || byte == b'\'';
        UnicodeWords {
            letters: bits(block, is_letter),
            digits: bits(block, is_digit),
            underscores: bits(block, Self::is_filler),
            for_letters: bits(block, |byte| byte == b':' || is_both(byte)),
            for_digits: bits(block, |byte| byte == b',' || byte == b';' || is_both(byte)),
        }
    }

    #[inline(always)]
    fn core(self) -> u64 {
        self.letters | self.digits | self.underscores
    }

    /// A core byte that is not `_` is a letter or a digit.
    #[inline(always)]
    fn filler(self) -> u64 {
        self.underscores
    }

    #[inline(always)]
    fn is_filler(byte: u8) -> bool {
        byte == b'_'
    }

    /// WB6 and WB7; WB11 and WB12.
    #[inline(always)]
    fn joins(self, before: Self, after: Self) -> u64 {
        let letters = preceded(self.letters, before.letters) & followed(self.letters, after.letters);
        let digits = preceded(self.digits, before.digits) & followed(self.digits, after.digits);
        self.for_letters & letters | self.for_digits & digits
    }
}

/// Runs of mixed text: bytes that ASCII does not certainly separate. Runs that are all ASCII are words.
#[derive(Clone, Copy, Default)]
pub(crate) struct MixedRuns {
    ascii: UnicodeWords,
    /// Bytes outside ASCII, which may be anything.
    non_ascii: u64,
    quotes: u64,
}

impl WordShape for MixedRuns {
    #[inline(always)]
    fn masks(block: &[u8; BLOCK]) -> Self {
        let non_ascii = bits(block, |byte| byte >= 0x80);
        // common in other scripts: nothing else but spaces
        if non_ascii | bits(block, |byte| byte <= b' ') == u64::MAX {
            return MixedRuns { non_ascii, ..MixedRuns::default() };
        }
        MixedRuns { ascii: UnicodeWords::masks(block), non_ascii, quotes: bits(block, |byte| byte == b'"') }
    }

    #[inline(always)]
    fn core(self) -> u64 {
        self.ascii.core() | self.non_ascii
    }

    #[inline(always)]
    fn filler(self) -> u64 {
        self.ascii.filler()
    }

    #[inline(always)]
    fn is_filler(byte: u8) -> bool {
        UnicodeWords::is_filler(byte)
    }

    /// As in ASCII, plus double quotation marks, which join Hebrew letters (WB7b and WB7c).
    #[inline(always)]
    fn joins(self, before: Self, after: Self) -> u64 {
        let quoted = preceded(self.non_ascii, before.non_ascii) & followed(self.non_ascii, after.non_ascii);
        self.or_non_ascii().joins(before.or_non_ascii(), after.or_non_ascii()) | self.quotes & quoted
    }
}

impl MixedRuns {
    #[inline(always)]
    fn or_non_ascii(self) -> UnicodeWords {
        let MixedRuns { ascii, non_ascii, .. } = self;
        UnicodeWords { letters: ascii.letters | non_ascii, digits: ascii.digits | non_ascii, ..ascii }
    }
}
