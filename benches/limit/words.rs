//! Words of ASCII letters and digits, hashed, counted and weighed as fast as one core can: no Unicode, no limits, no
//! presence, no norm. And the same in plain code, which says what the answer is.

use std::collections::HashMap;

/// Bytes that are tested at a time.
const BLOCK: usize = 64;
/// Bytes that are hashed at a time.
const LOAD: usize = 16;

/// A document of one of two classes.
pub struct Document {
    /// 0 or 1.
    pub class: usize,
    /// How many of the bytes are text.
    pub length: usize,
    /// The text and then zeros, to whole blocks and at least one load.
    bytes: Vec<u8>,
}

impl Document {
    pub fn new(class: usize, text: &str) -> Document {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize((text.len() + LOAD).next_multiple_of(BLOCK), 0);
        Document { class, length: text.len(), bytes }
    }

    /// The hash of every word in lower case, in order.
    #[inline(always)]
    pub fn for_each_word(&self, mut emit: impl FnMut(u64)) {
        let (mut carry, mut start) = (0, 0);
        for (number, block) in self.bytes.as_chunks::<BLOCK>().0.iter().enumerate() {
            let members = members(block);
            // One bit where a word begins and one where it has ended.
            let mut edges = members ^ (members << 1 | carry);
            let mut next = || {
                let edge = number * BLOCK + edges.trailing_zeros() as usize;
                (edges != 0).then(|| {
                    edges &= edges - 1;
                    edge
                })
            };
            if carry != 0 {
                let Some(end) = next() else { continue };
                emit(self.hash(start, end));
            }
            while let Some(edge) = next() {
                start = edge;
                let Some(end) = next() else { break };
                emit(self.hash(start, end));
            }
            carry = members >> (BLOCK - 1);
        }
    }

    /// The same in plain code: the words themselves.
    pub fn words(&self) -> Vec<Vec<u8>> {
        let text = self.bytes[..self.length].to_ascii_lowercase();
        let words = text.split(|byte| !byte.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        words.map(<[u8]>::to_vec).collect()
    }

    #[inline(always)]
    fn hash(&self, start: usize, end: usize) -> u64 {
        match self.bytes[start..].first_chunk() {
            Some(load) if end - start <= LOAD => mix(0, masked(load, end - start)),
            _ => long(&self.bytes[start..end]),
        }
    }
}

fn is_member(byte: u8) -> bool {
    (byte | 0x20).wrapping_sub(b'a') < 26 || byte.wrapping_sub(b'0') < 10
}

/// Bit i says whether byte i is a letter or a digit; all comparisons, which the compiler does 16 at a time.
#[inline(always)]
fn members(block: &[u8; BLOCK]) -> u64 {
    let flags = block.map(|byte| u8::from(is_member(byte)));
    flags.as_chunks().0.iter().enumerate().fold(0, |bits, (number, eight)| {
        // Eight bytes of 0 or 1: the product has them side by side in its top byte, the first lowest.
        bits | (u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * number)
    })
}

/// The first bytes of a load in lower case (letters and digits both have it by this bit), then zeros.
#[inline(always)]
fn masked(load: &[u8; LOAD], length: usize) -> u128 {
    const MASKS: [u8; 2 * LOAD] = {
        let mut masks = [0; 2 * LOAD];
        let mut at = 0;
        while at < LOAD {
            masks[at] = 0xff;
            at += 1;
        }
        masks
    };
    let lower = u128::from_le_bytes(*load) | u128::from_le_bytes([0x20; LOAD]);
    MASKS[LOAD - length..].first_chunk().map_or(0, |mask| lower & u128::from_le_bytes(*mask))
}

/// Multiplied to 128 bits, and the halves one over the other.
#[inline(always)]
fn mix(seed: u64, load: u128) -> u64 {
    let low = load as u64 ^ seed ^ 0x9E37_79B9_7F4A_7C15;
    let high = (load >> 64) as u64 ^ 0xE703_7ED1_A0B4_28DB;
    let product = u128::from(low) * u128::from(high);
    product as u64 ^ (product >> 64) as u64
}

#[inline(never)]
fn long(word: &[u8]) -> u64 {
    word.chunks(LOAD).fold(0, |seed, part| {
        let mut load = [0; LOAD];
        load[..part.len()].copy_from_slice(part);
        mix(seed, masked(&load, part.len()))
    })
}

/// Both classes' occurrences of a word, 0 of none where the slot is free.
#[derive(Clone, Copy, Default)]
struct Count {
    hash: u64,
    of_class: [u32; 2],
}

impl Count {
    fn weight(self) -> f32 {
        let [ham, spam] = self.of_class.map(|n| f64::from(n) + 0.1);
        (spam / ham).ln() as f32
    }
}

/// Occurrences by hash, in a table of open addressing that doubles when it is half full.
pub struct Counts {
    slots: Vec<Count>,
    used: usize,
}

impl Counts {
    pub fn of(documents: &[Document]) -> Counts {
        let mut counts = Counts { slots: vec![Count::default(); 1 << 16], used: 0 };
        for document in documents {
            document.for_each_word(|hash| counts.add(hash, document.class));
        }
        counts
    }

