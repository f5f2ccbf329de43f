//! Documents that were probably learned under a wrong label.

use tamis_filter::score::filter::Filter;
use tamis_filter::score::remembered::Suspect;
use tamis_filter::score::verdict::sigmoid;
use tamis_store::config::labels::are_sets;
use tamis_store::error::{Error, Result};
use tamis_store::file::documents::{NO_DATE, StoredDocument, named};
use tamis_store::file::fitted::FittedScoring;

use crate::evaluate::held_out::{Judged, for_each_held_out};

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
pub fn suspects(filter: &Filter) -> Result<Vec<Suspect>> {
    let classes = &filter.store().header.classes;
    if matches!(filter.store().header.scoring, FittedScoring::Weighted { .. }) && are_sets(classes) {
        return Err(Error::option("suspects", "expected a model of one label a document, got many"));
    }
    let (mut suspects, mut sums) = (Vec::new(), vec![[f64::MIN_POSITIVE, 1.0]; classes.len()]);
    for_each_held_out(filter, |document, Judged { proposed, top, log_odds }| {
        let StoredDocument { digest, class, date, name, .. } = document;
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
