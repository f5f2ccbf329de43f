//! Many documents at once.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::filter::Filter;
use crate::input::decoding::Decoding;
use crate::input::documents::Documents;
use crate::model::{Batch, Model};
use crate::progress::Progress;
use crate::work::{Watch, run};

impl Filter {
    /// Scores documents in parallel.
    pub(crate) fn batch(
        &self,
        messages: &Bound<'_, PyAny>,
        decoding: Decoding,
        threads: usize,
        progress: bool,
    ) -> PyResult<(Arc<Model>, Batch)> {
        let (py, model) = (messages.py(), self.model());
        let documents = Documents::new(model.kind(), messages, decoding)?;
        let progress = Progress::new(py, progress, documents.len(), "documents")?;
        let asked = model.clone();
        let job = move |watch: &Watch| asked.score_all(&documents, watch);
        let batch = run(py, threads, progress.callback()?.as_ref(), job)??;
        Ok((model, batch))
    }
}
