//! Runs what bogofilter's options ask for.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use anyhow::{Context, Result, bail};
use tamis_mail::passthrough::Head;
use tamis_program::{ERROR, Held, Model, commit, is_closed_pipe, shown_path, standard_output, told};
use tamis_train::{Document, Filter, Learner, Limits, Scratch};

use crate::answers::header::{Marks, head, line_end};
use crate::answers::layout::{Facts, line};
use crate::answers::outcome::{Outcome, Verdict};
use crate::answers::query::{self, HELP};
use crate::answers::report;
use crate::folder::Folder;
use crate::mails::{Mails, complain};
use crate::options::arguments::{Given, cut};
use crate::options::config::{Order, read};
use crate::options::keys::Key;
use crate::options::settings::{Bulk, Classification, Forms, Printed, Registration, Settings};

/// Runs what the arguments (without the program's name) ask for and returns the exit status. A message to be passed on
/// is written even if something fails.
pub fn run(arguments: &[OsString]) -> u8 {
    let (given, others) = cut(arguments);
    match read(&given, &others) {
        Ok(Order::Help) => print(HELP),
        Ok(Order::Version) => print(&query::version()),
        Ok(Order::Work(settings)) if settings.task.query > 0 => print(&described(&settings)),
        Ok(Order::Work(settings)) => {
            let mut session = Session::new(&settings, &others);
            match catch_unwind(AssertUnwindSafe(|| session.work())) {
                Ok(Ok(status)) => status,
                // a message that nobody took has not been passed on
                Ok(Err(error)) if is_closed_pipe(&error) && !settings.task.passthrough => 0,
                Ok(Err(error)) => {
                    complain(&error);
                    ERROR
                }
                Err(_) => ERROR,
            }
        }
        Err(error) => {
            complain(&error);
            if last(&given, Key::Passthrough).is_some() {
                let input = last(&given, Key::InputFile).and_then(Option::as_deref).map(Path::new);
                // copy whatever can be read
                let _ = Held::open(input).and_then(|mut message| message.write(None, &[], 0));
            }
            ERROR
        }
    }
}

/// The value of an option where it was given last.
fn last(given: &[Given], wanted: Key) -> Option<&Option<OsString>> {
    given.iter().rev().find_map(|option| match option {
        Given::Option { key, value } if *key == wanted => Some(value),
        _ => None,
    })
}

fn print(text: &str) -> u8 {
    match std::io::stdout().write_all(text.as_bytes()) {
        Ok(()) => 0,
        Err(_) => ERROR,
    }
}

fn described(settings: &Settings) -> String {
    let mut text = query::settings(settings);
    if settings.task.query > 1
        && let Ok(folder) = Folder::of(settings)
    {
        text += &format!("{:<17} = {}\n", "bogofilter-dir", shown_path(&folder.path));
    }
    text
}

/// One call of the program.
struct Session<'a> {
    settings: &'a Settings,
    others: &'a [OsString],
    scratch: Scratch,
    /// The exit status of the last message.
    status: u8,
    /// Distinct words registered, collected only if their number is to be printed.
    words: BTreeSet<String>,
    messages: u64,
}

/// The verdict on a message, and what to print about it.
struct Judged {
    verdict: Verdict,
    /// The line with the verdict, and any tables.
    lines: Vec<String>,
}

impl<'a> Session<'a> {
    fn new(settings: &'a Settings, others: &'a [OsString]) -> Self {
        let (scratch, words) = (Scratch::default(), BTreeSet::new());
        Session { settings, others, scratch, status: 0, words, messages: 0 }
    }

    fn work(&mut self) -> Result<u8> {
        let is_one = self.settings.source.bulk == Bulk::None && !self.settings.source.mbox;
        let is_folder = self.settings.source.file.as_ref().is_some_and(|path| path.is_dir());
        if self.settings.task.passthrough && is_one && !is_folder {
            return self.pass_one_on();
        }
        let folder = self.folder();
        if self.settings.task.passthrough {
            self.pass_on(folder)?;
        } else if self.settings.task.registration.any() {
            self.register(&folder?)?;
        } else {
            self.score(&folder?)?;
        }
        Ok(if self.settings.task.exit_zero && self.status != ERROR { 0 } else { self.status })
    }

