//! Mixed naive Bayes over the columns of a table.

use tamis_model::{
    ClassId, ClassTotals, ColumnLikelihood, GaussianParameters, MixedNaiveBayes, NaiveBayes, TermEntry,
};
use tamis_tokenizer::TermId;

use crate::config::column::ColumnKind;
use crate::config::columns::Columns;
use crate::config::recipe::Recipe;
use crate::config::scoring::Mixed;
use crate::error::Result;
use crate::file::table::Table;
use crate::score::memo::Additive;
use crate::score::scorer::{Explained, RealReason, Reasons, Scorer, over_rivals};
use crate::score::scratch::Scratch;
use crate::store::layers::{DecodedTerm, Layers};
use crate::store::opened::Store;

/// Mixed naive Bayes, ready to run.
pub(crate) struct MixedScorer {
    pub(crate) model: MixedNaiveBayes,
    recipe: Recipe,
    columns: Columns,
}

impl MixedScorer {
    pub(crate) fn new(
        settings: &Mixed,
        recipe: &Recipe,
        table: &Table,
        totals: &[ClassTotals],
    ) -> Result<Self> {
        let mut recipe = recipe.clone();
        let columns = Columns::new(&mut recipe)?;
        table.check(&recipe, totals.len())?;
        Ok(MixedScorer { model: mixed_model(settings, &recipe, table, totals)?, recipe, columns })
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
        let trust = self.model.trust().of(part);
        out.iter_mut().for_each(|weight| *weight *= trust);
        Ok(is_known)
    }
}

