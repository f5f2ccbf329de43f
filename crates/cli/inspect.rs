//! `tamis inspect` and `tamis verify`

use std::io::{BufWriter, Write};

use anyhow::{Context, Result};
use serde_json::json;
use tamis_filter::{ClassPrior, Filter, Information, Keep, Terms, TokenizerOptions};

use crate::args::{InspectArgs, ModelArg};
use crate::output::{counted, grouped};

pub(crate) fn run(args: &InspectArgs) -> Result<u8> {
    let path = args.model.path()?;
    let filter = args.model.open()?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    if args.json {
        print_json(&mut out, &path.display().to_string(), &filter, args.terms)?;
    } else {
        writeln!(out, "{}", path.display())?;
        print_facts(&mut out, &filter.information())?;
        print_terms(&mut out, &filter, args.terms)?;
    }
    out.flush()?;
    Ok(0)
}

fn print_facts(out: &mut impl Write, information: &Information<'_>) -> Result<()> {
    let Information { recipe, parameters, classes, totals, .. } = information;
    let documents: u64 = totals.iter().map(|t| t.documents).sum();
    writeln!(out, "kind        {} (recipe {})", recipe.kind, recipe.version)?;
    writeln!(out, "terms       {}", describe(&recipe.tokenizer))?;
    writeln!(
        out,
        "likelihood  {}, {}, alpha {}",
        parameters.likelihood,
        parameters.counting,
        f64::from(parameters.alpha)
    )?;
    writeln!(out, "prior       {}", describe_prior(&parameters.prior))?;
    let remembered = match information.keep {
        Keep::Vectors => "with their terms",
        Keep::Digests => "by their digests",
    };
    writeln!(
        out,
        "documents   {} learned, {} distinct ones remembered {remembered}",
        grouped(documents),
        grouped(information.documents as u64)
    )?;
    writeln!(
        out,
        "vocabulary  {}, of which {} take part",
        counted(information.n_terms as u64, "term"),
        grouped(information.n_features)
    )?;
    writeln!(out, "size        {} bytes", grouped(information.bytes as u64))?;
    writeln!(out)?;
    let width = classes.iter().map(|(_, label)| label.chars().count()).max().unwrap_or(0).max(5);
    writeln!(out, "{:<width$}  {:>10}  {:>12}  {:>14}", "label", "documents", "terms in all", "occurrences")?;
    for ((_, label), totals) in classes.iter().zip(*totals) {
        let [documents, df, tf] = [totals.documents, totals.df, totals.tf].map(grouped);
        writeln!(out, "{label:<width$}  {documents:>10}  {df:>12}  {tf:>14}")?;
    }
    Ok(())
}

fn describe_prior(prior: &ClassPrior) -> String {
    match prior {
        ClassPrior::Learned => "learned".to_owned(),
        ClassPrior::Smoothed => "smoothed".to_owned(),
        ClassPrior::Uniform => "uniform".to_owned(),
        ClassPrior::Given(shares) => shares.iter().map(f64::to_string).collect::<Vec<_>>().join(", "),
    }
}

fn describe(options: &TokenizerOptions) -> String {
    let mut words = vec![match options.terms {
        Terms::Words { max: 1, .. } => format!("{} words", options.word_rule),
        Terms::Words { min, max } => format!("{} words, sequences of {min} to {max}", options.word_rule),
        Terms::Characters { min, max } => format!("sequences of {min} to {max} characters"),
    }];
    words.push(if options.fold_case { "case folded" } else { "case kept" }.to_owned());
    words.extend(options.stemmer.map(|language| format!("stems of {language}")));
    if !options.stop_words.is_empty() {
        words.push(counted(options.stop_words.len() as u64, "stop word"));
    }
    words.push(format!("{} to {} characters", options.min_chars, options.max_chars));
    words.join(", ")
}

fn print_terms(out: &mut impl Write, filter: &Filter, most: usize) -> Result<()> {
    if most == 0 {
        return Ok(());
    }
    for (class, label) in filter.classes().iter() {
        writeln!(out, "\nstrongest terms of {label}")?;
        for term in filter.strongest_terms(class, most)? {
            let documents = term.document_frequencies[usize::from(class)];
            writeln!(out, "{:>+9.3}  in {:>6}  {}", term.contribution, grouped(documents), term.term)?;
        }
    }
    Ok(())
}

fn print_json(out: &mut impl Write, path: &str, filter: &Filter, most: usize) -> Result<()> {
    let information = filter.information();
    let mut classes = Vec::new();
    for ((class, label), totals) in filter.classes().iter().zip(information.totals) {
        let terms: Vec<_> = if most == 0 { Vec::new() } else { filter.strongest_terms(class, most)? }
            .into_iter()
            .map(|term| json!({"term": term.term, "weight": term.contribution}))
            .collect();
        classes.push(json!({"label": label, "totals": totals, "strongest_terms": terms}));
    }
    let object = json!({
        "path": path,
        "recipe": information.recipe,
        "parameters": information.parameters,
        "classes": classes,
        "terms": information.n_terms,
        "features": information.n_features,
        "remembered": {"documents": information.documents, "keep": information.keep},
        "bytes": information.bytes,
    });
    Ok(writeln!(out, "{object}")?)
}

pub(crate) fn verify(args: &ModelArg) -> Result<u8> {
    let path = args.path()?;
    let filter = args.open()?;
    filter.verify().with_context(|| path.display().to_string())?;
    let information = filter.information();
    let (terms, documents) = (information.n_terms as u64, information.documents as u64);
    writeln!(
        std::io::stdout(),
        "{}: whole and consistent ({}, {} remembered)",
        path.display(),
        counted(terms, "term"),
        counted(documents, "document")
    )?;
    Ok(0)
}
