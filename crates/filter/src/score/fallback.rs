//! A shared model as fallback for a user's own model.

use std::sync::Arc;

use tamis_store::config::training::TrainOptions;
use tamis_store::error::{Error, Result};
use tamis_store::store::information::check_compatible;
use tamis_store::store::layers::CombinedSums;

use crate::score::filter::{CurrentFilter, Fallback, Filter};

impl Filter {
    /// The options of a model that can have this one [behind it](Filter::set_fallback): the same recipe and scoring.
    pub fn options_behind(&self) -> TrainOptions {
        let header = &self.store.header;
        let mut options = TrainOptions::new(header.recipe.kind);
        (options.recipe, options.scoring) = (header.recipe.clone(), Some(header.scoring.options()));
        options.refinements.clear();
        options.names = header.stored.names;
        options
    }

    /// Sets a shared model as fallback, which helps a user's model that has learned little yet. Documents are scored by
    /// the summed counts and corrections of both, as if the models were merged. Calibration and
    /// thresholds are those of the shared model, unless [set](Self::set_decision) for this one. Nothing is written
    /// anywhere.
    ///
    /// Beyond 4,096 terms, the number of common terms, on which smoothing depends slightly, is estimated.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tamis_train::{Document, Kind, Scratch, TrainOptions, Trainer};
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
    /// # Ok::<(), tamis_train::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Settings`](crate::ErrorKind::Settings) if recipes, labels or scoring differ, or the scoring is not
    /// weighted. Other errors if a number exceeds what a model can hold, or a model is damaged.
    pub fn set_fallback(&mut self, shared: Arc<Filter>) -> Result<()> {
        self.put_behind(shared, None)
    }

    pub(super) fn put_behind(&mut self, shared: Arc<Filter>, live: Option<Arc<CurrentFilter>>) -> Result<()> {
        check_compatible(&[&self.store, &shared.store])?;

        if self.store.header.classes != shared.store.header.classes {
            return Err(Error::incompatible("labels", self.classes(), shared.classes()));
        }
        if self.store.header.scoring.chosen().is_none() {
            return Err(Error::incompatible("scoring", "weighted", "naive Bayes"));
        }
        let sums = CombinedSums::new(&self.store, &shared.store)?;
        let before = self.fallback.replace(Fallback { shared, sums, live });
        let outcome = self.rederive();
        if outcome.is_err() {
            self.fallback = before;
        }
        outcome
    }
}
