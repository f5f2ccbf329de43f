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
/// Two documents are if so much of what either says is in both, two fifths of texts, and if that is more than chance would have
/// in a pair of as many documents. A word says the more the rarer it is: its idf. Words that more than a quarter of all documents have do
/// not count.
#[derive(Clone, Debug, Default)]
pub struct NearDuplicates {
    /// The lowest group of those together with a group; none of a group that is alone.
    lowest: HashMap<u64, u64>,
    /// How many documents have others in their place.
    documents: u64,
    /// Whether each document is long.
    long: Vec<bool>,
}

const LEAST_TERMS: usize = 10;
const COMMON: u64 = 4;

/// What documents have in common must be this much less likely than one in their number: e to this power.
const SURE: f64 = 4.0;

/// Two documents are compared if they share two of their lowest ranks, of which each has this many.
const LOWEST: usize = 4;
const PAIRS: usize = LOWEST * (LOWEST - 1) / 2;

impl NearDuplicates {
    /// Finds the near-duplicates among documents with these counts. `words` has a hash of the word that each term is; 0 of a
    /// term that does not count. Terms with the same hash are the same word. Of what
    /// the words of two near-duplicates say, the share `similar` is in both.
    ///
    /// Rare words with the lowest hashes bring together documents that may be; a sample of the words of both tells how similar
    /// they are. Source: Broder, "On the resemblance and containment of documents" (1997).
    pub fn find(
        counts: &Statistics,
        documents: &dyn Documents,
        words: &[u64],
        similar: f32,
    ) -> NearDuplicates {
        let (source, words) = (BlockReader::unread(documents), Words::new(counts, words, similar));
        let mut found: (Vec<bool>, Vec<[u64; PAIRS]>) = Default::default();
        source.for_all(|_, block| {
            let read = |at: usize| (words.are_many(block.terms(at)), words.keys(block.terms(at)));
            found.par_extend((0..block.len()).into_par_iter().map(read));
        });
        let (long, mut keys) = (found.0, repeated(&found.1));
        keys.par_sort_unstable();
        let alike: Vec<&[(u64, u32)]> =
            keys.chunk_by(|a, b| a.0 == b.0).filter(|alike| alike.len() > 1).collect();
        let sketches = words.sketches(&source, &alike);
        let mut found = NearDuplicates { long, ..NearDuplicates::default() };
        for alike in alike {
            for pair in alike.windows(2) {
                let others = [alike[0].1, pair[0].1];
                for other in &others[usize::from(others[0] == others[1])..] {
                    let both = [*other, pair[1].1];
                    let groups = both.map(|document| documents.label(document as usize).group);
                    if found.group_of(groups[0]) != found.group_of(groups[1])
                        && words.are_near(both.map(|document| sketches.of(document)))
                    {
                        found.join(groups);
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

    /// Whether a document has so many words that another one like it is no coincidence. Common words do not count.
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

/// A word of a document: its hash and its idf.
type SketchWord = (u32, f32);

/// A sketch keeps at most this many words: those with the lowest hashes.
const MOST_IN_SKETCH: usize = 64;

/// The words that terms are.
struct Words {
    /// By term: a random number, the lower the rarer the word is. Infinite if no other document has it, and not a number if it
    /// does not count.
    ranks: Vec<f32>,
    /// By term.
    words: Vec<SketchWord>,
    /// The least sum of idf that two documents must have in common.
    least: f32,
    /// The least share of the idf of the words of both.
    similar: f32,
}

impl Words {
    fn new(counts: &Statistics, hashes: &[u64], similar: f32) -> Words {
        let all: u64 = counts.totals().iter().map(|totals| totals.documents).sum();
        let mut frequencies: HashMap<u64, u64> = HashMap::new();
        let known = |(id, hash): (TermId, &u64)| (*hash, counts.document_frequency(id));
        (0..).zip(hashes).map(known).filter(|(hash, _)| *hash != 0).for_each(|(hash, df)| {
            *frequencies.entry(hash).or_default() += df;
        });
        let word = |hash: &u64| match frequencies.get(hash) {
            Some(df) if df * COMMON <= all && *df > 0 => {
                let (own, idf) = (scramble(*hash), (all as f64 / *df as f64).ln());
                let rank = -((own >> 11) as f64 / (1u64 << 53) as f64).ln() / idf.powi(2);
                (if *df > 1 { rank as f32 } else { f32::INFINITY }, (own as u32, idf as f32))
            }
            _ => (f32::NAN, (0, 0.0)),
        };
        let (ranks, words) = hashes.par_iter().map(word).unzip();
        Words { ranks, words, least: ((all.max(1) as f64).ln() + SURE) as f32, similar }
    }

    /// Whether at least [`LEAST_TERMS`] terms count.
    fn are_many(&self, row: BlockRow<'_>) -> bool {
        row.ids.iter().filter(|id| !self.ranks[**id as usize].is_nan()).nth(LEAST_TERMS - 1).is_some()
    }

    /// A hash of each two of the lowest ranks; 0 where there are fewer.
    fn keys(&self, row: BlockRow<'_>) -> [u64; PAIRS] {
        let mut lowest = [f32::INFINITY; LOWEST];
        for id in row.ids {
            let rank = self.ranks[*id as usize];
            if rank < lowest[LOWEST - 1] && !lowest.contains(&rank) {
                let at = lowest.partition_point(|lower| *lower < rank);
                lowest[at..].rotate_right(1);
                lowest[at] = rank;
            }
        }
        let pairs =
            (0..LOWEST).flat_map(|one| (one + 1..LOWEST).map(move |other| [lowest[one], lowest[other]]));
        let mut keys = [0; PAIRS];
        for (key, [lower, higher]) in keys.iter_mut().zip(pairs).filter(|(_, [_, higher])| higher.is_finite())
        {
            *key = scramble(u64::from(lower.to_bits()) << 32 | u64::from(higher.to_bits()));
        }
        keys
    }

    /// The sketches of documents that may be near-duplicates.
    fn sketches(&self, source: &BlockReader<'_>, alike: &[&[(u64, u32)]]) -> Sketches {
        let mut documents: Vec<u32> =
            alike.iter().copied().flatten().map(|(_, document)| *document).collect();
        documents.par_sort_unstable();
        documents.dedup();
        let (mut words, mut ends) = (Vec::new(), Vec::with_capacity(documents.len()));
        source.for_all(|first, block| {
            let place = |document: usize| documents.partition_point(|of| (*of as usize) < document);
            let of_block = &documents[place(first)..place(first + block.len())];
            let sketches = of_block.par_iter().map(|of| self.sketch(block.terms(*of as usize - first)));
            for sketch in sketches.collect::<Vec<_>>() {
                words.extend(sketch);
                ends.push(words.len());
            }
        });
        Sketches { documents, words, ends }
    }

    /// The words with the lowest hashes, in their order.
    fn sketch(&self, row: BlockRow<'_>) -> Vec<SketchWord> {
        let words = row.ids.iter().map(|id| self.words[*id as usize]);
        let mut words: Vec<SketchWord> = words.filter(|(_, idf)| *idf > 0.0).collect();
        words.sort_unstable_by_key(|(hash, _)| *hash);
        words.dedup_by_key(|(hash, _)| *hash);
        words.truncate(MOST_IN_SKETCH);
        words
    }

    fn are_near(&self, [one, two]: [&[SketchWord]; 2]) -> bool {
        // beyond the highest hash of a sketch that is full, nothing is known
        let highest = |sketch: &[SketchWord]| match sketch.get(MOST_IN_SKETCH - 1) {
            Some((hash, _)) => *hash,
            None => u32::MAX,
        };
        let known = highest(one).min(highest(two));
        let [one, two] =
            [one, two].map(|sketch| &sketch[..sketch.partition_point(|(hash, _)| *hash <= known)]);
        // without branches, which nobody could foresee
        let (mut both, mut at) = (0.0, [0, 0]);
        while let (Some((here, idf)), Some((there, _))) = (one.get(at[0]), two.get(at[1])) {
            both += if here == there { *idf } else { 0.0 };
            at = [at[0] + usize::from(here <= there), at[1] + usize::from(there <= here)];
        }
        let either = one.iter().chain(two).map(|(_, idf)| idf).sum::<f32>() - both;
        both >= self.least && both >= self.similar * either
    }
}

/// The sketches of some documents.
struct Sketches {
    /// In increasing order.
    documents: Vec<u32>,
    /// Those of all sketches, and where each ends.
    words: Vec<SketchWord>,
    ends: Vec<usize>,
}

impl Sketches {
    /// The sketch of a document that has one.
    fn of(&self, document: u32) -> &[SketchWord] {
        let at = self.documents.partition_point(|other| *other < document);
        &self.words[at.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[at]]
    }
}

/// The keys of documents, each with the document's number, without most of those that only one document has, so that few
/// are left to sort.
fn repeated(keys: &[[u64; PAIRS]]) -> Vec<(u64, u32)> {
    let n_bits = (16 * PAIRS * keys.len()).next_power_of_two().max(64) as u64;
    let place = |key: u64| ((key % n_bits / 64) as usize, 1u64 << (key % 64));
    let [mut once, mut twice] = [0, 1].map(|_| vec![0u64; (n_bits / 64) as usize]);
    let all = || (0..).zip(keys).flat_map(|(document, of)| of.iter().map(move |key| (*key, document)));
    for (key, _) in all().filter(|(key, _)| *key != 0) {
        let (word, bit) = place(key);
        twice[word] |= once[word] & bit;
        once[word] |= bit;
    }
    let is_repeated = |(key, _): &(u64, u32)| {
        let (word, bit) = place(*key);
        *key != 0 && twice[word] & bit != 0
    };
    all().filter(is_repeated).collect()
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
        let words: Vec<u64> = (1..7_000).collect();
        let near = NearDuplicates::find(&counts, &documents, &words, 0.4);
        for i in 0..vectors.len() as u64 {
            let expected = if i < 400 && i % 10 == 8 { 999 - i } else { 1_000 - i };
            assert_eq!(near.group_of(1_000 - i), expected, "{i}");
        }
        assert_eq!(near.documents(), 80);
    }
}
