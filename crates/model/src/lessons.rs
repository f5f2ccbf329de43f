use rayon::prelude::*;
use tamis_tokenizer::TermId;

use crate::ranks::Ranks;
use crate::transform::{idf, log_documents, log_tf};
use crate::weighted::norm;
use crate::{Cell, ClassId, ClassWeight, Labelled, OneAgainstRest, Statistics};

/// What documents teach a [`ClassCorrection`](crate::ClassCorrection). What depends on a term alone is settled once
/// for all documents that have it, and terms have ranks, the frequent ones first: what is read often lies together.
pub(crate) struct Lessons<'a> {
    scorer: &'a OneAgainstRest,
    ranks: &'a Ranks,
    /// By rank, as are the cells.
    terms: Vec<Term>,
    /// The classes of the cells of all terms.
    classes: Vec<ClassId>,
    /// What each cell of a term adds to the score of its class, for a weight of 1 in a document of another class; then,
    /// because they are read together, the same in a document of that class.
    parts: Vec<f64>,
}

/// A term with one document less than there is, which is the one left out.
#[derive(Clone, Copy, Default)]
struct Term {
    idf: f64,
    /// ln a - ln(n + r + a)
    absent: f64,
    /// The idf with all documents.
    full_idf: f64,
    /// Where its cells begin, and how many there are: none if no other document has the term.
    start: u32,
    len: u16,
    /// Whether only the document left out has it.
    is_own: bool,
}

/// What stays the same of a document from pass to pass.
#[derive(Clone, Copy)]
pub(crate) struct Lesson<'p> {
    /// The ranks of its terms, in the order of their ids.
    pub(crate) ranks: &'p [u32],
    /// Leave-one-out scores of its own class and its rivals, by class.
    pub(crate) scores: &'p [(ClassId, f64)],
    /// What a unit of weight at each of its terms adds to its score, once multiplied with the scale.
    pub(crate) factors: &'p [f64],
    /// 1 / |v|, at most 1, so that no step of learning is longer than its rate.
    pub(crate) scale: f64,
}

/// The lessons of all documents, by their places.
pub(crate) struct Prepared {
    chunks: Vec<Chunk>,
}

/// The lessons of [`TOGETHER`] documents, one after the other.
struct Chunk {
    ranks: Vec<u32>,
    factors: Vec<f64>,
    scores: Vec<(ClassId, f64)>,
    ends: Vec<End>,
}

/// Where a lesson ends, in terms and in scores, and its scale.
#[derive(Clone, Copy, Default)]
struct End {
    terms: usize,
    scores: usize,
    scale: f64,
}

/// Documents that a thread prepares at a time. Memory of their own for each would be asked for and given back a hundred
/// thousand times.
const TOGETHER: usize = 64;

impl Prepared {
    pub(crate) fn get(&self, document: usize) -> Lesson<'_> {
        let (chunk, at) = (&self.chunks[document / TOGETHER], document % TOGETHER);
        let start = at.checked_sub(1).map_or(End::default(), |before| chunk.ends[before]);
        let end = chunk.ends[at];
        let terms = start.terms..end.terms;
        Lesson {
            ranks: &chunk.ranks[terms.clone()],
            scores: &chunk.scores[start.scores..end.scores],
            factors: &chunk.factors[terms],
            scale: end.scale,
        }
    }
}

/// The classes that a document teaches: its own, and as many of those that score highest.
const RIVALS: usize = 32;

