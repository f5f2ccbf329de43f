//! `tamis import`

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use tamis_program::{counted, grouped, note, shown_path};
use tamis_train::exchange::{Imported, import, import_bogofilter, import_scikit_learn};
use tamis_train::options::{Counting, RobinsonFisher};
use tamis_train::{Filter, Scoring};

use crate::args::{ModelArg, lock, refuse_to_replace};
use crate::output::report;

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
    #[arg(long, value_enum, default_value_t = From::Tamis)]
    pub(crate) from: From,
    /// Replace an existing model
    #[arg(long)]
    pub(crate) replace: bool,
}

/// The program that wrote the text.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum From {
    /// tamis export
    Tamis,
    /// bogoutil -d
    Bogofilter,
    /// sa-learn --backup
    Spamassassin,
    /// The script in docs/guide/analyst.md
    ScikitLearn,
}

pub(crate) fn run(args: &ImportArgs) -> Result<u8> {
    let path = args.model.path()?;
    if args.from == From::Spamassassin {
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
        From::Tamis => import(input).map(|model| (model, None)),
        From::ScikitLearn => import_scikit_learn(input).map(|(model, imported)| (model, Some(imported))),
        _ => import_bogofilter(input, RobinsonFisher::default())
            .map(|(model, imported)| (model, Some(imported))),
    }
    .map_err(|error| match error.into_io_error() {
        Ok(source) => anyhow::Error::new(source).context(name),
        Err(error) => anyhow::Error::new(error).context(name),
    })?;
    args.model.make_folder(&path)?;
    lock(&path, args.replace)?.save(&model)?;
    let filter = model.into_filter()?;
    match imported {
        Some(imported) if args.from == From::ScikitLearn => say_otherwise(&imported, &filter),
        Some(imported) => say_lost(&imported),
        None => (),
    }
    let information = filter.information();
    let learned: u64 = information.totals.iter().map(|totals| totals.documents).sum();
    if information.size.documents == 0 && learned > 0 {
        let later = match args.from {
            From::Bogofilter => ", and a message that is learned again counts twice",
            _ => ", nor the model retrained, and a document that is learned again counts twice",
        };
        note!("it came without documents: what it has learned so far cannot be forgotten{later}");
    }
    report(&path, &filter)?;
    Ok(0)
}

fn say_lost(imported: &Imported) {
    let Imported { taken, lost, cut, .. } = *imported;
    note!("imported {}; {} have no counterpart and are lost", counted(taken, "token"), grouped(lost));
    note!("it answers as bogofilter does until it has learned 100 messages of each label");
    if cut > 0 {
        note!("{} larger than the number of messages, and reduced to it", counted(cut, "count"));
    }
}

/// Notes how the model differs from scikit-learn's.
fn say_otherwise(imported: &Imported, filter: &Filter) {
    let Imported { taken, lost, .. } = *imported;
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
