//! K-fold cross-validation of a recipe.

use rayon::prelude::*;
use tamis_model::{
    ClassId, Classes, CorrectedStatistics, Counts, InMemory, Labelled, NaiveBayes, Parameters, Statistics,
    WeightedLogOdds, WeightedOptions, deal, hold_back,
};
use tamis_tokenizer::{CountRow, CountVector};

use crate::config::decision::Decision;
use crate::config::roles::{positive_class, spam_class};
use crate::config::scoring::Scoring;
use crate::disk::spool::spill;
use crate::error::{Error, ErrorKind, Result};
use crate::file::groups::copies_are_apart;
use crate::gather::learned::LearnedDocument;
use crate::gather::rows::RowId;
use crate::gather::union::Union;
use crate::kind::Kind;
use crate::score::verdict::{Score, likeliest, verdict};
use crate::train::fitting::{self, Fitted, FittedWeights};
use crate::train::trainer::Trainer;

/// A held-out score: a document's true class, and its score by a model that had not learned it.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct HeldOutScore {
    /// The true class.
    pub class: ClassId,
    /// The score.
    pub score: Score,
    /// The probability of the true class.
    pub probability: f64,
}

impl HeldOutScore {
    /// The score of a document of a class, and the probability that was given to that class.
    pub fn new(class: ClassId, score: Score, probability: f64) -> Self {
        HeldOutScore { class, score, probability }
    }

    /// The log-odds of a class of two, in nats: those of one are minus those of the other.
    pub fn log_odds_of(&self, class: ClassId) -> f64 {
        if self.score.scored_class == class { self.score.log_odds } else { -self.score.log_odds }
    }

    /// For two classes.
    pub(crate) fn of_two(class: ClassId, score: Score) -> Self {
        let probability =
            if score.scored_class == class { score.probability } else { 1.0 - score.probability };
        HeldOutScore { class, score, probability }
    }

    /// From the posterior of all classes.
    fn of_joint(class: ClassId, score: Score, posterior: &[f64]) -> Self {
        HeldOutScore { class, score, probability: posterior[usize::from(class)] }
    }
}

/// A group's hash as a seed changes it; 0 does not.
pub(crate) fn seeded(group: u64, seed: u64) -> u64 {
    group ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Checks that a fold leaves documents of two labels to learn from.
pub(crate) fn check_fold(classes: &Classes, is_left: impl Fn(ClassId) -> bool) -> Result<()> {
    let n_left = classes.iter().filter(|(class, _)| is_left(*class)).count();
    match classes.iter().find(|(class, _)| !is_left(*class)) {
        Some((_, label)) if n_left < 2 => Err(ErrorKind::OneFold { label: label.to_owned() }.into()),
        _ => Ok(()),
    }
}

/// The documents of a trainer as count vectors.
struct Vectors {
    whole: Vec<CountVector>,
    windows: Vec<Vec<CountVector>>,
}

impl Vectors {
    fn new(trainer: &Trainer, union: &Union) -> Result<Self> {
        let vector = |document: &LearnedDocument, row: RowId| {
            let part = usize::from(document.part);
            let terms = trainer.parts[part].rows.get(row).map_err(spill)?;
            CountVector::from_pairs(
                terms.into_iter().map(|(id, count)| (union.ids[part][id as usize], count)),
            )
            .map_err(|e| Error::inconsistent("documents", "terms of the vocabulary", e))
        };
        let documents = || trainer.documents.iter();
        let whole =
            |d: &LearnedDocument| d.terms.map_or_else(|| Ok(CountVector::default()), |row| vector(d, row));
        Ok(Vectors {
            whole: documents().map(whole).collect::<Result<_>>()?,
            windows: documents()
                .map(|d| d.windows().iter().map(|row| vector(d, *row)).collect())
                .collect::<Result<_>>()?,
        })
    }

    fn labelled(&self, trainer: &Trainer, seed: u64) -> Vec<Labelled<'_>> {
        std::iter::zip(&trainer.documents, &self.whole)
            .map(|(d, v)| Labelled {
                row: v.row(),
                class: d.class,
                multiplicity: d.multiplicity,
                group: seeded(d.group, seed),
            })
            .collect()
    }

    /// The windows of each document.
    fn windows(&self) -> Vec<Vec<CountRow<'_>>> {
        self.windows.iter().map(|windows| windows.iter().map(CountVector::row).collect()).collect()
    }
}

