//! `tamis inspect` and `tamis verify`

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use tamis_program::{check_unchanged, counted, expectation, json_line, shown_path};
use tamis_report::model_page;
use tamis_train::Scoring;

use crate::args::{InputArgs, ModelArg};
use crate::commands::summary;
use crate::commands::suspects::SuspectsArgs;
use crate::output::{
    Canvas, ModelCard, describe_json, file_name, page, print_facts, print_reals, print_terms, to_text,
};

#[derive(Args)]
#[command(after_help = "\
Example:
  tamis inspect --terms 20
  tamis inspect --suspects=10 mail/
  tamis inspect -m topics.tamis --card --terms 10 > README.md
  tamis inspect --summary /var/lib/tamis/*/model.tamis")]
pub(crate) struct InspectArgs {
    #[command(flatten)]
    pub(crate) model: ModelArg,
    /// Also show the N strongest terms of every label
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) terms: usize,
    #[command(flatten)]
    pub(crate) suspects: SuspectsArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    /// Also write a report with pictures to this file (HTML)
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print only a table with a row for each of these models
    #[arg(long, value_name = "MODEL", num_args = 1.., conflicts_with_all = ["model", "terms", "html", "json", "suspects", "card"])]
    pub(crate) summary: Vec<PathBuf>,
    /// Print only a model card in Markdown, with the metadata of Hugging Face; with --json, only the metadata
    #[arg(long, conflicts_with_all = ["html", "suspects"])]
    card: bool,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Limits of the report if `--terms` is not given. Listing a label's strongest terms reads the whole model.
const LABELS: usize = 20;
const TERMS: usize = 10;

pub(crate) fn run(args: &InspectArgs) -> Result<u8> {
    if !args.summary.is_empty() {
        return summary::print(&args.summary);
    }
    let path = args.model.path()?;
    let filter = args.model.open()?;
    let is_weighted = matches!(filter.information().scoring, Scoring::Weighted(_));
    if args.suspects.suspects.is_some() && !is_weighted {
        bail!("--suspects: expected a model with weighted scoring, got naive Bayes");
    }
    if let Some(html) = &args.html {
        let size = if args.terms == 0 { [LABELS, TERMS] } else { [filter.classes().len(), args.terms] };
        let suspects = args.suspects.mislabels(&args.input, &filter)?;
        page::write(html, &model_page(&file_name(path.as_os_str()), &filter, size, &suspects)?)?;
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    if args.card {
        let name = file_name(path.as_os_str());
        let card = ModelCard::new(&name, &filter);
        match args.json {
            true => writeln!(out, "{}", json_line(card.metadata.to_string()))?,
            false => card.print(&mut out, args.terms)?,
        }
    } else if args.json {
        let mut object = describe_json(&to_text(path.as_os_str()), &filter, args.terms)?;
        if args.suspects.suspects.is_some() {
            object["suspects"] = args.suspects.json(&args.input, &filter)?;
        }
        writeln!(out, "{}", json_line(object.to_string()))?;
    } else {
        let canvas = Canvas::of_stdout();
        writeln!(out, "{}", shown_path(&path))?;
        print_facts(&mut out, canvas, &filter)?;
        if let Some(expectation) = expectation(&filter) {
            writeln!(out, "\n{expectation}")?;
        }
        print_reals(&mut out, &filter.information())?;
        print_terms(&mut out, canvas, &filter, args.terms)?;
        if args.suspects.suspects.is_some() {
            args.suspects.print(&mut out, &args.input, &args.model, &filter)?;
        }
    }
    check_unchanged(&filter)?;
    out.flush()?;
    Ok(0)
}

pub(crate) fn verify(args: &ModelArg) -> Result<u8> {
    let path = args.path()?;
    let filter = args.open()?;
    filter.verify().with_context(|| shown_path(&path))?;
    check_unchanged(&filter)?;
    let information = filter.information();
    let terms = counted(information.size.terms as u64, "term");
    let documents = counted(information.size.documents as u64, "document");
    let path = shown_path(&path);
    writeln!(std::io::stdout(), "{path}: whole and consistent ({terms}, {documents} remembered)")?;
    Ok(0)
}
