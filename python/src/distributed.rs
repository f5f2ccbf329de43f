//! Fitting documents where they are: what partitions and their lead do.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use tamis_filter::{DistributedTrainer, Partial, PartitionRound, Result as TamisResult};

use crate::arguments::threads;
use crate::counter::Counter;
use crate::error::{TamisError, raised};
use crate::filter::Filter;
use crate::work::run;

/// The counts alone of a partial, without its documents: what a lead merges.
///
/// Parameters
/// ----------
/// partial : bytes
///     What ``Counter.partial`` returned.
///
/// Raises
/// ------
/// TamisError
///     If equal documents count once, or it is open whether pairs of words are terms: set ``ngrams``.
#[pyfunction]
fn counts_of<'py>(py: Python<'py>, partial: PyBackedBytes) -> PyResult<Bound<'py, PyBytes>> {
    part_of(py, partial, Partial::without_documents)
}

/// The documents of a partial that are in a sample of this share of all, with their counts. The same documents are in it
/// however all are partitioned.
///
/// Parameters
/// ----------
/// partial : bytes
///     What ``Counter.partial`` returned.
/// share : float
///     From 0 to 1: ``DistributedFit.sample_share`` tells it.
#[pyfunction]
fn sample_of<'py>(py: Python<'py>, partial: PyBackedBytes, share: f64) -> PyResult<Bound<'py, PyBytes>> {
    part_of(py, partial, move |partial| partial.sample(share))
}

fn part_of<'py>(
    py: Python<'py>,
    partial: PyBackedBytes,
    part: impl FnOnce(&Partial) -> TamisResult<Partial> + Send + 'static,
) -> PyResult<Bound<'py, PyBytes>> {
    // executors have one thread a task
    let part = run(py, 1, None, move |_| part(&Partial::from_bytes(partial)?))?.map_err(raised)?;
    Ok(PyBytes::new(py, part.as_bytes()))
}

/// What every partition of a distributed fit needs to know; its memory grows with the terms, not with the documents.
///
/// Parameters
/// ----------
/// plan : bytes
///     What ``DistributedFit.plan`` returned.
#[pyclass(module = "tamis", frozen)]
struct FitPlan {
    plan: Arc<tamis_filter::FitPlan>,
}

#[pymethods]
impl FitPlan {
    #[new]
    fn new(py: Python<'_>, plan: PyBackedBytes) -> PyResult<Self> {
        let plan = run(py, 1, None, move |_| tamis_filter::FitPlan::from_bytes(&plan))?.map_err(raised)?;
        Ok(FitPlan { plan: Arc::new(plan) })
    }

    /// A round of a partition: where it stands then, and how the correction changes. The same arguments give the same
    /// bytes.
    ///
    /// Parameters
    /// ----------
    /// partial : bytes
    ///     The documents, as ``Counter.partial`` returned them.
    /// state : bytes or None
    ///     Where the partition stood after the round before; None in the first.
    /// correction : bytes
    ///     What ``DistributedFit.correction`` returned.
    ///
    /// Returns
    /// -------
    /// tuple of bytes
    ///     The state and the change.
    #[pyo3(signature = (partial, state, correction))]
    fn round<'py>(
        &self,
        py: Python<'py>,
        partial: PyBackedBytes,
        state: Option<PyBackedBytes>,
        correction: PyBackedBytes,
    ) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
        let plan = self.plan.clone();
        let round = move |_: &_| plan.round(&Partial::from_bytes(partial)?, state.as_deref(), &correction);
        let PartitionRound { state, change } = run(py, 1, None, round)?.map_err(raised)?;
        Ok((PyBytes::new(py, &state), PyBytes::new(py, &change)))
    }

    /// The sum of the changes of several partitions in one round.
    ///
    /// Parameters
    /// ----------
    /// changes : list of bytes
    ///     What ``round`` or ``merge`` returned.
    fn merge<'py>(&self, py: Python<'py>, changes: Vec<PyBackedBytes>) -> PyResult<Bound<'py, PyBytes>> {
        let plan = self.plan.clone();
        let merge = move |_: &_| plan.merge(changes.iter().map(|change| &change[..]));
        Ok(PyBytes::new(py, &run(py, 1, None, merge)?.map_err(raised)?))
    }
}

