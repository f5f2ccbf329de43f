//! Scoring a document: extract, look up, sum, decide.

use tamis_mail::LimitsHit;
use tamis_model::{ClassId, Readings};

use crate::error::{ErrorKind, Result};
use crate::extract::counted::Counted;
use crate::extract::document::Document;
use crate::score::filter::Filter;
use crate::score::memo::{Additive, Memo};
use crate::score::scorer::{Scorer, WeightedScorer};
use crate::score::verdict::{Score, likeliest, verdict};

/// Reusable buffers and a cache of term weights: after a few documents, scoring hardly allocates and looks up only new
/// words. The cache holds the first 229,376 terms, or as many as fit in 32 MB of weights; about 60 MB in all. It starts
/// over when eight times as many terms found no room. When the scratch is used with another filter, what it caches of a
/// [shared model](Filter::set_fallback) behind both stays.
#[derive(Default)]
pub struct Scratch {
    pub(crate) counted: Counted,
    pub(crate) memo: Memo,
    readings: Readings,
    posterior: Vec<f64>,
}

impl Scratch {
    /// The posterior probability of every class for the last document, in class order.
    pub fn probabilities(&self) -> &[f64] {
        &self.posterior
    }

    /// Limits that truncated the last document; empty if it was read completely.
    ///
    /// ```
    /// use tamis_filter::{Document, Kind, Scratch, TrainOptions, Trainer};
    ///
    /// let mut trainer = Trainer::new(TrainOptions::new(Kind::Mail))?;
    /// trainer.add("ham", Document::Mail(b"Subject: lunch\n\nSoup at noon?\n"))?;
    /// trainer.add("spam", Document::Mail(b"Subject: pills\n\nCheap pills, buy now!\n"))?;
    /// let filter = trainer.finish()?.into_filter()?;
    ///
    /// let mut scratch = Scratch::default();
    /// filter.score_mail(&b"soup ".repeat(1_000_000), &mut scratch)?;
    /// assert_eq!(scratch.limits_hit().to_string(), "text");
    /// # Ok::<(), tamis_filter::Error>(())
    /// ```
    pub fn limits_hit(&self) -> LimitsHit {
        self.counted.limits_hit()
    }

    /// The missing columns of the last row, as indices into the columns of the recipe.
    pub fn missing(&self) -> &[usize] {
        self.counted.missing()
    }
}

impl Filter {
    /// Scores a raw RFC 5322 message.
    ///
    /// # Errors
    /// If the model is not for mail, or is damaged in a part that is read.
    pub fn score_mail(&self, raw: &[u8], scratch: &mut Scratch) -> Result<Score> {
        self.score(Document::Mail(raw), scratch)
    }

    /// Scores plain text.
    ///
    /// # Errors
    /// If the model is not for text, or is damaged in a part that is read.
    pub fn score_text(&self, text: &str, scratch: &mut Scratch) -> Result<Score> {
        self.score(Document::Text(text), scratch)
    }

    /// Scores named fields of text (the field with the empty name is the body) or a row of a table.
    ///
    /// # Errors
    /// If a cell does not suit its column, or the model is damaged in a part that is read.
    pub fn score_fields(&self, fields: &[(&str, &str)], scratch: &mut Scratch) -> Result<Score> {
        self.score(Document::Fields(fields), scratch)
    }

    /// Scores any document. If the model has a [spam label](Self::spam), a document whose text may have been left
    /// unread in part (see [`LimitsHit::text`]) is spam or unsure, whatever the thresholds.
    ///
    /// # Errors
    /// If the document is not of the model's kind, a cell does not suit its column, or the model is damaged in a part
    /// that is read.
    pub fn score(&self, document: Document<'_>, scratch: &mut Scratch) -> Result<Score> {
        let score = self.score_what_is_read(document, scratch)?;
        let is_open = scratch.limits_hit().text && self.spam().is_some() && score.label != self.spam();
        Ok(Score { label: score.label.filter(|_| !is_open), ..score })
    }