impl Trainer {
    /// K-fold cross-validation: scores every document by a model that learned neither it nor any document with the same
    /// body. One entry per document that counts, in the order they were added.
    ///
    /// Everything is counted, chosen and fitted without the documents of the fold. The seed says how documents are dealt
    /// into folds. [`cross_validate`](crate::cross_validate) is for any scoring.
    ///
    /// # Errors
    /// [`ErrorKind::CountsAlone`] if the terms of documents were not kept: with naive Bayes of texts
    /// [`TrainOptions::keep`](crate::TrainOptions) must say so. There are fewer than two labels; a fold leaves documents of one label only; the scoring does not fit the labels, or is
    /// mixed naive Bayes or expectation maximization.
    pub fn cross_validate(&self, folds: usize, seed: u64) -> Result<Vec<HeldOutScore>> {
        let of_different = self.cross_validate_different(folds, seed)?;
        Ok(self.added.iter().filter_map(|place| of_different.get(*place as usize).copied()).collect())
    }

    /// One entry per distinct document.
    fn cross_validate_different(&self, folds: usize, seed: u64) -> Result<Vec<HeldOutScore>> {
        let n_classes = self.classes.len();
        if n_classes < 2 {
            return Err(ErrorKind::TooFewLabels { expected: 2, got: n_classes }.into());
        }
        let scoring = self.options.scoring();
        scoring.check(&self.options.recipe, self.options.kept(0))?;
        let is_table = self.options.recipe.kind == Kind::Table;
        if !is_table && (self.counts_alone || !self.options.needs_terms()) {
            return Err(ErrorKind::CountsAlone.into());
        }
        let union = Union::new(&self.parts)?;
        let vectors = Vectors::new(self, &union)?;
        let (documents, windows) = (vectors.labelled(self, seed), vectors.windows());
        let dealt = deal(&documents, folds);
        let of_fold = |fold: &Vec<usize>| {
            let counts = hold_back(&union.statistics, &documents, fold);
            check_fold(&self.classes, |class| counts.totals()[usize::from(class)].documents > 0)?;
            match &scoring {
                Scoring::Weighted(options) => {
                    self.validate_weighted(options, &counts, &documents, &windows, fold)
                }
                Scoring::NaiveBayes(parameters) => self.validate_bayes(parameters, &counts, &documents, fold),
                Scoring::ExpectationMaximization(_) | Scoring::RobinsonFisher(_) => {
                    Err(ErrorKind::NotWeighted.into())
                }
                Scoring::Mixed(_) => {
                    let (expected, got) = ("nothing but text, to cross-validate", "others");
                    Err(ErrorKind::Columns { expected: expected.into(), got: got.into() }.into())
                }
            }
        };
        let scored: Vec<_> = dealt.par_iter().map(of_fold).collect::<Result<_>>()?;
        let mut all: Vec<_> = dealt.into_iter().flatten().zip(scored.into_iter().flatten()).collect();
        all.sort_unstable_by_key(|(document, _)| *document);
        Ok(all.into_iter().map(|(_, held_out)| held_out).collect())
    }

