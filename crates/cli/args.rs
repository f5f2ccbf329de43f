//! The command line: every option, its default and its words of help.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tamis_filter::{Kind, Language, Likelihood, WordRule};

/// Sorts text by what it learned from labelled examples: spam from ham, topic from topic.
#[derive(Parser)]
#[command(
    name = "tamis",
    version,
    max_term_width = 100,
    after_help = "\
Exit status: 0 on success, 3 on any error; `score` tells its verdict instead (see its help).
The model is the file given by -m, else $TAMIS_MODEL, else $XDG_DATA_HOME/tamis/model.tamis
(~/.local/share/tamis/model.tamis).

Example:
  tamis train ham=mail/ham spam=mail/spam
  tamis score < message.eml"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Learn a model from labelled documents
    Train(TrainArgs),
    /// Score messages or documents, standard input by default
    Score(ScoreArgs),
    /// Label every document below a path, in parallel
    Label(LabelArgs),
    /// Show which terms decided a score
    Explain(ExplainArgs),
    /// Show what a model is made of
    Inspect(InspectArgs),
    /// Check that a model file is whole and consistent
    Verify(ModelArg),
    /// Measure a model on labelled documents
    Evaluate(EvaluateArgs),
}

#[derive(Args)]
pub(crate) struct ModelArg {
    /// The model file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) model: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct InputArgs {
    /// Take the documents as mail or as text instead of recognising them
    #[arg(long = "as", value_name = "mail|text")]
    pub(crate) kind: Option<Kind>,
    /// The column that holds the label in CSV, TSV and JSONL: a name, or a number from 1
    #[arg(long, value_name = "COLUMN", default_value = "label")]
    pub(crate) label_column: String,
    /// The column that holds the text
    #[arg(long, value_name = "COLUMN", default_value = "text")]
    pub(crate) text_column: String,
    /// Threads to use; all cores by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    /// Fail (exit 3) if any document could not be read
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Args)]
#[command(after_help = "\
SOURCE is one of
  DIR            a folder of folders, each a label:  DIR/LABEL/files
  LABEL=PATH     a file, folder, mbox or Maildir whose documents all have that label
  FILE.csv       (also .tsv and .jsonl) with a label and a text column
A folder that holds cur/ and new/ is a Maildir.

Example:
  tamis train ham=\"$HOME/Maildir\" spam=\"$HOME/Maildir/.Junk\"
  tamis train -m topics.tamis articles/")]
pub(crate) struct TrainArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    /// Labelled documents
    #[arg(required = true, value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) terms: TermArgs,
    #[command(flatten)]
    pub(crate) bayes: BayesArgs,
    /// Remember each document's terms (default for mail), so that it can be forgotten without being at hand
    #[arg(long, overrides_with = "no_documents")]
    pub(crate) documents: bool,
    /// Remember only a digest of each document (default for text)
    #[arg(long)]
    pub(crate) no_documents: bool,
}

#[derive(Args)]
#[command(next_help_heading = "Terms")]
pub(crate) struct TermArgs {
    /// How text is cut into words: unicode (UAX #29; default for text) or mail (keeps $ ' ! % -; default for mail)
    #[arg(long, value_name = "RULE")]
    pub(crate) words: Option<WordRule>,
    /// Keep upper and lower case apart
    #[arg(long)]
    pub(crate) keep_case: bool,
    /// A file of words to leave out, separated by white space
    #[arg(long, value_name = "FILE")]
    pub(crate) stop_words: Option<PathBuf>,
    /// Reduce words to stems of this language
    #[arg(long, value_name = "LANGUAGE")]
    pub(crate) stem: Option<Language>,
    /// Sequences of words as terms: 1-2 for words and pairs [default: 1]
    #[arg(long, value_name = "MIN-MAX", conflicts_with = "characters")]
    pub(crate) ngrams: Option<Span>,
    /// Sequences of characters as terms instead of words: 3-5
    #[arg(long, value_name = "MIN-MAX")]
    pub(crate) characters: Option<Span>,
    /// Leave out words of fewer characters [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) min_chars: Option<u16>,
    /// Words of more characters only count as long [default: 24 for mail, 64 for text]
    #[arg(long, value_name = "N")]
    pub(crate) max_chars: Option<u16>,
}

