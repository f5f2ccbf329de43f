//! The lead of a distributed fit. It holds the counts of all documents and a sample of the documents.

use tamis_model::{
    Choices, Coefficients, Correction, Counts, ROUNDS, SmoothingChoice, WeightedFit, is_sampled,
};
use tamis_store::config::labels::check_labels;
use tamis_store::config::recipe::Keep;
use tamis_store::disk::spool::Spool;
use tamis_store::error::{Error, Reason, Result};

use super::messages::{self, MessageHeader, PlanHeader, WeightsChange, WeightsHeader};
use super::plan::{FitPlan, HELD_OUT_ROUNDS, add};
use crate::distributed::partial::Partial;
use crate::fit::calibration::Thresholds;
use crate::fit::scoring::conclude;
use crate::fit::solution;
use crate::gather::collection::Collection;
use crate::model::Model;
use crate::train::finish::{TrainingSet, settle_scoring, write_model};
use crate::train::trainer::Trainer;

/// Number of documents in the sample that the lead makes its choices with.
const SAMPLE: f64 = 20_000.0;
/// Share of the documents that is held out, at most the size of the sample.
const HELD_OUT: f64 = 0.1;
/// Rounds end when the largest change of a document's error, times the number of partitions, is below this.
const TOLERANCE: f64 = 0.02;

/// Fits more documents than one machine can hold. The documents stay where they are, in partitions.
///
/// Partitions count their documents as usual. The lead needs two things from each partition: its
/// [counts](Partial::without_documents), and a [sample](Partial::sample) of its documents with the share
/// [`sample_share`](Self::sample_share). Merged, these create the lead. Its [plan](Self::plan) goes to every partition
/// once. Then rounds follow: each sends the [correction](Self::correction) to every partition, where [`FitPlan::round`]
/// computes a change. All changes come back, [merged](FitPlan::merge) or one by one. After at most 10 rounds the lead
/// [is done](Self::is_done).
///
/// Counts are exact. Smoothing is chosen on the sample. A tenth of the documents, at most the sample, is held out of
/// the first five rounds; the lead uses them to choose the weights of counts and correction, and the thresholds. In
/// later rounds they take part like a partition. The same partitions give the same bytes. Other partitions give about
/// the same scores. The more partitions there are, the further the scores are from those of a single machine. The model
/// stores no documents.
///
/// Equal documents count every time they occur. Which families of terms there are must be settled beforehand.
///
/// ```
/// use tamis_train::distributed::{DistributedTrainer, FitPlan};
/// use tamis_train::{Document, Kind, TrainOptions, Trainer};
///
/// let mut options = TrainOptions::new(Kind::Text);
/// options.refinements.clear();
/// let count = |words: [&str; 2]| {
///     let mut trainer = Trainer::new(options.clone())?;
///     for i in 0..100 {
///         trainer.add("fruit", Document::Text(&format!("{} and pears {i}", words[0])))?;
///         trainer.add("metal", Document::Text(&format!("{} and tin {i}", words[1])))?;
///     }
///     trainer.into_partial()
/// };
/// let partitions = [count(["apples", "iron"])?, count(["plums", "lead"])?];
///
/// let share = DistributedTrainer::sample_share(400);
/// let (mut counts, mut sample) = (Trainer::new(options.clone())?, Trainer::new(options.clone())?);
/// for partition in &partitions {
///     counts = counts.merge_partial(&partition.without_documents()?)?;
///     sample = sample.merge_partial(&partition.sample(share)?)?;
/// }
/// let mut lead = DistributedTrainer::new(counts, sample, 2)?;
/// let plan = FitPlan::from_bytes(lead.plan())?;
/// let mut states: [Option<Vec<u8>>; 2] = [None, None];
/// while !lead.is_done() {
///     let correction = lead.correction()?;
///     for (partition, state) in partitions.iter().zip(&mut states) {
///         let round = plan.round(partition, state.as_deref(), &correction)?;
///         *state = Some(round.state);
///         lead.add(&round.change)?;
///     }
/// }
/// let filter = lead.finish()?.into_filter()?;
/// assert_eq!(filter.classes().len(), 2);
/// # Ok::<(), tamis_train::Error>(())
/// ```
pub struct DistributedTrainer {
    plan: FitPlan,
    plan_bytes: Vec<u8>,
    /// The whole sample, including the held-out documents.
    sample: Partial,
    held_out: Collection,
    smoothing: SmoothingChoice,
    correction: Correction,
    round: u64,
    /// The sum of the changes received in this round so far.
    sum: Option<WeightsChange>,
    /// The coefficients of the held-out documents.
    coefficients: Vec<f32>,
    /// The largest change of a document's error in the last round.
    largest: f64,
    /// The choices made on the held-out documents, with their scores.
    fitted: Option<WeightedFit>,
}

