use rayon::prelude::*;
use tamis_tokenizer::CountVector;

use crate::bayes::smoothing::Smoothing;
use crate::counts::counts::{ClassTotals, Counts};
use crate::counts::statistics::Statistics;
use crate::left_out::documents::{Block, BlockReader, DocumentTerms, Documents, Label};
use crate::left_out::folds::Groups;
use crate::left_out::leave_one_out::LeaveOneOut;
use crate::left_out::leave_one_out::points::{MOST_ALPHAS, MOST_POWERS, Points};
use crate::left_out::stacking::StackingInput;
use crate::linear::choices::{Choices, WeightedOptions};
use crate::linear::columns::Columns;
use crate::linear::weighted::log_share;

/// Smoothing and idf power of a [`WeightedLogOdds`](crate::WeightedLogOdds), as leaving out each document by itself finds them
/// best.
#[derive(Clone, Debug, PartialEq)]
pub struct SmoothingChoice {
    /// The smoothing.
    pub alpha: Smoothing,
    /// The power of idf.
    pub idf_power: f64,
    /// k0 and k1, see [`Choices::bayes`].
    pub bayes: [f64; 2],
    /// The mean log loss, in nats a document, of every smoothing and power that was tried; none where there were too few documents to
    /// choose by.
    pub tried: Vec<(Smoothing, f64, f64)>,
    /// By the best of them, the log loss of the documents asked, in nats, and how many each stands for.
    pub losses: Vec<(f64, f64)>,
}

/// The smoothings to choose from.
const ALPHAS: [f64; MOST_ALPHAS] = [0.03, 0.1, 0.3, 1.0, 3.0];
/// The powers of idf to choose from.
const POWERS: [f64; MOST_POWERS] = [0.0, 0.5, 1.0];

/// The most documents that are asked.
const SAMPLE: usize = 3_000;
/// As many documents of rare classes, all together, are asked at least.
const LEAST: usize = 1_500;
/// The most scores that are held at a time.
const SCORES: usize = 1 << 22;

/// As many of the documents as a fit should ask, at most `most`: fewer where there are very many classes.
pub(crate) fn sample_size(most: usize, columns: Columns) -> usize {
    most.min(SCORES / columns.len()).max(100)
}

/// How many documents of a class a sample has at least.
pub(crate) fn least_of_class(columns: Columns) -> usize {
    LEAST / columns.n_classes()
}

/// Whether there are documents enough to choose anything by: of two classes 50 different ones of each, of more 200 in all, and 10 a
/// class on average.
pub fn enough_to_choose(documents: &dyn Documents, n_classes: usize) -> bool {
    let is_of = |class: usize| move |i: &usize| usize::from(documents.label(*i).class) == class;
    let of = |class: usize| (0..documents.len()).filter(is_of(class)).count();
    match n_classes {
        2 => (0..2).all(|class| of(class) >= 50),
        _ => documents.len() >= 200 && documents.len() >= 10 * n_classes,
    }
}

