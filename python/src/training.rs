//! Training: documents and labels to a model.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyDict, PyType};
use tamis_train::distributed::Partial;
use tamis_train::evaluate::{cross_validate, cross_validate_labels};
use tamis_train::{Kind, Model, TrainOptions, Trainer, join_labels, spam_class, split_labels};

use crate::error::{Exception, Result, ensure, wrong_row};
use crate::filter::Filter;
use crate::filter::evaluation::{HeldOut, Outcomes};
use crate::input::decoding::Decoding;
use crate::input::vectors::with_vectors;
use crate::input::{DocumentRow, DocumentSet, LabelColumn, check_len};
use crate::options::{RunOptions, TrainingOptions, kind_named, with_columns};
use crate::work::{Progress, Watch, for_each_row, run, run_shown};

pub(crate) mod classifier;
pub(crate) mod counter;
pub(crate) mod distributed;

/// Labelled documents as Python gives them, perhaps in groups and weighted, and others without labels; also a tuple of
/// these.
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
    #[pyo3(item(4))]
    pub(crate) unlabelled: Option<Bound<'py, PyAny>>,
}

/// Documents, the label of each, and its group and weight if there are any; and documents without labels.
pub(crate) struct LabelledDocuments {
    documents: DocumentSet,
    labels: LabelColumn,
    groups: Option<LabelColumn>,
    weights: Option<Vec<f64>>,
    unlabelled: Option<DocumentSet>,
}

impl LabelledDocuments {
    /// # Errors
    /// A value cannot be read; the number of labels, of groups or of weights is not that of documents.
    pub(crate) fn new(
        options: &TrainingOptions,
        examples: &Examples<'_>,
        decoding: Decoding,
    ) -> Result<Self> {
        let read = |documents| DocumentSet::new(&options.train.recipe, documents, decoding.clone());
        let documents = read(&examples.documents)?;
        let py = examples.documents.py();
        let unlabelled = examples.unlabelled.as_ref().map(read).transpose();
        let unlabelled = unlabelled.map_err(|error| error.named(py, "unlabelled"))?;
        let labels = LabelColumn::of_labels(&examples.labels, options.are_labels_many())?;
        let groups = examples.groups.as_ref().map(LabelColumn::new).transpose()?;
        let weights = examples.weights.clone();
        let (n_groups, n_weights) = (groups.as_ref().map(LabelColumn::len), weights.as_ref().map(Vec::len));
        for (name, n) in [("labels", Some(labels.len())), ("groups", n_groups), ("weights", n_weights)] {
            check_len(name, n.unwrap_or(documents.len()), documents.len())?;
        }
        Ok(LabelledDocuments { documents, labels, groups, weights, unlabelled })
    }

    pub(crate) fn len(&self) -> usize {
        self.documents.len()
    }

    /// Label, group and document of a row.
    fn row(&self, row: usize) -> Result<LabelledRow<'_>> {
        let group = self.groups.as_ref().map(|groups| groups.get(row)).transpose()?;
        Ok((self.labels.get(row)?, group, self.documents.get(row)?))
    }
}

/// Labelled documents, and how a model learns them.
pub(crate) struct Training {
    labelled: Arc<LabelledDocuments>,
    options: TrainingOptions,
    threads: usize,
    progress: bool,
}

impl Training {
    /// # Errors
    /// A value cannot be read, or an option is wrong.
    pub(crate) fn new(
        examples: &Examples<'_>,
        kind: &str,
        options: &Bound<'_, PyDict>,
        how: RunOptions,
    ) -> Result<Self> {
        let RunOptions { threads, progress, decoding } = how;
        let kind = kind_named(kind)?;
        let mut keywords = options.clone();
        if kind == Kind::Table {
            keywords = with_columns(&examples.documents, &examples.labels, &keywords, &decoding)?;
        }
        let options = TrainingOptions::new(kind, &keywords, examples.unlabelled.is_some())?;
        let labelled = Arc::new(LabelledDocuments::new(&options, examples, decoding)?);
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
        let trainer = self.count(py)?;
        run(py, self.threads, move |_| trainer.into_partial())
    }

