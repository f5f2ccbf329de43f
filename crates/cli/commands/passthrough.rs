//! `tamis score --passthrough`: copies the message, with its verdict added or, if anything fails, unchanged.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};

use anyhow::{Context, Result, bail};
use tamis_filter::{ClassId, Filter, Kind, Limits, Scratch};
use tamis_mail::passthrough::{Head, SpamStatus, Verdict, has_whole_header, head};

use crate::model::opened::Model;
use crate::model::rescue;
use crate::output::shown::{say, shown, shown_path, told};
use crate::output::status::ERROR;
use crate::output::verdict::say_limits;

/// Copies the message with the verdict added; if anything fails, without.
pub(crate) fn run(files: &[OsString], keep_headers: bool, open: impl Fn() -> Result<Filter>) -> u8 {
    let mut message = match Message::open(files) {
        Ok(message) => message,
        Err(error) => {
            say!("tamis: {}", told(&error));
            return ERROR;
        }
    };
    // a bug of ours must not lose a message
    let annotated = catch_unwind(AssertUnwindSafe(|| message.annotate(files, keep_headers, &open)))
        .unwrap_or_else(|_| bail!("a bug in tamis stopped it; please report it"));
    let written = match &annotated {
        Ok(head) => message.write(&head.bytes, head.rest),
        Err(error) => {
            say!("tamis: {}; the message is passed on unchanged", told(error));
            message.write(&[], 0)
        }
    };
    match written {
        Ok(()) if annotated.is_ok() => 0,
        Ok(()) => ERROR,
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
    let _ = Message::input().and_then(|mut message| message.write(&[], 0));
}

/// A message being copied. No more of it is held than scoring reads.
struct Message {
    raw: Vec<u8>,
    source: File,
    name: String,
    /// Whether all of it is held.
    is_whole: bool,
}

impl Message {
    fn open(files: &[OsString]) -> Result<Self> {
        match files.first().filter(|path| path.as_os_str() != "-") {
            Some(path) => {
                let name = shown_path(path);
                File::open(path).with_context(|| name.clone()).map(|source| Message::new(source, name))
            }
            None => Message::input(),
        }
    }

    fn input() -> Result<Self> {
        let name = "standard input".to_owned();
        let source = io::stdin().as_fd().try_clone_to_owned().with_context(|| name.clone())?;
        Ok(Message::new(source.into(), name))
    }

    fn new(source: File, name: String) -> Self {
        rescue::arm(source.as_raw_fd());
        Message { raw: Vec::new(), source, name, is_whole: false }
    }

    /// The held part of the message with the verdict added.
    fn annotate(
        &mut self,
        files: &[OsString],
        keep_headers: bool,
        open: impl Fn() -> Result<Filter>,
    ) -> Result<Head> {
        if files.len() > 1 {
            bail!("--passthrough: expected one message, got {} files", files.len());
        }
        self.read_for(&Limits::default())?;
        Model::new(open).ask(|filter| {
            let recipe = filter.information().recipe;
            if recipe.kind != Kind::Mail {
                bail!("--passthrough: expected a model of mail, got one of {}", recipe.kind);
            }
            self.read_for(&recipe.limits)?;
            self.score(filter, keep_headers)
        })
    }

    fn score(&self, filter: &Filter, keep_headers: bool) -> Result<Head> {
        let mut scratch = Scratch::default();
        let score = filter.score_mail(&self.raw, &mut scratch)?;
        say_limits("the message", &scratch);
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
            version: env!("CARGO_PKG_VERSION"),
        };
        Ok(head(&self.raw, &verdict, keep_headers))
    }

    /// Reads the header block and as much as scoring reads within these limits, plus one byte to tell whether there is
    /// more.
    fn read_for(&mut self, limits: &Limits) -> Result<()> {
        let mut most = limits.bytes.saturating_add(1);
        loop {
            self.read_to(most).with_context(|| self.name.clone())?;
            if self.is_whole || has_whole_header(&self.raw) {
                return Ok(());
            }
            most = most.saturating_mul(2);
        }
    }

    /// Reads on until so many bytes are held, or all.
    fn read_to(&mut self, most: usize) -> io::Result<()> {
        while !self.is_whole && self.raw.len() < most {
            let more = most - self.raw.len();
            match rescue::read(&self.source, &mut self.raw, more) {
                Ok(n) => self.is_whole = n == 0,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes these bytes, then the held part of the message from an offset on, then copies the rest.
    fn write(&mut self, head: &[u8], rest: usize) -> Result<()> {
        let output = || "standard output";
        let mut out = File::from(io::stdout().as_fd().try_clone_to_owned().with_context(output)?);
        rescue::disarm();
        out.write_all(head).and_then(|()| out.write_all(&self.raw[rest..])).with_context(output)?;
        if !self.is_whole {
            io::copy(&mut self.source, &mut out).with_context(|| format!("copying {}", self.name))?;
        }
        Ok(())
    }
}
