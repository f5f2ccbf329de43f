//! Fitting a table: the statistics of its columns, and calibration on held-out rows.

use std::collections::HashMap;

use tamis_filter::scorers::mixed::mixed_model;
use tamis_model::{
    ClassPrior, Classes, Counts, Documents, GaussianStatistics, MixedFit, RowPrediction, Statistics,
};
use tamis_store::config::column::ColumnKind;
use tamis_store::config::decision::{Decision, HeldOutPerformance};
use tamis_store::config::labels::{columns_of, positive_class};
use tamis_store::config::recipe::Recipe;
use tamis_store::config::scoring::Mixed;
use tamis_store::error::Result;
use tamis_store::file::fitted::{FittedScoring, TableStatistics, summarize_columns};

use crate::fit::calibration::{count_named, expect};
use crate::fit::solution::Solution;
use crate::gather::collection::Collection;
use crate::gather::document::TrainingDocument;

/// The rows of a table, as far as the documents do not have them.
pub(crate) struct TableInput<'a> {
    pub(crate) recipe: &'a Recipe,
    /// The column of each term.
    pub(crate) columns: Vec<usize>,
    /// Missing cells of each column.
    pub(crate) missing: Vec<u64>,
}

impl TableInput<'_> {
    /// Fits mixed naive Bayes.
    pub(crate) fn fit(
        self,
        settings: Mixed,
        classes: &Classes,
        statistics: &Statistics,
        documents: &Collection,
    ) -> Result<Solution> {
        let (table, held_out) = self.calibrate(&settings, classes, statistics, documents)?;
        let expected = expect_rows(&held_out, documents, classes);
        let scoring = FittedScoring::Mixed { settings, table };
        Ok(Solution { expected, ..Solution::by_counts(scoring, Decision::PLAIN) })
    }

    /// Fits mixed naive Bayes to the columns that are not text, for weighted scoring of those that are, and leaves its
    /// terms out of the documents. Returns its statistics, and the held-out scores of rows by column of the scores.
    pub(crate) fn beside_text(
        self,
        classes: &Classes,
        statistics: &Statistics,
        documents: &mut Collection,
    ) -> Result<(TableStatistics, HashMap<usize, Vec<f64>>)> {
        let is_text = |column: &usize| self.recipe.columns[*column].kind == ColumnKind::Text;
        let are_text: Vec<bool> = self.columns.iter().map(is_text).collect();
        let settings = Mixed { prior: ClassPrior::Uniform, ..Mixed::default() };
        documents.left_out.clone_from(&are_text);
        let (mut table, held_out) = self.calibrate(&settings, classes, statistics, documents)?;
        documents.left_out = are_text.into_iter().map(|is_text| !is_text).collect();
        table.chosen.trust.texts = 0.0;
        let columns = columns_of(classes)?;
        let of_columns = |row: RowPrediction| (row.document, columns.log_odds(&row.joint));
        Ok((table, held_out.into_iter().map(of_columns).collect()))
    }

    fn calibrate(
        self,
        settings: &Mixed,
        classes: &Classes,
        statistics: &Statistics,
        documents: &Collection,
    ) -> Result<(TableStatistics, Vec<RowPrediction>)> {
        let TableInput { recipe, columns, missing } = self;
        let reals = learn_reals(recipe.n_reals(), classes.len(), &documents.documents)?;
        let groups = summarize_columns(recipe, statistics, &columns);
        let mut table = TableStatistics { reals, groups, missing, chosen: Default::default() };
        let mut rows = Vec::new();
        if settings.correction {
            let textbook = mixed_model(settings, recipe, &table, statistics.totals())?;
            let fit = MixedFit {
                counts: statistics,
                reals: &table.reals,
                documents,
                values: &|row| values(&documents.documents[row], recipe.n_reals()),
                parts: &columns,
                class_log_prior: textbook.class_log_prior(),
            };
            // a fold may have all rows of a class
            let mut uniform = settings.clone();
            uniform.prior = ClassPrior::Uniform;
            let (chosen, held_out) = fit.fit(|counts, reals, shrinkages| {
                let groups = summarize_columns(recipe, counts, &columns);
                let mut table = TableStatistics {
                    reals: reals.clone(),
                    groups,
                    missing: Vec::new(),
                    chosen: Default::default(),
                };
                let derive = |shrinkage: &f64| {
                    table.chosen.shrinkage = *shrinkage;
                    mixed_model(&uniform, recipe, &table, counts.totals())
                };
                shrinkages.iter().map(derive).collect::<Result<Vec<_>>>()
            })?;
            (table.chosen, rows) = (chosen, held_out);
        }
        Ok((table, rows))
    }
}