    /// The score of each document by a model of the other folds.
    ///
    /// # Errors
    /// As [`model`](Self::model).
    fn cross_validate(&self, py: Python<'_>, folds: usize) -> Result<HeldOut> {
        let (labelled, options) = (self.labelled.clone(), self.validated(py)?);
        let are_many = self.options.are_labels_many();
        let job = move |_: &Watch| {
            let rows = counted_rows(&labelled, &options)?;
            let bare: Vec<_> = rows.iter().map(|(_, _, row)| row.bare()).collect();
            let with_bare = rows.iter().zip(&bare);
            let documents: Vec<_> = with_bare
                .map(|((label, group, row), bare)| (*label, *group, bare.with_vector(row.vector)))
                .collect();
            if are_many {
                let (classes, held_out) = cross_validate_labels(&options, &documents, folds, 0)?;
                return Ok::<_, Exception>(HeldOut::new(classes, Outcomes::Many(held_out)));
            }
            let (classes, scores) = cross_validate(&options, &documents, &[], folds, 0)?;
            let spam = spam_class(&classes);
            Ok(HeldOut::new(classes, Outcomes::One(spam, scores)))
        };
        run(py, self.threads, job)
    }

    /// The options of a model of each fold.
    fn validated(&self, py: Python<'_>) -> Result<TrainOptions> {
        let trainer = self.count(py)?;
        let (scoring, decision) = self.options.settle(&trainer)?;
        let mut options = self.options.train.clone();
        options.scoring = Some(scoring);
        if self.options.are_labels_many() {
            options.decision = decision;
        }
        Ok(options)
    }

    /// A trainer that has learned all documents.
    fn count(&self, py: Python<'_>) -> Result<Trainer> {
        let (labelled, options) = (self.labelled.clone(), self.options.train.clone());
        let n_unlabelled = labelled.unlabelled.as_ref().map_or(0, DocumentSet::len);
        let progress = Progress::new(py, self.progress, labelled.len() + n_unlabelled)?;
        let job = move |watch: &Watch| count(&labelled, &options, watch);
        run_shown(py, self.threads, &progress, job)
    }
}

#[pymethods]
impl Filter {
    /// Trains a model on labelled messages, texts or rows of a table.
    ///
    /// Parameters
    /// ----------
    /// documents : list, numpy array, pandas or polars Series, Arrow array
    ///     Of bytes for mail, of str for text. A table is a DataFrame of pandas or polars, or a table of Arrow. Any of them
    ///     with vectors beside the documents is a ``tamis.Embedded``.
    /// labels : the same, of str
    ///     As many as documents, of at least two different labels. With the option ``labels="many"``, lists of str: a
    ///     document has any number of labels.
    /// groups : the same, optional
    ///     The group of each document, such as its author, thread or customer. Documents of a group are held out together
    ///     wherever documents are held out, so that probabilities hold for documents of new groups.
    /// weights : list or array of float, optional
    ///     The weight of each document, 0 to 1,000,000; a whole one is as many copies. Of any other, the counts have the
    ///     nearest number of copies, but at least one, and the fit takes the fraction too.
    /// unlabelled : as documents, optional
    ///     Documents without labels, for when few have one: a model of the others labels them, and they count if that
    ///     predicts held-out labelled documents better. With naive Bayes they always count, by expectation maximization.
    /// kind : {"mail", "text", "table"}, default "mail"
    /// n_jobs : int, optional
    ///     Threads: by default 1, -1 for one per core. The model does not depend on it.
    /// progress : bool, default False
    ///     Show a bar by tqdm.
    /// **options
    ///     Those of ``tamis train``: ``likelihood``, ``alpha``, ``ngrams``, ``max_fpr``, ``labels`` and so on;
    ///     ``deduplicate=True`` counts equal messages once, as the program does by default. Of a table, ``columns`` is a
    ///     dict of column to kind ("gaussian", "categorical", "bernoulli", "text" or "skip"), and others are guessed.
    ///     ``encoder`` names what makes the vectors.
    #[classmethod]
    #[pyo3(signature = (documents, labels, /, *, groups=None, weights=None, unlabelled=None, kind="mail", n_jobs=None, progress=false, **options))]
    fn train(
        _class: &Bound<'_, PyType>,
        documents: Bound<'_, PyAny>,
        labels: Bound<'_, PyAny>,
        groups: Option<Bound<'_, PyAny>>,
        weights: Option<Vec<f64>>,
        unlabelled: Option<Bound<'_, PyAny>>,
        kind: &str,
        n_jobs: Option<i64>,
        progress: bool,
        options: Option<&Bound<'_, PyDict>>,
    ) -> Result<Self> {
        let options = with_vectors(&documents, options)?;
        let (how, examples) =
            (RunOptions::new(n_jobs, progress)?, Examples { documents, labels, groups, weights, unlabelled });
        Filter::of_model(Training::new(&examples, kind, &options, how)?.model(examples.documents.py())?)
    }

