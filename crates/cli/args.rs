//! The command line: every option, its default and its words of help.

mod exchange;
mod learning;
mod values;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use tamis_filter::{Kind, Language, WordRule};

use crate::sources::Holds;
use crate::table::Shape;
pub(crate) use exchange::{ExpireArgs, ExportArgs, From, ImportArgs, MergeArgs};
pub(crate) use learning::{ForgetArgs, LearnArgs, RetrainArgs};
pub(crate) use values::{
    By, ColumnChoice, Contradictions, Cost, Estimate, Format, LikelihoodName, Order, Selection, Span, Switch,
};
use values::{at_least, delimiter, probability, share};

/// Sorts text by what it learned from labelled examples: spam from ham, topic from topic.
#[derive(Parser)]
#[command(
    name = "tamis",
    version,
    max_term_width = 100,
    after_help = "\
Exit status: 0 on success, 3 on any error; `score` tells its verdict by it (see its help).

The model is the file that -m names, else $TAMIS_MODEL, else \
$XDG_DATA_HOME/tamis/model.tamis (~/.local/share/tamis/model.tamis).

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
    /// Learn documents under a label, one by one: correct a mistake
    Learn(LearnArgs),
    /// Forget documents that were learned
    Forget(ForgetArgs),
    /// Fit a model anew to all documents that it remembers
    Retrain(RetrainArgs),
    /// Forget documents that have grown old
    Expire(ExpireArgs),
    /// Add models up: parts of a large one, or what colleagues learned
    Merge(MergeArgs),
    /// Write a model as text (JSON lines)
    Export(ExportArgs),
    /// Make a model from such text, or from bogofilter's word list
    Import(ImportArgs),
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
pub(crate) struct FallbackArg {
    /// A shared model behind your own: documents are scored by what both have learned, and by the shared one alone while
    /// you have none. The default is $TAMIS_FALLBACK, but not for a model that -m names: that one stands alone
    #[arg(long, value_name = "FILE")]
    pub(crate) fallback: Option<PathBuf>,
}

/// A list of paths.
#[derive(Args)]
pub(crate) struct ListArgs {
    /// Also the paths that this file lists, one a line, as they are or as $'...', which is how JSON lines tell those that
    /// are not UTF-8; - is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) files_from: Option<PathBuf>,
    /// The list has its paths as they are, each ended by a zero byte, as `find -print0` writes them
    #[arg(long, requires = "files_from")]
    pub(crate) null: bool,
}

#[derive(Args)]
pub(crate) struct InputArgs {
    #[command(flatten)]
    pub(crate) list: ListArgs,
    /// Take the documents as mail or as text instead of recognising them
    #[arg(long = "as", value_name = "mail|text")]
    pub(crate) kind: Option<Kind>,
    /// Take standard input and files that are named for mboxes, whatever they begin with
    #[arg(long)]
    pub(crate) mbox: bool,
    /// What files that are named hold, and standard input (-), instead of going by their names
    #[arg(long, value_name = "csv|tsv|jsonl", conflicts_with = "mbox")]
    pub(crate) input_format: Option<Format>,
    /// What separates the cells of CSV, instead of recognising comma, semicolon, tab or bar
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    pub(crate) delimiter: Option<u8>,
    /// The first row of CSV and TSV does not hold the names of the columns, which have numbers only
    #[arg(long)]
    pub(crate) no_header: bool,
    /// The column that holds the label in CSV, TSV and JSONL: a name, or a number from 1 [default: label]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) label_column: Option<String>,
    /// The column that holds the text [default: text]
    #[arg(long, value_name = "COLUMN")]
    pub(crate) text_column: Option<String>,
    /// How many threads to use [default: one a core]
    #[arg(long, value_name = "N", value_parser = at_least::<u16>(1))]
    pub(crate) threads: Option<u16>,
    /// Fail (exit 3) if any document could not be read
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Args)]
#[command(after_help = "\
SOURCE is one of
  DIR         a folder of folders, each a label: DIR/LABEL/files
  LABEL=PATH  a file, folder, mbox or Maildir; all its documents have that label
  FILE.csv    (.tsv, .jsonl) columns label and text; with --target any columns
