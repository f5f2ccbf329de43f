//! Learning by turns: score a document with what was learned before it, then learn it.

use std::collections::HashSet;

use tamis_model::{ClassId, Classes, Correction, Counts, WeightedLogOdds, corrected};

use crate::error::{Error, Result};
use crate::filter::verdict;
use crate::pairs::Pairs;
use crate::scorer::{positive_class, spam_class};
use crate::scoring::{Decision, Scoring, Weighted};
use crate::trainer::{TrainOptions, Trainer};
use crate::validation::HeldOut;

/// The weighted scoring that these options ask for.
fn weighted(options: &TrainOptions, classes: &Classes) -> Result<Weighted> {
    if classes.len() != 2 {
        return Err(Error::NotTwoLabels { got: classes.len() });
    }
    match options.scoring_for(2) {
        Scoring::Weighted(weighted) => Ok(weighted),
        _ => Err(Error::NotWeighted),
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
    /// What was learned, where equal documents count once.
    known: HashSet<([u8; 16], ClassId)>,
}

impl Online {
    /// A filter that knows the two labels and nothing else.
    ///
    /// # Errors
    /// If there are not two labels, or the options are out of range or ask for another scoring than the weighted one.
    pub fn new<'a>(options: TrainOptions, labels: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let mut trainer = Trainer::new(TrainOptions { pairs: Pairs::Fixed, ..options })?;
        for label in labels.into_iter().collect::<HashSet<_>>() {
            trainer.class_of(label)?;
        }
        let weighted = weighted(&trainer.options, &trainer.classes)?;
        let positive = positive_class(&trainer.classes);
        Ok(Online { trainer, weighted, positive, correction: Correction::new(), known: HashSet::new() })
    }

    /// The labels, in the order of their class ids.
    pub fn classes(&self) -> &Classes {
        &self.trainer.classes
    }

    /// Scores a document with what was learned before it, then learns it, unless it is known and
    /// [`TrainOptions::repeat`] is off.
    ///
    /// # Errors
    /// If the document is not of the kind, or the label is not one of the two.
    pub fn next(&mut self, label: &str, document: crate::Document<'_>) -> Result<HeldOut> {
        let class = self.classes().index(label).ok_or(Error::NotTwoLabels { got: 3 })?;
        let n_features = self.trainer.parts[0].vocabulary.len() as u64;
        let totals = self.trainer.parts[0].statistics.totals().to_vec();
        self.trainer.count(document)?;
        let terms = self.trainer.parts[0].vocabulary.document();
        self.trainer.counted.rows(terms, |at| Some(terms[at].id));
        let scorer = WeightedLogOdds::new(self.weighted.alpha, &totals, n_features, self.positive)?;
        let options = self.weighted.correction.as_ref();
        let (statistics, correction) = (&self.trainer.parts[0].statistics, &self.correction);
        let raw = |row| {
            let Ok(score) = scorer.log_odds(statistics, row);
            score.map(|score| (score, options.map_or(score, |o| corrected(o, score, correction.value(row)))))
        };
        let counted = &self.trainer.counted;
        let whole = raw(counted.whole());
        let best =
            counted.windows().filter_map(raw).chain(whole).map(|(_, corrected)| corrected).reduce(f64::max);
        let (decision, spam) = (Decision::for_classes(self.classes()), spam_class(self.classes()));
        let score = verdict(&decision, self.positive, spam, best, usize::from(best.is_some()));
        let row = self.trainer.counted.whole();
        let digest = self.trainer.digest();
        let is_one = self.trainer.options.counts_once() && !row.is_empty();
        if is_one && !self.known.insert((digest, class)) {
            return Ok(HeldOut::of_two(class, score));
        }
        self.trainer.parts[0].statistics.observe(class, row)?;
        if let Some(options) = options {
            self.correction.step(options, row, class == self.positive, whole.map_or(0.0, |(score, _)| score));
        }
        Ok(HeldOut::of_two(class, score))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::{Document, Kind};

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
        assert_eq!(online.trainer.parts[0].statistics, trainer.parts[0].statistics);
    }
}
