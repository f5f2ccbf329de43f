//! `tamis inspect` and `tamis verify`.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::json;
use tamis_program::{ERROR, counted, day, expectation, grouped, named, say, shown, shown_path, told};
use tamis_report::{Mislabel, model_page};
use tamis_train::information::{ClassTotals, Suspect};
use tamis_train::{ClassId, Error, ErrorKind, Filter, Information, Keep, Scoring};

use crate::args::{InputArgs, ModelArg, needs_terms};
use crate::input::{Corpus, SourceScope};
use crate::models::card::ModelCard;
use crate::models::facts::{describe_json, print_facts, print_reals, print_terms};
use crate::output::{Canvas, file_name, print_out, to_text, write_page};

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
    /// Also show the N learned documents whose held-out scores contradict their labels most: they may be mislabelled.
    /// With more than two labels, every document is held out now, which takes longer than training
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "20", require_equals = true)]
    pub(crate) suspects: Option<usize>,
    /// The learned documents, to show suspects by file name
    #[arg(value_name = "SOURCE", requires = "suspects")]
    pub(crate) sources: Vec<OsString>,
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
    let most = args.suspects;
    if most.is_some() && !is_weighted {
        bail!("--suspects: expected a model with weighted scoring, got naive Bayes");
    }
    let needs_suspects = most.is_some() || args.html.is_some();
    let suspects = needs_suspects.then(|| Suspects::find(args, &filter)).transpose()?;
    if let Some(html) = &args.html {
        let size = if args.terms == 0 { [LABELS, TERMS] } else { [filter.classes().len(), args.terms] };
        let mislabels = suspects.as_ref().map_or(Vec::new(), |found| found.mislabels(most.unwrap_or(20)));
        write_page(html, &model_page(&file_name(path.as_os_str()), &filter, size, &mislabels)?)?;
    }
    let suspects = suspects.zip(most);
    let name = file_name(path.as_os_str());
    if args.card {
        let card = ModelCard::new(&name, &filter);
        let json = args.json.then(|| card.metadata.clone());
        filter.check_unchanged()?;
        return print_out(json, |out| {
            card.print(out, args.terms)?;
            Ok(filter.check_unchanged()?)
        })
        .map(|()| 0);
    }
    let mut json =
        args.json.then(|| describe_json(&to_text(path.as_os_str()), &filter, args.terms)).transpose()?;
    if let (Some(json), Some((suspects, most))) = (&mut json, &suspects) {
        json["suspects"] = suspects.json(*most);
    }
    filter.check_unchanged()?;
    print_out(json, |out| {
        let canvas = Canvas::of_stdout();
        writeln!(out, "{}", shown_path(&path))?;
        print_facts(out, canvas, &filter)?;
        if let Some(expectation) = expectation(&filter) {
            writeln!(out, "\n{expectation}")?;
        }
        print_reals(out, &filter.information())?;
        print_terms(out, canvas, &filter, args.terms)?;
        if let Some((suspects, most)) = &suspects {
            suspects.print(out, &args.model, *most)?;
        }
        Ok(filter.check_unchanged()?)
    })?;
    Ok(0)
}

pub(crate) fn verify(args: &ModelArg) -> Result<u8> {
    let path = args.path()?;
    let filter = args.open()?;
    filter.verify().with_context(|| shown_path(&path))?;
    filter.check_unchanged()?;
    let information = filter.information();
    let terms = counted(information.size.terms as u64, "term");
    let documents = counted(information.size.documents as u64, "document");
    let path = shown_path(&path);
    writeln!(std::io::stdout(), "{path}: whole and consistent ({terms}, {documents} remembered)")?;
    Ok(0)
}

/// Documents that were probably learned under a wrong label.
struct Suspects<'a> {
    filter: &'a Filter,
    all: Vec<Suspect>,
    /// The files of learned documents, by their digests.
    files: HashMap<[u8; 16], OsString>,
}

impl<'a> Suspects<'a> {
    /// Finds the suspects. A report shows them without being asked, if it can.
    fn find(args: &InspectArgs, filter: &'a Filter) -> Result<Self> {
        let is_asked = args.suspects.is_some();
        let files = find_files(&args.sources, &args.input, filter)?;
        let are_unknown =
            |error: &Error| matches!(error.kind(), ErrorKind::TermsNotStored | ErrorKind::Settings);
        let all = match tamis_train::evaluate::suspects(filter) {
            Err(error) if !is_asked && are_unknown(&error) => Vec::new(),
            suspects => {
                suspects.map_err(needs_terms("--suspects", ", which tamis train --documents makes"))?
            }
        };
        Ok(Suspects { filter, all, files })
    }