    /// The folder of the model, created if it does not exist.
    fn folder(&self) -> Result<Folder> {
        let folder = Folder::of(self.settings)?;
        if self.settings.printed.debug_database && self.settings.printed.verbose > 1 {
            self.debug(&format!("open {}", shown_path(&folder.model())))?;
        }
        folder.make()?;
        if self.settings.task.update {
            folder.prepare_to_update()?;
        }
        Ok(folder)
    }

    /// Writes a line of debug output: to standard error, or with -D to standard output.
    fn debug(&self, line: &str) -> Result<()> {
        if self.settings.printed.debug_to_output {
            writeln!(std::io::stdout(), "{line}").context("standard output")
        } else {
            writeln!(std::io::stderr(), "{line}").context("standard error")
        }
    }

    /// Prints a verdict for each message.
    fn score(&mut self, folder: &Folder) -> Result<()> {
        let mut model = Model::new(|| folder.open());
        let most = model.opened()?.filter().information().recipe.limits.bytes.saturating_add(1);
        let mails = Mails { source: &self.settings.source, others: self.others, most: Some(most) };
        let mut out = standard_output()?;
        mails.for_each(&mut |name, mail| {
            let judged = model.ask(|filter| self.judge(filter, mail))?;
            self.update(folder, mail, judged.verdict)?;
            self.status = judged.verdict.outcome.status();
            let Printed { verbose, quiet, terse, dataframe, .. } = self.settings.printed;
            if verbose > 0 || terse || dataframe {
                let named = name.filter(|_| verbose > 0 && !quiet);
                out.write_all(&written(named, &judged.lines, &out)).context("standard output")?;
            }
            Ok(())
        })
    }

    /// Registers all messages. Writes the model once.
    fn register(&mut self, folder: &Folder) -> Result<()> {
        let what = self.settings.task.registration;
        // one byte more than is read of a message, to detect that there is more
        let most = Some(Limits::default().bytes.saturating_add(1));
        let mails = Mails { source: &self.settings.source, others: self.others, most };
        // lock the model from the first message on, not while waiting for it
        let mut learner: Option<Learner> = None;
        mails.for_each(&mut |_, mail| {
            let learner = match &mut learner {
                Some(learner) => learner,
                none => none.insert(folder.learner()?),
            };
            self.register_one(learner, what, mail)
        })?;
        let mut learner = learner.map_or_else(|| folder.learner(), Ok)?;
        commit(&mut learner)?;
        self.say_registered()
    }

    /// Registers one message. Writes the model.
    fn register_alone(&mut self, folder: &Folder, what: Registration, mail: &[u8]) -> Result<()> {
        let mut learner = folder.learner()?;
        self.register_one(&mut learner, what, mail)?;
        commit(&mut learner)?;
        self.say_registered()
    }

    fn register_one(&mut self, learner: &mut Learner, what: Registration, mail: &[u8]) -> Result<()> {
        if has_no_words(mail) {
            return Ok(());
        }
        self.messages += 1;
        let takes_back = !what.spam && !what.ham;
        if takes_back {
            self.count_words(learner.filter(), mail)?;
        }
        Folder::register(learner, what, mail)?;
        if !takes_back {
            self.count_words(learner.filter(), mail)?;
        }
        Ok(())
    }

    fn count_words(&mut self, filter: &Filter, mail: &[u8]) -> Result<()> {
        if self.settings.printed.verbose > 0 {
            let explanation = filter.explain(Document::Mail(mail), &mut self.scratch)?;
            self.words.extend(explanation.terms.into_iter().map(|term| term.term));
        }
        Ok(())
    }

    fn say_registered(&self) -> Result<()> {
        if self.settings.printed.verbose == 0 {
            return Ok(());
        }
        let (words, messages) = (self.words.len(), self.messages);
        let [s_words, s_messages] = [words == 1, messages == 1].map(|is_one| if is_one { "" } else { "s" });
        self.debug(&format!("# {words} word{s_words}, {messages} message{s_messages}"))
    }

