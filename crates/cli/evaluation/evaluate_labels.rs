//! `tamis evaluate` for documents of many labels

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use tamis_program::{check_unchanged, counted, json_line, note, shown_path};
use tamis_report::labels_page;
use tamis_train::evaluate::{HeldOutLabels, LabelEvaluation, cross_validate_labels};
use tamis_train::options::Labels;
use tamis_train::{ClassId, Classes, Filter, split_labels};

use crate::args::Order;
use crate::evaluation::evaluate::{self, EvaluateArgs, hold_all, take_copies_out, title};
use crate::evaluation::label_report::LabelReport;
use crate::formats::labels::RowLabels;
use crate::input::{Corpus, CorpusScorer, DocumentView, Selection, columns};
use crate::output::{page, while_shown};

/// Documents with their labels, and those that they were given.
struct Evaluated {
    classes: Classes,
    named: Vec<(OsString, HeldOutLabels)>,
    status: u8,
}

/// Evaluates one label a document or, if the model or the arguments say so, many.
pub(crate) fn run(args: &EvaluateArgs) -> Result<u8> {
    let needs_model = args.method.folds.is_none() && !args.method.online;
    let filter = needs_model.then(|| args.model.open().ok()).flatten();
    let evaluated = match filter.filter(Filter::has_many_labels) {
        Some(filter) => by_model(args, filter)?,
        None if !needs_model && args.labels.row_labels() != RowLabels::One => by_folds(args)?,
        None => return evaluate::run(args),
    };
    let Evaluated { classes, named, status } = evaluated;
    if named.is_empty() {
        bail!("expected documents to evaluate, got none");
    }
    if let Some(path) = &args.written.scores {
        write_scores(path, &classes, &named).with_context(|| shown_path(path))?;
    }
    let outcomes: Vec<_> = named.into_iter().map(|(_, outcome)| outcome).collect();
    let evaluation = LabelEvaluation::new(classes.len(), &outcomes);
    if let Some(path) = &args.written.html {
        page::write(path, &labels_page(&title(args)?, &classes, &evaluation))?;
    }
    let report = LabelReport { classes: &classes, evaluation: &evaluation };
    let mut out = BufWriter::new(std::io::stdout().lock());
    match args.written.json {
        true => writeln!(out, "{}", json_line(report.json().to_string()))?,
        false => report.print(&mut out)?,
    }
    out.flush()?;
    Ok(status)
}

fn by_model(args: &EvaluateArgs, mut filter: Filter) -> Result<Evaluated> {
    args.check_for_model()?;
    args.decision.apply(&mut filter)?;
    let filter = &filter;
    let recipe = filter.information().recipe;
    let sources = args.input.list.add_to(&args.sources)?;
    let corpus = Corpus::find_for(&sources, Selection::Labelled, &args.input, recipe)?;
    let corpus = corpus.labelled(args.labels.for_model(filter)?);
    let labels = filter.classes();
    let (mut named, mut unknown) = (Vec::new(), Vec::new());
    let finished = corpus.for_each(
        &recipe.limits,
        || Ok(CorpusScorer::new(filter)),
        |scorer, _, given, document| {
            let has: Vec<_> = split_labels(given.label).filter_map(|label| labels.index(label)).collect();
            let unknown = split_labels(given.label).filter(|label| labels.index(label).is_none());
            let unknown: Vec<_> = unknown.map(str::to_owned).collect();
            Ok((scorer.held_out(labels, &has, document)?, unknown))
        },
        |item, (outcome, its_unknown)| {
            named.push((item.name().into_owned(), outcome));
            unknown.push(its_unknown);
            Ok(())
        },
    )?;
    check_unchanged(filter)?;
    columns::say_missing(recipe, &CorpusScorer::missing(&finished.states));
    let (classes, named) = with_unknown(labels, named, &unknown)?;
    Ok(Evaluated { classes, named, status: corpus.conclude(finished.unreadable) })
}