impl DistributedTrainer {
    /// Returns the share of `n_documents` that the lead needs as its sample: about 20,000 documents.
    pub fn sample_share(n_documents: u64) -> f64 {
        (SAMPLE / n_documents.max(1) as f64).min(1.0)
    }

    /// Creates the lead of `n_partitions` partitions. Together the partitions hold all documents counted, each at most
    /// once.
    ///
    /// # Errors
    /// If there are fewer than two labels, the scoring is not weighted, the sample is not a part of the counted
    /// documents, or a count overflows.
    pub fn new(counts: Trainer, sample: Trainer, n_partitions: u32) -> Result<Self> {
        let n_classes = counts.classes.len();
        Reason::TooFewLabels { expected: 2, got: n_classes }.unless(n_classes >= 2)?;
        check_labels(&counts.classes)?;
        Reason::Unlabelled.unless(counts.n_unlabelled() == 0)?;
        let share = Self::sample_share(counts.n_documents());
        settle_scoring(&counts.options, n_classes, &counts.parts[0].statistics)?;
        counts.options.check_for(n_classes)?;
        let (counts, sample) = (counts.into_partial()?, sample.into_partial()?);
        let default = Choices::for_classes(n_classes);
        let held_out_share = share.min(HELD_OUT);
        let held_out = sample.sample(held_out_share)?;
        let mut header =
            PlanHeader { choices: default, n_partitions, held_out: held_out_share, lengths: [0; 2] };
        let mut plan = FitPlan::new(header.clone(), counts.to_trainer()?, held_out.to_trainer()?)?;
        let documents = plan.documents(&sample, |_| true)?;
        let statistics = &plan.merged.statistics;
        let smoothing = solution::smoothing(&plan.weighted, statistics, &documents, &plan.classes)?;
        let SmoothingChoice { alpha, idf_power, bayes, .. } = smoothing;
        header.choices = Choices { alpha, idf_power, bayes, ..default.fixed_by(&plan.weighted) };
        let sections = [counts.without_documents()?, held_out.without_documents()?];
        let sections = sections.map(|section| Spool::from(section.as_bytes().to_vec()));
        header.lengths = sections.each_ref().map(Spool::len);
        plan.header = header.clone();
        let plan_bytes = messages::write(&MessageHeader::Plan(header), &sections.each_ref())?;
        let held_out = plan.documents(&sample, |group| is_sampled(group, held_out_share))?;
        Ok(DistributedTrainer {
            plan,
            plan_bytes,
            sample,
            held_out,
            smoothing,
            correction: Correction::default(),
            round: 0,
            sum: None,
            coefficients: Vec::new(),
            largest: f64::INFINITY,
            fitted: None,
        })
    }

    /// Returns what every partition needs, for [`FitPlan::from_bytes`].
    pub fn plan(&self) -> &[u8] {
        &self.plan_bytes
    }

    /// Returns the number of rounds fitted so far.
    pub fn n_rounds(&self) -> u64 {
        self.round
    }

    /// Whether the fit is complete.
    pub fn is_done(&self) -> bool {
        let is_settled = self.largest < TOLERANCE / f64::from(self.plan.header.n_partitions.max(1));
        !self.plan.weighted.correction
            || self.round >= ROUNDS as u64
            || (self.round > HELD_OUT_ROUNDS + 1 && is_settled)
    }