    /// Registers a message under its verdict, if that is asked for and the verdict is not unsure.
    fn update(&mut self, folder: &Folder, mail: &[u8], verdict: Verdict) -> Result<()> {
        let (Verdict { outcome, spamicity }, least) = (verdict, self.settings.classification.thresh_update);
        let what = Registration {
            spam: outcome == Outcome::Spam && spamicity <= 1.0 - least,
            ham: outcome == Outcome::Ham && spamicity >= least,
            ..Registration::default()
        };
        if !self.settings.task.update || !what.any() {
            return Ok(());
        }
        self.words.clear();
        self.register_alone(folder, what, mail)
    }

    /// Returns the verdict on a message, and what to print about it.
    fn judge(&mut self, filter: &Filter, mail: &[u8]) -> Result<Judged> {
        let settings = self.settings;
        let Classification { cutoffs, robinson, .. } = settings.classification;
        let score = filter.score_mail(mail, &mut self.scratch)?;
        let is_unknown = score.known_terms == 0 || has_no_words(mail);
        let mut verdict = Verdict::of(if is_unknown { robinson.robx } else { score.probability }, cutoffs);
        if verdict.outcome == Outcome::Ham && self.scratch.limits_hit().text {
            // the part that was not read may be spam
            verdict.outcome = Outcome::Unsure;
        }
        let mut lines = Vec::new();
        let Printed { verbose, terse, .. } = settings.printed;
        if settings.task.passthrough || verbose > 0 || terse {
            let facts = Facts { verdict, message: mail, words: 0, messages: self.messages, run: "" };
            let format = if terse { &settings.forms.terse_format } else { &settings.forms.header_format };
            lines.push(line(format, settings, &facts)?);
        }
        lines.extend(report::lines(settings, filter, mail, verdict)?);
        Ok(Judged { verdict, lines })
    }

    /// Judges a message to be passed on, and registers it if asked to.
    fn judge_and_learn(&mut self, folder: &Folder, mail: &[u8]) -> Result<Judged> {
        let what = self.settings.task.registration;
        if what.any() {
            self.register_alone(folder, what, mail)?;
        }
        let judged = Model::new(|| folder.open()).ask(|filter| self.judge(filter, mail))?;
        self.update(folder, mail, judged.verdict)?;
        Ok(judged)
    }

    fn marked(&self, mail: &[u8], judged: &Judged) -> Head {
        let Forms { header_name, header_place, spam_subject_tag, unsure_subject_tag, .. } =
            &self.settings.forms;
        let subject_tag = match judged.verdict.outcome {
            Outcome::Spam => spam_subject_tag,
            Outcome::Unsure => unsure_subject_tag,
            Outcome::Ham => "",
        };
        head(mail, &Marks { name: header_name, place: header_place, lines: &judged.lines, subject_tag })
    }

    /// Writes one message with its verdict, or unchanged if anything fails. The rest of a large message is copied.
    fn pass_one_on(&mut self) -> Result<u8> {
        let mut message = Held::open(self.settings.source.file.as_deref())?;
        let marked = unless_it_panics(|| {
            message.read_for(&Limits::default())?;
            let folder = self.folder()?;
            let judged = self.judge_and_learn(&folder, &message.mail(&Limits::default())?)?;
            Ok((self.marked(message.bytes(), &judged), judged.verdict.outcome))
        });
        let (output, is_lost) = self.output();
        let end = line_end(message.bytes());
        match marked {
            Ok((Head { bytes, rest }, outcome)) => {
                let last = message.write(output.as_ref(), &bytes, rest)?;
                if last.is_some_and(|last| last != b'\n') {
                    let mut out = output.map_or_else(standard_output, Ok)?;
                    out.write_all(end).context("the message")?;
                }
                let status = if self.settings.task.exit_zero { 0 } else { outcome.status() };
                Ok(if is_lost { ERROR } else { status })
            }
            Err(error) => {
                complain(&error.context("the message is passed on unchanged"));
                message.write(output.as_ref(), &[], 0)?;
                Ok(ERROR)
            }
        }
    }

