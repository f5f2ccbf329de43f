//! An order of labels in which labels that are mixed up with one another are neighbours, in groups.

use tamis_model::metrics::ConfusionMatrix;
use tamis_train::ClassId;

use crate::text::share;

/// Two rows of labels are one group if a pair of labels, one from each, mixes up at least this share of its documents
/// on average.
const RELATED: f64 = 0.01;

/// Orders classes and returns them in groups. Classes that are most mixed up are joined first (average linkage). When
/// two rows are joined, they are turned so that their nearest ends meet. The groups are in the order of the last row.
pub(crate) fn groups(confusion: &ConfusionMatrix, classes: &[ClassId]) -> Vec<Vec<ClassId>> {
    let support: Vec<u64> = classes.iter().map(|class| confusion.support(*class)).collect();
    let affinity = |a: usize, b: usize| {
        let (one, other) = (classes[a], classes[b]);
        let mixed = confusion.get(one, other) + confusion.get(other, one);
        share(mixed, support[a] + support[b])
    };
    let n = classes.len();
    let affinities: Vec<Vec<f64>> = (0..n).map(|a| (0..n).map(|b| affinity(a, b)).collect()).collect();
    let mut rows: Vec<Vec<usize>> = (0..n).map(|class| vec![class]).collect();
    let mut done = Vec::new();
    while rows.len() > 1 {
        let (value, [a, b]) = nearest(&affinities, &rows);
        if value < RELATED && done.is_empty() {
            done = rows.clone();
        }
        let other = rows.swap_remove(b);
        let row = std::mem::take(&mut rows[a]);
        rows[a] = joined(&affinities, row, other);
    }
    let order = rows.pop().unwrap_or_default();
    let done = if done.is_empty() { vec![order.clone()] } else { done };
    let group_of = |class: usize| done.iter().position(|group| group.contains(&class));
    let groups = order.chunk_by(|a, b| group_of(*a) == group_of(*b));
    groups.map(|group| group.iter().map(|class| classes[*class]).collect()).collect()
}

/// The two rows with the highest mean affinity; on a tie, the first two.
fn nearest(affinities: &[Vec<f64>], rows: &[Vec<usize>]) -> (f64, [usize; 2]) {
    let mut best = (-1.0, [0, 1]);
    for a in 0..rows.len() {
        for b in a + 1..rows.len() {
            let pairs = rows[a].iter().flat_map(|i| rows[b].iter().map(|j| affinities[*i][*j]));
            let mean = pairs.sum::<f64>() / (rows[a].len() * rows[b].len()) as f64;
            if mean > best.0 {
                best = (mean, [a, b]);
            }
        }
    }
    best
}

/// Joins two rows, turned so that their nearest ends meet.
fn joined(affinities: &[Vec<f64>], mut row: Vec<usize>, mut other: Vec<usize>) -> Vec<usize> {
    let between = |a: Option<&usize>, b: Option<&usize>| a.zip(b).map_or(0.0, |(a, b)| affinities[*a][*b]);
    let ways = [
        (between(row.last(), other.first()), [false, false]),
        (between(row.last(), other.last()), [false, true]),
        (between(row.first(), other.first()), [true, false]),
        (between(row.first(), other.last()), [true, true]),
    ];
    // on a tie, the first
    let best =
        ways.into_iter().rev().max_by(|a, b| a.0.total_cmp(&b.0)).map_or([false; 2], |(_, turns)| turns);
    if best[0] {
        row.reverse();
    }
    if best[1] {
        other.reverse();
    }
    row.append(&mut other);
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_mixed_up_are_neighbours() {
        let mut confusion = ConfusionMatrix::new(6);
        let mut record = |truth: ClassId, verdict: ClassId, n: u32| {
            (0..n).for_each(|_| confusion.record(truth, Some(verdict)));
        };
        (0..6).for_each(|class| record(class, class, 100));
        record(0, 4, 20);
        record(4, 2, 20);
        record(1, 5, 15);
        let groups = groups(&confusion, &[0, 1, 2, 3, 4, 5]);
        let mut sorted = groups.clone();
        sorted.iter_mut().for_each(|group| group.sort_unstable());
        sorted.sort();
        assert_eq!(sorted, [vec![0, 2, 4], vec![1, 5], vec![3]]);
        assert!(groups.iter().any(|group| *group == [0, 4, 2] || *group == [2, 4, 0]), "{groups:?}");
    }

    #[test]
    fn every_label_is_there_once() {
        let confusion = ConfusionMatrix::new(5);
        let mut all = groups(&confusion, &[3, 1, 4]).concat();
        all.sort_unstable();
        assert_eq!(all, [1, 3, 4]);
        assert!(groups(&confusion, &[]).concat().is_empty());
        assert_eq!(groups(&confusion, &[2]), [[2]]);
    }
}
