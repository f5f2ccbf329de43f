//! Smoothing and idf power, chosen by a grid search with exact leave-one-out.

use rayon::prelude::*;
use tamis_tokenizer::CountVector;

use crate::bayes::Smoothing;
use crate::counts::{Counts, Statistics};
use crate::linear::{Choices, Columns, SmoothingTrial, WeightedOptions, priors};
use crate::validation::copies::Copies;
use crate::validation::documents::{Block, BlockRow, Documents};
use crate::validation::folds::Groups;
use crate::validation::left_out::LeaveOneOut;
use crate::validation::predictions::Targets;
use crate::validation::reader::BlockReader;
use crate::validation::stacking::StackingInput;
use crate::validation::two_classes::{MOST_ALPHAS, MOST_POWERS, Points};

/// Smoothing and idf power of a [`WeightedLogOdds`](crate::WeightedLogOdds), chosen by leave-one-out.
#[derive(Clone, Debug, PartialEq)]
pub struct SmoothingChoice {
    /// The smoothing.
    pub alpha: Smoothing,
    /// The power of idf.
    pub idf_power: f64,
    /// k0 and k1, see [`Choices::bayes`].
    pub bayes: [f64; 2],
    /// Every smoothing and power tried; empty if documents were too few to choose.
    pub tried: Vec<SmoothingTrial>,
    /// Log loss and weight of each sampled document, with the chosen smoothing and power.
    pub losses: Vec<WeightedLoss>,
}

/// The log loss of a document that stands for several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightedLoss {
    /// The log loss, in nats.
    pub loss: f64,
    /// The number of documents it stands for.
    pub weight: f64,
}

/// The smoothings to choose from.
const ALPHAS: [f64; MOST_ALPHAS] = [0.03, 0.1, 0.3, 1.0, 3.0];
/// The powers of idf to choose from.
const POWERS: [f64; MOST_POWERS] = [0.0, 0.5, 1.0];

/// Maximum sample size: of classes, and of labels, each of which is predicted for every document.
const MAX_SAMPLE: [usize; 2] = [3_000, 1_000];
/// Documents of the sample reserved for rare classes, all classes together.
const MIN_RARE: usize = 1_500;
/// All documents are scored only if they need at most this many scores.
const MAX_SCORES: usize = 1 << 18;
/// Maximum number of scores of a sample at one point of the grid. Memory holds them for each point scored together.
const MAX_SAMPLE_SCORES: usize = 1 << 21;

/// The sample size of a fit: at most `most`, fewer with very many classes, but at least 200.
pub(crate) fn sample_size(most: usize, columns: &Columns) -> usize {
    most.min(MAX_SAMPLE_SCORES / columns.len()).max(200)
}

/// Minimum number of documents per class in a sample.
pub(crate) fn min_per_class(columns: &Columns) -> usize {
    MIN_RARE / columns.n_classes()
}

impl SmoothingChoice {
    /// Searches a grid of five smoothings and three powers by exact leave-one-out, unless the options fix them. Of the
    /// points within one standard error (of the paired difference) of the best, takes the one nearest to the default.
    /// Scores a stratified sample of about 3,000 documents (1,000 of many labels), rare classes oversampled and weighted.
    /// With more than two classes, a third of it first rules out the points that are far from the best. The search
    /// then fits k to all documents, unless that takes more than 262,144 scores. `counts` must include these documents.
    /// The result is the same for any number of threads.
    pub fn new(
        counts: &Statistics,
        documents: &dyn Documents,
        columns: &Columns,
        options: &WeightedOptions,
    ) -> SmoothingChoice {
        Self::search(counts, documents, columns, options, None)
    }

    /// As [`new`](Self::new), but tries only the points of the grid next to this choice: for the same documents with other
    /// terms.
    pub fn near(
        &self,
        counts: &Statistics,
        documents: &dyn Documents,
        columns: &Columns,
        options: &WeightedOptions,
    ) -> SmoothingChoice {
        Self::search(counts, documents, columns, options, Some(self))
    }

