//! `tamis merge`, `tamis export`, `tamis import` and `tamis expire`

use std::cmp::Reverse;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, ValueEnum};
use tamis_filter::{
    Error, Expected, Filter, Imported, Keep, Known, LearnOptions, Learner, Lock, MergeOptions, import,
    import_bogofilter, merge,
};

use crate::args::model::{ChangeArgs, ModelArg};
use crate::commands::train::expectation;
use crate::input::same_file::different;
use crate::model::opened::check_unchanged;
use crate::output::numbers::{counted, grouped};
use crate::output::shown::{named, say, shown, shown_path};

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

pub(crate) fn merge_models(args: &MergeArgs) -> Result<u8> {
    // it may be one of those that are added up: nobody teaches it meanwhile
    let lock = lock(&args.model, args.replace)?;
    let open = |path: &PathBuf| Filter::open(path).map_err(named(path));
    let paths = different(&args.models);
    let models: Vec<Filter> = paths.into_iter().map(open).collect::<Result<_>>()?;
    let options = MergeOptions { retrain: args.retrain, strip: args.strip, repeat: args.repeat };
    let model = merge(&models.iter().collect::<Vec<_>>(), options).map_err(|error| match error {
        Error::NotAtHand => {
            anyhow!(
                "--retrain: expected models that all remember the terms of their documents (train --documents) and have no \
                 --windows; merge without --retrain, or train on all documents anew"
            )
        }
        error @ Error::Shared { .. } => anyhow!("{error}; --repeat counts these again for each model"),
        Error::Unlike { ref setting, .. } if setting.starts_with("recipe.tokenizer.terms.") => {
            anyhow!("{error}; what is left to be chosen may differ: train with the same --ngrams or --characters")
        }
        error => error.into(),
    })?;
    let unfitted: u64 = models.iter().map(|model| model.information().unfitted).sum();
    let had = |keep| models.iter().any(|model| model.information().keep == keep);
    models.iter().try_for_each(check_unchanged)?;
    lock.save(&model)?;
    drop(lock);
    let filter = model.into_filter()?;
    let contradictions = filter.n_contradictions()?;
    if contradictions > 0 {
        say!("{} known under several labels", counted(contradictions, "document"));
    }
    if let Some(more @ 1..) = filter.information().unfitted.checked_sub(unfitted) {
        say!(
            "{} counted but not fitted: what was chosen is that of the model with the most documents; models that remember \
             terms (train --documents) are fitted anew when they are merged",
            counted(more, "document")
        );
    }
    if filter.information().keep == Keep::Digests && had(Keep::Vectors) {
        say!(
            "left out the terms of documents: the model cannot be retrained, and forgets only documents that are at hand"
        );
    }
    report(&args.model, &filter)
}

pub(crate) fn export(args: &ExportArgs) -> Result<u8> {
    let filter = args.model.open()?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    filter.export(args.documents, &mut out).map_err(|error| match error {
        // a closed pipe is told by the system's own error
        Error::Io { source, .. } => anyhow::Error::new(source).context("standard output"),
        error => error.into(),
    })?;
    check_unchanged(&filter)?;
    out.flush().context("standard output")?;
    let documents = filter.information().documents as u64;
    if !args.documents && documents > 0 {
        say!("left out {}, which --documents exports as well", counted(documents, "remembered document"));
    }
    Ok(0)
}

pub(crate) fn import_model(args: &ImportArgs) -> Result<u8> {
    let path = args.model.path()?;
    if args.from == From::Spamassassin {
        bail!(
            "--from spamassassin: expected words, but sa-learn --backup has only hashes of its tokens (five bytes of a SHA-1), \
             which cannot be turned back; train on the mail instead: tamis train ham=PATH spam=PATH"
        );
    }
    refuse_to_replace(&path, args.replace)?;
    let file = args.file.as_ref().filter(|file| file.as_os_str() != "-");
    let name = file.map_or("standard input".into(), shown_path);
    let input: Box<dyn Read> = match file {
        Some(file) => Box::new(File::open(file).with_context(|| name.clone())?),
        None => Box::new(std::io::stdin().lock()),
    };
    let input = BufReader::new(input);
    let (model, imported) = match args.from {
        From::Tamis => import(input).map(|model| (model, None)),
        _ => import_bogofilter(input).map(|(model, imported)| (model, Some(imported))),
    }
    .map_err(|error| match error {
        Error::Io { source, .. } => anyhow::Error::new(source).context(name),
        error => anyhow::Error::new(error).context(name),
    })?;
    args.model.make_folder(&path)?;
    lock(&path, args.replace)?.save(&model)?;
    let filter = model.into_filter()?;
    if let Some(imported) = imported {
        say_lost(&imported);
    }
    let information = filter.information();
    let learned: u64 = information.totals.iter().map(|totals| totals.documents).sum();
    if information.documents == 0 && learned > 0 {
        say!(
            "no documents came with it: what it has learned so far cannot be forgotten or retrained, and learning one of \
             these documents again counts it twice"
        );
    }
    report(&path, &filter)
}

