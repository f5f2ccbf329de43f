//! Distributed fits: what partitions and their lead do.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use tamis_train::distributed::{DistributedTrainer, Partial, PartitionRound};

use crate::error::{Result, ensure};
use crate::filter::Filter;
use crate::training::counter::Counter;
use crate::work::{Consumable, run, threads};

/// The counts of a partial without its documents, for the lead to merge.
///
/// Parameters
/// ----------
/// partial : bytes
///     What ``Counter.partial`` returned.
///
/// Raises
/// ------
/// TamisError
///     Equal documents count once, or it is undecided whether pairs of words are terms: set ``ngrams``.
#[pyfunction]
pub(crate) fn counts_of<'py>(py: Python<'py>, partial: PyBackedBytes) -> Result<Bound<'py, PyBytes>> {
    part_of(py, partial, Partial::without_documents)
}

/// A sample of a partial's documents, with their counts. The same documents are in the sample however all documents are
/// partitioned.
///
/// Parameters
/// ----------
/// partial : bytes
///     What ``Counter.partial`` returned.
/// share : float
///     The share of documents in the sample, from 0 to 1, by ``DistributedFit.sample_share``.
#[pyfunction]
pub(crate) fn sample_of<'py>(
    py: Python<'py>,
    partial: PyBackedBytes,
    share: f64,
) -> Result<Bound<'py, PyBytes>> {
    part_of(py, partial, move |partial| partial.sample(share))
}

fn part_of<'py>(
    py: Python<'py>,
    partial: PyBackedBytes,
    part: impl FnOnce(&Partial) -> tamis_train::Result<Partial> + Send + 'static,
) -> Result<Bound<'py, PyBytes>> {
    // executors have one thread a task
    let part = run(py, 1, move |_| part(&Partial::from_bytes(partial)?))?;
    Ok(PyBytes::new(py, part.as_bytes()))
}

/// What every partition of a distributed fit needs. Its memory grows with the terms, not with the documents.
///
/// Parameters
/// ----------
/// plan : bytes
///     What ``DistributedFit.plan`` returned.
#[pyclass(module = "tamis", frozen)]
pub(crate) struct FitPlan(Arc<tamis_train::distributed::FitPlan>);

#[pymethods]
impl FitPlan {
    #[new]
    fn new(py: Python<'_>, plan: PyBackedBytes) -> Result<Self> {
        let plan = run(py, 1, move |_| tamis_train::distributed::FitPlan::from_bytes(&plan))?;
        Ok(FitPlan(Arc::new(plan)))
    }

    /// Runs one round of a partition. The same arguments give the same bytes.
    ///
    /// Parameters
    /// ----------
    /// partial : bytes
    ///     The documents, as ``Counter.partial`` returned them.
    /// state : bytes or None
    ///     The state after the previous round; None in the first round.
    /// correction : bytes
    ///     What ``DistributedFit.correction`` returned.
    ///
    /// Returns
    /// -------
    /// tuple of bytes
    ///     The state after the round, and the change of the correction.
    #[pyo3(signature = (partial, state, correction))]
    fn round(
        &self,
        py: Python<'_>,
        partial: PyBackedBytes,
        state: Option<PyBackedBytes>,
        correction: PyBackedBytes,
    ) -> Result<(Vec<u8>, Vec<u8>)> {
        let plan = self.0.clone();
        let round = move |_: &_| plan.round(&Partial::from_bytes(partial)?, state.as_deref(), &correction);
        let PartitionRound { state, change } = run(py, 1, round)?;
        Ok((state, change))
    }

    /// Adds up the changes of several partitions in one round.
    ///
    /// Parameters
    /// ----------
    /// changes : list of bytes
    ///     What ``round`` or ``merge`` returned.
    fn merge(&self, py: Python<'_>, changes: Vec<PyBackedBytes>) -> Result<Vec<u8>> {
        let plan = self.0.clone();
        let merge = move |_: &_| plan.merge(changes.iter().map(|change| &change[..]));
        run(py, 1, merge)
    }
}

