//! Tests of hash quality on short terms: collisions among similar terms, and avalanche (one flipped bit of the term).
//! The small versions always run. The large ones take some minutes and 1.5 GB, and print their findings:
//!
//!     cargo test -p tamis-tokenizer --release -- --ignored --nocapture fingerprint
#![allow(clippy::print_stdout)]

use crate::counts::fingerprint::*;
use xxhash_rust::xxh3::xxh3_128;

/// Terms of one kind: all strings that a pattern yields when each `*` is any letter of the alphabet.
struct Kind {
    name: &'static str,
    alphabet: Vec<char>,
    patterns: &'static [&'static str],
}

/// About 1.7e8 distinct terms, more than half of them with 9 to 16 bytes.
fn kinds() -> [Kind; 9] {
    let kind = |name, alphabet: &mut dyn Iterator<Item = char>, patterns| Kind {
        name,
        alphabet: alphabet.collect(),
        patterns,
    };
    let characters = |n| ('\u{4e00}'..='\u{9fff}').take(n);
    [
        kind("numbers", &mut ('0'..='9'), &["*", "**", "***", "****", "*****", "******", "*******"]),
        kind("letters", &mut ('a'..='z'), &["*", "**", "***", "****", "*****"]),
        kind("prefix and number", &mut ('0'..='9'), &["user*******", "subject:*******"]),
        kind("both ends", &mut ('a'..='z'), &["***-stead-**"]),
        kind("hex", &mut ('0'..='9').chain('a'..='f'), &["0x******", "0123456789******", "******f123456789"]),
        kind("two Chinese characters", &mut characters(4096), &["**"]),
        kind("three Chinese characters", &mut characters(256), &["***"]),
        kind("four Chinese characters", &mut characters(64), &["****"]),
        kind("Cyrillic letters", &mut ('А'..='я'), &["**", "***", "****"]),
    ]
}

impl Kind {
    /// The fingerprints of up to `most` terms of each pattern.
    fn fingerprints(&self, most: usize) -> impl Iterator<Item = u64> {
        let letters = self.alphabet.len();
        self.patterns.iter().flat_map(move |pattern| {
            let n_letters = pattern.matches('*').count() as u32;
            let mut term = String::new();
            (0..most.min(letters.pow(n_letters))).map(move |number| {
                let mut power = letters.pow(n_letters);
                term.clear();
                term.extend(pattern.chars().map(|it| match it {
                    '*' => {
                        power /= letters;
                        self.alphabet[number / power % letters]
                    }
                    other => other,
                }));
                fingerprint(&term)
            })
        })
    }
}

