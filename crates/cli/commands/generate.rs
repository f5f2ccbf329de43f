//! `tamis generate`: recipes for mail programs; manual pages and completions for packages.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf, absolute};

use anyhow::{Context, Result, bail};
use clap::{Args, Command, Subcommand, ValueEnum};
use tamis_program::{day, seconds_now, shown, shown_path, variable};

use crate::args::{LogArg, ModelArgs};
use crate::commands::manual::{command_page, format_page};

/// The completion scripts, by the file name that each shell looks for.
const COMPLETIONS: [(&str, &str); 3] = [
    ("tamis.bash", include_str!("../../../contrib/completions/tamis.bash")),
    ("_tamis", include_str!("../../../contrib/completions/_tamis")),
    ("tamis.fish", include_str!("../../../contrib/completions/tamis.fish")),
];

#[derive(Subcommand)]
pub(crate) enum GenerateCommand {
    /// Print a recipe for a mail program, with the path of this tamis, and with folders and settings
    Recipe(MailRecipeArgs),
    /// Write the manual pages: one per command, and tamis.5 for the model file
    Man(FolderArg),
    /// Write the completions for bash, zsh and fish
    Completions(FolderArg),
}

#[derive(Args)]
pub(crate) struct FolderArg {
    /// The folder to write into
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl FolderArg {
    fn make(&self) -> Result<&Path> {
        fs::create_dir_all(&self.folder).with_context(|| shown_path(&self.folder))?;
        Ok(&self.folder)
    }
}

pub(crate) fn run(what: &GenerateCommand, mut program: Command) -> Result<u8> {
    match what {
        GenerateCommand::Recipe(args) => return print_recipe(args),
        GenerateCommand::Man(folder) => {
            program.build();
            let (folder, date) = (folder.make()?, day(now()));
            manual(folder, &mut program, &date)?;
            write(&folder.join("tamis.5"), &format_page(&date))?;
        }
        GenerateCommand::Completions(folder) => {
            let folder = folder.make()?;
            for (name, script) in COMPLETIONS {
                write(&folder.join(name), script.as_bytes())?;
            }
        }
    }
    Ok(0)
}

/// Writes the manual pages of a command and its subcommands.
fn manual(folder: &Path, command: &mut Command, date: &str) -> Result<()> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    write(&folder.join(format!("{name}.1")), &command_page(command, date)?)?;
    let inner = command.get_subcommands_mut();
    let mut shown = inner.filter(|inner| !inner.is_hide_set() && inner.get_name() != "help");
    shown.try_for_each(|inner| manual(folder, inner, date))
}

/// The time in seconds since 1970, or `$SOURCE_DATE_EPOCH` if set, so that packages can be reproduced byte for byte
/// (reproducible-builds.org/specs/source-date-epoch).
fn now() -> i64 {
    let given = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|seconds| seconds.parse().ok());
    given.unwrap_or_else(seconds_now)
}

fn write(path: &Path, content: &[u8]) -> Result<()> {
    fs::write(path, content).with_context(|| shown_path(path))
}

/// A mail program with a recipe.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Program {
    /// For ~/.procmailrc
    Procmail,
    /// For ~/.mailfilter
    Maildrop,
    /// For all users of Dovecot (Pigeonhole)
    Sieve,
    /// For all users of Dovecot: files each message in the folder of its label
    SieveLabels,
    /// For all users of Dovecot: learns from messages that are moved (IMAPSieve)
    DovecotLearn,
    /// For ~/.fdm.conf
    Fdm,
    /// For ~/.muttrc: teaches tamis
    Mutt,
}

#[derive(Args)]
#[command(after_help = "\
The recipe calls tamis by its path, since delivery agents do not search the same folders as a shell. It names the model \
if -m, $TAMIS_MODEL or $XDG_DATA_HOME does here, since delivery agents have another environment. Otherwise each user's own \
model is used.

Example:
  tamis generate recipe procmail --log ~/tamis.log >> ~/.procmailrc
  tamis generate recipe mutt --log ~/tamis.log >> ~/.muttrc
  tamis generate recipe dovecot-learn --log syslog > tamis-learn")]
pub(crate) struct MailRecipeArgs {
    /// The mail program
    #[arg(value_name = "PROGRAM")]
    program: Program,
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    log: LogArg,
    /// The Maildir [default: Maildir in the home folder]
    #[arg(long, value_name = "DIR")]
    maildir: Option<PathBuf>,
    /// The folder for spam
    #[arg(long, value_name = "NAME", default_value = "Junk")]
    junk: String,
    /// The folder for unsure messages
    #[arg(long, value_name = "NAME", default_value = "Unsure")]
    unsure: String,
}

