//! `tamis export`, `tamis import` and `tamis salvage`.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::iter::once;
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::{Args, ValueEnum};
use tamis_program::{counted, done, grouped, named, note, shown_path};
use tamis_train::exchange::{self, BogofilterImport, Salvage, import_bogofilter, import_scikit_learn};
use tamis_train::options::{Counting, RobinsonFisher};
use tamis_train::{ErrorKind, Filter, Scoring, TermRow};

use crate::args::{Format, ModelArg, lock, refuse_to_replace};
use crate::output::report;

#[derive(Args)]
#[command(after_help = "\
Writes JSON lines to standard output: one about the model as a whole, then one per term with \
its counts (documents and occurrences by label) and weights, and with --documents one per \
document. `tamis import` makes the same model from them, byte for byte if documents were \
exported too.

With --format csv or tsv, a row per term: its documents, occurrences and weight for each label. The \
weight is what the term adds to the label's log-odds against its strongest rival, in nats, in a \
document of its own; it is empty where the term is not used. Rows are in no order.

Example:
  tamis export --documents > model.jsonl
  tamis export | jq -r 'select(.term) | [.term, .counts.spam[0]] | @tsv'
  tamis export --format csv > terms.csv")]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    /// Also write the documents that the model remembers
    #[arg(long)]
    pub(crate) documents: bool,
    /// Output format: jsonl for the whole model, csv or tsv for a table of its terms
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    pub(crate) format: Format,
}

pub(crate) fn export(args: &ExportArgs) -> Result<u8> {
    let filter = args.model.open()?;
    if let Some(delimiter) = args.format.delimiter() {
        ensure!(!args.documents, "--documents: expected --format jsonl, since a table has the terms only");
        write_terms(&filter, delimiter).context("standard output")?;
        filter.check_unchanged()?;
        return Ok(0);
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    exchange::export(&filter, args.documents, &mut out).map_err(|error| match error.into_io_error() {
        // report a closed pipe with the system's own error
        Ok(source) => anyhow::Error::new(source).context("standard output"),
        Err(error) => error.into(),
    })?;
    filter.check_unchanged()?;
    out.flush().context("standard output")?;
    let documents = filter.information().size.documents as u64;
    if !args.documents && documents > 0 {
        note!("left out {}; --documents exports them too", counted(documents, "remembered document"));
    }
    Ok(0)
}

/// Writes one row per term, with three columns per label.
fn write_terms(filter: &Filter, delimiter: u8) -> Result<()> {
    let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(std::io::stdout().lock());
    let columns = |(_, label)| ["documents", "occurrences", "weight"].map(|what| format!("{what}_{label}"));
    writer.write_record(once("term".to_owned()).chain(filter.classes().iter().flat_map(columns)))?;
    for row in filter.terms() {
        let TermRow { term, documents, occurrences, weights, .. } = row?;
        let cells = |(class, (documents, occurrences)): (usize, (&u64, &u64))| {
            let weight = weights.as_ref().map_or(String::new(), |weights| format!("{:.6}", weights[class]));
            [documents.to_string(), occurrences.to_string(), weight]
        };
        writer
            .write_record(once(term).chain(documents.iter().zip(&occurrences).enumerate().flat_map(cells)))?;
    }
    Ok(writer.flush()?)
}

#[derive(Args)]
#[command(after_help = "\
A model imported from a bogofilter word list uses bogofilter's tokens and scores like bogofilter \
until it has learned 100 messages of each label; then it is fitted to them. Only the tokens of MIME \
parts (mime:) are lost. SpamAssassin keeps only hashes of its tokens, which cannot be turned back \
into words: train on its mail folders instead. From scikit-learn, MultinomialNB and ComplementNB \
with a CountVectorizer can be imported; a script in the guide for analysts writes them.

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
    #[arg(long, value_enum, default_value_t = ImportFormat::Tamis)]
    pub(crate) from: ImportFormat,
    /// Replace an existing model
    #[arg(long)]
    pub(crate) replace: bool,
}

/// The program that wrote the text.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportFormat {
    /// tamis export
    Tamis,
    /// bogoutil -d
    Bogofilter,
    /// sa-learn --backup
    Spamassassin,
    /// The script in docs/guide/analyst.md
    ScikitLearn,
}

