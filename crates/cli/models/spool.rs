//! `tamis learn --spool`: learns by way of a spool, a private folder of messages that wait to be learned, so that a
//! correction outlives whatever stops this process.
//!
//! A file holds a line with the label, then the message. Its name begins with the time, so names sort by age. Files are
//! written under a hidden name, synced and renamed: a file without a dot in its name is whole.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, anyhow, bail, ensure};
use tamis_program::{ERROR, Stream, commit, make_private, say, shown, shown_path, survive_file_limits, told};
use tamis_train::{Document, ErrorKind, Kind, Learner, Limits, Recipe};

use crate::input::Attributes;
use crate::models::learn::{LearnArgs, LearnCounts, forwarded, print};
use crate::output::{VerdictLog, message_id};

/// Maximum bytes of a message that are kept; learning reads less of it.
const MOST_BYTES: u64 = 256 << 20;

/// Learns the message on standard input, or those that it forwards, after those that wait in the spool; without a label, only
/// the latter. The messages are put into the spool first. Once they are there, only one that can never be learned is an
/// error.
pub(crate) fn run(args: &LearnArgs, folder: &Path) -> Result<u8> {
    let path = args.model.own.path()?;
    let log = args.log.begin(&args.model.own);
    survive_file_limits();
    let mut work = SpoolRun::new(args, log);
    let Some(label) = &args.label else {
        work.learn(Some(&MailSpool::open(folder)?), None)?;
        return work.finish();
    };
    args.check_label(label, &path)?;
    let input = Stream::open(Path::new("-")).and_then(|input| input.into_document(Kind::Mail, MOST_BYTES));
    let message = input.context("standard input")?;
    ensure!(!message.is_empty(), "expected a message to learn, got nothing");
    let messages = match args.forwarded {
        true => forwarded(&message, &Limits::default(), "standard input")?,
        false => vec![message],
    };
    let put = |spool: &MailSpool<'_>| messages.iter().try_for_each(|message| spool.put(label, message));
    match MailSpool::open(folder).and_then(|spool| put(&spool).map(|()| spool)) {
        Ok(spool) => {
            if let Err(error) = work.learn(Some(&spool), None) {
                let (error, folder) = (told(&error), shown_path(&folder));
                say!("tamis: {error}; the message waits in {folder} until the next tamis learn --spool");
            }
        }
        Err(error) => {
            say!("tamis: {}; the message is learned without the spool", told(&error));
            work.learn(None, Some((label, &messages)))?;
        }
    }
    work.finish()
}

/// Learning messages of a spool.
struct SpoolRun<'a> {
    args: &'a LearnArgs,
    log: Option<VerdictLog>,
    counts: BTreeMap<String, LearnCounts>,
    /// Message-ID and label of the documents learned since the last commit, for the log.
    learned: Vec<(String, String)>,
    status: u8,
}

impl<'a> SpoolRun<'a> {
    fn new(args: &'a LearnArgs, log: Option<VerdictLog>) -> Self {
        SpoolRun { args, log, counts: BTreeMap::new(), learned: Vec::new(), status: 0 }
    }

    /// Learns all that waits in the spool, then messages that could not be put there.
    fn learn(&mut self, spool: Option<&MailSpool>, own: Option<(&str, &[Vec<u8>])>) -> Result<()> {
        let waiting = || spool.map_or(Ok(Vec::new()), MailSpool::waiting);
        if own.is_none() && waiting()?.is_empty() {
            return Ok(());
        }
        let label = self.args.label.as_deref();
        let mut learner = self.args.open(label, Recipe::new(Kind::Mail), self.args.model.shared()?)?;
        let kind = learner.filter().information().recipe.kind;
        ensure!(kind == Kind::Mail, "--spool: expected a model of mail, got one of {kind}");
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
        let Some((label, messages)) = own else { return Ok(()) };
        for message in messages {
            self.learn_one(&mut learner, label, message, "standard input")?.map_or(Ok(()), Err)?;
        }
        self.commit(&mut learner)
    }

