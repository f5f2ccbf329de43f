//! `tamis inspect` and `tamis verify`.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::json;
use tamis_program::{
    ERROR, check_unchanged, counted, day, expectation, grouped, json_line, named, say, shown, shown_path,
    told,
};
use tamis_report::{Mislabel, model_page};
use tamis_train::information::{ClassTotals, Suspect};
use tamis_train::{ErrorKind, Filter, Information, Keep, Scoring};

use crate::args::{InputArgs, ModelArg};
use crate::input::{Corpus, Selection};
use crate::models::card::ModelCard;
use crate::models::facts::{describe_json, print_facts, print_reals, print_terms};
use crate::output::{Canvas, file_name, page, to_text};

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
        return print_summary(&args.summary);
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

type Files = HashMap<[u8; 16], OsString>;

#[derive(Args)]
pub(crate) struct SuspectsArgs {
    /// Also show the N learned documents whose held-out scores contradict their labels most: they may be mislabelled.
    /// With more than two labels, every document is held out now, which takes longer than training
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "20", require_equals = true)]
    pub(crate) suspects: Option<usize>,
    /// The learned documents, to show suspects by file name
    #[arg(value_name = "SOURCE", requires = "suspects")]
    pub(crate) sources: Vec<OsString>,
}

impl SuspectsArgs {
    fn print(
        &self,
        out: &mut impl Write,
        input: &InputArgs,
        model: &ModelArg,
        filter: &Filter,
    ) -> Result<()> {
        let files = find_files(&self.sources, input, filter)?;
        print_suspects(out, model, filter, &self.find(filter)?, self.suspects.unwrap_or(0), files)
    }

    /// The first suspects for a report, 20 unless the arguments say otherwise.
    fn mislabels(&self, input: &InputArgs, filter: &Filter) -> Result<Vec<Mislabel>> {
        let files = find_files(&self.sources, input, filter)?;
        let mislabel = |suspect: &Suspect| {
            let path = files.get(&suspect.digest).map(|path| to_text(path).into_owned());
            let name = path.or(suspect.name.clone()).unwrap_or_else(|| hexadecimal(&suspect.digest));
            Mislabel {
                name,
                label: filter.classes().label(suspect.class).unwrap_or_default().to_owned(),
                log_odds: suspect.log_odds.abs(),
                note: suspect.date.map(day).unwrap_or_default(),
            }
        };
        Ok(self.find(filter)?.iter().take(self.suspects.unwrap_or(20)).map(mislabel).collect())
    }

    fn json(&self, input: &InputArgs, filter: &Filter) -> Result<serde_json::Value> {
        let files = find_files(&self.sources, input, filter)?;
        let suspect = |suspect: &Suspect| {
            let digest = hexadecimal(&suspect.digest);
            let label = filter.classes().label(suspect.class);
            let path = files.get(&suspect.digest).map(|name| to_text(name));
            let proposed = filter.classes().label(suspect.proposed);
            json!({
                "digest": digest,
                "label": label,
                "proposed": proposed,
                "probability": suspect.probability,
                "log_odds": suspect.log_odds,
                "date": suspect.date,
                "name": suspect.name,
                "path": path,
            })
        };
        Ok(self.find(filter)?.iter().take(self.suspects.unwrap_or(0)).map(suspect).collect())
    }

    /// The suspects. A report shows them without being asked, if it can.
    fn find(&self, filter: &Filter) -> Result<Vec<Suspect>> {
        match tamis_train::evaluate::suspects(filter) {
            Ok(suspects) => Ok(suspects),
            Err(error) => match error.kind() {
                ErrorKind::TermsNotStored | ErrorKind::Settings if self.suspects.is_none() => Ok(Vec::new()),
                ErrorKind::TermsNotStored => bail!(
                    "--suspects: expected a model that remembers the terms of its documents, which tamis train \
                     --documents makes"
                ),
                _ => Err(error.into()),
            },
        }
    }
}

/// Finds the files of the documents in the sources, by their digests.
fn find_files(sources: &[OsString], input: &InputArgs, filter: &Filter) -> Result<Files> {
    let mut files = HashMap::new();
    let sources = input.list.add_to(sources)?;
    if !sources.is_empty() {
        let recipe = filter.information().recipe;
        let corpus = Corpus::find_for(&sources, Selection::Documents, input, recipe)?;
        corpus.for_each(
            &recipe.limits,
            || Ok(()),
            |(), _, _, document| Ok(filter.digest(document)?),
            |item, digest| {
                files.entry(digest).or_insert_with(|| item.name().into_owned());
                Ok(())
            },
        )?;
    }
    Ok(files)
}