/// The lead of a distributed fit: documents stay in their partitions, and only changed weights travel.
///
/// For more documents than one machine can hold. Every partition is counted by a ``Counter``; the lead needs the counts of
/// all (``counts_of``) and a sample (``sample_of``). Then there are at most 10 rounds: the correction goes to all
/// partitions, each makes a change of it, and the changes come back. ``tamis.spark`` does all this.
///
/// Parameters
/// ----------
/// counts : Counter
///     The counts of all partitions, merged; this ends it.
/// sample : Counter
///     The samples of all partitions, merged; this ends it.
/// n_partitions : int
///     How many there are.
///
/// Attributes
/// ----------
/// n_rounds : int
///     Rounds fitted so far.
/// is_done : bool
///     Whether the last one was.
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
struct DistributedFit {
    /// None once it was used up.
    lead: Mutex<Option<DistributedTrainer>>,
}

impl DistributedFit {
    fn lead(&self) -> MutexGuard<'_, Option<DistributedTrainer>> {
        self.lead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T: Send>(
        &self,
        py: Python<'_>,
        ask: impl FnOnce(&mut DistributedTrainer) -> TamisResult<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| ask(self.lead().as_mut().ok_or_else(used_up)?).map_err(raised))
    }
}

fn used_up() -> PyErr {
    TamisError::new_err("this fit was used up by finish; make another")
}

#[pymethods]
impl DistributedFit {
    #[new]
    fn new(py: Python<'_>, counts: &Counter, sample: &Counter, n_partitions: u32) -> PyResult<Self> {
        let counts = counts.settled(None)?;
        let sample = sample.settled(Some(&counts))?;
        let lead = run(py, 1, None, move |_| DistributedTrainer::new(counts, sample, n_partitions))?;
        Ok(DistributedFit { lead: Mutex::new(Some(lead.map_err(raised)?)) })
    }

    /// The share of so many documents that is in the sample: that of 20,000.
    #[staticmethod]
    fn sample_share(n_documents: u64) -> f64 {
        DistributedTrainer::sample_share(n_documents)
    }

    /// What every partition needs, for ``FitPlan``.
    fn plan<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let plan = self.with(py, |lead| Ok(lead.plan().to_vec()))?;
        Ok(PyBytes::new(py, &plan))
    }

    /// The correction so far, which every partition needs for the next round.
    fn correction<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let correction = self.with(py, |lead| lead.correction())?;
        Ok(PyBytes::new(py, &correction))
    }

    /// Adds the change of a partition, or the sum of several. The round ends with the last.
    ///
    /// Parameters
    /// ----------
    /// change : bytes
    ///     What ``FitPlan.round`` or ``FitPlan.merge`` returned.
    fn add(&self, py: Python<'_>, change: PyBackedBytes) -> PyResult<()> {
        self.with(py, |lead| lead.add(&change))
    }

    #[getter]
    fn n_rounds(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |lead| Ok(lead.n_rounds()))
    }

    #[getter]
    fn is_done(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |lead| Ok(lead.is_done()))
    }

    /// The model; this ends the fit.
    ///
    /// Parameters
    /// ----------
    /// n_jobs : int, optional
    ///     Threads: by default 1, -1 for one a core. The model does not depend on it.
    #[pyo3(signature = (*, n_jobs = None))]
    fn finish(&self, py: Python<'_>, n_jobs: Option<i64>) -> PyResult<Filter> {
        let threads = threads(n_jobs)?;
        if !self.is_done(py)? {
            return Err(TamisError::new_err("expected all rounds to be fitted before finish, got fewer"));
        }
        let lead = self.lead().take().ok_or_else(used_up)?;
        Filter::of_model(run(py, threads, None, move |_| lead.finish())?.map_err(raised)?)
    }
}

/// Adds the classes and functions to the module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<DistributedFit>()?;
    module.add_class::<FitPlan>()?;
    module.add_function(wrap_pyfunction!(counts_of, module)?)?;
    module.add_function(wrap_pyfunction!(sample_of, module)?)
}
