//! Leave-one-out weights of terms for more than two classes (one-vs-rest).

use std::hint::black_box;

use rayon::prelude::*;
use tamis_tokenizer::TermId;

use crate::bayes::Smoothing;
use crate::counts::{Cell, ClassId, Counts, Statistics, TF_UNIT, idf, log_documents, term_ids};
use crate::linear::{Columns, LOGS, Logs, norm, powered};
use crate::validation::documents::BlockRow;
use crate::validation::two_classes::MOST_POWERS;

/// The weights of all terms with one smoothing.
pub(crate) struct OneVsRestTerms {
    columns: Columns,
    terms: Vec<LeftOutTerm>,
    /// The column of each cell.
    cells: Vec<ClassId>,
    /// For each term, what each of its cells adds to its column per unit of weight: first the values for a document of
    /// another class, then those for a document of the column's class. The two are stored together because they are
    /// read together. Single precision is enough: counts have an error of their own.
    parts: Vec<f32>,
}

/// A term, counted without the left-out document.
#[derive(Clone, Copy, Default)]
struct LeftOutTerm {
    /// Raised to the power, if there is only one.
    idf: f32,
    /// ln a - ln(n + r + a)
    absent: f32,
    /// Start and number of its cells; none if no other document has the term.
    start: u32,
    len: u16,
    /// Whether only the left-out document has it.
    is_unique: bool,
}

/// The terms that one thread computes.
#[derive(Default)]
struct TermChunk {
    terms: Vec<LeftOutTerm>,
    cells: Vec<ClassId>,
    parts: Vec<f32>,
    /// The columns of the current term, with their document frequencies.
    dfs: Vec<(ClassId, u64)>,
}

/// Number of terms per chunk.
const CHUNK: usize = 1 << 13;

impl OneVsRestTerms {
    /// Computes the weights of all terms, in parallel in the current rayon pool.
    pub(crate) fn new(alpha: Smoothing, powers: &[f64], counts: &Statistics, columns: &Columns) -> Self {
        let power = if let [power] = powers { *power } else { 1.0 };
        let all = counts.totals().iter().map(|totals| totals.documents).fold(0, u64::saturating_add);
        let log_documents = log_documents(all.saturating_sub(1));
        let logs = Logs::new(alpha.alpha(), LOGS);
        let ids: Vec<TermId> = term_ids(counts).collect();
        let compute = |ids: &[TermId]| {
            let mut chunk = TermChunk::default();
            let idf = |left: u64| powered(idf(left, log_documents), power) as f32;
            ids.iter().for_each(|id| chunk.push_term(counts, columns, &logs, idf, *id));
            chunk
        };
        let chunks: Vec<_> = ids.par_chunks(CHUNK).map(compute).collect();
        let (cells, parts) = (Vec::new(), Vec::new());
        let mut all =
            OneVsRestTerms { columns: columns.clone(), terms: Vec::with_capacity(ids.len()), cells, parts };
        for TermChunk { terms, mut cells, mut parts, .. } in chunks {
            // cells are numbered by u32
            let before = all.cells.len() as u32;
            all.terms
                .extend(terms.into_iter().map(|term| LeftOutTerm { start: term.start + before, ..term }));
            all.cells.append(&mut cells);
            all.parts.append(&mut parts);
        }
        all
    }

    /// Counts the document's terms that also occur in other documents.
    pub(crate) fn known_terms(&self, row: BlockRow<'_>) -> usize {
        self.terms(row).filter(|(term, _)| term.len > 0).count()
    }

    /// Writes to `out`, for each of at most [`MOST_POWERS`] powers of idf, the scores of a document of the class `own`.
    /// Looks up a term once for all powers. `log_totals` is called with the number of terms that no other document has.
    pub(crate) fn scores(
        &self,
        row: BlockRow<'_>,
        own: ClassId,
        powers: &[f64],
        out: &mut [Vec<f64>],
        log_totals: impl FnOnce(u64) -> Vec<f64>,
    ) {
        match powers {
            [_] => self.sum_terms::<1>(row, own, powers, out, log_totals),
            // one lane more than there are powers: four numbers are added faster than three
            _ => self.sum_terms::<{ MOST_POWERS + 1 }>(row, own, powers, out, log_totals),
        }
    }

    fn first_part(&self, id: TermId) -> f32 {
        let start = self.terms.get(id as usize).map_or(0, |term| 2 * term.start as usize);
        self.parts.get(start).copied().unwrap_or(0.0)
    }

