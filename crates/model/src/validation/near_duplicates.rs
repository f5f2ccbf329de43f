//! Near-duplicates: documents that are variations of one text, such as the messages of a campaign.

use std::collections::HashMap;

use rayon::prelude::*;
use tamis_tokenizer::TermId;

use crate::counts::{Counts, Statistics};
use crate::numbers::scramble;
use crate::validation::documents::{BlockRow, Documents};
use crate::validation::reader::BlockReader;

/// Groups whose documents are near-duplicates of one another, and are held out together.
///
/// Two documents are if at least four fifths of the terms that either has are in both. Terms that more than a quarter of all
/// documents have do not count, nor documents with fewer than ten others: short texts are alike by chance.
#[derive(Clone, Debug, Default)]
pub struct NearDuplicates {
    /// The lowest group of those together with a group; none of a group that is alone.
    lowest: HashMap<u64, u64>,
    documents: u64,
}

const SIMILAR: f64 = 0.8;
const LEAST_TERMS: u32 = 10;
const COMMON: u64 = 4;

/// Documents are compared that have this many of the lowest hashes of their terms in common, but one.
const LOWEST: usize = 4;

impl NearDuplicates {
    /// Finds the near-duplicates among documents with these counts.
    ///
    /// The lowest hashes of their terms bring together documents that may be; the lowest in each of 64 ranges tell how similar
    /// they are. Source: Broder, "On the resemblance and containment of documents" (1997); Li, Owen and Zhang, "One
    /// permutation hashing" (2012).
    pub fn find(counts: &Statistics, documents: &dyn Documents) -> NearDuplicates {
        let all: u64 = counts.totals().iter().map(|totals| totals.documents).sum();
        let frequency = |id| match counts.document_frequency(id) {
            df if df * COMMON > all => Frequency::Common,
            0 | 1 => Frequency::Unique,
            _ => Frequency::Shared,
        };
        let ids = 0..documents.n_terms() as TermId;
        let terms = TermHashes { frequencies: ids.into_par_iter().map(frequency).collect() };
        let source = BlockReader::unread(documents);
        let mut keys: Vec<(u64, u32)> = Vec::new();
        source.for_all(|first, block| {
            let keys_of = |at: usize| terms.keys(block.terms(at)).map(move |key| (key, (first + at) as u32));
            keys.par_extend((0..block.len()).into_par_iter().flat_map_iter(keys_of));
        });
        keys.par_sort_unstable();
        let alike: Vec<&[(u64, u32)]> =
            keys.chunk_by(|a, b| a.0 == b.0).filter(|alike| alike.len() > 1).collect();
        let mut candidates: Vec<u32> =
            alike.iter().copied().flatten().map(|(_, document)| *document).collect();
        candidates.par_sort_unstable();
        candidates.dedup();
        let mut sketches: Vec<Sketch> = Vec::with_capacity(candidates.len());
        source.for_all(|first, block| {
            let range = first as u32..(first + block.len()) as u32;
            let [start, end] = [range.start, range.end].map(|at| candidates.partition_point(|of| *of < at));
            let sketch = |of: &u32| terms.sketch(block.terms(*of as usize - first));
            sketches.par_extend(candidates[start..end].par_iter().map(sketch));
        });
        let sketch = |document: u32| candidates.binary_search(&document).ok().map(|at| &sketches[at]);
        let mut together = NearDuplicates::default();
        for alike in alike {
            for (at, (_, document)) in alike.iter().enumerate().skip(1) {
                for (_, other) in [alike[0], alike[at - 1]] {
                    let both = [*document, other];
                    let [Some(one), Some(two)] = both.map(sketch) else { continue };
                    if similarity(one, two) >= SIMILAR {
                        together.join(both.map(|document| documents.label(document as usize).group));
                    }
                }
            }
        }
        let groups: Vec<u64> = together.lowest.keys().copied().collect();
        groups.into_iter().for_each(|group| {
            let lowest = together.group_of(group);
            together.lowest.insert(group, lowest);
        });
        let is_any = |document: &usize| together.lowest.contains_key(&documents.label(*document).group);
        together.documents = (0..documents.len()).into_par_iter().filter(is_any).count() as u64;
        together
    }

    /// The group that a group's documents are held out with.
    pub fn group_of(&self, group: u64) -> u64 {
        let mut lowest = group;
        while let Some(lower) = self.lowest.get(&lowest).filter(|lower| **lower != lowest) {
            lowest = *lower;
        }
        lowest
    }

    /// The number of documents that are near-duplicates of others of another group.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    fn join(&mut self, groups: [u64; 2]) {
        let [one, two] = groups.map(|group| self.group_of(group));
        if one != two {
            let lowest = one.min(two);
            self.lowest.extend([(one, lowest), (two, lowest)]);
        }
    }
}

