//! Documents that were probably learned under a wrong label.

use tamis_model::{ClassId, Documents, Fit, HeldOut, Label, log_sum_exp, priors};

use crate::config::label_set::{are_sets, columns_of};
use crate::error::{Error, Reason, Result};
use crate::file::documents::{NO_DATE, Remembered};
use crate::file::fitted::FittedScoring;
use crate::file::names::named;
use crate::merge::fittable::keeps_terms;
use crate::merge::refit::counted;
use crate::merge::stores::Stores;
use crate::score::filter::Filter;
use crate::score::remembered::Suspect;
use crate::score::verdict::sigmoid;

/// The held-out scores of a document of more than two labels.
struct Judged {
    /// The likeliest label, and its probability.
    proposed: ClassId,
    probability: f64,
    /// The log-odds of its own label against all others.
    log_odds: f64,
}

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
        let header = &self.store.header;
        match &header.scoring {
            FittedScoring::Weighted { .. } if are_sets(&header.classes) => {
                Err(Error::option("suspects", "expected a model of one label a document, got many"))
            }
            FittedScoring::Weighted { .. } if header.classes.len() > 2 => self.suspects_of_many(),
            _ => self.suspects_of_two(),
        }
    }

    fn suspects_of_many(&self) -> Result<Vec<Suspect>> {
        let (store, classes) = (&self.store, &self.store.header.classes);
        let FittedScoring::Weighted { options, chosen, .. } = &store.header.scoring else {
            return Ok(Vec::new());
        };
        if !keeps_terms(&store.header) {
            return Err(Reason::TermsNotStored.into());
        }
        let stores = [store];
        let terms = Stores::new(&stores, classes)?;
        let (counts, mut documents) = counted(&terms)?;
        let columns = columns_of(classes)?;
        let (choices, prior) = (chosen.in_use(), priors(&store.totals, &columns));
        let of = |held: &HeldOut| {
            let Label { class, .. } = documents.label(held.document);
            judge(&held.log_odds(choices, &prior), class)
        };
        let fit = Fit { counts: &counts, documents: &documents, columns, options };
        let judged = fit.hold_out_all(choices, of);
        documents.check()?;
        let means = mean_probabilities(&judged, &documents, classes.len());
        let mut judged = judged.into_iter().peekable();
        let mut suspects = Vec::new();
        for (at, remembered) in store.documents().enumerate() {
            let Remembered { digest, class, date, name, .. } = remembered?;
            let Some((_, Judged { proposed, probability, log_odds })) = judged.next_if(|of| of.0 == at)
            else {
                continue;
            };
            if proposed != class {
                let (date, name) = ((date != NO_DATE).then_some(date), named(name));
                suspects.push(Suspect { digest, class, date, name, proposed, probability, log_odds });
            }
        }
        let rank = |of: &Suspect| sigmoid(of.log_odds) / means[usize::from(of.class)];
        suspects.sort_by(|a, b| rank(a).total_cmp(&rank(b)).then(a.digest.cmp(&b.digest)));
        Ok(suspects)
    }
}

/// The mean held-out probability of each label in the documents that have it.
fn mean_probabilities(judged: &[(usize, Judged)], documents: &dyn Documents, n_classes: usize) -> Vec<f64> {
    let mut sums = vec![[f64::MIN_POSITIVE, 1.0]; n_classes];
    for (document, Judged { log_odds, .. }) in judged {
        let [sum, n] = &mut sums[usize::from(documents.label(*document).class)];
        (*sum, *n) = (*sum + sigmoid(*log_odds), *n + 1.0);
    }
    sums.into_iter().map(|[sum, n]| sum / n).collect()
}

/// Compares the label of a document with the likeliest one, given the log-odds of all.
fn judge(z: &[f64], class: ClassId) -> Judged {
    let best = |best: usize, class: usize| if z[class] > z[best] { class } else { best };
    let proposed = (1..z.len()).fold(0, best);
    let against = |class: usize| {
        let others: Vec<f64> = z.iter().enumerate().filter(|(c, _)| *c != class).map(|(_, z)| *z).collect();
        z[class] - log_sum_exp(&others)
    };
    let probability = sigmoid(against(proposed));
    // classes are numbered by `ClassId`
    Judged { proposed: proposed as ClassId, probability, log_odds: against(usize::from(class)) }
}
