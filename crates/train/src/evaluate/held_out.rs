//! The held-out scores of the documents that a model remembers, and those that were probably learned under a wrong label.

use tamis_filter::score::filter::Filter;
use tamis_filter::score::remembered::Suspect;
use tamis_filter::score::verdict::sigmoid;
use tamis_model::{Beside, ClassId, FitProblem, Prediction, WeightedOptions, log_sum_exp, priors};
use tamis_store::config::labels::{are_sets, columns_of, positive_class};
use tamis_store::config::scoring::ModelSelection;
use tamis_store::error::{Error, Reason, Result};
use tamis_store::file::documents::{NO_DATE, StoredDocument, named};
use tamis_store::file::fitted::FittedScoring;

use crate::evaluate::validation::HeldOutScore;
use crate::merge::refit::counted;
use crate::merge::rewrite::keeps_terms;
use crate::merge::stores::Stores;

/// What a model that has not learned a document says of it.
#[derive(Clone, Copy)]
pub(crate) struct HeldOutVerdict {
    /// The likeliest label.
    pub(crate) proposed: ClassId,
    /// Its log-odds against all others.
    pub(crate) top: f64,
    /// The log-odds of the positive label or, with more than two labels, of its own label against all others.
    pub(crate) log_odds: f64,
}

/// Visits every remembered document with its held-out scores, in the order of the file. A model of two labels stores
/// them, for most documents; with more labels, all documents are held out now. There are none for naive Bayes.
///
/// # Errors
/// [`ErrorKind::TermsNotStored`](crate::ErrorKind::TermsNotStored) if a model of more than two labels does not
/// remember the terms of its documents; otherwise those of `visit`, or if the model is damaged.
pub(crate) fn for_each_held_out(
    filter: &Filter,
    visit: impl FnMut(StoredDocument, HeldOutVerdict) -> Result<()>,
) -> Result<()> {
    match &filter.store().header.scoring {
        FittedScoring::Weighted { options, chosen, .. } if filter.store().header.classes.len() > 2 => {
            for_each_of_many(filter, options, chosen, visit)
        }
        _ => for_each_of_two(filter, visit),
    }
}

fn for_each_of_two(
    filter: &Filter,
    mut visit: impl FnMut(StoredDocument, HeldOutVerdict) -> Result<()>,
) -> Result<()> {
    let (positive, decision) = (positive_class(filter.classes()), filter.decision());
    let Some(chosen) = filter.store().header.scoring.chosen() else { return Ok(()) };
    let choices = chosen.in_use();
    for document in filter.store().documents() {
        let document = document?;
        let Some(held_out) = document.held_out else { continue };
        let log_odds = decision.log_odds(choices.log_odds(held_out));
        let proposed = if log_odds > 0.0 { positive } else { 1 - positive };
        visit(document, HeldOutVerdict { proposed, top: log_odds.abs(), log_odds })?;
    }
    Ok(())
}

fn for_each_of_many(
    filter: &Filter,
    options: &WeightedOptions,
    chosen: &ModelSelection,
    mut visit: impl FnMut(StoredDocument, HeldOutVerdict) -> Result<()>,
) -> Result<()> {
    let (store, classes) = (filter.store(), &filter.store().header.classes);
    Reason::TermsNotStored.unless(keeps_terms(&store.header))?;
    let stores = [store];
    let terms = Stores::new(&stores, classes)?;
    let (counts, mut documents) = counted(&terms)?;
    let columns = columns_of(classes)?;
    let (choices, prior) = (chosen.in_use(), priors(&store.totals, &columns));
    let problem = FitProblem {
        counts: &counts,
        documents: &documents,
        columns,
        beside: Beside { columns: None, vectors: store.vectors.as_ref() },
        options,
    };
    let judged = problem.hold_out_all(choices, |held: &Prediction| {
        judge(&held.log_odds(choices, &prior), documents.documents[held.document].class)
    });
    documents.check()?;
    let mut judged = judged.into_iter().peekable();
    for (at, document) in store.documents().enumerate() {
        let document = document?;
        if let Some((_, judged)) = judged.next_if(|of| of.0 == at) {
            visit(document, judged)?;
        }
    }
    Ok(())
}

