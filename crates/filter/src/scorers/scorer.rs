//! A model's scoring, ready to run over its counts.

use std::any::Any;

use tamis_model::{ClassId, TermEntry};
use tamis_store::config::decision::Decision;
use tamis_store::error::Result;
use tamis_store::store::layers::{DecodedTerm, Layers};
use tamis_tokenizer::{CountRow, CountVector, TermId};

use crate::extract::extraction::Extraction;
use crate::extract::part_verdict::PartVerdict;
use crate::scorers::scratch::{Memo, Scratch};

/// The scoring derived from a model: a few numbers, whatever the size of the model.
pub(crate) trait Scorer: Any + Send + Sync {
    /// The number of sums over a document's terms that it needs.
    fn n_sums(&self) -> usize;

    /// Sums the weights of the current document's terms, in a loop of its own for each scorer; see
    /// [`Memo::sum_weights`].
    fn sum_weights(&self, layers: Layers<'_>, memo: &mut Memo) -> Result<()> {
        memo.sum_weights(layers, |count| self.amount(count), |term, entry| self.weigh(term, entry))
    }

    /// The factor of a term that occurs `count` times in the document: 1 if only presence counts.
    fn amount(&self, _count: u32) -> f64 {
        1.0
    }

    /// Writes the weights of a term to `entry`; none if it has none.
    fn weigh(&self, term: &DecodedTerm<'_>, entry: &mut TermEntry) -> Result<()>;

    /// The class that log-odds refer to, if thresholds decide between two classes.
    fn positive(&self) -> Option<ClassId> {
        None
    }

    /// Whether each label has log-odds of its own, so that a document can have any number of labels.
    fn has_many_labels(&self) -> bool {
        false
    }

    /// Reads the sums over the terms of the document in `scratch`. Writes its log-odds for the positive class to
    /// `scratch.posterior` or, without one, a joint log-likelihood per class; the log-odds of each of many labels. Returns
    /// the number of known terms.
    fn read_sums(&self, layers: Layers<'_>, scratch: &mut Scratch) -> Result<usize>;

    /// Weighs parts of the document, of two classes, of which spam is the positive one.
    fn weigh_parts(&self, _scratch: &mut Scratch) -> Option<PartVerdict> {
        None
    }

    /// The log-odds of spam that hardly any part of ham has, if enough ham was seen.
    fn most_of_ham(&self) -> Option<f64> {
        None
    }

    /// What speaks for a class and against another in a document.
    fn explain<'a>(&self, of: &Explained<'a>) -> Result<Reasons<'a>>;

    /// The weight of a term by itself for a class; `None` if it is not used in scoring.
    fn term_weight(&self, layers: Layers<'_>, id: TermId, class: ClassId) -> Result<Option<f64>>;
}

/// What is to be explained.
pub(crate) struct Explained<'a> {
    pub layers: Layers<'a>,
    /// The document, with its rows.
    pub counted: &'a Extraction,
    /// The row of the part that decides, if it is not the whole.
    pub(crate) part: Option<&'a CountVector>,
    /// What is added to the log-odds of the row.
    pub(crate) lift: f64,
    pub(crate) contest: Contest,
    pub decision: Decision,
}

/// The class that is explained, and the one it is compared with.
#[derive(Clone, Copy)]
pub(crate) struct Contest {
    pub class: ClassId,
    pub against: ClassId,
}

impl Contest {
    /// The difference between the numbers of the two classes; 0 if they are equal, even if infinite.
    pub(crate) fn margin(self, per_class: &[f64]) -> f64 {
        less(per_class[usize::from(self.class)], per_class[usize::from(self.against)])
    }

    /// 1 if `positive` is explained, -1 if it is the other class.
    pub(crate) fn sign(self, positive: ClassId) -> f64 {
        if self.class == positive { 1.0 } else { -1.0 }
    }
}

/// The parts of a score.
pub(crate) struct Reasons<'a> {
    /// The part of the document with the highest score.
    pub row: CountRow<'a>,
    /// The log-odds before any term.
    pub intercept: f64,
    /// The contribution of every known term.
    pub(crate) contributions: Vec<(TermId, f64)>,
    /// The contributions of a row's real values, each as `column=number`, with the number of rows of each class with a
    /// value in its column.
    pub values: Vec<TermContribution>,
}

/// The contribution of a term to a score.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct TermContribution {
    /// The term, with the field it was found in.
    pub term: String,
    /// Its occurrences in the document.
    pub count: u32,
    /// Its document frequency in each class, in class order.
    pub document_frequencies: Vec<u64>,
    /// What the term adds to the log-odds of the class, in nats.
    pub contribution: f64,
    /// The part of `contribution` that comes from the pieces of the word, in nats. All words that contain a piece share
    /// its contribution.
    pub of_pieces: f64,
}

impl TermContribution {
    pub(crate) fn new(term: String, count: u32, document_frequencies: Vec<u64>, contribution: f64) -> Self {
        TermContribution { term, count, document_frequencies, contribution, of_pieces: 0.0 }
    }
}

/// The margin of a class over the strongest of the others.
pub(crate) fn over_rivals(weights: &[f64], class: ClassId) -> f64 {
    let others = weights.iter().enumerate().filter(|(c, _)| *c != usize::from(class));
    less(weights[usize::from(class)], others.map(|(_, w)| *w).fold(f64::NEG_INFINITY, f64::max))
}

/// `a - b`; 0 for equal infinities, which arise from probabilities of 0 without smoothing.
fn less(a: f64, b: f64) -> f64 {
    if a == b { 0.0 } else { a - b }
}
