//! Documents scored by models that have not learned them, for `tamis evaluate --folds` and `--online`.

use std::ffi::OsString;

use anyhow::{Context, Result, bail, ensure};
use tamis_mail::Message;
use tamis_program::{counted, note, noun, shown_path};
use tamis_train::evaluate::{HeldOutScore, Prequential, cross_validate, cross_validate_labels};
use tamis_train::options::Labels;
use tamis_train::{
    ClassId, Classes, Decision, Document, Doubt, Kind, Score, Scoring, TrainOptions, Trainer, may_judge,
    positive_class, spam_class, split_labels,
};

use crate::args::{DecisionArgs, Order};
use crate::evaluation::arguments::{EvaluateArgs, EvaluationRun, Outcomes};
use crate::formats::labels::RowLabels;
use crate::input::{Attributes, Corpus, DocumentView, HeldDocument, Item, columns, say_equal};
use crate::output::while_shown;

/// A document held in memory, to be learned when its turn comes.
struct EvaluationDocument {
    name: OsString,
    label: String,
    group: Option<String>,
    held: HeldDocument,
    key: SortKey,
}

/// The key that documents are ordered by.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum SortKey {
    Given,
    Digest([u8; 16]),
    Date(Option<i64>),
}

impl EvaluationDocument {
    fn new(item: &Item<'_>, given: Attributes<'_>, document: Document<'_>, order: Order) -> Self {
        let path = &item.file.path;
        let file_name = path.file_name().unwrap_or(path.as_os_str()).as_encoded_bytes();
        let key = match (order, document.apart().0) {
            (Order::Md5, _) => SortKey::Digest(md5::compute(file_name).0),
            (Order::Date, Document::Mail(bytes)) => {
                SortKey::Date(Message::parse(bytes, &Default::default()).date())
            }
            _ => SortKey::Given,
        };
        EvaluationDocument {
            name: item.name().into_owned(),
            label: given.label.to_owned(),
            group: given.group.map(str::to_owned),
            held: HeldDocument::new(document),
            key,
        }
    }
}

/// Alternates learning and scoring.
pub(super) fn by_learning(args: &EvaluateArgs) -> Result<EvaluationRun> {
    let row_labels = args.labels.row_labels();
    let are_many = row_labels != RowLabels::One;
    let is_table = args.table.target.is_some();
    let has_unlabelled = !args.unlabelled.unlabelled.is_empty();
    let is_online = args.online;
    ensure!(!are_many || !is_online, "--labels many: expected a model or --folds with it, got --online");
    if are_many && (is_table || has_unlabelled) {
        bail!("--labels many: expected no --target and no --unlabelled with it");
    }
    let DecisionArgs { prior, cost, unsure } = &args.decision.decision;
    let needs_model = prior.is_some() || cost.is_some();
    ensure!(!needs_model, "--prior and --cost: expected a model, got --folds or --online");
    let asked = args.scoring.options(&args.unlabelled);
    if !is_table {
        asked.check()?;
    }
    if is_online && (is_table || has_unlabelled) {
        bail!("--online: expected no --target and no --unlabelled with it, which need all documents at once");
    }
    let corpus = Corpus::find_labelled(&args.sources, &args.input, args.table.target.as_deref())?;
    let mut corpus = corpus.labelled(row_labels, &Classes::default()).grouped(&args.groups);
    let mut options = args.recipe.train_options(corpus.kind, row_labels)?;
    columns::choose(&mut options.recipe, &corpus, &args.table, &args.recipe)?;
    options.prepare(&asked)?;
    corpus.embed_new(&mut options.recipe)?;
    if args.order == Order::Date && corpus.kind != Kind::Mail {
        bail!("--order date: expected mail, got {}", corpus.kind);
    }
    let (mut examples, classes, unreadable) = read_labelled(&mut corpus, &options, args.order)?;
    // A stable sort: documents with equal keys stay in the given order.
    examples.sort_by(|a, b| a.key.cmp(&b.key));
    let more = corpus.find_unlabelled(&args.unlabelled.unlabelled, &options.recipe)?;
    let (unlabelled, unread) = read_all(&more, &options, Order::Given)?;
    let n = examples.len() + unlabelled.len();
    let scoring = asked.scoring(&options.recipe, &classes, n as u64)?;
    let has_thresholds = classes.len() == 2 && matches!(scoring, Scoring::Weighted(_));
    options.scoring = Some(scoring);
    if are_many {
        options.decision.unsure = *unsure;
    }
    options.check_for(classes.len())?;
    let spam = if are_many { None } else { spam_of(args, &classes)? };
    let default = Decision::for_spam(spam, &classes);
    let decision = unsure.map_or(Ok(default), |least| default.with_unsure_below(least))?;
    let mut outcomes =
        while_shown("validating", || hold_out(args, options, &classes, examples, &unlabelled))?;
    if let Outcomes::One(named) = &mut outcomes {
        for (_, outcome) in named {
            outcome.score.label = match unsure {
                _ if has_thresholds => decided(&decision, spam, outcome, &classes),
                Some(least) => likelier_than(*least, spam, &outcome.score, classes.len()),
                None => outcome.score.label,
            };
        }
    }
    let decision = (classes.len() == 2).then_some(decision);
    let status = corpus.conclude(unreadable + unread);
    Ok(EvaluationRun { classes, spam, decision, outcomes, learned: None, status, stock: corpus.stock() })
}