    fn search(
        counts: &Statistics,
        documents: &dyn Documents,
        columns: &Columns,
        options: &WeightedOptions,
        around: Option<&SmoothingChoice>,
    ) -> SmoothingChoice {
        let reads_all = documents.len() * columns.len() <= MAX_SCORES;
        let source = if reads_all { BlockReader::new(documents) } else { BlockReader::unread(documents) };
        // what is learned twice from beginning to end is smoothed twice as much
        let usual = source.repeats.usual.max(1.0);
        let usually = |alpha: f64| Smoothing::try_from(alpha * usual).ok();
        let mut default = Choices::for_columns(columns);
        default.alpha = usually(default.alpha.alpha()).unwrap_or(default.alpha);
        let default = default.fixed_by(options);
        let Choices { alpha, idf_power, bayes, .. } = default;
        let mut choice = SmoothingChoice { alpha, idf_power, bayes, tried: Vec::new(), losses: Vec::new() };
        // the steps of the grid are 1.2 or less in ln alpha, and 0.5
        let is_near = |at: f64, of: fn(&SmoothingChoice) -> f64, most: f64| {
            around.is_none_or(|around| (at - of(around)).abs() < most)
        };
        // 0.03 to 3 are in range
        let alphas: Vec<Smoothing> = match options.alpha {
            Some(alpha) => vec![alpha],
            None => ALPHAS
                .into_iter()
                .filter_map(usually)
                .filter(|alpha| is_near(alpha.alpha().ln(), |it| it.alpha.alpha().ln(), 1.5))
                .collect(),
        };
        let mut powers = options.idf_power.map_or(POWERS.to_vec(), |power| vec![power]);
        powers.retain(|power| is_near(*power, |it| it.idf_power, 0.75));
        let most = sample_size(MAX_SAMPLE[usize::from(columns.are_labels())], columns);
        let sample = Groups::new(documents).sample(most, min_per_class(columns)).weights;
        let sample = SampleTerms::new(&source, &sample);
        let grid = Grid { counts, columns, default: default.bayes };
        let each = grid.search(&Points { alphas, powers }, &sample);
        let tried = |(alpha, power, fitted): &GridFit| SmoothingTrial {
            alpha: *alpha,
            idf_power: *power,
            loss: fitted.2,
        };
        if each.iter().any(|(.., (_, losses, _))| losses.is_empty()) {
            // no document can be left out
            return choice;
        }
        choice.tried = each.iter().map(tried).collect();
        let distance = |alpha: Smoothing, power: f64| {
            (alpha.alpha() / default.alpha.alpha()).ln().abs() / 3f64.ln()
                + 2.0 * (power - default.idf_power).abs()
        };
        // not those that were fitted to some of the sample only
        let most = each.iter().map(|(.., fitted)| fitted.1.len()).max();
        let of_all = || each.iter().filter(|(.., fitted)| Some(fitted.1.len()) == most);
        if let Some((.., best)) = of_all().min_by(|(.., (.., a)), (.., (.., b))| a.total_cmp(b)) {
            let as_good = of_all().filter(|(.., fitted)| !is_worse(&fitted.1, &best.1));
            let nearest = as_good.min_by(|a, b| distance(a.0, a.1).total_cmp(&distance(b.0, b.1)));
            if let Some((alpha, power, (bayes, losses, _))) = nearest {
                (choice.alpha, choice.idf_power, choice.bayes, choice.losses) =
                    (*alpha, *power, *bayes, losses.clone());
            }
        }
        if reads_all && documents.len() > sample.documents.len() {
            choice.bayes = grid.fit_all(Points::one(choice.alpha, choice.idf_power), &source);
        }
        choice
    }
}

/// Whether `losses` are worse than `others` of the same documents by more than one standard error of the mean paired
/// difference. Uses the weights of `losses`.
///
/// ```
/// use tamis_model::{WeightedLoss, is_worse};
///
/// let good = [0.1, 0.3, 0.2].map(|loss| WeightedLoss { loss, weight: 1.0 });
/// let bad = good.map(|of| WeightedLoss { loss: of.loss + 0.1, ..of });
/// assert!(is_worse(&bad, &good) && !is_worse(&good, &bad));
/// assert!(!is_worse(&good, &good));
/// ```
#[doc(hidden)]
pub fn is_worse(losses: &[WeightedLoss], others: &[WeightedLoss]) -> bool {
    is_worse_by(1.0, losses, others)
}

/// As [`is_worse`], by more than `errors` standard errors.
#[doc(hidden)]
pub fn is_worse_by(errors: f64, losses: &[WeightedLoss], others: &[WeightedLoss]) -> bool {
    let [mean, error] = paired_difference(losses, others);
    mean > errors * error
}

