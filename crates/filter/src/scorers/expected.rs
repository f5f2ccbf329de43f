//! Naive Bayes by expectation maximization.

use tamis_model::{ClassId, ClassTotals, Counts, ExpectedNaiveBayes, TermEntry, Transform, WeightedVector};
use tamis_store::error::Result;
use tamis_store::store::layers::{DecodedTerm, Layers};
use tamis_store::store::opened::Store;
use tamis_tokenizer::TermId;

use crate::scorers::scorer::{Explained, Reasons, Scorer, over_rivals};
use crate::scorers::scratch::Scratch;

/// Naive Bayes fitted by expectation maximization to documents with and without labels.
pub(crate) struct ExpectedScorer {
    pub model: ExpectedNaiveBayes,
    pub(crate) transform: Transform,
    /// The number of documents, labelled and unlabelled.
    pub(crate) documents: u64,
}

impl ExpectedScorer {
    pub(crate) fn new(model: ExpectedNaiveBayes, transform: Transform, totals: &[ClassTotals]) -> Self {
        let documents = totals.iter().fold(0u64, |sum, t| sum.saturating_add(t.documents));
        ExpectedScorer { model, transform, documents }
    }

    /// Writes the contribution of a term of `weight` to the joint log-likelihood of each class to `out`; returns
    /// whether the term is known.
    fn term_weights(&self, store: &Store, id: TermId, weight: f64, out: &mut Vec<f64>) -> Result<bool> {
        let lone = WeightedVector::from_pairs([(id, weight)]).unwrap_or_default();
        let known = self.model.joint_log_likelihood(store, lone.row(), out)? > 0;
        out.iter_mut().zip(self.model.intercept()).for_each(|(joint, intercept)| *joint -= intercept);
        Ok(known)
    }
}

impl Scorer for ExpectedScorer {
    fn n_sums(&self) -> usize {
        self.model.n_classes()
    }

    fn amount(&self, count: u32) -> f64 {
        self.model.amount(&self.transform, count)
    }

    fn weigh(&self, term: &DecodedTerm<'_>, entry: &mut TermEntry) -> Result<()> {
        self.model.weigh_term(&self.transform, self.documents, term.known(), entry);
        Ok(())
    }

    fn read_sums(&self, _: Layers<'_>, scratch: &mut Scratch) -> Result<usize> {
        Ok(self.model.joint_log_likelihood_of(&self.transform, &scratch.memo.sums, &mut scratch.posterior))
    }

    fn explain<'a>(&self, of: &Explained<'a>) -> Result<Reasons<'a>> {
        let Explained { layers, counted, contest, .. } = *of;
        let (row, mut weights) = (counted.whole(), WeightedVector::default());
        let df = |term| layers.own.document_frequency(term);
        self.transform.apply(row, self.documents, df, &mut weights)?;
        let (mut contributions, mut joint) = (Vec::new(), Vec::new());
        for (id, weight) in weights.row().iter() {
            if self.term_weights(layers.own, id, weight, &mut joint)? {
                contributions.push((id, contest.margin(&joint)));
            }
        }
        let intercept = contest.margin(self.model.intercept());
        Ok(Reasons { row, intercept, contributions, values: Vec::new() })
    }

    fn term_weight(&self, layers: Layers<'_>, id: TermId, class: ClassId) -> Result<Option<f64>> {
        let mut weights = Vec::new();
        let is_known = self.term_weights(layers.own, id, 1.0, &mut weights)?;
        Ok(is_known.then(|| over_rivals(&weights, class)))
    }
}
