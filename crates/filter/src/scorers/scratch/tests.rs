use std::any::Any;
use std::sync::Arc;

use proptest::prelude::*;
use tamis_model::{
    ClassPrior, Counting, Counts, Criterion, FeatureLimits, Likelihood, NaiveBayes, Parameters, Readings,
    RobinsonScorer, Select, Smoothing, WeightedOptions, WeightedVector, softmax,
};
use tamis_store::config::scoring::{ExpectationMaximization, Mixed};
use tamis_store::store::layers::DecodedTerm;
use tamis_tokenizer::CountRow;
use tamis_train::{Document as Taught, LearnOptions, Learner, Trainer};

use super::CacheLimits;
use crate::options::{Column, ColumnKind};
use crate::scorers::expected::ExpectedScorer;
use crate::scorers::mixed::MixedScorer;
use crate::scorers::scorer::Scorer;
use crate::scorers::weighted::WeightedScorer;
use crate::{Document, Filter, Kind, Score, Scoring, Scratch, TrainOptions};

#[test]
fn a_term_that_cannot_be_read_fails_no_other_document() {
    let mut trainer = Trainer::new(TrainOptions::new(Kind::Text)).unwrap();
    let words = |i: u32| format!("word{i} more{i}");
    (0..2000).for_each(|i| trainer.add(["a", "b"][i as usize % 2], Taught::Text(&words(i))).unwrap());
    let mut bytes = trainer.finish().unwrap().as_bytes().to_vec();
    let middle = bytes.len() / 4;
    bytes[middle] ^= 1;
    let filter = Filter::from_bytes(bytes).unwrap();
    let mut scratch = Scratch::default();
    let alone = |i| filter.score_text(&words(i), &mut Scratch::default()).is_ok();
    let fails: Vec<_> = (0..2000).filter(|i| !alone(*i)).collect();
    assert!(!fails.is_empty() && fails.len() < 1000, "{}", fails.len());
    for i in 0..2000 {
        assert_eq!(filter.score_text(&words(i), &mut scratch).is_ok(), !fails.contains(&i), "{i}");
    }
}

/// The model as this crate opens it: what trains was built with another copy of it.
fn opened(trainer: Trainer) -> Filter {
    Filter::from_bytes(trainer.finish().unwrap().as_bytes().to_vec()).unwrap()
}

/// Scores a document by its rows of counts, without the cache. Returns the posterior of every class, the number of
/// known terms, and the tolerance, which grows with the log-likelihoods, since sums of large numbers lose small
/// differences.
fn by_rows(filter: &Filter, document: Document<'_>) -> (Vec<f64>, usize, f64) {
    let scratch = &mut Scratch::default();
    filter.score(document, scratch).unwrap();
    scratch.build_rows(filter.layers());
    let (row, mut joint) = (scratch.counted.whole(), Vec::new());
    let scorer: &dyn Any = &*filter.scorer;
    let known = if let Some(scorer) = scorer.downcast_ref::<WeightedScorer>() {
        let mut readings = Readings::default();
        scorer.read(filter.layers(), row, &mut readings).unwrap();
        scorer.log_odds.log_odds(&readings, &mut joint);
        if let Some(positive) = scorer.positive() {
            let log_odds = filter.decision().log_odds(joint[0]);
            joint = vec![0.0; 2];
            joint[usize::from(positive)] = log_odds;
        }
        readings.known_terms
    } else if let Some(scorer) = scorer.downcast_ref::<RobinsonScorer>() {
        let (mut term, mut added) = (DecodedTerm::new(filter.layers()), Vec::new());
        let rest = scorer.contributions(&mut term, row, &mut added).unwrap();
        let log_odds = rest + added.iter().map(|(_, contribution)| contribution).sum::<f64>();
        joint = vec![0.0; 2];
        joint[usize::from(scorer.positive())] = filter.decision().log_odds(log_odds);
        added.len()
    } else if let Some(bayes) = scorer.downcast_ref::<NaiveBayes>() {
        bayes.joint_log_likelihood(&filter.store, row, &mut joint).unwrap()
    } else if let Some(scorer) = scorer.downcast_ref::<ExpectedScorer>() {
        let mut weights = WeightedVector::default();
        let df = |term| filter.store.document_frequency(term);
        scorer.transform.apply(row, scorer.documents, df, &mut weights).unwrap();
        scorer.model.joint_log_likelihood(&filter.store, weights.row(), &mut joint).unwrap()
    } else {
        let scorer = scorer.downcast_ref::<MixedScorer>().unwrap();
        let known = |row: &CountRow<'_>| row.ids().iter().any(|id| (*id as usize) < filter.store.n_terms());
        let rows: Vec<_> = scratch.counted.groups().map(|row| Some(row).filter(known)).collect();
        scorer.model.joint_log_likelihood(&filter.store, &scratch.counted.reals, &rows, &mut joint).unwrap()
    };
    let largest =
        joint.iter().filter(|joint| joint.is_finite()).fold(1.0, |largest, joint| joint.abs().max(largest));
    softmax(&mut joint);
    (joint, known, 1e-12_f64.max(16.0 * f64::EPSILON * largest))
}

