//! The plan that every partition receives: the counts of all documents, and the choices made from them.

use tamis_model::{
    Beside, Classes, Columns, Correction, Counts, Documents, FitProblem, Partition, ROUNDS, RoundChange,
    Statistics, TAUS, VectorStatistics, WeightedOptions, block_len, is_sampled,
};
use tamis_store::config::labels::columns_of;
use tamis_store::config::scoring::Scoring;
use tamis_store::config::training::TrainOptions;
use tamis_store::error::{Error, Reason, Result};
use tamis_store::store::information::check_equal;
use tamis_tokenizer::{TermId, TermTexts};

use super::messages::{self, MessageHeader, PlanHeader, WeightsChange, WeightsHeader};
use crate::distributed::partial::Partial;
use crate::fit::solution;
use crate::gather::collection::Collection;
use crate::gather::merged::MergedShards;
use crate::train::finish::TrainingSet;
use crate::train::trainer::Trainer;

/// Rounds in which the held-out documents take no part.
pub(super) const HELD_OUT_ROUNDS: u64 = 5;

/// The plan of a distributed fit, see [`DistributedTrainer`](crate::distributed::DistributedTrainer): the counts of all
/// documents, and the choices made from them. Its memory grows with the terms, not with the documents.
///
/// A process reads it once and can then fit any number of partitions, one after another.
pub struct FitPlan {
    pub(super) header: PlanHeader,
    pub(super) options: TrainOptions,
    pub(super) weighted: WeightedOptions,
    pub(super) classes: Classes,
    pub(super) columns: Columns,
    pub(super) texts: Vec<TermTexts>,
    pub(super) merged: MergedShards,
    pub(super) vectors: Option<VectorStatistics>,
    /// The counts without the held-out documents.
    without: Statistics,
}

/// The result of one round in one partition.
pub struct PartitionRound {
    /// The partition's state, needed for its next round.
    pub state: Vec<u8>,
    /// The change of the correction, for the lead.
    pub change: Vec<u8>,
}

impl FitPlan {
    /// Reads the bytes of [`DistributedTrainer::plan`](crate::distributed::DistributedTrainer::plan).
    ///
    /// # Errors
    /// If the bytes are not a plan, or are damaged.
    pub fn from_bytes(plan: &[u8]) -> Result<Self> {
        let (MessageHeader::Plan(header), sections) = messages::read(plan)? else {
            return Err(Error::inconsistent("message", "a plan", "another"));
        };
        // the header guarantees two sections
        let counts = Partial::from_bytes(sections[0].to_vec())?;
        let held_out = Partial::from_bytes(sections[1].to_vec())?;
        FitPlan::new(header, counts.to_trainer()?, held_out.to_trainer()?)
    }

    pub(super) fn new(header: PlanHeader, mut counts: Trainer, mut held_out: Trainer) -> Result<Self> {
        let Scoring::Weighted(weighted) = counts.options.scoring() else {
            return Err(Reason::NotWeighted.into());
        };
        header.choices.check()?;
        let in_order = counts.take_in_order()?;
        let classes = counts.classes;
        let columns = columns_of(&classes)?;
        let Some(held_out) = sum_shard(&mut held_out, &counts.options, &classes)? else {
            return Err(Error::inconsistent("message", "labels that were counted", "others"));
        };
        let without = subtract(&in_order.merged, &held_out)?;
        let TrainingSet { texts, merged, vectors, .. } = in_order;
        let options = counts.options;
        Ok(FitPlan { header, options, weighted, classes, columns, texts, merged, vectors, without })
    }