    /// Returns the current correction, which every partition needs for the next round.
    ///
    /// # Errors
    /// If a temporary file cannot be used.
    pub fn correction(&self) -> Result<Vec<u8>> {
        let header = WeightsHeader { round: self.round, ..Default::default() };
        messages::write_weights(header, &self.correction, self.plan.merged.n_terms())
    }

    /// Adds the change of one partition, or the merged change of several. The last one ends the round and updates the
    /// [correction](Self::correction).
    ///
    /// # Errors
    /// If the change belongs to another round, covers more partitions than there are, or cannot be read; if a sum
    /// overflows.
    pub fn add(&mut self, change: &[u8]) -> Result<()> {
        let (header, change) = self.plan.read_weights(change)?;
        let is_next = header.round == self.round && header.n_partitions > 0;
        let expected = format_args!("a change of round {}", self.round);
        Error::ensure(is_next, "message", expected, header.round)?;
        let (header, sum) = add(self.sum.take(), (header, change))?;
        let (expected, got) = (self.plan.header.n_partitions, header.n_partitions);
        let partitions = format_args!("changes of {expected} partitions");
        Error::ensure(got <= expected, "message", partitions, got)?;
        self.sum = Some((header, sum));
        if got == expected { self.end_round() } else { Ok(()) }
    }

    fn end_round(&mut self) -> Result<()> {
        let Some((header, sum)) = self.sum.take() else { return Ok(()) };
        self.largest = header.largest;
        if self.round >= HELD_OUT_ROUNDS {
            // starts from the same correction as the partitions
            let (coefficients, change) =
                self.plan.fit(&self.held_out, self.round, &self.coefficients, &self.correction)?;
            self.coefficients = coefficients;
            self.correction.merge(&change.correction)?;
            self.largest = self.largest.max(change.largest);
        }
        self.correction.merge(&sum)?;
        self.round += 1;
        if self.round == HELD_OUT_ROUNDS {
            let held_out = self.plan.problem(&self.held_out);
            let fitted = held_out.calibrate_by_sample(self.smoothing.clone(), &self.correction);
            self.fitted = Some(fitted.map_err(solution::refused)?);
        }
        self.held_out.check()
    }

    /// Writes the model.
    ///
    /// # Errors
    /// If the fit is not [done](Self::is_done), there are too few held-out documents for the thresholds asked for, or
    /// the model is larger than its format allows.
    pub fn finish(self) -> Result<Model> {
        Error::ensure(self.is_done(), "message", format_args!("{ROUNDS} rounds"), self.round)?;
        let DistributedTrainer { plan, sample, held_out, smoothing, correction, fitted, .. } = self;
        let (fitted, documents) = match fitted {
            Some(fitted) => {
                let correction = fitted.choices.correction(&plan.columns, &correction)?;
                (WeightedFit { correction, coefficients: Coefficients::default(), ..fitted }, held_out)
            }
            None => {
                let documents = plan.documents(&sample, |_| true)?;
                let fitted = plan.problem(&documents).solve(smoothing).map_err(solution::refused)?;
                (fitted, documents)
            }
        };
        let FitPlan { mut options, weighted, classes, texts, merged, vectors, .. } = plan;
        // the documents are in the partitions
        (options.keep, options.names) = (Some(Keep::Digests), false);
        let (asked, totals) = (&options.decision, merged.statistics.totals());
        let default = asked.default_for(&classes)?;
        let thresholds = Thresholds { asked, default, totals };
        let fitted = conclude(&weighted, fitted, &thresholds, &documents, &classes)?;
        let none = Collection::new(Vec::new(), Vec::new(), &[], classes.len(), merged.n_terms(), 1)?;
        let learned = TrainingSet { texts, merged, documents: none, vectors };
        write_model(options, classes, learned, fitted)
    }
}

impl std::fmt::Debug for DistributedTrainer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DistributedTrainer({:?}, {} rounds)", self.plan, self.round)
    }
}
