//! Leave-one-out weights of terms for more than two classes (one-vs-rest).

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
    /// read together.
    parts: Vec<f64>,
}

/// A term, counted without the left-out document.
#[derive(Clone, Copy, Default)]
struct LeftOutTerm {
    idf: f64,
    /// ln a - ln(n + r + a)
    absent: f64,
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
    parts: Vec<f64>,
    /// The columns of the current term, with their document frequencies.
    dfs: Vec<(ClassId, u64)>,
}

/// Number of terms per chunk.
const CHUNK: usize = 1 << 13;

impl OneVsRestTerms {
    /// Computes the weights of all terms, in parallel in the current rayon pool.
    pub(crate) fn new(alpha: Smoothing, counts: &Statistics, columns: &Columns) -> Self {
        let all = counts.totals().iter().map(|totals| totals.documents).fold(0, u64::saturating_add);
        let log_documents = log_documents(all.saturating_sub(1));
        let logs = Logs::new(alpha.alpha(), LOGS);
        let ids: Vec<TermId> = term_ids(counts).collect();
        let compute = |ids: &[TermId]| {
            let mut chunk = TermChunk::default();
            ids.iter().for_each(|id| chunk.push_term(counts, columns, &logs, log_documents, *id));
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

    fn sum_terms<const P: usize>(
        &self,
        row: BlockRow<'_>,
        own: ClassId,
        powers: &[f64],
        out: &mut [Vec<f64>],
        log_totals: impl FnOnce(u64) -> Vec<f64>,
    ) {
        let mut unique_terms = 0;
        let mut sums = vec![[0.0; P]; self.columns.len()];
        let [mut absent, mut weight, mut square] = [[0.0; P]; 3];
        let mut own_scores: Vec<_> = self.columns.positive_in(own).map(|column| (column, [0.0; P])).collect();
        let add = |to: &mut [f64; P], v: &[f64; P], part: f64| {
            to.iter_mut().zip(v).for_each(|(to, v)| *to += v * part);
        };
        for (term, log_tf) in self.terms(row) {
            unique_terms += u64::from(term.is_unique);
            let known = f64::from(u8::from(term.absent != 0.0));
            let mut v = [0.0; P];
            v.iter_mut().zip(powers).for_each(|(v, power)| *v = known * log_tf * powered(term.idf, *power));
            add(&mut absent, &v, term.absent);
            add(&mut weight, &v, 1.0);
            square.iter_mut().zip(v).for_each(|(square, v)| *square += v * v);
            let (start, len) = (term.start as usize, usize::from(term.len));
            let cells = &self.cells[start..start + len];
            let (parts, own_parts) = self.parts[2 * start..2 * (start + len)].split_at(len);
            // all columns have the term: the common case
            let have_all = parts.len() == sums.len();
            match have_all {
                true => sums.iter_mut().zip(parts).for_each(|(sums, part)| add(sums, &v, *part)),
                false => cells.iter().zip(parts).for_each(|(column, part)| {
                    add(&mut sums[usize::from(*column)], &v, *part);
                }),
            }
            for (own, score) in &mut own_scores {
                // columns are numbered by `ClassId`
                let cell = if have_all { Some(*own) } else { cells.binary_search(&(*own as ClassId)).ok() };
                if let Some(part) = cell.and_then(|at| own_parts.get(at)) {
                    add(score, &v, *part);
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
            let norm = norm(square[power]);
            let of_rest = |log_totals: &f64| absent[power] + weight[power] * log_totals;
            out.clear();
            out.extend(sums.iter().zip(&log_totals).map(|(sums, log)| (sums[power] + of_rest(log)) / norm));
        }
    }

    /// The terms of a document, each with ln(1 + tf).
    fn terms(&self, row: BlockRow<'_>) -> impl Iterator<Item = (&LeftOutTerm, f64)> {
        let log_tf = |factor: f32| f64::from(factor) * TF_UNIT;
        row.iter().filter_map(move |(id, factor)| Some((self.terms.get(id as usize)?, log_tf(factor))))
    }
}

impl TermChunk {
    fn push_term(
        &mut self,
        counts: &Statistics,
        columns: &Columns,
        logs: &Logs,
        log_documents: f64,
        term: TermId,
    ) {
        let df = counts.document_frequency(term);
        let left = df.saturating_sub(1);
        if left == 0 {
            return self.terms.push(LeftOutTerm { is_unique: df == 1, ..LeftOutTerm::default() });
        }
        let absent = logs.ln(0) - logs.ln(left);
        let part = |n: u64| logs.ln(n) - logs.ln(left.saturating_sub(n)) - absent;
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
        self.terms.push(LeftOutTerm { idf: idf(left, log_documents), absent, start, len, is_unique: false });
    }
}
