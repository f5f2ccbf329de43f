//! Training: documents and labels to a model.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyDict;
use tamis_train::distributed::Partial;
use tamis_train::evaluate::{HeldOutScore, cross_validate, cross_validate_labels};
use tamis_train::options::Pairs;
use tamis_train::{Classes, Document, Kind, Model, TrainOptions, Trainer, join_labels, split_labels};

use crate::arguments::{How, kind_named};
use crate::error::{Failure, Result, wrong_row};
use crate::input::decoding::Decoding;
use crate::input::documents::{Documents, Labels, Row, check_len};
use crate::label_evaluation::HeldOut;
use crate::options::{Options, with_columns};
use crate::progress::Progress;
use crate::work::{Watch, for_each_row, run};

/// Labelled documents as Python gives them, perhaps in groups and weighted; also a tuple of these.
#[derive(FromPyObject)]
pub(crate) struct Examples<'py> {
    #[pyo3(item(0))]
    pub(crate) documents: Bound<'py, PyAny>,
    #[pyo3(item(1))]
    pub(crate) labels: Bound<'py, PyAny>,
    #[pyo3(item(2))]
    pub(crate) groups: Option<Bound<'py, PyAny>>,
    #[pyo3(item(3))]
    pub(crate) weights: Option<Vec<f64>>,
}

/// Documents, the label of each, and its group and weight if there are any.
pub(crate) struct Labelled {
    documents: Documents,
    labels: Labels,
    groups: Option<Labels>,
    weights: Option<Vec<f64>>,
}

impl Labelled {
    /// # Errors
    /// A value cannot be read; the number of labels, of groups or of weights is not that of documents.
    pub(crate) fn new(options: &Options, examples: &Examples<'_>, decoding: Decoding) -> PyResult<Self> {
        let documents = Documents::new(&options.train().recipe, &examples.documents, decoding)?;
        let labels = match options.are_labels_many() {
            true => Labels::of_sets(&examples.labels)?,
            false => Labels::new(&examples.labels)?,
        };
        let groups = examples.groups.as_ref().map(Labels::new).transpose()?;
        labels.check_len("labels", documents.len())?;
        if let Some(groups) = &groups {
            groups.check_len("groups", documents.len())?;
        }
        let weights = examples.weights.clone();
        if let Some(weights) = &weights {
            check_len("weights", weights.len(), documents.len())?;
        }
        Ok(Labelled { documents, labels, groups, weights })
    }

    pub(crate) fn len(&self) -> usize {
        self.documents.len()
    }

    /// Label, group and document of a row.
    fn row(&self, row: usize) -> Result<(&str, Option<&str>, Row<'_>)> {
        let group = self.groups.as_ref().map(|groups| groups.get(row)).transpose()?;
        Ok((self.labels.get(row)?, group, self.documents.get(row)?))
    }
}

/// Labelled documents, and how a model learns them.
pub(crate) struct Training {
    labelled: Arc<Labelled>,
    options: Options,
    threads: usize,
    progress: bool,
}

impl Training {
    /// # Errors
    /// A value cannot be read, or an option is wrong.
    pub(crate) fn new(
        examples: &Examples<'_>,
        kind: &str,
        options: Option<&Bound<'_, PyDict>>,
        how: How,
    ) -> PyResult<Self> {
        let How { threads, progress, decoding } = how;
        let (kind, none) = (kind_named(kind)?, PyDict::new(examples.documents.py()));
        let given = options.unwrap_or(&none);
        let options = match kind {
            Kind::Table => {
                let given = with_columns(&examples.documents, &examples.labels, given, &decoding)?;
                Options::new(kind, &given)?
            }
            Kind::Mail | Kind::Text => Options::new(kind, given)?,
        };
        let labelled = Arc::new(Labelled::new(&options, examples, decoding)?);
        Ok(Training { labelled, options, threads, progress })
    }

    /// The model of all documents.
    ///
    /// # Errors
    /// A document or label cannot be learned, the options do not suit the labels, or a signal stops it.
    pub(crate) fn model(&self, py: Python<'_>) -> Result<Model> {
        finish(py, self.count(py)?, &self.options, self.threads)
    }

    /// What was counted of all documents, unfitted.
    ///
    /// # Errors
    /// A document or label cannot be learned, or a signal stops it.
    pub(crate) fn partial(&self, py: Python<'_>) -> Result<Partial> {
        let trainer = self.count_by(py, self.options.train().clone())?;
        run(py, self.threads, None, move |_| trainer.into_partial())
    }

    /// The labels, and the score of each document by a model of the other folds.
    ///
    /// # Errors
    /// As [`model`](Self::model).
    pub(crate) fn cross_validate(
        &self,
        py: Python<'_>,
        folds: usize,
    ) -> Result<(Classes, Vec<HeldOutScore>)> {
        let (labelled, options) = (self.labelled.clone(), self.validated(py)?);
        let job = move |_: &Watch| {
            let rows = counted(&labelled, &options)?;
            Ok::<_, Failure>(cross_validate(&options, &documents(&rows), &[], folds, 0)?)
        };
        run(py, self.threads, None, job)
    }

    /// As [`cross_validate`](Self::cross_validate), for documents of many labels.
    ///
    /// # Errors
    /// As [`model`](Self::model).
    pub(crate) fn cross_validate_labels(&self, py: Python<'_>, folds: usize) -> Result<HeldOut> {
        let (labelled, options) = (self.labelled.clone(), self.validated(py)?);
        let job = move |_: &Watch| {
            let rows = counted(&labelled, &options)?;
            Ok::<_, Failure>(cross_validate_labels(&options, &documents(&rows), folds, 0)?)
        };
        run(py, self.threads, None, job)
    }

