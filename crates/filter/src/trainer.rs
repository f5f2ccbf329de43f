use serde::{Deserialize, Serialize};
use tamis_model::{ClassId, Classes, Counts, Statistics};
use tamis_tokenizer::{TermId, Vocabulary};

use crate::documents::NO_DATE;
use crate::error::{Error, Result};
use crate::extractor::{Counted, Extractor};
use crate::recipe::{Document, Kind, Recipe, digest};
use crate::scoring::{DecisionOptions, Scoring};

/// What a model remembers of the documents it learned.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Keep {
    /// A digest, a label and a date: enough to know a document again. The default for text.
    Digests,
    /// Their terms as well (about 1 kB a mail): enough to forget one that is not at hand. The default for mail.
    Vectors,
}

/// Everything that decides how a model is trained.
#[derive(Clone, PartialEq, Debug)]
pub struct TrainOptions {
    /// How documents become terms.
    pub recipe: Recipe,
    /// How counts become scores; by default what suits the documents and the number of classes, see
    /// [`Scoring::for_recipe`].
    pub scoring: Option<Scoring>,
    /// What is asked of decisions between two classes.
    pub decision: DecisionOptions,
    /// What is remembered of each document.
    pub keep: Keep,
}

impl TrainOptions {
    /// The defaults for a kind of documents.
    pub fn new(kind: Kind) -> Self {
        let keep = match kind {
            Kind::Mail => Keep::Vectors,
            Kind::Text | Kind::Table => Keep::Digests,
        };
        TrainOptions { recipe: Recipe::new(kind), scoring: None, decision: DecisionOptions::default(), keep }
    }

    /// Whether the terms of documents are needed after they were counted.
    fn needs_terms(&self) -> bool {
        self.keep == Keep::Vectors
            || !matches!(self.scoring_for(2), Scoring::NaiveBayes(_) | Scoring::Mixed(_))
    }

    /// The scoring for a number of classes.
    pub(crate) fn scoring_for(&self, n_classes: usize) -> Scoring {
        self.scoring.clone().unwrap_or_else(|| Scoring::for_recipe(&self.recipe, n_classes))
    }
}

/// The class of a document without a label: one that no label can have.
pub(crate) const UNLABELLED: ClassId = ClassId::MAX;

/// Terms with the trainer's own ids and their counts, in any order.
pub(crate) type Terms = Box<[(TermId, u32)]>;

/// The real values that a row has, each with the number of its column among those of real values.
pub(crate) type Reals = Box<[(usize, f64)]>;

/// A document as it was counted.
pub(crate) struct Learned {
    pub(crate) digest: [u8; 16],
    pub(crate) class: ClassId,
    pub(crate) date: i64,
    pub(crate) group: u64,
    pub(crate) terms: Terms,
    pub(crate) windows: Vec<Terms>,
    pub(crate) reals: Reals,
}

/// Counts labelled documents into a model.
///
/// Trainers add up: give every thread one, [`merge`](Trainer::merge) them, and the model has the same bytes
/// whatever the shares and the order.
///
/// ```
/// use tamis_filter::{Document, Kind, TrainOptions, Trainer};
///
/// let mut trainer = Trainer::new(TrainOptions::new(Kind::Text))?;
/// trainer.add("fruit", Document::Text("apples and pears"))?;
/// trainer.add("metal", Document::Text("iron and tin"))?;
/// let filter = trainer.finish()?.into_filter()?;
/// assert_eq!(filter.information().n_terms, 5);
/// # Ok::<(), tamis_filter::Error>(())
/// ```
pub struct Trainer {
    pub(crate) options: TrainOptions,
    extractor: Extractor,
    pub(crate) vocabulary: Vocabulary,
    pub(crate) classes: Classes,
    pub(crate) statistics: Statistics,
    /// The counts of documents without a label, of which all are of one class.
    pub(crate) unlabelled: Statistics,
    pub(crate) documents: Vec<Learned>,
    pub(crate) missing: Vec<u64>,
    pub(crate) counted: Counted,
    /// The terms of the document being learned, as they first came.
    terms: Vec<(TermId, u32)>,
}

impl Trainer {
    /// A trainer that has seen nothing.
    ///
    /// # Errors
    /// If the recipe's options are out of range or its version is not this one.
    pub fn new(options: TrainOptions) -> Result<Self> {
        let extractor = Extractor::new(options.recipe.clone())?;
        let options = TrainOptions { recipe: extractor.recipe().clone(), ..options };
        let missing = vec![0; options.recipe.columns.len()];
        Ok(Trainer {
            options,
            extractor,
            vocabulary: Vocabulary::new(),
            classes: Classes::new(Vec::<String>::new())?,
            statistics: Statistics::new(0),
            unlabelled: Statistics::new(1),
            documents: Vec::new(),
            missing,
            counted: Counted::default(),
            terms: Vec::new(),
        })
    }