/// The mean difference of `losses` from `others` of the same documents, and its standard error. Uses the weights of `losses`.
///
/// ```
/// use tamis_model::{WeightedLoss, paired_difference};
///
/// let losses = |losses: [f64; 2]| losses.map(|loss| WeightedLoss { loss, weight: 1.0 });
/// assert_eq!(paired_difference(&losses([3.0, 2.0]), &losses([1.0, 2.0])), [1.0, 0.5_f64.sqrt()]);
/// ```
pub fn paired_difference(losses: &[WeightedLoss], others: &[WeightedLoss]) -> [f64; 2] {
    let all: f64 = losses.iter().map(|of| of.weight).sum();
    let differences = || losses.iter().zip(others).map(|(a, b)| (a.loss - b.loss, a.weight));
    let mean = differences().map(|(difference, weight)| difference * weight).sum::<f64>() / all;
    let squares = differences().map(|(difference, weight)| (weight * (difference - mean)).powi(2));
    [mean, squares.sum::<f64>().sqrt() / all]
}

/// k, the weighted losses of the documents, and their mean.
type PointFit = ([f64; 2], Vec<WeightedLoss>, f64);

/// The fit at a point of the grid.
type GridFit = (Smoothing, f64, PointFit);

/// The grid is first tried on every third document of the sample.
const ROUGHLY: usize = 3;
/// Points that are worse there by this many standard errors are not tried on the others.
const FAR_WORSE: f64 = 3.0;
/// A sample of fewer documents is used whole at once.
const LEAST_ROUGHLY: usize = 900;

/// A document of a sample: its copies, and its weight.
#[derive(Clone)]
pub(crate) struct Sampled {
    pub(crate) copies: Copies,
    pub(crate) weight: f64,
}

impl Sampled {
    fn new(source: &BlockReader<'_>, document: usize, sampling: f64) -> Sampled {
        let copies = source.copies(document);
        Sampled { copies, weight: sampling * source.weight(document) }
    }
}

/// A sample of documents: labels, weights and terms.
pub(crate) struct SampleTerms<'a> {
    pub(crate) documents: Vec<Sampled>,
    source: &'a BlockReader<'a>,
    /// Their numbers in `source`.
    numbers: Vec<usize>,
    /// Their terms, if `source` does not keep documents in memory.
    own: Block,
}

impl<'a> SampleTerms<'a> {
    pub(crate) fn new(source: &'a BlockReader<'a>, sample: &[(usize, f64)]) -> SampleTerms<'a> {
        let documents = source.documents;
        let numbers: Vec<_> = sample.iter().map(|(i, _)| *i).collect();
        let rows = if source.is_kept() { Vec::new() } else { documents.rows(&numbers) };
        SampleTerms {
            documents: sample.iter().map(|(i, sampling)| Sampled::new(source, *i, *sampling)).collect(),
            source,
            numbers,
            own: Block::from_rows(rows.iter().map(CountVector::row)),
        }
    }

    pub(crate) fn terms(&self, at: usize) -> BlockRow<'_> {
        self.source.kept(self.numbers[at]).unwrap_or_else(|| self.own.terms(at))
    }
}

/// The grid search.
pub(crate) struct Grid<'a> {
    pub(crate) counts: &'a Statistics,
    pub(crate) columns: &'a Columns,
    pub(crate) default: [f64; 2],
}

/// Number of documents that a thread scores at a time.
const CHUNK: usize = 64;

