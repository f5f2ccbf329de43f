//! Cross-validation folds and stratified samples that keep near-duplicates together.

use rayon::prelude::*;
use tamis_tokenizer::CountVector;

use crate::counts::{ClassId, Statistics};
use crate::numbers::scramble;
use crate::validation::copies::Repeats;
use crate::validation::documents::Documents;

/// Documents by group. Groups are sorted by class, then by their hashes.
pub(crate) struct Groups {
    groups: Vec<GroupSpan>,
    /// The documents of all groups, group after group, increasing within each.
    members: Vec<u32>,
}

/// The position of a group's documents.
#[derive(Clone, Copy)]
struct GroupSpan {
    class: ClassId,
    start: u32,
    len: u32,
}

impl Groups {
    pub(crate) fn new(documents: &dyn Documents) -> Groups {
        // documents are numbered by u32
        let mut order: Vec<(u64, u32)> =
            (0..).zip(0..documents.len()).map(|(i, at)| (documents.held_out_with(at), i)).collect();
        order.par_sort_unstable();
        let mut start = 0;
        let of_group = |equal: &[(u64, u32)]| {
            // a group with several classes counts for the lowest
            let classes = equal.iter().map(|(_, i)| documents.label(*i as usize).class);
            let group =
                GroupSpan { class: classes.min().unwrap_or_default(), start, len: equal.len() as u32 };
            start += group.len;
            // scrambling is injective, so this is a total order
            (scramble(equal[0].0), group)
        };
        let mut groups: Vec<_> = order.chunk_by(|a, b| a.0 == b.0).map(of_group).collect();
        let members = order.into_iter().map(|(_, i)| i).collect();
        groups.par_sort_unstable_by_key(|(scrambled, group)| (group.class, *scrambled));
        Groups { groups: groups.into_iter().map(|(_, group)| group).collect(), members }
    }

    fn members(&self, group: &GroupSpan) -> impl ExactSizeIterator<Item = usize> {
        let (start, len) = (group.start as usize, group.len as usize);
        self.members[start..start + len].iter().map(|i| *i as usize)
    }

    /// The documents of all groups, increasing.
    pub(crate) fn documents(&self) -> Vec<usize> {
        let mut all: Vec<_> = self.groups.iter().flat_map(|group| self.members(group)).collect();
        all.sort_unstable();
        all
    }

    /// Deals the groups into `folds` folds (at least 2, at most one per group). Returns the documents of each fold,
    /// increasing.
    fn folds(&self, n_folds: usize) -> Vec<Vec<usize>> {
        let n_folds = n_folds.max(2).min(self.groups.len());
        let mut dealt = vec![Vec::new(); n_folds];
        for (rank, group) in self.groups.iter().enumerate() {
            dealt[rank % n_folds].extend(self.members(group));
        }
        dealt.iter_mut().for_each(|fold| fold.sort_unstable());
        dealt
    }

    /// Deals documents into folds, with the numbers of their copies. A group stays together, unless
    /// [copies come again](Repeats).
    pub(crate) fn deal(
        &self,
        documents: &dyn Documents,
        repeats: &Repeats,
        n_folds: usize,
    ) -> Vec<Vec<(usize, u32)>> {
        if let Some(unit) = repeats.unit {
            return self.folds_of_copies(documents, unit, n_folds);
        }
        let whole = |document: usize| (document, documents.label(document).multiplicity);
        self.folds(n_folds).into_iter().map(|fold| fold.into_iter().map(whole).collect()).collect()
    }

    /// Deals `unit` copies at a time into folds, one after another within each group, whatever their labels. Returns the
    /// documents of each fold, increasing, with the number of their copies in it.
    ///
    /// A text listed once under each of several labels goes into one fold as a whole, so that holding out one of its
    /// labels does not favour the others.
    fn folds_of_copies(&self, documents: &dyn Documents, unit: u32, folds: usize) -> Vec<Vec<(usize, u32)>> {
        let n_folds = folds.max(2);
        let mut dealt = vec![Vec::new(); n_folds];
        for (rank, group) in self.groups.iter().enumerate() {
            let copies_of = |document| documents.label(document).multiplicity.div_ceil(unit) as usize;
            if self.members(group).all(|document| copies_of(document) == 1) {
                dealt[rank % n_folds].extend(self.members(group).map(|document| (document, unit)));
                continue;
            }
            let mut next = rank;
            for document in self.members(group) {
                let copies = copies_of(document);
                for turn in 0..n_folds.min(copies) {
                    // no more than copies, which are numbered by u32
                    let own = (copies - turn).div_ceil(n_folds) as u32 * unit;
                    dealt[(next + turn) % n_folds].push((document, own));
                }
                next += copies;
            }
        }
        dealt.iter_mut().for_each(|fold| fold.sort_unstable());
        dealt.retain(|fold| !fold.is_empty());
        dealt
    }

