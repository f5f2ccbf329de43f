//! Scoring a document: extract, look up, sum, decide; and what is written into a message about it.

use tamis_mail::passthrough::{SpamStatus, Verdict};
use tamis_model::ClassId;
use tamis_store::config::decision::Decision;
use tamis_store::config::labels::spam_class;
use tamis_store::error::{Reason, Result};

use crate::extract::counted::CountedDocument;
use crate::extract::document::Document;
use crate::extract::part_verdict::PartVerdict;
use crate::score::filter::Filter;
use crate::score::verdict::{Doubt, Score, likeliest, sigmoid, verdict};
use crate::scorers::scratch::{LabelScore, Scratch};

/// A model that has learned as much ham judges headers by themselves.
const ENOUGH_HAM: u64 = 200;

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
    /// unread in part (see [`LimitsHit::text`](crate::LimitsHit::text)) is spam or unsure, whatever the thresholds; other
    /// verdicts may be withheld too, see [`Doubt`].
    ///
    /// # Errors
    /// If the document is not of the model's kind, a cell does not suit its column, or the model is damaged in a part
    /// that is read.
    pub fn score(&self, document: Document<'_>, scratch: &mut Scratch) -> Result<Score> {
        let Scratch { counted, memo, .. } = &mut *scratch;
        let behind = self.fallback().map(|shared| &shared.identity);
        let weighs_parts = self.weighs_parts();
        counted.want_parts(weighs_parts);
        memo.prepare(&self.identity, behind, self.scorer.n_sums(), self.extractor.recipe().pieces.is_some());
        let extracted = self.extractor.count(document, counted, &mut memo.terms);
        // also if counting failed midway: new terms must belong to one document only
        let summed = self.scorer.sum_weights(self.layers(), memo);
        extracted.and(summed)?;
        let known_terms = self.scorer.read_sums(self.layers(), scratch)?;
        scratch.part = match document {
            Document::Counted(of) => of.part.clone(),
            _ if weighs_parts => self.scorer.weigh_parts(scratch),
            _ => None,
        };
        if let (Some(part), [z]) = (&scratch.part, &mut scratch.posterior[..]) {
            *z += part.lift;
            scratch.lifted = *z;
        }
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

    /// Why the verdict of a spam filter is withheld; `None` if it is not, or is unsure anyway.
    fn doubt(&self, score: &Score, scratch: &Scratch) -> Option<Doubt> {
        let is_spam = score.label? == self.spam()?;
        let of_part = scratch.part.as_ref().map(|part| self.doubts_of(part));
        let [of_ham, of_spam] = of_part.unwrap_or_default().map(|nats| nats > 0.0);
        match is_spam {
            false if scratch.limits_hit().text => Some(Doubt::Unread),
            false if of_ham => Some(Doubt::Part),
            false if self.weighs_parts() && self.is_unfamiliar(scratch) => Some(Doubt::Unfamiliar),
            true if of_spam => Some(Doubt::Header),
            _ => None,
        }
    }

    /// Whether the model hardly knows the language of a mail: in one of which it has many documents, a good share of the
    /// running words of a body are words that more than a handful of them have.
    fn is_unfamiliar(&self, scratch: &Scratch) -> bool {
        let documents: u64 = self.layers().totals().iter().map(|of_class| of_class.documents).sum();
        // a model of fewer knows little of any language
        let Some(beyond) = documents.checked_sub(50) else { return false };
        let few = (beyond / 300).min(10) as u8;
        let [words, common] = scratch.memo.occurrences(&scratch.counted.facts.body_words, few);
        words >= 20 && 5 * common < words
    }

    /// By how much the worst part of a document speaks against ham, and its header against spam, in nats; 0 if it does not. The
    /// header is judged by itself, whatever share of spam is expected, and not by a model that has seen little ham.
    fn doubts_of(&self, part: &PartVerdict) -> [f64; 2] {
        let totals = self.layers().totals().iter().zip(0..);
        let ham = totals.filter(|(_, class)| Some(*class) != self.spam()).map(|(of_ham, _)| of_ham.documents);
        let header = part.header.filter(|_| ham.sum::<u64>() >= ENOUGH_HAM);
        let against_ham = part.worst - self.scorer.most_of_ham().unwrap_or(self.spam_thresholds()[1]);
        let against_spam = self.decision().lower - header.unwrap_or(f64::INFINITY);
        [against_ham, against_spam].map(|nats| nats.max(0.0))
    }

    /// For the document that was scored last: what its parts add to the log-odds of spam that a correction has to overcome to
    /// make it ham, and spam.
    pub fn shifts(&self, scratch: &Scratch) -> Option<[f64; 2]> {
        let (part, [lower, upper]) = (scratch.part.as_ref()?, self.spam_thresholds());
        let [against_ham, against_spam] = self.doubts_of(part);
        let (z, whole) = (scratch.lifted, scratch.lifted - part.lift);
        let to_ham = z.max(if against_ham > 0.0 { lower + against_ham } else { whole });
        let to_spam = z.min(if against_spam > 0.0 { upper - against_spam } else { z });
        Some([to_ham - whole, to_spam - whole])
    }

    /// The log-odds of spam up to which a document is ham, and above which it is spam, before the shift of the prior.
    fn spam_thresholds(&self) -> [f64; 2] {
        let Decision { shift, lower, upper } = self.decision();
        [lower - shift, upper - shift]
    }

    /// Whether parts of documents are scored too: in a model that was trained as a spam filter.
    fn weighs_parts(&self) -> bool {
        let spam = spam_class(self.classes());
        spam.is_some() && spam == self.spam() && spam == self.scorer.positive()
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
        Reason::Buffer { expected, got }.unless(expected == got)?;
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
        let Scratch { counted, memo, part, .. } = scratch;
        CountedDocument::new(self.extractor.recipe().kind, counted, &memo.terms, part.clone())
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
            doubt: score.doubt.map_or("", Doubt::name),
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

#[cfg(test)]
mod tests {
    use tamis_train::{Document as Taught, Kind, TrainOptions, Trainer};

    use super::*;

    const GERMAN: &str = "wir treffen uns morgen um zehn im kleinen Saal und reden noch einmal über den Plan für das \
        nächste Jahr, bevor ihn alle anderen sehen";

    fn mail(host: &str, body: &str) -> String {
        format!(
            "Received: from {host} by mx.example.org\nSubject: note\nFrom: a@{host}\nDate: Tue, 1 Oct 2024 10:00:00 +0000\n\n{body}\n"
        )
    }

    /// A model of `n` mails of each label, and of a ham in German.
    fn model(n: u32) -> Filter {
        let mut trainer = Trainer::new(TrainOptions::new(Kind::Mail)).unwrap();
        for i in 0..n {
            let body = format!("we will meet at noon to talk about the plan for the next year, item {i}");
            trainer.add("ham", Taught::Mail(mail("friends.example", &body).as_bytes())).unwrap();
            let body = format!("buy cheap pills at our shop, the best offer of the year for you, number {i}");
            trainer.add("spam", Taught::Mail(mail("shop.example", &body).as_bytes())).unwrap();
        }
        trainer.add("ham", Taught::Mail(mail("friends.example", GERMAN).as_bytes())).unwrap();
        Filter::from_bytes(trainer.finish().unwrap().as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn a_language_that_few_documents_have_is_not_ham() {
        let (filter, mut scratch) = (model(200), Scratch::default());
        scratch.keep_counts(true);
        let english = "we will talk about the next year at noon, and about the plan for it, to meet the year with a plan";
        let mut score = |host, body: &str| {
            let score = filter.score_mail(mail(host, body).as_bytes(), &mut scratch).unwrap();
            let counted = filter.counted(&scratch);
            assert_eq!(filter.score(Document::Counted(&counted), &mut scratch).unwrap(), score);
            (filter.label_of(&score).to_owned(), score.doubt == Some(Doubt::Unfamiliar))
        };
        assert_eq!(score("friends.example", english), ("ham".to_owned(), false));
        assert_eq!(score("friends.example", GERMAN), ("unsure".to_owned(), true));
        // what is too short to tell, or quotes what is known
        assert_eq!(score("friends.example", "bis morgen im Saal"), ("ham".to_owned(), false));
        assert_eq!(score("friends.example", &format!("{GERMAN}\n{english}")), ("ham".to_owned(), false));
        // what nobody has learned, from where spam comes
        let finnish = "tapaamme huomenna kello kymmenen pienessä salissa ja puhumme vielä kerran ensi vuoden suunnitelmasta \
            ennen kuin kaikki muut näkevät sen ja kysyvät meiltä siitä";
        assert_eq!(score("friends.example", finnish), ("unsure".to_owned(), true));
        assert_eq!(score("shop.example", finnish), ("spam".to_owned(), false));
    }

    #[test]
    fn a_new_model_is_not_asked_for_languages() {
        let (filter, mut scratch) = (model(20), Scratch::default());
        let score = filter.score_mail(mail("friends.example", GERMAN).as_bytes(), &mut scratch).unwrap();
        assert_eq!((filter.label_of(&score), score.doubt == Some(Doubt::Unfamiliar)), ("ham", false));
    }
}
