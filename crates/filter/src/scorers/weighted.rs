//! Weighted scoring with a correction.

use std::sync::OnceLock;

use tamis_model::{ClassId, Readings, TermEntry, VectorDiscriminant, WeightedLogOdds};
use tamis_store::error::Result;
use tamis_store::store::layers::{DecodedTerm, Layers};
use tamis_tokenizer::{CountRow, CountVector, TermId};

use crate::extract::extraction::Extraction;
use crate::extract::part_verdict::PartVerdict;
use crate::scorers::mixed::MixedScorer;
use crate::scorers::scorer::{Contest, Explained, Reasons, Scorer, TermContribution};
use crate::scorers::scratch::Scratch;

/// Weighted log-odds with correction.
pub struct WeightedScorer {
    pub log_odds: WeightedLogOdds,
    /// With two classes, the class that log-odds refer to.
    pub(crate) positive: ClassId,
    /// That of dense vectors, derived for the first document that has one.
    discriminant: OnceLock<Option<VectorDiscriminant>>,
    /// Of a table, that of the columns that are not text.
    table: Option<MixedScorer>,
}

impl WeightedScorer {
    pub(crate) fn new(log_odds: WeightedLogOdds, positive: ClassId, table: Option<MixedScorer>) -> Self {
        WeightedScorer { log_odds, positive, discriminant: OnceLock::new(), table }
    }

    /// The scores of what stands [beside](Readings::beside) a document's text, whose rows are built.
    pub fn beside(&self, layers: Layers<'_>, counted: &Extraction) -> Result<[Vec<f64>; 2]> {
        let table = self.table.as_ref().map(|table| table.beside_text(layers.own, counted));
        let columns = self.log_odds.columns().log_odds(&table.transpose()?.unwrap_or_default());
        Ok([columns, self.vector_scores(layers, &counted.facts.dense)])
    }

    /// The scores of a document's vector; none without a vector.
    pub fn vector_scores(&self, layers: Layers<'_>, vector: &[f32]) -> Vec<f64> {
        let mut scores = Vec::new();
        if vector.is_empty() {
            return scores;
        }
        let (columns, strength) = (self.log_odds.columns(), self.log_odds.choices().strength);
        let derive = || VectorDiscriminant::derive(&*layers.vectors()?, columns, strength).ok();
        let discriminant = self.discriminant.get_or_init(derive).as_ref();
        // the extractor has checked the vector
        let _ = discriminant.map(|discriminant| discriminant.scores(vector, &mut scores));
        scores
    }

    /// Whether there are two classes, so that the score is a single number.
    pub fn is_of_two(&self) -> bool {
        self.log_odds.columns().is_one()
    }