/// Checks that the score of a document equals that of its rows, whatever the scratch has cached; returns the score.
fn check(filter: &Filter, document: Document<'_>, scratch: &mut Scratch) -> Score {
    let score = filter.score(document, scratch).unwrap();
    let (posterior, known, off) = by_rows(filter, document);
    assert_eq!(score.known_terms, known);
    assert_eq!(scratch.probabilities().len(), posterior.len());
    for (got, expected) in scratch.probabilities().iter().zip(&posterior) {
        assert!((got - expected).abs() <= off * expected.max(1e-3), "{got} {expected}");
    }
    let about = posterior[usize::from(score.scored_class)];
    assert!((score.probability - about).abs() <= off, "{} {about}", score.probability);
    score
}

/// Bytes that suffice for the weights of any document here.
const LARGE: usize = 8000;

const LABELS: [&str; 13] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m"];

fn text(words: &[u8]) -> String {
    words.iter().map(|word| format!("w{word} ")).collect()
}

/// Trains on `documents` with `n_labels` labels. If there are more than two labels, the first has no documents.
fn train(scoring: Scoring, n_labels: usize, documents: &[(usize, Vec<u8>)]) -> Trainer {
    let is_expected = matches!(scoring, Scoring::ExpectationMaximization(_));
    let options =
        TrainOptions { scoring: Some(scoring), refinements: Vec::new(), ..TrainOptions::new(Kind::Text) };
    let mut trainer = Trainer::new(options).unwrap();
    let labels = &LABELS[..n_labels];
    for label in labels {
        trainer.class_of(label).unwrap();
    }
    let learned = &labels[usize::from(n_labels > 2)..];
    for (i, (label, words)) in documents.iter().enumerate() {
        // some words occur under one label, some under all
        let own = 40 + label % learned.len();
        let text = format!("{} w{own}", text(words));
        match is_expected && i % 4 == 0 {
            true => trainer.add_unlabelled(Taught::Text(&text)).unwrap(),
            false => trainer.add(learned[label % learned.len()], Taught::Text(&text)).unwrap(),
        }
    }
    trainer
}

fn documents(most: usize) -> impl Strategy<Value = Vec<(usize, Vec<u8>)>> {
    prop::collection::vec((0usize..13, prop::collection::vec(0u8..30, 0..9)), 1..most)
}