    /// Prints what was learned. Returns the exit status.
    fn finish(self) -> Result<u8> {
        // nothing is counted under the label of a message that was refused
        let mut counted = self.counts.iter().filter(|(_, counts)| counts.examined() > 0);
        counted.try_for_each(|(label, counts)| print(&counts.line(label)))?;
        Ok(self.status)
    }

    /// Learns the messages of these files, and removes those that are in the model.
    fn learn_files(&mut self, learner: &mut Learner, files: &[PathBuf]) -> Result<()> {
        let mut done = Vec::new();
        for file in files {
            let content = match read(file) {
                Ok(Some(content)) => content,
                Ok(None) => continue,
                Err(error) => {
                    say!("tamis: {}", told(&error));
                    self.status = ERROR;
                    continue;
                }
            };
            let refused = match split(&content) {
                Some((label, message)) => self.learn_one(learner, label, message, &shown_path(file))?,
                None => Some(anyhow!("expected a line with a label and a message, got neither")),
            };
            match refused {
                None => done.push(file),
                Some(error) => {
                    let aside = refuse(file)?;
                    say!("tamis: {}; the message is kept as {}", told(&error), shown_path(&aside));
                    self.status = ERROR;
                }
            }
        }
        self.commit(learner)?;
        done.into_iter().try_for_each(|file| remove(file))
    }

    /// Learns a message. Returns why it can never be learned, if that is so.
    fn learn_one(
        &mut self,
        learner: &mut Learner,
        label: &str,
        message: &[u8],
        name: &str,
    ) -> Result<Option<anyhow::Error>> {
        let limit = learner.filter().information().recipe.limits.bytes;
        let document = Document::Mail(&message[..message.len().min(limit.saturating_add(1))]);
        let may_add = self.args.new_label;
        let is_new = may_add && learner.filter().classes().index(label).is_none();
        let added = if is_new { learner.add_label(label) } else { Ok(()) };
        let counts = self.counts.entry(label.to_owned()).or_default();
        let (given, name) = (Attributes { label, group: None, weight: 1.0 }, || name.to_owned());
        match added.and_then(|()| counts.learn(self.args, learner, given, document, name)) {
            Ok(has_changed) => {
                if has_changed && self.log.is_some() {
                    self.learned.push((message_id(message), label.to_owned()));
                }
                Ok(None)
            }
            Err(error) => match error.kind() {
                ErrorKind::Label if !may_add => Ok(Some(anyhow!("{error}; --new-label adds it"))),
                ErrorKind::Label | ErrorKind::Document => Ok(Some(error.into())),
                _ => Err(error.into()),
            },
        }
    }

    /// Writes what was learned, then logs it.
    fn commit(&mut self, learner: &mut Learner) -> Result<()> {
        commit(learner)?;
        if let Some(log) = &mut self.log {
            log.learned(&std::mem::take(&mut self.learned));
        }
        Ok(())
    }
}

/// Age of a hidden file whose writer is certainly gone.
const ABANDONED: Duration = Duration::from_hours(24);

/// The ending of files that can never be learned.
const REFUSED: &str = "refused";

/// The folder of a spool.
struct MailSpool<'a>(&'a Path);

impl<'a> MailSpool<'a> {
    /// Opens a spool. Creates its folder, which only its owner may enter.
    fn open(folder: &'a Path) -> Result<Self> {
        make_private(folder).with_context(|| shown_path(&folder))?;
        Ok(MailSpool(folder))
    }

