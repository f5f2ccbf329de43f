//! Self-training: a teacher labels the unlabelled documents, which are then learned like the others, if held-out
//! labelled documents are predicted better that way.

use std::convert::Infallible;

use tamis_model::{
    Beside, Choices, ClassId, Classes, Columns, CorrectedStatistics, Correction, Counts, Documents, Example,
    LEAST_BELIEF, Prediction, Readings, SmoothingChoice, Statistics, WeightedLogOdds, WeightedLoss,
    WeightedOptions, WeightedVector, assign_folds, is_worse, log_sum_exp,
};
use tamis_store::config::labels::{columns_of, positive_class};
use tamis_store::config::scoring::{ExpectationMaximization, Teacher, TriedTeacher, Unlabelled};
use tamis_store::error::Result;
use tamis_tokenizer::CountRow;

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

/// Number of folds of labelled documents.
const FOLDS: usize = 5;
/// Least number of labelled documents per label, on average and for at least two of the labels.
const ENOUGH: usize = 5;
/// The teachers to try.
const TEACHERS: [Teacher; 2] = [Teacher::LabelsAlone, Teacher::ExpectationMaximization];

impl SelfTraining<'_> {
    /// Tries every teacher in cross-validation over the labelled documents. A teacher is chosen if its student predicts
    /// them better than the labels alone, by more than one standard error of the mean difference.
    ///
    /// With fewer than five documents per label, nothing can be held out. Then expectation maximization teaches, since
    /// it separates labels that a few documents do not tell apart, and the student gets little weight.
    pub(crate) fn choose(&self) -> Result<PseudoLabels> {
        let documents = self.unlabelled.iter().map(|d| u64::from(d.multiplicity)).sum();
        let record = Unlabelled { documents, teacher: None, tried: Vec::new() };
        let mut taught = PseudoLabels { record, labels: Vec::new(), held_out: Vec::new() };
        if !self.can_choose() {
            if !self.unlabelled.is_empty() && self.labelled.len() < ENOUGH * self.classes.len() {
                taught.record.teacher = Some(Teacher::ExpectationMaximization);
                taught.labels = self.labels_by_em(&self.labelled)?;
            }
            return Ok(taught);
        }
        let folds = assign_folds(&self.labelled, FOLDS);
        let alone = self.cross_fit(&folds, None)?;
        let losses = alone.losses(1.0);
        let tried = |teacher, loss| TriedTeacher { teacher, loss };
        taught.record.tried.push(tried(None, mean(&losses)));
        // being less sure alone does not make a student better
        let mut least = mean(&alone.losses(alone.slope()));
        for teacher in TEACHERS {
            let student = self.cross_fit(&folds, Some(teacher))?;
            let of_student = student.losses(student.slope());
            let loss = mean(&of_student);
            taught.record.tried.push(tried(Some(teacher), loss));
            if loss < least && is_worse(&losses, &of_student) {
                least = loss;
                taught.record.teacher = Some(teacher);
                taught.held_out = student.held_out;
            }
        }
        if let Some(teacher) = taught.record.teacher {
            taught.labels = self.labels(teacher, &self.labelled)?;
        }
        Ok(taught)
    }

    /// Whether there are enough labelled documents for cross-validation.
    fn can_choose(&self) -> bool {
        let of = |class| self.labelled.iter().filter(|d| d.class == class).count();
        let frequent = self.classes.iter().filter(|(class, _)| of(*class) >= ENOUGH).count();
        frequent >= 2 && self.labelled.len() >= ENOUGH * self.classes.len() && !self.unlabelled.is_empty()
    }

    /// Scores the documents of each fold with a model of the other folds and, if there is a teacher, of the unlabelled
    /// documents.
    fn cross_fit(&self, folds: &[Vec<usize>], teacher: Option<Teacher>) -> Result<HeldOutScores> {
        let mut scores = HeldOutScores::default();
        for fold in folds {
            let others = (0..self.labelled.len()).filter(|at| fold.binary_search(at).is_err());
            let mut documents: Vec<_> = others.map(|at| self.labelled[at]).collect();
            if let Some(teacher) = teacher {
                let labels = self.labels(teacher, &documents)?;
                let labelled = labels.into_iter().zip(&self.unlabelled);
                documents.extend(labelled.map(|(class, document)| Example { class, ..*document }));
            }
            let model = Classifier::fit(self, &documents)?;
            for &at in fold {
                // a class that occurs only in this fold cannot be predicted
                let Example { class, multiplicity, row, .. } = self.labelled[at];
                if model.counts.totals()[usize::from(class)].documents > 0 {
                    let (held_out, z) = model.score(at, row, f64::from(multiplicity));
                    scores.held_out.push(held_out);
                    scores.log_odds.push((class, z));
                }
            }
        }
        Ok(scores)
    }

    /// Labels the unlabelled documents with a teacher that learned `labelled`.
    fn labels(&self, teacher: Teacher, labelled: &Vec<Example<'_>>) -> Result<Vec<ClassId>> {
        match teacher {
            Teacher::LabelsAlone => {
                let model = Classifier::fit(self, labelled)?;
                Ok(self.unlabelled.iter().map(|d| likeliest(&model.score(0, d.row, 0.0).1)).collect())
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
        let ExpectationMaximization { options, transform } =
            ExpectationMaximization::for_documents(documents);
        let df = |term| Ok(counts.document_frequency(term));
        let weigh = |d: &Example<'_>| {
            let mut weights = WeightedVector::default();
            let Ok::<(), Infallible>(()) = transform.apply(d.row, documents, df, &mut weights);
            weights
        };
        let rows: Vec<_> = all().map(weigh).collect();
        let (of_labelled, of_unlabelled) = rows.split_at(labelled.len());
        let copies =
            |(d, weights): (&Example<'_>, &WeightedVector)| (d.class, weights.clone(), d.multiplicity);
        let labelled: Vec<_> = labelled.iter().zip(of_labelled).map(copies).collect();
        let labelled: Vec<_> = labelled
            .iter()
            .flat_map(|(class, weights, n)| std::iter::repeat_n((*class, weights.row()), *n as usize))
            .collect();
        let unlabelled: Vec<_> = of_unlabelled.iter().map(WeightedVector::row).collect();
        let em = options.fit(self.classes.len(), &labelled, &unlabelled)?;
        let best = |posterior: &Vec<(ClassId, f64)>| {
            posterior.iter().fold((0, 0.0), |best, it| if it.1 > best.1 { *it } else { best }).0
        };
        Ok(em.posteriors.iter().map(best).collect())
    }
}

impl PseudoLabels {
    /// Calibrates a fit to all documents, in which the unlabelled ones have the teacher's labels. The held-out scores
    /// of the labelled documents replace the fit's own.
    pub(crate) fn calibrate(
        &self,
        fitted: tamis_model::WeightedFit,
        documents: &dyn Documents,
        classes: &Classes,
    ) -> Result<tamis_model::WeightedFit> {
        if self.held_out.is_empty() {
            let stack = fitted.choices.stack.map(|q| LEAST_BELIEF * q);
            let choices = Choices { stack, ..fitted.choices };
            return Ok(tamis_model::WeightedFit { choices, held_out: Vec::new(), parts: None, ..fitted });
        }
        let (columns, positive) = (columns_of(classes)?, positive_class(classes));
        let z =
            |held: &Prediction| of_classes(held.log_odds(&fitted.choices, &fitted.prior), &columns, positive);
        let log_odds = self.held_out.iter().map(|held| (documents.label(held.document).class, z(held)));
        let slope = HeldOutScores { log_odds: log_odds.collect(), held_out: self.held_out.clone() }.slope();
        let choices = Choices { stack: fitted.choices.stack.map(|q| slope * q), ..fitted.choices };
        Ok(tamis_model::WeightedFit { choices, held_out: self.held_out.clone(), ..fitted })
    }
}

/// Weighted scoring fitted to some documents.
struct Classifier {
    counts: Statistics,
    correction: Correction,
    scorer: WeightedLogOdds,
    /// Scores with the correction alone.
    corrector: WeightedLogOdds,
    columns: Columns,
    positive: ClassId,
}

impl Classifier {
    fn fit(of: &SelfTraining<'_>, documents: &Vec<Example<'_>>) -> Result<Classifier> {
        let columns = columns_of(of.classes)?;
        let mut counts = Statistics::new(of.classes.len());
        documents.iter().try_for_each(|d| counts.observe_times(d.class, d.row, d.multiplicity))?;
        let smoothing = SmoothingChoice::new(&counts, documents, &columns, of.options);
        let fitted =
            solution::weights(of.options, smoothing, &counts, Beside::default(), documents, of.classes)?;
        let tamis_model::WeightedFit { choices, correction, .. } = fitted;
        let positive = positive_class(of.classes);
        let scorer = |stack| {
            let choices = Choices { stack, ..choices };
            let n_features = counts.n_features() as u64;
            WeightedLogOdds::new(&choices, correction.bias(), counts.totals(), n_features, &columns)
        };
        let (scorer, corrector) = (scorer(choices.stack)?, scorer([0.0, 1.0, 0.0, 0.0, 0.0])?);
        Ok(Classifier { counts, correction, scorer, corrector, columns, positive })
    }

    /// Scores a document, given its number and weight. Also returns the log-odds of each class.
    fn score(&self, document: usize, row: CountRow<'_>, weight: f64) -> (Prediction, Vec<f64>) {
        let mut terms = CorrectedStatistics::new(&self.counts, Some(&self.correction));
        let (mut readings, mut bayes, mut correction, mut z) =
            <(Readings, Vec<f64>, Vec<f64>, Vec<f64>)>::default();
        let Ok(()) = self.scorer.read(&mut terms, row, &mut readings);
        self.scorer.bayes(&readings, &mut bayes);
        self.corrector.log_odds(&readings, &mut correction);
        self.scorer.log_odds(&readings, &mut z);
        let known_terms = readings.known_terms;
        let held_out =
            Prediction { document, weight, known_terms, bayes, correction, ..Prediction::default() };
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

fn likeliest(z: &[f64]) -> ClassId {
    let best = |best: usize, class: usize| if z[class] > z[best] { class } else { best };
    (1..z.len()).fold(0, best) as ClassId
}

/// Scores of held-out documents.
#[derive(Default)]
struct HeldOutScores {
    held_out: Vec<Prediction>,
    /// The class of each, and the log-odds of every class.
    log_odds: Vec<(ClassId, Vec<f64>)>,
}

impl HeldOutScores {
    /// The log losses when log-odds are multiplied by `slope`.
    fn losses(&self, slope: f64) -> Vec<WeightedLoss> {
        let loss = |(held, (class, z)): (&Prediction, &(ClassId, Vec<f64>))| {
            let z: Vec<f64> = z.iter().map(|z| slope * z).collect();
            WeightedLoss { loss: log_sum_exp(&z) - z[usize::from(*class)], weight: held.weight }
        };
        self.held_out.iter().zip(&self.log_odds).map(loss).collect()
    }

    /// The slope with the least log loss, at most 1, since a student trusts its teacher's labels too much.
    fn slope(&self) -> f64 {
        // the loss is convex in the slope
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let third = (high - low) / 3.0;
            let [left, right] = [low + third, high - third].map(|slope| mean(&self.losses(slope)));
            if left < right { high -= third } else { low += third }
        }
        if mean(&self.losses(1.0)) <= mean(&self.losses(low)) { 1.0 } else { low }
    }
}

fn mean(losses: &[WeightedLoss]) -> f64 {
    let all: f64 = losses.iter().map(|of| of.weight).sum();
    losses.iter().map(|of| of.loss * of.weight).sum::<f64>() / all
}
