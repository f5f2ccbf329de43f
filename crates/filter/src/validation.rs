//! How a recipe does on labelled documents that took no part in the model that scores them.

use std::collections::HashSet;

use tamis_model::{
    ClassId, Classes, Correction, Counts, Labelled, Platt, WeightedLogOdds, corrected, cross_fit,
};
use tamis_tokenizer::CountVector;

use crate::error::{Error, Result};
use crate::filter::{Score, verdict};
use crate::scorer::positive_class;
use crate::scoring::{Decision, Scoring, Weighted};
use crate::trainer::{Terms, TrainOptions, Trainer};

/// A document's true class, and its score by a model that had not learned it.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct HeldOut {
    /// The class it was given under.
    pub class: ClassId,
    /// What the model said.
    pub score: Score,
}

/// Every so many documents' groups are calibrated on the others.
const CALIBRATION_FOLDS: u64 = 10;

impl Trainer {
    /// Scores every document by a model that learned neither it nor any document with the same body: K-fold
    /// cross-validation. One entry a document, in the order they were added.
    ///
    /// Counts, correction and calibration are those of documents other than the one scored.
    ///
    /// # Errors
    /// If there are not two labels, or the scoring is not weighted.
    pub fn cross_validate(&self, folds: usize) -> Result<Vec<HeldOut>> {
        let weighted = weighted(&self.options, &self.classes)?;
        let positive = positive_class(&self.classes);
        let vector = |terms: &Terms| {
            CountVector::from_pairs(terms.iter().copied())
                .map_err(|e| Error::inconsistent("documents", "terms of the vocabulary", e))
        };
        let vectors: Vec<CountVector> =
            self.documents.iter().map(|d| vector(&d.terms)).collect::<Result<_>>()?;
        let windows: Vec<Vec<CountVector>> =
            self.documents.iter().map(|d| d.windows.iter().map(vector).collect()).collect::<Result<_>>()?;
        let documents: Vec<_> = std::iter::zip(&self.documents, &vectors)
            .map(|(d, v)| Labelled { row: v.row(), class: d.class, multiplicity: 1, group: d.group })
            .collect();
        let parts: Vec<Vec<_>> = std::iter::zip(&vectors, &windows)
            .map(|(whole, windows)| std::iter::once(whole).chain(windows).map(CountVector::row).collect())
            .collect();
        let correction = weighted.correction.as_ref();
        let raw =
            cross_fit(weighted.alpha, &self.statistics, &documents, &parts, positive, correction, folds)?;
        let calibrations: Vec<Platt> = (0..CALIBRATION_FOLDS)
            .map(|fold| {
                let others = documents.iter().zip(&raw).filter(|(d, _)| d.group % CALIBRATION_FOLDS != fold);
                let scores: Vec<_> =
                    others.filter_map(|(d, raw)| Some(((*raw)?, d.class == positive))).collect();
                Platt::fit(&scores).unwrap_or(Platt::IDENTITY)
            })
            .collect();
        Ok(std::iter::zip(&documents, raw)
            .map(|(document, raw)| {
                let calibration = calibrations[(document.group % CALIBRATION_FOLDS) as usize];
                let decision = Decision { calibration, ..Decision::BANDED };
                let score = verdict(&decision, &self.classes, raw, usize::from(raw.is_some()));
                HeldOut { class: document.class, score }
            })
            .collect())
    }
}

/// The weighted scoring that these options ask for.
fn weighted(options: &TrainOptions, classes: &Classes) -> Result<Weighted> {
    if classes.len() != 2 {
        return Err(Error::NotTwoLabels { got: classes.len() });
    }
    match options.scoring {
        None => Ok(Weighted::default()),
        Some(Scoring::Weighted(weighted)) => Ok(weighted),
        Some(Scoring::NaiveBayes(_) | Scoring::OneAgainstRest(_)) => Err(Error::NotWeighted),
    }
}

/// Predicts, then learns, message after message: the ideal user of TREC's spam track, who corrects every mistake at once.
///
/// ```
/// use tamis_filter::{Document, Kind, Online, TrainOptions};
///
/// let mut online = Online::new(TrainOptions::new(Kind::Text), ["ham", "spam"])?;
/// online.next("spam", Document::Text("cheap pills"))?;
/// online.next("ham", Document::Text("lunch at noon"))?;
/// let held_out = online.next("spam", Document::Text("pills for you"))?;
/// assert!(held_out.score.log_odds > 0.0);
/// # Ok::<(), tamis_filter::Error>(())
/// ```
pub struct Online {
    trainer: Trainer,
    weighted: Weighted,
    positive: ClassId,
    correction: Correction,
}