/// Compares the label of a document with the likeliest one, given the log-odds of all.
fn judge(z: &[f64], class: ClassId) -> HeldOutVerdict {
    let best = |best: usize, class: usize| if z[class] > z[best] { class } else { best };
    let proposed = (1..z.len()).fold(0, best);
    let against = |class: usize| {
        let others: Vec<f64> = z.iter().enumerate().filter(|(c, _)| *c != class).map(|(_, z)| *z).collect();
        z[class] - log_sum_exp(&others)
    };
    // classes are numbered by `ClassId`
    HeldOutVerdict {
        proposed: proposed as ClassId,
        top: against(proposed),
        log_odds: against(usize::from(class)),
    }
}

/// The held-out scores that a model of two labels stores, each with its document's label: for
/// [`Evaluation::new`](crate::evaluate::Evaluation::new). Other models store none.
///
/// # Errors
/// If the model is damaged.
pub fn stored_scores(filter: &Filter) -> Result<Vec<HeldOutScore>> {
    let chosen = filter.store().header.scoring.chosen();
    let Some(chosen) = chosen.filter(|_| filter.classes().len() == 2 && !filter.has_many_labels()) else {
        return Ok(Vec::new());
    };
    let choices = chosen.in_use();
    let score = |document: Result<StoredDocument>| {
        let StoredDocument { class, held_out, .. } = document?;
        let score = held_out.map(|held_out| filter.judge(choices.log_odds(held_out)));
        Ok(score.map(|score| {
            let is_own = score.scored_class == class;
            let probability = if is_own { score.probability } else { 1.0 - score.probability };
            HeldOutScore::new(class, score, probability)
        }))
    };
    filter.store().documents().map(score).filter_map(Result::transpose).collect()
}

/// The remembered documents whose held-out scores contradict their labels, the worst first: they are probably
/// mislabelled. With two labels, the surest contradictions come first, and earlier where a label is mistaken for the other
/// more often than the reverse; the documents that are surest of a label tell how often it is. With more, the label comes
/// first whose probability is lowest, compared with the mean of the documents that have it.
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
    let is_weighted = matches!(filter.store().header.scoring, FittedScoring::Weighted { .. });
    let message = "expected a model of one label a document, got many";
    Error::ensure_option(!is_weighted || !are_sets(classes), "suspects", message)?;
    let (mut suspects, mut sums) = (Vec::new(), vec![[f64::MIN_POSITIVE, 1.0]; classes.len()]);
    let mut held_out = Vec::new();
    for_each_held_out(filter, |document, HeldOutVerdict { proposed, top, log_odds }| {
        let StoredDocument { digest, class, date, name, .. } = document;
        held_out.push((log_odds, class));
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
    let ratio = log_mistake_ratio(&mut held_out, positive_class(classes));
    let rank = |of: &Suspect| match classes.len() > 2 {
        true => sigmoid(of.log_odds) / mean(of),
        false => -of.log_odds.abs() + if of.proposed == 0 { ratio / 2.0 } else { -ratio / 2.0 },
    };
    suspects.sort_by(|a, b| rank(a).total_cmp(&rank(b)).then(a.digest.cmp(&b.digest)));
    Ok(suspects)
}

/// The documents that are surest of a label: one in ten, but at least 50.
const SUREST: [usize; 2] = [10, 50];

/// By how much more often label 1 is mistaken for label 0 than label 0 for label 1: the logarithm of the ratio, in nats, as
/// far as it exceeds its standard error. A label is mistaken in the documents that are surest of it by their held-out
/// log-odds, but have the other one. `held_out` has the log-odds of `positive`, and the label.
fn log_mistake_ratio(held_out: &mut [(f64, ClassId)], positive: ClassId) -> f64 {
    held_out.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let [one_in, least] = SUREST;
    let n = (held_out.len() / one_in).max(least).min(held_out.len() / 4);
    let mistaken = |class: ClassId| {
        let surest = if class == positive { &held_out[held_out.len() - n..] } else { &held_out[..n] };
        surest.iter().filter(|(_, given)| *given != class).count() as f64 + 0.5
    };
    let [zero, one] = [0, 1].map(mistaken);
    let ratio = (one / zero).ln();
    let standard_error = (1.0 / zero + 1.0 / one).sqrt();
    ratio.signum() * (ratio.abs() - standard_error).max(0.0)
}
