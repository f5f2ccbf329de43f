//! The buffers of a thread that scores.

use tamis_mail::LimitsHit;
use tamis_model::Readings;

use crate::extract::counted::Counted;
use crate::score::memo::Memo;
use crate::store::layers::Layers;

/// Reusable buffers and a cache of term weights: after a few documents, scoring hardly allocates and looks up only new
/// words. The cache holds the first 229,376 terms, or as many as fit in 32 MB of weights; about 60 MB in all. It starts
/// over once eight times as many terms have found no room. When the scratch is used with another filter, it keeps what
/// it caches of a [shared model](crate::Filter::set_fallback) behind both.
#[derive(Default)]
pub struct Scratch {
    pub(crate) counted: Counted,
    pub(crate) memo: Memo,
    pub(crate) readings: Readings,
    pub(crate) posterior: Vec<f64>,
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

    /// Builds the rows of the counted document.
    pub(crate) fn build_rows(&mut self, layers: Layers<'_>) {
        let Scratch { counted, memo, .. } = self;
        let n_terms = layers.n_terms();
        counted.rows(memo.document(), |place| memo.id(place, n_terms));
    }
}