/// The label that counts as spam: that of --spam-label, else one with a name that means spam.
fn spam_of(args: &EvaluateArgs, classes: &Classes) -> Result<Option<ClassId>> {
    let Some(label) = &args.decision.spam_label else { return Ok(spam_class(classes)) };
    let expected = || format!("--spam-label: expected one of {classes}, got {label:?}");
    classes.index(label).map(Some).with_context(expected)
}

/// Reads all documents with their labels. Also returns how many could not be read.
fn read_labelled(
    corpus: &mut Corpus<'_>,
    options: &TrainOptions,
    order: Order,
) -> Result<(Vec<EvaluationDocument>, Classes, usize)> {
    let (examples, unreadable) = read_all(corpus, options, order)?;
    let labels = examples.iter().map(|example| &*example.label);
    let are_many = options.labels == Labels::Many;
    let classes = if are_many { Classes::new(labels.flat_map(split_labels))? } else { Classes::new(labels)? };
    match corpus.unite_numbers(&classes)? {
        true => read_labelled(corpus, options, order),
        false => Ok((examples, classes, unreadable)),
    }
}

/// Reads all documents. Also returns how many could not be read. Rows are checked by learning them.
fn read_all(
    corpus: &Corpus<'_>,
    options: &TrainOptions,
    order: Order,
) -> Result<(Vec<EvaluationDocument>, usize)> {
    let mut examples = Vec::new();
    let finished = corpus.for_each(
        &options.recipe.limits,
        || Ok((corpus.kind == Kind::Table).then(|| Trainer::new(options.clone())).transpose()?),
        |checked: &mut Option<Trainer>, item, given, document| {
            checked.as_mut().map_or(Ok(()), |trainer| trainer.add(given.label, document))?;
            Ok(EvaluationDocument::new(item, given, document, order))
        },
        |_, example| {
            examples.push(example);
            Ok(())
        },
    )?;
    let missing = finished.states.iter().flatten().map(|trainer| trainer.missing().to_vec());
    let sum = |sums: Vec<u64>, more: Vec<u64>| sums.iter().zip(more).map(|(a, b)| a + b).collect();
    if let (Some(missing), Some(trainer)) = (missing.reduce(sum), finished.states.iter().flatten().next()) {
        columns::say_missing(trainer.recipe(), &missing);
    }
    Ok((examples, finished.unreadable))
}

/// The likeliest label, if it has at least the probability `least` and the document may be judged.
fn likelier_than(least: f64, spam: Option<ClassId>, score: &Score, n_classes: usize) -> Option<ClassId> {
    let is_likely = score.probability > 0.5 || n_classes > 2;
    let (class, probability) = (score.scored_class, score.probability);
    let (class, probability) = if is_likely { (class, probability) } else { (1 - class, 1.0 - probability) };
    (may_judge(spam, score.known_terms) && probability >= least).then_some(class)
}