/// Computes the moments of the columns of real values, over documents in canonical order.
fn learn_reals(
    n_reals: usize,
    n_classes: usize,
    documents: &[TrainingDocument],
) -> Result<GaussianStatistics> {
    let mut reals = GaussianStatistics::new(n_classes, n_reals);
    for document in documents {
        let TrainingDocument { class, multiplicity, .. } = *document;
        reals.observe_weighted(class, &values(document, n_reals), f64::from(multiplicity))?;
    }
    Ok(reals)
}

/// The real values of a row, by column.
fn values(document: &TrainingDocument, n_reals: usize) -> Vec<Option<f64>> {
    let mut values = vec![None; n_reals];
    document.more().reals.iter().for_each(|(column, real)| values[*column] = Some(*real));
    values
}

/// Estimates the errors on new rows from held-out ones.
fn expect_rows(
    held_out: &[RowPrediction],
    documents: &Collection,
    classes: &Classes,
) -> Option<HeldOutPerformance> {
    let class = |row: &RowPrediction| documents.label(row.document).class;
    let groups = count_named(held_out.iter().map(|row| documents.label(row.document).group));
    if classes.len() == 2 {
        let positive = positive_class(classes);
        let [own, other] = [positive, 1 - positive].map(usize::from);
        let judged = |row: &RowPrediction| {
            let score = (row.joint[own] - row.joint[other], class(row) == positive);
            std::iter::repeat_n(score, row.copies as usize)
        };
        let scores: Vec<_> = held_out.iter().flat_map(judged).collect();
        return expect(&scores, &Decision::PLAIN, classes, groups);
    }
    let (mut n, mut right) = (0, 0);
    for row in held_out {
        let own = row.joint[usize::from(class(row))];
        n += u64::from(row.copies);
        right += if row.joint.iter().all(|other| *other <= own) { u64::from(row.copies) } else { 0 };
    }
    (n > 0).then_some(HeldOutPerformance::Accuracy { documents: n, right, groups })
}

#[cfg(test)]
mod tests {
    use tamis_filter::extract::document::Document;
    use tamis_filter::scorers::scratch::Scratch;
    use tamis_store::config::column::{Column, ColumnKind};
    use tamis_store::config::scoring::Scoring;
    use tamis_store::config::training::TrainOptions;
    use tamis_store::kind::Kind;

    use super::*;
    use crate::model::Model;
    use crate::train::trainer::Trainer;

    /// Rows of two labels: a number and a category that say the same five times over, and are wrong in one row of ten.
    fn rows() -> Vec<(&'static str, Vec<(String, String)>)> {
        let row = |i: usize| {
            let label = ["no", "yes"][i % 2];
            let says = if (i / 2).is_multiple_of(10) { 1 - i % 2 } else { i % 2 };
            let cell = |column: usize| match column % 2 {
                0 => format!("{}", 10 * says + i % 7),
                _ => ["low", "high"][says].to_owned(),
            };
            (label, (0..10).map(|column| (format!("c{column}"), cell(column))).collect())
        };
        (0..400).map(row).collect()
    }

    fn options(correction: bool) -> TrainOptions {
        let kinds = [ColumnKind::Gaussian, ColumnKind::Categorical].into_iter().cycle();
        let mut options = TrainOptions::new(Kind::Table);
        let columns = (0..10).zip(kinds);
        options.recipe.columns = columns.map(|(i, kind)| Column::new(format!("c{i}"), kind)).collect();
        let settings = Mixed { correction, ..Mixed::default() };
        options.scoring = Some(Scoring::Mixed(settings));
        options
    }