impl SmoothingChoice {
    /// Chooses by exact leave-one-out, among five smoothings and three powers unless the options fix them: of those that are as good
    /// as the best, to one standard error of the paired difference, the one nearest to what is taken by default. Of so many documents at
    /// most 3,000 are asked, more of rare classes than is their share, each counting for those it stands for; k of the chosen
    /// ones is then fitted to all documents, unless they have more than 4,194,304 scores. `counts` must be of these documents at least.
    /// The same for any number of threads.
    pub fn new(
        counts: &Statistics,
        documents: &dyn Documents,
        columns: Columns,
        options: &WeightedOptions,
    ) -> SmoothingChoice {
        let default = Choices::for_classes(columns.n_classes()).fixed_by(options);
        let Choices { alpha, idf_power, bayes, .. } = default;
        let mut choice = SmoothingChoice { alpha, idf_power, bayes, tried: Vec::new(), losses: Vec::new() };
        if !enough_to_choose(documents, columns.n_classes()) {
            return choice;
        }
        // 0.03 to 3 are in range
        let alphas: Vec<Smoothing> = match options.alpha {
            Some(alpha) => vec![alpha],
            None => ALPHAS.into_iter().filter_map(|alpha| Smoothing::try_from(alpha).ok()).collect(),
        };
        let powers = options.idf_power.map_or(POWERS.to_vec(), |power| vec![power]);
        let sample =
            Groups::new(documents).sample(sample_size(SAMPLE, columns), least_of_class(columns)).weights;
        let asks_all = documents.len() * columns.len() <= SCORES;
        let source = if asks_all { BlockReader::new(documents) } else { BlockReader::unread(documents) };
        let sample = Asked::new(&source, &sample);
        let grid = Grid { counts, columns, default: default.bayes };
        // two classes look at each term once for all smoothings, more would need much memory
        let together = if columns.is_one() { alphas.len() } else { 1 };
        let fit = |alphas: &[Smoothing]| {
            let points = Points { alphas: alphas.to_vec(), powers: powers.clone() };
            let each: Vec<_> = points.iter().collect();
            let fitted = each.into_iter().zip(grid.fit(points, &sample));
            fitted.map(|((alpha, power), fitted)| (alpha, power, fitted)).collect::<Vec<_>>()
        };
        let each: Vec<_> = alphas.par_chunks(together).flat_map(fit).collect();
        choice.tried = each.iter().map(|(alpha, power, (.., loss))| (*alpha, *power, *loss)).collect();
        let distance = |alpha: Smoothing, power: f64| {
            (alpha.alpha() / default.alpha.alpha()).ln().abs() / 3f64.ln()
                + 2.0 * (power - default.idf_power).abs()
        };
        if let Some((.., best)) = each.iter().min_by(|(.., (.., a)), (.., (.., b))| a.total_cmp(b)) {
            let as_good = each.iter().filter(|(.., fitted)| !is_worse(&fitted.1, &best.1));
            let nearest = as_good.min_by(|a, b| distance(a.0, a.1).total_cmp(&distance(b.0, b.1)));
            if let Some((alpha, power, (bayes, losses, _))) = nearest {
                (choice.alpha, choice.idf_power, choice.bayes, choice.losses) =
                    (*alpha, *power, *bayes, losses.clone());
            }
        }
        if asks_all && documents.len() > sample.labels.len() {
            choice.bayes = grid.fit_all(Points::one(choice.alpha, choice.idf_power), &source);
        }
        choice
    }
}

/// Whether losses are worse than others of the same documents, by more than one standard error of the mean difference. Each
/// loss comes with how many documents it stands for; the first ones say it.
///
/// ```
/// use tamis_model::is_worse;
///
/// let good = [(0.1, 1.0), (0.3, 1.0), (0.2, 1.0)];
/// let bad = good.map(|(loss, weight)| (loss + 0.1, weight));
/// assert!(is_worse(&bad, &good) && !is_worse(&good, &bad));
/// assert!(!is_worse(&good, &good));
/// ```
pub fn is_worse(losses: &[(f64, f64)], others: &[(f64, f64)]) -> bool {
    let all: f64 = losses.iter().map(|(_, weight)| weight).sum();
    let differences = || losses.iter().zip(others).map(|((a, weight), (b, _))| (a - b, weight));
    let mean = differences().map(|(difference, weight)| difference * weight).sum::<f64>() / all;
    let squares = differences().map(|(difference, weight)| (weight * (difference - mean)).powi(2));
    mean > squares.sum::<f64>().sqrt() / all
}

/// k, the losses of the documents with their weights, and the mean of these.
type Fitted = ([f64; 2], Vec<(f64, f64)>, f64);

/// Documents that are asked: what is known of each, how many it stands for, and its terms.
pub(crate) struct Asked<'a> {
    pub(crate) labels: Vec<(Label, f64)>,
    source: &'a BlockReader<'a>,
    /// Their numbers there, if it keeps documents.
    numbers: Vec<usize>,
    /// Their terms, if it does not.
    own: Block,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(source: &'a BlockReader<'a>, sample: &[(usize, f64)]) -> Asked<'a> {
        let documents = source.documents;
        let numbers: Vec<_> = sample.iter().map(|(i, _)| *i).collect();
        let rows = if source.is_kept() { Vec::new() } else { documents.rows(&numbers) };
        Asked {
            labels: sample.iter().map(|(i, stands_for)| (documents.label(*i), *stands_for)).collect(),
            source,
            numbers,
            own: Block::of(rows.iter().map(CountVector::row)),
        }
    }

    pub(crate) fn terms(&self, at: usize) -> DocumentTerms<'_> {
        self.source.kept(self.numbers[at]).unwrap_or_else(|| self.own.terms(at))
    }
}

