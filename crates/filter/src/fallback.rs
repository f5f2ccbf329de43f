//! A shared model behind a user's own.

use std::sync::Arc;

use tamis_model::Counts;

use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::merge;
use crate::scorer::Scorer;
use crate::scoring::Scoring;
use crate::store::{Layers, Sums};

/// The shared model, and what it comes to with the one before it.
pub(crate) struct Fallback {
    shared: Arc<Filter>,
    sums: Sums,
}

impl Filter {
    /// Puts a shared model behind this one, so that whoever has learned little yet is served by what others have:
    /// documents are scored by the counts and the correction of both, added up, as if the models were
    /// [merged](crate::merge). Calibration and thresholds are those of the shared model, unless
    /// [set](Self::set_decision) for this one. Nothing is written anywhere.
    ///
    /// Of more than 4,096 terms it is an estimate how many of them both know, on which the smoothing depends a little.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tamis_filter::{Document, Kind, Scratch, TrainOptions, Trainer};
    ///
    /// let train = |spam: &str, ham: &str| {
    ///     let mut trainer = Trainer::new(TrainOptions::new(Kind::Text))?;
    ///     trainer.add("spam", Document::Text(spam))?;
    ///     trainer.add("ham", Document::Text(ham))?;
    ///     trainer.finish()?.into_filter()
    /// };
    /// let shared = Arc::new(train("cheap pills", "lunch at noon")?);
    /// let mut own = train("a newsletter", "a meeting")?;
    /// own.set_fallback(shared)?;
    /// let score = own.score_text("newsletter: pills", &mut Scratch::default())?;
    /// assert_eq!(score.known_terms, 2);
    /// # Ok::<(), tamis_filter::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Unlike`] if recipes, labels or scoring differ, or the scoring is not weighted; if a number outgrows what
    /// a model can hold, or a model is damaged.
    pub fn set_fallback(&mut self, shared: Arc<Filter>) -> Result<()> {
        merge::check(&[&self.store, &shared.store])?;
        let unlike = |setting: &str, expected: String, got: String| {
            Err(Error::Unlike { setting: setting.to_owned(), expected, got })
        };
        if self.classes() != shared.classes() {
            let labels = |filter: &Filter| {
                filter.classes().iter().map(|(_, label)| label).collect::<Vec<_>>().join(", ")
            };
            return unlike("labels", labels(self), labels(&shared));
        }
        if !matches!(self.store.header.scoring, Scoring::Weighted(_)) {
            return unlike("scoring", "weighted".to_owned(), "naive Bayes".to_owned());
        }
        let before = self.fallback.replace(Fallback { shared, sums: Sums::default() });
        let outcome = self.settle();
        if outcome.is_err() {
            self.fallback = before;
        }
        outcome
    }

    /// The shared model behind this one.
    pub fn fallback(&self) -> Option<&Arc<Filter>> {
        self.fallback.as_ref().map(|fallback| &fallback.shared)
    }

    /// Derives scoring anew from counts that are others now.
    pub(crate) fn settle(&mut self) -> Result<()> {
        let sums = self.fallback.as_ref().map(|fallback| Sums::new(&self.store, &fallback.shared.store));
        if let (Some(fallback), Some(sums)) = (&mut self.fallback, sums) {
            fallback.sums = sums?;
        }
        if !matches!(self.scorer, Scorer::NaiveBayes(_)) {
            let (layers, header) = (self.layers(), &self.fallback().map_or(&self.store, |s| &s.store).header);
            self.scorer = Scorer::new(header, layers.totals(), layers.n_features(), &layers.bias()?)?;
        }
        // what a scratch remembers of terms is no longer so
        self.identity = Arc::default();
        Ok(())
    }

    /// What scoring is of.
    pub(crate) fn layers(&self) -> Layers<'_> {
        Layers::new(
            &self.store,
            self.fallback.as_ref().map(|fallback| (&fallback.shared.store, &fallback.sums)),
        )
    }
}

#[cfg(test)]
mod tests;
