//! `tamis score --passthrough`: copies the message with its verdict added, or unchanged if anything fails.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use anyhow::{Result, bail};
use tamis_mail::passthrough::{Head, Verdict, fields, head_with, label_field};
use tamis_program::{ERROR, Held, Model, say, shown, told};
use tamis_train::{Filter, Kind, Limits, Scratch};

use crate::output::{Log, message_id};

/// A message with its verdict.
struct Annotated {
    head: Head,
    /// The part that is logged.
    label: String,
    log_odds: f64,
    truncated: bool,
}

/// Copies the message with the verdict added, or unchanged if anything fails. Then logs it.
pub(crate) fn run(
    files: &[OsString],
    keep_headers: bool,
    log: Option<Log>,
    open: impl Fn() -> Result<Filter>,
) -> u8 {
    let mut message = match Held::open(files.first().map(Path::new)) {
        Ok(message) => message,
        Err(error) => {
            say!("tamis: {}", told(&error));
            return ERROR;
        }
    };
    // a bug must not lose a message
    let annotated = catch_unwind(AssertUnwindSafe(|| annotate(&mut message, files, keep_headers, &open)))
        .unwrap_or_else(|_| bail!("a bug in tamis stopped it; please report it"));
    let written = match &annotated {
        Ok(Annotated { head, .. }) => message.write(None, &head.bytes, head.rest),
        Err(error) => {
            say!("tamis: {}; the message is passed on unchanged", told(error));
            message.write(None, &[], 0)
        }
    };
    if let Err(error) = &written {
        say!("tamis: {}", told(error));
    }
    let done = annotated.ok().filter(|_| written.is_ok());
    if let Some(mut log) = log {
        let id = message_id(message.bytes());
        match &done {
            Some(Annotated { label, log_odds, truncated, .. }) => {
                log.verdict(&id, label, *log_odds, *truncated)
            }
            None => log.error(&id),
        }
    }
    if done.is_some() { 0 } else { ERROR }
}

/// Copies a message if the arguments are wrong.
pub(crate) fn copy_input() {
    // copy whatever can be read
    let _ = Held::open(None).and_then(|mut message| message.write(None, &[], 0));
}

/// Adds the verdict to the part of the message that is in memory.
fn annotate(
    message: &mut Held,
    files: &[OsString],
    keep_headers: bool,
    open: impl Fn() -> Result<Filter>,
) -> Result<Annotated> {
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

fn score(message: &Held, filter: &Filter, keep_headers: bool) -> Result<Annotated> {
    let mut scratch = Scratch::default();
    let score = filter.score_mail(&message.mail(&filter.information().recipe.limits)?, &mut scratch)?;
    let is_of_topics = filter.classes().len() > 2 || filter.spam().is_none();
    if filter.spam().is_none() && filter.classes().len() <= 2 {
        let labels: Vec<_> = filter.classes().iter().map(|(_, label)| shown(label).to_string()).collect();
        say!(
            "tamis: none of the labels ({}) is known to mean spam, so X-Spam-Flag and X-Spam-Status are left out; \
             name it with --spam-label",
            labels.join(", ")
        );
    }
    let verdict = filter.verdict(&score, &scratch);
    let mut fields = fields(&verdict);
    if is_of_topics && !verdict.unsure {
        fields.push(label_field(verdict.label));
    }
    let head = head_with(message.bytes(), &fields, keep_headers);
    let Verdict { label, log_odds, truncated, .. } = verdict;
    Ok(Annotated { head, label: label.to_owned(), log_odds, truncated })
}
