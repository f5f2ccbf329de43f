//! Fitting the correction: one-vs-rest logistic regression by dual coordinate ascent, with cross-validation. A fit can
//! be divided into partitions of the documents.

pub(crate) mod ascent;
pub(crate) mod choose;
pub(crate) mod column_fit;
pub(crate) mod competitors;
mod cross_fit;
mod label_lines;
pub(crate) mod online_step;
pub(crate) mod partition;
pub(crate) mod sample;
pub(crate) mod tried;

use rayon::prelude::*;
use tamis_tokenizer::{CountVector, TermId};

use crate::counts::{
    ClassId, Counts, DocumentSums, KnownTerms, Statistics, TermEntry, TermTable, idf, log_documents,
};
use crate::documents::{BlockReader, Documents, Groups, Label, forget_fold};
use crate::fit::competitors::{Competitors, LeftOutBayes};
use crate::fit::tried::HeldOutScores;
use crate::linear::{
    Choices, Coefficients, Columns, CorrectedStatistics, Correction, Readings, TriedParts, TriedTau,
    WeightedLogOdds, WeightedOptions, priors,
};
use crate::selection::{HeldOut, SampleTerms, SmoothingChoice, min_per_class, sample_size};

/// The result of a fit: choices, correction and held-out scores.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The fitted numbers.
    pub choices: Choices,
    /// The choice of smoothing and idf power.
    pub smoothing: SmoothingChoice,
    /// The shares tau of the counts that were tried; empty if documents were too few to choose.
    pub taus: Vec<TriedTau>,
    /// How well the parts of the log-odds predicted held-out documents; `None` if no document could be held out.
    pub parts: Option<TriedParts>,
    /// p of each column, see [`priors`].
    pub prior: Vec<f64>,
    /// The calibration line of each label, from its log-odds z to calibrated ones: slope and offset. Empty if classes are
    /// not sets of labels.
    pub lines: Vec<[f64; 2]>,
    /// The correction.
    pub correction: Correction,
    /// The coefficients of the documents; the correction is their sum.
    pub coefficients: Coefficients,
    /// Scores of the held-out documents, in order.
    pub held_out: Vec<HeldOut>,
}

impl Fitted {
    /// The result before anything but smoothing is chosen or fitted.
    fn unfitted(choices: Choices, smoothing: SmoothingChoice) -> Fitted {
        Fitted {
            choices,
            smoothing,
            taus: Vec::new(),
            parts: None,
            prior: Vec::new(),
            lines: Vec::new(),
            correction: Correction::default(),
            coefficients: Coefficients::default(),
            held_out: Vec::new(),
        }
    }
}

/// Number of cross-validation folds. Labels need all documents held out, so that each fold is a fit of its own.
const FOLDS: usize = 5;
const FOLDS_OF_LABELS: usize = 4;
/// The number if it is the scores of all documents that are asked for.
const FOLDS_OF_ALL: usize = 10;
/// Up to this many documents, there are more folds, so that more documents are left to learn from.
const FEW: usize = 1_000;
const FOLDS_OF_FEW: usize = 20;
/// Maximum number of held-out documents: for independent columns, whose thresholds need many, and for others.
const MAX_HELD_OUT: [usize; 2] = [20_000, 2_000];

/// The inputs of a fit: documents, counts, columns and options.
#[derive(Clone)]
pub struct Fit<'a> {
    /// The counts of the documents.
    pub counts: &'a Statistics,
    /// The distinct documents, in a reproducible order.
    pub documents: &'a dyn Documents,
    /// The columns to fit.
    pub columns: Columns,
    /// The options.
    pub options: &'a WeightedOptions,
}

/// The documents of a fold, in order.
struct Fold {
    documents: Vec<usize>,
    /// The number of held-out copies of each document.
    copies: Vec<u32>,
    /// The weight of each document.
    weights: Vec<f64>,
    rows: Vec<CountVector>,
}

impl Fold {
    /// The documents with the numbers of their held-out copies, and their terms.
    fn rows(&self) -> impl Iterator<Item = ((usize, u32), &CountVector)> {
        self.documents.iter().copied().zip(self.copies.iter().copied()).zip(&self.rows)
    }
}

/// The number of a document's copies outside the fold `held`.
fn copies_left(held: Option<&Fold>, document: usize, label: &Label) -> u32 {
    let held = held.and_then(|fold| {
        let at = fold.documents.binary_search(&document).ok()?;
        fold.copies.get(at)
    });
    label.multiplicity.saturating_sub(held.copied().unwrap_or(0))
}