    fn sum_terms<const P: usize>(
        &self,
        row: BlockRow<'_>,
        own: ClassId,
        powers: &[f64],
        out: &mut [Vec<f64>],
        log_totals: impl FnOnce(u64) -> Vec<f64>,
    ) {
        // so that the processor waits for all terms at once
        black_box(row.ids.iter().fold(0, |bits, id| bits ^ self.first_part(*id).to_bits()));
        let mut unique_terms = 0;
        let mut sums = vec![[0f32; P]; self.columns.len()];
        let [mut absent, mut weight, mut square] = [[0f32; P]; 3];
        let mut own_scores: Vec<_> =
            self.columns.positive_in(own).map(|column| (column, [0f32; P])).collect();
        for (term, log_tf) in self.terms(row) {
            unique_terms += u64::from(term.is_unique);
            // no other document has it
            if term.absent == 0.0 {
                continue;
            }
            let mut v = [log_tf * term.idf; P];
            if P > 1 {
                let idf = |power: &f64| powered(term.idf.into(), *power) as f32;
                v.iter_mut().zip(powers).for_each(|(v, power)| *v = log_tf * idf(power));
            }
            add_times(&mut absent, &v, term.absent);
            add_times(&mut weight, &v, 1.0);
            square.iter_mut().zip(v).for_each(|(square, v)| *square += v * v);
            let (start, len) = (term.start as usize, usize::from(term.len));
            // for documents of other classes, then for those of the column's own
            let (parts, own_parts) = self.parts[2 * start..2 * (start + len)].split_at(len);
            if len == sums.len() {
                // all columns have the term: the common case
                match P {
                    1 => add_each(sums.as_flattened_mut(), v[0], parts),
                    _ => sums.iter_mut().zip(parts).for_each(|(sums, part)| add_times(sums, &v, *part)),
                }
                own_scores.iter_mut().for_each(|(own, score)| add_times(score, &v, own_parts[*own]));
                continue;
            }
            let cells = &self.cells[start..start + len];
            for (column, part) in cells.iter().zip(parts) {
                add_times(&mut sums[usize::from(*column)], &v, *part);
            }
            for (own, score) in &mut own_scores {
                // columns are numbered by `ClassId`
                if let Ok(at) = cells.binary_search(&(*own as ClassId)) {
                    add_times(score, &v, own_parts[at]);
                }
            }
        }
        for (own, score) in own_scores {
            if let Some(sums) = sums.get_mut(own) {
                *sums = score;
            }
        }
        let log_totals = log_totals(unique_terms);
        for (power, out) in out.iter_mut().enumerate().take(powers.len().min(P)) {
            let (weight, norm) = (f64::from(weight[power]), norm(square[power].into()));
            let score = |(sums, log): (&[f32; P], &f64)| {
                (f64::from(sums[power] + absent[power]) + weight * log) / norm
            };
            out.clear();
            out.extend(sums.iter().zip(&log_totals).map(score));
        }
    }

    /// The terms of a document, each with ln(1 + tf).
    fn terms(&self, row: BlockRow<'_>) -> impl Iterator<Item = (&LeftOutTerm, f32)> {
        let log_tf = |factor: f32| factor * TF_UNIT as f32;
        row.iter().filter_map(move |(id, factor)| Some((self.terms.get(id as usize)?, log_tf(factor))))
    }
}

/// Adds a part to the sums of all powers, times the weight of a term at each.
#[inline(always)]
fn add_times<const P: usize>(to: &mut [f32; P], v: &[f32; P], part: f32) {
    to.iter_mut().zip(v).for_each(|(to, v)| *to += v * part);
}

/// Adds `v` times each part to the sum at its place.
#[inline(always)]
fn add_each(sums: &mut [f32], v: f32, parts: &[f32]) {
    let ((sums, last), (parts, last_parts)) = (sums.as_chunks_mut::<4>(), parts.as_chunks::<4>());
    let add = |(to, part): (&mut f32, &f32)| *to += v * part;
    sums.iter_mut().zip(parts).for_each(|(sums, parts)| sums.iter_mut().zip(parts).for_each(add));
    last.iter_mut().zip(last_parts).for_each(add);
}

impl TermChunk {
    fn push_term(
        &mut self,
        counts: &Statistics,
        columns: &Columns,
        logs: &Logs,
        idf: impl Fn(u64) -> f32,
        term: TermId,
    ) {
        let df = counts.document_frequency(term);
        let left = df.saturating_sub(1);
        if left == 0 {
            return self.terms.push(LeftOutTerm { is_unique: df == 1, ..LeftOutTerm::default() });
        }
        let absent = logs.ln(0) - logs.ln(left);
        let part = |n: u64| (logs.ln(n) - logs.ln(left.saturating_sub(n)) - absent) as f32;
        let start = self.cells.len() as u32;
        self.dfs.clear();
        if columns.are_labels() {
            let cells: Vec<Cell> = counts.cells(term).collect();
            columns.for_each_df(&cells, |column, n| self.dfs.push((column, n)));
        } else {
            let of_cell = |cell: Cell| Some((columns.only(cell.class)? as ClassId, u64::from(cell.df)));
            self.dfs.extend(counts.cells(term).filter_map(of_cell));
        }
        self.cells.extend(self.dfs.iter().map(|(column, _)| *column));
        self.parts.extend(self.dfs.iter().map(|(_, n)| part(*n)));
        self.parts.extend(self.dfs.iter().map(|(_, n)| part(n.saturating_sub(1))));
        // at most Classes::MAX columns, which is u16::MAX
        let len = (self.cells.len() - start as usize) as u16;
        let (idf, absent) = (idf(left), absent as f32);
        self.terms.push(LeftOutTerm { idf, absent, start, len, is_unique: false });
    }
}
