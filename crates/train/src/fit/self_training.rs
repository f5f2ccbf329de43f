//! Self-training: a teacher labels the unlabelled documents, which are then learned like the others, if held-out
//! labelled documents are predicted better that way.

use std::convert::Infallible;

use tamis_model::{
    Beside, Choices, ClassId, Classes, Columns, CorrectedStatistics, Correction, Counts, Example, FitProblem,
    Prediction, Readings, SmoothingChoice, Statistics, VectorDiscriminant, VectorStatistics, WeightedLogOdds,
    WeightedLoss, WeightedOptions, WeightedVector, argmax, assign_folds, is_worse_by, log_sum_exp,
};
use tamis_store::config::labels::{columns_of, positive_class};
use tamis_store::config::scoring::{ExpectationMaximization, Teacher, TriedTeacher, Unlabelled};
use tamis_store::error::Result;

use crate::fit::solution;

/// Labelled and unlabelled documents, each in a reproducible order.
pub(crate) struct SelfTraining<'a> {
    pub(crate) options: &'a WeightedOptions,
    pub(crate) classes: &'a Classes,
    pub(crate) labelled: Vec<Example<'a>>,
    /// Their classes mean nothing.
    pub(crate) unlabelled: Vec<Example<'a>>,
}

/// The outcome on held-out documents.
pub(crate) struct PseudoLabels {
    pub(crate) record: Unlabelled,
    /// The class of each unlabelled document; empty if the labels alone predict better.
    pub(crate) labels: Vec<ClassId>,
    /// Scores of the labelled documents, each by a model that learned the unlabelled ones but not this document.
    pub(crate) held_out: Vec<Prediction>,
}

/// The largest number of folds of labelled documents. There are no more than documents of the rarest label, so that each
/// fold holds out as many of all labels: a label with fewer documents left would be known by that.
const FOLDS: usize = 4;
/// The least gain of a student over the labels alone, in nats for all held-out documents.
const LEAST_GAIN: f64 = 2.0;
/// The teachers to try.
const TEACHERS: [Teacher; 2] = [Teacher::LabelsAlone, Teacher::ExpectationMaximization];