/// Derives mixed naive Bayes from the statistics of a table, which has an entry for each column.
pub(crate) fn mixed_model(
    settings: &Mixed,
    recipe: &Recipe,
    table: &Table,
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

impl Additive for MixedScorer {
    fn n_sums(&self) -> usize {
        self.model.n_sums()
    }

    fn amount(&self, _: u32) -> f64 {
        // all columns count presence, see `Mixed::parameters_of`
        1.0
    }

    fn weigh(&self, term: &DecodedTerm<'_>, entry: &mut TermEntry) -> Result<()> {
        // every term of a model belongs to a column
        let part = self.columns.of_term(term.text()?).unwrap_or(usize::MAX);
        self.model.weigh_term(part, term.totals(), term.id(), term.known().cells, entry);
        Ok(())
    }
}

impl Scorer for MixedScorer {
    /// A category that was never learned counts as missing, as does a text without known words.
    fn read_sums(&self, _: Layers<'_>, scratch: &mut Scratch) -> Result<usize> {
        let Scratch { memo, counted, posterior, .. } = scratch;
        Ok(self.model.joint_log_likelihood_of(counted.reals(), &memo.sums, posterior))
    }

    fn explain<'a>(&self, of: &Explained<'a>) -> Result<Reasons<'a>> {
        let Explained { layers, counted, contest, .. } = *of;
        let (mut reals, mut rows) = (counted.reals().iter(), counted.groups());
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
                        let table = layers.own().header.scoring.table();
                        let moments = |class| table?.reals.moments(n_reals, class);
                        let classes = 0..weights.len() as ClassId;
                        let rows = classes.map(|class| moments(class).map_or(0, |m| m.n() as u64)).collect();
                        values.push(RealReason { term, rows, contribution: contest.margin(&weights) });
                    }
                    n_reals += 1;
                }
                ColumnLikelihood::Category(_) | ColumnLikelihood::Terms(_) => {
                    for (id, count) in rows.next().into_iter().flat_map(|row| row.iter()) {
                        if self.weights_of(part, layers.own(), id, count, &mut weights)? {
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
        let is_known = self.term_weights(layers.own(), id, &mut weights)?;
        Ok(is_known.then(|| over_rivals(&weights, class)))
    }
}

#[cfg(test)]
#[cfg(feature = "files")]
mod tests {
    use super::*;
    use crate::config::column::Column;
    use crate::config::keep::Keep;
    use crate::config::scoring::Scoring;
    use crate::config::training::TrainOptions;
    use crate::error::Reason;
    use crate::extract::document::Document;
    use crate::file::fitted::FittedScoring;
    use crate::file::header::Header;
    use crate::kind::Kind;
    use crate::score::derive::derive;
    use crate::score::filter::Filter;
    use crate::score::scratch::Scratch;
    use crate::train::trainer::Trainer;
    use tamis_model::GaussianStatistics;

    fn options() -> TrainOptions {
        let column = |name: &str, kind| Column { name: name.to_owned(), kind };
        let mut options = TrainOptions::new(Kind::Table);
        options.recipe.columns = vec![
            column("wet", ColumnKind::Bernoulli),
            column("miles", ColumnKind::Gaussian),
            column("note", ColumnKind::Text),
        ];
        options
    }

    fn trained() -> Trainer {
        let mut trainer = Trainer::new(options()).unwrap();
        for (label, miles, wet, note) in
            [("walk", "1", "y", "by foot"), ("walk", "2", "n", ""), ("bus", "", "n", "the bus")]
        {
            let fields = [("note", note), ("miles", miles), ("wet", wet), ("other", "x")];
            trainer.add(label, Document::Fields(&fields)).unwrap();
        }
        trainer
    }

    fn table(header: &mut Header) -> &mut Table {
        match &mut header.scoring {
            FittedScoring::Mixed { table, .. } => table,
            _ => panic!("not mixed"),
        }
    }

    fn filter() -> Filter {
        trained().finish().unwrap().into_filter().unwrap()
    }

    #[test]
    fn a_cell_that_cannot_be_read_is_not_learned() {
        let expected = trained().finish().unwrap();
        let mut trainer = trained();
        let refused = trainer.add("tram", Document::Fields(&[("note", "new words"), ("wet", "perhaps")]));
        assert!(matches!(refused.err().unwrap().reason(), Reason::Cell { column, .. } if column == "wet"));
        assert_eq!(trainer.missing(), [1, 1, 0]);
        assert!(trainer.finish().unwrap() == expected);
    }

    #[test]
    fn digests_tell_numbers_and_missing_ones_apart() {
        let filter = filter();
        let digest = |miles| filter.digest(Document::Fields(&[("miles", miles)])).unwrap();
        assert_ne!(digest("1"), digest("2"));
        assert_ne!(digest("0"), digest("?"));
        assert_eq!((digest("0"), digest("?")), (digest("-0.0"), digest("")));
    }

    #[test]
    fn merged_trainers_miss_what_both_miss() {
        let mut twice = trained();
        twice.merge(trained()).unwrap();
        assert_eq!(twice.missing(), [2, 2, 0]);
        let filter = twice.finish().unwrap().into_filter().unwrap();
        filter.verify().unwrap();
        let (one, scratch) = (self::filter(), &mut Scratch::default());
        let miles = [("miles", "1.5")];
        let [once, twice] = [&one, &filter].map(|f| f.score_fields(&miles, scratch).unwrap().log_odds);
        assert!((once - twice).abs() < 1e-12);
    }

    #[test]
    fn what_does_not_suit_a_table_is_refused() {
        let of_text = TrainOptions::new(Kind::Text);
        let mut mixed_text =
            Trainer::new(TrainOptions { scoring: Some(Scoring::Mixed(Mixed::default())), ..of_text });
        let trainer = mixed_text.as_mut().unwrap();
        trainer.add("a", Document::Text("x")).unwrap();
        trainer.add("b", Document::Text("y")).unwrap();
        assert!(matches!(mixed_text.unwrap().finish().err().unwrap().reason(), Reason::Columns { .. }));
        let weighted = trained().with_scoring(Scoring::Weighted(tamis_model::WeightedOptions::default()));
        assert!(matches!(weighted.finish().err().unwrap().reason(), Reason::Columns { .. }));
        let remembering = Trainer::new(TrainOptions { keep: Some(Keep::Vectors), ..options() }).unwrap();
        let mut remembering = remembering;
        remembering.add("a", Document::Fields(&[])).unwrap();
        remembering.add("b", Document::Fields(&[])).unwrap();
        assert!(matches!(remembering.finish().err().unwrap().reason(), Reason::Columns { .. }));
        for change in [
            |options: &mut TrainOptions| options.recipe.kind = Kind::Text,
            |options: &mut TrainOptions| options.recipe.columns.clear(),
            |options: &mut TrainOptions| options.recipe.columns[0].name = "miles".to_owned(),
            |options: &mut TrainOptions| options.recipe.columns[0].name = String::new(),
        ] {
            let mut options = options();
            change(&mut options);
            assert!(matches!(Trainer::new(options).err().unwrap().reason(), Reason::Columns { .. }));
        }
        let text = filter().score_text("x", &mut Scratch::default());
        assert!(matches!(
            text.err().unwrap().reason(),
            Reason::Kind { expected: Kind::Table, got: Kind::Text }
        ));
    }

    #[test]
    fn a_header_that_contradicts_itself_is_refused() {
        let good = filter().store.header;
        assert!(derive(&good, &good.totals, good.n_terms(), &[]).is_ok());
        let changes: [fn(&mut Header); 6] = [
            |header| header.stored.keep = Keep::Vectors,
            |header| header.recipe.columns.truncate(2),
            |header| drop(table(header).groups.pop()),
            |header| table(header).missing.truncate(2),
            |header| table(header).reals = GaussianStatistics::new(3, 1),
            |header| table(header).reals = GaussianStatistics::new(2, 2),
        ];
        for (i, change) in changes.into_iter().enumerate() {
            let mut header = good.clone();
            change(&mut header);
            assert!(derive(&header, &header.totals, header.n_terms(), &[]).is_err(), "{i}");
        }
    }

    #[test]
    fn verify_holds_the_table_against_the_counts() {
        let changes: [fn(&mut Table); 4] = [
            |table| table.missing[0] += 1,
            |table| table.missing[1] = 9,
            |table| table.groups.swap(0, 1),
            |table| table.reals.observe(0, &[Some(1.0)]).unwrap(),
        ];
        for (i, change) in changes.into_iter().enumerate() {
            let mut filter = filter();
            filter.verify().unwrap();
            change(table(&mut filter.store.header));
            assert!(matches!(filter.verify().err().unwrap().reason(), Reason::Inconsistent { .. }), "{i}");
        }
    }
}