    /// Draws a stratified sample of about `most` documents, with their sampling weights. Each class has its share of
    /// the sample, but at least `least` documents if it has that many. If there are more than `most / 2` classes and
    /// more than `most` groups, takes every n-th group instead, whatever its class. Of a group that is larger than the
    /// sample that it is for, takes every n-th document.
    pub(crate) fn sample(mut self, most: usize, least: usize) -> StratifiedSample {
        let (all, mut weights, mut sampled) = (self.members.len(), Vec::new(), Vec::new());
        let n_classes = self.groups.chunk_by(|a, b| a.class == b.class).count();
        // keeps groups that stand for `n` documents, at most `most` documents of each
        let mut keep = |groups: Vec<GroupSpan>, n: usize, most: usize| {
            let n_kept: u32 = groups.iter().map(|group| group.len).sum();
            for group in &groups {
                let members = self.members(group).step_by((group.len as usize).div_ceil(most.max(1)));
                let of_group = f64::from(group.len) / members.len() as f64;
                let stand_for = n as f64 / f64::from(n_kept) * of_group;
                weights.extend(members.map(|i| (i, stand_for)));
            }
            sampled.extend(groups);
        };
        if n_classes > most / 2 && self.groups.len() > most {
            let every = self.groups.len().div_ceil(most);
            keep(self.groups.iter().step_by(every).copied().collect(), all, every);
        } else {
            for of_class in self.groups.chunk_by(|a, b| a.class == b.class) {
                let n: usize = of_class.iter().map(|group| group.len as usize).sum();
                let wanted = (most as f64 / all as f64 * n as f64).ceil().max(least as f64);
                let before =
                    of_class.iter().scan(0, |sum, group| Some(std::mem::replace(sum, *sum + group.len)));
                let n_groups = before.take_while(|before| f64::from(*before) < wanted).count();
                keep(of_class[..n_groups].to_vec(), n, wanted as usize);
            }
        }
        weights.sort_unstable_by_key(|(i, _)| *i);
        self.groups = sampled;
        StratifiedSample { groups: self, weights }
    }
}

/// A stratified sample.
pub(crate) struct StratifiedSample {
    /// Whole groups, which are held out together.
    pub(crate) groups: Groups,
    /// The documents to score, increasing, with their sampling weights.
    pub(crate) weights: Vec<(usize, f64)>,
}

/// Deals documents into folds for cross-validation (at least 2; 10 is usual). Folds are stratified by class, and a
/// group stays together. Returns the documents of each fold, increasing; no fold is empty.
///
/// ```
/// use tamis_model::{Example, assign_folds};
/// use tamis_tokenizer::CountRow;
///
/// let document = |(i, class): (u64, u16)| Example { row: CountRow::default(), class, multiplicity: 1, group: i / 2, fraction: 0, vector: &[] };
/// let documents: Vec<_> = (0..8).zip([0, 0, 0, 0, 1, 1, 1, 1]).map(document).collect();
/// let folds = assign_folds(&documents, 2);
/// assert_eq!(folds.concat().len(), 8);
/// assert!(folds.iter().all(|fold| fold.len() == 4 && fold.contains(&0) == fold.contains(&1)));
/// ```
#[doc(hidden)]
pub fn assign_folds(documents: &dyn Documents, folds: usize) -> Vec<Vec<usize>> {
    Groups::new(documents).folds(folds)
}

/// Documents that are held out together, in increasing order.
pub(crate) struct Fold {
    pub(crate) documents: Vec<usize>,
    /// The number of held-out copies of each document.
    pub(crate) copies: Vec<u32>,
    /// The weight of each document; 0 if it is held out but not scored.
    pub(crate) weights: Vec<f64>,
    pub(crate) rows: Vec<CountVector>,
}

impl Fold {
    /// Holds out documents with these numbers of their copies; `weight` is that of such copies of a document.
    pub(crate) fn new(
        documents: &dyn Documents,
        held: Vec<(usize, u32)>,
        weight: impl Fn(usize, u32) -> f64,
    ) -> Fold {
        let weights = held.iter().map(|(document, copies)| weight(*document, *copies)).collect();
        let (numbers, copies): (Vec<_>, Vec<_>) = held.into_iter().unzip();
        Fold { rows: documents.rows(&numbers), documents: numbers, copies, weights }
    }

    /// The counts without the fold.
    pub(crate) fn counts_without(&self, counts: &Statistics, documents: &dyn Documents) -> Statistics {
        let mut without = counts.clone();
        for ((document, copies), row) in self.documents.iter().zip(&self.copies).zip(&self.rows) {
            // refused without a change if it was never learned
            let _ = without.forget_times(documents.label(*document).class, row.row(), *copies);
        }
        without
    }

    /// The number of held-out copies of a document.
    pub(crate) fn copies_of(&self, document: usize) -> u32 {
        let at = self.documents.binary_search(&document);
        at.ok().and_then(|at| self.copies.get(at)).copied().unwrap_or(0)
    }
}

