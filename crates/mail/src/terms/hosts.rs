//! Finds host names and IPv4 addresses in Received fields, 64 bytes at a time with bit masks.
use super::scan::{OF_NUMBER, host, ip_length, padded};
use std::iter;
use tamis_tokenizer::bits::{BLOCK, bits, is_digit, is_letter};

/// Bit masks of 64 bytes.
#[derive(Clone, Copy, Default)]
struct Bits {
    /// Letters, digits and `.`, `_`, `-`.
    host: u64,
    /// Letters, digits and `.`, `_`; all bytes outside ASCII.
    number: u64,
    /// Dots that may come before a letter, as in a host name.
    host_dots: u64,
    /// Dots that may be between digits.
    number_dots: u64,
    /// Dots that may come before another dot.
    two_dots: u64,
    /// The letters W and H, in any case.
    w: u64,
    h: u64,
}

impl Bits {
    /// Computes the masks of a block. Bytes outside the block are not examined.
    #[inline]
    fn masks(block: &[u8; BLOCK]) -> Bits {
        let is = |wanted: u8| bits(block, |byte| byte == wanted);
        let either_case = |wanted: u8| bits(block, |byte| byte | 0x20 == wanted);
        let after = |bits: u64| bits >> 1 | 1 << (BLOCK - 1);
        let letters = bits(block, is_letter);
        let digits = bits(block, is_digit);
        let dots = is(b'.');
        let all = letters | digits | dots | is(b'_');
        Bits {
            host: all | is(b'-'),
            number: all | bits(block, |byte| byte >= 0x80),
            host_dots: dots & after(letters),
            number_dots: dots & after(digits) & (digits << 1 | 1),
            two_dots: dots & after(dots),
            w: either_case(b'w'),
            h: either_case(b'h'),
        }
    }
}

/// The bit masks of a text.
#[derive(Default)]
pub(super) struct Map {
    blocks: Vec<Bits>,
}

impl Map {
    /// Computes the masks of another text.
    pub(super) fn read(&mut self, text: &str) {
        let (whole, rest) = text.as_bytes().as_chunks();
        #[cfg(test)]
        tamis_testing::step(text.len());
        self.blocks.clear();
        self.blocks.extend(whole.iter().map(Bits::masks));
        // a zero ends the last run
        self.blocks.push(Bits::masks(&padded(rest)));
    }

    /// Calls `each` with the first `most` host names of the text: two labels or more, the last one of letters.
    pub(super) fn hosts<'t>(&self, text: &'t str, most: usize, mut each: impl FnMut(&'t str)) {
        let (mut left, mut done) = (most, 0);
        let may_have_gaps = self.ones(|bits| bits.two_dots).next().is_some();
        for dot in self.ones(|bits| bits.host_dots) {
            if dot < done || !text.as_bytes().get(dot + 1).is_some_and(u8::is_ascii_alphabetic) {
                continue;
            }
            let [start, end] = self.run(dot, |bits| bits.host);
            done = end;
            let mut rest = Some(&text[start..end]);
            while let Some(run) = rest {
                let pairs = || run.as_bytes().windows(2);
                let gap = may_have_gaps.then(|| pairs().position(|pair| pair == b"..")).flatten();
                #[cfg(test)]
                tamis_testing::step(gap.unwrap_or(run.len()));
                rest = gap.map(|gap| &run[gap + 2..]);
                if let Some(host) = host(&run[..gap.unwrap_or(run.len())]) {
                    if left == 0 {
                        return;
                    }
                    left -= 1;
                    each(host);
                }
            }
        }
    }

    /// Calls `each` with the first `most` IPv4 addresses.
    pub(super) fn ips<'t>(&self, text: &'t str, most: usize, mut each: impl FnMut(&'t str)) {
        let (mut left, mut done, bytes) = (most, 0, text.as_bytes());
        let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
        for dot in self.ones(|bits| bits.number_dots) {
            if dot < done || !is_digit(dot.checked_sub(1)) || !is_digit(Some(dot + 1)) {
                continue;
            }
            let [start, end] = self.run(dot, |bits| bits.number);
            done = end;
            let run = &text[start..end];
            let mut each = |run: &'t str| {
                for_each_ip(run, |ip| {
                    if let Some(less) = left.checked_sub(1) {
                        left = less;
                        each(ip);
                    }
                });
            };
            if run.is_ascii() {
                each(run);
            } else {
                run.split(|c| !OF_NUMBER.has(c)).for_each(each);
            }
            if left == 0 {
                return;
            }
        }
    }

    /// Positions of `with` in the text; case does not matter.
    pub(super) fn with(&self, text: &str) -> impl Iterator<Item = usize> {
        self.ones(|bits| bits.w).filter(|at| begins_with(&text.as_bytes()[*at..], *b"with"))
    }

    /// Positions of `helo` in the text; case does not matter.
    pub(super) fn helo(&self, text: &str) -> impl Iterator<Item = usize> {
        self.ones(|bits| bits.h).filter(|at| begins_with(&text.as_bytes()[*at..], *b"helo"))
    }

    /// Positions of set bits, in order.
    #[inline]
    fn ones(&self, of: impl Fn(&Bits) -> u64) -> impl Iterator<Item = usize> {
        let (mut next, mut found) = (0, 0);
        iter::from_fn(move || {
            while found == 0 {
                found = of(self.blocks.get(next)?);
                next += 1;
            }
            let at = BLOCK * (next - 1) + found.trailing_zeros() as usize;
            found &= found - 1;
            Some(at)
        })
    }

    /// Start and end of the run of set bits that contains `at`.
    #[inline]
    fn run(&self, at: usize, of: impl Fn(&Bits) -> u64) -> [usize; 2] {
        let (number, bit) = (at / BLOCK, at % BLOCK);
        let clear = |number: usize| !of(&self.blocks[number]);
        let mut first = number;
        let mut before = clear(number) & !(u64::MAX << bit);
        while before == 0 && first > 0 {
            first -= 1;
            before = clear(first);
        }
        let mut last = number;
        let mut behind = clear(number) & u64::MAX << bit;
        while behind == 0 {
            last += 1;
            behind = clear(last);
        }
        #[cfg(test)]
        tamis_testing::step(BLOCK * (1 + last - first));
        let start = BLOCK * first + BLOCK - before.leading_zeros() as usize;
        [start, BLOCK * last + behind.trailing_zeros() as usize]
    }
}

