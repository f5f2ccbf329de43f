//! `tamis import`

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use tamis_filter::{Error, ErrorKind, Imported, import, import_bogofilter};

use crate::args::model::{ModelArg, lock, refuse_to_replace};
use crate::output::expected::report;
use crate::output::numbers::{counted, grouped};
use crate::output::shown::{say, shown_path};

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
}

pub(crate) fn run(args: &ImportArgs) -> Result<u8> {
    let path = args.model.path()?;
    if args.from == From::Spamassassin {
        bail!(
            "--from spamassassin: expected words, but sa-learn --backup has only hashes of its tokens (five bytes of \
            a SHA-1), \
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
    .map_err(|error| match error.into_kind() {
        ErrorKind::Io { source, .. } => anyhow::Error::new(source).context(name),
        kind => anyhow::Error::new(Error::from(kind)).context(name),
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
            "it came without documents: what it has learned so far cannot be forgotten, nor the model retrained, and \
            a document that is learned again counts twice"
        );
    }
    report(&path, &filter)?;
    Ok(0)
}

fn say_lost(imported: &Imported) {
    let Imported { taken, lost, cut, .. } = *imported;
    say!("imported {}; {} have no counterpart and are lost", counted(taken, "token"), grouped(lost));
    if cut > 0 {
        say!("{} larger than the number of messages, and reduced to it", counted(cut, "count"));
    }
}