/// Cross-validation: what `score` makes of each fold and the counts of all other documents, in parallel.
///
/// # Errors
/// Those of `score`.
pub(crate) fn cross_validate<T: Send, E: Send>(
    folds: &[Fold],
    counts: &Statistics,
    documents: &dyn Documents,
    score: impl Fn(&Fold, &Statistics) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    folds.par_iter().map(|fold| score(fold, &fold.counts_without(counts, documents))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::documents::Example;
    use tamis_tokenizer::CountRow;

    fn documents(groups: &[(u64, ClassId)]) -> Vec<Example<'static>> {
        let document = |&(group, class)| Example {
            row: CountRow::default(),
            class,
            multiplicity: 1,
            group,
            fraction: 0,
            vector: &[],
        };
        groups.iter().map(document).collect()
    }

    #[test]
    fn folds_keep_groups_together_and_spread_classes() {
        let groups = [(1, 0), (1, 0), (2, 0), (3, 0), (4, 1), (5, 1), (6, 1), (6, 1)];
        let documents = documents(&groups);
        for folds in [0, 1, 2, 3, 6, usize::MAX] {
            let dealt = Groups::new(&documents).folds(folds);
            assert_eq!(dealt.len(), folds.clamp(2, 6));
            let mut all = dealt.concat();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..8));
            let fold_of = |i: usize| dealt.iter().position(|fold| fold.contains(&i));
            assert_eq!((fold_of(0), fold_of(6)), (fold_of(1), fold_of(7)));
            assert!(dealt.iter().all(|fold| fold.is_sorted() && !fold.is_empty()));
        }
        assert_eq!(Groups::new(&Vec::<Example<'_>>::new()).folds(10), Vec::<Vec<usize>>::new());
    }

    #[test]
    fn copies_that_come_again_are_dealt_one_by_one_but_not_where_each_has_a_label_of_its_own() {
        let mut documents = documents(&[(1, 0), (1, 1), (2, 0), (3, 0), (3, 1)]);
        documents.iter_mut().zip([2, 2, 6, 4, 2]).for_each(|(document, n)| document.multiplicity = n);
        let dealt = Groups::new(&documents).folds_of_copies(&documents, 2, 3);
        let folds_of = |document: usize| {
            dealt.iter().filter(|fold| fold.iter().any(|(i, _)| *i == document)).collect::<Vec<_>>()
        };
        assert_eq!(folds_of(0), folds_of(1));
        assert_eq!((folds_of(2).len(), folds_of(3).len()), (3, 2));
        let copies = |document: usize| {
            dealt.iter().flatten().filter(|(i, _)| *i == document).map(|(_, n)| n).sum::<u32>()
        };
        assert!((0..5).all(|i| copies(i) == documents[i].multiplicity));
    }

    #[test]
    fn a_sample_of_very_many_classes_is_no_larger_than_asked() {
        let documents = documents(&(0..2_000).map(|i| (i, (i / 5) as ClassId)).collect::<Vec<_>>());
        let sample = Groups::new(&documents).sample(300, 0);
        assert!((250..=300).contains(&sample.weights.len()), "{}", sample.weights.len());
        assert!((sample.weights.iter().map(|(_, weight)| weight).sum::<f64>() - 2_000.0).abs() < 1e-6);
        assert!(sample.weights.is_sorted_by_key(|(i, _)| *i));
    }

    #[test]
    fn a_text_of_many_labels_does_not_fill_a_sample_but_is_held_out_as_a_whole() {
        // two texts under each of 1,000 labels, alone and beside a text of each label's own
        for n_own in [0, 1_000] {
            let groups =
                (0..2_000 + n_own).map(|i| (if i < 2_000 { i % 2 } else { i }, (i % 1_000) as ClassId));
            let documents = documents(&groups.collect::<Vec<_>>());
            let StratifiedSample { groups, weights } = Groups::new(&documents).sample(200, 1);
            assert!((100..=400).contains(&weights.len()), "{}", weights.len());
            let all = weights.iter().map(|(_, weight)| weight).sum::<f64>();
            assert!((all - documents.len() as f64).abs() < 1e-6, "{all}");
            assert!(n_own > 0 || groups.folds(5).concat().len() >= 1_000);
        }
    }

    #[test]
    fn a_sample_has_enough_of_rare_classes_and_stands_for_all() {
        let documents =
            documents(&(0..1_000).map(|i| (i / 2, ClassId::from(i % 100 < 4))).collect::<Vec<_>>());
        let sample = Groups::new(&documents).sample(100, 20);
        let of = |class| {
            let is_of = |(i, _): &&(usize, f64)| documents[*i].class == class;
            sample.weights.iter().filter(is_of).collect::<Vec<_>>()
        };
        assert!((95..=105).contains(&of(0).len()) && (20..=22).contains(&of(1).len()), "{}", of(1).len());
        let weight = |class| of(class).iter().map(|(_, weight)| weight).sum::<f64>();
        assert!((weight(0) - 960.0).abs() < 1e-9 && (weight(1) - 40.0).abs() < 1e-9);
        let all = Groups::new(&documents).sample(usize::MAX, 0);
        assert!(
            all.weights.iter().map(|(i, _)| *i).eq(0..1_000) && all.weights.iter().all(|(_, w)| *w == 1.0)
        );
        assert_eq!(sample.groups.folds(5).concat().len(), sample.weights.len());
    }
}