/// The label that the thresholds give, if the document may be judged.
fn decided(
    decision: &Decision,
    spam: Option<ClassId>,
    held_out: &HeldOutScore,
    classes: &Classes,
) -> Option<ClassId> {
    let positive = positive_class(classes);
    let is_positive = decision.is_positive(held_out.log_odds_of(positive))?;
    let class = if is_positive { positive } else { 1 - positive };
    let is_withheld = |doubt| (doubt == Doubt::Header) == (spam == Some(class));
    let Score { known_terms, doubt, .. } = held_out.score;
    (may_judge(spam, known_terms) && !doubt.is_some_and(is_withheld)).then_some(class)
}

/// Scores every document by a model of the other documents (in folds) or of those before it. In folds, only documents
/// that count.
fn hold_out(
    args: &EvaluateArgs,
    options: TrainOptions,
    classes: &Classes,
    mut examples: Vec<EvaluationDocument>,
    unlabelled: &[EvaluationDocument],
) -> Result<Outcomes> {
    let seed = args.scoring.seed.unwrap_or_default();
    let Some(folds) = args.folds else {
        let mut online = Prequential::new(options, classes.iter().map(|(_, label)| label))?;
        let held_out = |example: EvaluationDocument| {
            let EvaluationDocument { label, held, .. } = &example;
            let score = online.next(label, held.view().document().with_vector(&held.vector))?;
            Ok((example.name, score))
        };
        return Ok(Outcomes::One(examples.into_iter().map(held_out).collect::<Result<_>>()?));
    };
    if options.recipe.kind != Kind::Table {
        examples = without_copies(&options, examples)?;
    }
    let own: Vec<_> = examples.iter().map(|example| example.held.view()).collect();
    let others: Vec<_> = unlabelled.iter().map(|example| example.held.view()).collect();
    let [own, others] = [&own, &others].map(|views| views.iter().map(DocumentView::document));
    let (own, others): (Vec<_>, Vec<_>) = (own.collect(), others.collect());
    let labelled = examples.iter().zip(&own).map(|(example, own)| {
        (&*example.label, example.group.as_deref(), own.with_vector(&example.held.vector))
    });
    let labelled: Vec<_> = labelled.collect();
    let others = others.iter().zip(unlabelled).map(|(own, example)| own.with_vector(&example.held.vector));
    let others: Vec<_> = others.collect();
    let names = examples.iter().map(|example| example.name.clone());
    Ok(match options.labels {
        Labels::One => {
            let scores = cross_validate(&options, &labelled, &others, folds.into(), seed)?.1;
            say_together(options.recipe.kind, &scores);
            Outcomes::One(names.zip(scores).collect())
        }
        Labels::Many => {
            let held_out = cross_validate_labels(&options, &labelled, folds.into(), seed)?.1;
            Outcomes::Many(names.zip(held_out).collect())
        }
    })
}

/// Says how many documents were held out together, since they are copies or near-duplicates, or of one group.
fn say_together(kind: Kind, scores: &[HeldOutScore]) {
    let mut groups: Vec<_> = scores.iter().filter_map(|score| score.group).collect();
    groups.sort_unstable();
    let together = || groups.chunk_by(|a, b| a == b).filter(|group| group.len() > 1);
    let (n, groups) = (together().map(<[u64]>::len).sum::<usize>(), together().count());
    if n > 0 {
        let (n, groups) = (counted(n as u64, noun(kind)), counted(groups as u64, "group"));
        note!("{n} alike or of one group were held out together, in {groups}");
    }
}

/// Keeps only the documents that count.
fn without_copies(
    options: &TrainOptions,
    examples: Vec<EvaluationDocument>,
) -> Result<Vec<EvaluationDocument>> {
    let mut of_words = options.clone();
    of_words.refinements.clear();
    let mut trainer = Trainer::new(of_words)?;
    let mut kept = Vec::with_capacity(examples.len());
    for example in examples {
        let before = trainer.n_documents();
        let EvaluationDocument { label, group, held, .. } = &example;
        let added = trainer.add_in_group(label, group.as_deref(), held.view().document());
        added.with_context(|| shown_path(&example.name))?;
        kept.extend((trainer.n_documents() > before).then_some(example));
    }
    say_equal(&trainer, false);
    Ok(kept)
}
