//! Online learning: the coefficients that move one more document to its label, and no further.

use crate::counts::{
    Cell, ClassId, ClassTotals, DocumentSums, KnownTerm, KnownTerms, TermEntry, idf, log_documents,
    log_tf_units,
};
use crate::fit::ascent::DualAscent;
use crate::fit::competitors::{RIVALS, keep_rivals, offsets};
use crate::linear::{Coefficient, Readings, WeightedLogOdds, WeightedOptions, vector_length};
use crate::validation::Example;

/// How far beyond its threshold, or above the next label, a correction moves a document, in nats.
const MARGIN: f64 = 1.0;

/// The most that a coefficient may be, in C times the document's copies. A fit gives at most 1; copies of a text under other labels may
/// need more.
const MOST: f64 = 2.0;

/// A document to correct.
#[derive(Clone, Debug)]
pub struct Lesson<'a> {
    /// The document. Its vector is not read.
    pub document: Example<'a>,
    /// The coefficients that it has so far, in increasing order of columns; none for a document that is not yet learned.
    pub before: &'a [Coefficient],
    /// Whether the counts include the document.
    pub is_counted: bool,
    /// As [`Readings::beside`].
    pub beside: [Vec<f64>; 2],
    /// For each column of two labels or of many at once: the log-odds up to which a document does not have the label, and those
    /// above which it does, in nats. Missing ones are 0.
    pub thresholds: &'a [[f64; 2]],
}

/// The scores of a lesson's document, once it is counted.
struct Scored {
    /// Its log-odds, one per column.
    z: Vec<f64>,
    /// The length of its vector.
    length: f64,
    /// What one unit of its coefficient adds to its log-odds.
    gain: f64,
    /// C times the document's copies.
    c: f64,
}

impl WeightedLogOdds {
    /// Online learning: returns the coefficients of a document, in increasing order of columns. Once it is counted, they move
    /// its log-odds to its label, at most a nat beyond what the verdict needs: one that is right without them gets none.
    /// `n_features` is the number of terms with counts. It, `terms` and `totals` include the document if it is counted.
    ///
    /// Returns the coefficients that it has for a document without terms, or while no other class has documents; for two
    /// classes, also while its own class has none.
    ///
    /// Leaves the bias alone: changing it for one document would move the scores of all others.
    ///
    /// # Errors
    /// Reading a term fails.
    pub fn online_step<T: KnownTerms>(
        &self,
        terms: &mut T,
        totals: &[ClassTotals],
        n_features: u64,
        options: &WeightedOptions,
        lesson: &Lesson<'_>,
    ) -> Result<Vec<Coefficient>, T::Error> {
        let (own, before) = (lesson.document.class, lesson.before);
        let columns = self.columns();
        let has_documents = |class: ClassId| totals[usize::from(class)].documents > 0;
        let has_others =
            (0..=ClassId::MAX).take(totals.len()).any(|class| class != own && has_documents(class));
        if lesson.document.row.is_empty() || !has_others || columns.is_one() && !has_documents(own) {
            return Ok(before.to_vec());
        }
        let scored = self.score_lesson(terms, totals, n_features, options, lesson)?;
        let steps = match columns.are_independent() {
            // the counts alone are used
            _ if scored.gain == 0.0 => Vec::new(),
            true => self.steps_past_thresholds(totals, lesson, &scored),
            false => self.steps_past_rivals(totals, lesson, &scored),
        };
        let mut after = before.to_vec();
        for step in
            steps.into_iter().filter_map(|(column, c)| Coefficient::new(column, c, 1.0 / scored.length))
        {
            match after.binary_search_by_key(&step.class, |known| known.class) {
                Ok(at) => after[at].units = after[at].units.saturating_add(step.units),
                Err(at) if step.units != 0 => after.insert(at, Coefficient { bias: 0, ..step }),
                Err(_) => (),
            }
        }
        Ok(after)
    }

