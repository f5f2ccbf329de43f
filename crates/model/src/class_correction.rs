use std::borrow::Cow;
use std::convert::Infallible;

use tamis_tokenizer::{CountRow, TermId};

use crate::cells::{Cells, ClassCell};
use crate::class_rows::{Values, Weights};
use crate::lessons::{Lesson, Lessons, Prepared, keep_rivals, scale};
use crate::logs::sigmoid;
use crate::random::SplitMix64;
use crate::ranks::Ranks;
use crate::transform::{idf, log_documents, log_tf};
use crate::{
    ClassId, ClassWeights, CorrectionOptions, Counts, Labelled, OneAgainstRest, Statistics, StatisticsError,
};

/// What counting cannot see, learned on top of [`OneAgainstRest`]: a logistic weight a term and class that makes
/// up for terms that occur together, and that counting takes for independent evidence.
///
/// As in [`Correction`](crate::Correction), every step of learning adds one and the same coefficient to all terms
/// of one document, here for each of a few classes: its own and those that compete with it. So the weights are an
/// exact sum over documents of a few fixed-point coefficients each, [`add`](Self::add)ing the negative of one
/// forgets it, and memory grows with the terms of the documents, not with terms x classes.
#[derive(Clone, Debug, Default)]
pub struct ClassCorrection {
    cells: Cells<ClassWeight>,
}

/// A weight of a term, or a coefficient of a document, for one class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClassWeight {
    /// The class.
    pub class: ClassId,
    /// The weight in fixed point, [`ONE`](Self::ONE) standing for 1 nat. Sums wrap round, so that taking away what
    /// was added is exact without exception.
    pub units: i32,
}

impl ClassWeight {
    /// The units that stand for 1: 2^16.
    pub const ONE: i32 = 1 << 16;

    /// The weight as a real number.
    pub fn value(self) -> f64 {
        f64::from(self.units) / f64::from(Self::ONE)
    }
}

impl ClassCell for ClassWeight {
    fn class(&self) -> ClassId {
        self.class
    }

    fn plus(self, _: TermId, other: Self) -> Result<Self, StatisticsError> {
        Ok(ClassWeight { units: self.units.wrapping_add(other.units), ..self })
    }
}

/// A class that a document is not of learns from it only if it seems more likely than 0.05; as log-odds, nats.
const COMPETES: f64 = -2.944_438_979_166_440_3;

/// Copies of one document beyond this many teach nothing more.
const MAX_COPIES: u32 = 1_000;

impl ClassCorrection {
    /// No correction: all weights 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the coefficient to the weight of every term of the document, whatever its count, for its class.
    ///
    /// # Errors
    /// More weights than a `u32` can number; some terms may have got theirs.
    pub fn add(&mut self, row: CountRow<'_>, coefficient: ClassWeight) -> Result<(), StatisticsError> {
        row.ids().iter().try_for_each(|&term| self.cells.add(term, coefficient))
    }

    /// The weights of a term that are not 0, in increasing class order.
    pub fn weights(&self, term: TermId) -> impl Iterator<Item = ClassWeight> + '_ {
        self.cells.get(term).iter().copied().filter(|weight| weight.units != 0)
    }
}

impl PartialEq for ClassCorrection {
    fn eq(&self, other: &Self) -> bool {
        let n_terms = self.cells.n_terms().max(other.cells.n_terms());
        (0..=TermId::MAX).take(n_terms).all(|term| self.weights(term).eq(other.weights(term)))
    }
}

impl ClassWeights for ClassCorrection {
    type Error = Infallible;

    fn for_each_weight(&self, term: TermId, mut visit: impl FnMut(ClassId, f64)) -> Result<(), Infallible> {
        self.cells.get(term).iter().for_each(|weight| visit(weight.class, weight.value()));
        Ok(())
    }
}

