//! Options from Python: keyword arguments that are named as the program's options.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tamis_train::options::{LabelShare, Labels, ScoringOptions, TermOptions, VectorSpace};
use tamis_train::{DecisionOptions, Keep, Kind, Scoring, TrainOptions, Trainer};

use crate::error::{Result, ensure};
use crate::input::decoding::Decoding;
pub(crate) use crate::options::columns::with_columns;
use crate::options::columns::{check_terms, set_columns};
use crate::options::keywords::{Keywords, StopWords, wrong};
use crate::work::threads;

mod columns;
mod keywords;

/// The kind of documents of this name.
///
/// # Errors
/// There is no such kind.
pub(crate) fn kind_named(name: &str) -> Result<Kind> {
    let known = [Kind::Mail, Kind::Text, Kind::Table].into_iter().find(|kind| kind.to_string() == name);
    known.ok_or_else(|| format!("kind: expected mail, text or table, got {name:?}").into())
}

/// How documents are read, on how many threads, and whether with a progress bar.
pub(crate) struct RunOptions {
    pub(crate) threads: usize,
    pub(crate) progress: bool,
    pub(crate) decoding: Decoding,
}

impl RunOptions {
    pub(crate) fn new(n_jobs: Option<i64>, progress: bool) -> Result<Self> {
        Ok(RunOptions { threads: threads(n_jobs)?, progress, decoding: Decoding::default() })
    }

    /// From the keywords `n_jobs`, `progress`, `encoding` and `decode_error`.
    ///
    /// # Errors
    /// A value is wrong, or there are other keywords.
    pub(crate) fn from_keywords(py: Python<'_>, keywords: Option<&Bound<'_, PyDict>>) -> Result<Self> {
        let keywords = Keywords(keywords.map_or_else(|| Ok(PyDict::new(py)), |keywords| keywords.copy())?);
        let text = |name, default: &str| Ok::<_, PyErr>(keywords.take(name)?.unwrap_or(default.to_owned()));
        let decoding = Decoding::new(py, &text("encoding", "utf-8")?, &text("decode_error", "strict")?)?;
        let options = RunOptions::new(keywords.take("n_jobs")?, keywords.flag("progress")?)?;
        keywords.expect_no_more()?;
        Ok(RunOptions { decoding, ..options })
    }
}

/// The options of training.
pub(crate) struct TrainingOptions {
    /// What can be settled before all is counted.
    pub(crate) train: TrainOptions,
    scoring: ScoringOptions,
    decision: DecisionOptions,
    prior: Option<LabelShare>,
}

/// Options of a type, each of these fields from the keyword of its name.
macro_rules! take {
    ($type:ident, $keywords:ident: $($field:ident)+) => {
        $type { $($field: $keywords.take(stringify!($field))?,)+ ..$type::default() }
    };
}

impl TrainingOptions {
    /// Takes keyword arguments. What is None is not given. `unlabelled` says whether there are documents without labels.
    ///
    /// # Errors
    /// If an option is unknown, of another type, out of its range or not for this kind of documents.
    pub(crate) fn new(kind: Kind, keywords: &Bound<'_, PyDict>, unlabelled: bool) -> Result<Self> {
        let keywords = Keywords(keywords.copy()?);
        let mut train = TrainOptions::new(kind);
        set_columns(&keywords, &mut train.recipe)?;
        set_recipe(&keywords, &mut train)?;
        check_terms(&train.recipe)?;
        train.labels = match keywords.take::<String>("labels")?.as_deref() {
            None | Some("one") => Labels::One,
            Some("many") => Labels::Many,
            Some(got) => return Err(wrong("labels", format!("expected one or many, got {got}"))),
        };
        let mut scoring = take!(ScoringOptions, keywords: likelihood alpha estimate class_prior min_df max_df max_features select
            idf_power correction regularisation seed);
        scoring.unlabelled = unlabelled;
        scoring.occurrences = keywords.flag("occurrences")?;
        let deduplicate = keywords.flag("deduplicate")?;
        let expected = "deduplicate: expected mail, of which equal messages can count once";
        ensure(!deduplicate || kind == Kind::Mail, format_args!("{expected}, got {kind}"))?;
        train.repeat = !deduplicate;
        train.names = false;
        train.keep = match keywords.take("documents")? {
            Some(true) => Some(Keep::Vectors),
            Some(false) => Some(Keep::Digests),
            None => train.keep,
        };
        train.prepare(&scoring)?;
        let decision = take!(DecisionOptions, keywords: max_fpr min_precision cost unsure);
        let prior = keywords.take("prior")?;
        decision.check()?;
        keywords.expect_no_more()?;
        Ok(TrainingOptions { train, scoring, decision, prior })
    }

    /// Whether documents have any number of labels.
    pub(crate) fn are_labels_many(&self) -> bool {
        self.train.labels == Labels::Many
    }

    /// How counts become scores and decisions, now that all documents are counted.
    ///
    /// # Errors
    /// If options do not suit each other, or the labels.
    pub(crate) fn settle(&self, counted: &Trainer) -> Result<(Scoring, DecisionOptions)> {
        let (mut train, classes) = (self.train.clone(), counted.classes());
        let n_documents = counted.n_documents() + counted.n_unlabelled();
        let scoring = self.scoring.scoring(&train.recipe, classes, n_documents)?;
        let prior = self.prior.as_ref().map(|prior| prior.of_positive(classes)).transpose()?;
        train.decision = DecisionOptions { prior, ..self.decision };
        train.scoring = Some(scoring.clone());
        train.check_for(classes.len())?;
        Ok((scoring, train.decision))
    }
}

/// The space of vectors of this length, by this encoder.
///
/// # Errors
/// There is an encoder without vectors.
pub(crate) fn vector_space(vectors: Option<u32>, encoder: Option<String>) -> Result<Option<VectorSpace>> {
    let is_well = encoder.is_none() || vectors.is_some();
    ensure(is_well, "encoder: expected documents with vectors, got none")?;
    Ok(vectors.map(|dimensions| VectorSpace { dimensions, encoder: encoder.unwrap_or_default() }))
}

/// Sets how documents become terms, as far as it is given.
fn set_recipe(keywords: &Keywords<'_>, options: &mut TrainOptions) -> Result<()> {
    let recipe = &mut options.recipe;
    recipe.content_only = keywords.flag("content_only")?;
    recipe.ignored_headers = keywords.take("ignore_header")?.unwrap_or_default();
    recipe.raw = keywords.flag("raw")?;
    recipe.vectors = vector_space(keywords.take("vectors")?, keywords.take("encoder")?)?;
    let terms = &mut recipe.tokenizer;
    terms.word_rule = keywords.take("words")?.unwrap_or(terms.word_rule);
    terms.fold_case &= !keywords.flag("keep_case")?;
    terms.stemmer = keywords.take("stem")?;
    terms.min_chars = keywords.take("min_chars")?.unwrap_or(terms.min_chars);
    terms.max_chars = keywords.take("max_chars")?.unwrap_or(terms.max_chars);
    terms.stop_words = keywords.take("stop_words")?.map_or(Vec::new(), |StopWords(words)| words);
    let [ngrams, characters] = [keywords.take("ngrams")?, keywords.take("characters")?];
    let (ends, signs) = (keywords.flag("ends")?, keywords.take("signs")?);
    let pieces = keywords.take("pieces")?.unwrap_or_default();
    Ok(options.set_terms(TermOptions { ngrams, ends, characters, pieces, signs })?)
}
