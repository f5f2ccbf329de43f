//! `tamis inspect --suspects`: documents that were probably learned under a wrong label.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::Write;

use anyhow::{Result, bail};
use clap::Args;
use serde_json::json;
use tamis_program::{counted, day, shown, shown_path};
use tamis_report::Mislabel;
use tamis_train::information::Suspect;
use tamis_train::{ErrorKind, Filter, Keep};

use crate::args::{InputArgs, ModelArg};
use crate::input::{Corpus, Wanted};
use crate::output::to_text;

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
    pub(crate) fn print(
        &self,
        out: &mut impl Write,
        input: &InputArgs,
        model: &ModelArg,
        filter: &Filter,
    ) -> Result<()> {
        let files = find_files(&self.sources, input, filter)?;
        print(out, model, filter, &self.find(filter)?, self.suspects.unwrap_or(0), files)
    }

    /// The first suspects for a report, 20 unless the arguments say otherwise.
    pub(crate) fn mislabels(&self, input: &InputArgs, filter: &Filter) -> Result<Vec<Mislabel>> {
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

    pub(crate) fn json(&self, input: &InputArgs, filter: &Filter) -> Result<serde_json::Value> {
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
        let corpus = Corpus::find_for(&sources, Wanted::Documents, input, recipe)?;
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
fn print(
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