/// What is tried on documents.
pub(crate) struct Grid<'a> {
    pub(crate) counts: &'a Statistics,
    pub(crate) columns: Columns,
    pub(crate) default: [f64; 2],
}

/// Documents that one thread scores at a time.
const TOGETHER: usize = 64;

impl Grid<'_> {
    /// For each point k and its losses, by the leave-one-out scores of some documents.
    pub(crate) fn fit(&self, points: Points, asked: &Asked<'_>) -> Vec<Fitted> {
        let mut of_points = vec![StackingInput::new(self.columns.len(), 2); points.len()];
        let left_out = LeaveOneOut::new(points, self.counts, self.columns);
        let document = |at: usize| (asked.labels[at], asked.terms(at));
        self.score(&left_out, asked.labels.len(), document, &mut of_points);
        let fit = |parts: &StackingInput| {
            let bayes = self.bayes(parts);
            let losses = parts.losses(&bayes);
            let mean = parts.mean(&losses);
            (bayes, losses.into_iter().zip(parts.weights()).collect(), mean)
        };
        of_points.par_iter().map(fit).collect()
    }

    /// k by the leave-one-out scores of all documents.
    fn fit_all(&self, point: Points, source: &BlockReader<'_>) -> [f64; 2] {
        let mut parts = [StackingInput::new(self.columns.len(), 2)];
        let left_out = LeaveOneOut::new(point, self.counts, self.columns);
        source.for_all(|first, block| {
            let document = |at: usize| ((source.documents.label(first + at), 1.0), block.terms(at));
            self.score(&left_out, block.len(), document, &mut parts);
        });
        self.bayes(&parts[0])
    }

    /// Adds to the parts of each point the leave-one-out scores of so many documents.
    fn score<'d>(
        &self,
        left_out: &LeaveOneOut<'_>,
        n_documents: usize,
        document: impl Fn(usize) -> ((Label, f64), DocumentTerms<'d>) + Sync,
        parts: &mut [StackingInput],
    ) {
        let prior = priors(self.counts.totals(), self.columns);
        let (n_points, numbers) = (parts.len(), (0..n_documents).collect::<Vec<_>>());
        let score = |of: &[usize]| {
            let mut scores = vec![Vec::new(); n_points];
            let mut parts = vec![StackingInput::new(self.columns.len(), 2); n_points];
            for at in of {
                let ((document, stands_for), terms) = document(*at);
                left_out.scores(terms, document.class, &mut scores);
                let is_judged = !terms.is_empty() && self.has_others(&document);
                let weight = if is_judged { stands_for * document.weight() } else { 0.0 };
                for (parts, scores) in parts.iter_mut().zip(&scores) {
                    let both = scores.iter().zip(&prior).flat_map(|(score, prior)| [*score, *prior]);
                    parts.push(both, self.columns.of(document.class), weight);
                }
            }
            parts
        };
        let scored: Vec<Vec<StackingInput>> = numbers.par_chunks(TOGETHER).map(score).collect();
        for of_points in scored {
            parts.iter_mut().zip(of_points).for_each(|(parts, others)| parts.append(others));
        }
    }

    fn bayes(&self, parts: &StackingInput) -> [f64; 2] {
        let fitted = parts.fit(&self.default, 0);
        if fitted[0] > 0.0 { [fitted[0], fitted[1]] } else { self.default }
    }

    /// Whether a document is not all that its class has: without it nothing would be known of the class.
    fn has_others(&self, document: &Label) -> bool {
        let of_class = self.counts.totals().get(usize::from(document.class));
        of_class.is_some_and(|totals| totals.documents > 1)
    }
}

/// p of each column, see [`WeightedLogOdds`](crate::WeightedLogOdds).
pub(crate) fn priors(totals: &[ClassTotals], columns: Columns) -> Vec<f64> {
    if columns.is_one() {
        return vec![1.0];
    }
    let all = totals.iter().map(|totals| totals.documents).sum();
    totals.iter().map(|of_class| log_share(of_class.documents, all, totals.len())).collect()
}