fn say_lost(imported: &Imported) {
    let Imported { taken, lost, cut, .. } = *imported;
    say!("took {}; {} have no counterpart and are lost", counted(taken, "token"), grouped(lost));
    if cut > 0 {
        say!("{} larger than the number of messages; that number was taken instead", counted(cut, "count"));
    }
}

pub(crate) fn expire(args: &ExpireArgs) -> Result<u8> {
    let path = args.model.path()?;
    // says that there is none
    drop(args.model.open()?);
    let mut learner = Learner::open(&path, args.change.options()).map_err(named(&path))?;
    let known: Vec<Known> = learner.filter().documents().collect::<tamis_filter::Result<_>>()?;
    let labels: Vec<String> = learner.filter().classes().iter().map(|(_, label)| label.to_owned()).collect();
    let undated = known.iter().filter(|known| known.date.is_none()).count();
    let mut old = Vec::new();
    for class in 0..labels.len() {
        let mut dated: Vec<_> = known
            .iter()
            .filter(|known| usize::from(known.class) == class)
            .filter_map(|known| Some((known.date?, known.digest)))
            .collect();
        dated.sort_unstable_by_key(|document| Reverse(*document));
        let is_new = |date: i64| args.before.is_none_or(|day| date >= day.0);
        let n_new =
            dated.iter().take(args.keep.unwrap_or(usize::MAX)).take_while(|(date, _)| is_new(*date)).count();
        old.push(dated.split_off(n_new));
    }
    let before = learner.filter().information().expected;
    for (label, old) in labels.iter().zip(&old).filter(|_| !args.dry_run) {
        for (_, digest) in old {
            learner.forget_digest(Some(label), *digest).map_err(|error| match error {
                Error::NotAtHand => anyhow!(
                    "{}: expected a model that remembers the terms of its documents, got one with digests only; nothing \
                     was forgotten. Train it anew with --documents",
                    shown_path(&path)
                ),
                error => error.into(),
            })?;
        }
    }
    let n_old = old.iter().map(|old| old.len() as u64).sum();
    if !args.dry_run && n_old > 0 {
        // all of it in one step, and thresholds anew
        learner.fold()?;
    }
    let mut out = std::io::stdout().lock();
    let each =
        labels.iter().zip(&old).map(|(label, old)| format!("{} {}", grouped(old.len() as u64), shown(label)));
    let (verb, each) = (if args.dry_run { "would forget" } else { "forgot" }, each.collect::<Vec<_>>());
    writeln!(out, "{verb} {} ({})", counted(n_old, "document"), each.join(", "))?;
    if undated > 0 {
        writeln!(out, "kept {} without a date", counted(undated as u64, "document"))?;
    }
    if !args.dry_run && n_old > 0 {
        report_change(&mut out, before, learner.filter())?;
    }
    Ok(0)
}

/// What to expect before and after.
fn report_change(out: &mut impl Write, before: Option<Expected>, filter: &Filter) -> Result<()> {
    let wrong = match before {
        Some(Expected::Detection { negatives, false_positives, positives, missed }) => {
            format!(
                "{} of {} and {} of {} held-out documents wrong",
                grouped(false_positives),
                grouped(negatives),
                grouped(missed),
                grouped(positives)
            )
        }
        Some(Expected::Accuracy { documents, right }) => {
            format!("{} of {} labelled right", grouped(right), grouped(documents))
        }
        None => "not known".to_owned(),
    };
    writeln!(out, "before: {wrong}")?;
    if let Some(expectation) = expectation(filter) {
        writeln!(out, "{expectation}")?;
    }
    Ok(())
}

/// The right to write a model to a file, unless one is there that is not to be replaced.
fn lock(path: &Path, replace: bool) -> Result<Lock> {
    let lock = Lock::wait(path, LearnOptions::default().patience)?;
    refuse_to_replace(path, replace)?;
    Ok(lock)
}

/// A model that is there is not replaced unasked.
fn refuse_to_replace(path: &Path, replace: bool) -> Result<()> {
    crate::commands::train::refuse_to_replace(path, replace)?;
    if path.exists() && !replace {
        bail!("{}: there is a model already; --replace replaces it", shown_path(path));
    }
    Ok(())
}

fn report(path: &Path, filter: &Filter) -> Result<u8> {
    crate::commands::train::report(path, filter)?;
    Ok(0)
}
