//! Training: documents and labels to the bytes of a model.

use std::ops::Range;
use std::str::Utf8Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use tamis_filter::{
    Classes, Document, Error, HeldOutScore, Model, Pairs, Partial, TrainOptions, Trainer, cross_validate,
};

use crate::error::{TamisError, raised, wrong_row};
use crate::input::documents::{Documents, Labels};
use crate::options::Options;
use crate::progress::Progress;
use crate::work::{Watch, run};

/// Documents that a thread counts before it looks for more.
const BLOCK: usize = 64;

/// Documents with what is given of each: its label, and perhaps its group.
pub(crate) struct Labelled {
    documents: Documents,
    labels: Labels,
    groups: Option<Labels>,
}

impl Labelled {
    /// # Errors
    /// If there are not as many labels, or groups, as documents.
    pub(crate) fn new(documents: Documents, labels: Labels, groups: Option<Labels>) -> PyResult<Self> {
        let expected = documents.len();
        for (what, given) in [("labels", Some(&labels)), ("groups", groups.as_ref())] {
            if let Some(got) = given.map(Labels::len).filter(|got| *got != expected) {
                let message = format!("expected as many {what} as documents, {expected}, got {got}");
                return Err(TamisError::new_err(message));
            }
        }
        Ok(Labelled { documents, labels, groups })
    }

    pub(crate) fn len(&self) -> usize {
        self.documents.len()
    }

    /// Label, group and document of a row.
    fn row(&self, row: usize) -> Result<(&str, Option<&str>, Document<'_>), Utf8Error> {
        let group = self.groups.as_ref().map(|groups| groups.get(row)).transpose()?;
        Ok((self.labels.get(row)?, group, self.documents.get(row)?))
    }
}

/// Labelled documents, and how they are learned.
pub(crate) struct Training {
    labelled: Arc<Labelled>,
    options: Options,
    threads: usize,
}

impl Training {
    pub(crate) fn new(labelled: Labelled, options: Options, threads: usize) -> Self {
        Training { labelled: labelled.into(), options, threads }
    }

    /// The model of all documents.
    ///
    /// # Errors
    /// If a document or label cannot be learned, the options do not suit the labels, or Python stops it.
    pub(crate) fn model(&self, py: Python<'_>, progress: bool) -> PyResult<Model> {
        let trainer = self.count(py, progress)?;
        finish(py, trainer, &self.options, self.threads)
    }

    /// What was counted of all documents, unfitted.
    ///
    /// # Errors
    /// If a document or label cannot be learned, or Python stops it.
    pub(crate) fn partial(&self, py: Python<'_>, progress: bool) -> PyResult<Partial> {
        let trainer = self.count_by(py, self.options.train().clone(), progress)?;
        run(py, self.threads, None, move |_| trainer.into_partial())?.map_err(raised)
    }

    /// The labels, and the score of each document by a model of the documents of other folds.
    ///
    /// # Errors
    /// As [`model`](Self::model).
    pub(crate) fn cross_validate(
        &self,
        py: Python<'_>,
        folds: usize,
        progress: bool,
    ) -> PyResult<(Classes, Vec<HeldOutScore>)> {
        let trainer = self.count(py, progress)?;
        let scoring = Some(self.options.settle(trainer.classes())?.0);
        let mut options = self.options.for_labels(trainer.classes().len());
        options.scoring = scoring;
        let labelled = self.labelled.clone();
        let job = move |_: &Watch| validate(&labelled, &options, folds);
        run(py, self.threads, None, job)?.map_err(PyErr::from)
    }

    /// A trainer that has learned all documents.
    fn count(&self, py: Python<'_>, progress: bool) -> PyResult<Trainer> {
        self.count_by(py, self.options.for_labels(self.labelled.labels.n_different(3)), progress)
    }

    fn count_by(&self, py: Python<'_>, options: TrainOptions, progress: bool) -> PyResult<Trainer> {
        let labelled = self.labelled.clone();
        let job = move |watch: &Watch| count(&labelled, &options, watch);
        let progress = Progress::new(py, progress, self.labelled.len(), "documents")?;
        run(py, self.threads, progress.callback()?.as_ref(), job)?.map_err(PyErr::from)
    }
}