/// Prints the first `most` suspects.
fn print_suspects(
    out: &mut impl Write,
    model: &ModelArg,
    filter: &Filter,
    suspects: &[Suspect],
    most: usize,
    files: Files,
) -> Result<()> {
    writeln!(out, "\n{} contradicted by their held-out score", counted(suspects.len() as u64, "document"))?;
    let suspects = &suspects[..most.min(suspects.len())];
    if suspects.is_empty() {
        return Ok(());
    }
    let label = |suspect: &Suspect| shown(filter.classes().label(suspect.class).unwrap_or_default());
    // of two labels, the other one is meant
    let is_of_two = filter.classes().len() == 2;
    let proposed = |suspect: &Suspect| {
        if is_of_two {
            return String::new();
        }
        let label = shown(filter.classes().label(suspect.proposed).unwrap_or_default());
        format!("{label} {:.4}", suspect.probability)
    };
    let widest = |of: &dyn Fn(&Suspect) -> usize| suspects.iter().map(of).max().unwrap_or(0).max(10);
    let width = widest(&|suspect| label(suspect).chars().count());
    let proposed_width = if is_of_two { 0 } else { widest(&|suspect| proposed(suspect).chars().count()) + 2 };
    let document = |suspect: &Suspect| {
        files.get(&suspect.digest).map_or_else(|| hexadecimal(&suspect.digest), shown_path)
    };
    let has_names = suspects.iter().any(|suspect| suspect.name.is_some());
    let longest = suspects.iter().map(|suspect| document(suspect).chars().count()).max().unwrap_or(0).max(8);
    writeln!(out)?;
    let mut line = |log_odds: &str, learned: &str, proposed: &str, date: &str, document: &str, name: &str| {
        let labels = format!("{learned:<width$}  {proposed:<proposed_width$}");
        let line = format!("{log_odds:>9}  {labels}{date:<10}  {document:<longest$}  {name}");
        writeln!(out, "{}", line.trim_end())
    };
    let likelier = if is_of_two { "" } else { "more likely" };
    line("log-odds", "learned as", likelier, "date", "document", if has_names { "name" } else { "" })?;
    for suspect in suspects {
        let (log_odds, date) =
            (format!("{:+.3}", suspect.log_odds), suspect.date.map_or("unknown".to_owned(), day));
        let name = suspect.name.as_deref().map(shown).unwrap_or_default();
        line(&log_odds, &label(suspect), &proposed(suspect), &date, &document(suspect), &name)?;
    }
    let are_at_hand = suspects.iter().all(|suspect| files.contains_key(&suspect.digest));
    print_what_to_do(out, model, filter, has_names, are_at_hand)
}

fn print_what_to_do(
    out: &mut impl Write,
    model: &ModelArg,
    filter: &Filter,
    has_names: bool,
    are_at_hand: bool,
) -> Result<()> {
    let option = model.model.as_ref().map_or(String::new(), |path| format!("-m {} ", shown_path(path)));
    writeln!(out, "\nTo move a document from the wrong label to the right one:")?;
    writeln!(out, "  tamis learn {option}LABEL FILE")?;
    if filter.information().stored.keep == Keep::Vectors {
        writeln!(out, "To forget it, even if its file is gone:")?;
        writeln!(out, "  tamis forget {option}--digest DIGEST")?;
        if has_names {
            writeln!(out, "  tamis forget {option}--name NAME")?;
        }
    }
    if !are_at_hand {
        writeln!(out, "To see file names instead of digests, name the learned documents:")?;
        writeln!(out, "  tamis inspect {option}--suspects PATH ...")?;
    }
    Ok(())
}

fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Prints a row for each model. Models that cannot be opened are reported, and make the exit status an error.
fn print_summary(models: &[PathBuf]) -> Result<u8> {
    let titles = ["documents", "since training", "terms", "bytes", "labels", "model"].map(str::to_owned);
    let (mut rows, mut status) = (vec![titles], 0);
    for path in models {
        match Filter::open(path).map_err(named(path)) {
            Ok(filter) => rows.push(row(&filter, shown_path(path))),
            Err(error) => {
                say!("tamis: {}", told(&error));
                status = ERROR;
            }
        }
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let [a, b, c, d, e] = [0, 1, 2, 3, 4].map(width);
    let mut out = std::io::stdout().lock();
    for [documents, changes, terms, bytes, labels, path] in &rows {
        writeln!(out, "{documents:>a$}  {changes:>b$}  {terms:>c$}  {bytes:>d$}  {labels:<e$}  {path}")?;
    }
    Ok(status)
}

/// The table cells of a model.
fn row(filter: &Filter, path: String) -> [String; 6] {
    let Information { totals, documents, classes, changes, size, file, .. } = filter.information();
    let label = |((_, label), totals): ((_, &str), &ClassTotals)| {
        format!("{} {}", grouped(totals.documents), shown(label))
    };
    let labels: Vec<_> = classes.iter().zip(totals.iter()).map(label).collect();
    let [documents, changes, terms, bytes] =
        [documents, changes.since_training, size.terms as u64, file.bytes as u64].map(grouped);
    [documents, changes, terms, bytes, labels.join(", "), path]
}
