//! How good a filter's scores of labelled documents are.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tamis_report::labels_page;
use tamis_train::evaluate::HeldOutScore;

use crate::error::Result;
use crate::filter::Filter;
use crate::filter::evaluation;
use crate::filter::label_evaluation::{self, HeldOut, held_out};
use crate::input::LabelColumn;
use crate::model::SharedFilter;
use crate::model::report::Report;
use crate::options::RunOptions;

impl Filter {
    /// A dict with the keys of `tamis evaluate --json`.
    pub(super) fn figures<'py>(
        &self,
        documents: &Bound<'py, PyAny>,
        labels: &Bound<'py, PyAny>,
        how: RunOptions,
    ) -> Result<Bound<'py, PyDict>> {
        let (py, threads) = (documents.py(), how.threads);
        if self.model().filter.has_many_labels() {
            return label_evaluation::figures(py, self.held_out_labels(documents, labels, how)?, threads);
        }
        let (model, outcomes) = self.outcomes(documents, labels, how)?;
        evaluation::figures(py, model.filter.classes(), model.filter.spam(), outcomes, threads)
    }

    /// The page of these figures.
    pub(super) fn measured(
        &self,
        title: &str,
        documents: &Bound<'_, PyAny>,
        labels: &Bound<'_, PyAny>,
        how: RunOptions,
    ) -> Result<Report> {
        let (py, threads) = (documents.py(), how.threads);
        if self.model().filter.has_many_labels() {
            let held_out = self.held_out_labels(documents, labels, how)?;
            let (labels, evaluation) = label_evaluation::evaluate(py, held_out, threads)?;
            return Ok(Report(labels_page(title, &labels, &evaluation)));
        }
        let (model, outcomes) = self.outcomes(documents, labels, how)?;
        Report::of_outcomes(py, title, model, outcomes, threads)
    }

    /// Scores labelled documents in parallel.
    fn outcomes(
        &self,
        documents: &Bound<'_, PyAny>,
        labels: &Bound<'_, PyAny>,
        how: RunOptions,
    ) -> Result<(Arc<SharedFilter>, Vec<HeldOutScore>)> {
        let labels = LabelColumn::new(labels)?;
        let (model, batch) = self.batch(documents, how)?;
        let outcomes = evaluation::outcomes(&model, &batch, &labels)?;
        Ok((model, outcomes))
    }

    /// What a model of many labels says of documents, in parallel.
    fn held_out_labels(
        &self,
        documents: &Bound<'_, PyAny>,
        labels: &Bound<'_, PyAny>,
        how: RunOptions,
    ) -> Result<HeldOut> {
        let sets = LabelColumn::of_labels(labels, true)?;
        self.ask_about(documents, how, move |model, documents, watch| {
            held_out(&model.filter, documents, &sets, watch)
        })
    }
}
