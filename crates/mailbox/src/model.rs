//! The model of an account: judging messages, and learning.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tamis_program::{commit, named, shown_path};
use tamis_train::{
    ClassId, Document, Error, ErrorKind, Filter, LearnOptions, Learner, LiveFilter, Score, Scratch,
};

use crate::ledger::entry::Opinion;
use crate::ledger::messages::MessageStates;
use crate::settings::{Account, model_file};

/// Maximum number of reasons.
const REASONS: usize = 5;

/// An account's model, opened again when its file changes.
pub(crate) struct AccountModel {
    path: PathBuf,
    filter: LiveFilter,
    shared: Option<LiveFilter>,
}

impl AccountModel {
    /// Opens an account's model.
    pub(crate) fn open(account: &Account) -> Result<Self> {
        let path = model_file(account)?;
        let shared = account.behind.as_deref().map(open_shared).transpose()?;
        let filter = LiveFilter::open(Error::is_passing, || {
            let mut filter = Filter::open(&path)?;
            if let Some(shared) = &shared {
                filter.set_live_fallback(shared)?;
            }
            Ok(filter)
        });
        let filter = filter.map_err(named(&path)).with_context(|| {
            format!("account {}: there is no model to sort by; tamis mailbox train makes it", account.name)
        })?;
        Ok(AccountModel { path, filter, shared })
    }

    /// The labels that the model knows.
    pub(crate) fn labels(&self) -> Vec<String> {
        self.filter.filter().classes().iter().map(|(_, label)| label.to_owned()).collect()
    }

    /// Takes into use what was learned meanwhile, here or by other programs.
    ///
    /// # Errors
    /// If a model cannot be opened again; the old one stays in use.
    pub(crate) fn reload(&self) -> Result<()> {
        if let Some(shared) = &self.shared {
            shared.reload()?;
        }
        self.filter.reload().map_err(named(&self.path))?;
        Ok(())
    }

    /// The likeliest label of a message that has arrived; `None` if the model knows none of its words. One that was learned is
    /// judged as if it had not been.
    pub(crate) fn judge(
        &self,
        account: &Account,
        known: &MessageStates,
        bytes: &[u8],
        is_learned: bool,
    ) -> Result<Option<Opinion>> {
        let judge = |filter: &Filter, scratch: &mut Scratch| {
            let score = filter.score(Document::Mail(bytes), scratch)?;
            Ok::<_, Error>(likeliest(account, known, filter, scratch, &score))
        };
        if !is_learned {
            return self.filter.ask(|filter, scratch| judge(filter, scratch)).map_err(named(&self.path));
        }
        // never committed
        let mut learner = self.learner()?;
        learn(&mut learner, Document::Mail(bytes), None)
            .and_then(|()| judge(learner.filter(), &mut Scratch::default()))
            .map_err(named(&self.path))
    }

    /// The terms of a message that speak most for a label, with what each adds in nats.
    pub(crate) fn reasons(&self, bytes: &[u8], label: &str) -> Result<Vec<(String, f64)>> {
        let explained = self.filter.ask(|filter, scratch| {
            let explanation = filter.explain(Document::Mail(bytes), scratch)?;
            let is_scored = filter.classes().label(explanation.score.scored_class) == Some(label);
            Ok::<_, Error>((explanation.terms, if is_scored { 1.0 } else { -1.0 }))
        });
        let (terms, sign) = explained.map_err(named(&self.path))?;
        let mut reasons: Vec<(String, f64)> =
            terms.into_iter().map(|term| (term.term, sign * term.contribution)).collect();
        reasons.retain(|(_, adds)| *adds > 0.0);
        reasons.sort_by(|a, b| b.1.total_cmp(&a.1));
        reasons.truncate(REASONS);
        Ok(reasons)
    }

    /// Learns each message under its label, or forgets it (`None`), in order. Returns once the model is on the disk.
    /// Learning a message again changes nothing.
    ///
    /// # Errors
    /// If the model cannot be changed: another program has it for more than a minute, or the disk is full. Then nothing
    /// is learned.
    pub(crate) fn learn<'a>(
        &self,
        messages: impl IntoIterator<Item = (&'a [u8], Option<&'a str>)>,
    ) -> Result<()> {
        let mut learner = self.learner()?;
        for (bytes, label) in messages {
            learn(&mut learner, Document::Mail(bytes), label).map_err(named(&self.path))?;
        }
        commit(&mut learner)
    }

    fn learner(&self) -> Result<Learner> {
        let mut options = LearnOptions::default();
        options.learned_at = Some(LearnOptions::today());
        let mut learner = Learner::open(&self.path, options).map_err(named(&self.path))?;
        if let Some(shared) = &self.shared {
            learner.set_fallback(shared.filter()).map_err(named(&self.path))?;
        }
        Ok(learner)
    }
}

/// Learns a document under a label, which may be new, or forgets it.
pub(crate) fn learn(learner: &mut Learner, document: Document<'_>, label: Option<&str>) -> Result<(), Error> {
    let Some(label) = label else {
        return match learner.forget(None, document) {
            Err(error) if error.kind() != ErrorKind::NotLearned => Err(error),
            _ => Ok(()),
        };
    };
    if learner.filter().classes().index(label).is_none() {
        learner.add_label(label)?;
    }
    learner.learn(label, document).map(drop)
}

/// The likeliest label of the message that was scored last, if it has arrived in the inbox.
///
/// The junk holds what the provider put there too, so its share of what was learned is not that of what arrives: the
/// probabilities are shifted to the latter.
pub(crate) fn likeliest(
    account: &Account,
    known: &MessageStates,
    filter: &Filter,
    scratch: &Scratch,
    score: &Score,
) -> Option<Opinion> {
    if score.known_terms == 0 {
        return None;
    }
    let weight_of = |class| {
        let is_junk = filter.classes().label(class).is_some_and(|label| account.is_junk(label));
        if is_junk { junk_weight(known, filter, class) } else { 1.0 }
    };
    let weighted = (0..).zip(scratch.probabilities()).map(|(class, p)| (class, p * weight_of(class)));
    let weighted: Vec<(ClassId, f64)> = weighted.collect();
    let sum: f64 = weighted.iter().map(|(_, weight)| weight).sum();
    let (class, weight) = weighted.into_iter().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
    // a verdict that is withheld is as sure as a coin
    let probability = if score.doubt.is_some() { 0.5 } else { weight / sum };
    let log_odds = (probability / (1.0 - probability)).ln().clamp(-1e3, 1e3);
    Some(Opinion { label: filter.classes().label(class)?.to_owned(), probability, log_odds })
}

/// By how much junk is rarer in what arrives than in what the model has learned, as a ratio of odds; 1 if it is not rarer.
fn junk_weight(known: &MessageStates, filter: &Filter, class: ClassId) -> f64 {
    let filter = filter.fallback().map_or(filter, |shared| shared);
    let totals = filter.information().totals;
    let all: u64 = totals.iter().map(|total| total.documents).sum();
    let learned =
        totals.get(usize::from(class)).map_or(0, |total| total.documents) as f64 / all.max(1) as f64;
    let label = filter.classes().label(class).unwrap_or_default();
    let arriving = known.share_of_arrivals(label, learned.min(0.5));
    let odds = |share: f64| share / (1.0 - share);
    let ratio = odds(arriving) / odds(learned);
    if ratio < 1.0 { ratio } else { 1.0 }
}

fn open_shared(path: &Path) -> Result<LiveFilter> {
    LiveFilter::open(Error::is_passing, || Filter::open(path))
        .map_err(named(path))
        .with_context(|| format!("behind = {}", shown_path(path)))
}