impl Program {
    fn template(self) -> &'static str {
        match self {
            Program::Procmail => include_str!("../../../contrib/mail/procmailrc"),
            Program::Maildrop => include_str!("../../../contrib/mail/maildroprc"),
            Program::Sieve => include_str!("../../../contrib/mail/tamis.sieve"),
            Program::SieveLabels => include_str!("../../../contrib/mail/labels.sieve"),
            Program::DovecotLearn => include_str!("../../../contrib/mail/tamis-learn"),
            Program::Fdm => include_str!("../../../contrib/mail/fdm.conf"),
            Program::Mutt => include_str!("../../../contrib/mail/muttrc"),
        }
    }

    /// The default Maildir in the program's own notation.
    fn maildir(self) -> &'static str {
        if self == Program::Fdm { "%h/Maildir" } else { "$HOME/Maildir" }
    }
}

fn print_recipe(args: &MailRecipeArgs) -> Result<u8> {
    let tamis = plain_path(&std::env::current_exe().context("the path of tamis")?)?;
    let model = model(args)?;
    let logged = [&model[..], &option("--log", args.log.log.as_deref())?].concat();
    for name in [&args.junk, &args.unsure] {
        check_plain(name)?;
    }
    let line = |command: &str, options: &[String]| {
        let options: String = options.iter().map(|word| format!(" {word}")).collect();
        format!("{tamis} {command}{options}")
    };
    let strings: String = logged.iter().map(|word| format!(", \"{word}\"")).collect();
    let maildir = args.maildir.as_deref().map_or(Ok(args.program.maildir().to_owned()), plain_path)?;
    let recipe = replaced(
        args.program.template(),
        &[
            ("tamis score --passthrough", line("score --passthrough", &logged)),
            ("tamis learn", line("learn", &logged)),
            ("tamis explain", line("explain", &model)),
            ("/usr/bin/tamis", tamis.clone()),
            ("\"--passthrough\"", format!("\"--passthrough\"{strings}")),
            (args.program.maildir(), maildir),
            ("Junk", args.junk.clone()),
            ("Unsure", args.unsure.clone()),
        ],
    );
    std::io::stdout().write_all(recipe.as_bytes()).context("standard output")?;
    Ok(0)
}

/// The options that name the model, unless a delivery agent would find it by itself.
fn model(args: &MailRecipeArgs) -> Result<Vec<String>> {
    let is_elsewhere =
        args.model.own.model.is_some() || variable("TAMIS_MODEL").or(variable("XDG_DATA_HOME")).is_some();
    let model = if is_elsewhere { Some(args.model.own.path()?) } else { None };
    let shared = args.model.shared_path();
    Ok([option("-m", model.as_deref())?, option("--fallback", shared.as_deref())?].concat())
}

fn option(name: &str, value: Option<&Path>) -> Result<Vec<String>> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let value = if value.as_os_str() == "syslog" { "syslog".to_owned() } else { plain_path(value)? };
    Ok(vec![name.to_owned(), value])
}

/// An absolute path of plain characters.
fn plain_path(path: &Path) -> Result<String> {
    let whole = absolute(path).context("a path")?;
    let text = whole.to_string_lossy().into_owned();
    check_plain(&text)?;
    Ok(text)
}

/// Checks that a text needs no quotes. Each program quotes in its own way; these characters need no quotes in any.
fn check_plain(text: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
    if text.is_empty() || !text.chars().all(is_plain) {
        let got = shown(text);
        bail!(
            "expected a name of letters, digits and / . _ - + @ in a recipe, got {got:?}; a link can have one"
        );
    }
    Ok(())
}

/// Replaces words in a text, all at once: replacements are not searched again.
fn replaced(text: &str, words: &[(&str, String)]) -> String {
    let (mut out, mut rest) = (String::with_capacity(2 * text.len()), text);
    while let Some(first) = rest.chars().next() {
        let found = words.iter().find(|(word, _)| rest.starts_with(word));
        let length = found.map_or(first.len_utf8(), |(word, _)| word.len());
        out.push_str(found.map_or(&rest[..length], |(_, put_in)| put_in));
        rest = &rest[length..];
    }
    out
}
