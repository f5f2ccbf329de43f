//! `tamis export`

use std::io::{BufWriter, Write};

use anyhow::{Context, Result};
use clap::Args;
use tamis_filter::{Error, ErrorKind};

use crate::args::model::ModelArg;
use crate::model::opened::check_unchanged;
use crate::output::numbers::counted;
use crate::output::shown::say;

#[derive(Args)]
#[command(after_help = "\
Writes JSON lines to standard output: one about the model as a whole, then one per term with \
its counts (documents and occurrences by label) and weights, and with --documents one per \
document. `tamis import` makes the same model from them, byte for byte if documents were \
exported too.

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

pub(crate) fn run(args: &ExportArgs) -> Result<u8> {
    let filter = args.model.open()?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    filter.export(args.documents, &mut out).map_err(|error| match error.into_kind() {
        // a closed pipe is told by the system's own error
        ErrorKind::Io { source, .. } => anyhow::Error::new(source).context("standard output"),
        kind => Error::from(kind).into(),
    })?;
    check_unchanged(&filter)?;
    out.flush().context("standard output")?;
    let documents = filter.information().documents as u64;
    if !args.documents && documents > 0 {
        say!("left out {}; --documents exports them too", counted(documents, "remembered document"));
    }
    Ok(0)
}
