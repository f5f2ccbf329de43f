//! Runs what bogofilter's options ask for.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use tamis_mail::passthrough::Head;
use tamis_program::{
    ERROR, LazyModel, Passthrough, commit, is_closed_pipe, shown_path, standard_output, told,
};
use tamis_train::{Document, Doubt, Filter, Learner, Limits, Scratch};

use crate::answers::header::{Marks, head, line_end};
use crate::answers::layout::{Bogosity, Facts, MailClass, line};
use crate::answers::query::{self, HELP};
use crate::answers::report;
use crate::folder::ModelFolder;
use crate::mails::{Mails, complain};
use crate::options::arguments::{Argument, cut};
use crate::options::config::{BogofilterCall, read};
use crate::options::settings::{BogofilterSettings, Bulk, Registration};

/// Runs what the arguments (without the program's name) ask for and returns the exit status. A message to be passed on
/// is written even if something fails.
pub fn run(arguments: &[OsString]) -> u8 {
    let (given, others) = cut(arguments);
    match read(&given, &others) {
        Ok(BogofilterCall::Help) => print(HELP),
        Ok(BogofilterCall::Version) => print(&query::version()),
        Ok(BogofilterCall::Work(settings)) if settings.query > 0 => print(&described(&settings)),
        Ok(BogofilterCall::Work(settings)) => {
            let mut invocation = Invocation::new(&settings, &others);
            match catch_unwind(AssertUnwindSafe(|| invocation.work())) {
                Ok(Ok(status)) => status,
                // a message that nobody took has not been passed on
                Ok(Err(error)) if is_closed_pipe(&error) && !settings.passthrough => 0,
                Ok(Err(error)) => fail(&error),
                Err(_) => ERROR,
            }
        }
        Err(error) => {
            let status = fail(&error);
            if last(&given, "passthrough").is_some() {
                let input = last(&given, "input-file").and_then(Option::as_deref).map(Path::new);
                // copy whatever can be read
                let _ = Passthrough::open(input).and_then(|mut message| message.write(None, &[], 0));
            }
            status
        }
    }
}

fn fail(error: &anyhow::Error) -> u8 {
    complain(error);
    ERROR
}

/// The value of an option where it was given last.
fn last<'a>(given: &'a [Argument], name: &str) -> Option<&'a Option<OsString>> {
    given.iter().rev().find_map(|argument| match argument {
        Argument::Option(option, value) if option.name == name => Some(value),
        _ => None,
    })
}

fn print(text: &str) -> u8 {
    if std::io::stdout().write_all(text.as_bytes()).is_ok() { 0 } else { ERROR }
}

fn described(settings: &BogofilterSettings) -> String {
    let mut text = query::settings(settings);
    if settings.query > 1
        && let Ok(folder) = ModelFolder::locate(settings)
    {
        text += &format!("{:<17} = {}\n", "bogofilter-dir", shown_path(&folder.path));
    }
    text
}

/// One call of the program.
struct Invocation<'a> {
    settings: &'a BogofilterSettings,
    others: &'a [OsString],
    scratch: Scratch,
    /// The exit status of the last message.
    status: u8,
    /// Distinct words registered, collected only if their number is to be printed.
    words: BTreeSet<String>,
    messages: u64,
}

/// The verdict on a message, and what to print about it.
struct MessageReport {
    verdict: Bogosity,
    /// The line with the verdict, and any tables.
    lines: Vec<String>,
}

impl<'a> Invocation<'a> {
    fn new(settings: &'a BogofilterSettings, others: &'a [OsString]) -> Self {
        let (scratch, words) = (Scratch::default(), BTreeSet::new());
        Invocation { settings, others, scratch, status: 0, words, messages: 0 }
    }

    fn work(&mut self) -> Result<u8> {
        let is_one = self.settings.bulk == Bulk::None && !self.settings.mbox;
        let is_folder = self.settings.file.as_ref().is_some_and(|path| path.is_dir());
        if self.settings.passthrough && is_one && !is_folder {
            return self.pass_one_on();
        }
        let folder = self.folder();
        if self.settings.passthrough {
            self.pass_each(|invocation, mail| {
                let folder = folder.as_ref().map_err(|error| anyhow!("{}", told(error)));
                invocation.judge_and_learn(folder?, mail)
            })?;
        } else if self.settings.registration.any() {
            self.register(&folder?)?;
        } else {
            self.score(&folder?)?;
        }
        Ok(if self.settings.exit_zero && self.status != ERROR { 0 } else { self.status })
    }

