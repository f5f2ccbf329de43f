//! How a recipe does on labelled documents that took no part in the model that scores them.

use tamis_model::{
    ClassId, HeldOutScores, Labelled, Platt, Smoothing, Statistics, Temperature, cross_fit, cross_fit_bayes,
    cross_fit_classes,
};
use tamis_tokenizer::{CountRow, CountVector};

use crate::error::{Error, Result};
use crate::filter::{Score, likeliest, verdict};
use crate::fitting::{self, refused};
use crate::rows::RowId;
use crate::scorer::{positive_class, spam_class};
use crate::scoring::{Decision, Scoring, Weighted};
use crate::trainer::{Learned, Trainer};
use crate::union::Union;

/// A document's true class, and its score by a model that had not learned it.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct HeldOut {
    /// The class it was given under.
    pub class: ClassId,
    /// What the model said.
    pub score: Score,
    /// The probability it gave to the class the document was given under.
    pub probability: f64,
}

impl HeldOut {
    /// Of two classes the probability of one is what the other leaves.
    pub(crate) fn of_two(class: ClassId, score: Score) -> Self {
        let probability = if score.about == class { score.probability } else { 1.0 - score.probability };
        HeldOut { class, score, probability }
    }
}

/// Every so many documents' groups are calibrated on the others.
const CALIBRATION_FOLDS: u64 = 10;

/// What `choose_alpha` chooses among.
const ALPHAS: [f64; 9] = [1e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0];

/// The documents of a trainer as count vectors.
struct Vectors {
    whole: Vec<CountVector>,
    windows: Vec<Vec<CountVector>>,
}

impl Vectors {
    fn new(trainer: &Trainer, union: &Union) -> Result<Self> {
        let vector = |document: &Learned, row: RowId| {
            let part = usize::from(document.part);
            let terms = trainer.parts[part].rows.terms(row);
            CountVector::from_pairs(terms.map(|(id, count)| (union.ids[part][id as usize], count)))
                .map_err(|e| Error::inconsistent("documents", "terms of the vocabulary", e))
        };
        let documents = || trainer.documents.iter();
        let whole = |d: &Learned| d.terms.map_or_else(|| Ok(CountVector::default()), |row| vector(d, row));
        Ok(Vectors {
            whole: documents().map(whole).collect::<Result<_>>()?,
            windows: documents()
                .map(|d| d.windows.iter().map(|row| vector(d, *row)).collect())
                .collect::<Result<_>>()?,
        })
    }

    fn labelled(&self, trainer: &Trainer) -> Vec<Labelled<'_>> {
        std::iter::zip(&trainer.documents, &self.whole)
            .map(|(d, v)| Labelled {
                row: v.row(),
                class: d.class,
                multiplicity: d.multiplicity,
                group: d.group,
            })
            .collect()
    }

    /// The rows of each document of which the highest score counts.
    fn parts(&self) -> Vec<Vec<CountRow<'_>>> {
        std::iter::zip(&self.whole, &self.windows)
            .map(|(whole, windows)| std::iter::once(whole).chain(windows).map(CountVector::row).collect())
            .collect()
    }
}

impl Trainer {
    /// Scores every document by a model that learned neither it nor any document with the same body: K-fold
    /// cross-validation. One entry a document that counts, in the order they were added.
    ///
    /// Counts, correction and calibration are those of documents other than the one scored.
    ///
    /// # Errors
    /// If there are fewer than two labels, or the scoring does not fit them or is mixed naive Bayes.
    pub fn cross_validate(&self, folds: usize) -> Result<Vec<HeldOut>> {
        let of_different = self.cross_validate_different(folds)?;
        Ok(self.added.iter().filter_map(|place| of_different.get(*place as usize).copied()).collect())
    }