A folder that holds cur/ and new/ is a Maildir.

With --target every other column of a table counts in its own way. What a column holds is guessed \
from the first 100,000 rows, and printed; --column sets it. A cell that is empty, NA, N/A, NaN, \
null or ? is missing, and left out.

Example:
  tamis train ham=\"$HOME/Maildir\" spam=\"$HOME/Maildir/.Junk\"
  tamis train -m topics.tamis articles/
  tamis train -m trips.tamis trips.csv --target mode --column zip=categorical")]
pub(crate) struct TrainArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    /// Labelled documents
    #[arg(required_unless_present = "files_from", value_name = "SOURCE")]
    pub(crate) sources: Vec<OsString>,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Learn this column of a table from all the others; columns are named in the table's first row
    #[arg(long, value_name = "COLUMN", help_heading = "Table", conflicts_with_all = ["label_column", "text_column"])]
    pub(crate) target: Option<String>,
    /// What a column holds: gaussian (numbers), categorical, bernoulli (yes or no), text, or skip to leave it out
    #[arg(long, value_name = "NAME=KIND", help_heading = "Table", requires = "target")]
    pub(crate) column: Vec<ColumnChoice>,
    #[command(flatten)]
    pub(crate) recipe: RecipeArgs,
    #[command(flatten)]
    pub(crate) scoring: ScoringArgs,
    #[command(flatten)]
    pub(crate) decision: DecisionArgs,
    /// Let at most this share of ham (0.5% or 0.005) be called spam, with 95 % confidence
    #[arg(long, value_name = "SHARE", help_heading = "Decision", value_parser = share, conflicts_with_all = ["cost", "unsure"])]
    pub(crate) max_fpr: Option<f64>,
    /// Learn also from the documents below this path, whose labels are not known (expectation maximization); for when
    /// few documents have labels
    #[arg(long, value_name = "PATH", help_heading = "Documents without labels")]
    pub(crate) unlabelled: Vec<OsString>,
    /// What a document without a label weighs; one with a label weighs 1 [default: 1]
    #[arg(
        long,
        value_name = "X",
        requires = "unlabelled",
        help_heading = "Documents without labels",
        allow_negative_numbers = true
    )]
    pub(crate) lambda: Option<f64>,
    /// Stop after N iterations at the latest [default: 10]
    #[arg(long, value_name = "N", requires = "unlabelled", help_heading = "Documents without labels")]
    pub(crate) iterations: Option<usize>,
    /// Count a message as often as it is given; by default equal mail counts once (text and rows always count as given)
    #[arg(long, help_heading = "Documents given twice")]
    pub(crate) repeat: bool,
    /// What to do where more than 5 % of a label's documents equal documents of another label (rows of tables may)
    #[arg(long, value_enum, value_name = "refuse|keep", default_value_t = Contradictions::Refuse, help_heading = "Documents given twice", hide_possible_values = true)]
    pub(crate) contradictions: Contradictions,
    /// Replace a model that has learned since it was trained; what it learned is lost
    #[arg(long, help_heading = "Model")]
    pub(crate) replace: bool,
    /// Remember the terms of each document, so that it can be forgotten without being at hand (the default for mail)
    #[arg(long, overrides_with = "no_documents", help_heading = "Model")]
    pub(crate) documents: bool,
    /// Remember only a digest of each document (the default for text)
    #[arg(long, help_heading = "Model")]
    pub(crate) no_documents: bool,
    /// Do not remember what messages are called (their Message-IDs); what the model learns later keeps to it
    #[arg(long, help_heading = "Model")]
    pub(crate) no_names: bool,
}

