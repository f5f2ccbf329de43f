//! The commands of the program. Most are in the rooms of their tasks; here are those for packages and shells.

pub(crate) mod complete;
pub(crate) mod generate;
mod manual;

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::{io, process};

use anyhow::{Context, Result, bail};
use clap::{CommandFactory, Parser, Subcommand};

use crate::answers::{explain, label, score, suggest};
use crate::args::{InputArgs, ModelArg, VolumeArgs};
use crate::evaluation::{arguments, compare, drift, evaluate};
use crate::models::{exchange, forget, inspect, learn, merge, spool, train};

/// Learns from labelled examples to sort text: spam from ham, one topic from another.
#[derive(Parser)]
#[command(
    name = "tamis",
    version,
    max_term_width = 100,
    after_help = "\
Exit status: 0 on success, 3 on any error; `score` and `drift` also report their result this way (see their help).

The model is the file that -m names, else $TAMIS_MODEL, else \
$XDG_DATA_HOME/tamis/model.tamis (~/.local/share/tamis/model.tamis).

Example:
  tamis train ham=mail/ham spam=mail/spam
  tamis score < message.eml"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) volume: VolumeArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Learn a model from labelled documents
    Train(train::TrainArgs),
    /// Score messages or documents, standard input by default
    Score(score::ScoreArgs),
    /// Label every document below a path, in parallel
    Label(label::LabelArgs),
    /// Learn documents one by one, for example to correct a mistake
    Learn(learn::LearnArgs),
    /// Forget documents that were learned
    Forget(forget::ForgetArgs),
    /// Refit a model to all documents that it remembers
    Retrain(forget::RetrainArgs),
    /// Forget old documents
    Expire(forget::ExpireArgs),
    /// Merge models, such as the parts of a large one or those of colleagues
    Merge(merge::MergeArgs),
    /// Write a model as text (JSON lines), or its terms as a table
    Export(exchange::ExportArgs),
    /// Make a model from exported text, bogofilter's word list or scikit-learn's naive Bayes
    Import(exchange::ImportArgs),
    /// Show which terms decided a score
    Explain(explain::ExplainArgs),
    /// Show the contents of a model
    Inspect(inspect::InspectArgs),
    /// Check that a model file is whole and consistent
    Verify(ModelArg),
    /// Recover the intact documents of a damaged model
    Salvage(exchange::SalvageArgs),
    /// Measure a model on labelled documents
    Evaluate(arguments::EvaluateArgs),
    /// Compare models, or settings, on the same labelled documents
    Compare(compare::CompareArgs),
    /// Tell whether new documents differ from those that the model learned
    Drift(drift::DriftArgs),
    /// Name the documents that would teach a model most, to label them next
    Suggest(suggest::SuggestArgs),
    /// Count the verdicts and corrections of a log by day
    Stats(drift::StatsArgs),
    /// Behave like bogofilter, with its options
    #[command(
        disable_help_flag = true,
        after_help = "\
The model is model.tamis in bogofilter's folder: that of -d, else bogofilter_dir of bogofilter.cf, \
else $BOGOFILTER_DIR, else ~/.bogofilter. A bogofilter word list there is imported once, by \
bogoutil, and left unchanged. `tamis bogofilter -h` lists the options. Called as bogofilter, tamis \
runs this command.

