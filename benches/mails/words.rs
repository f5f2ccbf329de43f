//! Words to make documents of.

/// Random numbers (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n
    }
}

/// The word of a rank from 0, no other rank's: two syllables for the first 10,000, three for the next million.
pub(crate) fn word(rank: u64) -> String {
    let mut word = String::new();
    // a hundred syllables are the digits of numbers whose leading zeros count, so "baba" is not "ba"
    let mut rest = rank + 100;
    loop {
        let syllable = (rest % 100) as usize;
        word.push(char::from(b"bcdfghjklmnprstvwxyz"[syllable / 5]));
        word.push(char::from(b"aeiou"[syllable % 5]));
        if rest < 100 {
            return word;
        }
        rest = rest / 100 - 1;
    }
}