#[derive(Args, Clone, PartialEq, Default, Debug)]
#[command(next_help_heading = "Terms")]
pub(crate) struct RecipeArgs {
    /// Of mail, use only the words of body and subject: no headers, structure or links
    #[arg(long)]
    pub(crate) content_only: bool,
    /// Score every stretch of so many bytes (100 or more; 1500 if none are given) of the body by itself too, and go
    /// by the highest score: innocent text around a message then cannot hide it (two labels, weighted scoring)
    #[arg(long, value_name = "BYTES", num_args = 0..=1, default_missing_value = "1500", require_equals = true, value_parser = at_least::<u32>(100))]
    pub(crate) windows: Option<u32>,
    /// Do not take this header field as evidence; NAME* stands for all that begin so. Fields that filters and
    /// mailboxes add are left out anyway
    #[arg(long, value_name = "NAME")]
    pub(crate) ignore_header: Vec<String>,
    /// How text is cut into words: unicode (UAX #29; the default for text) or mail (keeps $ ' ! % -; the default for
    /// mail)
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
    /// Use sequences of words as terms: 1-2 for words and pairs [default: 1; for text of two labels 1-2 if that predicts
    /// left-out documents better]
    #[arg(long, value_name = "MIN-MAX", conflicts_with = "characters")]
    pub(crate) ngrams: Option<Span>,
    /// Use sequences of characters as terms, not words: 3-5
    #[arg(long, value_name = "MIN-MAX")]
    pub(crate) characters: Option<Span>,
    /// Leave out words with fewer characters [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) min_chars: Option<u16>,
    /// Of a word with more characters, note only that it is long [default: 24 for mail, 64 for text]
    #[arg(long, value_name = "N")]
    pub(crate) max_chars: Option<u16>,
}

#[derive(Args, Clone, PartialEq, Default, Debug)]
#[command(next_help_heading = "Model")]
pub(crate) struct ScoringArgs {
    /// weighted (whether a term occurs, with idf, log tf and length norm, corrected), or naive Bayes:
    /// multinomial, bernoulli, complement or complement-normalized [default: weighted]
    #[arg(long, value_name = "NAME", hide_possible_values = true)]
    pub(crate) likelihood: Option<LikelihoodName>,
    /// Smoothing, added to every count: 1 is Laplace's, less is Lidstone's [default: chosen by what predicts left-out
    /// documents best; of naive Bayes 0.1]
    #[arg(long, value_name = "A", allow_negative_numbers = true)]
    pub(crate) alpha: Option<f64>,
    /// Weighted scoring: how much more rare terms weigh, the power of their idf: 0 not at all [default: 0, 0.5 or 1, chosen by what
    /// predicts left-out documents best]
    #[arg(long, value_name = "G", allow_negative_numbers = true)]
    pub(crate) idf_power: Option<f64>,
    /// Naive Bayes: how probabilities are estimated: mean (of the posterior; alpha is the Dirichlet prior's
    /// parameter), map (the posterior's mode; alpha is at least 1) or ml (maximum likelihood: what a class never had
    /// is impossible there) [default: mean]
    #[arg(long, value_enum, value_name = "NAME", hide_possible_values = true)]
    pub(crate) estimate: Option<Estimate>,
    /// Whether weighted scoring is corrected; off leaves pure counts [default: on]
    #[arg(long, value_name = "on|off", hide_possible_values = true)]
    pub(crate) correction: Option<Switch>,
    /// Weighted scoring: how freely the correction fits the documents, the C of its logistic regression [default: 16]
    #[arg(long, value_name = "C", allow_negative_numbers = true)]
    pub(crate) regularisation: Option<f64>,
    /// Naive Bayes: count every occurrence of a term, not only its presence in a document
    #[arg(long)]
    pub(crate) occurrences: bool,
    /// Naive Bayes: the class priors: learned, smoothed, uniform, or given as LABEL=P,LABEL=P [default: learned]
    #[arg(long, value_name = "PRIOR")]
    pub(crate) class_prior: Option<String>,
    /// Naive Bayes: use only terms that occur in at least N documents
    #[arg(long, value_name = "N")]
    pub(crate) min_df: Option<u64>,
    /// Naive Bayes: use only terms that occur in at most this share of the documents
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub(crate) max_df: Option<f64>,
    /// Naive Bayes: use only the N most frequent terms
    #[arg(long, value_name = "N")]
    pub(crate) max_features: Option<usize>,
    /// Naive Bayes: use only the N terms that tell the labels apart best, by chi2 or by mi (mutual information)
    #[arg(long, value_name = "chi2=N|mi=N")]
    pub(crate) select: Option<Selection>,
}