fn scoring() -> impl Strategy<Value = Scoring> {
    use Likelihood::*;
    let weighted = any::<bool>().prop_map(|correction| {
        let mut weighted = WeightedOptions::default();
        weighted.correction = correction;
        Scoring::Weighted(weighted)
    });
    let likelihood = || prop::sample::select(vec![Multinomial, Bernoulli, Complement, ComplementNormalized]);
    let counting = prop::sample::select(vec![Counting::Occurrences, Counting::Presence]);
    let select = prop::option::of((3usize..20).prop_map(|n| Select { by: Criterion::ChiSquare, n }));
    let bayes = (likelihood(), counting, any::<bool>(), 1u64..3, select).prop_map(
        |(likelihood, counting, is_smoothed, min_df, select)| {
            let can_be_bare = matches!(likelihood, Multinomial | Bernoulli);
            Scoring::NaiveBayes(Parameters {
                likelihood,
                counting,
                alpha: match is_smoothed || !can_be_bare {
                    true => Smoothing::try_from(0.3).unwrap(),
                    false => Smoothing::maximum_likelihood(),
                },
                prior: ClassPrior::Smoothed,
                features: FeatureLimits { min_df, select, ..FeatureLimits::default() },
            })
        },
    );
    let expected = (any::<bool>(), 1u64..3, any::<bool>()).prop_map(|(is_multinomial, min_df, has_norm)| {
        let mut settings = ExpectationMaximization::for_documents(10);
        settings.options.likelihood = if is_multinomial { Multinomial } else { Bernoulli };
        settings.options.prior = ClassPrior::Smoothed;
        settings.transform.min_df = min_df;
        settings.transform.norm = settings.transform.norm.filter(|_| has_norm);
        Scoring::ExpectationMaximization(settings)
    });
    prop_oneof![3 => weighted, 3 => bayes, 1 => expected]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn sums_of_what_terms_say_are_what_rows_say(
        scoring in scoring(), n_labels in 2usize..=13, learned in documents(40), asked in documents(12),
        terms in 1usize..60, bytes in 0..2 * LARGE,
    ) {
        let filter = opened(train(scoring, n_labels, &learned));
        // one that keeps everything, and one that drops most terms, even within a document
        let [mut scratch, mut small] = [Scratch::default(), Scratch::default()];
        small.memo.limits = CacheLimits { terms, bytes };
        for (i, (label, words)) in asked.iter().enumerate() {
            let text = text(words).repeat(1 + i % 3) + &format!("w{} new{i}", 40 + label);
            let score = check(&filter, Document::Text(&text), &mut scratch);
            let of_small = check(&filter, Document::Text(&text), &mut small);
            // the same to the last bit, unless the terms of a single document do not fit
            prop_assert!(score == of_small || bytes < LARGE, "{score:?} {of_small:?}");
        }
    }

    #[test]
    fn they_are_so_of_what_was_learned_since_and_of_a_shared_model_behind_it(
        correction in any::<bool>(), n_labels in 2usize..=5, own in documents(20), shared in documents(20),
        learned in documents(6), asked in documents(8),
    ) {
        let mut weighted = WeightedOptions::default();
        weighted.correction = correction;
        let train = |documents: &[_]| train(Scoring::Weighted(weighted), n_labels, documents);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.tamis");
        train(&own).finish().unwrap().save(&path).unwrap();
        let (before, mut old) = (Filter::open(&path).unwrap(), Scratch::default());
        for (_, words) in &asked {
            before.score_text(&text(words), &mut old).unwrap();
        }
        let shared = Arc::new(opened(train(&shared)));
        let mut learner = Learner::open(&path, LearnOptions::default()).unwrap();
        for (label, words) in &learned {
            learner.learn(LABELS[label % n_labels], Taught::Text(&text(words))).unwrap();
        }
        drop(learner);
        let mut filter = Filter::open(&path).unwrap();
        // one scratch for both: what it caches of one must not be used for the other
        let mut scratch = Scratch::default();
        for is_shared in [false, true] {
            if is_shared {
                filter.set_fallback(shared.clone()).unwrap();
            }
            let mut warm = filter.warmed(&old);
            prop_assert_eq!(warm.memo.kept.terms, old.memo.kept.terms);
            for (_, words) in &asked {
                check(&filter, Document::Text(&text(words)), &mut scratch);
                check(&filter, Document::Text(&text(words)), &mut warm);
            }
        }
    }

    #[test]
    fn they_are_so_of_the_cells_of_a_table(
        rows in prop::collection::vec(prop::array::uniform4(0u8..6), 4..20), alpha in any::<bool>(),
        asked in prop::collection::vec(prop::array::uniform4(0u8..9), 1..8),
    ) {
        let column = |name: &str, kind| Column { name: name.to_owned(), kind };
        let mut options = TrainOptions::new(Kind::Table);
        options.recipe.columns = vec![
            column("kind", ColumnKind::Categorical),
            column("miles", ColumnKind::Gaussian),
            column("wet", ColumnKind::Bernoulli),
            column("note", ColumnKind::Text),
        ];
        let bare = Smoothing::maximum_likelihood();
        let alpha = if alpha { Smoothing::LAPLACE } else { bare };
        let mixed = Mixed { alpha, text_alpha: alpha, prior: ClassPrior::Smoothed, ..Mixed::default() };
        options.scoring = Some(Scoring::Mixed(mixed));
        let cells = |[kind, miles, wet, note]: [u8; 4]| {
            let wet = ["y", "n", ""][usize::from(wet % 3)].to_owned();
            let kind = if kind == 5 { String::new() } else { format!("k{kind}") };
            [("kind", kind), ("miles", miles.to_string()), ("wet", wet), ("note", format!("w{note} w{note} all"))]
        };
        let mut trainer = Trainer::new(options).unwrap();
        for (i, row) in rows.iter().enumerate() {
            let cells = cells(*row);
            let fields = cells.each_ref().map(|(name, cell)| (*name, cell.as_str()));
            trainer.add(LABELS[i % 3], Taught::Fields(&fields)).unwrap();
        }
        let filter = opened(trainer);
        let mut scratch = Scratch::default();
        for row in asked {
            let cells = cells(row);
            let fields = cells.each_ref().map(|(name, cell)| (*name, cell.as_str()));
            // a row that cannot be read leaves nothing behind
            prop_assert!(filter.score(Document::Fields(&[fields[0], ("wet", "perhaps")]), &mut scratch).is_err());
            check(&filter, Document::Fields(&fields), &mut scratch);
        }
    }
}

