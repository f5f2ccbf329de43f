//! The tamis program: arguments, documents in, verdicts out.
//!
//! Results go to standard output, everything else to standard error. Whatever goes wrong, a message that is being
//! passed through comes out.

mod args;
mod columns;
mod confusion;
mod corpus;
mod duplicates;
mod evaluate;
mod exchange;
mod explain;
mod fixed;
mod inspect;
mod label;
mod learn;
mod model;
mod output;
mod passthrough;
mod paths;
mod records;
mod report;
mod rescue;
mod rows;
mod score;
mod setup;
mod shown;
mod sources;
mod suspects;
mod table;
mod train;
mod usage;

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::{Args, Parser};
use tamis_filter::{Error, Filter};

use args::{Cli, Command, FallbackArg, InputArgs, ModelArg, ScoreArgs};
use output::say;
use shown::{named, shown_path, told};

/// The exit status of every error, of usage and of the program's own.
const ERROR: u8 = 3;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    rescue::keep_lost_pages();
    if passes_input_through(&arguments) {
        rescue::arm(libc::STDIN_FILENO);
    }
    let command = match parse(&arguments) {
        Ok(command) => command,
        Err(error) => return usage(&error, &arguments),
    };
    match catch_unwind(AssertUnwindSafe(|| run(command))) {
        Ok(Ok(status)) => ExitCode::from(status),
        Ok(Err(error)) if output::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            say!("tamis: {}", told(&error));
            ExitCode::from(ERROR)
        }
        Err(_) => ExitCode::from(ERROR),
    }
}

/// What the arguments ask for. To learn the options of all commands takes a fresh process a fifth of the time to score a
/// message, so those that are run for every message are read by their own where nothing is wrong; what is wrong is told
/// by all.
fn parse(arguments: &[OsString]) -> Result<Command, clap::Error> {
    let alone = match arguments.get(1).and_then(|name| name.to_str()) {
        Some("score") => read_alone(arguments).map(Command::Score),
        Some("learn") => read_alone(arguments).map(Command::Learn),
        Some("forget") => read_alone(arguments).map(Command::Forget),
        _ => None,
    };
    alone.map_or_else(|| Ok(Cli::try_parse_from(arguments)?.command), Ok)
}

/// The arguments of a command, if they are right and ask for no help.
fn read_alone<A: Args>(arguments: &[OsString]) -> Option<A> {
    let command = A::augment_args(clap::Command::new("tamis"));
    A::from_arg_matches(&command.try_get_matches_from(&arguments[1..]).ok()?).ok()
}

fn run(command: Command) -> Result<u8> {
    match command {
        Command::Train(args) => on_threads(&args.input, || train::run(&args)),
        Command::Score(args) => score::run(&args),
        Command::Label(args) => on_threads(&args.input, || label::run(&args)),
        Command::Learn(args) => learn::learn(&args),
        Command::Forget(args) => learn::forget(&args),
        Command::Retrain(args) => learn::retrain(&args),
        Command::Expire(args) => exchange::expire(&args),
        Command::Merge(args) => exchange::merge_models(&args),
        Command::Export(args) => exchange::export(&args),
        Command::Import(args) => exchange::import_model(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Verify(args) => inspect::verify(&args),
        Command::Evaluate(args) => on_threads(&args.input, || evaluate::run(&args)),
    }
}

/// Runs a command whose work is spread over threads: as many as it was told, all cores by default.
fn on_threads(input: &InputArgs, run: impl FnOnce() -> Result<u8> + Send) -> Result<u8> {
    let threads = input.threads.map_or(0, usize::from);
    // this thread is one of them: a single one needs no other
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).use_current_thread().build();
    let pool = pool.context("starting threads")?;
    pool.install(run)
}

