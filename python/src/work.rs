//! Work on threads of its own, while Python's other threads run and Ctrl-C is heard.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPoolBuildError, ThreadPoolBuilder};

/// How often Python is asked for signals, and told of progress.
const INTERVAL: Duration = Duration::from_millis(50);

/// What those who work and those who wait tell each other.
#[derive(Default)]
pub(crate) struct Watch {
    is_stopped: AtomicBool,
    done: AtomicUsize,
}

impl Watch {
    /// Whether nobody waits any more.
    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Counts documents that are done.
    pub(crate) fn add_done(&self, documents: usize) {
        self.done.fetch_add(documents, Ordering::Relaxed);
    }
}

/// What comes of a job that runs on so many threads, without the GIL. `progress` is called from this thread with the number
/// of documents done so far.
///
/// # Errors
/// What a signal's handler raises, such as KeyboardInterrupt, or `progress`. The job may still run for a while then; it
/// should end when it sees that it [is stopped](Watch::is_stopped).
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
    job: impl FnOnce(&Watch) -> T + Send + 'static,
) -> PyResult<T> {
    // a panic is a defect; it ends the job, and not the process
    let pool = ThreadPoolBuilder::new().num_threads(threads).panic_handler(|_| ()).build();
    let pool = pool.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    let watch = Arc::new(Watch::default());
    let (sender, mut receiver) = mpsc::channel();
    let watched = watch.clone();
    pool.spawn(move || _ = sender.send(job(&watched)));
    let mut told = 0;
    loop {
        let waited;
        (waited, receiver) = py.detach(move || (receiver.recv_timeout(INTERVAL), receiver));
        let outcome = match &waited {
            Err(RecvTimeoutError::Timeout) => py.check_signals(),
            _ => Ok(()),
        };
        let done = watch.done.load(Ordering::Relaxed);
        let outcome = outcome.and_then(|()| match progress.filter(|_| done > told) {
            Some(progress) => progress.call1((done,)).map(|_| told = done),
            None => Ok(()),
        });
        if let Err(error) = outcome {
            watch.is_stopped.store(true, Ordering::Relaxed);
            return Err(error);
        }
        match waited {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) => (),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("tamis failed: its work ended without a result"));
            }
        }
    }
}

/// What comes of work whose parallel parts run on threads of its own: a process that was forked has no others.
///
/// # Errors
/// If the system gives no threads.
pub(crate) fn on_own_threads<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, ThreadPoolBuildError> {
    Ok(ThreadPoolBuilder::new().build()?.install(work))
}