    /// The file to pass messages on to, `None` for standard output; and whether opening it failed.
    fn output(&self) -> (Option<File>, bool) {
        let Some(path) = &self.settings.task.output else { return (None, false) };
        match File::create(path).with_context(|| shown_path(path)) {
            Ok(file) => (Some(file), false),
            Err(error) => {
                complain(&error.context("the message goes to standard output"));
                (None, true)
            }
        }
    }

    /// Writes the messages of an mbox, or in bulk mode, with their verdicts. Messages that cannot be judged are written
    /// unchanged.
    fn pass_on(&mut self, folder: Result<Folder>) -> Result<()> {
        self.pass_each(|session, mail| {
            let folder = folder.as_ref().map_err(|error| anyhow::anyhow!("{}", told(error)));
            folder.and_then(|folder| session.judge_and_learn(folder, mail))
        })
    }

    fn pass_each(&mut self, judge: impl Fn(&mut Self, &[u8]) -> Result<Judged>) -> Result<()> {
        let (output, mut has_failed) = self.output();
        let mut out = output.map_or_else(standard_output, Ok)?;
        let mails = Mails { source: &self.settings.source, others: self.others, most: None };
        let finished = mails.for_each(&mut |_, mail| {
            let marked = unless_it_panics(|| {
                let judged = judge(self, mail)?;
                Ok((self.marked(mail, &judged), judged.verdict.outcome))
            });
            match marked {
                Ok((Head { bytes, rest }, outcome)) => {
                    out.write_all(&[&bytes, &mail[rest..]].concat()).context("the message")?;
                    if !mail[rest..].is_empty() && !mail.ends_with(b"\n") {
                        out.write_all(line_end(mail)).context("the message")?;
                    }
                    self.status = outcome.status();
                }
                Err(error) => {
                    complain(&error.context("the message is passed on unchanged"));
                    // a panic may have left it half done
                    self.scratch = Scratch::default();
                    out.write_all(mail).context("the message")?;
                    has_failed = true;
                }
            }
            Ok(())
        });
        if has_failed {
            self.status = ERROR;
        }
        finished
    }
}

/// Runs `work` on a message and turns a panic into an error, so that a bug loses neither this message nor those after
/// it.
fn unless_it_panics<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| bail!("a bug in tamis stopped it; please report it"))
}

/// Whether a message is nothing but white space.
fn has_no_words(mail: &[u8]) -> bool {
    mail.iter().all(u8::is_ascii_whitespace)
}

/// The output lines after the file's name. Programs get the name as it is; a terminal gets it escaped.
fn written(name: Option<&Path>, lines: &[String], out: &File) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(name) = name {
        match out.is_terminal() {
            true => bytes.extend_from_slice(shown_path(name).as_bytes()),
            false => bytes.extend_from_slice(name.as_os_str().as_bytes()),
        }
        bytes.push(b' ');
    }
    for line in lines {
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::settings::{Source, Task};

    #[test]
    fn a_panic_on_one_message_of_an_mbox_costs_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let [input, output] = ["mbox", "out"].map(|name| folder.path().join(name));
        let mbox: String = ["one", "boom", "three"]
            .map(|word| format!("From a@example.org Mon Jan  1 00:00:00 2024\nSubject: {word}\n\n{word}\n\n"))
            .concat();
        std::fs::write(&input, &mbox).unwrap();
        let source = Source { mbox: true, file: Some(input), ..Source::default() };
        let task = Task { passthrough: true, output: Some(output.clone()), ..Task::default() };
        let settings = Settings { source, task, ..Settings::default() };
        let mut session = Session::new(&settings, &[]);
        let judge = |_: &mut Session<'_>, mail: &[u8]| {
            assert!(!mail.ends_with(b"boom\n\n") && !mail.ends_with(b"boom\n"));
            let verdict = Verdict { outcome: Outcome::Spam, spamicity: 1.0 };
            Ok(Judged { verdict, lines: vec!["X-Bogosity: Spam".to_owned()] })
        };
        session.pass_each(judge).unwrap();
        assert_eq!(session.status, ERROR);
        let out = std::fs::read_to_string(output).unwrap();
        assert_eq!(out.replace("X-Bogosity: Spam\n", "").trim_end(), mbox.trim_end());
        assert_eq!(out.matches("X-Bogosity: Spam").count(), 2);
    }
}