/// The model of what a trainer has learned.
///
/// # Errors
/// If the options do not suit the labels, or Python stops it.
pub(crate) fn finish(py: Python<'_>, trainer: Trainer, options: &Options, threads: usize) -> PyResult<Model> {
    let (scoring, decision) = options.settle(trainer.classes())?;
    let trainer = trainer.with_scoring(scoring).with_decision(decision);
    run(py, threads, None, move |_| trainer.finish())?.map_err(raised)
}

/// What partials counted together, and the model of it if there are two labels or more.
///
/// # Errors
/// If bytes are no partial, the options are not those of the partials or do not suit the labels, or Python stops it.
pub(crate) fn fit(
    py: Python<'_>,
    partials: Vec<PyBackedBytes>,
    options: &Options,
    threads: usize,
) -> PyResult<(Partial, Option<Model>)> {
    let asked = options.train().clone();
    let merge = move |_: &Watch| {
        let mut trainer = Trainer::new(asked)?;
        for partial in partials {
            trainer = trainer.merge_partial(&Partial::from_bytes(partial)?)?;
        }
        let partial = trainer.into_partial()?;
        let trainer = (partial.classes().len() > 1).then(|| partial.to_trainer()).transpose()?;
        Ok((partial, trainer))
    };
    let (partial, trainer) = run(py, threads, None, merge)?.map_err(raised)?;
    let model = trainer.map(|trainer| finish(py, trainer, options, threads)).transpose()?;
    Ok((partial, model))
}

/// Counts documents with a trainer a thread.
fn count(labelled: &Labelled, options: &TrainOptions, watch: &Watch) -> Result<Trainer, Failure> {
    let next = AtomicUsize::new(0);
    let count_blocks = || -> Result<Trainer, Failure> {
        let mut trainer = Trainer::new(options.clone())?;
        loop {
            let first = next.fetch_add(BLOCK, Ordering::Relaxed);
            let block = first..labelled.len().min(first + BLOCK);
            if block.is_empty() || watch.is_stopped() {
                return Ok(trainer);
            }
            watch.add_done(block.len());
            learn(&mut trainer, labelled, block)?;
        }
    };
    let mut trainers = rayon::broadcast(|_| count_blocks()).into_iter();
    let mut all = trainers.next().unwrap_or_else(|| Ok(Trainer::new(options.clone())?))?;
    for trainer in trainers {
        all.merge(trainer?)?;
    }
    Ok(all)
}

/// The labels, and the score of each document that counts by a model of other folds.
fn validate(
    labelled: &Labelled,
    options: &TrainOptions,
    folds: usize,
) -> Result<(Classes, Vec<HeldOutScore>), Failure> {
    let mut of_words = options.clone();
    of_words.pairs = Pairs::Fixed;
    let mut trainer = Trainer::new(of_words)?;
    let mut given = Vec::with_capacity(labelled.len());
    for row in 0..labelled.len() {
        let before = trainer.n_documents();
        learn(&mut trainer, labelled, row..row + 1)?;
        if trainer.n_documents() > before {
            given.push(labelled.row(row).map_err(|error| Failure::Changed(row, error))?);
        }
    }
    Ok(cross_validate(options, &given, &[], folds, 0)?)
}

/// Learns the documents of some rows, in order.
pub(crate) fn learn(trainer: &mut Trainer, labelled: &Labelled, rows: Range<usize>) -> Result<(), Failure> {
    for row in rows {
        let (label, group, document) = labelled.row(row).map_err(|error| Failure::Changed(row, error))?;
        trainer.add_in_group(label, group, document).map_err(|error| Failure::Row(row, error))?;
    }
    Ok(())
}

/// Why documents were not counted.
pub(crate) enum Failure {
    Library(Error),
    Row(usize, Error),
    /// A row is text no longer: others can write to its buffer.
    Changed(usize, Utf8Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Library(error)
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Library(error) => raised(error),
            Failure::Row(row, error) => wrong_row(row, error),
            Failure::Changed(row, error) => wrong_row(row, error),
        }
    }
}