#[derive(Args)]
#[command(next_help_heading = "Model")]
pub(crate) struct BayesArgs {
    /// multinomial or bernoulli
    #[arg(long, value_name = "NAME", default_value_t = Likelihood::Multinomial)]
    pub(crate) likelihood: Likelihood,
    /// Count every occurrence of a term, not only its presence in a document
    #[arg(long)]
    pub(crate) occurrences: bool,
    /// Smoothing added to every count: 1 is Laplace's, less is Lidstone's [default: 0.01 for mail, 0.1 for text]
    #[arg(long, value_name = "A", allow_negative_numbers = true)]
    pub(crate) alpha: Option<f64>,
    /// Class priors: learned, smoothed, uniform, or given as LABEL=P,LABEL=P
    #[arg(long, value_name = "PRIOR", default_value = "learned")]
    pub(crate) prior: String,
    /// Score only with terms that occur in at least so many documents
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) min_df: u64,
    /// Score only with terms that occur in at most this share of the documents
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub(crate) max_df: Option<f64>,
    /// Score only with the N terms that occur most
    #[arg(long, value_name = "N")]
    pub(crate) max_features: Option<usize>,
}

#[derive(Args)]
#[command(after_help = "\
Prints LABEL PROBABILITY LOG-ODDS and, for files, the path: spam 0.9987 +6.64 message.eml
In a spam filter both numbers are of spam, in other models of the label. Log-odds are in nats.

Exit status: 0 spam, 1 ham, 2 unsure, 3 any error; with other labels 0 labelled, 2 unsure, 3 any error.
With -e, --passthrough or several files: 0 for whatever was classified.

Example (procmail):
  :0fw
  | tamis score --passthrough
  :0:
  * ^X-Tamis: spam
  Junk")]
pub(crate) struct ScoreArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    /// Messages or documents; - is standard input
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print one JSON object a line: path, label, probability, log_odds
    #[arg(long)]
    pub(crate) json: bool,
    /// Exit with 0 whatever the verdict
    #[arg(short, long)]
    pub(crate) exit_zero: bool,
    /// Copy the message to standard output with X-Spam-Flag, X-Spam-Status and X-Tamis added; on any error
    /// it comes out unchanged
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) passthrough: bool,
    /// With --passthrough, keep X-Spam-Flag and X-Spam-Status lines that came with the message
    #[arg(long, requires = "passthrough")]
    pub(crate) keep_headers: bool,
}

#[derive(Args)]
#[command(after_help = "\
Example:
  tamis label articles/ > labels.csv
  tamis label --sort-into sorted --by link \"$HOME/Maildir\"")]
pub(crate) struct LabelArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    /// Files, folders, mboxes, Maildirs, CSV, TSV or JSONL
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<String>,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// How rows are written
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    pub(crate) format: Format,
    /// Add the probability of every class
    #[arg(long)]
    pub(crate) all: bool,
    /// File the documents into DIR/LABEL
    #[arg(long, value_name = "DIR")]
    pub(crate) sort_into: Option<PathBuf>,
    /// How --sort-into files them
    #[arg(long, value_enum, default_value_t = By::Copy, requires = "sort_into")]
    pub(crate) by: By,
}

#[derive(Args)]
#[command(after_help = "\
The contributions and the intercept add up to the log-odds.

Example:
  tamis explain message.eml
  tamis explain --json --terms 0 < message.eml")]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    /// The message or document; standard input by default
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Terms to show, 0 for all
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) terms: usize,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Example:
  tamis inspect --terms 20")]
pub(crate) struct InspectArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    /// Also show the N strongest terms of every class
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) terms: usize,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Sources are those of `train`. Unsure counts as wrong in accuracy and as a miss in recall.

Example:
  tamis evaluate ham=test/ham spam=test/spam --scores scores.tsv")]
pub(crate) struct EvaluateArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    /// Labelled documents that the model has not learned
    #[arg(required = true, value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Write a TSV of path, true label, log-odds, verdict and probability of every document
    #[arg(long, value_name = "FILE")]
    pub(crate) scores: Option<PathBuf>,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// How rows are written.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Csv,
    Tsv,
    Jsonl,
}

/// How documents are filed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    Copy,
    Link,
    Move,
}

/// A range of lengths, `3` or `3-5`.
#[derive(Clone, Copy)]
pub(crate) struct Span {
    pub(crate) min: u8,
    pub(crate) max: u8,
}

impl std::str::FromStr for Span {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let (min, max) = s.split_once('-').unwrap_or((s, s));
        match (min.parse(), max.parse()) {
            (Ok(min), Ok(max)) => Ok(Span { min, max }),
            _ => Err(format!("expected a range such as 3-5, got {s:?}")),
        }
    }
}