    fn mails(&self, most: Option<usize>) -> Mails<'a> {
        Mails { settings: self.settings, others: self.others, most }
    }

    /// The folder of the model, created if it does not exist.
    fn folder(&self) -> Result<ModelFolder> {
        let folder = ModelFolder::locate(self.settings)?;
        if self.settings.debug_database && self.settings.verbose > 1 {
            self.debug(&format!("open {}", shown_path(&folder.model())))?;
        }
        folder.make()?;
        if self.settings.update {
            folder.prepare_to_update()?;
        }
        Ok(folder)
    }

    /// Writes a line of debug output: to standard error, or with -D to standard output.
    fn debug(&self, line: &str) -> Result<()> {
        match self.settings.debug_to_output {
            true => writeln!(std::io::stdout(), "{line}").context("standard output"),
            false => writeln!(std::io::stderr(), "{line}").context("standard error"),
        }
    }

    /// Prints a verdict for each message.
    fn score(&mut self, folder: &ModelFolder) -> Result<()> {
        let mut model = LazyModel::new(|| folder.open());
        let most = model.opened()?.information().recipe.limits.bytes.saturating_add(1);
        let mails = self.mails(Some(most));
        let mut out = standard_output()?;
        mails.for_each(&mut |name, mail| {
            let judged = model.ask(|filter| self.judge(filter, mail))?;
            self.update(folder, mail, judged.verdict)?;
            self.status = judged.verdict.class as u8;
            let BogofilterSettings { verbose, quiet, terse, dataframe, .. } = *self.settings;
            if verbose > 0 || terse || dataframe {
                let named = name.filter(|_| verbose > 0 && !quiet);
                out.write_all(&written(named, &judged.lines, &out)).context("standard output")?;
            }
            Ok(())
        })
    }

    /// Registers all messages. Writes the model once.
    fn register(&mut self, folder: &ModelFolder) -> Result<()> {
        let what = self.settings.registration;
        // one byte more than is read of a message, to detect that there is more
        let mails = self.mails(Some(Limits::default().bytes.saturating_add(1)));
        // lock the model from the first message on, not while waiting for it
        let mut learner: Option<Learner> = None;
        mails.for_each(&mut |_, mail| {
            let learner = match &mut learner {
                Some(learner) => learner,
                none => none.insert(folder.learner()?),
            };
            self.register_one(learner, what, mail)
        })?;
        self.commit(learner.map_or_else(|| folder.learner(), Ok)?)
    }

    /// Registers one message. Writes the model.
    fn register_alone(&mut self, folder: &ModelFolder, what: Registration, mail: &[u8]) -> Result<()> {
        let mut learner = folder.learner()?;
        self.register_one(&mut learner, what, mail)?;
        self.commit(learner)
    }

    fn register_one(&mut self, learner: &mut Learner, what: Registration, mail: &[u8]) -> Result<()> {
        if has_no_words(mail) {
            return Ok(());
        }
        self.messages += 1;
        if what.spam || what.ham {
            ModelFolder::register(learner, what, mail)?;
            return self.count_words(learner.filter(), mail);
        }
        self.count_words(learner.filter(), mail)?;
        ModelFolder::register(learner, what, mail)
    }

    fn count_words(&mut self, filter: &Filter, mail: &[u8]) -> Result<()> {
        if self.settings.verbose > 0 {
            let explanation = filter.explain(Document::Mail(mail), &mut self.scratch)?;
            self.words.extend(explanation.terms.into_iter().map(|term| term.term));
        }
        Ok(())
    }

    /// Writes what was learned, and says how much it was.
    fn commit(&self, mut learner: Learner) -> Result<()> {
        commit(&mut learner)?;
        if self.settings.verbose == 0 {
            return Ok(());
        }
        let (words, messages) = (self.words.len(), self.messages);
        let [s_words, s_messages] = [words == 1, messages == 1].map(|is_one| if is_one { "" } else { "s" });
        self.debug(&format!("# {words} word{s_words}, {messages} message{s_messages}"))
    }

    /// Registers a message under its verdict, if that is asked for and the verdict is not unsure.
    fn update(&mut self, folder: &ModelFolder, mail: &[u8], verdict: Bogosity) -> Result<()> {
        let (Bogosity { class, spamicity }, least) = (verdict, self.settings.thresh_update);
        let what = Registration {
            spam: class == MailClass::Spam && spamicity <= 1.0 - least,
            ham: class == MailClass::Ham && spamicity >= least,
            ..Registration::default()
        };
        if !self.settings.update || !what.any() {
            return Ok(());
        }
        self.words.clear();
        self.register_alone(folder, what, mail)
    }

    /// Returns the verdict on a message, and what to print about it.
    fn judge(&mut self, filter: &Filter, mail: &[u8]) -> Result<MessageReport> {
        let settings = self.settings;
        let score = filter.score_mail(mail, &mut self.scratch)?;
        let is_unknown = score.known_terms == 0 || has_no_words(mail);
        let mut verdict = Bogosity::new(
            if is_unknown { settings.robinson.robx } else { score.probability },
            settings.cutoffs,
        );
        let is_withheld = match verdict.class {
            // the part that was not read may be spam
            MailClass::Ham => self.scratch.limits_hit().text || score.doubt.is_some(),
            MailClass::Spam => score.doubt == Some(Doubt::Header),
            MailClass::Unsure => false,
        };
        if is_withheld {
            verdict.class = MailClass::Unsure;
        }
        let mut lines = Vec::new();
        if settings.passthrough || settings.verbose > 0 || settings.terse {
            let facts = Facts { verdict, message: mail, messages: self.messages };
            let format = if settings.terse { &settings.terse_format } else { &settings.header_format };
            lines.push(line(format, settings, &facts)?);
        }
        lines.extend(report::lines(settings, filter, mail, verdict)?);
        Ok(MessageReport { verdict, lines })
    }

    /// Judges a message to be passed on, and registers it if asked to.
    fn judge_and_learn(&mut self, folder: &ModelFolder, mail: &[u8]) -> Result<MessageReport> {
        if self.settings.registration.any() {
            self.register_alone(folder, self.settings.registration, mail)?;
        }
        let judged = LazyModel::new(|| folder.open()).ask(|filter| self.judge(filter, mail))?;
        self.update(folder, mail, judged.verdict)?;
        Ok(judged)
    }

    fn marked(&self, mail: &[u8], judged: &MessageReport) -> Head {
        let BogofilterSettings { header_name: name, header_place: place, .. } = self.settings;
        let subject_tag = match judged.verdict.class {
            MailClass::Spam => &*self.settings.spam_subject_tag,
            MailClass::Unsure => &self.settings.unsure_subject_tag,
            MailClass::Ham => "",
        };
        head(mail, &Marks { name, place, lines: &judged.lines, subject_tag })
    }

    /// Writes one message with its verdict, or unchanged if anything fails. The rest of a large message is copied.
    fn pass_one_on(&mut self) -> Result<u8> {
        let mut message = Passthrough::open(self.settings.file.as_deref())?;
        let marked = unless_it_panics(|| {
            message.read_for(&Limits::default())?;
            let folder = self.folder()?;
            let judged = self.judge_and_learn(&folder, &message.mail(&Limits::default())?)?;
            Ok((self.marked(message.bytes(), &judged), judged.verdict.class))
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
                let status = if self.settings.exit_zero { 0 } else { outcome as u8 };
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
        let Some(path) = &self.settings.output else { return (None, false) };
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
    fn pass_each(&mut self, judge: impl Fn(&mut Self, &[u8]) -> Result<MessageReport>) -> Result<()> {
        let (output, mut has_failed) = self.output();
        let mut out = output.map_or_else(standard_output, Ok)?;
        let mails = self.mails(None);
        let finished = mails.for_each(&mut |_, mail| {
            let marked = unless_it_panics(|| {
                let judged = judge(self, mail)?;
                Ok((self.marked(mail, &judged), judged.verdict.class))
            });
            match marked {
                Ok((Head { bytes, rest }, outcome)) => {
                    out.write_all(&[&bytes, &mail[rest..]].concat()).context("the message")?;
                    if !mail[rest..].is_empty() && !mail.ends_with(b"\n") {
                        out.write_all(line_end(mail)).context("the message")?;
                    }
                    self.status = outcome as u8;
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
    let done = catch_unwind(AssertUnwindSafe(work));
    done.unwrap_or_else(|_| Err(anyhow!("a bug in tamis stopped it; please report it")))
}

/// Whether a message is nothing but white space.
fn has_no_words(mail: &[u8]) -> bool {
    mail.iter().all(u8::is_ascii_whitespace)
}

/// The output lines after the file's name. Programs get the name as it is; a terminal gets it escaped.
fn written(name: Option<&Path>, lines: &[String], out: &File) -> Vec<u8> {
    let mut bytes = match name {
        None => Vec::new(),
        Some(name) if out.is_terminal() => format!("{} ", shown_path(name)).into_bytes(),
        Some(name) => [name.as_os_str().as_bytes(), b" "].concat(),
    };
    for line in lines {
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_on_one_message_of_an_mbox_costs_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let [input, output] = ["mbox", "out"].map(|name| folder.path().join(name));
        let mbox: String = ["one", "boom", "three"]
            .map(|word| format!("From a@example.org Mon Jan  1 00:00:00 2024\nSubject: {word}\n\n{word}\n\n"))
            .concat();
        std::fs::write(&input, &mbox).unwrap();
        let mut settings =
            BogofilterSettings { mbox: true, passthrough: true, ..BogofilterSettings::usual() };
        (settings.file, settings.output) = (Some(input), Some(output.clone()));
        let mut session = Invocation::new(&settings, &[]);
        let judge = |_: &mut Invocation<'_>, mail: &[u8]| {
            assert!(!mail.ends_with(b"boom\n\n") && !mail.ends_with(b"boom\n"));
            let verdict = Bogosity { class: MailClass::Spam, spamicity: 1.0 };
            Ok(MessageReport { verdict, lines: vec!["X-Bogosity: Spam".to_owned()] })
        };
        session.pass_each(judge).unwrap();
        assert_eq!(session.status, ERROR);
        let out = std::fs::read_to_string(output).unwrap();
        assert_eq!(out.replace("X-Bogosity: Spam\n", "").trim_end(), mbox.trim_end());
        assert_eq!(out.matches("X-Bogosity: Spam").count(), 2);
    }
}