impl SelfTraining<'_> {
    /// Tries every teacher in cross-validation over the labelled documents. A teacher is chosen if its student predicts
    /// them better than the labels alone, by more than 2 nats in all and one standard error of the mean difference; beyond
    /// 6 nats, by two thirds of one.
    ///
    /// If labels have a single document each, nothing can be held out. Then expectation maximization teaches, since
    /// it separates labels that a few documents do not tell apart, and the student gets little weight.
    pub(crate) fn choose(&self) -> Result<PseudoLabels> {
        let documents = self.unlabelled.iter().map(|d| u64::from(d.multiplicity)).sum();
        let record = Unlabelled { documents, teacher: None, tried: Vec::new() };
        let mut taught = PseudoLabels { record, labels: Vec::new(), held_out: Vec::new() };
        if self.unlabelled.is_empty() {
            return Ok(taught);
        }
        let of = |class| self.labelled.iter().filter(|d| d.class == class).count();
        let fewest = self.classes.iter().map(|(class, _)| of(class)).filter(|n| *n > 1).min();
        let folds = assign_folds(&self.labelled, fewest.unwrap_or(2).min(FOLDS));
        let alone = self.smoothing(&self.labelled)?;
        let held_out = self.cross_fit(&folds, &alone, None)?;
        let (choices, losses) = self.stacked(&alone, &held_out)?;
        let tried = |teacher, losses: &[WeightedLoss]| TriedTeacher { teacher, loss: mean(losses) };
        if losses.is_empty() {
            taught.record.teacher = Some(Teacher::ExpectationMaximization);
        } else {
            taught.record.tried.push(tried(None, &losses));
        }
        let all: f64 = losses.iter().map(|of| of.weight).sum();
        let (mut least, mut smoothing) = (mean(&losses), None);
        for teacher in TEACHERS.into_iter().filter(|_| !losses.is_empty()) {
            // that of one student suits the other
            let smoothing = match &smoothing {
                Some(smoothing) => smoothing,
                None => {
                    let labels = self.labels(teacher, &alone, choices, &self.labelled)?;
                    smoothing.insert(self.smoothing(&self.with_labels(self.labelled.clone(), labels))?)
                }
            };
            let held_out = self.cross_fit(&folds, smoothing, Some((teacher, &alone, choices)))?;
            let (_, of_student) = self.stacked(smoothing, &held_out)?;
            taught.record.tried.push(tried(Some(teacher), &of_student));
            let gain = all * (mean(&losses) - mean(&of_student));
            let errors = if gain > 3.0 * LEAST_GAIN { 2.0 / 3.0 } else { 1.0 };
            if mean(&of_student) < least && gain > LEAST_GAIN && is_worse_by(errors, &losses, &of_student) {
                least = mean(&of_student);
                (taught.record.teacher, taught.held_out) = (Some(teacher), held_out);
            }
        }
        if let Some(teacher) = taught.record.teacher {
            taught.labels = self.labels(teacher, &alone, choices, &self.labelled)?;
        }
        Ok(taught)
    }

    /// Appends the unlabelled documents, with labels.
    fn with_labels<'d>(&'d self, mut documents: Vec<Example<'d>>, labels: Vec<ClassId>) -> Vec<Example<'d>> {
        let labelled = labels.into_iter().zip(&self.unlabelled);
        documents.extend(labelled.map(|(class, document)| Example { class, ..*document }));
        documents
    }

    fn smoothing(&self, documents: &Vec<Example<'_>>) -> Result<SmoothingChoice> {
        solution::smoothing(self.options, &counted(self.classes, documents)?.0, documents, self.classes)
    }

    /// Scores the documents of each fold with a model of the other folds and, if there is a teacher, of the unlabelled
    /// documents.
    fn cross_fit(
        &self,
        folds: &[Vec<usize>],
        smoothing: &SmoothingChoice,
        teacher: Option<(Teacher, &SmoothingChoice, Choices)>,
    ) -> Result<Vec<Prediction>> {
        let mut scores = Vec::new();
        for fold in folds {
            let others = (0..self.labelled.len()).filter(|at| fold.binary_search(at).is_err());
            let mut documents: Vec<_> = others.map(|at| self.labelled[at]).collect();
            // a class that occurs only in this fold cannot be predicted
            let is_known = |at: &&usize| documents.iter().any(|d| d.class == self.labelled[**at].class);
            let known: Vec<usize> = fold.iter().filter(is_known).copied().collect();
            if known.is_empty() || documents.iter().all(|d| d.class == documents[0].class) {
                continue;
            }
            if let Some((teacher, alone, choices)) = teacher {
                let labels = self.labels(teacher, alone, choices, &documents)?;
                documents = self.with_labels(documents, labels);
            }
            let model = Classifier::fit(self, smoothing, None, &documents)?;
            let score = |at: usize| model.score(at, &self.labelled[at]).0;
            scores.extend(known.into_iter().map(score));
        }
        scores.sort_unstable_by_key(|held| held.document);
        Ok(scores)
    }

    /// The choices that suit the scores of held-out labelled documents, and the log losses with them.
    fn stacked(
        &self,
        smoothing: &SmoothingChoice,
        held_out: &[Prediction],
    ) -> Result<(Choices, Vec<WeightedLoss>)> {
        let ((counts, vectors), columns) =
            (counted(self.classes, &self.labelled)?, columns_of(self.classes)?);
        let problem = FitProblem {
            counts: &counts,
            documents: &self.labelled,
            columns: columns.clone(),
            beside: Beside { columns: None, vectors: vectors.as_ref() },
            options: self.options,
        };
        let (choices, prior) = problem.stack_for(smoothing, held_out);
        let loss = |held: &Prediction| {
            let z = of_classes(held.log_odds(&choices, &prior), &columns, positive_class(self.classes));
            let class = self.labelled[held.document].class;
            WeightedLoss { loss: log_sum_exp(&z) - z[usize::from(class)], weight: held.weight }
        };
        let losses = held_out.iter().map(loss).collect();
        Ok((choices, losses))
    }

    /// Labels the unlabelled documents with a teacher that learned `labelled`; `alone` and `choices` suit labels alone.
    fn labels(
        &self,
        teacher: Teacher,
        alone: &SmoothingChoice,
        choices: Choices,
        labelled: &Vec<Example<'_>>,
    ) -> Result<Vec<ClassId>> {
        match teacher {
            Teacher::LabelsAlone => {
                let model = Classifier::fit(self, alone, Some(choices), labelled)?;
                Ok(self.unlabelled.iter().map(|d| argmax(&model.score(0, d).1)).collect())
            }
            Teacher::ExpectationMaximization => self.labels_by_em(labelled),
        }
    }

    /// The likeliest classes by expectation maximization, with its default options.
    fn labels_by_em(&self, labelled: &[Example<'_>]) -> Result<Vec<ClassId>> {
        let all = || labelled.iter().chain(&self.unlabelled);
        let mut counts = Statistics::new(1);
        all().try_for_each(|d| counts.observe_times(0, d.row, d.multiplicity))?;
        let documents = counts.totals()[0].documents;
        let ExpectationMaximization { mut options, transform } =
            ExpectationMaximization::for_documents(documents);
        let df = |term| Ok(counts.document_frequency(term));
        let weigh = |d: &Example<'_>| {
            let mut weights = WeightedVector::default();
            let Ok::<(), Infallible>(()) = transform.apply(d.row, documents, df, &mut weights);
            weights
        };
        let rows: Vec<_> = all().map(weigh).collect();
        let (of_labelled, of_unlabelled) = rows.split_at(labelled.len());
        let labelled = labelled.iter().zip(of_labelled);
        let labelled: Vec<_> = labelled
            .flat_map(|(d, weights)| std::iter::repeat_n((d.class, weights.row()), d.multiplicity as usize))
            .collect();
        let unlabelled: Vec<_> = of_unlabelled.iter().map(WeightedVector::row).collect();
        // the likeliest classes hardly change later
        options.max_iterations = 3;
        let em = options.fit(self.classes.len(), &labelled, &unlabelled)?;
        let best = |posterior: &Vec<(ClassId, f64)>| {
            posterior.iter().fold((0, 0.0), |best, it| if it.1 > best.1 { *it } else { best }).0
        };
        Ok(em.posteriors.iter().map(best).collect())
    }
}

