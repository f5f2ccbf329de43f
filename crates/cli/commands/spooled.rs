//! `tamis learn --spool`: learns by way of a spool, so that a correction outlives whatever stops this process.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use tamis_program::{ERROR, Stream, commit, say, shown_path, survive_file_limits, told};
use tamis_train::{Document, ErrorKind, Kind, Learned, Learner};

use crate::commands::learn::{LearnArgs, Tally, check_label, is_sure, open_or_create, print, say_beside};
use crate::commands::spool::{self, Spool};
use crate::output::{Log, message_id};

/// Maximum bytes of a message that are kept; learning reads less of it.
const MOST_BYTES: u64 = 256 << 20;

/// Learns the message on standard input, after those that wait in the spool; without a label, only those. The message is
/// put into the spool first. Once it is there, only a message that can never be learned is an error.
pub(crate) fn run(args: &LearnArgs, folder: &Path) -> Result<u8> {
    let path = args.model.own.path()?;
    let log = args.log.begin(&args.model.own);
    survive_file_limits();
    let mut work = Work::new(args, log);
    let Some(label) = &args.documents.label else {
        work.learn(&path, Some(&Spool::open(folder)?), None)?;
        return work.finish();
    };
    check_label(args, label, &path)?;
    let input = Stream::of(Path::new("-")).and_then(|input| input.into_document(Kind::Mail, MOST_BYTES));
    let message = input.context("standard input")?;
    if message.is_empty() {
        bail!("expected a message to learn, got nothing");
    }
    match Spool::open(folder).and_then(|spool| spool.put(label, &message).map(|()| spool)) {
        Ok(spool) => {
            if let Err(error) = work.learn(&path, Some(&spool), None) {
                let folder = shown_path(&folder);
                say!(
                    "tamis: {}; the message waits in {folder} until the next tamis learn --spool",
                    told(&error)
                );
            }
        }
        Err(error) => {
            say!("tamis: {}; the message is learned without the spool", told(&error));
            work.learn(&path, None, Some((label, &message)))?;
        }
    }
    work.finish()
}

/// Learning messages of a spool.
struct Work<'a> {
    args: &'a LearnArgs,
    log: Option<Log>,
    tallies: BTreeMap<String, Tally>,
    /// Label and Message-ID of the documents learned since the last commit, for the log.
    learned: Vec<(String, String)>,
    status: u8,
}

/// The result of learning a message.
enum Outcome {
    Done,
    /// The message can never be learned.
    Refused(anyhow::Error),
}

impl<'a> Work<'a> {
    fn new(args: &'a LearnArgs, log: Option<Log>) -> Self {
        Work { args, log, tallies: BTreeMap::new(), learned: Vec::new(), status: 0 }
    }

    /// Learns all that waits in the spool, then a message that could not be put there.
    fn learn(&mut self, path: &Path, spool: Option<&Spool>, own: Option<(&str, &[u8])>) -> Result<()> {
        let waiting = || spool.map_or(Ok(Vec::new()), Spool::waiting);
        if own.is_none() && waiting()?.is_empty() {
            return Ok(());
        }
        let args = self.args;
        let shared = args.model.shared()?.map(Arc::new);
        let label = args.documents.label.as_deref();
        let mut learner = open_or_create(args, label, path, Kind::Mail, shared.as_deref())?;
        let kind = learner.filter().information().recipe.kind;
        if kind != Kind::Mail {
            bail!("--spool: expected a model of mail, got one of {kind}");
        }
        if let Some(shared) = shared {
            learner.set_fallback(shared).context("--fallback")?;
        }
        // again, since others add to the spool while they wait for the model
        let mut seen = BTreeSet::new();
        loop {
            let mut files = waiting()?;
            files.retain(|file| seen.insert(file.clone()));
            if files.is_empty() {
                break;
            }
            self.learn_files(&mut learner, &files)?;
        }
        let Some((label, message)) = own else { return Ok(()) };
        match self.learn_one(&mut learner, label, message, "standard input")? {
            Outcome::Done => self.commit(&mut learner),
            Outcome::Refused(error) => Err(error),
        }
    }

    /// Prints what was learned. Returns the exit status.
    fn finish(self) -> Result<u8> {
        self.tallies.iter().try_for_each(|(label, tally)| print(&tally.line(label)))?;
        Ok(self.status)
    }

    /// Learns the messages of these files, and removes those that are in the model.
    fn learn_files(&mut self, learner: &mut Learner, files: &[PathBuf]) -> Result<()> {
        let mut done = Vec::new();
        for file in files {
            let content = match spool::read(file) {
                Ok(Some(content)) => content,
                Ok(None) => continue,
                Err(error) => {
                    say!("tamis: {}", told(&error));
                    self.status = ERROR;
                    continue;
                }
            };
            let outcome = match spool::split(&content) {
                Some((label, message)) => self.learn_one(learner, label, message, &shown_path(file))?,
                None => Outcome::Refused(anyhow!("expected a line with a label and a message, got neither")),
            };
            match outcome {
                Outcome::Done => done.push(file),
                Outcome::Refused(error) => {
                    let aside = spool::refuse(file)?;
                    say!("tamis: {}; the message is kept as {}", told(&error), shown_path(&aside));
                    self.status = ERROR;
                }
            }
        }
        self.commit(learner)?;
        done.into_iter().try_for_each(|file| spool::remove(file))
    }

    fn learn_one(
        &mut self,
        learner: &mut Learner,
        label: &str,
        message: &[u8],
        name: &str,
    ) -> Result<Outcome> {
        let limit = learner.filter().information().recipe.limits.bytes;
        let document = Document::Mail(&message[..message.len().min(limit.saturating_add(1))]);
        let may_add = self.args.new_label;
        let refused = |error: tamis_train::Error| match error.kind() {
            ErrorKind::Label if !may_add => Ok(anyhow!("{error}; --new-label adds it")),
            ErrorKind::Label | ErrorKind::Document => Ok(error.into()),
            _ => Err(error),
        };
        if may_add
            && learner.filter().classes().index(label).is_none()
            && let Err(error) = learner.add_label(label)
        {
            return Ok(Outcome::Refused(refused(error)?));
        }
        if is_sure(self.args, label, learner, document)? {
            self.tally(label).right += 1;
            return Ok(Outcome::Done);
        }
        match learner.learn_in_group(label, None, document) {
            Ok(Learned::Already) => {
                self.tally(label).already += 1;
                return Ok(Outcome::Done);
            }
            Ok(Learned::Moved { .. }) => self.tally(label).moved += 1,
            Ok(Learned::Beside { labels }) => {
                self.tally(label).learned += 1;
                say_beside(name, &labels);
            }
            Ok(_) => self.tally(label).learned += 1,
            Err(error) => return Ok(Outcome::Refused(refused(error)?)),
        }
        if self.log.is_some() {
            self.learned.push((label.to_owned(), message_id(message)));
        }
        Ok(Outcome::Done)
    }

    fn tally(&mut self, label: &str) -> &mut Tally {
        self.tallies.entry(label.to_owned()).or_default()
    }

    /// Writes what was learned, then logs it.
    fn commit(&mut self, learner: &mut Learner) -> Result<()> {
        commit(learner)?;
        for (label, id) in self.learned.drain(..) {
            if let Some(log) = &mut self.log {
                log.learned(&[id], &label);
            }
        }
        Ok(())
    }
}
