//! Mixed naive Bayes over the columns of a table.

use tamis_model::{
    ClassId, ClassTotals, ColumnLikelihood, GaussianParameters, MixedNaiveBayes, NaiveBayes, TermEntry,
};
use tamis_store::config::column::ColumnKind;
use tamis_store::config::columns::TableColumns;
use tamis_store::config::recipe::Recipe;
use tamis_store::config::scoring::Mixed;
use tamis_store::error::Result;
use tamis_store::file::fitted::TableStatistics;
use tamis_store::store::layers::{DecodedTerm, Layers};
use tamis_store::store::opened::Store;
use tamis_tokenizer::{CountRow, TermId};

use crate::extract::extraction::Extraction;
use crate::scorers::scorer::{Explained, Reasons, Scorer, TermContribution, over_rivals};
use crate::scorers::scratch::Scratch;

/// Mixed naive Bayes, ready to run.
pub(crate) struct MixedScorer {
    pub model: MixedNaiveBayes,
    recipe: Recipe,
    columns: TableColumns,
}

impl MixedScorer {
    pub(crate) fn new(
        settings: &Mixed,
        recipe: &Recipe,
        table: &TableStatistics,
        totals: &[ClassTotals],
    ) -> Result<Self> {
        let mut recipe = recipe.clone();
        let columns = TableColumns::new(&mut recipe)?;
        table.check(&recipe, totals.len())?;
        Ok(MixedScorer { model: mixed_model(settings, &recipe, table, totals)?, recipe, columns })
    }

    /// Whether a term belongs to a column that is not text.
    pub(crate) fn is_beside_text(&self, term: &str) -> bool {
        let part = self.columns.of_term(term).and_then(|column| self.model.parts().get(column));
        !matches!(part, Some(ColumnLikelihood::Terms(_)))
    }

    /// The log-likelihood of the columns that are not text in each class; none if all are missing.
    pub(crate) fn beside_text(&self, store: &Store, counted: &Extraction) -> Result<Vec<f64>> {
        let parts = self.model.parts().iter().filter(|part| !matches!(part, ColumnLikelihood::Gaussian(_)));
        let is_text = |part: &ColumnLikelihood| matches!(part, ColumnLikelihood::Terms(_));
        let rows = parts.zip(counted.groups());
        let rows: Vec<Option<CountRow<'_>>> =
            rows.map(|(part, row)| (!is_text(part) && !row.is_empty()).then_some(row)).collect();
        let mut out = Vec::new();
        let known = self.model.joint_log_likelihood(store, &counted.reals, &rows, &mut out)?;
        Ok(if known > 0 { out } else { Vec::new() })
    }

    /// Writes the weight of a term for each class to `out`; `false` if it belongs to no column.
    fn term_weights(&self, store: &Store, id: TermId, out: &mut Vec<f64>) -> Result<bool> {
        let column = self.columns.of_term(store.text(id)?);
        let part = column.and_then(|column| self.model.parts().get(column));
        part.map_or(Ok(false), |part| self.weights_of(part, store, id, 1, out))
    }

    /// Writes the weight of a term of `part` for each class to `out`; `false` if it is not known.
    fn weights_of(
        &self,
        part: &ColumnLikelihood,
        store: &Store,
        id: TermId,
        count: u32,
        out: &mut Vec<f64>,
    ) -> Result<bool> {
        let (ColumnLikelihood::Category(terms) | ColumnLikelihood::Terms(terms)) = part else {
            return Ok(false);
        };
        let is_known = terms.term_weights(store, id, count, out)?;
        let trust = self.model.trust().power(part);
        out.iter_mut().for_each(|weight| *weight *= trust);
        Ok(is_known)
    }
}