/// Adds the labels that the model does not know, `unknown` of each document. They are always missed.
fn with_unknown(
    labels: &Classes,
    named: Vec<(OsString, HeldOutLabels)>,
    unknown: &[Vec<String>],
) -> Result<(Classes, Vec<(OsString, HeldOutLabels)>)> {
    let more: BTreeSet<&str> = unknown.iter().flatten().map(String::as_str).collect();
    if more.is_empty() {
        return Ok((labels.clone(), named));
    }
    note!("the model does not know {}, which are always missed", counted(more.len() as u64, "label"));
    let all = Classes::new(labels.iter().map(|(_, label)| label).chain(more))?;
    let moved = named.into_iter().zip(unknown);
    let moved = moved.map(|((name, of), unknown)| (name, of.among(labels, &all, unknown)));
    let moved = moved.collect();
    Ok((all, moved))
}

fn by_folds(args: &EvaluateArgs) -> Result<Evaluated> {
    let Some(folds) = args.method.folds else {
        bail!("--labels many: expected a model or --folds with it, got --online");
    };
    if args.table.target.is_some() || !args.unlabelled.unlabelled.is_empty() {
        bail!("--labels many: expected no --target and no --unlabelled with it");
    }
    if !args.decision.is_for_held_out() {
        bail!("--prior and --cost: expected a model, got --folds");
    }
    let asked = args.scoring.options(&args.unlabelled);
    asked.check()?;
    let sources = args.input.list.add_to(&args.sources)?;
    let corpus = Corpus::find_labelled(&sources, &args.input, None)?;
    let corpus = corpus.labelled(args.labels.row_labels()).grouped(&args.groups);
    let mut options = args.recipe.train_options(corpus.kind, args.labels.row_labels())?;
    options.labels = Labels::Many;
    options.prepare(&asked)?;
    let (mut documents, unreadable) = hold_all(&corpus, &options, Order::Given)?;
    let classes = Classes::new(documents.iter().flat_map(|held| split_labels(&held.label)))?;
    options.scoring = Some(asked.scoring(&options.recipe, &classes, documents.len() as u64)?);
    options.decision.unsure = args.decision.decision.unsure;
    options.check_for(classes.len())?;
    take_copies_out(&options, &mut documents)?;
    let own: Vec<_> = documents.iter().map(|held| held.loaded()).collect();
    let labelled = documents.iter().zip(&own);
    let labelled: Vec<_> = labelled
        .map(|(held, own)| (&*held.label, held.group.as_deref(), DocumentView::document(own)))
        .collect();
    let seed = args.scoring.seed.unwrap_or_default();
    let validate = || cross_validate_labels(&options, &labelled, folds.into(), seed);
    let (classes, outcomes) = while_shown("validating", validate)?;
    let named = documents.iter().map(|held| held.name.clone()).zip(outcomes).collect();
    Ok(Evaluated { classes, named, status: corpus.conclude(unreadable) })
}

/// Writes path, labels and given labels of each document, and the probability of each label.
fn write_scores(path: &Path, classes: &Classes, named: &[(OsString, HeldOutLabels)]) -> Result<()> {
    let mut table = csv::WriterBuilder::new().delimiter(b'\t').from_writer(File::create(path)?);
    let probabilities = classes.iter().map(|(_, label)| format!("probability_{label}"));
    let head = ["path", "true_labels", "labels"].map(str::to_owned);
    table.write_record(head.into_iter().chain(probabilities))?;
    let joined = |labels: &[ClassId]| {
        let names: Vec<_> = labels.iter().filter_map(|label| classes.label(*label)).collect();
        names.join(",")
    };
    for (name, HeldOutLabels { has, given, probabilities, .. }) in named {
        table.write_field(OsStr::as_encoded_bytes(name))?;
        table.write_field(joined(has))?;
        table.write_field(joined(given))?;
        probabilities.iter().try_for_each(|p| table.write_field(p.to_string()))?;
        table.write_record(None::<&[u8]>)?;
    }
    Ok(table.flush()?)
}
