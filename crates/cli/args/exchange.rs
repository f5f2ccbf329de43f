//! The command line of models as a whole: adding them up, as text, old documents.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::ModelArg;
use super::learning::ChangeArgs;

#[derive(Args)]
#[command(after_help = "\
Labels are matched by name, and a model may know labels that others do not. How documents become \
terms and scores must be the same. Counts, corrections and documents add up, whatever the order. \
A document that several models know counts once; models that remember only digests of such \
documents, as those of text do by default, are refused unless --repeat. \
Where all models remember the terms of their documents, everything is fitted anew, as if they had been \
trained together. Else what was chosen is that of the model with the most documents; with two \
labels, thresholds follow from the held-out scores of all documents. --retrain insists on fitting \
anew.

Example:
  tamis merge -m all.tamis shard-*.tamis
  tamis merge --strip -m to-share.tamis mine.tamis")]
pub(crate) struct MergeArgs {
    /// The model file to write
    #[arg(short, long, value_name = "FILE")]
    pub(crate) model: PathBuf,
    /// The models to add up
    #[arg(required = true, value_name = "MODEL")]
    pub(crate) models: Vec<PathBuf>,
    /// Fit everything anew to the documents of all models, or refuse
    #[arg(long)]
    pub(crate) retrain: bool,
    /// Leave out the terms and names of documents, since they tell what was in them; only digests remain
    #[arg(long)]
    pub(crate) strip: bool,
    /// Count a document that several models know as often as each of them does, not once
    #[arg(long)]
    pub(crate) repeat: bool,
    /// Replace a model that is there already
    #[arg(long)]
    pub(crate) replace: bool,
}

#[derive(Args)]
#[command(after_help = "\
Writes JSON lines to standard output: one about the model as a whole, then one for each term with \
its counts (documents and occurrences by label) and weights, and with --documents one for each \
document. `tamis import` makes the same model from them: byte for byte, if documents were exported \
too.

Example:
  tamis export --documents > model.jsonl
  tamis export | jq -r 'select(.term) | [.term, .counts.spam[0]] | @tsv'")]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    /// Also write the documents that the model remembers
    #[arg(long)]
    pub(crate) documents: bool,
}

#[derive(Args)]
#[command(after_help = "\
Of bogofilter's tokens, the words of bodies and subjects, addresses and hosts have counterparts \
here; those of other header fields (head:) and of MIME (mime:) are lost. SpamAssassin keeps only \
hashes of its tokens, which cannot be turned back into words: train on its mail folders instead.

Example:
  tamis import -m copy.tamis model.jsonl
  bogoutil -d ~/.bogofilter/wordlist.db | tamis import --from bogofilter")]
pub(crate) struct ImportArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    /// The exported text; standard input by default
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// The program that wrote the text
    #[arg(long, value_enum, default_value_t = From::Tamis)]
    pub(crate) from: From,
    /// Replace a model that is there already
    #[arg(long)]
    pub(crate) replace: bool,
}

/// What wrote the text that a model is made of.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum From {
    /// tamis export
    Tamis,
    /// bogoutil -d
    Bogofilter,
    /// sa-learn --backup
    Spamassassin,
}

#[derive(Args)]
#[command(after_help = "\
Forgetting takes away exactly what learning added, all in one step. Documents without a date stay. \
Nothing expires by itself.

Example:
  tamis expire --before 2023-01-01 --dry-run
  tamis expire --keep 20000")]
pub(crate) struct ExpireArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    /// Forget documents written before this day (UTC)
    #[arg(long, value_name = "YYYY-MM-DD", required_unless_present = "keep")]
    pub(crate) before: Option<Day>,
    /// Forget all but the N newest documents of each label
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<usize>,
    /// Only tell what would be forgotten
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) change: ChangeArgs,
}

/// A day, as seconds from 1970 to its beginning (UTC).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Day(pub(crate) i64);

impl std::str::FromStr for Day {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        // as a message says it, of which the date is read already
        const MONTHS: [&str; 12] =
            ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let parsed = || {
            let mut parts = s.split('-');
            let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
            let month: usize = month.parse().ok()?;
            let date =
                format!("Date: {day} {} {year} 00:00:00 +0000\n\n", MONTHS.get(month.checked_sub(1)?)?);
            let message = tamis_mail::Message::parse(date.as_bytes(), &tamis_mail::Limits::default());
            (s.len() == 10 && parts.next().is_none()).then(|| message.date().map(Day)).flatten()
        };
        parsed().ok_or_else(|| format!("expected a day such as 2023-01-31, got {s:?}"))
    }
}