    /// One entry for each of the different documents.
    fn cross_validate_different(&self, folds: usize) -> Result<Vec<HeldOut>> {
        let n_classes = self.classes.len();
        if n_classes < 2 {
            return Err(Error::TooFewLabels { expected: 2, got: n_classes });
        }
        let scoring = self.options.scoring_for(n_classes);
        scoring.check(&self.options.recipe, self.options.keep)?;
        let union = Union::new(&self.parts)?;
        let vectors = Vectors::new(self, &union)?;
        let documents = vectors.labelled(self);
        match scoring {
            Scoring::Weighted(weighted) => {
                self.validate_two(&weighted, &union.statistics, &documents, &vectors.parts(), folds)
            }
            Scoring::OneAgainstRest(Weighted { alpha, correction }) => {
                let correction = correction.as_ref();
                let all = documents.len();
                let scored = cross_fit_classes(alpha, &union.statistics, &documents, correction, folds, all);
                let scored = scored.map_err(refused)?;
                let temperatures = by_calibration_fold(|fold| {
                    let others =
                        scored.iter().filter(|s| documents[s.document].group % CALIBRATION_FOLDS != fold);
                    let others: Vec<_> = others.map(|s| fitting::scored(s, &documents)).collect();
                    Temperature::fit(&others).unwrap_or_default()
                });
                Ok(self.validate_many(&documents, scored, |group| temperatures[group as usize]))
            }
            Scoring::ExpectationMaximization(_) => Err(Error::NotWeighted),
            Scoring::NaiveBayes(parameters) => {
                let scored = cross_fit_bayes(&parameters, &union.statistics, &documents, folds)?;
                Ok(self.validate_many(&documents, scored, |_| Temperature::IDENTITY))
            }
            Scoring::Mixed(_) => {
                let (expected, got) = ("nothing but text, to cross-validate", "others");
                Err(Error::Columns { expected: expected.into(), got: got.into() })
            }
        }
    }

    fn validate_two(
        &self,
        weighted: &Weighted,
        statistics: &Statistics,
        documents: &[Labelled<'_>],
        parts: &[Vec<CountRow<'_>>],
        folds: usize,
    ) -> Result<Vec<HeldOut>> {
        let positive = positive_class(&self.classes);
        let correction = weighted.correction.as_ref();
        let raw = cross_fit(weighted.alpha, statistics, documents, parts, positive, correction, folds)?;
        let calibrations = by_calibration_fold(|fold| {
            let others = documents.iter().zip(&raw).filter(|(d, _)| d.group % CALIBRATION_FOLDS != fold);
            let scores: Vec<_> = others.filter_map(|(d, raw)| Some(((*raw)?, d.class == positive))).collect();
            Platt::fit(&scores).unwrap_or(Platt::IDENTITY)
        });
        Ok(std::iter::zip(documents, raw)
            .map(|(document, raw)| {
                let calibration = calibrations[(document.group % CALIBRATION_FOLDS) as usize];
                let decision = Decision { calibration, ..Decision::for_classes(&self.classes) };
                let known_terms = usize::from(raw.is_some());
                let score = verdict(&decision, positive, spam_class(&self.classes), raw, known_terms);
                HeldOut::of_two(document.class, score)
            })
            .collect())
    }

    fn validate_many(
        &self,
        documents: &[Labelled<'_>],
        scored: Vec<HeldOutScores>,
        temperature: impl Fn(u64) -> Temperature,
    ) -> Vec<HeldOut> {
        scored
            .into_iter()
            .map(|HeldOutScores { document, mut scores, known_terms }| {
                let Labelled { class, group, .. } = documents[document];
                temperature(group % CALIBRATION_FOLDS).apply(&mut scores, known_terms);
                let score = likeliest(spam_class(&self.classes), known_terms, &mut scores);
                HeldOut { class, score, probability: scores[usize::from(class)] }
            })
            .collect()
    }

    /// The smoothing of weighted scoring that does best on the documents learned: the least calibrated log loss of
    /// exact leave-one-out scores, among nine from 0.0001 to 3. Costs a pass over the documents for each.
    ///
    /// # Errors
    /// If there are fewer than two labels.
    pub fn choose_alpha(&self) -> Result<Smoothing> {
        if self.classes.len() < 2 {
            return Err(Error::TooFewLabels { expected: 2, got: self.classes.len() });
        }
        let union = Union::new(&self.parts)?;
        let vectors = Vectors::new(self, &union)?;
        let documents = vectors.labelled(self);
        let mut best = (f64::INFINITY, Smoothing::LAPLACE);
        for alpha in ALPHAS {
            let alpha = Smoothing::try_from(alpha)?;
            let loss = fitting::leave_one_out_loss(alpha, &union.statistics, &documents)?;
            if loss < best.0 {
                best = (loss, alpha);
            }
        }
        Ok(best.1)
    }
}

fn by_calibration_fold<T>(fit: impl Fn(u64) -> T) -> Vec<T> {
    (0..CALIBRATION_FOLDS).map(fit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::{Document, Kind};
    use crate::trainer::TrainOptions;

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
}