impl Grid<'_> {
    /// Fits k at each grid point to the leave-one-out scores of a sample; where these are of more than two classes, only
    /// to some of them if the point is far from the best.
    fn search(&self, points: &Points, sample: &SampleTerms<'_>) -> Vec<GridFit> {
        // two classes look up a term once for all smoothings; with more classes that takes too much memory
        if self.columns.is_one() {
            return self.fit(points, sample, 1);
        }
        // one smoothing after another, since each holds the scores of its points
        let one = |alpha: Smoothing, powers: Vec<f64>| Points { alphas: vec![alpha], powers };
        let rough = |alpha: &Smoothing| self.fit(&one(*alpha, points.powers.clone()), sample, ROUGHLY);
        let rough: Vec<GridFit> = match sample.documents.len() {
            ..LEAST_ROUGHLY => Vec::new(),
            _ => points.alphas.iter().flat_map(rough).collect(),
        };
        let best = rough.iter().min_by(|a, b| a.2.2.total_cmp(&b.2.2));
        let is_far = |fit: &&GridFit| best.is_some_and(|best| is_worse_by(FAR_WORSE, &fit.2.1, &best.2.1));
        let mut fits: Vec<GridFit> = rough.iter().filter(is_far).cloned().collect();
        for alpha in &points.alphas {
            let is_left = |power: &f64| !fits.iter().any(|(a, p, _)| (a, p) == (alpha, power));
            let powers: Vec<f64> = points.powers.iter().copied().filter(is_left).collect();
            if !powers.is_empty() {
                fits.extend(self.fit(&one(*alpha, powers), sample, 1));
            }
        }
        fits.sort_by(|a, b| a.0.alpha().total_cmp(&b.0.alpha()).then(a.1.total_cmp(&b.1)));
        fits
    }

    /// Fits k at each grid point to the leave-one-out scores of one in `every` documents of a sample.
    pub(crate) fn fit(&self, points: &Points, sample: &SampleTerms<'_>, every: usize) -> Vec<GridFit> {
        let mut of_points = vec![self.targets().input(2); points.len()];
        let left_out = LeaveOneOut::new(points.clone(), self.counts, self.columns);
        let document = |at: usize| (sample.documents[every * at].clone(), sample.terms(every * at));
        self.score(&left_out, sample.documents.len().div_ceil(every), document, &mut of_points);
        let fit = |parts: &StackingInput| {
            let bayes = self.bayes(parts);
            let losses = parts.losses(&bayes);
            let mean = parts.mean(&losses);
            let losses = losses.into_iter().zip(parts.weights());
            (bayes, losses.map(|(loss, weight)| WeightedLoss { loss, weight }).collect(), mean)
        };
        let fits: Vec<PointFit> = of_points.par_iter().map(fit).collect();
        points.iter().zip(fits).map(|((alpha, power), fit)| (alpha, power, fit)).collect()
    }

    /// Fits k to the leave-one-out scores of all documents.
    fn fit_all(&self, point: Points, source: &BlockReader<'_>) -> [f64; 2] {
        let mut parts = [self.targets().input(2)];
        let left_out = LeaveOneOut::new(point, self.counts, self.columns);
        source.for_all(|first, block| {
            let document = |at: usize| {
                let document = first + at;
                (Sampled::new(source, document, 1.0), block.terms(at))
            };
            self.score(&left_out, block.len(), document, &mut parts);
        });
        self.bayes(&parts[0])
    }

    /// Adds the leave-one-out scores of `n_documents` documents to the parts of each grid point.
    fn score<'d>(
        &self,
        left_out: &LeaveOneOut<'_>,
        n_documents: usize,
        document: impl Fn(usize) -> (Sampled, BlockRow<'d>) + Sync,
        parts: &mut [StackingInput],
    ) {
        let (prior, targets) = (priors(self.counts.totals(), self.columns), self.targets());
        let (n_points, numbers) = (parts.len(), (0..n_documents).collect::<Vec<_>>());
        let score = |of: &[usize]| {
            let mut scores = vec![Vec::new(); n_points];
            let mut parts = vec![targets.input(2); n_points];
            for at in of {
                let (Sampled { copies, weight }, terms) = document(*at);
                left_out.scores(terms, &copies, &mut scores);
                let is_scored = !terms.is_empty() && (self.columns.are_labels() || self.has_others(&copies));
                let weight = if is_scored { weight } else { 0.0 };
                for (parts, scores) in parts.iter_mut().zip(&scores) {
                    let both = scores.iter().zip(&prior).flat_map(|(score, prior)| [*score, *prior]);
                    targets.push(parts, both, copies.own, weight);
                }
            }
            parts
        };
        let scored: Vec<Vec<StackingInput>> = numbers.par_chunks(CHUNK).map(score).collect();
        for of_points in scored {
            parts.iter_mut().zip(of_points).for_each(|(parts, others)| parts.append(others));
        }
    }

    fn targets(&self) -> Targets<'_> {
        Targets::new(self.columns, self.counts.totals())
    }

    fn bayes(&self, parts: &StackingInput) -> [f64; 2] {
        let fitted = parts.fit(&self.default, 0);
        if fitted[0] > 0.0 { [fitted[0], fitted[1]] } else { self.default }
    }

    /// Whether the document's class has other documents, so that the class is known without it.
    fn has_others(&self, copies: &Copies) -> bool {
        let of_class = self.counts.totals().get(usize::from(copies.own));
        of_class.is_some_and(|totals| totals.documents > copies.of_class(copies.own))
    }
}
