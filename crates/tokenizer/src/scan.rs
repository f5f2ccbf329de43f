//! Runs of bytes that belong together, found 64 bytes at a time.

/// Calls `emit` with the start and end of every maximal run of members in `bytes`.
///
/// One bit a byte says whether it is a member, and a run is told from two edges in those bits. That costs the
/// same whatever the lengths of words, where a loop over bytes pays for the end of each word, which no
/// processor foresees. `is_member` should be made of comparisons, without branches: the compiler then
/// tests many bytes in one instruction.
#[inline]
pub(crate) fn for_each_run(
    bytes: &[u8],
    is_member: impl Fn(u8) -> bool + Copy,
    mut emit: impl FnMut(usize, usize),
) {
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    // The rest is shorter than a block, so at least one bit is left to end the last run.
    let mut last = [0; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    let end = blocks.len();
    let mut edges = Edges::default();
    for number in 0..=end {
        let members = match blocks.get(number) {
            Some(block) => bits(block, is_member),
            None => bits(&last, is_member) & !(u64::MAX << rest.len()),
        };
        edges.block(number * BLOCK, members);
        // one place where runs are emitted: what is done with them is long, and should be here only once
        edges.take_runs(&mut emit);
    }
}

const BLOCK: usize = 64;

/// Bit i says whether byte i is a member.
#[inline]
fn bits(block: &[u8; BLOCK], is_member: impl Fn(u8) -> bool) -> u64 {
    let flags = block.map(|byte| u8::from(is_member(byte)));
    let (eights, _) = flags.as_chunks::<8>();
    eights.iter().enumerate().fold(0, |bits, (number, eight)| {
        // Eight bytes of 0 or 1: the product has them side by side in its top byte, the first lowest.
        let top = u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        bits | top << (8 * number)
    })
}

/// Where runs begin and end, by turns.
struct Edges {
    /// The last bit of the block before.
    carry: u64,
    found: [usize; BLOCK + 1],
    n: usize,
}

impl Default for Edges {
    fn default() -> Self {
        Edges { carry: 0, found: [0; BLOCK + 1], n: 0 }
    }
}

impl Edges {
    #[inline]
    fn block(&mut self, offset: usize, members: u64) {
        let mut edges = members ^ (members << 1 | self.carry);
        self.carry = members >> (BLOCK - 1);
        while edges != 0 {
            self.found[self.n] = offset + edges.trailing_zeros() as usize;
            self.n += 1;
            edges &= edges - 1;
        }
    }

    /// Emits the runs that have ended; the start of one that has not stays.
    #[inline]
    fn take_runs(&mut self, emit: &mut impl FnMut(usize, usize)) {
        let (runs, rest) = self.found[..self.n].as_chunks::<2>();
        let left = rest.first().copied();
        for [start, end] in runs {
            emit(*start, *end);
        }
        self.n = left.map_or(0, |start| {
            self.found[0] = start;
            1
        });
    }
}

/// The first byte outside ASCII at or after `from`, else the end.
pub(crate) fn next_foreign(bytes: &[u8], from: usize) -> usize {
    // Blocks are tested whole, which the compiler turns into vector code.
    for (number, block) in bytes[from..].chunks(BLOCK).enumerate() {
        if !block.is_ascii() {
            let ascii = block.iter().take_while(|byte| byte.is_ascii()).count();
            return from + number * BLOCK + ascii;
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn runs(bytes: &[u8]) -> Vec<(usize, usize)> {
        let mut runs = Vec::new();
        for_each_run(bytes, |byte| byte == b'x', |start, end| runs.push((start, end)));
        runs
    }

    #[test]
    fn runs_at_the_edges_of_blocks() {
        assert_eq!(runs(b""), []);
        assert_eq!(runs(b"x"), [(0, 1)]);
        for length in [1, 63, 64, 65, 127, 128, 129, 200] {
            assert_eq!(runs(&vec![b'x'; length]), [(0, length)]);
            assert_eq!(runs(&vec![b' '; length]), []);
        }
    }

    proptest! {
        #[test]
        fn equals_a_plain_scan(stretches in prop::collection::vec((any::<bool>(), 1..90_usize), 0..12)) {
            let bytes: Vec<u8> =
                stretches.iter().flat_map(|&(x, length)| vec![if x { b'x' } else { 0 }; length]).collect();
            let mut expected = Vec::new();
            let mut at = 0;
            for run in bytes.chunk_by(|a, b| a == b) {
                if run[0] == b'x' {
                    expected.push((at, at + run.len()));
                }
                at += run.len();
            }
            prop_assert_eq!(runs(&bytes), expected);
        }

        #[test]
        fn the_next_foreign_byte(ascii in 0..200_usize, more in 0..3_usize, from in 0..200_usize) {
            let mut bytes = vec![b' '; ascii];
            bytes.resize(ascii + more, 0x80);
            let from = from.min(ascii);
            prop_assert_eq!(next_foreign(&bytes, from), ascii);
        }
    }
}
