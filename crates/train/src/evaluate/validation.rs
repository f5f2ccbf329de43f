//! Documents scored by models that have not learned them: in folds (cross-validation), or one after the other
//! (prequential evaluation, test-then-train).

use rayon::prelude::*;
use tamis_filter::extract::document::Document;
use tamis_filter::score::filter::Filter;
use tamis_filter::score::verdict::{Score, may_judge};
use tamis_filter::scorers::scratch::Scratch;
use tamis_model::{ClassId, Classes, Example, assign_folds};
use tamis_store::config::labels::unknown_label;
use tamis_store::config::recipe::Keep;
use tamis_store::config::training::{Labels, TrainOptions};
use tamis_store::error::{Error, Reason, Result};
use tamis_store::file::documents::group_number;
use tamis_store::kind::Kind;
use tamis_tokenizer::CountRow;
use tempfile::TempDir;

use crate::train::finish::TrainingSet;
use crate::train::trainer::Trainer;
use crate::update::learner::{LearnOptions, Learner};

/// A held-out score: a document's true class, and its score by a model that has not learned it.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct HeldOutScore {
    /// The true class.
    pub class: ClassId,
    /// The score.
    pub score: Score,
    /// The probability of the true class.
    pub probability: f64,
    /// The group that it was held out with, if it was; what a group says counts once.
    pub group: Option<u64>,
}

impl HeldOutScore {
    /// Creates the held-out score of a document of `class`; `probability` is the probability that the score gave to
    /// `class`.
    pub fn new(class: ClassId, score: Score, probability: f64) -> Self {
        HeldOutScore { class, score, probability, group: None }
    }

    /// Creates the held-out score of a document with this label by a model of the labels `known`. Classes are numbered
    /// as in `all`, which has every label. Among more than two, a model of two is judged by the likelier of them.
    pub fn among(all: &Classes, label: &str, known: &Classes, mut score: Score, probability: f64) -> Self {
        if known.len() == 2 && all.len() > 2 && score.log_odds < 0.0 {
            score.scored_class = 1 - score.scored_class;
            (score.log_odds, score.probability) = (-score.log_odds, 1.0 - score.probability);
        }
        let number = |class| known.label(class).and_then(|label| all.index(label)).unwrap_or_default();
        (score.label, score.scored_class) = (score.label.map(number), number(score.scored_class));
        HeldOutScore::new(all.index(label).unwrap_or_default(), score, probability)
    }

    /// The log-odds of `class`, for two classes, in nats: those of one class are minus those of the other.
    pub fn log_odds_of(&self, class: ClassId) -> f64 {
        if self.score.scored_class == class { self.score.log_odds } else { -self.score.log_odds }
    }
}

