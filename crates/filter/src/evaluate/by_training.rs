//! K-fold cross-validation for any scoring: a model is trained for each fold.

use rayon::prelude::*;
use tamis_model::{Classes, Labelled, deal};
use tamis_tokenizer::{CountRow, Vocabulary};

use crate::config::training::TrainOptions;
use crate::error::{ErrorKind, Result};
use crate::evaluate::cross_validation::{HeldOutScore, check_fold, seeded};
use crate::extract::counted::Counted;
use crate::extract::document::Document;
use crate::extract::extractor::Extractor;
use crate::file::groups;
use crate::kind::Kind;
use crate::score::score::Scratch;
use crate::train::trainer::Trainer;

/// K-fold cross-validation for any scoring: for each fold a model is trained on the documents of the others, and on
/// those without a label. Returns the labels, and a score per labelled document, in their order.
///
/// A document is given with its label and, if it has one, the name of its group. Documents of a group stay together, see
/// [`Trainer::add_in_group`]; those without one stay with those of the same body, or, as rows of a table, stand alone, since
/// equal rows are data.
///
/// [`Trainer::cross_validate`] does less work for the scorings that it supports, and takes equal documents out.
///
/// # Errors
/// There are fewer than two labels, a fold leaves documents of one label only, or a model of a fold cannot be trained.
///
/// ```
/// use tamis_filter::{Column, ColumnKind, Document, Kind, TrainOptions, cross_validate};
///
/// let mut options = TrainOptions::new(Kind::Table);
/// options.recipe.columns = vec![Column::new("miles", ColumnKind::Gaussian)];
/// let miles: Vec<_> = (0..40).map(|i| if i % 2 == 0 { 1 + i } else { 100 + i }.to_string()).collect();
/// let rows: Vec<_> = miles.iter().map(|miles| [("miles", miles.as_str())]).collect();
/// let labels = ["walk", "bus"].into_iter().cycle();
/// let labelled: Vec<_> = labels.zip(&rows).map(|(label, row)| (label, None, Document::Fields(row))).collect();
/// let (labels, scores) = cross_validate(&options, &labelled, &[], 5, 0)?;
/// assert_eq!((labels.len(), scores.len()), (2, 40));
/// assert!(scores.iter().all(|held_out| held_out.score.label == Some(held_out.class)));
/// # Ok::<(), tamis_filter::Error>(())
/// ```
pub fn cross_validate(
    options: &TrainOptions,
    labelled: &[(&str, Option<&str>, Document<'_>)],
    unlabelled: &[Document<'_>],
    folds: usize,
    seed: u64,
) -> Result<(Classes, Vec<HeldOutScore>)> {
    let classes = Classes::new(labelled.iter().map(|(label, ..)| *label))?;
    if classes.len() < 2 {
        return Err(ErrorKind::TooFewLabels { expected: 2, got: classes.len() }.into());
    }
    let groups = numbered(options, labelled)?;
    let with_group = |((label, ..), group): (&(&str, _, _), u64)| Labelled {
        row: CountRow::default(),
        class: classes.index(label).unwrap_or_default(),
        multiplicity: 1,
        group: seeded(group, seed),
    };
    let documents: Vec<_> = labelled.iter().zip(groups).map(with_group).collect();
    let dealt = deal(&documents, folds);
    let of_fold = |fold: &Vec<usize>| -> Result<Vec<HeldOutScore>> {
        let mut trainer = Trainer::new(options.clone())?;
        let others = (0..labelled.len()).filter(|at| fold.binary_search(at).is_err());
        for (label, group, document) in others.map(|at| labelled[at]) {
            trainer.add_in_group(label, group, document)?;
        }
        let is_left = |label| trainer.classes().index(label).is_some();
        check_fold(&classes, |class| classes.label(class).is_some_and(is_left))?;
        unlabelled.iter().try_for_each(|document| trainer.add_unlabelled(*document))?;
        let (filter, mut scratch) = (trainer.finish()?.into_filter()?, Scratch::default());
        // a fold that has all documents of a label leaves a model without it
        let of_all =
            |class| filter.classes().label(class).and_then(|label| classes.index(label)).unwrap_or(class);
        let held_out = |&at: &usize| {
            let mut score = filter.score(labelled[at].2, &mut scratch)?;
            let known = filter.classes().index(labelled[at].0);
            let probability = known.map_or(0.0, |class| scratch.probabilities()[usize::from(class)]);
            (score.label, score.scored_class) = (score.label.map(of_all), of_all(score.scored_class));
            Ok(HeldOutScore::new(documents[at].class, score, probability))
        };
        fold.iter().map(held_out).collect()
    };
    let scored: Vec<_> = dealt.par_iter().map(of_fold).collect::<Result<_>>()?;
    let mut all: Vec<_> = dealt.into_iter().flatten().zip(scored.into_iter().flatten()).collect();
    all.sort_unstable_by_key(|(document, _)| *document);
    Ok((classes, all.into_iter().map(|(_, held_out)| held_out).collect()))
}

/// The group of each document, by its name or by a hash of the body; of rows by their numbers.
fn numbered(options: &TrainOptions, labelled: &[(&str, Option<&str>, Document<'_>)]) -> Result<Vec<u64>> {
    let named = labelled.iter().map(|(_, name, _)| *name);
    if options.recipe.kind == Kind::Table {
        let group =
            |(name, row): (Option<&str>, u64)| name.map_or(row, |name| groups::group(Some(name), row));
        return Ok(named.zip(0..).map(group).collect());
    }
    let extractor = Extractor::new(options.recipe.clone())?;
    let (mut counted, mut vocabulary) = (Counted::grouping(), Vocabulary::new());
    let group = |(name, (.., document)): (Option<&str>, &(&str, _, Document<'_>))| {
        extractor.count(*document, &mut counted, &mut vocabulary)?;
        Ok(groups::group(name, counted.body_hash()))
    };
    named.zip(labelled).map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keep::Keep;
    use crate::config::scoring::{ExpectationMaximization, Scoring};

    fn texts() -> Vec<(&'static str, String)> {
        let text = |i: usize| match i % 2 {
            0 => ("ham", format!("lunch at noon number {i}")),
            _ => ("spam", format!("cheap pills for you {i}")),
        };
        (0..30).map(text).collect()
    }

    fn validated(scoring: Scoring, unlabelled: &[Document<'_>], seed: u64) -> Vec<HeldOutScore> {
        let texts = texts();
        let labelled: Vec<_> =
            texts.iter().map(|(label, text)| (*label, None, Document::Text(text))).collect();
        let options = TrainOptions { scoring: Some(scoring), ..TrainOptions::new(Kind::Text) };
        cross_validate(&options, &labelled, unlabelled, 5, seed).unwrap().1
    }

    #[test]
    fn scores_are_those_of_counts_taken_away() {
        let options = TrainOptions { keep: Some(Keep::Vectors), ..TrainOptions::new(Kind::Text) };
        let mut trainer = Trainer::new(options).unwrap();
        trainer = trainer.with_scoring(Scoring::NaiveBayes(Scoring::parameters()));
        for (label, text) in texts() {
            trainer.add(label, Document::Text(&text)).unwrap();
        }
        for seed in [0, 7] {
            let by_training = validated(Scoring::NaiveBayes(Scoring::parameters()), &[], seed);
            let by_counts = trainer.cross_validate(5, seed).unwrap();
            for (one, other) in by_training.iter().zip(&by_counts) {
                assert_eq!((one.class, one.score.label), (other.class, other.score.label));
                assert!((one.probability - other.probability).abs() < 1e-12, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn documents_without_labels_teach_too() {
        let scoring = || Scoring::ExpectationMaximization(ExpectationMaximization::for_documents(31));
        let unlabelled = Document::Text("cheap pills at noon");
        let (with, without) = (validated(scoring(), &[unlabelled], 0), validated(scoring(), &[], 0));
        assert_eq!((with.len(), without.len()), (30, 30));
        assert!(with.iter().all(|held_out| held_out.score.label == Some(held_out.class)));
        assert_ne!(with, without);
    }

    #[test]
    fn a_label_all_of_whose_rows_are_in_one_fold_is_missed() {
        let mut texts = texts();
        texts.push(("eggs", "an egg".into()));
        let labelled: Vec<_> =
            texts.iter().map(|(label, text)| (*label, None, Document::Text(text))).collect();
        let options = TrainOptions {
            scoring: Some(Scoring::NaiveBayes(Scoring::parameters())),
            ..TrainOptions::new(Kind::Text)
        };
        let (classes, scores) = cross_validate(&options, &labelled, &[], 5, 0).unwrap();
        assert_eq!((classes.len(), classes.label(scores[30].class)), (3, Some("eggs")));
        assert!(scores[30].score.label != Some(scores[30].class));
        assert!(scores.iter().all(|held_out| held_out.probability.is_finite()));
    }
}
