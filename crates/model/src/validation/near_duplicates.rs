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
/// Two documents are if, by an estimate, four fifths of the terms that either has are in both. Terms that more than a
/// quarter of all documents have do not count, nor documents with fewer than ten others: short texts are alike by chance.
#[derive(Clone, Debug, Default)]
pub struct NearDuplicates {
    /// The lowest group of those together with a group; none of a group that is alone.
    lowest: HashMap<u64, u64>,
    /// How many documents have others in their place.
    documents: u64,
    /// Whether each document is long.
    long: Vec<bool>,
}

const SIMILAR: f64 = 0.8;
const LEAST_TERMS: usize = 10;
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
        let (source, terms) = (BlockReader::unread(documents), TermHashes::new(counts, documents.n_terms()));
        let (mut keys, mut long): (Vec<(u64, u32)>, Vec<bool>) = Default::default();
        source.for_all(|first, block| {
            let rows = || (0..block.len()).into_par_iter();
            long.par_extend(rows().map(|at| terms.are_many(block.terms(at))));
            let keys_of = |at: usize| terms.keys(block.terms(at)).map(move |key| (key, (first + at) as u32));
            keys.par_extend(rows().filter(|at| long[first + at]).flat_map_iter(keys_of));
        });
        keys.par_sort_unstable();
        let alike: Vec<&[(u64, u32)]> =
            keys.chunk_by(|a, b| a.0 == b.0).filter(|alike| alike.len() > 1).collect();
        let sketches = terms.sketches(&source, &alike);
        let mut found = NearDuplicates { long, ..NearDuplicates::default() };
        for alike in alike {
            for pair in alike.windows(2) {
                for other in [alike[0].1, pair[0].1] {
                    let both = [other, pair[1].1];
                    if similarity(both.map(|document| &sketches[&document])) >= SIMILAR {
                        found.join(both.map(|document| documents.label(document as usize).group));
                    }
                }
            }
        }
        let groups: Vec<u64> = found.lowest.keys().copied().collect();
        let lowest: Vec<_> = groups.into_iter().map(|group| (group, found.group_of(group))).collect();
        found.lowest.extend(lowest);
        let is_any = |at: &usize| found.lowest.contains_key(&documents.label(*at).group);
        found.documents = (0..documents.len()).into_par_iter().filter(is_any).count() as u64;
        found
    }

    /// The group that a group's documents are held out with.
    pub fn group_of(&self, group: u64) -> u64 {
        let mut lowest = group;
        while let Some(lower) = self.lowest.get(&lowest).filter(|lower| **lower != lowest) {
            lowest = *lower;
        }
        lowest
    }

    /// Whether a document has so many terms that another like it is no chance. They count as for near-duplicates.
    pub fn is_long(&self, document: usize) -> bool {
        self.long.get(document).copied().unwrap_or(false)
    }

    /// The number of documents that are near-duplicates of others of another group.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    fn join(&mut self, groups: [u64; 2]) {
        let [one, two] = groups.map(|group| self.group_of(group));
        if one != two {
            let lowest = one.min(two);
            // the paths stay short
            self.lowest.extend([one, two, groups[0], groups[1]].map(|group| (group, lowest)));
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

/// The terms that count, and hashes of them.
struct TermHashes {
    frequencies: Vec<Frequency>,
}

/// The lowest hash in each of 64 ranges; [`EMPTY`] of none.
type Sketch = [u16; 64];
const EMPTY: u16 = u16::MAX;

impl TermHashes {
    fn new(counts: &Statistics, n_terms: usize) -> TermHashes {
        let all: u64 = counts.totals().iter().map(|totals| totals.documents).sum();
        let frequency = |id| match counts.document_frequency(id) {
            df if df * COMMON > all => Frequency::Common,
            0 | 1 => Frequency::Unique,
            _ => Frequency::Shared,
        };
        TermHashes { frequencies: (0..n_terms as TermId).into_par_iter().map(frequency).collect() }
    }

    /// The hashes of the terms that count.
    fn of<'a>(&'a self, row: BlockRow<'a>) -> impl Iterator<Item = (u64, Frequency)> + 'a {
        let hash = |id: &TermId| (scramble(u64::from(*id) + 1), self.frequencies[*id as usize]);
        row.ids.iter().map(hash).filter(|(_, frequency)| *frequency != Frequency::Common)
    }

    /// Whether at least [`LEAST_TERMS`] terms count.
    fn are_many(&self, row: BlockRow<'_>) -> bool {
        self.of(row).nth(LEAST_TERMS - 1).is_some()
    }

    /// Hashes of the lowest hashes but one.
    fn keys(&self, row: BlockRow<'_>) -> impl Iterator<Item = u64> + use<> {
        let mut lowest = [u64::MAX; LOWEST];
        for (hash, frequency) in self.of(row) {
            if frequency == Frequency::Shared && hash < lowest[LOWEST - 1] {
                let at = lowest.partition_point(|lower| *lower < hash);
                lowest[at..].rotate_right(1);
                lowest[at] = hash;
            }
        }
        let are_enough = lowest[LOWEST - 1] < u64::MAX;
        let without = move |left_out: usize| {
            let others = lowest.iter().enumerate().filter(|(at, _)| *at != left_out);
            others.fold(0, |key: u64, (_, hash)| scramble(key.rotate_left(17) ^ hash))
        };
        (0..LOWEST).take(if are_enough { LOWEST } else { 0 }).map(without)
    }

    /// The sketches of documents that may be near-duplicates.
    fn sketches(&self, source: &BlockReader<'_>, alike: &[&[(u64, u32)]]) -> HashMap<u32, Sketch> {
        let mut wanted: Vec<u32> = alike.iter().copied().flatten().map(|(_, document)| *document).collect();
        wanted.par_sort_unstable();
        wanted.dedup();
        let mut sketches = HashMap::with_capacity(wanted.len());
        source.for_all(|first, block| {
            let place = |document: usize| wanted.partition_point(|wanted| (*wanted as usize) < document);
            let of_block = &wanted[place(first)..place(first + block.len())];
            let sketch = |of: &u32| (*of, self.sketch(block.terms(*of as usize - first)));
            sketches.par_extend(of_block.par_iter().map(sketch));
        });
        sketches
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
fn similarity([one, two]: [&Sketch; 2]) -> f64 {
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
                own[0] = 4_001 + i as u32;
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
            vector: &[],
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