impl Online {
    /// A filter that knows the two labels and nothing else.
    ///
    /// # Errors
    /// If there are not two labels, or the options are out of range or ask for another scoring than the weighted one.
    pub fn new<'a>(options: TrainOptions, labels: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let mut trainer = Trainer::new(options)?;
        for label in labels.into_iter().collect::<HashSet<_>>() {
            trainer.class_of(label)?;
        }
        let weighted = weighted(&trainer.options, &trainer.classes)?;
        let positive = positive_class(&trainer.classes);
        Ok(Online { trainer, weighted, positive, correction: Correction::new() })
    }

    /// The labels, in the order of their class ids.
    pub fn classes(&self) -> &Classes {
        &self.trainer.classes
    }

    /// Scores a document with what was learned before it, then learns it.
    ///
    /// # Errors
    /// If the document is not of the kind, or the label is not one of the two.
    pub fn next(&mut self, label: &str, document: crate::Document<'_>) -> Result<HeldOut> {
        let class = self.classes().index(label).ok_or(Error::NotTwoLabels { got: 3 })?;
        let n_features = self.trainer.vocabulary.len() as u64;
        let totals = self.trainer.statistics.totals().to_vec();
        self.trainer.count(document)?;
        let scorer = WeightedLogOdds::new(self.weighted.alpha, &totals, n_features, self.positive)?;
        let options = self.weighted.correction.as_ref();
        let (statistics, correction) = (&self.trainer.statistics, &self.correction);
        let raw = |row| {
            let Ok(score) = scorer.log_odds(statistics, row);
            score.map(|score| (score, options.map_or(score, |o| corrected(o, score, correction.value(row)))))
        };
        let counted = &self.trainer.counted;
        let whole = raw(counted.whole());
        let best =
            counted.windows().filter_map(raw).chain(whole).map(|(_, corrected)| corrected).reduce(f64::max);
        let score = verdict(&Decision::BANDED, self.classes(), best, usize::from(best.is_some()));
        let row = self.trainer.counted.whole();
        self.trainer.statistics.observe(class, row)?;
        if let Some(options) = options {
            self.correction.step(options, row, class == self.positive, whole.map_or(0.0, |(score, _)| score));
        }
        Ok(HeldOut { class, score })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::{Document, Kind};

    #[test]
    fn what_is_scored_was_not_learned() {
        let mut trainer = Trainer::new(TrainOptions::new(Kind::Text)).unwrap();
        for i in 0..40 {
            let (label, word) = if i % 2 == 0 { ("ham", "lunch") } else { ("spam", "pills") };
            trainer.add(label, Document::Text(&format!("{word} for you number {i}"))).unwrap();
        }
        // Its only telling words are its own: nothing can be known of it.
        trainer.add("spam", Document::Text("zebra quagga")).unwrap();
        let held_out = trainer.cross_validate(5).unwrap();
        assert_eq!(held_out.len(), 41);
        assert!(held_out[..40].iter().all(|h| h.score.label == Some(h.class)));
        assert_eq!((held_out[40].score.label, held_out[40].score.known_terms), (None, 0));
    }

    #[test]
    fn online_learning_starts_from_nothing() {
        let mut online = Online::new(TrainOptions::new(Kind::Text), ["spam", "ham"]).unwrap();
        let first = online.next("spam", Document::Text("pills")).unwrap();
        assert_eq!((first.score.label, first.class), (None, 1));
        for _ in 0..5 {
            online.next("ham", Document::Text("lunch at noon")).unwrap();
            online.next("spam", Document::Text("cheap pills")).unwrap();
        }
        assert_eq!(online.next("ham", Document::Text("lunch")).unwrap().score.label, Some(0));
        assert!(online.next("eggs", Document::Text("lunch")).is_err());
    }

    #[test]
    fn statistics_are_those_of_the_trainer() {
        let mut online = Online::new(TrainOptions::new(Kind::Text), ["a", "b"]).unwrap();
        let mut trainer = Trainer::new(TrainOptions::new(Kind::Text)).unwrap();
        for (label, text) in [("a", "x y z"), ("b", "x q"), ("a", "z z z")] {
            online.next(label, Document::Text(text)).unwrap();
            trainer.add(label, Document::Text(text)).unwrap();
        }
        assert_eq!(online.trainer.statistics, trainer.statistics);
    }
}
