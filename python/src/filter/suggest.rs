//! Which documents without a label to label next.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tamis_train::evaluate::{Known, Suggestions, Unlabelled};
use tamis_train::{LabelScore, Score};

use crate::error::Result;
use crate::filter::Filter;
use crate::input::DocumentSet;
use crate::model::SharedFilter;
use crate::options::RunOptions;
use crate::work::{Watch, for_each_row};

/// A suggestion, with the keys of `tamis suggest --format jsonl`; its row takes the place of a path.
#[derive(IntoPyObject)]
struct Suggestion {
    row: usize,
    label: OneOrMany<String>,
    probability: OneOrMany<f64>,
    log_odds: OneOrMany<f64>,
}

/// What the model says of a document: of one label, or of each of many.
#[derive(IntoPyObject)]
enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

#[pymethods]
impl Filter {
    /// Names the documents without a label that would teach the model most, the first one first.
    ///
    /// A document teaches most if its label is unsure, it has many words, many others resemble it, and no labelled
    /// document does. Of more than 1,000 documents (or n), a sample is considered, another one after each change of the
    /// model. DocumentSet that the model knows are left out, and of equal ones all but one.
    ///
    /// Parameters
    /// ----------
    /// documents : list, numpy array, pandas or polars Series, Arrow array
    ///     DocumentSet without labels.
    /// n : int, default 20
    ///     Number of documents to suggest, at most 5,000.
    /// n_jobs, progress
    ///     As in ``score_many``.
    /// encoding, decode_error
    ///     As in ``Counter.add``.
    ///
    /// Returns
    /// -------
    /// list of dict
    ///     What ``tamis suggest --format jsonl`` prints, with ``row``, counted from 0, in place of a path: ``label``,
    ///     ``probability`` and ``log_odds`` (in nats) that the model gives the document; in a model of many labels, lists of
    ///     these.
    #[pyo3(signature = (documents, n=20, **how))]
    fn suggest(
        &self,
        documents: &Bound<'_, PyAny>,
        n: usize,
        how: Option<&Bound<'_, PyDict>>,
    ) -> Result<Vec<Suggestion>> {
        self.ask_about(
            documents,
            RunOptions::from_keywords(documents.py(), how)?,
            move |model, documents, watch| suggest(model, documents, n, watch),
        )
    }
}

fn suggest(
    model: &SharedFilter,
    documents: &DocumentSet,
    n: usize,
    watch: &Watch,
) -> Result<Vec<Suggestion>> {
    let known = Known::new(&model.filter, n)?;
    let add = |unlabelled: &mut Unlabelled<'_, usize>, row| {
        unlabelled.add(documents.get(row)?.document(), || Ok(row))
    };
    let unlabelled = for_each_row(documents.len(), watch, || Ok(Unlabelled::new(&known)), add)?;
    let mut suggestions = Suggestions::new(&known, unlabelled);
    let mut suggested = Vec::new();
    while suggested.len() < n
        && !watch.is_stopped()
        && let Some(next) = suggestions.next()
    {
        suggested.push(Suggestion::new(model, *next.place, &next.score, next.labels));
    }
    Ok(suggested)
}

impl Suggestion {
    fn new(model: &SharedFilter, row: usize, score: &Score, labels: &[LabelScore]) -> Self {
        if model.filter.has_many_labels() {
            let label = |of: &LabelScore| model.labels.name(Some(of.label)).to_owned();
            return Suggestion {
                row,
                label: OneOrMany::Many(labels.iter().map(label).collect()),
                probability: OneOrMany::Many(labels.iter().map(|of| of.probability).collect()),
                log_odds: OneOrMany::Many(labels.iter().map(|of| of.log_odds).collect()),
            };
        }
        Suggestion {
            row,
            label: OneOrMany::One(model.labels.name(score.label).to_owned()),
            probability: OneOrMany::One(score.probability),
            log_odds: OneOrMany::One(score.log_odds),
        }
    }
}
