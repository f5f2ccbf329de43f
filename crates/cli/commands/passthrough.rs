//! `tamis score --passthrough`: copies the message, with its verdict added or, if anything fails, unchanged.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use anyhow::{Result, bail};
use tamis_filter::{ClassId, Filter, Kind, Limits, Scratch};
use tamis_mail::passthrough::{Head, SpamStatus, Verdict, head};

use crate::model::held::Held;
use crate::model::opened::Model;
use crate::output::shown::{say, shown, told};
use crate::output::status::ERROR;

/// Copies the message with the verdict added; if anything fails, without.
pub(crate) fn run(files: &[OsString], keep_headers: bool, open: impl Fn() -> Result<Filter>) -> u8 {
    let mut message = match Held::open(files.first().map(Path::new)) {
        Ok(message) => message,
        Err(error) => {
            say!("tamis: {}", told(&error));
            return ERROR;
        }
    };
    // a bug of ours must not lose a message
    let annotated = catch_unwind(AssertUnwindSafe(|| annotate(&mut message, files, keep_headers, &open)))
        .unwrap_or_else(|_| bail!("a bug in tamis stopped it; please report it"));
    let written = match &annotated {
        Ok(head) => message.write(None, &head.bytes, head.rest),
        Err(error) => {
            say!("tamis: {}; the message is passed on unchanged", told(error));
            message.write(None, &[], 0)
        }
    };
    match written {
        Ok(_) if annotated.is_ok() => 0,
        Ok(_) => ERROR,
        Err(error) => {
            say!("tamis: {}", told(&error));
            ERROR
        }
    }
}

/// With more than two classes, the log-odds of one against the likeliest other: above 0 if it is the likeliest.
fn log_odds_of(class: ClassId, probabilities: &[f64]) -> Option<f64> {
    let others = probabilities.iter().enumerate().filter(|(other, _)| *other != usize::from(class));
    let other = others.map(|(_, p)| *p).fold(f64::MIN_POSITIVE, f64::max);
    (probabilities.len() > 2).then(|| (probabilities[usize::from(class)].max(f64::MIN_POSITIVE) / other).ln())
}

/// Copies a message when the arguments are wrong.
pub(crate) fn copy_input() {
    // copy whatever can be read
    let _ = Held::open(None).and_then(|mut message| message.write(None, &[], 0));
}

/// The held part of the message with the verdict added.
fn annotate(
    message: &mut Held,
    files: &[OsString],
    keep_headers: bool,
    open: impl Fn() -> Result<Filter>,
) -> Result<Head> {
    if files.len() > 1 {
        bail!("--passthrough: expected one message, got {} files", files.len());
    }
    message.read_for(&Limits::default())?;
    Model::new(open).ask(|filter| {
        let recipe = filter.information().recipe;
        if recipe.kind != Kind::Mail {
            bail!("--passthrough: expected a model of mail, got one of {}", recipe.kind);
        }
        message.read_for(&recipe.limits)?;
        score(message, filter, keep_headers)
    })
}

fn score(message: &Held, filter: &Filter, keep_headers: bool) -> Result<Head> {
    let mut scratch = Scratch::default();
    let score = filter.score_mail(&message.mail(&filter.information().recipe.limits)?, &mut scratch)?;
    if filter.spam().is_none() {
        let labels: Vec<_> = filter.classes().iter().map(|(_, label)| shown(label).to_string()).collect();
        say!(
            "tamis: none of the labels ({}) is known to mean spam: X-Spam-Flag and X-Spam-Status are left out; \
             --spam-label says which one does",
            labels.join(", ")
        );
    }
    let verdict = Verdict {
        label: filter.label_of(&score),
        unsure: score.label.is_none(),
        probability: score.probability,
        log_odds: score.log_odds,
        spam: filter.spam().map(|spam| SpamStatus {
            is_spam: score.label == Some(spam),
            score: log_odds_of(spam, scratch.probabilities()).unwrap_or(score.log_odds),
            threshold: filter.spam_threshold(),
        }),
        truncated: !scratch.limits_hit().is_empty(),
        version: env!("CARGO_PKG_VERSION"),
    };
    Ok(head(message.bytes(), &verdict, keep_headers))
}
