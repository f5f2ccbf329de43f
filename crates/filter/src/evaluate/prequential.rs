//! Prequential evaluation (test-then-train): score each document with what was learned before it, then learn it.

use std::collections::HashSet;

use tamis_model::{
    ClassId, Classes, CorrectedStatistics, Correction, Counts, InMemory, Labelled, Readings, Statistics,
    WeightedLogOdds, WeightedOptions,
};
use tamis_tokenizer::{CountRow, CountVector};

use crate::config::decision::Decision;
use crate::config::roles::{positive_class, spam_class};
use crate::config::scoring::{Chosen, Scoring};
use crate::config::training::{Pairs, TrainOptions};
use crate::error::{ErrorKind, Result};
use crate::evaluate::cross_validation::HeldOutScore;
use crate::file::groups;
use crate::score::verdict::verdict;
use crate::train::fitting::{self, FittedWeights, LATEST};
use crate::train::trainer::Trainer;
use crate::update::learner::Learner;

/// The options of weighted scoring.
fn weighted(options: &TrainOptions, classes: &Classes) -> Result<WeightedOptions> {
    if classes.len() != 2 {
        return Err(ErrorKind::NotTwoLabels { got: classes.len() }.into());
    }
    match options.scoring() {
        Scoring::Weighted(weighted) => Ok(weighted),
        _ => Err(ErrorKind::NotWeighted.into()),
    }
}

/// Prequential evaluation: predicts, then learns, message after message, like the ideal user of TREC's spam track, who
/// corrects every mistake at once. Refits like a [`Learner`] of a small model: everything up to 2,000 documents,
/// whenever a quarter of them is new; later the stacking weights, about every hundred documents. A `Learner` does the
/// latter whenever it rewrites its file, which happens when the file has doubled.
///
/// ```
/// use tamis_filter::{Document, Kind, Prequential, TrainOptions};
///
/// let mut online = Prequential::new(TrainOptions::new(Kind::Text), ["ham", "spam"])?;
/// online.next("spam", Document::Text("cheap pills"))?;
/// online.next("ham", Document::Text("lunch at noon"))?;
/// let held_out = online.next("spam", Document::Text("pills for you"))?;
/// assert!(held_out.score.log_odds > 0.0);
/// # Ok::<(), tamis_filter::Error>(())
/// ```
pub struct Prequential {
    trainer: Trainer,
    options: WeightedOptions,
    positive: ClassId,
    chosen: Chosen,
    correction: Correction,
    /// The documents learned, as long as everything is refitted.
    taught: Vec<Taught>,
    /// Held-out scores of documents, and whether they are positive.
    judged: Vec<([f64; 2], bool)>,
    /// Documents since the last full fit, and since the last fit of the stacking weights.
    unfitted: usize,
    unsettled: usize,
    /// Documents known, if equal documents count once.
    known: HashSet<([u8; 16], ClassId)>,
}

/// A document that was learned.
struct Taught {
    row: CountVector,
    windows: Vec<CountVector>,
    class: ClassId,
    group: u64,
}

/// About as many documents as fill the log of a small model before it is rewritten.
const LOGGED: usize = 128;