    /// Scores the documents of a fold by a model of the others.
    fn validate_weighted(
        &self,
        options: &WeightedOptions,
        counts: &Statistics,
        documents: &[Labelled<'_>],
        windows: &[Vec<CountRow<'_>>],
        fold: &[usize],
    ) -> Result<Vec<HeldOutScore>> {
        let others: Vec<usize> = (0..documents.len()).filter(|i| fold.binary_search(i).is_err()).collect();
        let has_windows = self.classes.len() == 2 && windows.iter().any(|windows| !windows.is_empty());
        let own_windows: Vec<_> =
            others.iter().filter(|_| has_windows).map(|&i| windows[i].clone()).collect();
        let others: Vec<_> = others.into_iter().map(|i| documents[i]).collect();
        let smoothing = fitting::smoothing(options, counts, &others, &self.classes)?;
        let default = Decision::for_classes(&self.classes);
        let copies_are_apart =
            copies_are_apart(self.options.recipe.kind, self.documents.iter().map(|document| document.group));
        let others = InMemory { documents: &others, windows: &own_windows, copies_are_apart };
        let fitted = fitting::fit((options, smoothing), |_| Ok(default), counts, &others, &self.classes)?;
        let (bias, positive) = (fitted.bias(), positive_class(&self.classes));
        let Fitted { weights, chosen, .. } = fitted;
        let choices = chosen.ok_or(ErrorKind::NotWeighted)?.choices;
        let n_features = counts.n_features() as u64;
        let scorer = WeightedLogOdds::new(&choices, &bias, counts.totals(), n_features, positive)?;
        let correction = match &weights {
            FittedWeights::Correction(correction, _) => Some(correction),
            _ => None,
        };
        let (mut readings, spam) = (tamis_model::Readings::default(), spam_class(&self.classes));
        let mut terms = CorrectedStatistics::new(counts, correction);
        let mut score = |row: CountRow<'_>, z: &mut Vec<f64>| {
            let Ok(()) = scorer.read(&mut terms, row, &mut readings);
            scorer.log_odds(&readings, z);
            readings.known_terms
        };
        let mut z = Vec::new();
        let held_out = |&document: &usize| {
            let Labelled { row, class, .. } = documents[document];
            let known_terms = score(row, &mut z);
            if self.classes.len() != 2 {
                return HeldOutScore::of_joint(class, likeliest(spam, known_terms, &mut z), &z);
            }
            let mut highest = z[0];
            for window in windows[document].iter().filter(|_| has_windows) {
                if score(*window, &mut z) > 0 {
                    highest = highest.max(z[0]);
                }
            }
            let [slope, offset] = choices.line;
            let log_odds = if has_windows { slope * highest + offset } else { highest };
            HeldOutScore::of_two(class, verdict(&default, positive, spam, log_odds, known_terms))
        };
        Ok(fold.iter().map(held_out).collect())
    }

    fn validate_bayes(
        &self,
        parameters: &Parameters,
        counts: &Statistics,
        documents: &[Labelled<'_>],
        fold: &[usize],
    ) -> Result<Vec<HeldOutScore>> {
        let Ok(summary) = parameters.summarize(counts);
        let model = NaiveBayes::new(parameters, &summary)?;
        let mut joint = Vec::new();
        let held_out = |&document: &usize| {
            let Labelled { row, class, .. } = documents[document];
            let Ok(known_terms) = model.joint_log_likelihood(counts, row, &mut joint);
            HeldOutScore::of_joint(
                class,
                likeliest(spam_class(&self.classes), known_terms, &mut joint),
                &joint,
            )
        };
        Ok(fold.iter().map(held_out).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keep::Keep;
    use crate::config::training::TrainOptions;
    use crate::extract::document::Document;

    #[test]
    fn what_is_scored_was_not_learned() {
        let mut trainer = Trainer::new(TrainOptions::new(Kind::Text)).unwrap();
        for i in 0..40 {
            let (label, word) = if i % 2 == 0 { ("food", "lunch") } else { ("health", "pills") };
            trainer.add(label, Document::Text(&format!("{word} for you number {i}"))).unwrap();
        }
        // its informative words occur in no other document, so the shares decide
        trainer.add("food", Document::Text("lunch again")).unwrap();
        trainer.add("health", Document::Text("zebra quagga")).unwrap();
        let held_out = trainer.cross_validate(5, 0).unwrap();
        assert_eq!(held_out.len(), 42);
        assert!(held_out[..40].iter().all(|h| h.score.label == Some(h.class)));
        assert_eq!((held_out[41].score.label, held_out[41].score.known_terms), (Some(0), 0));
    }

    #[test]
    fn documents_that_were_not_kept_are_not_taken_for_empty_ones() {
        let scoring = Some(Scoring::NaiveBayes(Scoring::parameters()));
        let mut trainer = Trainer::new(TrainOptions { scoring, ..TrainOptions::new(Kind::Text) }).unwrap();
        for (label, text) in [("fruit", "pears"), ("fruit", "plums"), ("metal", "iron"), ("metal", "tin")] {
            trainer.add(label, Document::Text(text)).unwrap();
        }
        assert!(matches!(trainer.cross_validate(2, 0).err().unwrap().kind(), ErrorKind::CountsAlone));
    }

    #[test]
    fn a_fold_that_leaves_one_label_is_refused() {
        for scoring in [None, Some(Scoring::NaiveBayes(Scoring::parameters()))] {
            for texts in [["pears", "iron"], ["", ""]] {
                let (scoring, keep) = (scoring.clone(), Keep::Vectors);
                let options = TrainOptions { scoring, keep: Some(keep), ..TrainOptions::new(Kind::Text) };
                let mut trainer = Trainer::new(options.clone()).unwrap();
                trainer.add("fruit", Document::Text(texts[0])).unwrap();
                trainer.add("metal", Document::Text(texts[1])).unwrap();
                let labelled =
                    [("fruit", None, Document::Text(texts[0])), ("metal", None, Document::Text(texts[1]))];
                let others = crate::evaluate::by_training::cross_validate(&options, &labelled, &[], 2, 0);
                for error in [trainer.cross_validate(2, 0).err().unwrap(), others.err().unwrap()] {
                    assert!(matches!(error.kind(), ErrorKind::OneFold { .. }), "{texts:?}: {error}");
                }
            }
        }
    }
}
