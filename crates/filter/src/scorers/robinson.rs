//! Robinson's probabilities, combined by Fisher's method.

use tamis_model::{ClassId, KnownTerms, RobinsonScorer, TermEntry};
use tamis_store::error::Result;
use tamis_store::store::layers::{DecodedTerm, Layers};
use tamis_tokenizer::TermId;

use crate::scorers::scorer::{Explained, Reasons, Scorer};
use crate::scorers::scratch::Scratch;

impl Scorer for RobinsonScorer {
    fn n_sums(&self) -> usize {
        self.n_sums()
    }

    fn weigh(&self, term: &DecodedTerm<'_>, entry: &mut TermEntry) -> Result<()> {
        self.weigh_term(term.known(), entry);
        Ok(())
    }

    fn positive(&self) -> Option<ClassId> {
        Some(self.positive())
    }

    fn read_sums(&self, _: Layers<'_>, scratch: &mut Scratch) -> Result<usize> {
        let (log_odds, known_terms) = self.log_odds(&scratch.memo.sums);
        scratch.posterior.clear();
        scratch.posterior.push(log_odds);
        Ok(known_terms)
    }

    fn explain<'a>(&self, of: &Explained<'a>) -> Result<Reasons<'a>> {
        let Explained { layers, counted, contest, decision, .. } = *of;
        let (row, mut contributions) = (counted.whole(), Vec::new());
        let intercept = self.contributions(&mut DecodedTerm::new(layers), row, &mut contributions)?;
        let sign = contest.sign(self.positive());
        contributions.iter_mut().for_each(|(_, contribution)| *contribution *= sign);
        let intercept = sign * decision.log_odds(intercept);
        Ok(Reasons { row, intercept, contributions, values: Vec::new() })
    }

    fn term_weight(&self, layers: Layers<'_>, id: TermId, class: ClassId) -> Result<Option<f64>> {
        let sign = if class == self.positive() { 1.0 } else { -1.0 };
        let weight = self.term_weight(DecodedTerm::new(layers).term(id)?);
        Ok(weight.map(|weight| sign * weight))
    }
}