    /// Whether documents have any number of labels.
    pub(crate) fn are_labels_many(&self) -> bool {
        self.options.are_labels_many()
    }

    /// The options of a model of each fold.
    fn validated(&self, py: Python<'_>) -> Result<TrainOptions> {
        let trainer = self.count(py)?;
        let (scoring, decision) = self.options.settle(trainer.classes())?;
        let mut options = self.options.for_labels(trainer.classes().len());
        options.scoring = Some(scoring);
        if self.are_labels_many() {
            options.decision = decision;
        }
        Ok(options)
    }

    /// A trainer that has learned all documents.
    fn count(&self, py: Python<'_>) -> Result<Trainer> {
        self.count_by(py, self.options.for_labels(self.labelled.labels.n_different(3)))
    }

    fn count_by(&self, py: Python<'_>, options: TrainOptions) -> Result<Trainer> {
        let labelled = self.labelled.clone();
        let progress = Progress::new(py, self.progress, self.labelled.len(), "documents")?;
        let job = move |watch: &Watch| count(&labelled, &options, watch);
        run(py, self.threads, progress.callback()?.as_ref(), job)
    }
}

/// The model of what a trainer has learned.
///
/// # Errors
/// The options do not suit the labels, or a signal stops it.
pub(crate) fn finish(py: Python<'_>, trainer: Trainer, options: &Options, threads: usize) -> Result<Model> {
    let (scoring, decision) = options.settle(trainer.classes())?;
    let trainer = trainer.with_scoring(scoring).with_decision(decision);
    run(py, threads, None, move |_| trainer.finish())
}

/// Merges partials, and fits a model if there are two labels or more.
///
/// # Errors
/// Bytes are not a partial, the options differ from those of the partials or do not suit the labels, or a signal stops it.
pub(crate) fn fit(
    py: Python<'_>,
    partials: Vec<PyBackedBytes>,
    options: &Options,
    threads: usize,
) -> Result<(Partial, Option<Model>)> {
    let train = options.train().clone();
    let merge = move |_: &Watch| -> Result<_> {
        let mut trainer = Trainer::new(train)?;
        for partial in partials {
            trainer = trainer.merge_partial(&Partial::from_bytes(partial)?)?;
        }
        let partial = trainer.into_partial()?;
        let trainer = (shares(&partial).len() > 1).then(|| partial.to_trainer()).transpose()?;
        Ok((partial, trainer))
    };
    let (partial, trainer) = run(py, threads, None, merge)?;
    let model = trainer.map(|trainer| finish(py, trainer, options, threads)).transpose()?;
    Ok((partial, model))
}

/// The labels of a partial, each with the share of the documents that have it.
pub(crate) fn shares(partial: &Partial) -> BTreeMap<String, f64> {
    let are_sets = partial.classes().index(&join_labels([])).is_some();
    let mut documents: BTreeMap<&str, u64> = BTreeMap::new();
    for ((_, class), n) in partial.classes().iter().zip(partial.documents()) {
        let labels = if are_sets { split_labels(class).collect() } else { vec![class] };
        labels.into_iter().for_each(|label| *documents.entry(label).or_default() += n);
    }
    let all = partial.documents().iter().sum::<u64>() as f64;
    documents.into_iter().map(|(label, n)| (label.to_owned(), n as f64 / all)).collect()
}

/// Counts documents with one trainer per thread.
fn count(labelled: &Labelled, options: &TrainOptions, watch: &Watch) -> Result<Trainer> {
    let new = || Ok(Trainer::new(options.clone())?);
    let learn = |trainer: &mut Trainer, row| learn(trainer, labelled, row..row + 1);
    let mut trainers = for_each_row(labelled.len(), watch, new, learn)?.into_iter();
    let mut all = trainers.next().map_or_else(new, Ok)?;
    for trainer in trainers {
        all.merge(trainer)?;
    }
    Ok(all)
}

/// A label, a group and a document.
type Given<'a, T> = (&'a str, Option<&'a str>, T);

fn documents<'a>(rows: &'a [Given<'_, Row<'_>>]) -> Vec<Given<'a, Document<'a>>> {
    rows.iter().map(|(label, group, row)| (*label, *group, row.document())).collect()
}

/// The label, group and document of each row that counts.
fn counted<'a>(labelled: &'a Labelled, options: &TrainOptions) -> Result<Vec<Given<'a, Row<'a>>>> {
    let mut of_words = options.clone();
    of_words.pairs = Pairs::Fixed;
    let mut trainer = Trainer::new(of_words)?;
    let mut given = Vec::with_capacity(labelled.len());
    for row in 0..labelled.len() {
        let before = trainer.n_documents();
        learn(&mut trainer, labelled, row..row + 1)?;
        if trainer.n_documents() > before {
            given.push(labelled.row(row)?);
        }
    }
    Ok(given)
}

/// Learns the documents of some rows, in order.
pub(crate) fn learn(trainer: &mut Trainer, labelled: &Labelled, rows: Range<usize>) -> Result<()> {
    for row in rows {
        let (label, group, document) = labelled.row(row)?;
        let weight = labelled.weights.as_ref().map_or(1.0, |weights| weights[row]);
        let added = trainer.add_weighted(weight, label, group, document.document());
        added.map_err(|error| wrong_row(row, error))?;
    }
    Ok(())
}
