//! The buffers of a thread that scores.

use tamis_mail::LimitsHit;
use tamis_model::{ClassId, Readings};
use tamis_store::store::layers::Layers;

use crate::extract::counted::Counted;
use crate::score::memo::Memo;

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
    pub(crate) labels: Vec<LabelScore>,
}

/// A label of a document, with its score.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct LabelScore {
    /// The label.
    pub label: ClassId,
    /// The probability that the document has it.
    pub probability: f64,
    /// Its log-odds, in nats.
    pub log_odds: f64,
}

impl Scratch {
    /// The posterior probability of every class for the last document, in class order. Those of many labels need not sum
    /// to 1.
    pub fn probabilities(&self) -> &[f64] {
        &self.posterior
    }

    /// The labels of the last document, the likeliest first: any number of them in a model of
    /// [many labels](crate::Filter::has_many_labels), otherwise the verdict, or none if it is unsure.
    ///
    /// ```
    /// use tamis_train::options::Labels;
    /// use tamis_train::{Document, Kind, Scratch, TrainOptions, Trainer, join_labels};
    ///
    /// let mut options = TrainOptions::new(Kind::Text);
    /// options.labels = Labels::Many;
    /// let mut trainer = Trainer::new(options)?;
    /// for _ in 0..20 {
    ///     trainer.add("fruit", Document::Text("apples and pears"))?;
    ///     trainer.add("metal", Document::Text("iron and tin"))?;
    ///     trainer.add(&join_labels(["fruit", "metal"]), Document::Text("tin of pears"))?;
    ///     trainer.add(&join_labels([]), Document::Text("rain and wind"))?;
    /// }
    /// let (filter, mut scratch) = (trainer.finish()?.into_filter()?, Scratch::default());
    /// let mut labels = |text| -> Result<Vec<&str>, tamis_train::Error> {
    ///     filter.score_text(text, &mut scratch)?;
    ///     Ok(scratch.labels().iter().filter_map(|of| filter.classes().label(of.label)).collect())
    /// };
    /// assert_eq!(labels("a pear and apples")?, ["fruit"]);
    /// assert_eq!(labels("tin of pears")?.len(), 2);
    /// assert_eq!(labels("wind")?.len(), 0);
    /// # Ok::<(), tamis_train::Error>(())
    /// ```
    pub fn labels(&self) -> &[LabelScore] {
        &self.labels
    }

    /// Limits that truncated the last document; empty if it was read completely.
    ///
    /// ```
    /// use tamis_train::{Document, Kind, Scratch, TrainOptions, Trainer};
    ///
    /// let mut trainer = Trainer::new(TrainOptions::new(Kind::Mail))?;
    /// trainer.add("ham", Document::Mail(b"Subject: lunch\n\nSoup at noon?\n"))?;
    /// trainer.add("spam", Document::Mail(b"Subject: pills\n\nCheap pills, buy now!\n"))?;
    /// let filter = trainer.finish()?.into_filter()?;
    ///
    /// let mut scratch = Scratch::default();
    /// filter.score_mail(&b"soup ".repeat(1_000_000), &mut scratch)?;
    /// assert_eq!(scratch.limits_hit().to_string(), "text");
    /// # Ok::<(), tamis_train::Error>(())
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