/// Where the line between two labels is drawn.
#[derive(Args, Clone, PartialEq, Default, Debug)]
#[command(next_help_heading = "Decision")]
pub(crate) struct DecisionArgs {
    /// The share of spam to expect where it is not that of the training documents, such as spam=0.1
    #[arg(long, value_name = "LABEL=SHARE")]
    pub(crate) prior: Option<String>,
    /// One lost ham message is as bad as N missed spam messages: spam is what is likelier than N/(N+1)
    #[arg(long, value_name = "fp=N")]
    pub(crate) cost: Option<Cost>,
    /// Leave unsure what no label has this probability of [default: 0.6 for a spam filter, 0 for topics]
    #[arg(long, value_name = "P", value_parser = probability, conflicts_with = "cost")]
    pub(crate) unsure: Option<f64>,
}

/// How an open model decides.
#[derive(Args, Clone, PartialEq, Default, Debug)]
#[command(next_help_heading = "Decision")]
pub(crate) struct VerdictArgs {
    #[command(flatten)]
    pub(crate) decision: DecisionArgs,
    /// The label that counts as spam [default: spam, junk, unwanted or phish, the first that is one]
    #[arg(long, value_name = "LABEL")]
    pub(crate) spam_label: Option<String>,
}

#[derive(Args)]
#[command(after_help = "\
Prints LABEL PROBABILITY LOG-ODDS and, for files, the path:
  spam 0.9987 +6.64 message.eml
In a spam filter both numbers are those of spam, in other models those of the label. Log-odds are \
in nats.

Exit status: 0 spam, 1 ham, 2 unsure, 3 any error. Models of other labels: 0 labelled, 2 unsure, \
3 any error. With -e, --passthrough or several files: 0 whatever the verdicts, 3 any error.
Of two labels one that is called spam, junk, unwanted or phish makes a spam filter.

Example (procmail):
  :0fw
  | tamis score --passthrough
  :0:
  * ^X-Tamis: spam
  Junk")]
pub(crate) struct ScoreArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    #[command(flatten)]
    pub(crate) fallback: FallbackArg,
    /// Messages, mboxes or documents, also packed by gzip; - is standard input
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<OsString>,
    #[command(flatten)]
    pub(crate) list: ListArgs,
    /// Take files and standard input for mboxes, whatever they begin with
    #[arg(long, conflicts_with = "passthrough")]
    pub(crate) mbox: bool,
    /// Print a JSON object for each document: path, label, probability, log_odds, and truncated if it was read in part
    #[arg(long)]
    pub(crate) json: bool,
    /// Exit with 0 whatever the verdict
    #[arg(short, long)]
    pub(crate) exit_zero: bool,
    /// Copy the message to standard output with X-Spam-Flag, X-Spam-Status and X-Tamis added; on any error it comes
    /// out unchanged
    #[arg(short, long, conflicts_with_all = ["json", "files_from"])]
    pub(crate) passthrough: bool,
    /// With --passthrough, keep X-Spam-Flag and X-Spam-Status lines that came with the message
    #[arg(long, requires = "passthrough")]
    pub(crate) keep_headers: bool,
    // last, since its heading would stay
    #[command(flatten)]
    pub(crate) decision: VerdictArgs,
}

#[derive(Args)]
#[command(after_help = "\
CSV has paths as they are. In JSON a path that is not UTF-8 is written as bash quotes it, \
$'...', which --files-from takes back. --sort-into adds nothing that is there already.

Example:
  tamis label articles/ > labels.csv
  tamis label --sort-into sorted --by link \"$HOME/Maildir\"")]
