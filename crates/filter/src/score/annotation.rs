//! What is written into a message about its score.

use tamis_mail::passthrough::{SpamStatus, Verdict};
use tamis_model::ClassId;

use crate::score::filter::Filter;
use crate::score::scratch::Scratch;
use crate::score::verdict::Score;

impl Filter {
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