pub(crate) fn import(args: &ImportArgs) -> Result<u8> {
    let path = args.model.path()?;
    if args.from == ImportFormat::Spamassassin {
        bail!(
            "--from spamassassin: expected words, but sa-learn --backup has only hashes of its tokens (five bytes of a \
             SHA-1), which cannot be turned back; train on the mail instead: tamis train ham=PATH spam=PATH"
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
        ImportFormat::Tamis => exchange::import(input).map(|model| (model, None)),
        ImportFormat::ScikitLearn => import_scikit_learn(input).map(|(model, told)| (model, Some(told))),
        _ => import_bogofilter(input, RobinsonFisher::default()).map(|(model, told)| (model, Some(told))),
    }
    .map_err(|error| {
        error.into_io_error().map_or_else(anyhow::Error::new, anyhow::Error::new).context(name)
    })?;
    args.model.make_folder(&path)?;
    lock(&path, args.replace)?.save(&model)?;
    let filter = model.into_filter()?;
    match imported {
        Some(imported) if args.from == ImportFormat::ScikitLearn => say_otherwise(&imported, &filter),
        Some(imported) => say_lost(&imported),
        None => (),
    }
    let information = filter.information();
    let learned: u64 = information.totals.iter().map(|totals| totals.documents).sum();
    if information.size.documents == 0 && learned > 0 {
        let later = match args.from {
            ImportFormat::Bogofilter => ", and a message that is learned again counts twice",
            _ => ", nor the model retrained, and a document that is learned again counts twice",
        };
        note!("it came without documents: what it has learned so far cannot be forgotten{later}");
    }
    report(&path, &filter)?;
    Ok(0)
}

fn say_lost(imported: &BogofilterImport) {
    let BogofilterImport { taken, lost, cut, .. } = *imported;
    note!("imported {}; {} have no counterpart and are lost", counted(taken, "token"), grouped(lost));
    note!("it answers as bogofilter does until it has learned 100 messages of each label");
    if cut > 0 {
        note!("{} larger than the number of messages, and reduced to it", counted(cut, "count"));
    }
}

/// Notes how the model differs from scikit-learn's.
fn say_otherwise(imported: &BogofilterImport, filter: &Filter) {
    let BogofilterImport { taken, lost, .. } = *imported;
    let rest = match lost {
        0 => String::new(),
        _ => format!("; {} of them are split differently here and never occur", grouped(lost)),
    };
    note!("imported {}{rest}", counted(taken, "term"));
    let Scoring::NaiveBayes(parameters) = filter.information().scoring else { return };
    if parameters.counting == Counting::Occurrences {
        note!("scikit-learn has counted only occurrences: each term has as many documents as possible");
    }
}

#[derive(Args)]
#[command(after_help = "\
Recovers every document with correct checksums, without terms whose own checksums are wrong, and fits a new model to them. \
A model can be salvaged only if it remembers the terms of its documents and its header is intact. The damaged file is not \
changed.

Example:
  tamis salvage damaged.tamis -m new.tamis")]
pub(crate) struct SalvageArgs {
    /// The damaged model
    #[arg(value_name = "MODEL")]
    pub(crate) damaged: PathBuf,
    #[command(flatten)]
    pub(crate) model: ModelArg,
    /// Replace an existing model
    #[arg(long)]
    pub(crate) replace: bool,
}

pub(crate) fn salvage(args: &SalvageArgs) -> Result<u8> {
    let path = args.model.path()?;
    refuse_to_replace(&path, args.replace)?;
    let salvaged = exchange::salvage(&args.damaged).map_err(|error| match error.kind() {
        ErrorKind::TermsNotStored => anyhow!(
            "{}: expected a model of mail or text that remembers the terms of its documents: others cannot be salvaged",
            shown_path(&args.damaged)
        ),
        _ => named(&args.damaged)(error),
    })?;
    let Salvage { model, documents, lost, lost_terms, lost_bytes, .. } = salvaged;
    args.model.make_folder(&path)?;
    lock(&path, args.replace)?.save(&model)?;
    let mut out = done();
    writeln!(out, "wrote {} with {}", shown_path(&path), counted(documents, "document"))?;
    writeln!(out, "lost {}", counted(lost, "document"))?;
    if lost_terms > 0 {
        writeln!(out, "could not read {}: the documents are without", counted(lost_terms, "term"))?;
    }
    if lost_bytes > 0 {
        writeln!(out, "could not read {} at the end, of what was learned last", counted(lost_bytes, "byte"))?;
    }
    Ok(0)
}