/// How many documents have a term.
#[derive(Clone, Copy, PartialEq)]
enum Frequency {
    Unique,
    Shared,
    Common,
}

struct TermHashes {
    frequencies: Vec<Frequency>,
}

/// The lowest hash in each of 64 ranges; [`EMPTY`] of none.
type Sketch = [u16; 64];
const EMPTY: u16 = u16::MAX;

impl TermHashes {
    /// The hashes of the terms that count.
    fn of<'a>(&'a self, row: BlockRow<'a>) -> impl Iterator<Item = (u64, Frequency)> + 'a {
        let hash = |id: &TermId| (scramble(u64::from(*id) + 1), self.frequencies[*id as usize]);
        row.ids.iter().map(hash).filter(|(_, frequency)| *frequency != Frequency::Common)
    }

    /// Hashes of the lowest hashes but one; none of a short document.
    fn keys(&self, row: BlockRow<'_>) -> impl Iterator<Item = u64> + use<> {
        let (mut lowest, mut n) = ([u64::MAX; LOWEST], 0);
        for (hash, frequency) in self.of(row) {
            n += 1;
            if frequency == Frequency::Shared && hash < lowest[LOWEST - 1] {
                let at = lowest.partition_point(|lower| *lower < hash);
                lowest[at..].rotate_right(1);
                lowest[at] = hash;
            }
        }
        let is_long = n >= LEAST_TERMS && lowest[LOWEST - 1] < u64::MAX;
        let without = move |left_out: usize| {
            let others = lowest.iter().enumerate().filter(|(at, _)| *at != left_out);
            others.fold(0, |key: u64, (_, hash)| scramble(key.rotate_left(17) ^ hash))
        };
        (0..LOWEST).take(if is_long { LOWEST } else { 0 }).map(without)
    }

    fn sketch(&self, row: BlockRow<'_>) -> Sketch {
        let mut sketch = [EMPTY; 64];
        for (hash, _) in self.of(row) {
            let lowest = &mut sketch[(hash >> 58) as usize];
            *lowest = (*lowest).min((hash >> 42) as u16);
        }
        sketch
    }
}

/// An estimate of the share of the terms of either document that are in both.
fn similarity(one: &Sketch, two: &Sketch) -> f64 {
    let of_either = std::iter::zip(one, two).filter(|(a, b)| **a != EMPTY || **b != EMPTY);
    let (equal, all) = of_either.fold((0, 0), |(equal, all), (a, b)| (equal + u32::from(a == b), all + 1));
    f64::from(equal) / f64::from(all.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::documents::Example;
    use tamis_tokenizer::CountVector;

    /// Documents of 40 terms each, of which every tenth is a variation of the one before; and short ones.
    #[test]
    fn variations_of_a_text_are_held_out_together() {
        let terms = |i: u32| {
            let own = move |t: u32| 1 + scramble(u64::from(i * 100 + t)) as u32 % 4_000;
            (0..40).map(own).collect::<Vec<_>>()
        };
        let mut rows: Vec<Vec<u32>> = Vec::new();
        for i in 0..400 {
            let mut own = if i % 10 == 9 { rows[i - 1].clone() } else { terms(i as u32) };
            if i % 10 == 9 {
                own[..3].copy_from_slice(&[4_001 + i as u32, 4_500 + i as u32, 5_000 + i as u32]);
            }
            rows.push(own);
        }
        rows.extend((0..50).map(|i| vec![7, 8, 9, 6_000 + i]));
        // a term that all have, as headers of mail
        let vector = |row: &Vec<u32>| {
            let mut ids: Vec<_> = row.iter().copied().chain([0]).collect();
            ids.sort_unstable();
            ids.dedup();
            CountVector::from_pairs(ids.into_iter().map(|id| (id, 1))).unwrap()
        };
        let vectors: Vec<CountVector> = rows.iter().map(vector).collect();
        let example = |i: usize| Example {
            row: vectors[i].row(),
            class: i as u16 % 2,
            multiplicity: 1,
            group: 1_000 - i as u64,
            fraction: 0,
        };
        let documents: Vec<_> = (0..vectors.len()).map(example).collect();
        let mut counts = Statistics::new(2);
        documents.iter().for_each(|of| counts.observe(of.class, of.row).unwrap());
        let near = NearDuplicates::find(&counts, &documents);
        for i in 0..vectors.len() as u64 {
            let expected = if i < 400 && i % 10 == 8 { 999 - i } else { 1_000 - i };
            assert_eq!(near.group_of(1_000 - i), expected, "{i}");
        }
        assert_eq!(near.documents(), 80);
    }
}