impl Prequential {
    /// An empty filter with two labels.
    ///
    /// # Errors
    /// There are not two labels, or the options are out of range or not for weighted scoring.
    pub fn new<'a>(options: TrainOptions, labels: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let mut trainer = Trainer::new(TrainOptions { pairs: Pairs::Fixed, ..options })?;
        for label in labels.into_iter().collect::<HashSet<_>>() {
            trainer.class_of(label)?;
        }
        let options = weighted(&trainer.options, &trainer.classes)?;
        options.check()?;
        Ok(Prequential {
            positive: positive_class(&trainer.classes),
            chosen: Chosen::for_options(&options, 2),
            trainer,
            options,
            correction: Correction::default(),
            taught: Vec::new(),
            judged: Vec::new(),
            unfitted: 0,
            unsettled: 0,
            known: HashSet::new(),
        })
    }

    /// The labels, in the order of their class ids.
    pub fn classes(&self) -> &Classes {
        &self.trainer.classes
    }

    /// Scores a document with what was learned before it, then learns it, unless it is known and
    /// [`TrainOptions::repeat`] is off.
    ///
    /// # Errors
    /// The document is of another kind, or the label is not one of the two.
    pub fn next(&mut self, label: &str, document: crate::Document<'_>) -> Result<HeldOutScore> {
        let class = self.classes().index(label).ok_or(ErrorKind::NotTwoLabels { got: 3 })?;
        let n_features = self.trainer.parts[0].vocabulary.len() as u64;
        let totals = self.trainer.parts[0].statistics.totals().to_vec();
        self.trainer.count(document)?;
        let terms = self.trainer.parts[0].vocabulary.document();
        self.trainer.counted.rows(terms, |at| Some(terms[at].id));
        let (choices, bias) = (self.chosen.in_use(), self.correction.bias());
        let scorer = WeightedLogOdds::new(choices, bias, &totals, n_features, self.positive)?;
        let (counted, statistics) = (&self.trainer.counted, &self.trainer.parts[0].statistics);
        let row = counted.whole();
        let parts = std::iter::once(row).chain(counted.windows());
        let read = |row| self.read(&scorer, statistics, row);
        let known = parts.map(read).filter(|(_, _, known_terms)| *known_terms > 0);
        let best = known.map(|(z, both, _)| (z, both)).max_by(|a, b| a.0.total_cmp(&b.0));
        let by_shares = || read(CountRow::default()).0;
        let [slope, offset] = if counted.has_windows() { choices.line } else { [1.0, 0.0] };
        let log_odds = slope * best.map_or_else(by_shares, |(z, _)| z) + offset;
        let (decision, spam) = (Decision::for_classes(self.classes()), spam_class(self.classes()));
        let known_terms = usize::from(best.is_some());
        let held_out =
            HeldOutScore::of_two(class, verdict(&decision, self.positive, spam, log_odds, known_terms));
        let is_one = self.trainer.options.counts_once() && !row.is_empty();
        if is_one && !self.known.insert((self.trainer.digest(), class)) {
            return Ok(held_out);
        }
        if totals.iter().all(|totals| totals.documents > 0) {
            self.judged.extend(best.map(|(_, both)| (both, class == self.positive)));
        }
        let taught = Taught {
            row: CountVector::from_pairs(row.iter()).unwrap_or_default(),
            windows: counted
                .windows()
                .map(|row| CountVector::from_pairs(row.iter()).unwrap_or_default())
                .collect(),
            class,
            group: groups::group(None, counted.body_hash()),
        };
        self.learn(&scorer, taught)?;
        Ok(held_out)
    }

    /// The log-odds of a row, those of counts and correction, and the number of known terms.
    fn read(
        &self,
        scorer: &WeightedLogOdds,
        counts: &Statistics,
        row: CountRow<'_>,
    ) -> (f64, [f64; 2], usize) {
        let (mut readings, mut z) = (Readings::default(), Vec::new());
        let correction = self.options.correction.then_some(&self.correction);
        let Ok(()) = scorer.read(&mut CorrectedStatistics::new(counts, correction), row, &mut readings);
        scorer.log_odds(&readings, &mut z);
        (z[0], scorer.counts_and_correction(&readings), readings.known_terms)
    }

    fn learn(&mut self, scorer: &WeightedLogOdds, taught: Taught) -> Result<()> {
        let statistics = &mut self.trainer.parts[0].statistics;
        let row = taught.row.row();
        if self.options.correction {
            let what = (row, taught.class, 1);
            let mut terms = CorrectedStatistics::new(statistics, Some(&self.correction));
            let Ok(coefficients) = scorer.correct_one(&mut terms, statistics.totals(), &self.options, what);
            self.correction.add(row, &coefficients)?;
        }
        statistics.observe(taught.class, row)?;
        let n: u64 = statistics.totals().iter().map(|totals| totals.documents).sum();
        (self.unfitted, self.unsettled) = (self.unfitted + 1, self.unsettled + 1);
        self.taught.push(taught);
        if n > Learner::MOST_REFITTED {
            self.taught.clear();
        } else if self.unfitted as u64 > n / 4 {
            return self.fit();
        }
        if self.unsettled >= LOGGED && self.options.correction {
            let latest = &self.judged[self.judged.len().saturating_sub(LATEST)..];
            let latest: Vec<_> =
                latest.iter().map(|(both, is_positive)| (*both, *is_positive, 1.0)).collect();
            let of_windows = self.trainer.options.recipe.windows.is_some();
            self.chosen.refitted = Some(self.chosen.choices.refitted(&latest, of_windows));
            self.unsettled = 0;
        }
        Ok(())
    }

    /// Refits everything.
    fn fit(&mut self) -> Result<()> {
        let (statistics, classes) = (&self.trainer.parts[0].statistics, &self.trainer.classes);
        let documents = self.taught.iter().map(|taught| {
            let Taught { class, group, .. } = *taught;
            Labelled { row: taught.row.row(), class, multiplicity: 1, group }
        });
        let documents: Vec<_> = documents.collect();
        let windows: Vec<Vec<_>> =
            self.taught.iter().map(|taught| taught.windows.iter().map(CountVector::row).collect()).collect();
        let windows = if self.trainer.options.recipe.windows.is_some() { &windows[..] } else { &[] };
        let smoothing = fitting::smoothing(&self.options, statistics, &documents, classes)?;
        let decide = |_: &[(f64, bool)]| Ok(Decision::PLAIN);
        let kind = self.trainer.options.recipe.kind;
        let copies_are_apart =
            groups::copies_are_apart(kind, documents.iter().map(|document| document.group));
        let all = InMemory { documents: &documents, windows, copies_are_apart };
        let fitted = fitting::fit((&self.options, smoothing), decide, statistics, &all, classes)?;
        let judged = fitted.held_out.iter();
        self.judged = judged.map(|(at, both)| (*both, documents[*at].class == self.positive)).collect();
        if let FittedWeights::Correction(correction, _) = fitted.weights {
            self.correction = correction;
        }
        self.chosen = fitted.chosen.unwrap_or(Chosen::for_options(&self.options, 2));
        (self.unfitted, self.unsettled) = (0, 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::document::Document;
    use crate::kind::Kind;

    #[test]
    fn online_learning_starts_from_nothing() {
        let mut online = Prequential::new(TrainOptions::new(Kind::Text), ["spam", "ham"]).unwrap();
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
        let mut online = Prequential::new(TrainOptions::new(Kind::Text), ["a", "b"]).unwrap();
        let mut trainer = Trainer::new(TrainOptions::new(Kind::Text)).unwrap();
        for (label, text) in [("a", "x y z"), ("b", "x q"), ("a", "z z z")] {
            online.next(label, Document::Text(text)).unwrap();
            trainer.add(label, Document::Text(text)).unwrap();
        }
        assert_eq!(online.trainer.parts[0].statistics, trainer.parts[0].statistics);
    }
}
