//! Which documents are held back, and which are asked.

use tamis_tokenizer::CountRow;

use crate::random::scramble;
use crate::{ClassId, Statistics};

/// One learned document, as fitting and calibration see it.
#[derive(Clone, Copy, Debug)]
pub struct Labelled<'a> {
    /// Its counts.
    pub row: CountRow<'a>,
    /// Its class.
    pub class: ClassId,
    /// How many times it was learned.
    pub multiplicity: u32,
    /// The same for documents too alike to test one with a model that has learned the other, such as mails
    /// with the same body.
    pub group: u64,
}

/// Copies of one document beyond this many say nothing more.
const MAX_COPIES: u32 = 1_000;

impl Labelled<'_> {
    /// What it counts in a fit.
    pub(crate) fn weight(&self) -> f64 {
        f64::from(self.multiplicity.min(MAX_COPIES))
    }
}

/// Documents of equal groups, class by class, in an order that the hashes of the groups decide.
pub(crate) struct Groups {
    groups: Vec<(ClassId, Vec<usize>)>,
}

impl Groups {
    pub(crate) fn new(documents: &[Labelled<'_>]) -> Groups {
        let key = |i: usize| (documents[i].group, documents[i].class, i);
        let mut order: Vec<_> = (0..documents.len()).map(key).collect();
        order.sort_unstable();
        let of_group = |equal: &[(u64, ClassId, usize)]| {
            // a group that has documents of several classes counts for the lowest
            let (group, class, _) = equal[0];
            let mut members: Vec<_> = equal.iter().map(|(_, _, i)| *i).collect();
            members.sort_unstable();
            // scrambling keeps groups apart, so this is one order
            ((class, scramble(group)), members)
        };
        let mut groups: Vec<_> = order.chunk_by(|a, b| a.0 == b.0).map(of_group).collect();
        groups.sort_unstable_by_key(|(key, _)| *key);
        Groups { groups: groups.into_iter().map(|((class, _), members)| (class, members)).collect() }
    }

    /// Deals the groups out to so many folds (at least 2, at most one a group); the documents of each fold, increasing.
    pub(crate) fn deal(&self, folds: usize) -> Vec<Vec<usize>> {
        let n_folds = folds.max(2).min(self.groups.len());
        let mut dealt = vec![Vec::new(); n_folds];
        for (rank, (_, members)) in self.groups.iter().enumerate() {
            dealt[rank % n_folds].extend(members);
        }
        dealt.iter_mut().for_each(|fold| fold.sort_unstable());
        dealt
    }

    /// About so many documents, with each of its class what it stands for: all its class's share of the sample is its
    /// share of the documents, but each class has at least `least` documents, if it has as many.
    pub(crate) fn sample(self, most: usize, least: usize) -> Sample {
        let all: usize = self.groups.iter().map(|(_, members)| members.len()).sum();
        let mut sample = Sample { groups: Groups { groups: Vec::new() }, weights: Vec::new() };
        let mut groups = self.groups.into_iter().peekable();
        while let Some((class, first)) = groups.next() {
            let mut of_class = vec![first];
            while let Some((_, members)) = groups.next_if(|(other, _)| *other == class) {
                of_class.push(members);
            }
            let n: usize = of_class.iter().map(Vec::len).sum();
            let wanted = (most as f64 / all as f64 * n as f64).ceil().max(least as f64);
            let before =
                of_class.iter().scan(0, |sum, members| Some(std::mem::replace(sum, *sum + members.len())));
            let n_groups = before.take_while(|before| (*before as f64) < wanted).count();
            let kept = &of_class[..n_groups];
            let n_kept: usize = kept.iter().map(Vec::len).sum();
            sample.weights.extend(kept.iter().flatten().map(|i| (*i, n as f64 / n_kept as f64)));
            of_class.truncate(n_groups);
            sample.groups.groups.extend(of_class.into_iter().map(|members| (class, members)));
        }
        sample.weights.sort_unstable_by_key(|(i, _)| *i);
        sample
    }
}

/// Some of the documents.
pub(crate) struct Sample {
    pub(crate) groups: Groups,
    /// The documents, increasing, and how many each stands for.
    pub(crate) weights: Vec<(usize, f64)>,
}

/// Deals documents out to so many folds (at least 2; 10 is a good number) for testing: documents of a group stay together, and
/// classes are spread. The documents of each fold, increasing; no fold is empty.
///
/// ```
/// use tamis_model::{Labelled, deal};
/// use tamis_tokenizer::CountRow;
///
/// let document = |(i, class): (u64, u16)| Labelled { row: CountRow::default(), class, multiplicity: 1, group: i / 2 };
/// let documents: Vec<_> = (0..8).zip([0, 0, 0, 0, 1, 1, 1, 1]).map(document).collect();
/// let folds = deal(&documents, 2);
/// assert_eq!(folds.concat().len(), 8);
/// assert!(folds.iter().all(|fold| fold.len() == 4 && fold.contains(&0) == fold.contains(&1)));
/// ```
pub fn deal(documents: &[Labelled<'_>], folds: usize) -> Vec<Vec<usize>> {
    Groups::new(documents).deal(folds)
}

/// The counts without the documents of a fold. A document that they never learned takes nothing from them.
pub fn hold_back(counts: &Statistics, documents: &[Labelled<'_>], fold: &[usize]) -> Statistics {
    let mut without = counts.clone();
    for document in fold.iter().map(|&i| &documents[i]) {
        // refused, and nothing changed, if it never was learned
        let _ = without.forget_times(document.class, document.row, document.multiplicity);
    }
    without
}

#[cfg(test)]
mod tests {
    use super::*;

    fn documents(groups: &[(u64, ClassId)]) -> Vec<Labelled<'static>> {
        let document = |&(group, class)| Labelled { row: CountRow::default(), class, multiplicity: 1, group };
        groups.iter().map(document).collect()
    }

    #[test]
    fn folds_keep_groups_together_and_spread_classes() {
        let groups = [(1, 0), (1, 0), (2, 0), (3, 0), (4, 1), (5, 1), (6, 1), (6, 1)];
        let documents = documents(&groups);
        for folds in [0, 1, 2, 3, 6, usize::MAX] {
            let dealt = Groups::new(&documents).deal(folds);
            assert_eq!(dealt.len(), folds.clamp(2, 6));
            let mut all = dealt.concat();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..8));
            let fold_of = |i: usize| dealt.iter().position(|fold| fold.contains(&i));
            assert_eq!((fold_of(0), fold_of(6)), (fold_of(1), fold_of(7)));
            assert!(dealt.iter().all(|fold| fold.is_sorted() && !fold.is_empty()));
        }
        assert_eq!(Groups::new(&[]).deal(10), Vec::<Vec<usize>>::new());
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
        assert_eq!(sample.groups.deal(5).concat().len(), sample.weights.len());
    }
}
