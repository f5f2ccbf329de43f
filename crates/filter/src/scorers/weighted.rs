//! Weighted scoring with a correction.

use tamis_model::{ClassId, Readings, WeightedLogOdds};
use tamis_store::error::Result;
use tamis_store::store::layers::{DecodedTerm, Layers};
use tamis_tokenizer::{CountRow, CountVector, TermId};

use crate::extract::extraction::Extraction;
use crate::scorers::scorer::{Contest, Explained, Reasons, Scorer};
use crate::scorers::scratch::{Memo, Scratch};

/// Weighted log-odds with correction.
pub struct WeightedScorer {
    pub log_odds: WeightedLogOdds,
    /// With two classes, the class that log-odds refer to.
    pub(crate) positive: ClassId,
}

impl WeightedScorer {
    /// Whether there are two classes, so that the score is a single number.
    pub fn is_of_two(&self) -> bool {
        self.log_odds.columns().is_one()
    }

    /// Reads counts and correction for a row.
    pub fn read(&self, layers: Layers<'_>, row: CountRow<'_>, out: &mut Readings) -> Result<()> {
        self.log_odds.read(&mut DecodedTerm::new(layers), row, out)
    }

    /// Writes log-odds to `out`, see [`WeightedLogOdds::log_odds`]; returns the number of known terms.
    pub(crate) fn scores(&self, layers: Layers<'_>, row: CountRow<'_>, out: &mut Vec<f64>) -> Result<usize> {
        let mut readings = Readings::default();
        self.read(layers, row, &mut readings)?;
        self.log_odds.log_odds(&readings, out);
        Ok(readings.known_terms)
    }

    /// With two classes, the highest log-odds among the whole document and its windows, and the row that has them;
    /// `None` if no term is known.
    pub fn best<'a>(
        &self,
        layers: Layers<'_>,
        counted: &'a Extraction,
    ) -> Result<Option<(f64, CountRow<'a>)>> {
        let mut best: Option<(f64, CountRow<'a>)> = None;
        let mut z = Vec::new();
        for row in std::iter::once(counted.whole()).chain(counted.windows()) {
            if self.scores(layers, row, &mut z)? > 0
                && let Some(&z) = z.first()
                && best.is_none_or(|(highest, _)| z > highest)
            {
                best = Some((z, row));
            }
        }
        Ok(best)
    }

    /// The log-odds of a class against another before any term, and the contribution of every known term of a row.
    fn contributions(
        &self,
        layers: Layers<'_>,
        row: CountRow<'_>,
        contest: Contest,
    ) -> Result<(f64, Vec<(TermId, f64)>)> {
        let mut contributions = Vec::new();
        let mut term = DecodedTerm::new(layers);
        let intercept = self.log_odds.contributions(
            &mut term,
            row,
            [contest.class, contest.against],
            &mut contributions,
        )?;
        Ok((intercept, contributions))
    }
}

impl Scorer for WeightedScorer {
    fn n_sums(&self) -> usize {
        self.log_odds.n_sums()
    }

    fn sum_weights(&self, layers: Layers<'_>, memo: &mut Memo) -> Result<()> {
        memo.sum_weights(
            layers,
            |count| self.log_odds.amount(count),
            |term, entry| {
                self.log_odds.weigh_term(term.known(), entry);
                Ok(())
            },
        )
    }

    fn positive(&self) -> Option<ClassId> {
        self.is_of_two().then_some(self.positive)
    }

    fn has_many_labels(&self) -> bool {
        self.log_odds.columns().are_labels()
    }

    fn read_sums(&self, layers: Layers<'_>, scratch: &mut Scratch) -> Result<usize> {
        let Scratch { memo, readings, posterior, .. } = &mut *scratch;
        self.log_odds.read_sums(&memo.sums, readings);
        self.log_odds.log_odds(readings, posterior);
        let known_terms = readings.known_terms;
        if self.is_of_two() && scratch.counted.has_windows() {
            scratch.build_rows(layers);
            let best = self.best(layers, &scratch.counted)?;
            let [slope, offset] = self.log_odds.choices().line;
            let z = &mut scratch.posterior[0];
            *z = slope * best.map_or(*z, |(highest, _)| highest) + offset;
        }
        Ok(known_terms)
    }

    fn explain<'a>(&self, of: &Explained<'a>) -> Result<Reasons<'a>> {
        let Explained { layers, counted, contest, decision } = *of;
        let (mut row, [mut slope, mut offset]) = (counted.whole(), [1.0, 0.0]);
        if counted.has_windows() && self.is_of_two() {
            row = self.best(layers, counted)?.map_or(row, |(_, row)| row);
            [slope, offset] = self.log_odds.choices().line;
        }
        if self.has_many_labels() {
            [slope, offset] = self.log_odds.line(usize::from(contest.class));
        }
        let (intercept, mut contributions) = self.contributions(layers, row, contest)?;
        contributions.iter_mut().for_each(|(_, contribution)| *contribution *= slope);
        if self.is_of_two() {
            offset = contest.sign(self.positive) * (offset + decision.log_odds(0.0));
        }
        let intercept = slope * intercept + offset;
        Ok(Reasons { row, intercept, contributions, values: Vec::new() })
    }

    fn term_weight(&self, layers: Layers<'_>, id: TermId, class: ClassId) -> Result<Option<f64>> {
        let lone = CountVector::from_pairs([(id, 1)]).unwrap_or_default();
        // with more than two classes every class has a column
        let against = if self.is_of_two() { 1 - class.min(1) } else { ClassId::MAX };
        let (_, contributions) = self.contributions(layers, lone.row(), Contest { class, against })?;
        let [slope, _] = self.log_odds.line(usize::from(class));
        Ok(contributions.first().map(|(_, weight)| slope * *weight))
    }
}
