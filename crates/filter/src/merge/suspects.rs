//! Documents that were probably learned under a wrong label.

use crate::config::label_set::are_sets;
use crate::error::{Error, Result};
use crate::file::documents::{NO_DATE, Remembered};
use crate::file::fitted::FittedScoring;
use crate::file::names::named;
use crate::merge::held_out::Judged;
use crate::score::filter::Filter;
use crate::score::remembered::Suspect;
use crate::score::verdict::sigmoid;

impl Filter {
    /// The remembered documents whose held-out scores contradict their labels, the worst first: they are probably
    /// mislabelled. With more than two labels, the label comes first whose probability is lowest, compared with the mean
    /// of the documents that have it.
    ///
    /// A model of two labels stores held-out scores. With more, every document is held out now: this takes several times
    /// as long as training. The list is empty for naive Bayes.
    ///
    /// Source: Northcutt, Jiang and Chuang, "Confident Learning" (2021): ranking by the held-out probability of the given
    /// label.
    ///
    /// # Errors
    /// [`ErrorKind::TermsNotStored`](crate::ErrorKind::TermsNotStored) if a model of more than two labels does not
    /// remember the terms of its documents; [`ErrorKind::Settings`](crate::ErrorKind::Settings) if documents have many
    /// labels; otherwise if the model is damaged.
    pub fn suspects(&self) -> Result<Vec<Suspect>> {
        let classes = &self.store.header.classes;
        if matches!(self.store.header.scoring, FittedScoring::Weighted { .. }) && are_sets(classes) {
            return Err(Error::option("suspects", "expected a model of one label a document, got many"));
        }
        let (mut suspects, mut sums) = (Vec::new(), vec![[f64::MIN_POSITIVE, 1.0]; classes.len()]);
        self.for_each_held_out(|document, Judged { proposed, top, log_odds }| {
            let Remembered { digest, class, date, name, .. } = document;
            let [sum, n] = &mut sums[usize::from(class)];
            (*sum, *n) = (*sum + sigmoid(log_odds), *n + 1.0);
            if proposed != class {
                let (date, name) = ((date != NO_DATE).then_some(date), named(name));
                let probability = sigmoid(top);
                suspects.push(Suspect { digest, class, date, name, proposed, probability, log_odds });
            }
            Ok(())
        })?;
        let mean = |of: &Suspect| sums[usize::from(of.class)][0] / sums[usize::from(of.class)][1];
        let rank = |of: &Suspect| match classes.len() > 2 {
            true => sigmoid(of.log_odds) / mean(of),
            false => -of.log_odds.abs(),
        };
        suspects.sort_by(|a, b| rank(a).total_cmp(&rank(b)).then(a.digest.cmp(&b.digest)));
        Ok(suspects)
    }
}