/// The lead of a distributed fit: documents stay in their partitions, and only changed weights travel.
///
/// For more documents than one machine can hold. A ``Counter`` counts each partition; the lead needs the counts of all
/// (``counts_of``) and a sample (``sample_of``). At most 10 rounds follow: every partition gets the correction and sends
/// back a change of it. ``tamis.spark`` does all this.
///
/// Parameters
/// ----------
/// counts : Counter
///     The merged counts of all partitions. Used up by this fit.
/// sample : Counter
///     The merged samples of all partitions. Used up by this fit.
/// n_partitions : int
///     Number of partitions.
///
/// Attributes
/// ----------
/// n_rounds : int
///     Rounds fitted so far.
/// is_done : bool
///     Whether the last round is fitted.
///
/// Examples
/// --------
/// >>> from tamis import Counter
/// >>> from tamis.distributed import DistributedFit, FitPlan, counts_of, sample_of
/// >>> def count(fruit, metal):
/// ...     counter = Counter(ngrams=1)
/// ...     for i in range(100):
/// ...         counter.add([f"{fruit} number {i}", f"{metal} number {i}"], ["fruit", "metal"])
/// ...     return counter.partial()
/// >>> partitions = [count("apples", "iron"), count("pears", "tin")]
/// >>> counts, sample = Counter(ngrams=1), Counter(ngrams=1)
/// >>> for partition in partitions:
/// ...     counts.merge(counts_of(partition))
/// >>> share = DistributedFit.sample_share(counts.n_documents)
/// >>> for partition in partitions:
/// ...     sample.merge(sample_of(partition, share))
/// >>> fit = DistributedFit(counts, sample, n_partitions=2)
/// >>> plan, states = FitPlan(fit.plan()), [None, None]
/// >>> while not fit.is_done:
/// ...     correction = fit.correction()
/// ...     for i, partition in enumerate(partitions):
/// ...         states[i], change = plan.round(partition, states[i], correction)
/// ...         fit.add(change)
/// >>> fit.finish().score("apples and pears").label
/// 'fruit'
#[pyclass(module = "tamis", frozen)]
pub(crate) struct DistributedFit(Consumable<DistributedTrainer>);

#[pymethods]
impl DistributedFit {
    #[new]
    fn new(py: Python<'_>, counts: &Counter, sample: &Counter, n_partitions: u32) -> Result<Self> {
        let counts = counts.settled(py, None)?;
        let sample = sample.settled(py, Some(&counts))?;
        let lead = run(py, 1, move |_| DistributedTrainer::new(counts, sample, n_partitions))?;
        Ok(DistributedFit(Consumable::new(lead, "this fit was used up by finish; make another")))
    }

    /// The share of ``n_documents`` that makes a sample of 20,000.
    #[staticmethod]
    fn sample_share(n_documents: u64) -> f64 {
        DistributedTrainer::sample_share(n_documents)
    }

    /// The bytes that every partition passes to ``FitPlan``.
    fn plan(&self, py: Python<'_>) -> Result<Vec<u8>> {
        self.0.with(py, |lead| Ok(lead.plan().to_vec()))
    }

    /// The current correction, which every partition needs for the next round.
    fn correction(&self, py: Python<'_>) -> Result<Vec<u8>> {
        self.0.with(py, |lead| Ok(lead.correction()?))
    }

    /// Adds the change of one partition, or the sum of several. The round ends when all have been added.
    ///
    /// Parameters
    /// ----------
    /// change : bytes
    ///     What ``FitPlan.round`` or ``FitPlan.merge`` returned.
    fn add(&self, py: Python<'_>, change: PyBackedBytes) -> Result<()> {
        self.0.with(py, |lead| Ok(lead.add(&change)?))
    }

    #[getter]
    fn n_rounds(&self, py: Python<'_>) -> Result<u64> {
        self.0.with(py, |lead| Ok(lead.n_rounds()))
    }

    #[getter]
    fn is_done(&self, py: Python<'_>) -> Result<bool> {
        self.0.with(py, |lead| Ok(lead.is_done()))
    }

    /// Returns the model and ends the fit.
    ///
    /// Parameters
    /// ----------
    /// n_jobs : int, optional
    ///     Threads: by default 1, -1 for one per core. The model does not depend on it.
    #[pyo3(signature = (*, n_jobs = None))]
    fn finish(&self, py: Python<'_>, n_jobs: Option<i64>) -> Result<Filter> {
        let threads = threads(n_jobs)?;
        ensure(self.is_done(py)?, "expected all rounds to be fitted before finish, got fewer")?;
        let lead = self.0.take(py)?;
        Filter::of_model(run(py, threads, move |_| lead.finish())?)
    }
}