    /// Labelled documents seen, those given several times counted as often.
    pub fn n_documents(&self) -> u64 {
        self.statistics.totals().iter().map(|t| t.documents).sum()
    }

    /// Documents without a label seen.
    pub fn n_unlabelled(&self) -> u64 {
        self.unlabelled.totals()[0].documents
    }

    /// The labels seen.
    pub fn classes(&self) -> &Classes {
        &self.classes
    }

    /// The recipe, of a table with its columns in the order of their names.
    pub fn recipe(&self) -> &Recipe {
        &self.options.recipe
    }

    /// Of rows of a table, the missing cells of each column of the recipe.
    pub fn missing(&self) -> &[u64] {
        &self.missing
    }

    /// The same trainer with another scoring: what was counted does not depend on it.
    ///
    /// A trainer that began with naive Bayes and digests only has not kept what weighted scoring is fitted to; its
    /// correction and calibration then learn nothing.
    pub fn with_scoring(mut self, scoring: Scoring) -> Self {
        self.options.scoring = Some(scoring);
        self
    }

    /// The same trainer with other demands on decisions between two classes.
    pub fn with_decision(mut self, decision: DecisionOptions) -> Self {
        self.options.decision = decision;
        self
    }

    /// Learns one document.
    ///
    /// # Errors
    /// If the document is of the wrong kind, a cell of a row not what its column holds, the label not acceptable or a
    /// count overflows; nothing is learned then.
    pub fn add(&mut self, label: &str, document: Document<'_>) -> Result<()> {
        self.learn(Some(label), document)
    }

    /// Learns from one document whose label is not known; needs [`Scoring::ExpectationMaximization`], which is the
    /// default once there are such documents.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_unlabelled(&mut self, document: Document<'_>) -> Result<()> {
        self.learn(None, document)
    }

    fn learn(&mut self, label: Option<&str>, document: Document<'_>) -> Result<()> {
        self.count(document)?;
        let class = label.map(|label| self.class_of(label)).transpose()?;
        match class {
            Some(class) => self.statistics.observe_terms(class, &self.terms)?,
            None => self.unlabelled.observe_terms(0, &self.terms)?,
        }
        let class = class.unwrap_or(UNLABELLED);
        let counted = &self.counted;
        let digest = digest(self.options.recipe.version, self.vocabulary.document(), counted.reals());
        let reals =
            (0..).zip(counted.reals()).filter_map(|(column, real)| Some((column, (*real)?))).collect();
        let (terms, windows) = if self.options.needs_terms() {
            (self.terms.as_slice().into(), counted.windows().map(|row| row.iter().collect()).collect())
        } else {
            (Terms::default(), Vec::new())
        };
        let (group, date) = (counted.group(), counted.date().unwrap_or(NO_DATE));
        counted.missing().iter().for_each(|column| self.missing[*column] += 1);
        self.documents.push(Learned { digest, class, date, group, terms, windows, reals });
        Ok(())
    }

    /// Counts a document without learning it: afterwards its terms are in `terms`.
    pub(crate) fn count(&mut self, document: Document<'_>) -> Result<()> {
        self.extractor.count(document, &mut self.counted, &mut self.vocabulary)?;
        let terms = self.vocabulary.document();
        self.terms.clear();
        self.terms.extend(terms.iter().map(|term| (term.id, term.count)));
        if self.counted.has_windows() {
            self.counted.rows(terms, |at| Some(terms[at].id));
        }
        Ok(())
    }

    /// The class of a label, new if it was not seen before: then those after it move up.
    pub(crate) fn class_of(&mut self, label: &str) -> Result<ClassId> {
        if let Some(class) = self.classes.index(label) {
            return Ok(class);
        }
        let class = self.classes.insert(label)?;
        self.statistics.insert_class(class);
        let moved = |d: &&mut Learned| d.class >= class && d.class != UNLABELLED;
        self.documents.iter_mut().filter(moved).for_each(|d| d.class += 1);
        Ok(class)
    }

    /// Adds everything that another trainer has learned.
    ///
    /// # Errors
    /// If the settings differ or a count overflows.
    pub fn merge(&mut self, mut other: Trainer) -> Result<()> {
        if self.options != other.options {
            return Err(Error::DifferentSettings);
        }
        for (_, label) in self.classes.clone().iter() {
            other.class_of(label)?;
        }
        for (_, label) in other.classes.iter() {
            self.class_of(label)?;
        }
        let terms = self.vocabulary.merge(&other.vocabulary)?;
        self.statistics.merge_mapped(&other.statistics, &terms)?;
        self.unlabelled.merge_mapped(&other.unlabelled, &terms)?;
        for document in &mut other.documents {
            let ids = document.terms.iter_mut().chain(document.windows.iter_mut().flatten());
            ids.for_each(|(id, _)| *id = terms[*id as usize]);
        }
        self.documents.append(&mut other.documents);
        self.missing.iter_mut().zip(other.missing).for_each(|(here, there)| *here += there);
        Ok(())
    }
}