/// Help and version are no errors; a usage error of `score --passthrough` still lets the message through.
fn usage(error: &clap::Error, arguments: &[OsString]) -> ExitCode {
    if !error.use_stderr() {
        // Where the message cannot be shown there is nobody to tell.
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    // it repeats arguments as they came
    usage::text(error, arguments).lines().for_each(|line| say!("{line}"));
    if asks_for_passthrough(arguments) {
        passthrough::copy_input();
    }
    ExitCode::from(ERROR)
}

/// Whether a message is to be passed through, as far as arguments tell that may be wrong.
fn asks_for_passthrough(arguments: &[OsString]) -> bool {
    let is_passthrough = |a: &OsString| {
        a.to_str().is_some_and(|a| {
            a.starts_with("--pass") || (a.starts_with('-') && !a.starts_with("--") && a.contains('p'))
        })
    };
    arguments.iter().any(|a| a == "score") && arguments.iter().any(is_passthrough)
}

/// Whether that message is on standard input for sure: there is no argument that could name a file.
fn passes_input_through(arguments: &[OsString]) -> bool {
    let is_value = |at: usize| matches!(arguments[at - 1].to_str(), Some("-m" | "--model" | "--fallback"));
    let is_option = |at: usize| arguments[at].as_encoded_bytes().starts_with(b"-");
    asks_for_passthrough(arguments) && (2..arguments.len()).all(|at| is_option(at) || is_value(at))
}

/// What a variable of the environment is set to, if it is.
fn set(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

impl ModelArg {
    /// The model file: the one given, else `$TAMIS_MODEL`, else that of the user.
    fn path(&self) -> Result<PathBuf> {
        if let Some(path) = self.model.clone().or_else(|| set("TAMIS_MODEL")) {
            return Ok(path);
        }
        let data = set("XDG_DATA_HOME").or_else(|| set("HOME").map(|home| home.join(".local/share")));
        match data {
            Some(data) => Ok(data.join("tamis/model.tamis")),
            None => bail!("no model: expected -m FILE, or TAMIS_MODEL or HOME to be set"),
        }
    }

    /// Makes the folder of the user's own model; that of a file which was named must be there.
    fn make_folder(&self, path: &Path) -> Result<()> {
        // of a name alone the folder is the empty path
        let missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.is_dir();
        match path.parent().filter(missing) {
            Some(folder) if self.model.is_some() => {
                bail!("{}: there is no folder {} to write it to", shown_path(path), shown_path(folder))
            }
            Some(folder) => make_private(folder).with_context(|| shown_path(folder)),
            None => Ok(()),
        }
    }

    fn open(&self) -> Result<Filter> {
        let path = self.path()?;
        let option = self.model.as_ref().map_or(String::new(), |path| format!("-m {} ", shown_path(path)));
        open_model(&path)?.with_context(|| {
            format!(
                "{}: there is no model yet; make one with: tamis train {option}ham=PATH spam=PATH",
                shown_path(&path)
            )
        })
    }
}

impl FallbackArg {
    /// Whether `$TAMIS_FALLBACK` is set but has no part in this: a model that -m names is that model and nothing else,
    /// unless --fallback is named too. One rule for all that learn or score, so that they agree.
    fn is_left_out(&self, model: &ModelArg) -> bool {
        self.fallback.is_none() && model.model.is_some() && set("TAMIS_FALLBACK").is_some()
    }

    /// The shared model, if there is to be one: that of --fallback, else `$TAMIS_FALLBACK`.
    fn shared(&self, model: &ModelArg) -> Result<Option<Filter>> {
        let usual = || set("TAMIS_FALLBACK").filter(|_| !self.is_left_out(model));
        let Some(path) = self.fallback.clone().or_else(usual) else { return Ok(None) };
        let missing = || {
            format!(
                "{}: expected the shared model of --fallback or $TAMIS_FALLBACK, got no file",
                shown_path(&path)
            )
        };
        open_model(&path)?.with_context(missing).map(Some)
    }

    /// The user's model with the shared one behind it, or that alone if the user has none.
    fn open(&self, model: &ModelArg) -> Result<Filter> {
        let Some(shared) = self.shared(model)? else { return model.open() };
        let Some(mut filter) = open_model(&model.path()?)? else { return Ok(shared) };
        filter.set_fallback(Arc::new(shared)).context("--fallback")?;
        Ok(filter)
    }
}

/// Makes a folder that only its owner may enter; those above it as the user's umask says.
fn make_private(folder: &Path) -> std::io::Result<()> {
    if let Some(above) = folder.parent() {
        std::fs::create_dir_all(above)?;
    }
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        // someone was faster, or there is none to make
        Err(_) if folder.is_dir() || folder.as_os_str().is_empty() => Ok(()),
        made => made,
    }
}

impl ScoreArgs {
    /// The model, deciding as it was told.
    fn open(&self) -> Result<Filter> {
        let mut filter = self.fallback.open(&self.model)?;
        self.decision.apply(&mut filter)?;
        Ok(filter)
    }
}

/// Opens a model, if there is a file.
fn open_model(path: &Path) -> Result<Option<Filter>> {
    match Filter::open(path) {
        Ok(filter) => Ok(Some(filter)),
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(named(path)(error)),
    }
}