    #[inline(always)]
    fn add(&mut self, hash: u64, class: usize) {
        let mut at = first_slot(hash, self.slots.len());
        loop {
            let slot = &mut self.slots[at];
            if slot.hash == hash {
                slot.of_class[class] += 1;
                return;
            }
            if slot.hash == 0 {
                slot.hash = hash;
                slot.of_class[class] = 1;
                self.used += 1;
                if 2 * self.used > self.slots.len() {
                    self.grow();
                }
                return;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let mut slots = vec![Count::default(); 2 * self.slots.len()];
        for slot in self.slots.iter().filter(|slot| slot.hash != 0) {
            let mut at = first_slot(slot.hash, slots.len());
            while slots[at].hash != 0 {
                at = (at + 1) & (slots.len() - 1);
            }
            slots[at] = *slot;
        }
        self.slots = slots;
    }

    /// Words, different words, and a sum over these of hash and counts.
    pub fn summary(&self) -> Summary {
        Summary::of(self.slots.iter().filter(|slot| slot.hash != 0).copied())
    }

    pub fn weights(&self) -> Weights {
        Weights(
            self.slots
                .iter()
                .map(|slot| match slot.hash {
                    0 => 0,
                    hash => hash << 32 | u64::from(slot.weight().to_bits()),
                })
                .collect(),
        )
    }
}

#[inline(always)]
pub fn first_slot(hash: u64, slots: usize) -> usize {
    // `slots` is a power of two and above 1.
    (hash >> (slots.leading_zeros() + 1)) as usize & (slots - 1)
}

/// A word's log-odds beside the low half of its hash; 0 where the slot is free.
pub struct Weights(Vec<u64>);

impl Weights {
    /// Every document's sum of log-odds.
    pub fn score(&self, documents: &[Document]) -> f64 {
        let scores = documents.iter().map(|document| {
            let mut sum = 0.0;
            document.for_each_word(|hash| sum += self.get(hash));
            f64::from(sum)
        });
        scores.sum()
    }

    #[inline(always)]
    fn get(&self, hash: u64) -> f32 {
        let mut at = first_slot(hash, self.0.len());
        loop {
            let slot = self.0[at];
            if (slot >> 32) as u32 == hash as u32 || slot == 0 {
                return f32::from_bits(slot as u32);
            }
            at = (at + 1) & (self.0.len() - 1);
        }
    }
}

/// What two ways of counting must agree in.
#[derive(PartialEq, Debug)]
pub struct Summary {
    pub words: u64,
    pub different: usize,
    pub checksum: u64,
}

impl Summary {
    fn of(counts: impl Iterator<Item = Count>) -> Summary {
        counts.fold(Summary { words: 0, different: 0, checksum: 0 }, |sum, count| {
            let [ham, spam] = count.of_class.map(u64::from);
            Summary {
                words: sum.words + ham + spam,
                different: sum.different + 1,
                checksum: sum.checksum.wrapping_add(count.hash.wrapping_mul(ham | spam << 32)),
            }
        })
    }
}

/// The same in plain code: what [`Counts::summary`] and [`Weights::score`] must tell.
pub fn reference(documents: &[Document]) -> (Summary, f64) {
    let mut counts = HashMap::<Vec<u8>, Count>::new();
    for document in documents {
        for word in document.words() {
            let hash = long(&word);
            counts.entry(word).or_insert(Count { hash, of_class: [0; 2] }).of_class[document.class] += 1;
        }
    }
    let score = |document: &Document| {
        f64::from(document.words().iter().map(|word| counts[word].weight()).sum::<f32>())
    };
    (Summary::of(counts.values().copied()), documents.iter().map(score).sum())
}