    fn label(&self, class: ClassId) -> &str {
        self.filter.classes().label(class).unwrap_or_default()
    }

    fn first(&self, most: usize) -> impl Iterator<Item = &Suspect> + Clone {
        self.all.iter().take(most)
    }

    fn mislabels(&self, most: usize) -> Vec<Mislabel> {
        let mislabel = |suspect: &Suspect| {
            let path = self.files.get(&suspect.digest).map(|path| to_text(path).into_owned());
            Mislabel {
                name: path.or(suspect.name.clone()).unwrap_or_else(|| hexadecimal(suspect.digest)),
                label: self.label(suspect.class).to_owned(),
                log_odds: suspect.log_odds.abs(),
                note: suspect.date.map(day).unwrap_or_default(),
            }
        };
        self.first(most).map(mislabel).collect()
    }

    fn json(&self, most: usize) -> serde_json::Value {
        let suspect = |suspect: &Suspect| {
            json!({
                "digest": hexadecimal(suspect.digest), "label": self.label(suspect.class),
                "proposed": self.label(suspect.proposed), "probability": suspect.probability,
                "log_odds": suspect.log_odds, "date": suspect.date, "name": suspect.name,
                "path": self.files.get(&suspect.digest).map(|name| to_text(name)),
            })
        };
        self.first(most).map(suspect).collect()
    }

    fn print(&self, out: &mut impl Write, model: &ModelArg, most: usize) -> Result<()> {
        let n = counted(self.all.len() as u64, "document");
        writeln!(out, "\n{n} contradicted by their held-out score")?;
        let suspects = self.first(most);
        if suspects.clone().next().is_none() {
            return Ok(());
        }
        // of two labels, the other one is meant
        let is_of_two = self.filter.classes().len() == 2;
        let has_names = suspects.clone().any(|suspect| suspect.name.is_some());
        let (likelier, name) =
            (if is_of_two { "" } else { "more likely" }, if has_names { "name" } else { "" });
        let mut rows =
            vec![["log-odds", "learned as", likelier, "date", "document", name].map(str::to_owned)];
        rows.extend(suspects.clone().map(|suspect| {
            let proposed = format!("{} {:.4}", shown(self.label(suspect.proposed)), suspect.probability);
            let file = self.files.get(&suspect.digest);
            [
                format!("{:+.3}", suspect.log_odds),
                shown(self.label(suspect.class)).into_owned(),
                if is_of_two { String::new() } else { proposed },
                suspect.date.map_or("unknown".to_owned(), day),
                file.map_or_else(|| hexadecimal(suspect.digest), shown_path),
                suspect.name.as_deref().map(shown).unwrap_or_default().into_owned(),
            ]
        }));
        let width =
            |column: usize| rows[1..].iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let (learned, document) = (width(1).max(10), width(4).max(8));
        let proposed = if is_of_two { 0 } else { width(2).max(10) + 2 };
        writeln!(out)?;
        for [log_odds, label, other, date, file, name] in &rows {
            let labels = format!("{label:<learned$}  {other:<proposed$}");
            let line = format!("{log_odds:>9}  {labels}{date:<10}  {file:<document$}  {name}");
            writeln!(out, "{}", line.trim_end())?;
        }
        let are_at_hand = suspects.clone().all(|suspect| self.files.contains_key(&suspect.digest));
        self.print_what_to_do(out, model, has_names, are_at_hand)
    }

    fn print_what_to_do(
        &self,
        out: &mut impl Write,
        model: &ModelArg,
        has_names: bool,
        are_at_hand: bool,
    ) -> Result<()> {
        let option = model.model.as_ref().map_or(String::new(), |path| format!("-m {} ", shown_path(path)));
        writeln!(out, "\nTo move a document from the wrong label to the right one:")?;
        writeln!(out, "  tamis learn {option}LABEL FILE")?;
        if self.filter.information().stored.keep == Keep::Vectors {
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
}

/// Finds the files of the documents in the sources, by their digests.
fn find_files(
    sources: &[OsString],
    input: &InputArgs,
    filter: &Filter,
) -> Result<HashMap<[u8; 16], OsString>> {
    let mut files = HashMap::new();
    if sources.is_empty() && input.list.files_from.is_none() {
        return Ok(files);
    }
    let recipe = filter.information().recipe;
    Corpus::find_for(sources, SourceScope::Documents, input, recipe)?.for_each(
        &recipe.limits,
        || Ok(()),
        |(), _, _, document| Ok(filter.digest(document)?),
        |item, digest| {
            files.entry(digest).or_insert_with(|| item.name().into_owned());
            Ok(())
        },
    )?;
    Ok(files)
}

fn hexadecimal(digest: [u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(digest))
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
