//! `tamis export`

use std::io::{BufWriter, Write};

use anyhow::{Context, Result, bail};
use clap::Args;
use tamis_program::{check_unchanged, counted, note};
use tamis_train::{Filter, TermRow, exchange};

use crate::args::{Format, ModelArg};

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

pub(crate) fn run(args: &ExportArgs) -> Result<u8> {
    let filter = args.model.open()?;
    if args.format != Format::Jsonl {
        if args.documents {
            bail!("--documents: expected --format jsonl, since a table has the terms only");
        }
        write_terms(&filter, args.format).context("standard output")?;
        return check_unchanged(&filter).map(|()| 0);
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    exchange::export(&filter, args.documents, &mut out).map_err(|error| match error.into_io_error() {
        // report a closed pipe with the system's own error
        Ok(source) => anyhow::Error::new(source).context("standard output"),
        Err(error) => error.into(),
    })?;
    check_unchanged(&filter)?;
    out.flush().context("standard output")?;
    let documents = filter.information().size.documents as u64;
    if !args.documents && documents > 0 {
        note!("left out {}; --documents exports them too", counted(documents, "remembered document"));
    }
    Ok(0)
}

/// Writes one row per term, with three columns per label.
fn write_terms(filter: &Filter, format: Format) -> Result<()> {
    let mut builder = csv::WriterBuilder::new();
    if format == Format::Tsv {
        builder.delimiter(b'\t');
    }
    let mut writer = builder.from_writer(std::io::stdout().lock());
    writer.write_field("term")?;
    for (_, label) in filter.classes().iter() {
        for what in ["documents", "occurrences", "weight"] {
            writer.write_field(format!("{what}_{label}"))?;
        }
    }
    writer.write_record(None::<&[u8]>)?;
    for row in filter.terms() {
        let TermRow { term, documents, occurrences, weights, .. } = row?;
        writer.write_field(term)?;
        for (class, (documents, occurrences)) in documents.iter().zip(&occurrences).enumerate() {
            let weight = weights.as_ref().map_or(String::new(), |weights| format!("{:.6}", weights[class]));
            for cell in [documents.to_string(), occurrences.to_string(), weight] {
                writer.write_field(cell)?;
            }
        }
        writer.write_record(None::<&[u8]>)?;
    }
    Ok(writer.flush()?)
}
