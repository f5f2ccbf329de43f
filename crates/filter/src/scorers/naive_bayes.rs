//! Textbook naive Bayes.

use tamis_model::{ClassId, NaiveBayes, TermEntry};
use tamis_store::error::Result;
use tamis_store::store::layers::{DecodedTerm, Layers};
use tamis_tokenizer::TermId;

use crate::scorers::scorer::{Explained, Reasons, Scorer, over_rivals};
use crate::scorers::scratch::Scratch;

impl Scorer for NaiveBayes {
    fn n_sums(&self) -> usize {
        self.n_sums()
    }

    fn amount(&self, count: u32) -> f64 {
        self.amount(count)
    }

    fn weigh(&self, term: &DecodedTerm<'_>, entry: &mut TermEntry) -> Result<()> {
        self.weigh_term(term.totals(), term.id, term.known().cells, entry);
        Ok(())
    }

    fn read_sums(&self, _: Layers<'_>, scratch: &mut Scratch) -> Result<usize> {
        Ok(self.joint_log_likelihood_of(&scratch.memo.sums, &mut scratch.posterior))
    }

    fn explain<'a>(&self, of: &Explained<'a>) -> Result<Reasons<'a>> {
        let Explained { layers, counted, contest, .. } = *of;
        let row = counted.whole();
        let (mut contributions, mut weights) = (Vec::new(), Vec::new());
        for (id, count) in row.iter() {
            if self.term_weights(layers.own, id, count, &mut weights)? {
                contributions.push((id, contest.margin(&weights)));
            }
        }
        let intercept = contest.margin(self.intercept());
        Ok(Reasons { row, intercept, contributions, values: Vec::new() })
    }

    fn term_weight(&self, layers: Layers<'_>, id: TermId, class: ClassId) -> Result<Option<f64>> {
        let mut weights = Vec::new();
        let is_known = self.term_weights(layers.own, id, 1, &mut weights)?;
        Ok(is_known.then(|| over_rivals(&weights, class)))
    }
}