/// Derives mixed naive Bayes from the statistics of a table, which has an entry for each column.
pub fn mixed_model(
    settings: &Mixed,
    recipe: &Recipe,
    table: &TableStatistics,
    totals: &[ClassTotals],
) -> Result<MixedNaiveBayes> {
    let mut gaussian = GaussianParameters::default();
    (gaussian.var_smoothing, gaussian.shrinkage) = (settings.var_smoothing, table.chosen.shrinkage);
    let mut reals = gaussian.features(&table.reals)?.into_iter();
    let mut groups = table.groups.iter();
    let mut parts = Vec::with_capacity(recipe.columns.len());
    for column in &recipe.columns {
        let mut terms = || {
            let (parameters, _) = settings.parameters_of(column.kind);
            groups.next().map(|summary| NaiveBayes::new(&parameters, summary)).transpose()
        };
        parts.extend(match column.kind {
            ColumnKind::Gaussian => reals.next().map(ColumnLikelihood::Gaussian),
            ColumnKind::Text => terms()?.map(ColumnLikelihood::Terms),
            ColumnKind::Categorical | ColumnKind::Bernoulli => terms()?.map(ColumnLikelihood::Category),
        });
    }
    Ok(MixedNaiveBayes::new(&settings.prior, totals, parts)?.with_trust(table.chosen.trust))
}

impl Scorer for MixedScorer {
    fn n_sums(&self) -> usize {
        self.model.n_sums()
    }

    fn weigh(&self, term: &DecodedTerm<'_>, entry: &mut TermEntry) -> Result<()> {
        // every term of a model belongs to a column; all columns count presence, see `Mixed::parameters_of`
        let part = self.columns.of_term(term.text()?).unwrap_or(usize::MAX);
        self.model.weigh_term(part, term.totals(), term.id, term.known().cells, entry);
        Ok(())
    }

    /// A category that was never learned counts as missing, as does a text without known words.
    fn read_sums(&self, _: Layers<'_>, scratch: &mut Scratch) -> Result<usize> {
        let Scratch { memo, counted, posterior, .. } = scratch;
        Ok(self.model.joint_log_likelihood_of(&counted.reals, &memo.sums, posterior))
    }

    fn explain<'a>(&self, of: &Explained<'a>) -> Result<Reasons<'a>> {
        let Explained { layers, counted, contest, .. } = *of;
        let (mut reals, mut rows) = (counted.reals.iter(), counted.groups());
        let (mut contributions, mut values, mut weights, mut n_reals) =
            (Vec::new(), Vec::new(), Vec::new(), 0);
        let prior = self.model.class_log_prior();
        for (part, column) in self.model.parts().iter().zip(&self.recipe.columns) {
            match part {
                ColumnLikelihood::Gaussian(feature) => {
                    let value = reals.next().copied().flatten();
                    weights.clear();
                    weights.resize(prior.len(), 0.0);
                    if let Some(value) = value.filter(|v| feature.add_log_density(Some(*v), &mut weights)) {
                        let trust = self.model.trust().reals;
                        weights.iter_mut().for_each(|weight| *weight *= trust);
                        let term = format!("{}={value}", column.name);
                        let table = layers.own.header.scoring.table();
                        let moments = |class| table?.reals.moments(n_reals, class);
                        let classes = 0..weights.len() as ClassId;
                        let rows = classes.map(|class| moments(class).map_or(0, |m| m.n() as u64)).collect();
                        values.push(TermContribution::new(term, 1, rows, contest.margin(&weights)));
                    }
                    n_reals += 1;
                }
                ColumnLikelihood::Category(_) | ColumnLikelihood::Terms(_) => {
                    let row = rows.next().filter(|_| self.model.trust().power(part) > 0.0);
                    for (id, count) in row.into_iter().flat_map(|row| row.iter()) {
                        if self.weights_of(part, layers.own, id, count, &mut weights)? {
                            contributions.push((id, contest.margin(&weights)));
                        }
                    }
                }
            }
        }
        let intercept = contest.margin(prior);
        Ok(Reasons { row: counted.whole(), intercept, contributions, values })
    }

    fn term_weight(&self, layers: Layers<'_>, id: TermId, class: ClassId) -> Result<Option<f64>> {
        let mut weights = Vec::new();
        let is_known = self.term_weights(layers.own, id, &mut weights)?;
        Ok(is_known.then(|| over_rivals(&weights, class)))
    }
}