    /// Measures how good models of these documents are. Each document is scored by a model that has learned neither it
    /// nor another document of its group; without groups, nor another with the same body.
    ///
    /// Parameters
    /// ----------
    /// documents, labels, groups, kind, n_jobs, progress, **options
    ///     As in ``train``.
    /// folds : int, default 10
    ///     Number of parts. Each part is scored by a model of the others.
    ///
    /// Returns
    /// -------
    /// dict
    ///     As of ``evaluate``.
    #[classmethod]
    #[pyo3(signature = (documents, labels, /, *, groups=None, folds=10, kind="mail", n_jobs=None, progress=false, **options))]
    fn cross_validate<'py>(
        _class: &Bound<'py, PyType>,
        documents: Bound<'py, PyAny>,
        labels: Bound<'py, PyAny>,
        groups: Option<Bound<'py, PyAny>>,
        folds: usize,
        kind: &str,
        n_jobs: Option<i64>,
        progress: bool,
        options: Option<&Bound<'py, PyDict>>,
    ) -> Result<Bound<'py, PyDict>> {
        let py = documents.py();
        ensure(folds >= 2, format_args!("folds: expected at least 2, got {folds}"))?;
        let options = with_vectors(&documents, options)?;
        let examples = Examples { documents, labels, groups, weights: None, unlabelled: None };
        let how = RunOptions::new(n_jobs, progress)?;
        let training = Training::new(&examples, kind, &options, how)?;
        training.cross_validate(py, folds)?.figures(py, training.threads)
    }
}

/// The model of what a trainer has learned.
///
/// # Errors
/// The options do not suit the labels, or a signal stops it.
pub(crate) fn finish(
    py: Python<'_>,
    trainer: Trainer,
    options: &TrainingOptions,
    threads: usize,
) -> Result<Model> {
    let (scoring, decision) = options.settle(&trainer)?;
    let trainer = trainer.with_scoring(scoring).with_decision(decision);
    run(py, threads, move |_| trainer.finish())
}

/// Merges partials, and fits a model if there are two labels or more.
///
/// # Errors
/// Bytes are not a partial, the options differ from those of the partials or do not suit the labels, or a signal stops it.
pub(crate) fn fit(
    py: Python<'_>,
    partials: Vec<PyBackedBytes>,
    options: &TrainingOptions,
    threads: usize,
) -> Result<(Partial, Option<Model>)> {
    let train = options.train.clone();
    let merge = move |_: &Watch| -> Result<_> {
        let mut trainer = Trainer::new(train)?;
        for partial in partials {
            trainer = trainer.merge_partial(&Partial::from_bytes(partial)?)?;
        }
        let partial = trainer.into_partial()?;
        let trainer = (shares(&partial).len() > 1).then(|| partial.to_trainer()).transpose()?;
        Ok((partial, trainer))
    };
    let (partial, trainer) = run(py, threads, merge)?;
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
fn count(labelled: &LabelledDocuments, options: &TrainOptions, watch: &Watch) -> Result<Trainer> {
    let new = || Ok(Trainer::new(options.clone())?);
    let learn = |trainer: &mut Trainer, row| learn(trainer, labelled, row..row + 1);
    let mut trainers = for_each_row(labelled.len(), watch, new, learn)?;
    if let Some(unlabelled) = &labelled.unlabelled {
        let learn = |trainer: &mut Trainer, row| {
            let added = unlabelled.with(row, |document| Ok(trainer.add_unlabelled(document)))?;
            added.map_err(|error| format!("unlabelled, row {row}: {error}").into())
        };
        trainers.extend(for_each_row(unlabelled.len(), watch, new, learn)?);
    }
    let mut trainers = trainers.into_iter();
    let mut all = trainers.next().map_or_else(new, Ok)?;
    for trainer in trainers {
        all.merge(trainer)?;
    }
    Ok(all)
}

/// A label, a group and a document.
type LabelledRow<'a> = (&'a str, Option<&'a str>, DocumentRow<'a>);

/// The label, group and document of each row that counts.
fn counted_rows<'a>(labelled: &'a LabelledDocuments, options: &TrainOptions) -> Result<Vec<LabelledRow<'a>>> {
    let mut of_words = options.clone();
    of_words.refinements.clear();
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
pub(crate) fn learn(trainer: &mut Trainer, labelled: &LabelledDocuments, rows: Range<usize>) -> Result<()> {
    for row in rows {
        let (label, group, document) = labelled.row(row)?;
        let weight = labelled.weights.as_ref().map_or(1.0, |weights| weights[row]);
        let bare = document.bare();
        let added = trainer.add_weighted(weight, label, group, bare.with_vector(document.vector));
        added.map_err(|error| wrong_row(row, error))?;
    }
    Ok(())
}
