//! Finishing training: from counts to the bytes of a model file.

use tamis_model::{Classes, Counts, Documents, Statistics, VectorStatistics, block_len};
use tamis_store::config::labels::{check_labels, labels_of};
use tamis_store::config::scoring::Scoring;
use tamis_store::config::training::TrainOptions;
use tamis_store::error::{Reason, Result};
use tamis_store::file::fitted::{FittedScoring, columns_of_terms};
use tamis_store::file::header::{ModelHeader, Retention};
use tamis_tokenizer::TermTexts;

use crate::fit::scoring::{FitInput, fit};
use crate::fit::sections::{document_sections, seal, term_sections};
use crate::fit::solution::Solution;
use crate::fit::table::TableInput;
use crate::gather::collection::Collection;
use crate::gather::document::TrainingDocument;
use crate::gather::merged::MergedShards;
use crate::model::Model;
use crate::train::trainer::Trainer;

/// The counts of a trainer, in canonical order.
pub(crate) struct TrainingSet {
    /// The texts of the terms of each part.
    pub(crate) texts: Vec<TermTexts>,
    pub(crate) merged: MergedShards,
    pub(crate) documents: Collection,
    /// The statistics of dense vectors, once all documents are together.
    pub(crate) vectors: Option<VectorStatistics>,
}

impl Trainer {
    /// Takes the counts out of the trainer, in canonical order.
    pub(crate) fn take_in_order(&mut self) -> Result<TrainingSet> {
        self.forget_places();
        if !self.wants_parts() {
            // the first documents were counted before other labels were known
            self.documents.iter_mut().for_each(TrainingDocument::forget_stretches);
        }
        let mut parts = std::mem::take(&mut self.parts);
        let rows: Vec<_> = parts.iter_mut().map(|part| std::mem::take(&mut part.rows)).collect();
        let merged = MergedShards::new(&parts)?;
        // frees most of the memory before fitting
        let texts = parts.into_iter().map(|part| part.vocabulary.into_texts()).collect();
        let (n_classes, n_terms) = (self.classes.len(), merged.n_terms());
        let (documents, block_len) = (std::mem::take(&mut self.documents), block_len(&merged.statistics));
        let documents = Collection::new(documents, rows, &merged.ids, n_classes, n_terms, block_len)?
            .of_kind(self.options.recipe.kind);
        let mut vectors = documents.vector_statistics(&self.options.recipe, n_classes)?;
        if let (Some(vectors), Some(elsewhere)) = (&mut vectors, &self.elsewhere) {
            vectors.merge(elsewhere)?;
        }
        Ok(TrainingSet { texts, merged, documents, vectors })
    }

    /// Makes each label of sets a class of its own, even if no document has it alone: a model of many labels has these
    /// classes, whatever it has learned. Returns the number of labels.
    pub(crate) fn add_single_labels(&mut self) -> Result<usize> {
        let labels = labels_of(&self.classes)?.into_owned();
        labels.iter().try_for_each(|(_, label)| self.class_of(label).map(drop))?;
        Ok(labels.len())
    }

    /// Makes a model of everything learned.
    ///
    /// # Errors
    /// If there are fewer than two labels, two labels look the same, or one is called `unsure`; if the scoring does not
    /// suit the documents; if decisions are asked for that only [`Scoring::Weighted`] supports; if documents are needed
    /// that are elsewhere; or if the model is larger than its format allows.
    pub fn finish(mut self) -> Result<Model> {
        let n_labels = self.add_single_labels()?;
        Reason::TooFewLabels { expected: 2, got: n_labels }.unless(n_labels >= 2)?;
        check_labels(&self.classes)?;
        self.options.check_for(self.classes.len())?;
        Reason::CountsAlone.unless(!self.counts_alone || !self.options.needs_terms())?;
        self.set_unlabelled_apart();
        self = self.choose_terms()?;
        let taught = self.learn_unlabelled()?;
        let TrainingSet { texts, merged, mut documents, vectors } = self.take_in_order()?;
        let statistics = &merged.statistics;
        let Trainer { options, classes, tried, tally, .. } = self;
        let scoring = settle_scoring(&options, classes.len(), statistics)?;
        let table = match &scoring {
            Scoring::Mixed(_) | Scoring::Weighted(_) if options.recipe.has_other_columns() => {
                let recipe = &options.recipe;
                let columns = columns_of_terms(recipe, statistics, |id| Ok(merged.term(&texts, id).1))?;
                Some(TableInput { recipe, columns, missing: tally.missing })
            }
            _ => None,
        };
        if scoring.weighted().is_some() && !documents.has_named_groups() {
            let text = |id| Ok(merged.term(&texts, id).1);
            documents.hold_near_duplicates_together(options.recipe.kind, statistics, text)?;
        }
        let (asked, default) = (&options.decision, options.decision.default_for(&classes)?);
        let learned = FitInput {
            classes: &classes,
            statistics,
            vectors: vectors.as_ref(),
            documents: &mut documents,
            taught,
            table,
        };
        let mut fitted = fit(scoring, asked, default, learned)?;
        if let FittedScoring::Weighted { chosen, .. } = &mut fitted.scoring {
            chosen.refinements = tried;
        }
        write_model(options, classes, TrainingSet { texts, merged, documents, vectors }, fitted)
    }
}