impl Fit<'_> {
    /// Held-out scores without a correction, by exact leave-one-out.
    fn left_out(&self, choices: &Choices) -> Vec<HeldOutScores> {
        let left_out = LeftOutBayes::new(&self.columns, choices, self.counts);
        let sample =
            Groups::new(self.documents).sample(self.max_held_out(), min_per_class(&self.columns)).weights;
        let reads_most = sample.len() > self.documents.len() / 2;
        let source =
            if reads_most { BlockReader::new(self.documents) } else { BlockReader::unread(self.documents) };
        let sampled = SampleTerms::new(&source, &sample);
        let score = |((document, _), at): (&(usize, f64), usize)| {
            let ((label, weight), terms) = (&sampled.labels[at], sampled.terms(at));
            let mut bayes = Vec::new();
            left_out.of(label.class, terms, &mut bayes);
            let held = HeldOut {
                document: *document,
                weight: *weight,
                known_terms: left_out.known_terms(terms),
                bayes,
                ..HeldOut::default()
            };
            HeldOutScores { held, decisions: vec![vec![0.0; self.columns.len()]] }
        };
        let is_scored = |HeldOutScores { held, .. }: &HeldOutScores| {
            self.columns.are_labels()
                || self.counts.totals()[usize::from(self.documents.label(held.document).class)].documents > 1
        };
        sample.par_iter().zip(0..sample.len()).map(score).filter(is_scored).collect()
    }

    /// As [`left_out`](Self::left_out), with all documents of a group left out together, by cross-validation.
    fn left_out_by_groups(&self, choices: &Choices) -> Vec<HeldOutScores> {
        let source = BlockReader::unread(self.documents);
        let score = |fold: &Fold| {
            let counts = forget_fold(self.counts, self.documents, fold.rows());
            self.score_held_out(choices, fold, &counts)
        };
        let scored = self
            .folds(&source, self.max_held_out(), self.n_folds())
            .par_iter()
            .map(score)
            .flatten()
            .collect::<Vec<_>>();
        let none = vec![0.0; self.columns.len()];
        let mut read: Vec<_> =
            scored.into_iter().map(|held| HeldOutScores { held, decisions: vec![none.clone()] }).collect();
        read.sort_by_key(|read| read.held.document);
        read
    }

    fn n_folds(&self) -> usize {
        if self.columns.are_labels() { FOLDS_OF_LABELS } else { FOLDS }
    }

    fn max_held_out(&self) -> usize {
        let [independent, others] = MAX_HELD_OUT;
        sample_size(if self.columns.are_independent() { independent } else { others }, &self.columns)
    }

    /// At most about `most` held-out documents, dealt into folds, of which none has more than one in `n` of all documents.
    fn folds(&self, source: &BlockReader<'_>, most: usize, n: usize) -> Vec<Fold> {
        let groups = Groups::new(self.documents);
        let sample = groups.sample(most, min_per_class(&self.columns));
        let n_folds = match self.documents.len() {
            ..=FEW => FOLDS_OF_FEW,
            _ => (n * sample.weights.len()).div_ceil(self.documents.len().max(1)),
        };
        let copies = |i: usize| self.documents.label(i).multiplicity;
        let whole = |fold: Vec<usize>| fold.into_iter().map(|i| (i, copies(i))).collect::<Vec<_>>();
        let (is_one, apart) = (n_folds < 2, self.documents.copies_are_apart());
        let part = |i: usize| (i, copies(i).div_ceil(FOLDS as u32));
        let all = || sample.weights.iter().map(|(i, _)| *i);
        let folds = match (is_one, apart) {
            (true, true) => vec![all().map(part).collect()],
            (true, false) => vec![whole(all().collect())],
            (false, true) => sample.groups.folds_of_copies(self.documents, n_folds),
            (false, false) => sample.groups.folds(n_folds).into_iter().map(whole).collect(),
        };
        let weight = |(i, held): &(usize, u32)| match sample.weights.binary_search_by_key(i, |(i, _)| *i) {
            // the held-out copies of a single fold stand for all copies
            Ok(at) => {
                let stand_for = if is_one { copies(*i) } else { *held };
                sample.weights[at].1 * source.weights.of(&self.documents.label(*i), stand_for)
            }
            Err(_) => 0.0,
        };
        let fold = |held: Vec<(usize, u32)>| {
            let (documents, copies): (Vec<_>, Vec<_>) = held.iter().copied().unzip();
            let rows = self.documents.rows(&documents);
            Fold { weights: held.iter().map(weight).collect(), rows, copies, documents }
        };
        folds.into_iter().filter(|fold| !fold.is_empty()).map(fold).collect()
    }

    /// idf of every term by `counts`, in nats; 0 for a term without counts.
    fn idf(&self, counts: &Statistics) -> Vec<f32> {
        let documents = counts.totals().iter().map(|totals| totals.documents).sum();
        let log_documents = log_documents(documents);
        let ids: Vec<TermId> = (0..=TermId::MAX).take(self.documents.n_terms()).collect();
        let idf = |term: &TermId| match counts.document_frequency(*term) {
            0 => 0.0,
            df => idf(df, log_documents) as f32,
        };
        ids.par_iter().with_min_len(1 << 12).map(idf).collect()
    }

    /// The counts' log-odds of each document and competing column, with the document itself left out. `counts` must be
    /// without the fold `held`.
    fn odds(
        &self,
        choices: &Choices,
        source: &BlockReader<'_>,
        competitors: &Competitors,
        counts: &Statistics,
        held: Option<&Fold>,
    ) -> Vec<f32> {
        let left_out = LeftOutBayes::new(&self.columns, choices, counts);
        let width = competitors.width();
        let mut odds = vec![0.0; self.documents.len() * width];
        source.for_all(|first, block| {
            let prepare = |(at, out): (usize, &mut [f32])| {
                let (terms, document) = (block.terms(at), first + at);
                let label = self.documents.label(document);
                if copies_left(held, document, &label) == 0 {
                    return;
                }
                left_out.offsets(label.class, terms, competitors.of(document), out);
            };
            let end = first + block.len();
            let out = odds[first * width..end * width].par_chunks_mut(width);
            out.with_min_len(64).enumerate().for_each(prepare);
        });
        odds
    }

    /// Scores the documents of `fold` by `counts`, which must be without them.
    fn score_held_out(&self, choices: &Choices, fold: &Fold, counts: &Statistics) -> Vec<HeldOut> {
        let totals = counts.totals();
        let Ok(scorer) =
            WeightedLogOdds::new(choices, &[], totals, counts.n_features() as u64, &self.columns)
        else {
            return Vec::new();
        };
        // with priors from the counts without the fold, a class would seem rarer just for its own documents
        let scorer = scorer.with_prior(priors(self.counts.totals(), &self.columns));
        let weighed = WeighedTerms::new(&scorer, counts, &fold.rows);
        let read = |(at, document): (usize, &usize)| {
            let label = self.documents.label(*document);
            let (mut readings, mut bayes) = (Readings::default(), Vec::new());
            let (mut terms, mut windows) = (CorrectedStatistics::new(counts, None), Vec::new());
            for window in self.documents.windows(*document) {
                let Ok(()) = scorer.read(&mut terms, window.row(), &mut readings);
                scorer.bayes(&readings, &mut bayes);
                windows.extend(bayes.first().filter(|_| readings.known_terms > 0).map(|b| [*b, 0.0]));
            }
            weighed.read(&scorer, &fold.rows[at], &mut readings);
            scorer.bayes(&readings, &mut bayes);
            let has_documents = |class: ClassId| totals[usize::from(class)].documents > 0;
            let is_scored = self.columns.are_labels()
                || has_documents(label.class)
                    && (!self.columns.is_one() || has_documents(0) && has_documents(1));
            HeldOut {
                document: *document,
                weight: if is_scored { fold.weights[at] } else { 0.0 },
                known_terms: readings.known_terms,
                correction: vec![0.0; bayes.len()],
                bayes,
                windows,
            }
        };
        fold.documents.par_iter().enumerate().map(read).collect()
    }
}