    /// Scores a lesson's document with its own counts.
    fn score_lesson<T: KnownTerms>(
        &self,
        terms: &mut T,
        totals: &[ClassTotals],
        n_features: u64,
        options: &WeightedOptions,
        lesson: &Lesson<'_>,
    ) -> Result<Scored, T::Error> {
        let Example { row, class, multiplicity, .. } = lesson.document;
        let new = if lesson.is_counted { 0 } else { multiplicity };
        let mut totals = totals.to_vec();
        let of_own = &mut totals[usize::from(class)];
        of_own.documents = of_own.documents.saturating_add(new.into());
        of_own.df = of_own.df.saturating_add(u64::from(new).saturating_mul(row.len() as u64));
        let counts = self.recounted(&totals, n_features);
        let log_documents = log_documents(counts.documents());
        let (mut square, mut sums) = (0.0, vec![0.0; self.columns().len()]);
        let (mut entry, mut of_counts) = (TermEntry::default(), DocumentSums::default());
        of_counts.begin(self.n_sums());
        let mut cells = Vec::new();
        for (term, tf) in row.iter() {
            let known = terms.term(term)?;
            cells.clear();
            cells.extend_from_slice(known.cells);
            add_document(&mut cells, Cell { class, df: new, tf });
            let counted = KnownTerm { cells: &cells, weights: &[] };
            counts.weigh_term(counted, &mut entry);
            of_counts.add(&entry, self.amount(tf));
            let (tf, idf) = (log_tf_units(tf), idf(counted.document_frequency(), log_documents));
            square += (tf * idf) * (tf * idf);
            for (column, weight) in known.weights {
                if let Some(sum) = sums.get_mut(usize::from(*column)) {
                    *sum += tf * idf * idf * weight;
                }
            }
        }
        let (mut readings, mut z) = (Readings::default(), Vec::new());
        counts.read_sums(&of_counts, &mut readings);
        counts.bayes(&readings, &mut z);
        let length = vector_length(square);
        for (at, z) in z.iter_mut().enumerate() {
            let [c, v] = lesson.beside.each_ref().map(|of| of.get(at).copied().unwrap_or(0.0));
            *z = counts.stacked(at, [*z, sums[at] / length + counts.bias(at), c, v]);
        }
        let gain = self.choices().stack[1] * square / (length * length);
        Ok(Scored { z, length, gain, c: options.regularisation * f64::from(multiplicity.min(1_000)) })
    }

    /// The step of each column past its threshold.
    fn steps_past_thresholds(
        &self,
        totals: &[ClassTotals],
        lesson: &Lesson<'_>,
        scored: &Scored,
    ) -> Vec<(ClassId, f64)> {
        let columns = self.columns();
        let of_columns = columns.totals(totals);
        let of_column = |(column, z): (ClassId, &f64)| {
            let at = usize::from(column);
            let is_positive = columns.is_positive(lesson.document.class, at);
            let [slope, offset] = self.line(at);
            if slope == 0.0 || !is_positive && !columns.is_one() && of_columns[at].documents == 0 {
                return None;
            }
            let thresholds = lesson.thresholds.get(at).copied().unwrap_or_default();
            let [lower, upper] = thresholds.map(|threshold| (threshold - offset) / slope);
            let (sign, lacking) = if is_positive { (1.0, upper - z) } else { (-1.0, z - lower) };
            let known = lesson.before.iter().find(|known| known.class == column);
            let left = MOST * scored.c - sign * known.map_or(0.0, |known| known.value() * scored.length);
            Some((column, sign * ((lacking + MARGIN) / scored.gain).min(left).max(0.0)))
        };
        (0..=ClassId::MAX).zip(&scored.z).filter_map(of_column).collect()
    }

    /// The steps of dual coordinate ascent of the own column and its rivals, as far as they are needed to put it above all others.
    fn steps_past_rivals(
        &self,
        totals: &[ClassTotals],
        lesson: &Lesson<'_>,
        Scored { z, gain, c, .. }: &Scored,
    ) -> Vec<(ClassId, f64)> {
        let (columns, own) = (self.columns(), lesson.document.class);
        let is_own = |column: ClassId| columns.is_positive(own, usize::from(column));
        let mut ranked: Vec<_> = (0..=ClassId::MAX).zip(z.iter().copied()).collect();
        keep_rivals(&mut ranked, RIVALS + columns.most_positive(), is_own);
        let of_columns = columns.totals(totals);
        ranked.retain(|(column, _)| is_own(*column) || of_columns[usize::from(*column)].documents > 0);
        let is_new = of_columns.get(usize::from(own)).is_none_or(|of_own| of_own.documents == 0);
        let mut odds = z.clone();
        offsets(&mut odds, totals, columns, Some(own).filter(|_| is_new));
        let (passes, tolerance, seed) = (1, 0.02, 0);
        let ascent = DualAscent { c: *c, passes, tolerance, seed, only_rivals: true, partitions: None };
        let step = |(column, z): (ClassId, f64)| {
            let odds = odds[usize::from(column)];
            (column, z, ascent.coefficient(odds, is_own(column), *gain, *c, 0.5 * c))
        };
        let steps: Vec<_> = ranked.into_iter().map(step).collect();
        let Some((_, own_z, own_step)) = steps.iter().copied().find(|step| is_own(step.0)) else {
            return Vec::new();
        };
        let needed = steps.iter().filter(|step| !is_own(step.0)).map(|(_, z, step)| {
            let lacking = (MARGIN - (own_z - z)).max(0.0);
            // the own step is positive, and those of rivals are not
            lacking / (gain * (own_step - step)).max(f64::MIN_POSITIVE)
        });
        let share = needed.fold(0.0, f64::max).min(1.0);
        steps.into_iter().map(|(column, _, step)| (column, share * step)).collect()
    }
}

/// Adds the document frequency of `own` to that of its class.
fn add_document(cells: &mut Vec<Cell>, own: Cell) {
    match cells.binary_search_by_key(&own.class, |cell| cell.class) {
        Ok(at) => cells[at].df = cells[at].df.saturating_add(own.df),
        Err(at) if own.df > 0 => cells.insert(at, own),
        Err(_) => (),
    }
}
