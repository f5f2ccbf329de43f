//! What a model says of a message.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use tamis_program::{named, shown_path};
use tamis_train::{Document, Error, Filter, LiveFilter, Scratch};

use crate::settings::account::Account;
use crate::settings::places;

/// Number of reasons that are kept.
const REASONS: usize = 5;

/// An account's model, opened again when its file changes.
pub(crate) struct Judge {
    pub(crate) path: PathBuf,
    filter: LiveFilter,
    shared: Option<LiveFilter>,
}

/// What a model says of a message.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Opinion {
    pub(crate) label: String,
    pub(crate) probability: f64,
    /// The label's log-odds against all others, in nats.
    pub(crate) log_odds: f64,
    /// The terms that speak most for the label, with what each adds in nats.
    pub(crate) reasons: Vec<(String, f64)>,
}

impl Judge {
    /// Opens an account's model.
    ///
    /// # Errors
    /// If there is none, or it cannot be read.
    pub(crate) fn open(account: &Account) -> Result<Self> {
        let path = places::model(account)?;
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
        Ok(Judge { path, filter, shared })
    }

    /// The shared model behind the account's own.
    pub(crate) fn shared(&self) -> Option<Arc<Filter>> {
        self.shared.as_ref().map(LiveFilter::filter)
    }

    /// Takes what was learned meanwhile into use, here or by other programs.
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

    /// The likeliest label of a message; `None` if the model knows none of its words.
    ///
    /// # Errors
    /// If the model is damaged.
    pub(crate) fn judge(&self, bytes: &[u8]) -> Result<Option<Opinion>> {
        let opinion = self.filter.ask(|filter, scratch| {
            let score = filter.score(Document::Mail(bytes), scratch)?;
            if score.known_terms == 0 {
                return Ok(None);
            }
            let Some((label, probability)) = likeliest(filter, scratch) else { return Ok(None) };
            Ok::<_, Error>(Some(Opinion {
                label,
                probability,
                log_odds: (probability / (1.0 - probability)).ln().clamp(-1e3, 1e3),
                reasons: Vec::new(),
            }))
        });
        opinion.map_err(named(&self.path))
    }

    /// Adds the reasons to an opinion.
    ///
    /// # Errors
    /// If the model is damaged.
    pub(crate) fn explain(&self, bytes: &[u8], opinion: &mut Opinion) -> Result<()> {
        let reasons = self.filter.ask(|filter, scratch| {
            let explanation = filter.explain(Document::Mail(bytes), scratch)?;
            Ok::<_, Error>((
                explanation.terms,
                filter.classes().label(explanation.score.scored_class).map(str::to_owned),
            ))
        });
        let (terms, scored) = reasons.map_err(named(&self.path))?;
        let sign = if scored.as_deref() == Some(&*opinion.label) { 1.0 } else { -1.0 };
        let mut reasons: Vec<(String, f64)> =
            terms.into_iter().map(|term| (term.term, sign * term.contribution)).collect();
        reasons.retain(|(_, adds)| *adds > 0.0);
        reasons.sort_by(|a, b| b.1.total_cmp(&a.1));
        reasons.truncate(REASONS);
        opinion.reasons = reasons;
        Ok(())
    }
}

/// The likeliest label of the message that was scored last, and its probability.
pub(crate) fn likeliest(filter: &Filter, scratch: &Scratch) -> Option<(String, f64)> {
    let probabilities = scratch.probabilities().iter().copied().zip(0..);
    let (probability, class) = probabilities.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))?;
    Some((filter.classes().label(class)?.to_owned(), probability))
}

fn open_shared(path: &Path) -> Result<LiveFilter> {
    LiveFilter::open(Error::is_passing, || Filter::open(path))
        .map_err(named(path))
        .with_context(|| format!("behind = {}", shown_path(path)))
}