/// Weighted scoring fitted to some documents.
struct Classifier {
    counts: Statistics,
    correction: Correction,
    scorer: WeightedLogOdds,
    /// Scores with the correction alone.
    corrector: WeightedLogOdds,
    /// That of dense vectors, if there are any.
    discriminant: Option<VectorDiscriminant>,
    columns: Columns,
    positive: ClassId,
}

impl Classifier {
    /// Fits to all documents. Without `choices`, those that suit held-out documents are not known yet.
    fn fit(
        of: &SelfTraining<'_>,
        smoothing: &SmoothingChoice,
        choices: Option<Choices>,
        documents: &Vec<Example<'_>>,
    ) -> Result<Classifier> {
        let (columns, (counts, vectors)) = (columns_of(of.classes)?, counted(of.classes, documents)?);
        let problem = FitProblem {
            counts: &counts,
            documents,
            columns: columns.clone(),
            beside: Beside { columns: None, vectors: vectors.as_ref() },
            options: of.options,
        };
        let fitted = problem.solve_by(smoothing.clone(), Vec::new()).map_err(solution::refused)?;
        let (choices, correction) = (choices.unwrap_or(fitted.choices), fitted.correction);
        let positive = positive_class(of.classes);
        let scorer = |stack| {
            let choices = Choices { stack, ..choices };
            let n_features = counts.n_features() as u64;
            WeightedLogOdds::new(&choices, correction.bias(), counts.totals(), n_features, &columns)
        };
        let (scorer, corrector) = (scorer(choices.stack)?, scorer([0.0, 1.0, 0.0, 0.0, 0.0])?);
        let derive = |vectors| VectorDiscriminant::derive(vectors, &columns, choices.strength);
        let discriminant = vectors.as_ref().map(derive).transpose()?;
        Ok(Classifier { counts, correction, scorer, corrector, discriminant, columns, positive })
    }

    /// Scores a document, given its number. Also returns the log-odds of each class.
    fn score(&self, document: usize, of: &Example<'_>) -> (Prediction, Vec<f64>) {
        let mut terms = CorrectedStatistics::new(&self.counts, Some(&self.correction));
        let (mut readings, mut bayes, mut correction, mut z) =
            <(Readings, Vec<f64>, Vec<f64>, Vec<f64>)>::default();
        let Ok(()) = self.scorer.read(&mut terms, of.row, &mut readings);
        if let Some(discriminant) = self.discriminant.as_ref().filter(|_| !of.vector.is_empty()) {
            // the trainer has accepted the vector
            let _ = discriminant.scores(of.vector, &mut readings.beside[1]);
        }
        self.scorer.bayes(&readings, &mut bayes);
        self.corrector.log_odds(&readings, &mut correction);
        self.scorer.log_odds(&readings, &mut z);
        let (weight, Readings { known_terms, beside, .. }) = (of.multiplicity.into(), readings);
        let (windows, seen) = (Vec::new(), None);
        let held_out = Prediction { document, weight, known_terms, bayes, correction, beside, windows, seen };
        (held_out, of_classes(z, &self.columns, self.positive))
    }
}

/// Turns the log-odds of the columns into log-odds of each class, up to a constant.
fn of_classes(z: Vec<f64>, columns: &Columns, positive: ClassId) -> Vec<f64> {
    match (columns.is_one(), z.first()) {
        (true, Some(z)) => (0..2).map(|class| if class == positive { *z } else { 0.0 }).collect(),
        _ => z,
    }
}

/// The counts of documents, and the statistics of their dense vectors, if they have any.
fn counted(classes: &Classes, documents: &[Example<'_>]) -> Result<(Statistics, Option<VectorStatistics>)> {
    let mut counts = Statistics::new(classes.len());
    documents.iter().try_for_each(|d| counts.observe_times(d.class, d.row, d.multiplicity))?;
    let mut vectors: Option<VectorStatistics> = None;
    for d in documents.iter().filter(|d| !d.vector.is_empty()) {
        let sums = match &mut vectors {
            Some(sums) => sums,
            none => none.insert(VectorStatistics::new(classes.len(), d.vector.len())?),
        };
        sums.observe_times(d.class, d.vector, d.multiplicity)?;
    }
    Ok((counts, vectors))
}

fn mean(losses: &[WeightedLoss]) -> f64 {
    let all: f64 = losses.iter().map(|of| of.weight).sum();
    losses.iter().map(|of| of.loss * of.weight).sum::<f64>() / all
}
