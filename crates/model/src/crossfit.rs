use rayon::prelude::*;
use tamis_tokenizer::CountRow;

use crate::class_correction::Course;
use crate::random::scramble;
use crate::{
    ClassCorrection, ClassId, ClassWeight, CorrectionOptions, Counts, FitError, NaiveBayes, OneAgainstRest,
    Parameters, ParametersError, Smoothing, Statistics, StatisticsError, WeightedLogOdds, corrected,
    fit_class_correction, fit_correction,
};

/// One learned document, as fitting and calibration see it.
#[derive(Clone, Copy, Debug)]
pub struct Labelled<'a> {
    /// Its counts.
    pub row: CountRow<'a>,
    /// Its class.
    pub class: ClassId,
    /// How many times it was learned.
    pub multiplicity: u32,
    /// The same for documents too alike to test one with a model that has learned the other, such as mails
    /// with the same body.
    pub group: u64,
}

/// The exact leave-one-out score of each document ([`WeightedLogOdds::log_odds_left_out`]), in parallel in
/// the current rayon pool.
pub fn leave_one_out(
    scorer: &WeightedLogOdds,
    counts: &Statistics,
    documents: &[Labelled<'_>],
) -> Vec<Option<f64>> {
    scorer.all_left_out(counts, documents)
}

/// The score of each document by a model that has seen neither it nor any document of its group: what
/// calibration and thresholds may be fitted to.
///
/// The groups are dealt out to `folds` folds (at least 2; 10 is a good number), class by class, in an order
/// that their hashes decide. For each fold its documents are subtracted from the counts, the correction, if
/// there is one, is fitted anew to the others, and the fold is scored: corrected log-odds with a
/// correction, else plain ones. The same result for any number of threads.
///
/// `windows[i]` are the rows of document `i` of which the highest score counts; where there are none, its
/// own row does, so `&[]` will do without windows. A score is `None` where no term is known, or where the
/// rest has no document of one class. A document that the counts never learned takes nothing from them.
///
/// # Errors
/// Not exactly two classes; options out of their ranges.
pub fn cross_fit(
    alpha: Smoothing,
    counts: &Statistics,
    documents: &[Labelled<'_>],
    windows: &[Vec<CountRow<'_>>],
    positive: ClassId,
    correction: Option<&CorrectionOptions>,
    folds: usize,
) -> Result<Vec<Option<f64>>, ParametersError> {
    WeightedLogOdds::new(alpha, counts.totals(), 0, positive)?;
    correction.map_or(Ok(()), CorrectionOptions::check)?;
    let scored = over_folds(counts, documents, &deal(documents, folds), |counts, others, fold| {
        if counts.totals().iter().any(|class| class.documents == 0) {
            return Ok(vec![None; fold.len()]);
        }
        let scorer = WeightedLogOdds::new(alpha, counts.totals(), counts.n_features() as u64, positive)?;
        let fitted =
            correction.map(|options| (options, fit_correction(&scorer, counts, others, positive, options).0));
        let score = |row: CountRow<'_>| {
            let Ok(score) = scorer.log_odds(counts, row);
            match &fitted {
                Some((options, correction)) => score.map(|s| corrected(options, s, correction.value(row))),
                None => score,
            }
        };
        // the rows of a document of which the highest score counts
        let rows = |i: usize| {
            let own = || std::slice::from_ref(&documents[i].row);
            windows.get(i).filter(|rows| !rows.is_empty()).map_or_else(own, Vec::as_slice)
        };
        Ok(fold.iter().map(|&i| rows(i).iter().filter_map(|&row| score(row)).reduce(f64::max)).collect())
    })?;
    Ok(scored.into_iter().map(|(_, score)| score).collect())
}

/// The indices of the documents in each fold, increasing; no fold is empty.
fn deal(documents: &[Labelled<'_>], folds: usize) -> Vec<Vec<usize>> {
    // a group that has documents of several classes counts for the lowest
    let mut groups: Vec<_> = (0..documents.len()).map(|i| (documents[i].group, documents[i].class)).collect();
    groups.sort_unstable();
    groups.dedup_by_key(|(group, _)| *group);
    // scrambling keeps groups apart, so this is one order
    groups.sort_unstable_by_key(|&(group, class)| (class, scramble(group)));
    let n_folds = folds.max(2).min(groups.len());
    let mut fold_of: Vec<_> =
        groups.iter().enumerate().map(|(rank, (group, _))| (*group, rank % n_folds)).collect();
    fold_of.sort_unstable();
    let mut dealt = vec![Vec::new(); n_folds];
    for (i, document) in documents.iter().enumerate() {
        if let Ok(at) = fold_of.binary_search_by_key(&document.group, |(group, _)| *group) {
            dealt[fold_of[at].1].push(i);
        }
    }
    dealt
}

/// The scores of a document for each class, by a model that has seen neither it nor any of its group.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldOutScores {
    /// Which document, by its position.
    pub document: usize,
    /// One score a class (nats).
    pub scores: Vec<f64>,
    /// How many of its distinct terms the model knew; 0 is no evidence at all.
    pub known_terms: usize,
}

/// As [`cross_fit`], for any number of classes by [`OneAgainstRest`] and [`ClassCorrection`](crate::ClassCorrection).
///
/// A document of whose class the other folds have none gets scores of 0 and no known terms: a model that never saw
/// its class cannot be right, and how sure it is says nothing about the one that did.
///
/// Two numbers are fitted to these scores ([`Temperature`](crate::Temperature)), so there is no need for all of
/// them: folds are scored until there are `enough` documents. The result is in the order of the documents.
///
/// # Errors
/// No classes; options out of their ranges; more weights than a `u32` can number.
pub fn cross_fit_classes(
    alpha: Smoothing,
    counts: &Statistics,
    documents: &[Labelled<'_>],
    correction: Option<&CorrectionOptions>,
    folds: usize,
    enough: usize,
) -> Result<Vec<HeldOutScores>, FitError<StatisticsError>> {
    correction.map_or(Ok(()), CorrectionOptions::check).map_err(FitError::Parameters)?;
    held_out(counts, documents, &deal_enough(documents, folds, enough), |counts, others| {
        let scorer = scorer_of(alpha, counts)?;
        let fitted = match correction {
            Some(options) => {
                fit_class_correction(&scorer, counts, others, options).map_err(FitError::Counts)?.0
            }
            None => ClassCorrection::new(),
        };
        let mix = correction.map_or(1.0, |options| options.mix);
        Ok(move |counts: &Statistics, document: &Labelled<'_>, scores: &mut Vec<f64>| {
            score_held_out(&scorer, counts, &fitted, mix, document, scores)
        })
    })
}

/// The folds until there are enough documents in them.
fn deal_enough(documents: &[Labelled<'_>], folds: usize, enough: usize) -> Vec<Vec<usize>> {
    let mut folds = deal(documents, folds);
    let sums = folds.iter().scan(0, |seen, fold| Some(std::mem::replace(seen, *seen + fold.len())));
    folds.truncate(sums.take_while(|seen| *seen < enough).count());
    folds
}

fn scorer_of(alpha: Smoothing, counts: &Statistics) -> Result<OneAgainstRest, FitError<StatisticsError>> {
    OneAgainstRest::new(alpha, counts.totals(), counts.n_features() as u64).map_err(FitError::Parameters)
}

fn score_held_out(
    scorer: &OneAgainstRest,
    counts: &Statistics,
    fitted: &ClassCorrection,
    mix: f64,
    document: &Labelled<'_>,
    scores: &mut Vec<f64>,
) -> usize {
    let Ok(known_terms) = scorer.corrected_scores(counts, fitted, mix, document.row, scores);
    let class = counts.totals().get(usize::from(document.class));
    if class.is_some_and(|class| class.documents > 0) {
        return known_terms;
    }
    scores.fill(0.0);
    0
}

/// A correction and the coefficients of each document, see [`fit_class_correction`].
type FittedClasses = (ClassCorrection, Vec<Vec<ClassWeight>>);

/// A fold held back, and the rest ready to be learned.
struct Prepared<'a> {
    counts: Statistics,
    scorer: OneAgainstRest,
    course: Course<'a>,
}

/// [`fit_class_correction`] and [`cross_fit_classes`] in one: the steps that make use of all threads are taken for all of
/// them together, then those that do not side by side. Takes the memory of all the fits at once.
///
/// # Errors
/// As both.
pub fn fit_and_cross_fit_classes(
    alpha: Smoothing,
    counts: &Statistics,
    documents: &[Labelled<'_>],
    options: &CorrectionOptions,
    folds: usize,
    enough: usize,
) -> Result<(FittedClasses, Vec<HeldOutScores>), FitError<StatisticsError>> {
    options.check().map_err(FitError::Parameters)?;
    let scorer = scorer_of(alpha, counts)?;
    let folds = deal_enough(documents, folds, enough);
    let prepare = |fold: &Vec<usize>| {
        let (counts, others) = hold_back(counts, documents, fold);
        let scorer = scorer_of(alpha, &counts)?;
        let course = Course::new(&scorer, &counts, others.into());
        Ok(Prepared { counts, scorer, course })
    };
    let (all, held) = rayon::join(
        || Course::new(&scorer, counts, documents.into()),
        || folds.par_iter().map(prepare).collect::<Result<Vec<_>, _>>(),
    );
    let held = held?;
    let teach = |course: &Course<'_>| course.teach(options).map_err(FitError::Counts);
    let (fitted, taught) = rayon::join(
        || teach(&all),
        || held.par_iter().map(|held| Ok(teach(&held.course)?.0)).collect::<Result<Vec<_>, _>>(),
    );
    let mut scored = Vec::new();
    for ((fold, Prepared { counts, scorer, .. }), correction) in folds.iter().zip(&held).zip(taught?) {
        let score = |&document: &usize| {
            let mut scores = Vec::new();
            let labelled = &documents[document];
            let known_terms = score_held_out(scorer, counts, &correction, options.mix, labelled, &mut scores);
            HeldOutScores { document, scores, known_terms }
        };
        scored.par_extend(fold.par_iter().map(score));
    }
    scored.sort_unstable_by_key(|held_out| held_out.document);
    Ok((fitted?, scored))
}

/// As [`cross_fit`], for the joint log-likelihoods of naive Bayes, of every document.
///
/// # Errors
/// As [`Parameters::fit`], also where a fold takes all documents of a class whose prior is to be learned.
pub fn cross_fit_bayes(
    parameters: &Parameters,
    counts: &Statistics,
    documents: &[Labelled<'_>],
    folds: usize,
) -> Result<Vec<HeldOutScores>, ParametersError> {
    held_out(counts, documents, &deal(documents, folds), |counts, _| {
        let Ok(summary) = parameters.summarize(counts);
        let model = NaiveBayes::new(parameters, &summary)?;
        Ok(move |counts: &Statistics, document: &Labelled<'_>, scores: &mut Vec<f64>| {
            let Ok(known_terms) = model.joint_log_likelihood(counts, document.row, scores);
            known_terms
        })
    })
}

/// The scores of the documents of some folds by what `fit` makes of the others.
fn held_out<S, E: Send>(
    counts: &Statistics,
    documents: &[Labelled<'_>],
    folds: &[Vec<usize>],
    fit: impl Fn(&Statistics, &[Labelled<'_>]) -> Result<S, E> + Sync,
) -> Result<Vec<HeldOutScores>, E>
where
    S: Fn(&Statistics, &Labelled<'_>, &mut Vec<f64>) -> usize,
{
    let scored = over_folds(counts, documents, folds, |counts, others, fold| {
        let scorer = fit(counts, others)?;
        let score = |&i: &usize| {
            let mut scores = Vec::new();
            let known_terms = scorer(counts, &documents[i], &mut scores);
            (scores, known_terms)
        };
        Ok(fold.iter().map(score).collect())
    })?;
    let named = |(document, (scores, known_terms))| HeldOutScores { document, scores, known_terms };
    Ok(scored.into_iter().map(named).collect())
}

/// What `score` says of the documents of each fold, given the counts without them and the other documents; in the
/// order of the documents.
fn over_folds<T: Send, E: Send>(
    counts: &Statistics,
    documents: &[Labelled<'_>],
    folds: &[Vec<usize>],
    score: impl Fn(&Statistics, &[Labelled<'_>], &[usize]) -> Result<Vec<T>, E> + Sync,
) -> Result<Vec<(usize, T)>, E> {
    let score_fold = |fold: &Vec<usize>| {
        let (without, others) = hold_back(counts, documents, fold);
        score(&without, &others, fold)
    };
    let scored: Vec<_> = folds.par_iter().map(score_fold).collect::<Result<_, _>>()?;
    let mut all: Vec<_> = folds.iter().flatten().copied().zip(scored.into_iter().flatten()).collect();
    all.sort_unstable_by_key(|(document, _)| *document);
    Ok(all)
}

/// The counts without the documents of a fold, and the other documents.
fn hold_back<'a>(
    counts: &Statistics,
    documents: &[Labelled<'a>],
    fold: &[usize],
) -> (Statistics, Vec<Labelled<'a>>) {
    let mut without = counts.clone();
    for document in fold.iter().map(|&i| &documents[i]) {
        // refused, and nothing changed, if it never was learned
        let _ = without.forget_times(document.class, document.row, document.multiplicity);
    }
    let others = (0..documents.len()).filter(|i| fold.binary_search(i).is_err());
    (without, others.map(|i| documents[i]).collect())
}

#[cfg(test)]
mod tests {
    use tamis_tokenizer::CountVector;

    use super::*;

    const ALPHA: Smoothing = Smoothing::LAPLACE;

    fn learn(documents: &[Labelled<'_>]) -> Statistics {
        let mut statistics = Statistics::new(2);
        documents.iter().for_each(|d| statistics.observe_times(d.class, d.row, d.multiplicity).unwrap());
        statistics
    }

    /// Four documents of each class that share a term; groups as given.
    fn documents<'a>(rows: &'a [CountVector], groups: &[u64]) -> Vec<Labelled<'a>> {
        let document = |(i, row): (usize, &'a CountVector)| Labelled {
            row: row.row(),
            class: (i / 4) as ClassId,
            multiplicity: 1 + i as u32 % 2,
            group: groups[i],
        };
        rows.iter().enumerate().map(document).collect()
    }

    fn rows() -> Vec<CountVector> {
        (0..8).map(|i| CountVector::from_pairs([(i / 4, 1), (2 + i, 2)]).unwrap()).collect()
    }

    #[test]
    fn folds_keep_groups_together_and_spread_classes() {
        let rows = rows();
        let documents = documents(&rows, &[1, 1, 2, 3, 4, 5, 6, 6]);
        for folds in [0, 1, 2, 3, 6, usize::MAX] {
            let dealt = deal(&documents, folds);
            assert_eq!(dealt.len(), folds.clamp(2, 6));
            let mut all = dealt.concat();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..8));
            let fold_of = |i: usize| dealt.iter().position(|fold| fold.contains(&i));
            assert_eq!((fold_of(0), fold_of(6)), (fold_of(1), fold_of(7)));
            assert!(dealt.iter().all(|fold| fold.is_sorted() && !fold.is_empty()));
        }
        assert_eq!(deal(&[], 10), Vec::<Vec<usize>>::new());
    }

    #[test]
    fn without_a_correction_it_is_retraining() {
        let rows = rows();
        let documents = documents(&rows, &[0, 1, 2, 3, 4, 5, 6, 7]);
        let scores = cross_fit(ALPHA, &learn(&documents), &documents, &[], 1, None, 8).unwrap();
        for (i, score) in scores.iter().enumerate() {
            let others: Vec<_> = (0..8).filter(|&j| j != i).map(|j| documents[j]).collect();
            let statistics = learn(&others);
            let n = statistics.n_features() as u64;
            let scorer = WeightedLogOdds::new(ALPHA, statistics.totals(), n, 1).unwrap();
            assert_eq!(scorer.log_odds(&statistics, documents[i].row), Ok(*score));
            assert_eq!(score.unwrap() > 0.0, i >= 4);
        }
    }

    #[test]
    fn a_class_of_one_group_has_no_scores() {
        let rows = rows();
        let documents = documents(&rows, &[1, 2, 3, 4, 9, 9, 9, 9]);
        let options = CorrectionOptions::default();
        for correction in [None, Some(&options)] {
            let scores = cross_fit(ALPHA, &learn(&documents), &documents, &[], 1, correction, 10).unwrap();
            assert!(scores[..4].iter().all(Option::is_some) && scores[4..].iter().all(Option::is_none));
            let one = &documents[..1];
            assert_eq!(cross_fit(ALPHA, &learn(one), one, &[], 1, correction, 10), Ok(vec![None]));
            assert_eq!(cross_fit(ALPHA, &learn(&[]), &[], &[], 1, correction, 10), Ok(vec![]));
        }
    }

    #[test]
    fn a_class_that_its_fold_takes_whole_has_no_part_in_the_temperature() {
        let rows = rows();
        let mut documents = documents(&rows, &[0, 1, 2, 3, 4, 5, 6, 7]);
        documents[7].class = 2;
        let mut statistics = Statistics::new(3);
        documents.iter().for_each(|d| statistics.observe_times(d.class, d.row, d.multiplicity).unwrap());
        let options = CorrectionOptions::default();
        for correction in [None, Some(&options)] {
            let scored =
                cross_fit_classes(ALPHA, &statistics, &documents, correction, 4, usize::MAX).unwrap();
            assert!(scored.iter().map(|s| s.document).eq(0..8));
            assert!(scored[..7].iter().all(|s| s.known_terms > 0 && s.scores.iter().any(|x| *x != 0.0)));
            assert_eq!((scored[7].known_terms, &scored[7].scores[..]), (0, &[0.0; 3][..]));
            let fit = |scored: &[HeldOutScores]| {
                let class = |s: &HeldOutScores| usize::from(documents[s.document].class);
                let all: Vec<_> = scored.iter().map(|s| (&s.scores[..], s.known_terms, class(s))).collect();
                crate::Temperature::fit(&all)
            };
            assert!(fit(&scored).is_some());
            assert_eq!(fit(&scored), fit(&scored[..7]));
        }
    }

    #[test]
    fn fits_and_held_out_scores_in_one_are_those_by_themselves() {
        let rows = rows();
        let mut documents = documents(&rows, &[0, 1, 2, 3, 4, 5, 6, 7]);
        documents[7].class = 2;
        let mut statistics = Statistics::new(3);
        documents.iter().for_each(|d| statistics.observe_times(d.class, d.row, d.multiplicity).unwrap());
        let options = CorrectionOptions::for_topics();
        let scorer = scorer_of(ALPHA, &statistics).unwrap();
        let fitted = fit_class_correction(&scorer, &statistics, &documents, &options).unwrap();
        for enough in [1, 4, usize::MAX] {
            let scored =
                cross_fit_classes(ALPHA, &statistics, &documents, Some(&options), 4, enough).unwrap();
            let in_one = fit_and_cross_fit_classes(ALPHA, &statistics, &documents, &options, 4, enough);
            let ((correction, coefficients), held_out) = in_one.unwrap();
            assert_eq!(held_out, scored);
            assert_eq!(coefficients, fitted.1);
            let weights = |correction: &ClassCorrection, term| correction.weights(term).collect::<Vec<_>>();
            assert!((0..10).all(|term| weights(&correction, term) == weights(&fitted.0, term)));
        }
    }

    #[test]
    fn the_highest_window_counts() {
        let rows = rows();
        let documents = documents(&rows, &[0, 1, 2, 3, 4, 5, 6, 7]);
        let statistics = learn(&documents);
        let spam = CountVector::from_pairs([(1, 1)]).unwrap();
        let unknown = CountVector::from_pairs([(99, 1)]).unwrap();
        let windows = [vec![documents[0].row, spam.row()], vec![], vec![unknown.row()]];
        let plain = cross_fit(ALPHA, &statistics, &documents, &[], 1, None, 8).unwrap();
        let windowed = cross_fit(ALPHA, &statistics, &documents, &windows, 1, None, 8).unwrap();
        assert!(plain[0].unwrap() < 0.0 && windowed[0].unwrap() > 0.0);
        assert_eq!(windowed[1], plain[1]);
        assert_eq!(windowed[2], None);
        assert_eq!(windowed[3..], plain[3..]);
    }

    #[test]
    fn bad_parameters() {
        let three = Statistics::new(3);
        let options = CorrectionOptions { passes: 0, ..CorrectionOptions::default() };
        assert!(matches!(
            cross_fit(ALPHA, &three, &[], &[], 1, None, 2),
            Err(ParametersError::TwoClasses { .. })
        ));
        let got = cross_fit(ALPHA, &Statistics::new(2), &[], &[], 1, Some(&options), 2);
        assert!(matches!(got, Err(ParametersError::Correction { .. })));
    }
}