    fn add<'a>(trainer: &mut Trainer, rows: impl Iterator<Item = &'a (&'static str, Vec<(String, String)>)>) {
        for (label, cells) in rows {
            let fields: Vec<_> = cells.iter().map(|(name, cell)| (&**name, &**cell)).collect();
            trainer.add(label, Document::Fields(&fields)).unwrap();
        }
    }

    fn trained(correction: bool) -> Model {
        let mut trainer = Trainer::new(options(correction)).unwrap();
        add(&mut trainer, rows().iter());
        trainer.finish().unwrap()
    }

    #[test]
    fn columns_that_repeat_one_another_count_once() {
        let probability = |correction| {
            let filter = trained(correction).into_filter().unwrap();
            filter.verify().unwrap();
            let (_, cells) = &rows()[21];
            let fields: Vec<_> = cells.iter().map(|(name, cell)| (&**name, &**cell)).collect();
            filter.score_fields(&fields, &mut Scratch::default()).unwrap().probability
        };
        assert!((0.85..0.95).contains(&probability(true)), "{}", probability(true));
        assert!(probability(false) > 0.999_999);
    }

    /// Five columns of chance numbers and five of chance letters.
    fn chance(row: u64) -> Vec<(String, String)> {
        let mut seed = row.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut draw = |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % n
        };
        let mut cell = |column: usize| match column % 2 {
            0 => format!("{}", draw(1000) + draw(1000) + draw(1000)),
            _ => ["a", "b", "c", "d"][draw(4) as usize].to_owned(),
        };
        (0..10).map(|column| (format!("c{column}"), cell(column))).collect()
    }

    #[test]
    fn few_rows_are_not_certain() {
        // the labels say nothing of the rows, so anything but their shares costs
        for n in [1, 2, 4] {
            let (mut loss, draws) = (0.0, 20);
            for draw in 0..draws {
                let mut trainer = Trainer::new(options(true)).unwrap();
                let rows = (0..2 * n).map(|i| (["no", "yes"][i as usize % 2], chance(1 + i + 1_000 * draw)));
                add(&mut trainer, rows.collect::<Vec<_>>().iter());
                let filter = trainer.finish().unwrap().into_filter().unwrap();
                let mut scratch = Scratch::default();
                for test in 0..20 {
                    let cells = chance(900_000 + test + 1_000 * draw);
                    let fields: Vec<_> = cells.iter().map(|(name, cell)| (&**name, &**cell)).collect();
                    filter.score_fields(&fields, &mut scratch).unwrap();
                    loss -= scratch.probabilities()[test as usize % 2].ln() / (20 * draws) as f64;
                }
            }
            assert!(loss < 2f64.ln() + 0.02, "{n}: {loss}");
        }
    }

    #[test]
    fn explanations_add_up_to_the_log_odds() {
        let filter = trained(true).into_filter().unwrap();
        let (_, cells) = &rows()[3];
        let fields: Vec<_> = cells.iter().map(|(name, cell)| (&**name, &**cell)).collect();
        let explanation = filter.explain(Document::Fields(&fields), &mut Scratch::default()).unwrap();
        let sum: f64 = explanation.terms.iter().map(|term| term.contribution).sum();
        let log_odds = explanation.score.log_odds;
        assert!((explanation.intercept + sum - log_odds).abs() < 1e-9, "{log_odds}");
    }

    #[test]
    fn neither_order_nor_shares_matter_and_the_errors_of_the_textbook_are_not_known() {
        let expected = trained(true);
        let (mut one, mut other) =
            (Trainer::new(options(true)).unwrap(), Trainer::new(options(true)).unwrap());
        let rows = rows();
        add(&mut one, rows[..130].iter().rev());
        add(&mut other, rows[130..].iter().rev());
        other.merge(one).unwrap();
        assert!(other.finish().unwrap() == expected);
        let expected = expected.into_filter().unwrap().information().expected;
        let Some(HeldOutPerformance::Detection {
            negatives: 200,
            false_positives: 20,
            positives: 200,
            missed: 20,
            ..
        }) = expected
        else {
            panic!("{expected:?}")
        };
        assert_eq!(trained(false).into_filter().unwrap().information().expected, None);
    }
}
