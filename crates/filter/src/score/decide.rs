//! Changing where an open filter draws the line between labels.

use tamis_store::config::decision::{Decision, DecisionOptions};
use tamis_store::config::labels::positive_class;
use tamis_store::config::scoring::Scoring;
use tamis_store::error::{Error, Result};

use crate::score::filter::Filter;

impl Filter {
    /// Applies options of decisions to an open filter: the prior and the cost of a model of two labels, and for any
    /// model the probability below which it is unsure. `max_fpr` needs held-out scores and is for training.
    ///
    /// ```
    /// use tamis_train::{DecisionOptions, Document, Kind, TrainOptions, Trainer};
    ///
    /// let mut trainer = Trainer::new(TrainOptions::new(Kind::Text))?;
    /// trainer.add("ham", Document::Text("lunch at noon"))?;
    /// trainer.add("spam", Document::Text("cheap pills"))?;
    /// let mut filter = trainer.finish()?.into_filter()?;
    /// let mut options = DecisionOptions::default();
    /// options.cost = Some(99.0);
    /// filter.decide_by(&options)?;
    /// assert!((filter.spam_threshold() - 99f64.ln()).abs() < 1e-12);
    /// # Ok::<(), tamis_train::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Settings`](crate::ErrorKind::Settings) if a value is out of range, or a prior or a cost is for a
    /// model that is not one of two labels with weighted scoring. The filter is unchanged then.
    pub fn decide_by(&mut self, options: &DecisionOptions) -> Result<()> {
        options.check()?;
        if self.has_many_labels() {
            return self.decide_labels_by(options);
        }
        if let Some(probability) = options.unsure {
            self.set_unsure(probability)?;
        }
        if options.prior.is_none() && options.cost.is_none() {
            return Ok(());
        }
        let has_thresholds =
            matches!(self.information().scoring, Scoring::Weighted(_) | Scoring::RobinsonFisher(_));
        let got = self.classes().len();
        let message = format_args!("expected a model of two labels with weighted scoring, got {got} labels");
        Error::ensure_option(has_thresholds && got == 2, "prior and cost", message)?;
        let mut decision = self.decision();
        if let Some(share) = options.prior {
            // log-odds are calibrated for the spam share of the shared model, if there is one
            let calibrated: &Filter = self.fallback().map_or(self, |shared| shared);
            let information = calibrated.information();
            let all: u64 = information.totals.iter().map(|t| t.documents).sum();
            let positive = information.totals[usize::from(positive_class(self.classes()))].documents;
            decision = decision.with_prior(share, positive as f64 / all as f64)?;
        }
        if let Some(cost) = options.cost {
            let is_mirrored = self.is_spam_filter() && self.spam() != Some(positive_class(self.classes()));
            decision = match is_mirrored {
                true => decision.mirrored().with_cost(cost)?.mirrored(),
                false => decision.with_cost(cost)?,
            };
        }
        self.set_decision(decision);
        Ok(())
    }

    /// Gives all of many labels the same threshold: a cost or a probability.
    fn decide_labels_by(&mut self, options: &DecisionOptions) -> Result<()> {
        let DecisionOptions { max_fpr, min_precision, prior, cost, unsure } = *options;
        let message = "expected a cost or a probability for a model of many labels";
        let are_none = [max_fpr, min_precision, prior] == [None; 3];
        Error::ensure_option(are_none, "prior, max_fpr and min_precision", message)?;
        if let Some(probability) = unsure {
            self.set_unsure(probability)?;
        }
        if let Some(cost) = cost {
            self.set_decision(Decision::PLAIN.with_cost(cost)?);
        }
        Ok(())
    }
}