    /// Runs one round: fits the partition's documents to the lead's correction, starting from `state` (`None` in the
    /// first round).
    ///
    /// The same documents, state and correction give the same bytes, whatever the number of threads.
    ///
    /// # Errors
    /// If the partial was counted with other options (scoring and decisions aside) or has terms that are not in the
    /// plan; if state or correction belong to another round or cannot be read.
    pub fn round(
        &self,
        partial: &Partial,
        state: Option<&[u8]>,
        correction: &[u8],
    ) -> Result<PartitionRound> {
        let own = |group: u64| !is_sampled(group, self.header.held_out);
        let documents = self.documents(partial, own)?;
        let (weights, correction) = self.read_weights(correction)?;
        let state = state.map(messages::read_state).transpose()?;
        let (round, coefficients) = state.unwrap_or((0, Vec::new()));
        // a hostile number must not overflow either
        let is_next = round == weights.round && round < ROUNDS as u64;
        Error::ensure(is_next, "message", format_args!("round {}", weights.round), round)?;
        let (coefficients, change) = self.fit(&documents, round, &coefficients, &correction)?;
        let weights = WeightsHeader { round, n_partitions: 1, largest: change.largest, ..Default::default() };
        Ok(PartitionRound {
            state: messages::write_state(round + 1, &coefficients)?,
            change: messages::write_weights(weights, &change.correction, self.merged.n_terms())?,
        })
    }

    /// Fits `documents` for one round. `before` is empty if they have no coefficients yet. Returns the new coefficients
    /// and the change.
    pub(super) fn fit(
        &self,
        documents: &Collection,
        round: u64,
        before: &[f32],
        correction: &Correction,
    ) -> Result<(Vec<f32>, RoundChange)> {
        let PlanHeader { choices, n_partitions, .. } = &self.header;
        let counts = if round < HELD_OUT_ROUNDS { &self.without } else { &self.merged.statistics };
        let mut partition =
            Partition::new(self.problem(documents), counts, choices, n_partitions.saturating_add(1))?;
        let none = vec![0.0; partition.state().1.count()];
        let before = if before.is_empty() { &none } else { before };
        let (is_resumed, expected) =
            (partition.resume(round, before), format_args!("{} coefficients", none.len()));
        Error::ensure(is_resumed, "message", expected, before.len())?;
        let change = partition.round(correction).map_err(solution::refused)?;
        Ok((partition.state().1.collect(), change))
    }

    /// Merges the changes of several partitions in one round. Merged changes can be merged again, in a tree.
    ///
    /// # Errors
    /// If the changes belong to different rounds or cannot be read.
    pub fn merge<'c>(&self, changes: impl IntoIterator<Item = &'c [u8]>) -> Result<Vec<u8>> {
        let mut sum = None;
        for change in changes {
            sum = Some(add(sum, self.read_weights(change)?)?);
        }
        let (header, correction) = sum.unwrap_or_default();
        messages::write_weights(header, &correction, self.merged.n_terms())
    }

    pub(super) fn read_weights(&self, message: &[u8]) -> Result<WeightsChange> {
        let n_columns = if self.columns.is_one() { TAUS.len() } else { self.columns.len() };
        messages::read_weights(message, self.merged.n_terms(), n_columns)
    }

    /// Returns a fit of `documents` that uses the counts of all documents.
    pub(super) fn problem<'a>(&'a self, documents: &'a dyn Documents) -> FitProblem<'a> {
        FitProblem {
            counts: &self.merged.statistics,
            documents,
            columns: self.columns.clone(),
            beside: Beside { columns: None, vectors: self.vectors.as_ref() },
            options: &self.weighted,
        }
    }

    /// Returns the documents of a partial whose group is wanted. Their terms are numbered as in the plan.
    pub(super) fn documents(&self, partial: &Partial, is_wanted: impl Fn(u64) -> bool) -> Result<Collection> {
        let other = || Error::inconsistent("partial", "documents that the plan has counted", "others");
        let mut trainer = partial.to_trainer()?;
        Reason::CountsAlone.unless(!trainer.counts_alone)?;
        // scoring and decisions may be set after counting
        trainer.options.scoring.clone_from(&self.options.scoring);
        trainer.options.decision = self.options.decision;
        let merged = sum_shard(&mut trainer, &self.options, &self.classes)?.ok_or_else(other)?;
        let ids: Option<Vec<TermId>> = merged.ids_in(&self.merged).into_iter().collect();
        let ids = ids.ok_or_else(other)?;
        let of_part = |own: &Vec<TermId>| {
            own.iter().map(|id| ids.get(*id as usize).copied().unwrap_or_default()).collect()
        };
        let ids: Vec<Vec<TermId>> = merged.ids.iter().map(of_part).collect();
        let mut documents = trainer.documents;
        documents.retain(|document| is_wanted(document.group));
        let rows = trainer.parts.into_iter().map(|part| part.rows).collect();
        let (n_classes, n_terms) = (self.classes.len(), self.merged.n_terms());
        let block_len = block_len(&self.merged.statistics);
        let documents = Collection::new(documents, rows, &ids, n_classes, n_terms, block_len)?;
        Ok(documents.of_kind(self.options.recipe.kind))
    }
}