/// A way to order the bits of a fingerprint, the most important ones first.
type Order = (&'static str, fn(u64) -> u64);

/// Unchanged, reversed, and multiplied as in a vocabulary's table.
const ORDERS: [Order; 3] = [
    ("top", |fingerprint| fingerprint),
    ("low", u64::reverse_bits),
    ("multiplied", |fingerprint| fingerprint.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
];

/// Asserts that all fingerprints of these kinds differ, and that their first `n_bits` collide about as often as random
/// numbers.
fn assert_no_collisions(kinds: &[Kind], most: usize, n_bits: [u32; 2]) {
    for (order, bits_of) in ORDERS {
        let mut fingerprints: Vec<_> =
            kinds.iter().flat_map(|kind| kind.fingerprints(most)).map(bits_of).collect();
        fingerprints.sort_unstable();
        let equal = |bits: u32| {
            fingerprints.windows(2).filter(|pair| (pair[0] ^ pair[1]).leading_zeros() >= bits).count()
        };
        let name = if let [kind] = kinds { kind.name } else { "all" };
        assert_eq!(equal(u64::BITS), 0, "{name}");
        for bits in n_bits {
            let (found, n) = (equal(bits), fingerprints.len() as f64);
            let expected = n * (n - 1.0) / 2.0 / 2_f64.powi(bits as i32);
            println!("{name}: {n} terms, {found} equal in the {bits} {order} bits, expected {expected:.1}");
            let difference = (found as f64 - expected).abs();
            assert!(difference <= 5.0 * expected.sqrt() + 5.0, "{name}: {found} for {expected:.1}");
        }
    }
}

#[test]
fn terms_do_not_collide() {
    assert_no_collisions(&kinds(), 65_000, [30, 34]);
}

#[test]
#[ignore = "minutes, for a changed fingerprint"]
fn a_hundred_million_terms_do_not_collide() {
    let kinds = kinds();
    assert!(kinds.iter().map(|kind| kind.fingerprints(usize::MAX).count()).sum::<usize>() >= 100_000_000);
    kinds.chunks(1).for_each(|kind| assert_no_collisions(kind, usize::MAX, [40, 44]));
    assert_no_collisions(&kinds, usize::MAX, [40, 44]);
}

/// Counts how often each bit of a fingerprint flipped. The counters are bit-sliced: plane i holds bit i of all of them.
#[derive(Clone, Copy, Default)]
struct Flips([u64; 32]);

impl Flips {
    fn add(&mut self, mut flipped: u64) {
        for plane in &mut self.0 {
            (*plane, flipped) = (*plane ^ flipped, *plane & flipped);
            if flipped == 0 {
                break;
            }
        }
    }

    fn count(&self, bit: usize) -> u64 {
        (0..).zip(self.0).map(|(place, plane)| (plane >> bit & 1) << place).sum()
    }
}

/// Flips each bit of each term and returns two numbers: the largest bias of any bit of a fingerprint (0 if it flips
/// half of the time, 1 if it always or never does), and how many pairs of term and fingerprint bits there are.
fn worst_bias(length: usize, n: u32, term: impl Fn(u32) -> [u8; SHORT]) -> (f64, usize) {
    let mut flips = vec![Flips::default(); 8 * length];
    for number in 0..n {
        let mut term = term(number);
        let before = of_bytes(&term[..length]);
        for (bit, flips) in flips.iter_mut().enumerate() {
            term[bit / 8] ^= 1 << (bit % 8);
            flips.add(before ^ of_bytes(&term[..length]));
            term[bit / 8] ^= 1 << (bit % 8);
        }
    }
    let bias = |flips: &Flips, bit| (2.0 * flips.count(bit) as f64 / f64::from(n) - 1.0).abs();
    let biases = flips.iter().flat_map(|flips| (0..64).map(move |bit| bias(flips, bit)));
    (biases.fold(0.0, f64::max), 64 * flips.len())
}

/// Asserts that every bit of a term flips every bit of its fingerprint half of the time, as far as `n` terms can tell.
/// Up to 3 bytes, tries all terms; beyond, random terms, and terms that differ in four letters only.
fn assert_avalanche(length: usize, n: u32) {
    if length < 4 {
        assert_unbiased("all", length, 1 << (8 * length), all);
    } else {
        assert_unbiased("random", length, n, random);
        assert_unbiased("counted", length, n, counted);
    }
}

fn assert_unbiased(terms: &str, length: usize, n: u32, term: fn(u32) -> [u8; SHORT]) {
    let (bias, pairs) = worst_bias(length, n, term);
    // a pair is seen twice if both of its terms are among the `n`
    let sigma = 1.0 / f64::from(n / 2).sqrt();
    println!(
        "length {length}, {n} terms ({terms}), {pairs} pairs of bits: worst bias {bias:.5}, sigma {sigma:.5}"
    );
    assert!(bias <= 6.0 * sigma, "length {length}: {bias} for a sigma of {sigma}");
}

/// The bytes of `number`.
fn all(number: u32) -> [u8; SHORT] {
    u128::from(number).to_le_bytes()
}

fn random(number: u32) -> [u8; SHORT] {
    xxh3_128(&number.to_le_bytes()).to_le_bytes()
}

/// An ASCII text whose first four letters encode `number`.
fn counted(number: u32) -> [u8; SHORT] {
    let mut term = *b"0000 is counted.";
    for (place, byte) in term[..4].iter_mut().enumerate() {
        *byte = b'0' + (number >> (6 * place) & 63) as u8;
    }
    term
}

#[test]
fn flips_half_of_the_bits() {
    [1, 2, 4, 8, 11, 16].into_iter().for_each(|length| assert_avalanche(length, 1 << 12));
}

#[test]
#[ignore = "minutes, for a changed fingerprint"]
fn flips_half_of_the_bits_in_millions_of_terms() {
    (1..=SHORT).for_each(|length| assert_avalanche(length, 1 << 22));
}