    /// Reads counts and correction for a row.
    pub fn read(&self, layers: Layers<'_>, row: CountRow<'_>, out: &mut Readings) -> Result<()> {
        self.log_odds.read(&mut DecodedTerm::new(layers), row, out)
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

impl WeightedScorer {
    /// What a document's vector contributes, after calibration by a line of this `slope`; `None` without one.
    fn vector_reason(
        &self,
        layers: Layers<'_>,
        vector: &[f32],
        Contest { class, against }: Contest,
        slope: f64,
    ) -> Option<TermContribution> {
        if vector.is_empty() {
            return None;
        }
        let scores = [Vec::new(), self.vector_scores(layers, vector)];
        let [_, contribution] = self.log_odds.beside(&scores, [class, against]);
        let (term, rows) = (format!("vector of {}", vector.len()), layers.vectors()?.documents().to_vec());
        Some(TermContribution::new(term, 1, rows, slope * contribution))
    }
}

/// The words of a row of a table, without the terms of columns that are not text.
fn words_of(table: &MixedScorer, layers: Layers<'_>, row: CountRow<'_>) -> Result<CountVector> {
    let mut pairs = Vec::new();
    // unknown terms have ids after those of the model
    for (id, count) in row.iter().filter(|(id, _)| (*id as usize) < layers.n_terms()) {
        pairs.extend((!table.is_beside_text(layers.text(id)?)).then_some((id, count)));
    }
    Ok(CountVector::from_pairs(pairs).unwrap_or_default())
}

impl Scorer for WeightedScorer {
    fn n_sums(&self) -> usize {
        self.log_odds.n_sums()
    }

    fn amount(&self, count: u32) -> f64 {
        self.log_odds.amount(count)
    }

    fn weigh(&self, term: &DecodedTerm<'_>, entry: &mut TermEntry) -> Result<()> {
        match &self.table {
            Some(table) if table.is_beside_text(term.text()?) => entry.clear(),
            _ => self.log_odds.weigh_term(term.known(), entry),
        }
        Ok(())
    }

    fn positive(&self) -> Option<ClassId> {
        self.is_of_two().then_some(self.positive)
    }

    fn has_many_labels(&self) -> bool {
        self.log_odds.columns().are_labels()
    }

    fn read_sums(&self, layers: Layers<'_>, scratch: &mut Scratch) -> Result<usize> {
        if self.table.is_some() {
            scratch.build_rows(layers);
        }
        let Scratch { memo, counted, readings, posterior, .. } = &mut *scratch;
        self.log_odds.read_sums(&memo.sums, readings);
        readings.beside = self.beside(layers, counted)?;
        self.log_odds.log_odds(readings, posterior);
        let beside = readings.beside.iter().filter(|scores| !scores.is_empty()).count();
        Ok(readings.known_terms + beside)
    }

    fn weigh_parts(&self, scratch: &mut Scratch) -> Option<PartVerdict> {
        let Scratch { parts, counted, memo, readings, posterior, .. } = scratch;
        let z = posterior.first().copied().unwrap_or(0.0);
        Some(parts.weigh(&self.log_odds, counted, memo, readings, z))
    }

    fn most_of_ham(&self) -> Option<f64> {
        self.log_odds.choices().most_of_ham
    }

    fn explain<'a>(&self, of: &Explained<'a>) -> Result<Reasons<'a>> {
        let Explained { layers, counted, part, lift, contest, decision } = *of;
        let row = part.map_or(counted.whole(), CountVector::row);
        let [slope, mut offset] = match self.has_many_labels() {
            true => self.log_odds.line(usize::from(contest.class)),
            false => [1.0, lift],
        };
        let words = self.table.as_ref().map(|table| words_of(table, layers, row)).transpose()?;
        let words = words.as_ref().map_or(row, CountVector::row);
        let (intercept, mut contributions) = self.contributions(layers, words, contest)?;
        contributions.iter_mut().for_each(|(_, contribution)| *contribution *= slope);
        let mut values = Vec::from_iter(self.vector_reason(layers, &counted.facts.dense, contest, slope));
        if let Some(table) = &self.table {
            let weight = slope * self.log_odds.choices().stack[2];
            let mut columns = table.explain(of)?;
            columns.values.iter_mut().for_each(|value| value.contribution *= weight);
            values.append(&mut columns.values);
            contributions.extend(columns.contributions.iter().map(|(id, margin)| (*id, weight * margin)));
        }
        if self.is_of_two() {
            offset = contest.sign(self.positive) * (offset + decision.log_odds(0.0));
        }
        let intercept = slope * intercept + offset;
        Ok(Reasons { row, intercept, contributions, values })
    }

    fn term_weight(&self, layers: Layers<'_>, id: TermId, class: ClassId) -> Result<Option<f64>> {
        if let Some(table) = self.table.as_ref()
            && table.is_beside_text(layers.text(id)?)
        {
            let [_, _, weight, ..] = self.log_odds.choices().stack;
            return Ok(table.term_weight(layers, id, class)?.map(|margin| weight * margin));
        }
        let lone = CountVector::from_pairs([(id, 1)]).unwrap_or_default();
        // with more than two classes every class has a column
        let against = if self.is_of_two() { 1 - class.min(1) } else { ClassId::MAX };
        let (_, contributions) = self.contributions(layers, lone.row(), Contest { class, against })?;
        let [slope, _] = self.log_odds.line(usize::from(class));
        Ok(contributions.first().map(|(_, weight)| slope * *weight))
    }
}
