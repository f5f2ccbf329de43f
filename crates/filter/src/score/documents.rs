//! Scoring a document: extract, look up, sum, decide; and what is written into a message about it.

use tamis_mail::passthrough::{SpamStatus, Verdict};
use tamis_model::ClassId;
use tamis_store::error::{Reason, Result};

use crate::extract::counted::CountedDocument;
use crate::extract::document::Document;
use crate::score::filter::Filter;
use crate::score::verdict::{Doubt, Score, likeliest, sigmoid, verdict};
use crate::scorers::parts::PartVerdict;
use crate::scorers::scratch::{LabelScore, Scratch};

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
    /// unread in part (see [`LimitsHit::text`](crate::LimitsHit::text)) is spam or unsure, whatever the thresholds.
    ///
    /// # Errors
    /// If the document is not of the model's kind, a cell does not suit its column, or the model is damaged in a part
    /// that is read.
    pub fn score(&self, document: Document<'_>, scratch: &mut Scratch) -> Result<Score> {
        let Scratch { counted, memo, .. } = &mut *scratch;
        let behind = self.fallback().map(|shared| &shared.identity);
        let sign = self.spam().zip(self.scorer.positive()).map(|(spam, it)| if spam == it { 1.0 } else { -1.0 });
        counted.want_parts(sign.is_some());
        memo.prepare(&self.identity, behind, self.scorer.n_sums(), self.extractor.recipe().pieces.is_some());
        let extracted = self.extractor.count(document, counted, &mut memo.terms);
        // also if counting failed midway: new terms must belong to one document only
        let summed = self.scorer.sum_weights(self.layers(), memo);
        extracted.and(summed)?;
        let known_terms = self.scorer.read_sums(self.layers(), scratch)?;
        scratch.part = sign.and_then(|sign| {
            let part = self.scorer.weigh_parts(scratch, sign)?;
            scratch.posterior.iter_mut().for_each(|z| *z += sign * part.lift);
            Some(part)
        });
        let score = match self.scorer.positive() {
            Some(positive) => self.decide(positive, known_terms, &mut scratch.posterior),
            None if self.scorer.has_many_labels() => self.choose_labels(known_terms, scratch),
            None => self.choose_likeliest(known_terms, &mut scratch.posterior),
        };
        let doubt = self.doubt(&score, scratch);
        let score = Score { label: score.label.filter(|_| doubt.is_none()), doubt, ..score };
        if !self.scorer.has_many_labels() {
            scratch.labels.clear();
            scratch.labels.extend(score.label.map(|label| self.label_score(&score, label)));
        }
        Ok(score)
    }

    /// Why the verdict of a spam filter is withheld.
    fn doubt(&self, score: &Score, scratch: &Scratch) -> Option<Doubt> {
        let (spam, is_spam) = (self.spam()?, score.label == self.spam());
        let is_mirrored = self.scorer.positive() != Some(spam);
        let is_worse = |part: &PartVerdict| match self.scorer.most_of_ham() {
            Some(most) => part.worst > most,
            None => self.judge(if is_mirrored { -part.worst } else { part.worst }).label == Some(spam),
        };
        let decision = self.decision();
        // of itself, whatever share of spam is expected
        let of_ham = if is_mirrored { -decision.upper } else { decision.lower };
        let says_ham = |part: &PartVerdict| part.header.is_some_and(|z| z <= of_ham);
        match &scratch.part {
            _ if !is_spam && scratch.limits_hit().text => Some(Doubt::Unread),
            Some(part) if !is_spam && is_worse(part) => Some(Doubt::Part),
            Some(part) if is_spam && says_ham(part) => Some(Doubt::Header),
            _ => None,
        }
    }

    /// Scores documents one after the other, and writes the posterior probability of every class to `probabilities`:
    /// one row per document, in class order. To use several threads, give each a part of `documents` and of the buffer,
    /// and a scratch of its own.
    ///
    /// ```
    /// use tamis_train::{Document, Kind, Scratch, TrainOptions, Trainer};
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
    /// # Ok::<(), tamis_train::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Settings`](crate::ErrorKind::Settings) if the length of `probabilities` is not documents times
    /// classes; [`ErrorKind::Document`](crate::ErrorKind::Document) if a document cannot be scored. The rows of the
    /// documents before it are written.
    pub fn score_batch(
        &self,
        documents: &[Document<'_>],
        scratch: &mut Scratch,
        probabilities: &mut [f64],
    ) -> Result<()> {
        let n_classes = self.classes().len();
        let (expected, got) = (documents.len() * n_classes, probabilities.len());
        if expected != got {
            return Err(Reason::Buffer { expected, got }.into());
        }
        for (place, (document, row)) in documents.iter().zip(probabilities.chunks_mut(n_classes)).enumerate()
        {
            self.score(*document, scratch)
                .map_err(|error| Reason::Document { place, error: Box::new(error.into_reason()) })?;
            row.copy_from_slice(scratch.probabilities());
        }
        Ok(())
    }

    /// The score of a document whose log-odds of the [`positive_class`](crate::positive_class) are known, in nats and before
    /// the shift to an expected prior; for models of two labels.
    pub fn judge(&self, log_odds: f64) -> Score {
        let positive = self.scorer.positive().unwrap_or_default();
        verdict(&self.decision(), positive, self.spam(), log_odds, 1)
    }

    /// The counts of the mail or text that was scored last with `scratch`, for later. Call
    /// [`keep_counts`](Scratch::keep_counts) before it is scored: otherwise its words are empty.
    pub fn counted(&self, scratch: &Scratch) -> CountedDocument {
        CountedDocument::new(self.extractor.recipe().kind, &scratch.counted, &scratch.memo.terms)
    }

    /// The score of the verdict: that of the other class if the score refers to spam.
    fn label_score(&self, score: &Score, label: ClassId) -> LabelScore {
        let Score { scored_class, probability, log_odds, .. } = *score;
        match label == scored_class {
            true => LabelScore { label, probability, log_odds },
            false => LabelScore { label, probability: 1.0 - probability, log_odds: -log_odds },
        }
    }

    /// Chooses the labels whose log-odds are above their thresholds. `posterior` has the log-odds of each label, and gets
    /// its probability.
    fn choose_labels(&self, known_terms: usize, scratch: &mut Scratch) -> Score {
        let Scratch { posterior, labels, .. } = scratch;
        let score = |(label, log_odds): (ClassId, &f64)| LabelScore {
            label,
            probability: sigmoid(*log_odds),
            log_odds: *log_odds,
        };
        let scored = || (0..=ClassId::MAX).zip(&*posterior).map(score);
        labels.clear();
        labels.extend(scored().filter(|of| of.log_odds > self.label_threshold(of.label)));
        labels.sort_by(|a, b| b.log_odds.total_cmp(&a.log_odds).then(a.label.cmp(&b.label)));
        let by_log_odds =
            |a: &LabelScore, b: &LabelScore| a.log_odds.total_cmp(&b.log_odds).then(b.label.cmp(&a.label));
        let likeliest = labels.first().copied().or_else(|| scored().max_by(by_log_odds));
        let likeliest = likeliest.unwrap_or(LabelScore { label: 0, probability: 0.5, log_odds: 0.0 });
        let label = labels.first().map(|of| of.label);
        posterior.iter_mut().for_each(|log_odds| *log_odds = sigmoid(*log_odds));
        let LabelScore { label: scored_class, probability, log_odds } = likeliest;
        Score { label, scored_class, probability, log_odds, known_terms, doubt: None }
    }

    /// Chooses the likeliest class. `posterior` has the joint log-likelihood of each, and gets its probability.
    fn choose_likeliest(&self, known_terms: usize, posterior: &mut [f64]) -> Score {
        let score = likeliest(self.spam(), known_terms, posterior);
        let least = self.least_probability.unwrap_or_default();
        let is_sure = |class: &ClassId| posterior[usize::from(*class)] >= least;
        Score { label: score.label.filter(is_sure), ..score }
    }

    /// Decides between two classes. `posterior` has the log-odds of `positive`, and gets the posterior of both.
    fn decide(&self, positive: ClassId, known_terms: usize, posterior: &mut Vec<f64>) -> Score {
        let log_odds = posterior.first().copied().unwrap_or(0.0);
        let score = verdict(&self.decision(), positive, self.spam(), log_odds, known_terms);
        posterior.clear();
        posterior.resize(2, 1.0 - score.probability);
        posterior[usize::from(score.scored_class)] = score.probability;
        score
    }

    /// A scratch that has looked up in this filter what `scratch` has looked up in another one. After a large model was
    /// opened anew, that takes as long as scoring hundreds of documents.
    pub(crate) fn warmed(&self, scratch: &Scratch) -> Scratch {
        let behind = self.fallback().map(|shared| &shared.identity);
        let mut memo = scratch.memo.with_same_terms(&self.identity, behind, self.scorer.n_sums());
        // terms that cannot be read are looked up again, and fail the documents that have them
        match self.scorer.sum_weights(self.layers(), &mut memo) {
            Ok(()) => Scratch { memo, ..Scratch::default() },
            Err(_) => Scratch::default(),
        }
    }

    /// The verdict on the document that was scored last with `scratch`, to write into its header; see
    /// [`tamis_mail::passthrough`]. Its reasons are empty, and its version is that of this crate.
    ///
    /// ```
    /// use tamis_train::{Document, Kind, Scratch, TrainOptions, Trainer};
    /// use tamis_mail::passthrough::annotate;
    ///
    /// let mut trainer = Trainer::new(TrainOptions::new(Kind::Mail))?;
    /// trainer.add("ham", Document::Mail(b"Subject: lunch\n\nSoup at noon?\n"))?;
    /// trainer.add("spam", Document::Mail(b"Subject: pills\n\nCheap pills, buy now!\n"))?;
    /// let filter = trainer.finish()?.into_filter()?;
    ///
    /// let (mail, mut scratch) = (b"Subject: offer\n\nCheap pills\n", Scratch::default());
    /// let score = filter.score_mail(mail, &mut scratch)?;
    /// let annotated = annotate(mail, &filter.verdict(&score, &scratch), false);
    /// assert!(String::from_utf8_lossy(&annotated).contains("\nX-Tamis: "));
    /// # Ok::<(), tamis_train::Error>(())
    /// ```
    pub fn verdict(&self, score: &Score, scratch: &Scratch) -> Verdict<'_> {
        Verdict {
            label: self.label_of(score),
            unsure: score.label.is_none(),
            probability: score.probability,
            log_odds: score.log_odds,
            spam: self.spam().map(|spam| SpamStatus {
                is_spam: score.label == Some(spam),
                score: against_likeliest(spam, scratch.probabilities()).unwrap_or(score.log_odds),
                threshold: self.spam_threshold(),
            }),
            truncated: !scratch.limits_hit().is_empty(),
            reasons: "",
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

/// With more than two classes, the log-odds of one class against the likeliest other, which are above 0 for the
/// likeliest.
fn against_likeliest(class: ClassId, probabilities: &[f64]) -> Option<f64> {
    let others = probabilities.iter().enumerate().filter(|(other, _)| *other != usize::from(class));
    let other = others.map(|(_, p)| *p).fold(f64::MIN_POSITIVE, f64::max);
    (probabilities.len() > 2).then(|| (probabilities[usize::from(class)].max(f64::MIN_POSITIVE) / other).ln())
}