/// The weights of the terms of some documents, each derived once.
struct WeighedTerms {
    table: TermTable,
    /// The place of each term in the table.
    places: Vec<u32>,
}

impl WeighedTerms {
    fn new(scorer: &WeightedLogOdds, counts: &Statistics, rows: &[CountVector]) -> Self {
        let mut table = TermTable::new(scorer.n_sums());
        let mut places = vec![TermTable::NOTHING; counts.n_terms()];
        let (mut terms, mut entry) = (CorrectedStatistics::new(counts, None), TermEntry::default());
        for id in rows.iter().flat_map(|row| row.row().ids()) {
            let Some(place) = places.get_mut(*id as usize).filter(|place| **place == TermTable::NOTHING)
            else {
                continue;
            };
            let Ok(term) = terms.term(*id);
            scorer.weigh_term(term, &mut entry);
            // a table that is full has 32 GiB
            *place = table.push(&entry).unwrap_or(TermTable::NOTHING);
        }
        WeighedTerms { table, places }
    }

    /// Writes the scores of one of the documents to `out`.
    fn read(&self, scorer: &WeightedLogOdds, row: &CountVector, out: &mut Readings) {
        let mut sums = DocumentSums::default();
        sums.begin(scorer.n_sums());
        let place = |id: TermId| self.places.get(id as usize).copied().unwrap_or(TermTable::NOTHING);
        self.table.accumulate(row.row().iter().map(|(id, tf)| (place(id), scorer.amount(tf))), &mut sums);
        scorer.read_sums(&sums, out);
    }
}
