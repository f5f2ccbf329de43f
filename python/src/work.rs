//! Work on threads of its own, with a progress bar, while Python's other threads run and Ctrl-C is heard.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::ThreadPoolBuilder;

use crate::error::{Exception, Result, ensure};

/// How often Python handles signals and shows progress.
const INTERVAL: Duration = Duration::from_millis(50);

/// The most threads that can be asked for.
const MAX_THREADS: usize = 1024;

/// The number of threads for `n_jobs`, as in scikit-learn: 1 if not given, one per core for -1, all cores but one for -2.
pub(crate) fn threads(n_jobs: Option<i64>) -> Result<usize> {
    let cores = available_parallelism().map_or(1, usize::from);
    let n_jobs = n_jobs.unwrap_or(1);
    let threads = match usize::try_from(n_jobs) {
        Ok(threads) => threads,
        Err(_) => (cores + 1).saturating_add_signed(n_jobs as isize).max(1),
    };
    let expected = format_args!("n_jobs: expected 1 to {MAX_THREADS} threads, or -1 for one per core");
    let is_well = (1..=MAX_THREADS).contains(&threads);
    ensure(is_well, format_args!("{expected}, got {n_jobs}")).map(|()| threads)
}

/// What a job and the thread that waits for it tell each other.
#[derive(Default)]
pub(crate) struct Watch {
    is_stopped: AtomicBool,
    done: AtomicUsize,
}

impl Watch {
    /// Whether nobody waits for the job any more.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Counts documents that are done.
    pub(crate) fn add_done(&self, documents: usize) {
        self.done.fetch_add(documents, Ordering::Relaxed);
    }
}

/// Runs a job on `threads` threads, without the GIL.
///
/// # Errors
/// Those of the job; what a signal's handler raises, such as KeyboardInterrupt. Then the job may still run for a while; it
/// should end when it sees that it [is stopped](Watch::is_stopped).
pub(crate) fn run<T: Send + 'static, E: Into<Exception> + Send + 'static>(
    py: Python<'_>,
    threads: usize,
    job: impl FnOnce(&Watch) -> std::result::Result<T, E> + Send + 'static,
) -> Result<T> {
    run_shown(py, threads, &Progress(None), job)
}

/// As [`run`], and shows on a bar how many documents are done.
///
/// # Errors
/// As [`run`], and those of the bar.
pub(crate) fn run_shown<T: Send + 'static, E: Into<Exception> + Send + 'static>(
    py: Python<'_>,
    threads: usize,
    progress: &Progress<'_>,
    job: impl FnOnce(&Watch) -> std::result::Result<T, E> + Send + 'static,
) -> Result<T> {
    // a panic is a defect; it ends the job, and not the process
    let pool = ThreadPoolBuilder::new().num_threads(threads).panic_handler(|_| ()).build()?;
    let watch = Arc::new(Watch::default());
    let (sender, mut receiver) = mpsc::channel();
    let watched = watch.clone();
    pool.spawn(move || _ = sender.send(job(&watched)));
    let mut shown = 0;
    loop {
        let waited;
        (waited, receiver) = py.detach(move || (receiver.recv_timeout(INTERVAL), receiver));
        let signal = match &waited {
            Err(RecvTimeoutError::Timeout) => py.check_signals(),
            _ => Ok(()),
        };
        let done = watch.done.load(Ordering::Relaxed);
        if let Err(error) = signal.and_then(|()| progress.add(done - shown)) {
            watch.is_stopped.store(true, Ordering::Relaxed);
            return Err(error.into());
        }
        shown = done;
        match waited {
            Ok(result) => return result.map_err(Into::into),
            Err(RecvTimeoutError::Timeout) => (),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("tamis failed: its work ended without a result").into());
            }
        }
    }
}

/// A bar by tqdm, if one was asked for.
pub(crate) struct Progress<'py>(Option<Bound<'py, PyAny>>);

impl<'py> Progress<'py> {
    /// # Errors
    /// tqdm is not installed.
    pub(crate) fn new(py: Python<'py>, is_asked: bool, documents: usize) -> PyResult<Self> {
        if !is_asked {
            return Ok(Progress(None));
        }
        let options = PyDict::new(py);
        options.set_item("total", documents)?;
        options.set_item("unit", " documents")?;
        let bar = py.import("tqdm.auto")?.getattr("tqdm")?.call((), Some(&options))?;
        Ok(Progress(Some(bar)))
    }

    fn add(&self, documents: usize) -> PyResult<()> {
        match &self.0 {
            Some(bar) if documents > 0 => bar.call_method1("update", (documents,)).map(|_| ()),
            _ => Ok(()),
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        // also after an error; that error is the one to raise
        let _ = self.0.as_ref().map(|bar| bar.call_method0("close"));
    }
}

/// Rows that a thread works at before it looks for more.
const BLOCK: usize = 64;

/// Gives `n` rows to the threads of the current pool, each of which has a state. Returns the states; stops early if nobody
/// waits any more.
///
/// # Errors
/// Those of `start` and `each`.
pub(crate) fn for_each_row<S: Send>(
    n: usize,
    watch: &Watch,
    start: impl Fn() -> Result<S> + Sync,
    each: impl Fn(&mut S, usize) -> Result<()> + Sync,
) -> Result<Vec<S>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut state = start()?;
        loop {
            let first = next.fetch_add(BLOCK, Ordering::Relaxed);
            let mut block = first..n.min(first + BLOCK);
            if block.is_empty() || watch.is_stopped() {
                return Ok(state);
            }
            watch.add_done(block.len());
            block.try_for_each(|row| each(&mut state, row))?;
        }
    };
    rayon::broadcast(|_| work()).into_iter().collect()
}

/// Runs the parallel parts of `work` on threads of its own: a forked process has no others.
///
/// # Errors
/// Those of `work`; the system gives no threads.
pub(crate) fn on_own_threads<T: Send>(work: impl FnOnce() -> tamis_train::Result<T> + Send) -> Result<T> {
    Ok(ThreadPoolBuilder::new().build()?.install(work)?)
}

/// A value that is used up at some time. Using it afterwards is an error with the text `used_up`.
pub(crate) struct Consumable<T> {
    value: Mutex<Option<T>>,
    used_up: &'static str,
}

impl<T: Send> Consumable<T> {
    pub(crate) fn new(value: T, used_up: &'static str) -> Self {
        Consumable { value: Mutex::new(Some(value)), used_up }
    }

    /// Works with the value, one thread at a time and without the GIL.
    pub(crate) fn with<R: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut T) -> Result<R> + Send,
    ) -> Result<R> {
        py.detach(|| work(self.lock().as_mut().ok_or(self.used_up)?))
    }

    /// Replaces the value. It is used up if the work fails.
    pub(crate) fn replace(&self, py: Python<'_>, work: impl FnOnce(T) -> Result<T> + Send) -> Result<()> {
        py.detach(|| {
            let mut value = self.lock();
            *value = Some(work(value.take().ok_or(self.used_up)?)?);
            Ok(())
        })
    }

    /// Uses the value up.
    pub(crate) fn take(&self, py: Python<'_>) -> Result<T> {
        let value = py.detach(|| self.lock().take());
        Ok(value.ok_or(self.used_up)?)
    }

    fn lock(&self) -> MutexGuard<'_, Option<T>> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