Example:
  tamis bogofilter -n < ham.eml
  tamis bogofilter -p -e < message.eml
  ln -s \"$(command -v tamis)\" ~/bin/bogofilter"
    )]
    Bogofilter {
        /// Options of bogofilter
        #[arg(value_name = "OPTION", trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Sort a mailbox on an IMAP server, and learn from the messages that are moved
    #[command(
        disable_help_flag = true,
        after_help = "\
This runs tamis-mailbox, a package of its own: cargo install --locked --path crates/mailbox. \
`tamis mailbox --help` shows its commands.

Example:
  tamis mailbox setup anna@example.org
  tamis mailbox train
  tamis mailbox run"
    )]
    Mailbox {
        /// Command and options of tamis-mailbox
        #[arg(value_name = "ARGUMENT", trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Print the completions of the word being typed, for a shell
    #[command(hide = true)]
    Complete {
        /// The words after `tamis`; the last one, which may be empty, is being typed
        #[arg(value_name = "WORD", trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// Print recipes for mail programs; write manual pages and completions
    #[command(subcommand)]
    Generate(generate::GenerateCommand),
}

pub(crate) fn run(command: Command) -> Result<u8> {
    match command {
        Command::Train(args) => on_threads(&args.input, || train::run(&args)),
        Command::Score(args) => score::run(&args),
        Command::Label(args) => on_threads(&args.input, || label::run(&args)),
        Command::Learn(args) => match &args.spool {
            Some(folder) => spool::run(&args, folder),
            None => learn::run(&args),
        },
        Command::Forget(args) => forget::forget(&args),
        Command::Retrain(args) => forget::retrain(&args),
        Command::Expire(args) => forget::expire(&args),
        Command::Merge(args) => merge::run(&args),
        Command::Export(args) => exchange::export(&args),
        Command::Import(args) => exchange::import(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Verify(args) => inspect::verify(&args),
        Command::Salvage(args) => exchange::salvage(&args),
        Command::Evaluate(args) => on_threads(&args.input, || evaluate::run(&args)),
        Command::Compare(args) => on_threads(&args.input, || compare::run(&args)),
        Command::Drift(args) => on_threads(&args.input, || drift::run(&args)),
        Command::Suggest(args) => on_threads(&args.input, || suggest::run(&args)),
        Command::Stats(args) => drift::stats(&args),
        Command::Bogofilter { arguments } => Ok(tamis_bogofilter::run(&arguments)),
        Command::Mailbox { arguments } => mailbox(&arguments, Cli::command()),
        Command::Complete { words } => complete::run(&words, Cli::command()),
        Command::Generate(what) => generate::run(&what, Cli::command()),
    }
}

/// Runs a command on several threads: one per core unless the arguments say otherwise.
fn on_threads(input: &InputArgs, run: impl FnOnce() -> Result<u8> + Send) -> Result<u8> {
    let threads = input.threads.map_or(0, usize::from);
    // this thread is one of them, so a single thread needs no pool
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).use_current_thread().build();
    let pool = pool.context("starting threads")?;
    pool.install(run)
}

const MAILBOX: &str = "tamis-mailbox";

/// Runs `tamis mailbox`, a program of its own, so that this one stays small: replaces this process by the program beside
/// it, or by the one that the shell would find. Without it, help says how to get it.
fn mailbox(arguments: &[OsString], mut tamis: clap::Command) -> Result<u8> {
    let beside = std::env::current_exe().ok().map(|tamis| tamis.with_file_name(MAILBOX));
    let program = beside.filter(|path| path.exists()).unwrap_or_else(|| PathBuf::from(MAILBOX));
    let error = process::Command::new(&program).args(arguments).exec();
    if error.kind() == io::ErrorKind::NotFound {
        if let ([], Some(help)) | ([_], Some(help)) = (arguments, tamis.find_subcommand_mut("mailbox"))
            && arguments.iter().all(|argument| argument == "-h" || argument == "--help")
        {
            help.print_help().context("standard output")?;
            return Ok(0);
        }
        bail!("there is no {MAILBOX}; `cargo install --locked --path crates/mailbox` installs it");
    }
    Err(error).with_context(|| program.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A heading applies until the next one, so every option must be below the heading of its own group.
    #[test]
    fn arguments_and_output_stand_under_no_heading() {
        for command in Cli::command().get_subcommands() {
            let heads = command.get_arguments().filter(|argument| {
                argument.is_positional()
                    || ["json", "format", "threads", "label_column"].contains(&argument.get_id().as_str())
            });
            for argument in heads {
                assert_eq!(argument.get_help_heading(), None, "{}: {argument}", command.get_name());
            }
        }
    }
}
