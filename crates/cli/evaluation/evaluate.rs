//! `tamis evaluate`

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;

use anyhow::{Context, Result, bail, ensure};
use tamis_program::{counted, grouped, note, shown, shown_path};
use tamis_report::{EvaluationReport, Mislabel};
use tamis_train::evaluate::{Evaluation, HeldOutLabels, HeldOutScore, LearnedDocuments, LearningStep};
use tamis_train::{ClassId, Classes, Document, Filter, Score};

use crate::args::ScoringArgs;
use crate::evaluation::arguments::{EvaluateArgs, EvaluationRun, Outcomes};
use crate::evaluation::hold_out::by_learning;
use crate::evaluation::report::print_evaluation;
use crate::input::{Attributes, Corpus, CorpusScorer, SourceScope, columns};
use crate::output::{Canvas, file_name, print_out, to_text, write_page};

pub(crate) fn run(args: &EvaluateArgs) -> Result<u8> {
    let EvaluationRun { classes, spam, decision, outcomes, learned, status, stock } = evaluated(args, false)?;
    let (evaluation, mislabels) = match outcomes {
        Outcomes::One(named) => {
            write_scores(args, &classes, &named)?;
            let (names, outcomes): (Vec<_>, Vec<_>) = named.into_iter().unzip();
            let evaluated = |outcomes: &[HeldOutScore]| match args.scoring.seed {
                Some(seed) => Evaluation::with_seed(&classes, spam, outcomes, seed),
                None => Evaluation::new(&classes, spam, outcomes),
            };
            let mut evaluation = LearnedDocuments::evaluate(&outcomes, learned.as_deref(), evaluated);
            if args.online {
                evaluation.learning = LearningStep::curve(&outcomes);
            }
            let name = |place: usize| to_text(&names[place]).into_owned();
            (evaluation, Mislabel::of_outcomes(&classes, &outcomes, MOST_MISLABELS, name))
        }
        Outcomes::Many(named) => {
            write_label_scores(args, &classes, &named)?;
            let outcomes: Vec<_> = named.into_iter().map(|(_, outcome)| outcome).collect();
            let evaluated = |outcomes: &[HeldOutLabels]| Evaluation::of_labels(&classes, outcomes);
            (LearnedDocuments::evaluate(&outcomes, learned.as_deref(), evaluated), Vec::new())
        }
    };
    if let Some(path) = &args.html {
        let (title, evaluation, mislabels) = (&title(args)?, &evaluation, &mislabels[..]);
        write_page(path, &EvaluationReport { title, evaluation, decision, mislabels }.page())?;
    }
    // through a value, which sorts the keys
    let mut json = args.json.then(|| serde_json::to_value(&evaluation)).transpose()?;
    if let Some(json) = &mut json {
        json["found"] = serde_json::to_value(&stock)?;
    }
    print_out(json, |out| {
        stock.left_out().map_or(Ok(()), |line| writeln!(out, "{line}\n"))?;
        print_evaluation(out, &evaluation, Canvas::of_stdout())
    })?;
    Ok(status)
}

/// A title that says what was evaluated.
fn title(args: &EvaluateArgs) -> Result<String> {
    const MOST: usize = 4;
    let sources = args.input.list.add_to(&args.sources)?;
    let mut names: Vec<_> = sources.iter().take(MOST).map(|source| file_name(source).into_owned()).collect();
    if sources.len() > MOST {
        names.push(format!("and {} more", grouped((sources.len() - MOST) as u64)));
    }
    let how = match args.folds {
        Some(folds) => format!("in {folds} folds"),
        None if args.online => "learned online".to_owned(),
        None => format!("by {}", file_name(args.model.own.path()?.as_os_str())),
    };
    Ok(format!("{} {how}", names.join(" ")))
}

/// Maximum number of documents that a report names as contradicting their label.
const MOST_MISLABELS: usize = 20;

/// Scores documents as the options ask. For a comparison, refuses a model of many labels.
pub(crate) fn evaluated(args: &EvaluateArgs, is_compared: bool) -> Result<EvaluationRun> {
    if args.groups.are_given() && args.folds.is_none() {
        bail!("{}: expected --folds with it, whose folds keep groups together", args.groups.option());
    }
    if args.folds.is_some() || args.online {
        return by_learning(args);
    }
    let is_of_training = args.table.target.is_some() || !args.unlabelled.unlabelled.is_empty();
    let only_seed = ScoringArgs { seed: args.scoring.seed, ..Default::default() };
    if args.recipe != Default::default() || args.scoring != only_seed || is_of_training {
        bail!("options of training: expected --folds or --online, since an existing model has its own");
    }
    let mut filter = args.model.open()?;
    args.decision.apply(&mut filter)?;
    let classes = filter.classes();
    if filter.has_many_labels() {
        ensure!(!is_compared, "expected a model of one label a document, got many");
        let hold_out = |scorer: &mut CorpusScorer<'_>, given: Attributes<'_>, document: Document<'_>| {
            scorer.score(document)?;
            let labels = scorer.scratch.labels().iter().map(|of| of.label);
            Ok(HeldOutLabels::new(classes, given.label, labels, scorer.scratch.probabilities()))
        };
        return by_model(args, &filter, hold_out, |named| {
            let (names, outcomes): (Vec<_>, Vec<_>) = named.into_iter().unzip();
            let (all, outcomes) = HeldOutLabels::with_unknown(classes, outcomes)?;
            Ok((all, Outcomes::Many(names.into_iter().zip(outcomes).collect())))
        });
    }
    let hold_out = |scorer: &mut CorpusScorer<'_>, given: Attributes<'_>, document: Document<'_>| {
        let (score, class) = (scorer.score(document)?, classes.index(given.label));
        let probability = class.map_or(0.0, |class| scorer.scratch.probabilities()[usize::from(class)]);
        Ok((given.label.to_owned(), score, probability))
    };
    by_model(args, &filter, hold_out, |named| {
        let labels = named.iter().map(|(_, (label, ..))| label.as_str());
        let all = Classes::new(classes.iter().map(|(_, label)| label).chain(labels))?;
        let outcome = |(name, (label, score, probability)): (OsString, (String, Score, f64))| {
            (name, HeldOutScore::among(&all, &label, classes, score, probability))
        };
        let outcomes = named.into_iter().map(outcome).collect();
        Ok((all, Outcomes::One(outcomes)))
    })
}