    /// Adds a message, which is on the disk when this returns.
    fn put(&self, label: &str, message: &[u8]) -> Result<()> {
        if label.contains(char::is_control) {
            bail!("expected a label without control characters, got {:?}", shown(label));
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!("{:020}-{}", now.as_nanos(), std::process::id());
        let write = || -> io::Result<()> {
            // removed if that fails, which frees the space: the disk may be full
            let mut hidden = tempfile::Builder::new().prefix(".0").tempfile_in(self.0)?;
            [label.as_bytes(), b"\n", message].iter().try_for_each(|part| hidden.write_all(part))?;
            hidden.as_file().sync_all()?;
            hidden.persist(self.0.join(name))?;
            File::open(self.0)?.sync_all()
        };
        write().with_context(|| shown_path(&self.0))
    }

    /// The files that wait, the oldest first. Removes hidden files that were left by a writer that was stopped.
    fn waiting(&self) -> Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(self.0).with_context(|| shown_path(&self.0))? {
            let entry = entry.with_context(|| shown_path(&self.0))?;
            let name = entry.file_name();
            let name = name.as_encoded_bytes();
            if !entry.file_type().is_ok_and(|kind| kind.is_file()) {
                continue;
            }
            if name.starts_with(b".0") && is_abandoned(&entry.path()) {
                // only space is lost if it stays
                let _ = fs::remove_file(entry.path());
            }
            if !name.contains(&b'.') {
                files.push(entry.path());
            }
        }
        files.sort();
        Ok(files)
    }
}

fn is_abandoned(path: &Path) -> bool {
    let modified = path.symlink_metadata().and_then(|metadata| metadata.modified());
    modified.is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age > ABANDONED))
}

/// Reads a file of a spool. Returns `None` if it is gone: another process has learned it.
fn read(file: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some).with_context(|| shown_path(&file)),
    }
}

/// Splits the content of a file into label and message. Returns `None` if it is not that of a spool.
fn split(content: &[u8]) -> Option<(&str, &[u8])> {
    let end = memchr::memchr(b'\n', content)?;
    let label = str::from_utf8(&content[..end]).ok()?;
    let message = &content[end + 1..];
    (!message.is_empty()).then_some((label, message))
}

/// Removes a file whose message is in the model.
fn remove(file: &Path) -> Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.with_context(|| shown_path(&file)),
    }
}

/// Puts a file aside that can never be learned. Returns its new path.
fn refuse(file: &Path) -> Result<PathBuf> {
    let aside = file.with_added_extension(REFUSED);
    fs::rename(file, &aside).with_context(|| shown_path(&file))?;
    Ok(aside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_files_wait_and_the_oldest_is_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/spool");
        let spool = MailSpool::open(&path).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, 0o700);
        for (label, message) in [("spam", "1\n"), ("ham", "2\n"), ("é", "\n3")] {
            spool.put(label, message.as_bytes()).unwrap();
        }
        assert!(spool.put("a\nb", b"x").is_err());
        let old = File::create(path.join(".01-1")).unwrap();
        old.set_modified(SystemTime::now() - 2 * ABANDONED).unwrap();
        fs::write(path.join(".02-1"), "spam\nhalf").unwrap();
        fs::write(path.join("03-1.refused"), "spam\nrefused").unwrap();
        fs::create_dir(path.join("04")).unwrap();
        let waiting = spool.waiting().unwrap();
        let read = |file: &PathBuf| String::from_utf8(read(file).unwrap().unwrap()).unwrap();
        assert_eq!(waiting.iter().map(read).collect::<Vec<_>>(), ["spam\n1\n", "ham\n2\n", "é\n\n3"]);
        assert!(!path.join(".01-1").exists() && path.join(".02-1").exists());
        remove(&waiting[0]).unwrap();
        remove(&waiting[0]).unwrap();
        assert!(super::read(&waiting[0]).unwrap().is_none());
        assert!(refuse(&waiting[1]).unwrap().ends_with(format!("{}.refused", waiting[1].display())));
        assert_eq!(spool.waiting().unwrap(), waiting[2..]);
    }

    #[test]
    fn a_file_is_a_label_and_a_message() {
        assert_eq!(split(b"spam\nA: 1\n\nx"), Some(("spam", &b"A: 1\n\nx"[..])));
        for other in [&b""[..], b"spam", b"spam\n", b"\xff\nA: 1\n"] {
            assert_eq!(split(other), None);
        }
    }
}
