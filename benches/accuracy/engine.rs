//! All that this bench asks of the engine.

use tamis_train::options::WeightedOptions;
use tamis_train::{Filter, Kind, Model, Recipe, Score, Scoring, Scratch, TrainOptions, Trainer};

use crate::answers::Answers;
use crate::corpora::{Corpus, Labelled};
use crate::report::Report;

/// The defaults, with a change to how documents become terms.
pub fn options(kind: Kind, change: impl Fn(&mut Recipe)) -> TrainOptions {
    let mut options = TrainOptions::new(kind);
    change(&mut options.recipe);
    options
}

/// The defaults without the correction.
pub fn counts_alone(kind: Kind) -> TrainOptions {
    let mut weighted = WeightedOptions::default();
    weighted.correction = false;
    let mut options = TrainOptions::new(kind);
    options.scoring = Some(Scoring::Weighted(weighted));
    options
}

pub fn counted<'a>(options: TrainOptions, documents: impl IntoIterator<Item = &'a Labelled>) -> Trainer {
    let kind = options.recipe.kind;
    let mut trainer = Trainer::new(options).unwrap();
    documents.into_iter().for_each(|d| trainer.add(&d.label, d.document(kind)).unwrap());
    trainer
}

pub fn train<'a>(options: TrainOptions, documents: impl IntoIterator<Item = &'a Labelled>) -> Model {
    counted(options, documents).finish().unwrap()
}

/// Learns the one part, scores the other, and adds a row.
pub fn evaluate(report: &mut Report, row: &str, corpus: &Corpus, options: TrainOptions) -> Filter {
    let before = cpu_seconds();
    let model = train(options, &corpus.train);
    let seconds = cpu_seconds().zip(before).map(|(after, before)| after - before);
    let filter = model.into_filter().unwrap();
    report.row(row, &answers(&filter, corpus.kind, &corpus.test), seconds);
    filter
}

pub fn answers(filter: &Filter, kind: Kind, documents: &[Labelled]) -> Answers {
    let mut scratch = Scratch::default();
    let truth = |d: &Labelled| usize::from(filter.classes().index(&d.label).unwrap());
    if filter.classes().len() == 2 {
        let score =
            |d| (of_second(&filter.score(Labelled::document(d, kind), &mut scratch).unwrap()), truth(d) == 1);
        return Answers::Two(documents.iter().map(score).collect());
    }
    let score = |d| {
        filter.score(Labelled::document(d, kind), &mut scratch).unwrap();
        (scratch.probabilities().to_vec(), truth(d))
    };
    Answers::Many(documents.iter().map(score).collect())
}

/// The log-odds of the second of two classes, which is spam in a spam filter.
pub fn of_second(score: &Score) -> f64 {
    if score.scored_class == 1 { score.log_odds } else { -score.log_odds }
}

/// The label that the filter says of each document, or "unsure".
pub fn labels(filter: &Filter, kind: Kind, documents: &[Labelled]) -> Vec<String> {
    let mut scratch = Scratch::default();
    let score = |d| filter.score(Labelled::document(d, kind), &mut scratch).unwrap();
    documents.iter().map(score).map(|score| filter.label_of(&score).to_owned()).collect()
}

/// Processor seconds of this process, all threads together, in hundredths; where the system tells (Linux).
pub fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    // user and system time are fields 14 and 15; the name is field 2
    let ticks = after_name.split_whitespace().skip(11).take(2).map(|field| field.parse::<f64>());
    Some(ticks.sum::<Result<f64, _>>().ok()? / 100.0)
}