/// Fits a correction to learned documents: `passes` times over all of them in random order, each copy by itself
/// (at most 1,000 copies of a document), one logistic regression a class over their exact leave-one-out scores
/// (of the 32 classes that score highest, and the document's own).
///
/// Returns the correction and the coefficients of each document, in increasing class order. The weights are exactly
/// the sum of the coefficients at the terms of their documents. The same documents in the same order give the same
/// result, whatever the number of threads. `counts` and `scorer` must be of these documents at least.
///
/// ```
/// use tamis_model::{Counts, CorrectionOptions, Labelled, OneAgainstRest, Smoothing, Statistics, fit_class_correction};
/// use tamis_tokenizer::CountVector;
///
/// let rows = [[(0, 1), (3, 1)], [(0, 1), (4, 1)], [(1, 1), (3, 1)], [(1, 1), (4, 1)], [(2, 1), (3, 1)], [(2, 1), (4, 1)]];
/// let rows = rows.map(CountVector::from_pairs).into_iter().collect::<Result<Vec<_>, _>>()?;
/// let document = |i: usize| Labelled { row: rows[i].row(), class: i as u16 / 2, multiplicity: 1, group: i as u64 };
/// let documents: Vec<_> = (0..6).map(document).collect();
/// let mut statistics = Statistics::new(3);
/// for d in &documents {
///     statistics.observe(d.class, d.row)?;
/// }
/// let scorer = OneAgainstRest::new(Smoothing::try_from(0.1)?, statistics.totals(), 5)?;
/// let options = CorrectionOptions::for_topics();
/// let (correction, coefficients) = fit_class_correction(&scorer, &statistics, &documents, &options)?;
/// assert!(correction.weights(0).any(|weight| weight.class == 0 && weight.units > 0));
/// assert_eq!(coefficients.len(), 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// More weights than a `u32` can number.
pub fn fit_class_correction(
    scorer: &OneAgainstRest,
    counts: &Statistics,
    documents: &[Labelled<'_>],
    options: &CorrectionOptions,
) -> Result<(ClassCorrection, Vec<Vec<ClassWeight>>), StatisticsError> {
    Course::new(scorer, counts, documents.into()).teach(options)
}

/// Documents made ready to teach a correction.
pub(crate) struct Course<'a> {
    documents: Cow<'a, [Labelled<'a>]>,
    n_classes: usize,
    ranks: Ranks,
    lessons: Prepared,
}

impl<'a> Course<'a> {
    /// Prepares, in parallel, what stays the same from pass to pass.
    pub(crate) fn new(
        scorer: &OneAgainstRest,
        counts: &Statistics,
        documents: Cow<'a, [Labelled<'a>]>,
    ) -> Self {
        let ranks = Ranks::new(counts, &documents);
        let lessons = Lessons::new(scorer, counts, &ranks).of(&documents);
        Course { documents, n_classes: scorer.n_classes(), ranks, lessons }
    }

    /// Goes through the documents, one after the other, as often as the options say.
    pub(crate) fn teach(
        &self,
        options: &CorrectionOptions,
    ) -> Result<(ClassCorrection, Vec<Vec<ClassWeight>>), StatisticsError> {
        let Course { documents, n_classes, ranks, lessons } = self;
        let copies =
            |(i, d): (usize, &Labelled<'_>)| std::iter::repeat_n(i, d.multiplicity.min(MAX_COPIES) as usize);
        let mut order: Vec<usize> = documents.iter().enumerate().flat_map(copies).collect();
        let mut random = SplitMix64::new(options.seed);
        let values = Values::new(*n_classes);
        let weights = Weights::new(*n_classes, ranks.terms().len());
        let bias = bias(*n_classes);
        let mut fit = Fit { options, weights, values, steps: Vec::new(), bias };
        let mut coefficients = vec![Vec::new(); documents.len()];
        for _ in 0..options.passes {
            random.shuffle(&mut order);
            for &i in &order {
                fit.learn(&documents[i], lessons.get(i), &mut coefficients[i])?;
            }
        }
        Ok((ClassCorrection { cells: fit.weights.into_cells(ranks.terms())? }, coefficients))
    }
}

/// The coefficients that one more document teaches a correction, in increasing class order, given the weights so far:
/// one step of [`fit_class_correction`] for weights that are kept elsewhere. The document must not have been counted.
///
/// # Errors
/// Reading counts or weights fails.
pub fn class_correction_step<C: Counts, W: ClassWeights<Error = C::Error>>(
    scorer: &OneAgainstRest,
    counts: &C,
    weights: &W,
    options: &CorrectionOptions,
    row: CountRow<'_>,
    own: ClassId,
) -> Result<Vec<ClassWeight>, C::Error> {
    let mut scores = Vec::new();
    scorer.corrected_scores(counts, weights, options.mix, row, &mut scores)?;
    let mut ranked: Vec<(ClassId, f64)> = (0..=ClassId::MAX).zip(scores).collect();
    keep_rivals(&mut ranked, own);
    let (mut square, all) = (0.0, log_documents(scorer.documents()));
    for (term, tf) in row.iter() {
        let df = counts.document_frequency(term)?;
        let v = if df == 0 { 0.0 } else { log_tf(tf) * idf(df, all) };
        square += v * v;
    }
    let scale = scale(square);
    let bias = bias(scorer.n_classes());
    let step = |(class, score)| options.class_step(class, class == own, score - bias, scale);
    Ok(ranked.into_iter().filter_map(step).collect())
}