    fn score_what_is_read(&self, document: Document<'_>, scratch: &mut Scratch) -> Result<Score> {
        let known = match &self.scorer {
            Scorer::Weighted(scorer) => {
                self.add_up(scorer, document, scratch)?;
                let Scratch { memo, readings, posterior, .. } = &mut *scratch;
                scorer.log_odds.read_sums(&memo.sums, readings);
                scorer.log_odds.log_odds(readings, posterior);
                if scorer.is_of_two() {
                    return self.score_two(scorer, scratch);
                }
                readings.known_terms
            }
            Scorer::Robinson(scorer) => {
                self.add_up(scorer, document, scratch)?;
                let (log_odds, known_terms) = scorer.log_odds(&scratch.memo.sums);
                return Ok(self.decide(scorer.positive(), log_odds, known_terms, scratch));
            }
            Scorer::NaiveBayes(bayes) => {
                self.add_up(bayes, document, scratch)?;
                bayes.joint_log_likelihood_of(&scratch.memo.sums, &mut scratch.posterior)
            }
            Scorer::Expected(scorer) => {
                self.add_up(scorer, document, scratch)?;
                scorer.scores(&scratch.memo.sums, &mut scratch.posterior)
            }
            Scorer::Mixed(scorer) => {
                self.add_up(&**scorer, document, scratch)?;
                let Scratch { memo, counted, posterior, .. } = &mut *scratch;
                scorer.joint_log_likelihood(counted.reals(), &memo.sums, posterior)
            }
        };
        let posterior = &mut scratch.posterior;
        let score = likeliest(self.spam(), known, posterior);
        let least = self.least_probability.unwrap_or_default();
        let is_sure = |class: &ClassId| posterior[usize::from(*class)] >= least;
        Ok(Score { label: score.label.filter(is_sure), ..score })
    }

    /// Scores documents one after the other, and writes the posterior probability of every class to `probabilities`:
    /// one row per document, in class order. To use several threads, give each a part of `documents` and of the buffer,
    /// and a scratch of its own.
    ///
    /// ```
    /// use tamis_filter::{Document, Kind, Scratch, TrainOptions, Trainer};
    ///
    /// let mut trainer = Trainer::new(TrainOptions::new(Kind::Text))?;
    /// trainer.add("fruit", Document::Text("apples and pears"))?;
    /// trainer.add("metal", Document::Text("iron and tin"))?;
    /// let filter = trainer.finish()?.into_filter()?;
    ///
    /// let mut probabilities = [0.0; 4];
    /// let documents = ["a pear and apples", "tin"].map(Document::Text);
    /// filter.score_batch(&documents, &mut Scratch::default(), &mut probabilities)?;
    /// let [fruit, metal, ..] = probabilities;
    /// assert!(fruit > metal && fruit + metal == 1.0);
    /// # Ok::<(), tamis_filter::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Buffer`] if the length of `probabilities` is not documents times classes; [`ErrorKind::Document`]
    /// if a document cannot be scored. The rows of the documents before it are written.
    pub fn score_batch(
        &self,
        documents: &[Document<'_>],
        scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<()> {
        let n_classes = self.classes().len();
        let (expected, got) = (documents.len() * n_classes, probabilities.len());
        if expected != got {
            return Err(ErrorKind::Buffer { expected, got }.into());
        }
        for (place, (document, row)) in documents.iter().zip(probabilities.chunks_mut(n_classes)).enumerate()
        {
            self.score(*document, scratch)
                .map_err(|error| ErrorKind::Document { place, error: Box::new(error) })?;
            row.copy_from_slice(scratch.probabilities());
        }
        Ok(())
    }

    /// Scores a document between two classes, given their log-odds in the buffer of the posterior.
    fn score_two(&self, scorer: &WeightedScorer, scratch: &mut Scratch) -> Result<Score> {
        let known_terms = scratch.readings.known_terms;
        let mut log_odds = scratch.posterior.first().copied().unwrap_or(0.0);
        if scratch.counted.has_windows() {
            self.rows(scratch);
            let highest =
                scorer.best(self.layers(), &scratch.counted)?.map_or(log_odds, |(highest, _)| highest);
            log_odds = scorer.of_windows(highest);
        }
        Ok(self.decide(scorer.positive, log_odds, known_terms, scratch))
    }

    /// Decides by the log-odds of `positive`, one of two classes, and writes the posterior.
    fn decide(&self, positive: ClassId, log_odds: f64, known_terms: usize, scratch: &mut Scratch) -> Score {
        let score = verdict(&self.decision(), positive, self.spam(), log_odds, known_terms);
        scratch.posterior.clear();
        scratch.posterior.resize(2, 1.0 - score.probability);
        scratch.posterior[usize::from(score.scored_class)] = score.probability;
        score
    }

    /// Counts the terms of a document and sums their weights.
    fn add_up(&self, scorer: &impl Additive, document: Document<'_>, scratch: &mut Scratch) -> Result<()> {
        let Scratch { counted, memo, .. } = scratch;
        let shared = self.fallback().map(|shared| &shared.identity);
        memo.prepare(&self.identity, shared, scorer.n_sums(), self.extractor.recipe().pieces);
        let outcome = self.extractor.count(document, counted, &mut memo.terms);
        // also if counting failed midway: new terms must belong to one document only
        let added = memo.add_up(self.layers(), scorer);
        outcome.and(added)
    }

    /// Builds the rows of the counted document.
    pub(crate) fn rows(&self, Scratch { counted, memo, .. }: &mut Scratch) {
        let n_terms = self.layers().n_terms();
        counted.rows(memo.document(), |place| memo.id(place, n_terms));
    }
}