/// A group's hash, changed by `seed`; a seed of 0 leaves it as it is.
fn seeded(group: u64, seed: u64) -> u64 {
    group ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Checks that a fold leaves documents of at least two labels to learn from.
fn check_fold(classes: &Classes, is_left: impl Fn(ClassId) -> bool) -> Result<()> {
    let n_left = classes.iter().filter(|(class, _)| is_left(*class)).count();
    match classes.iter().find(|(class, _)| !is_left(*class)) {
        Some((_, label)) if n_left < 2 => Err(Reason::OneFold { label: label.to_owned() }.into()),
        _ => Ok(()),
    }
}

/// Runs k-fold cross-validation with any scoring: for each fold, trains a model on the documents of the other folds and
/// on the unlabelled documents. Returns the labels, and a score for each labelled document, in the order of `labelled`.
///
/// Each document is given with its label and, optionally, the name of its group. Documents of a group stay together,
/// see [`Trainer::add_in_group`]. A document without a group stays with those of the same body. If no group is named at all, it
/// also stays with its near-duplicates. A table row without a group stands alone, since equal rows are separate data.
///
/// `seed` determines how documents are dealt into folds. Where equal documents count once ([`TrainOptions::repeat`]),
/// they are learned once, but each is scored.
///
/// # Errors
/// There are fewer than two labels, a fold leaves documents of one label only, or a model of a fold cannot be trained.
///
/// ```
/// use tamis_train::evaluate::cross_validate;
/// use tamis_train::options::{Column, ColumnKind};
/// use tamis_train::{Document, Kind, TrainOptions};
///
/// let mut options = TrainOptions::new(Kind::Table);
/// options.recipe.columns = vec![Column::new("miles", ColumnKind::Gaussian)];
/// let miles: Vec<_> = (0..40).map(|i| if i % 2 == 0 { 1 + i } else { 100 + i }.to_string()).collect();
/// let rows: Vec<_> = miles.iter().map(|miles| [("miles", miles.as_str())]).collect();
/// let labels = ["walk", "bus"].into_iter().cycle();
/// let labelled: Vec<_> = labels.zip(&rows).map(|(label, row)| (label, None, Document::Fields(row))).collect();
/// let (labels, scores) = cross_validate(&options, &labelled, &[], 5, 0)?;
/// assert_eq!((labels.len(), scores.len()), (2, 40));
/// assert!(scores.iter().all(|held_out| held_out.score.label == Some(held_out.class)));
/// # Ok::<(), tamis_train::Error>(())
/// ```
pub fn cross_validate(
    options: &TrainOptions,
    labelled: &[(&str, Option<&str>, Document<'_>)],
    unlabelled: &[Document<'_>],
    folds: usize,
    seed: u64,
) -> Result<(Classes, Vec<HeldOutScore>)> {
    let classes = Classes::new(labelled.iter().map(|(label, ..)| *label))?;
    let held_out = |filter: &Filter, scratch: &mut Scratch, at: usize| {
        let (label, _, document) = labelled[at];
        // the model of a fold that has all documents of a label does not know that label
        let (score, known) = (filter.score(document, scratch)?, filter.classes());
        let probability = known.index(label).map_or(0.0, |class| scratch.probabilities()[usize::from(class)]);
        let mut held_out = HeldOutScore::among(&classes, label, known, score, probability);
        if known.len() == 2 && classes.len() > 2 {
            // a model of all labels takes the likeliest one, without thresholds
            let score = &mut held_out.score;
            score.label = may_judge(filter.spam(), score.known_terms).then_some(score.scored_class);
        }
        Ok(held_out)
    };
    let scores = score_folds(options, labelled, unlabelled, Folds { n: folds, seed }, held_out)?;
    let with_group = |(score, group)| HeldOutScore { group: Some(group), ..score };
    Ok((classes, scores.into_iter().map(with_group).collect()))
}

/// How documents are dealt into folds.
#[derive(Clone, Copy)]
pub(crate) struct Folds {
    pub(crate) n: usize,
    pub(crate) seed: u64,
}

/// Trains a model for each fold, on the documents of the others, and asks `held_out` of each document of the fold, by
/// its place. Returns the answers in the order of the documents.
pub(crate) fn score_folds<T: Send>(
    options: &TrainOptions,
    labelled: &[(&str, Option<&str>, Document<'_>)],
    unlabelled: &[Document<'_>],
    folds: Folds,
    held_out: impl Fn(&Filter, &mut Scratch, usize) -> Result<T> + Sync,
) -> Result<Vec<(T, u64)>> {
    let classes = Classes::new(labelled.iter().map(|(label, ..)| *label))?;
    Reason::TooFewLabels { expected: 2, got: classes.len() }.unless(classes.len() >= 2)?;
    let groups = numbered(options, labelled)?;
    let with_group = |((label, ..), group): (&(&str, _, _), u64)| Example {
        row: CountRow::default(),
        class: classes.index(label).unwrap_or_default(),
        multiplicity: 1,
        group: seeded(group, folds.seed),
        fraction: 0,
        vector: &[],
    };
    let documents: Vec<_> = labelled.iter().zip(groups.iter().copied()).map(with_group).collect();
    let dealt = assign_folds(&documents, folds.n);
    let of_fold = |fold: &Vec<usize>| -> Result<Vec<T>> {
        let mut trainer = Trainer::new(options.clone())?;
        let others = (0..labelled.len()).filter(|at| fold.binary_search(at).is_err());
        for (label, group, document) in others.map(|at| labelled[at]) {
            trainer.add_in_group(label, group, document)?;
        }
        let is_left = |label| trainer.classes().index(label).is_some();
        check_fold(&classes, |class| classes.label(class).is_some_and(is_left))?;
        unlabelled.iter().try_for_each(|document| trainer.add_unlabelled(*document))?;
        let (filter, mut scratch) = (trainer.finish()?.into_filter()?, Scratch::default());
        fold.iter().map(|at| held_out(&filter, &mut scratch, *at)).collect()
    };
    let scored: Vec<_> = dealt.par_iter().map(of_fold).collect::<Result<_>>()?;
    let mut all: Vec<_> = dealt.into_iter().flatten().zip(scored.into_iter().flatten()).collect();
    all.sort_unstable_by_key(|(document, _)| *document);
    Ok(all.into_iter().map(|(at, held_out)| (held_out, groups[at])).collect())
}

/// The group of each document: a hash of the group's name or, without a name, of the body, near-duplicates together; for a
/// table row without a name, its number.
fn numbered(options: &TrainOptions, labelled: &[(&str, Option<&str>, Document<'_>)]) -> Result<Vec<u64>> {
    if options.recipe.kind == Kind::Table {
        let named = labelled.iter().map(|(_, name, _)| *name);
        let group = |(name, row): (Option<&str>, u64)| name.map_or(row, |name| group_number(Some(name), row));
        return Ok(named.zip(0..).map(group).collect());
    }
    // alike by their words, before it is open which terms there are
    let of_words = TrainOptions { refinements: Vec::new(), keep: Some(Keep::Vectors), ..options.clone() };
    let (mut trainer, mut groups) = (Trainer::new(of_words)?, Vec::with_capacity(labelled.len()));
    for (label, name, document) in labelled {
        trainer.add_in_group(label, *name, *document)?;
        groups.push(group_number(*name, trainer.current.counted.facts.body_hash));
    }
    let TrainingSet { texts, merged, mut documents, .. } = trainer.take_in_order()?;
    if !documents.has_named_groups() {
        let text = |id| Ok(merged.term(&texts, id).1);
        documents.hold_near_duplicates_together(options.recipe.kind, &merged.statistics, text)?;
    }
    Ok(groups.into_iter().map(|group| documents.near_duplicates.group_of(group)).collect())
}

/// Prequential evaluation: scores each document, then learns it, like the ideal user of TREC's spam track, who corrects
/// every mistake at once. A [`Learner`] learns the documents in a temporary file and commits after each, so the
/// evaluation measures what real learning does.
///
/// ```
/// use tamis_train::evaluate::Prequential;
/// use tamis_train::{Document, Kind, TrainOptions};
///
/// let mut online = Prequential::new(TrainOptions::new(Kind::Text), ["ham", "spam"])?;
/// online.next("spam", Document::Text("cheap pills"))?;
/// online.next("ham", Document::Text("lunch at noon"))?;
/// let held_out = online.next("spam", Document::Text("pills for you"))?;
/// assert!(held_out.score.log_odds > 0.0);
/// # Ok::<(), tamis_train::Error>(())
/// ```
pub struct Prequential {
    learner: Learner,
    scratch: Scratch,
    /// The folder of the model, which is deleted when this is dropped.
    _folder: TempDir,
}

impl Prequential {
    /// Starts with an empty filter that has these labels.
    ///
    /// # Errors
    /// As [`Learner::create`]; the system's folder of temporary files cannot be used.
    pub fn new<'a>(mut options: TrainOptions, labels: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let message = "expected one label a document; folds evaluate many";
        Error::ensure_option(options.labels == Labels::One, "labels", message)?;
        let folder = TempDir::new().map_err(|error| Error::io(&std::env::temp_dir())(error))?;
        let keep = options.keep.or(Some(Keep::Vectors));
        (options.refinements, options.keep) = (Vec::new(), keep);
        let path = folder.path().join("model.tamis");
        let learner = Learner::create(&path, options, labels, LearnOptions::default())?;
        Ok(Prequential { learner, scratch: Scratch::default(), _folder: folder })
    }

    /// The labels, in the order of their class ids.
    pub fn classes(&self) -> &Classes {
        self.learner.filter().classes()
    }

    /// Scores a document with what was learned before it, then learns it. A document that is already known is not
    /// learned again; under another label, it moves to that label.
    ///
    /// # Errors
    /// The document is of another kind, the label is unknown, or the file cannot be written.
    pub fn next(&mut self, label: &str, document: Document<'_>) -> Result<HeldOutScore> {
        let class = self.classes().index(label).ok_or_else(|| unknown_label(label, self.classes()))?;
        let score = self.learner.filter().score(document, &mut self.scratch)?;
        let probability = self.scratch.probabilities()[usize::from(class)];
        self.learner.learn(label, document)?;
        self.learner.commit()?;
        Ok(HeldOutScore::new(class, score, probability))
    }
}

#[cfg(test)]
mod tests {
    use tamis_store::config::scoring::{ExpectationMaximization, Scoring};

    use super::*;

    fn texts() -> Vec<(&'static str, String)> {
        let text = |i: usize| match i % 2 {
            0 => ("ham", format!("lunch at noon number {i}")),
            _ => ("spam", format!("cheap pills for you {i}")),
        };
        (0..30).map(text).collect()
    }

    fn validated(scoring: Scoring, unlabelled: &[Document<'_>], seed: u64) -> Vec<HeldOutScore> {
        let texts = texts();
        let labelled: Vec<_> =
            texts.iter().map(|(label, text)| (*label, None, Document::Text(text))).collect();
        let options = TrainOptions { scoring: Some(scoring), ..TrainOptions::new(Kind::Text) };
        cross_validate(&options, &labelled, unlabelled, 5, seed).unwrap().1
    }

    #[test]
    fn what_is_scored_was_not_learned() {
        let mut texts: Vec<_> = (0..40)
            .map(|i| match i % 2 {
                0 => ("food", format!("lunch for you number {i}")),
                _ => ("health", format!("pills for you number {i}")),
            })
            .collect();
        // its informative words occur in no other document, so the shares decide
        texts.extend([("food", "lunch again".to_owned()), ("health", "zebra quagga".to_owned())]);
        let labelled: Vec<_> =
            texts.iter().map(|(label, text)| (*label, None, Document::Text(text))).collect();
        let held_out = cross_validate(&TrainOptions::new(Kind::Text), &labelled, &[], 5, 0).unwrap().1;
        assert_eq!(held_out.len(), 42);
        assert!(held_out[..40].iter().all(|h| h.score.label == Some(h.class)));
        assert_eq!((held_out[41].score.label, held_out[41].score.known_terms), (Some(0), 0));
    }

    #[test]
    fn a_fold_that_leaves_one_label_is_refused() {
        for scoring in [None, Some(Scoring::NaiveBayes(Scoring::parameters()))] {
            for texts in [["pears", "iron"], ["", ""]] {
                let options = TrainOptions { scoring: scoring.clone(), ..TrainOptions::new(Kind::Text) };
                let labelled =
                    [("fruit", None, Document::Text(texts[0])), ("metal", None, Document::Text(texts[1]))];
                let error = cross_validate(&options, &labelled, &[], 2, 0).err().unwrap();
                assert!(matches!(error.reason(), Reason::OneFold { .. }), "{texts:?}: {error}");
            }
        }
    }

    #[test]
    fn documents_without_labels_teach_too() {
        let scoring = || Scoring::ExpectationMaximization(ExpectationMaximization::for_documents(31));
        let unlabelled = Document::Text("cheap pills at noon");
        let (with, without) = (validated(scoring(), &[unlabelled], 0), validated(scoring(), &[], 0));
        assert_eq!((with.len(), without.len()), (30, 30));
        assert!(with.iter().all(|held_out| held_out.score.label == Some(held_out.class)));
        assert_ne!(with, without);
    }

    #[test]
    fn a_label_all_of_whose_rows_are_in_one_fold_is_missed() {
        let mut texts = texts();
        texts.push(("eggs", "an egg".into()));
        let labelled: Vec<_> =
            texts.iter().map(|(label, text)| (*label, None, Document::Text(text))).collect();
        let options = TrainOptions {
            scoring: Some(Scoring::NaiveBayes(Scoring::parameters())),
            ..TrainOptions::new(Kind::Text)
        };
        let (classes, scores) = cross_validate(&options, &labelled, &[], 5, 0).unwrap();
        assert_eq!((classes.len(), classes.label(scores[30].class)), (3, Some("eggs")));
        assert!(scores[30].score.label != Some(scores[30].class));
        assert!(scores.iter().all(|held_out| held_out.probability.is_finite()));
    }

    #[test]
    fn a_fold_without_a_rare_label_is_judged_as_the_others() {
        let texts = (0..60).map(|i| match i {
            0 => ("eggs", "an egg".to_owned()),
            i if i % 2 == 0 => ("ham", format!("lunch at noon {i}")),
            i => ("spam", format!("pills at noon {i}")),
        });
        let texts: Vec<_> = texts.collect();
        let labelled: Vec<_> =
            texts.iter().map(|(label, text)| (*label, None, Document::Text(text))).collect();
        let (_, scores) = cross_validate(&TrainOptions::new(Kind::Text), &labelled, &[], 5, 0).unwrap();
        // a spam filter would be unsure of the ham and spam beside the egg
        for HeldOutScore { class, score, .. } in &scores[1..] {
            assert_eq!((score.label, score.scored_class), (Some(*class), *class));
            assert!(score.log_odds > 0.0 && score.probability > 0.5);
        }
    }

    #[test]
    fn online_learning_starts_from_nothing() {
        let mut online = Prequential::new(TrainOptions::new(Kind::Text), ["spam", "ham"]).unwrap();
        let first = online.next("spam", Document::Text("pills")).unwrap();
        assert_eq!((first.score.label, first.class), (None, 1));
        for i in 0..5 {
            online.next("ham", Document::Text(&format!("lunch at noon {i}"))).unwrap();
            online.next("spam", Document::Text(&format!("cheap pills {i}"))).unwrap();
        }
        assert_eq!(online.next("ham", Document::Text("lunch")).unwrap().score.label, Some(0));
        assert!(online.next("eggs", Document::Text("lunch")).is_err());
    }

    #[test]
    fn what_is_scored_is_what_a_learner_learned() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.tamis");
        let labels = ["a", "b", "c"];
        let options = TrainOptions::new(Kind::Text);
        let mut online = Prequential::new(options.clone(), labels).unwrap();
        let mut learner = Learner::create(&path, options, labels, LearnOptions::default()).unwrap();
        for i in 0..60 {
            let (label, text) = (labels[i % 3], format!("w{} w{} v{}", i % 3, i % 7, i % 20));
            let expected = learner.score(Document::Text(&text)).unwrap();
            assert_eq!(online.next(label, Document::Text(&text)).unwrap().score, expected);
            learner.learn(label, Document::Text(&text)).unwrap();
            learner.commit().unwrap();
        }
    }
}