impl<'a> Lessons<'a> {
    pub(crate) fn new(scorer: &'a OneAgainstRest, counts: &Statistics, ranks: &'a Ranks) -> Lessons<'a> {
        let mut lessons =
            Lessons { scorer, ranks, terms: Vec::new(), classes: Vec::new(), parts: Vec::new() };
        let logs = [scorer.documents(), scorer.documents().saturating_sub(1)].map(log_documents);
        lessons.terms = ranks.terms().iter().map(|&term| lessons.term(counts, term, logs)).collect();
        lessons
    }

    /// Settles a term, given ln(M + 1) with and without the document left out.
    fn term(&mut self, counts: &Statistics, term: TermId, [all, left_out]: [f64; 2]) -> Term {
        let df = counts.document_frequency(term);
        let full_idf = if df == 0 { 0.0 } else { idf(df, all) };
        let left = df.saturating_sub(1);
        if left == 0 {
            return Term { full_idf, is_own: df == 1, ..Term::default() };
        }
        let scorer = self.scorer;
        let absent = scorer.log(0) - scorer.log(left);
        let part = |n: u64| scorer.log(n) - scorer.log(left.saturating_sub(n)) - absent;
        // fewer cells than a u32 can number: their places in the counts are numbered so
        let start = self.classes.len() as u32;
        for cell in counts.cells(term) {
            self.classes.push(cell.class);
            self.parts.push(part(cell.df.into()));
        }
        let own_part = |cell: Cell| part(u64::from(cell.df).saturating_sub(1));
        self.parts.extend(counts.cells(term).map(own_part));
        // at most Classes::MAX cells, which is u16::MAX
        let len = (self.classes.len() - start as usize) as u16;
        Term { idf: idf(left, left_out), absent, full_idf, start, len, is_own: false }
    }

    /// The lessons of documents whose terms have ranks.
    pub(crate) fn of(&self, documents: &[Labelled<'_>]) -> Prepared {
        Prepared { chunks: documents.par_chunks(TOGETHER).map(|documents| self.chunk(documents)).collect() }
    }

    fn chunk(&self, documents: &[Labelled<'_>]) -> Chunk {
        let n_terms = documents.iter().map(|document| document.row.len()).sum();
        let n_scores = documents.len() * self.scorer.n_classes().min(RIVALS + 1);
        let mut chunk = Chunk {
            ranks: Vec::with_capacity(n_terms),
            factors: Vec::with_capacity(n_terms),
            scores: Vec::with_capacity(n_scores),
            ends: Vec::with_capacity(documents.len()),
        };
        let (mut scores, mut ranked) = (Vec::new(), Vec::new());
        for document in documents {
            let (start, counts) = (chunk.ranks.len(), document.row.counts());
            chunk.ranks.extend(self.ranks.of(document.row.ids()));
            let ranks = &chunk.ranks[start..];
            self.scores(ranks, counts, document.class, &mut scores);
            ranked.clear();
            ranked.extend((0..=ClassId::MAX).zip(scores.iter().copied()));
            keep_rivals(&mut ranked, document.class);
            chunk.scores.extend(&ranked);
            let scale = self.factors(ranks, counts, &mut chunk.factors);
            chunk.ends.push(End { terms: chunk.ranks.len(), scores: chunk.scores.len(), scale });
        }
        chunk
    }

    /// As [`OneAgainstRest::scores_left_out`].
    fn scores(&self, ranks: &[u32], counts: &[u32], own: ClassId, out: &mut Vec<f64>) {
        out.clear();
        out.resize(self.scorer.n_classes(), 0.0);
        let (mut absent, mut weight, mut square) = (0.0, 0.0, 0.0);
        let (mut own_score, mut own_terms) = (0.0, 0);
        for (term, tf) in self.terms(ranks, counts) {
            let v = tf * term.idf;
            absent += v * term.absent;
            weight += v;
            square += v * v;
            own_terms += u64::from(term.is_own);
            let (start, len) = (term.start as usize, usize::from(term.len));
            let classes = &self.classes[start..start + len];
            let (parts, own_parts) = self.parts[2 * start..2 * (start + len)].split_at(len);
            let own_cell = if parts.len() == out.len() {
                // all classes have the term, as they have most terms of a text
                out.iter_mut().zip(parts).for_each(|(out, part)| *out += v * part);
                Some(usize::from(own))
            } else {
                classes.iter().zip(parts).for_each(|(class, part)| out[usize::from(*class)] += v * part);
                classes.binary_search(&own).ok()
            };
            own_score += own_cell.and_then(|at| own_parts.get(at)).map_or(0.0, |part| v * part);
        }
        if let Some(out) = out.get_mut(usize::from(own)) {
            *out = own_score;
        }
        let log_totals = self.scorer.log_totals(Some((own, ranks.len() as u64, own_terms)));
        for (out, log_totals) in out.iter_mut().zip(log_totals) {
            *out = (*out + (absent + weight * log_totals)) / norm(square);
        }
    }

    /// Appends v i for each term, what a unit of weight adds to the score before that is divided by the norm; returns the
    /// scale.
    fn factors(&self, ranks: &[u32], counts: &[u32], out: &mut Vec<f64>) -> f64 {
        let mut square = 0.0;
        let factor = |(term, tf): (&Term, f64)| {
            let v = tf * term.full_idf;
            square += v * v;
            v * term.full_idf / f64::from(ClassWeight::ONE)
        };
        out.extend(self.terms(ranks, counts).map(factor));
        scale(square)
    }

    /// The terms of a document with ln(1 + tf).
    fn terms(&self, ranks: &[u32], counts: &[u32]) -> impl Iterator<Item = (&Term, f64)> {
        ranks.iter().zip(counts).map(|(&rank, &tf)| (&self.terms[rank as usize], log_tf(tf)))
    }
}

/// Keeps the own class, whatever its score, and the [`RIVALS`] that score highest, in the order of classes.
pub(crate) fn keep_rivals(ranked: &mut Vec<(ClassId, f64)>, own: ClassId) {
    if ranked.len() > RIVALS + 1 {
        let is_own = |class| class == own;
        ranked.select_nth_unstable_by(RIVALS, |a, b| {
            is_own(b.0).cmp(&is_own(a.0)).then(b.1.total_cmp(&a.1)).then(a.0.cmp(&b.0))
        });
        ranked.truncate(RIVALS + 1);
        ranked.sort_unstable_by_key(|(class, _)| *class);
    }
}

/// 1 / |v| for a square of |v|, at most 1, so that no step of learning is longer than its rate.
pub(crate) fn scale(square: f64) -> f64 {
    1.0 / square.sqrt().max(1.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tamis_tokenizer::CountVector;

    use super::*;
    use crate::{Counts, Smoothing};

    proptest! {
        #[test]
        fn scores_are_those_left_out(
            rows in proptest::collection::vec((0u16..4, proptest::collection::btree_map(0u32..9, 1u32..99, 0..8)), 1..30),
            unlearned in 0usize..3,
        ) {
            let rows: Vec<_> = rows.into_iter().map(|(c, r)| (c, CountVector::from_pairs(r).unwrap())).collect();
            let mut statistics = Statistics::new(5);
            for (class, row) in rows.iter().skip(unlearned) {
                statistics.observe(*class, row.row()).unwrap();
            }
            let alpha = Smoothing::try_from(0.1).unwrap();
            let scorer = OneAgainstRest::new(alpha, statistics.totals(), statistics.n_features() as u64).unwrap();
            let documents: Vec<_> = rows
                .iter()
                .map(|(class, row)| Labelled { row: row.row(), class: *class, multiplicity: 1, group: 0 })
                .collect();
            let ranks = Ranks::new(&statistics, &documents);
            let lessons = Lessons::new(&scorer, &statistics, &ranks);
            let (mut scores, mut expected) = (Vec::new(), Vec::new());
            for (class, row) in &rows {
                let ranks: Vec<_> = ranks.of(row.row().ids()).collect();
                lessons.scores(&ranks, row.row().counts(), *class, &mut scores);
                let Ok(_) = scorer.scores_left_out(&statistics, row.row(), *class, &mut expected);
                prop_assert_eq!(&scores, &expected);
            }
        }
    }
}
