//! A progress bar.

use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyTuple};

/// A bar by tqdm, if one was asked for.
pub(crate) struct Progress<'py>(Option<Bound<'py, PyAny>>);

impl<'py> Progress<'py> {
    /// # Errors
    /// tqdm is not installed.
    pub(crate) fn new(py: Python<'py>, is_asked: bool, total: usize, unit: &str) -> PyResult<Self> {
        if !is_asked {
            return Ok(Progress(None));
        }
        let options = PyDict::new(py);
        options.set_item("total", total)?;
        options.set_item("unit", format!(" {unit}"))?;
        let bar = py.import("tqdm.auto")?.getattr("tqdm")?.call((), Some(&options))?;
        Ok(Progress(Some(bar)))
    }

    /// A function to call with the number of documents done.
    pub(crate) fn callback(&self) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(bar) = &self.0 else { return Ok(None) };
        let (py, bar) = (bar.py(), bar.clone().unbind());
        let show = move |done: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| -> PyResult<()> {
            let bar = bar.bind(done.py());
            let more = done.get_item(0)?.sub(bar.getattr("n")?)?;
            bar.call_method1("update", (more,)).map(|_| ())
        };
        PyCFunction::new_closure(py, None, None, show).map(|show| Some(show.into_any()))
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        // also after an error; that error is the one to raise
        let _ = self.0.as_ref().map(|bar| bar.call_method0("close"));
    }
}