/// Writes the model from what was learned and fitted.
pub(crate) fn write_model(
    options: TrainOptions,
    classes: Classes,
    learned: TrainingSet,
    fitted: Solution,
) -> Result<Model> {
    let TrainingSet { texts, merged, mut documents, vectors } = learned;
    let (keep, statistics) = (options.kept(documents.n_pairs()), &merged.statistics);
    let (sections, documents) = rayon::join(
        || {
            term_sections(merged.n_terms(), |writer, id| {
                let (fingerprint, text) = merged.term(&texts, id);
                writer.push(fingerprint, text, statistics.cells(id), fitted.weights.stored(id))
            })
        },
        || document_sections(&mut documents, &fitted, keep, options.recipe.vectors.is_some()),
    );
    let header = ModelHeader {
        stored: Retention { keep, names: options.names },
        asked: Some(options.decision),
        decision: fitted.decision,
        expected: fitted.expected,
        vectors,
        ..ModelHeader::new(options.recipe, fitted.scoring, classes, statistics.totals().to_vec())
    };
    seal(header, sections?, documents?)
}

/// Returns the scoring asked for, or the default, checked against the counts.
pub(crate) fn settle_scoring(
    options: &TrainOptions,
    n_classes: usize,
    statistics: &Statistics,
) -> Result<Scoring> {
    let has_unlabelled = statistics.totals().len() > n_classes;
    let scoring = options.scoring();
    scoring.check(&options.recipe, options.kept(0))?;
    Reason::Unlabelled.unless(!has_unlabelled || matches!(scoring, Scoring::ExpectationMaximization(_)))?;
    Ok(scoring)
}

#[cfg(test)]
mod tests {
    use tamis_filter::extract::document::Document;
    use tamis_store::kind::Kind;

    use super::*;
    use crate::tests::taught;

    #[test]
    fn what_only_weighted_scoring_heeds_is_refused_elsewhere() {
        let finish = |scoring: &Option<Scoring>, labels: &[&str], change: fn(&mut TrainOptions)| {
            let mut options = TrainOptions { scoring: scoring.clone(), ..TrainOptions::new(Kind::Text) };
            change(&mut options);
            taught(options, labels.iter().zip(labels)).finish()
        };
        let ask: fn(&mut TrainOptions) = |options| options.decision.cost = Some(9.0);
        let bayes = Some(Scoring::NaiveBayes(Scoring::parameters()));
        assert!(finish(&None, &["a", "b"], ask).is_ok());
        for (scoring, labels) in [(&bayes, &["a", "b"][..]), (&None, &["a", "b", "c"])] {
            let error = finish(scoring, labels, ask).err().unwrap();
            assert!(matches!(error.reason(), Reason::Option { option: "cost", .. }));
        }
        assert!(finish(&None, &["a", "b", "c"], |_| ()).is_ok());
    }

    #[test]
    fn of_documents_with_the_same_words_it_does_not_matter_which_came_first() {
        let model = |order: [&[&str]; 3]| {
            let mut trainer =
                Trainer::new(TrainOptions { repeat: false, ..TrainOptions::new(Kind::Text) }).unwrap();
            for (label, parts) in
                order.map(|parts| ("ham", parts)).into_iter().chain([("spam", &["soup"][..])])
            {
                let fields: Vec<_> = parts.iter().map(|text| ("", *text)).collect();
                trainer.add(label, Document::Fields(&fields)).unwrap();
            }
            trainer.into_partial().unwrap()
        };
        let [soup, pears] = ["soup at noon ".repeat(10), "pears every day ".repeat(10)];
        // the stretches are equal, the windows are not
        let [one, other] = [&[&*soup, &*pears][..], &[&*format!("{soup}{pears}")]];
        assert!(model([one, &[], other]).as_bytes() == model([other, one, &[]]).as_bytes());
    }

    #[test]
    fn of_topics_nothing_is_kept_for_parts() {
        let (pears, iron) = (("fruit", "a pear a day ".repeat(30)), ("metal", "iron and tin ".repeat(30)));
        let count = |order: [&(&str, String); 2]| {
            let options = TrainOptions { refinements: Vec::new(), ..TrainOptions::new(Kind::Text) };
            taught(options, order.into_iter().cloned())
        };
        let [one, other] = [[&pears, &iron], [&iron, &pears]].map(count);
        assert!(one.into_partial().unwrap().as_bytes() == other.into_partial().unwrap().as_bytes());
    }
}