impl std::fmt::Debug for FitPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let PlanHeader { n_partitions, .. } = self.header;
        write!(f, "FitPlan({n_partitions} partitions, {} terms)", self.merged.n_terms())
    }
}

/// Adds a change to the sum of those before it, which must be of the same round.
pub(super) fn add(sum: Option<WeightsChange>, (of_one, change): WeightsChange) -> Result<WeightsChange> {
    let Some((of_sum, mut sum)) = sum else { return Ok((of_one, change)) };
    let expected = format_args!("a change of round {}", of_sum.round);
    Error::ensure(of_sum.round == of_one.round, "message", expected, of_one.round)?;
    sum.merge(&change)?;
    let n_partitions = of_sum.n_partitions.saturating_add(of_one.n_partitions);
    Ok((WeightsHeader { n_partitions, largest: of_sum.largest.max(of_one.largest), ..of_sum }, sum))
}

/// The counts of one shard, with the labels of all shards; `None` if the shard has other labels.
fn sum_shard(
    trainer: &mut Trainer,
    options: &TrainOptions,
    classes: &Classes,
) -> Result<Option<MergedShards>> {
    check_equal("options", options, &trainer.options)?;
    for (_, label) in classes.iter() {
        trainer.class_of(label)?;
    }
    if trainer.classes.len() != classes.len() {
        return Ok(None);
    }
    trainer.forget_places();
    MergedShards::new(&trainer.parts).map(Some)
}

/// Subtracts the counts of `some` documents from those of `all`, which include them.
fn subtract(all: &MergedShards, some: &MergedShards) -> Result<Statistics> {
    let wrong = || Error::inconsistent("message", "held-out documents that were counted", "others");
    let ids: Option<Vec<TermId>> = some.ids_in(all).into_iter().collect();
    let mut held_out = std::iter::zip(ids.ok_or_else(wrong)?, 0..).peekable();
    let (all, some) = (&all.statistics, &some.statistics);
    let documents = std::iter::zip(all.totals(), some.totals());
    let documents = documents.map(|(all, some)| all.documents.checked_sub(some.documents));
    let documents: Option<Vec<u64>> = documents.collect();
    let mut without = Statistics::with_documents(documents.ok_or_else(wrong)?);
    let mut cells = Vec::new();
    for term in 0..all.n_terms() as TermId {
        cells.clear();
        cells.extend(all.cells(term));
        if let Some((_, own)) = held_out.next_if(|(id, _)| *id == term) {
            for cell in some.cells(own) {
                let of_class = cells.iter_mut().find(|all| all.class == cell.class).ok_or_else(wrong)?;
                of_class.df = of_class.df.checked_sub(cell.df).ok_or_else(wrong)?;
                of_class.tf = of_class.tf.checked_sub(cell.tf).ok_or_else(wrong)?;
            }
            cells.retain(|cell| cell.df > 0);
        }
        without.push_term(&mut cells)?;
    }
    Ok(without)
}