/// Scores with the models of users in turn, with one shared model behind them.
#[test]
fn what_is_known_of_a_shared_model_stays_when_another_user_asks() {
    let words = |i: usize| format!("w{} w{} w{} w{}", i % 7, i % 11, i % 13, 20 + i % 30);
    let train = |first: usize, n: usize| {
        let mut trainer = Trainer::new(TrainOptions::new(Kind::Text)).unwrap();
        (first..first + n).for_each(|i| trainer.add(["a", "b"][i % 2], Taught::Text(&words(i * i))).unwrap());
        opened(trainer)
    };
    let shared = Arc::new(train(0, 60));
    let users: Vec<_> = (0..3)
        .map(|user| {
            let mut own = train(100 + 5 * user, 4 + user);
            own.set_fallback(shared.clone()).unwrap();
            own
        })
        .collect();
    for limits in
        [None, Some(CacheLimits { terms: 12, bytes: 400 }), Some(CacheLimits { terms: 30, bytes: 1 << 20 })]
    {
        let mut scratch = Scratch::default();
        scratch.memo.limits = limits.unwrap_or(scratch.memo.limits);
        for i in 0..300 {
            let (user, text) = (&users[i * i % 3], words(i / 2));
            let expected = user.score_text(&text, &mut Scratch::default()).unwrap();
            assert_eq!(user.score_text(&text, &mut scratch).unwrap(), expected, "{i}");
        }
        if limits.is_none() {
            assert!(scratch.memo.weights.round > 100);
            assert!(scratch.memo.shared.bytes() > 0 && scratch.memo.kept.terms > 30);
        }
    }
}