/// Scores documents with a model that should not have learned them. What `hold_out` makes of each, by its name, becomes
/// the `outcomes`, with the labels of the model and of the documents.
fn by_model<T: Send>(
    args: &EvaluateArgs,
    filter: &Filter,
    hold_out: impl Fn(&mut CorpusScorer<'_>, Attributes<'_>, Document<'_>) -> Result<T> + Sync,
    outcomes: impl FnOnce(Vec<(OsString, T)>) -> Result<(Classes, Outcomes)>,
) -> Result<EvaluationRun> {
    let recipe = filter.information().recipe;
    let corpus = Corpus::find_for(&args.sources, SourceScope::Labelled, &args.input, recipe)?;
    let corpus = corpus.labelled(args.labels.for_model(filter)?, filter.classes());
    let known = filter.known_digests()?;
    let (mut named, mut learned) = (Vec::new(), Vec::new());
    let finished = corpus.for_each(
        &recipe.limits,
        || Ok(CorpusScorer::new(filter)),
        |scorer, _, given, document| {
            let outcome = hold_out(scorer, given, document)?;
            Ok((outcome, known.contains(&filter.digest_of_scored(&scorer.scratch))))
        },
        |item, (outcome, is_known)| {
            named.push((item.name().into_owned(), outcome));
            learned.push(is_known);
            Ok(())
        },
    )?;
    filter.check_unchanged()?;
    columns::say_missing(recipe, &CorpusScorer::missing(&finished.states));
    let (status, stock) = (corpus.conclude(finished.unreadable), corpus.stock());
    let (classes, outcomes) = outcomes(named)?;
    note_unknown(filter.classes(), &classes);
    let spam = filter.spam().filter(|_| classes.len() == filter.classes().len());
    let decision = (classes.len() == 2 && !filter.has_many_labels()).then(|| filter.decision());
    Ok(EvaluationRun { classes, spam, decision, outcomes, learned: Some(learned), status, stock })
}

/// Names the labels among `all` that the model does not have.
fn note_unknown(known: &Classes, all: &Classes) {
    let unknown = all.iter().map(|(_, label)| label).filter(|label| known.index(label).is_none());
    match Classes::new(unknown) {
        Ok(unknown) if !unknown.is_empty() => {
            let (n, names) = (counted(unknown.len() as u64, "label"), unknown.to_string());
            note!("the model does not know {n}, whose documents count as wrong: {}", shown(&names));
        }
        _ => (),
    }
}

fn write_scores(args: &EvaluateArgs, classes: &Classes, named: &[(OsString, HeldOutScore)]) -> Result<()> {
    let head = ["path", "true_label", "log_odds", "verdict", "probability"].map(str::to_owned);
    write_table(args, head.into(), named, |HeldOutScore { class, score, .. }| {
        let label = |class: ClassId| classes.label(class).unwrap_or_default();
        let verdict = score.label.map_or("unsure", label);
        let [log_odds, probability] = [score.log_odds, score.probability].map(|n| n.to_string());
        vec![label(*class).to_owned(), log_odds, verdict.to_owned(), probability]
    })
}

/// Writes path, labels and given labels of each document, and the probability of each label.
fn write_label_scores(
    args: &EvaluateArgs,
    classes: &Classes,
    named: &[(OsString, HeldOutLabels)],
) -> Result<()> {
    let head = ["path", "true_labels", "labels"].map(str::to_owned);
    let probabilities = classes.iter().map(|(_, label)| format!("probability_{label}"));
    let joined = |labels: &[ClassId]| {
        let names: Vec<_> = labels.iter().filter_map(|label| classes.label(*label)).collect();
        names.join(",")
    };
    let head = head.into_iter().chain(probabilities).collect();
    write_table(args, head, named, |HeldOutLabels { has, given, probabilities, .. }| {
        [joined(has), joined(given)].into_iter().chain(probabilities.iter().map(f64::to_string)).collect()
    })
}

/// Writes the table of `--scores`: a row of `cells` for each document, after its name.
///
/// # Errors
/// If there are no documents, also without `--scores`.
fn write_table<T>(
    args: &EvaluateArgs,
    head: Vec<String>,
    named: &[(OsString, T)],
    cells: impl Fn(&T) -> Vec<String>,
) -> Result<()> {
    ensure!(!named.is_empty(), "expected documents to evaluate, got none");
    let Some(path) = &args.scores else { return Ok(()) };
    let write = || -> Result<()> {
        let mut table = csv::WriterBuilder::new().delimiter(b'\t').from_writer(File::create(path)?);
        table.write_record(head)?;
        for (name, outcome) in named {
            table.write_field(OsStr::as_encoded_bytes(name))?;
            table.write_record(cells(outcome))?;
        }
        Ok(table.flush()?)
    };
    write().with_context(|| shown_path(path))
}
