//! Online learning: one step of the fit for one more document.

use crate::counts::{
    ClassId, ClassTotals, DocumentSums, KnownTerm, KnownTerms, TermEntry, idf, log_documents, log_tf_units,
};
use crate::fit::ascent::DualAscent;
use crate::fit::competitors::{RIVALS, keep_rivals, offsets};
use crate::linear::{Coefficient, Readings, WeightedLogOdds, WeightedOptions, vector_length};
use crate::validation::Example;

impl WeightedLogOdds {
    /// Online learning: returns the coefficients of `document`, which is not yet learned, in increasing order of columns.
    /// Takes one step of dual coordinate ascent as in [`FitProblem::solve`](crate::FitProblem::solve), but on the error of the final
    /// log-odds, so that a mistake is corrected without being overcorrected. `terms` and `totals` must not include the
    /// document. Returns nothing for a document without terms, or while no other class has documents; for two classes,
    /// also while its own class has none.
    ///
    /// Leaves the bias alone: changing it for one document would move the scores of all others.
    ///
    /// # Errors
    /// Reading a term fails.
    pub fn online_step<T: KnownTerms>(
        &self,
        terms: &mut T,
        totals: &[ClassTotals],
        options: &WeightedOptions,
        document: &Example<'_>,
    ) -> Result<Vec<Coefficient>, T::Error> {
        let Example { row, class: own, multiplicity, .. } = *document;
        let columns = self.columns();
        let of_columns = columns.totals(totals);
        let is_own = |column: ClassId| columns.is_positive(own, usize::from(column));
        let has_documents = |class: ClassId| totals[usize::from(class)].documents > 0;
        let has_others =
            (0..=ClassId::MAX).take(totals.len()).any(|class| class != own && has_documents(class));
        if row.is_empty() || !has_others || columns.is_one() && !has_documents(own) {
            return Ok(Vec::new());
        }
        let copies = u64::from(multiplicity);
        let log_documents = log_documents(self.documents().saturating_add(copies));
        let (mut square, mut sums) = (0.0, vec![0.0; columns.len()]);
        let (mut entry, mut of_counts) = (TermEntry::default(), DocumentSums::default());
        of_counts.begin(self.n_sums());
        for (term, tf) in row.iter() {
            let KnownTerm { cells, weights } = terms.term(term)?;
            let of_counts_alone = KnownTerm { cells, weights: &[] };
            self.weigh_term(of_counts_alone, &mut entry);
            of_counts.add(&entry, self.amount(tf));
            let df = of_counts_alone.document_frequency().saturating_add(copies);
            let (tf, idf) = (log_tf_units(tf), idf(df, log_documents));
            square += (tf * idf) * (tf * idf);
            for (column, weight) in weights {
                if let Some(sum) = sums.get_mut(usize::from(*column)) {
                    *sum += tf * idf * idf * weight;
                }
            }
        }
        let (mut readings, mut b) = (Readings::default(), Vec::new());
        self.read_sums(&of_counts, &mut readings);
        self.bayes(&readings, &mut b);
        let length = vector_length(square);
        let gain = square / (length * length);
        let c = options.regularisation * copies.min(1_000) as f64;
        let ascent = DualAscent {
            c,
            passes: 1,
            tolerance: 0.02,
            seed: 0,
            only_rivals: !columns.is_one(),
            partitions: None,
        };
        let choices = self.choices();
        let d = |column: usize| sums[column] / length + self.bias(column);
        let z = b.iter().enumerate().map(|(column, b)| self.stacked(column, [*b, d(column), 0.0, 0.0]));
        let mut z: Vec<f64> = z.collect();
        let mut ranked: Vec<_> = (0..=ClassId::MAX).zip(z.iter().copied()).collect();
        if !columns.is_one() {
            keep_rivals(&mut ranked, RIVALS + columns.most_positive(), is_own);
        }
        offsets(&mut z, totals, columns, Some(own).filter(|own| !has_documents(*own)));
        let step = |(column, _): (ClassId, f64)| {
            let at = usize::from(column);
            let is_positive = is_own(column);
            let is_learned = columns.is_one() || is_positive || of_columns[at].documents > 0;
            let c = ascent.coefficient(z[at], is_positive, choices.stack[1] * gain, c, 0.5 * c);
            let coefficient = Coefficient::new(column, c, 1.0 / length).filter(|_| is_learned)?;
            (coefficient.units != 0).then_some(Coefficient { bias: 0, ..coefficient })
        };
        Ok(ranked.into_iter().filter_map(step).collect())
    }
}