/// Whether the bytes begin with these four letters, given in lower case. Case does not matter.
fn begins_with(bytes: &[u8], letters: [u8; 4]) -> bool {
    bytes
        .first_chunk()
        .is_some_and(|four| u32::from_le_bytes(*four) | 0x2020_2020 == u32::from_le_bytes(letters))
}

/// Calls `each` with the IPv4 addresses in a run.
fn for_each_ip<'t>(run: &'t str, mut each: impl FnMut(&'t str)) {
    let mut rest = run;
    loop {
        if let Some(length) = ip_length(rest) {
            each(&rest[..length]);
            rest = &rest[length..];
        }
        let Some(dot) = rest.bytes().position(|byte| byte == b'.') else { return };
        #[cfg(test)]
        tamis_testing::step(dot + 1);
        rest = &rest[dot + 1..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::scan;
    use proptest::prelude::*;
    use tamis_testing::check_linear;

    fn hosts(text: &str, most: usize) -> Vec<&str> {
        let (mut map, mut found) = (Map::default(), Vec::new());
        map.read(text);
        map.hosts(text, most, |host| found.push(host));
        found
    }

    fn ips(text: &str, most: usize) -> Vec<&str> {
        let (mut map, mut found) = (Map::default(), Vec::new());
        map.read(text);
        map.ips(text, most, |ip| found.push(ip));
        found
    }

    #[test]
    fn host_names() {
        for (text, expected) in [
            ("from mail.example.org (HELO x.y.co.uk) by z", &["mail.example.org", "x.y.co.uk"][..]),
            ("1.2.3.4 host a.b a.c1 .", &[]),
            ("a.com.5 -foo.net- d.org.", &["a.com", "foo.net", "d.org"]),
            ("a..b.com...c.de", &["b.com", "c.de"]),
            ("user.name@example.org 10-1.dsl.x_y.net", &["user.name", "example.org", "10-1.dsl.x_y.net"]),
        ] {
            assert_eq!(hosts(text, 9), expected, "{text}");
        }
    }

    #[test]
    fn internet_addresses() {
        for (text, expected) in [
            ("[10.1.2.3] (127.0.0.1)", &["10.1.2.3", "127.0.0.1"][..]),
            ("1.2.3.4.5.6.7.8 v1.2.3.4 1.2.3.4x", &["1.2.3.4", "5.6.7.8"]),
            ("ip-1.2.3.4, 8.12.11.20060308 1..2.3.4.5", &["1.2.3.4", "2.3.4.5"]),
            ("1.2.3 1234.1.1.1 ...", &[]),
            ("\u{e9}1.2.3.4 \u{201c}1.2.3.4\u{201d}", &["1.2.3.4"]),
        ] {
            assert_eq!(ips(text, 9), expected, "{text}");
        }
    }

    #[test]
    fn hostile_texts_are_linear() {
        let units = [".", "a.", "1.", "1.2.3.", "-", "..", "a", "\u{e9}.", "1", "1.1 ", "\u{e9}1.1"];
        check_linear(&units, |text| drop(hosts(text, usize::MAX)));
        check_linear(&units, |text| drop(ips(text, usize::MAX)));
    }

    proptest! {
        #[test]
        fn equal_a_plain_search(
            text in "([a-z]{1,9}|[0-9]{1,4}|[.]{1,3}|[-_ @]|\u{e9}|\u{201c}|com|1\\.2\\.3\\.4|[ ]{60}){0,60}",
            most in 0..5_usize,
        ) {
            let all = scan::plain::hosts(&text);
            prop_assert_eq!(hosts(&text, most), &all[..most.min(all.len())]);
            let all = scan::plain::ips(&text);
            prop_assert_eq!(ips(&text, most), &all[..most.min(all.len())]);
        }

        #[test]
        fn keywords_are_found(text in "(with|HELO|[wWhH]|[ie]|[a-z ]{1,70}|\u{e9}){0,40}") {
            let mut map = Map::default();
            map.read(&text);
            let lower = text.to_ascii_lowercase();
            prop_assert!(lower.match_indices("with").map(|(at, _)| at).eq(map.with(&text)));
            prop_assert!(lower.match_indices("helo").map(|(at, _)| at).eq(map.helo(&text)));
        }
    }
}