impl CorrectionOptions {
    /// What a document teaches a class, given its corrected log-odds; nothing if the document is of another class and
    /// clearly so.
    fn class_step(&self, class: ClassId, is_own: bool, z: f64, scale: f64) -> Option<ClassWeight> {
        if !is_own && z < COMPETES {
            return None;
        }
        let error = if is_own { sigmoid(-z) } else { -sigmoid(z) };
        let step = self.rate * error * scale * f64::from(ClassWeight::ONE);
        // the cast saturates, and takes the NaN of options that were not checked to 0
        Some(ClassWeight { class, units: step.round() as i32 })
    }
}

/// The log-odds of a class among equals (nats): without them every rival seems to compete at first.
fn bias(n_classes: usize) -> f64 {
    (n_classes.max(2) as f64 - 1.0).ln()
}

struct Fit<'a> {
    options: &'a CorrectionOptions,
    weights: Weights,
    /// What the correction adds to the document's score for each class, before scaling.
    values: Values,
    /// What the document teaches each class, in increasing order; empty between documents.
    steps: Vec<ClassWeight>,
    /// What is taken off every score, in nats.
    bias: f64,
}

impl Fit<'_> {
    /// A step of logistic regression for each class that the document teaches.
    fn learn(
        &mut self,
        document: &Labelled<'_>,
        lesson: Lesson<'_>,
        coefficients: &mut Vec<ClassWeight>,
    ) -> Result<(), StatisticsError> {
        self.weights.read(lesson.ranks, lesson.factors, &mut self.values);
        let values = self.values.as_slice();
        for &(class, score) in lesson.scores {
            let z = self.options.mix * score + values[usize::from(class)] * lesson.scale - self.bias;
            let is_own = class == document.class;
            let Some(step) = self.options.class_step(class, is_own, z, lesson.scale) else { continue };
            self.steps.push(step);
            match coefficients.binary_search_by_key(&class, |c| c.class) {
                Ok(at) => coefficients[at].units = coefficients[at].units.wrapping_add(step.units),
                Err(at) => coefficients.insert(at, step),
            }
        }
        self.weights.add(lesson.ranks, &self.steps)?;
        self.steps.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tamis_tokenizer::CountVector;

    use super::*;
    use crate::Smoothing;

    fn learned(rows: &[(u16, CountVector)]) -> (Statistics, Vec<Labelled<'_>>) {
        let mut statistics = Statistics::new(40);
        let mut documents = Vec::new();
        for (i, (class, row)) in rows.iter().enumerate() {
            let multiplicity = 1 + i as u32 % 2;
            documents.push(Labelled { row: row.row(), class: *class, multiplicity, group: i as u64 });
        }
        documents.iter().for_each(|d| statistics.observe_times(d.class, d.row, d.multiplicity).unwrap());
        (statistics, documents)
    }

    proptest! {
        #[test]
        fn weights_are_the_sum_of_the_coefficients(
            rows in proptest::collection::vec((0u16..40, proptest::collection::btree_map(0u32..30, 1u32..5, 0..8)), 1..40)
        ) {
            let rows: Vec<_> = rows.into_iter().map(|(c, r)| (c, CountVector::from_pairs(r).unwrap())).collect();
            let (statistics, documents) = learned(&rows);
            let alpha = Smoothing::try_from(0.1).unwrap();
            let scorer =
                OneAgainstRest::new(alpha, statistics.totals(), statistics.n_features() as u64).unwrap();
            let options = CorrectionOptions::for_topics();
            let (correction, coefficients) =
                fit_class_correction(&scorer, &statistics, &documents, &options).unwrap();
            let mut summed = ClassCorrection::new();
            for (document, coefficients) in documents.iter().zip(&coefficients).rev() {
                prop_assert!(coefficients.windows(2).all(|pair| pair[0].class < pair[1].class));
                for coefficient in coefficients {
                    summed.add(document.row, *coefficient).unwrap();
                }
            }
            prop_assert_eq!(&summed, &correction);
            // and taken away again nothing remains
            for (document, coefficients) in documents.iter().zip(&coefficients) {
                for c in coefficients {
                    summed.add(document.row, ClassWeight { units: c.units.wrapping_neg(), ..*c }).unwrap();
                }
            }
            prop_assert_eq!(summed, ClassCorrection::new());
        }
    }
}