pub(crate) struct LabelArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    #[command(flatten)]
    pub(crate) fallback: FallbackArg,
    /// Files, folders, mboxes, Maildirs, CSV, TSV or JSONL
    #[arg(required_unless_present = "files_from", value_name = "PATH")]
    pub(crate) paths: Vec<OsString>,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// The format of the rows
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    pub(crate) format: Format,
    /// Add the probability of every label
    #[arg(long)]
    pub(crate) all: bool,
    /// File the documents into DIR/LABEL
    #[arg(long, value_name = "DIR")]
    pub(crate) sort_into: Option<PathBuf>,
    /// How --sort-into files them
    #[arg(long, value_enum, default_value_t = By::Copy, requires = "sort_into")]
    pub(crate) by: By,
    // last, since its heading would stay
    #[command(flatten)]
    pub(crate) decision: VerdictArgs,
}

#[derive(Args)]
#[command(after_help = "\
What the terms add and what stands before any term sum up to the log-odds.

Example:
  tamis explain message.eml
  tamis explain --json --terms 0 < message.eml")]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    #[command(flatten)]
    pub(crate) fallback: FallbackArg,
    /// The message or document; standard input by default
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Terms to show, 0 for all
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) terms: usize,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
    // last, since its heading would stay
    #[command(flatten)]
    pub(crate) decision: VerdictArgs,
}

#[derive(Args)]
#[command(after_help = "\
Example:
  tamis inspect --terms 20
  tamis inspect --suspects=10 mail/")]
pub(crate) struct InspectArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    /// Also show the N strongest terms of every label
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) terms: usize,
    /// Also show the N learned documents whose held-out scores contradict their labels most: they may be mislabelled
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "20", require_equals = true)]
    pub(crate) suspects: Option<usize>,
    /// Where the learned documents are; suspects are then shown by their files
    #[arg(value_name = "SOURCE", requires = "suspects")]
    pub(crate) sources: Vec<OsString>,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Sources are those of `train`. Unsure counts as wrong in accuracy and as a miss in recall. With \
--folds or --online no model is used; documents are learned as the options of `train` say. \
Intervals hold with 95 % confidence (bootstrap).

Example:
  tamis evaluate ham=test/ham spam=test/spam --scores scores.tsv
  tamis evaluate --folds 10 ham=mail/ham spam=mail/spam
  tamis evaluate --online --order date spam=Junk.mbox ham=Inbox.mbox")]
pub(crate) struct EvaluateArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    #[command(flatten)]
    pub(crate) fallback: FallbackArg,
    /// Labelled documents, which the model must not have learned
    #[arg(required_unless_present = "files_from", value_name = "SOURCE")]
    pub(crate) sources: Vec<OsString>,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Learn K-1 of K parts of the documents and score the other part, K times; documents with the same body stay
    /// together
    #[arg(long, value_name = "K", conflicts_with_all = ["model", "online"], value_parser = at_least::<u16>(2))]
    pub(crate) folds: Option<u16>,
    /// Score every document with what was learned before it, then learn it
    #[arg(long, conflicts_with = "model")]
    pub(crate) online: bool,
    /// The order of documents for --online
    #[arg(long, value_enum, default_value_t = Order::Given, requires = "online")]
    pub(crate) order: Order,
    /// Write path, true label, log-odds, verdict and probability of every document to this file (TSV)
    #[arg(long, value_name = "FILE")]
    pub(crate) scores: Option<PathBuf>,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) decision: VerdictArgs,
    #[command(flatten)]
    pub(crate) recipe: RecipeArgs,
    #[command(flatten)]
    pub(crate) scoring: ScoringArgs,
}

impl InputArgs {
    /// Whether files that are named are mboxes, and what they are else, as far as the user says.
    pub(crate) fn holds(&self) -> (bool, Option<Holds>) {
        let holds = self.input_format.map(|format| match format {
            Format::Csv => Holds::Csv,
            Format::Tsv => Holds::Tsv,
            Format::Jsonl => Holds::Jsonl,
        });
        (self.mbox, holds)
    }

    /// How rows are written, as far as the user says.
    pub(crate) fn shape(&self) -> Shape {
        Shape { delimiter: self.delimiter, no_header: self.no_header }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// A heading goes on until the next: it must be that of an option's own group.
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
