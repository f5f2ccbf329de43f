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
        let (py, state) = (messages.py(), self.0.clone());
        let documents = Documents::new(self.model().kind(), messages, decoding)?;
        let progress = Progress::new(py, progress, documents.len(), "documents")?;
        let job =
            move |watch: &Watch| state.ask(|model| Ok((model.clone(), model.score_all(&documents, watch)?)));
        Ok(run(py, threads, progress.callback()?.as_ref(), job)??)
    }
}
