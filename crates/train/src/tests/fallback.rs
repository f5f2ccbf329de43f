//! A shared model behind a user's own.

use std::ops::Range;
use std::sync::Arc;

use proptest::prelude::*;
use tamis_model::Counts;
use tamis_store::config::recipe::Keep;
use tamis_store::error::Reason;
use tamis_store::store::layers::CombinedSums;

use crate::options::WeightedOptions;
use crate::tests::taught;
use crate::{
    Document, Filter, Kind, LearnOptions, LearnOutcome, Learner, MergeOptions, Scoring, Scratch,
    TrainOptions, Trainer, merge,
};

const LABELS: [&str; 3] = ["ham", "list", "spam"];

/// Documents: the number of the label, and the numbers of the words.
type Documents = Vec<(usize, Vec<u8>)>;

fn text(words: &[u8]) -> String {
    words.iter().map(|word| format!("w{word} ")).collect()
}

fn options(is_corrected: bool) -> TrainOptions {
    let mut weighted = WeightedOptions::default();
    weighted.correction = is_corrected;
    // merged models are not fitted again
    let keep = Some(Keep::Digests);
    TrainOptions {
        scoring: Some(Scoring::Weighted(weighted)),
        keep,
        refinements: Vec::new(),
        ..TrainOptions::new(Kind::Text)
    }
}

fn train(n_labels: usize, is_corrected: bool, documents: &Documents) -> Filter {
    let mut trainer = Trainer::new(options(is_corrected)).unwrap();
    for label in &LABELS[..n_labels] {
        trainer.class_of(label).unwrap();
    }
    for (label, words) in documents {
        trainer.add(LABELS[label % n_labels], Document::Text(&text(words))).unwrap();
    }
    trainer.finish().unwrap().into_filter().unwrap()
}

fn documents(most: usize) -> impl Strategy<Value = Documents> {
    proptest::collection::vec((0usize..3, proptest::collection::vec(0u8..30, 0..9)), 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_shared_model_behind_ones_own_scores_as_both_merged(
        own in documents(6), mut shared in documents(30), learned in documents(6),
        asked in documents(8), n_labels in 2usize..=3, is_corrected in any::<bool>(),
    ) {
        // merging takes what cannot be summed from the larger model: make it the shared one
        shared.extend((0..20).map(|i| (i, vec![40 + i as u8, 40 + i as u8 / 3])));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.tamis");
        let bytes = train(n_labels, is_corrected, &own).store().as_bytes().to_vec();
        std::fs::write(&path, bytes).unwrap();
        let shared = Arc::new(train(n_labels, is_corrected, &shared));
        let mut learner = Learner::open(&path, LearnOptions::default()).unwrap();
        learner.set_fallback(shared.clone()).unwrap();
        for (i, (label, words)) in learned.iter().enumerate() {
            learner.learn(LABELS[label % n_labels], Document::Text(&text(words))).unwrap();
            if let Some((_, forgotten)) = own.get(i).filter(|_| i % 2 == 1) {
                let _ = learner.forget(None, Document::Text(&text(forgotten)));
            }
        }
        learner.commit().unwrap();
        drop(learner);

        let mut filter = Filter::open(&path).unwrap();
        let both = merge(&[&filter, &shared], MergeOptions { repeat: true, ..MergeOptions::default() }).unwrap();
        let mut both = both.into_filter().unwrap();
        both.set_decision(shared.decision());
        filter.set_fallback(shared.clone()).unwrap();
        prop_assert_eq!(filter.layers().n_features(), both.store().n_features());
        let layers = filter.layers();
        prop_assert_eq!(layers.totals(), both.store().totals());
        let mut scratches = [Scratch::default(), Scratch::default()];
        for (_, words) in &asked {
            let text = text(words);
            let [scores, expected] = [&filter, &both].map(|filter| {
                let score = filter.score_text(&text, &mut scratches[0]).unwrap();
                (score, scratches[0].probabilities().to_vec())
            });
            prop_assert_eq!(scores.0.label, expected.0.label);
            prop_assert_eq!(scores.0.known_terms, expected.0.known_terms);
            for (got, expected) in scores.1.iter().zip(&expected.1) {
                prop_assert!((got - expected).abs() < 1e-9, "{} and {}", got, expected);
            }
            let why = filter.explain(Document::Text(&text), &mut scratches[1]).unwrap();
            let of_both = both.explain(Document::Text(&text), &mut scratches[1]).unwrap();
            let sum = why.intercept + why.terms.iter().map(|term| term.contribution).sum::<f64>();
            prop_assert!(n_labels > 2 || (sum - why.score.log_odds).abs() < 1e-9);
            prop_assert_eq!(why.unknown, of_both.unknown);
            prop_assert_eq!(why.terms.len(), of_both.terms.len());
            for (got, expected) in why.terms.iter().zip(&of_both.terms) {
                prop_assert!((got.contribution - expected.contribution).abs() < 1e-9);
            }
        }
        let class = n_labels as u16 - 1;
        let strongest = |filter: &Filter| filter.strongest_terms(class, 1000).unwrap().len();
        prop_assert_eq!(strongest(&filter), strongest(&both));
        filter.verify().unwrap();
    }

    #[test]
    fn learning_with_a_shared_model_is_scoring_with_it_afterwards_and_forgetting_is_exact(
        learned in documents(10), shared in documents(30), n_labels in 2usize..=3,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.tamis");
        let shared = Arc::new(train(n_labels, true, &shared));
        let new = options(true);
        let labels = LABELS[..n_labels].iter().copied();
        let mut learner = Learner::create(&path, new, labels, LearnOptions::default()).unwrap();
        learner.set_fallback(shared.clone()).unwrap();
        let counts = |learner: &Learner| {
            let mut text = Vec::new();
            crate::exchange::export(learner.filter(), false, &mut text).unwrap();
            // all but the first line, which counts changes
            text.split(|byte| *byte == b'\n').skip(1).map(<[u8]>::to_vec).collect::<Vec<_>>()
        };
        learner.compact().unwrap();
        let empty = counts(&learner);
        for (label, words) in &learned {
            learner.learn(LABELS[label % n_labels], Document::Text(&text(words))).unwrap();
            check_features(&learner);
        }
        learner.commit().unwrap();
        let mut filter = Filter::open(&path).unwrap();
        filter.set_fallback(shared).unwrap();
        for (_, words) in &learned {
            let text = text(words);
            let score = filter.score_text(&text, &mut Scratch::default()).unwrap();
            prop_assert_eq!(score, learner.score(Document::Text(&text)).unwrap());
        }
        for (_, words) in &learned {
            // a document may have been learned more than once
            let _ = learner.forget(None, Document::Text(&text(words)));
            check_features(&learner);
        }
        learner.compact().unwrap();
        prop_assert_eq!(counts(&learner), empty);
    }
}

#[test]
fn a_mistake_of_the_shared_model_is_corrected_for_one_user() {
    let spam = (0..40).map(|i| (1, vec![1, 2, 3, 10 + i % 9]));
    let ham = (0..40).map(|i| (0, vec![4, 5, 6, 10 + i % 7]));
    let shared = Arc::new(train(2, true, &spam.chain(ham).collect()));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.tamis");
    let labels = LABELS[..2].iter().copied();
    let mut learner = Learner::create(&path, options(true), labels, LearnOptions::default()).unwrap();
    learner.set_fallback(shared.clone()).unwrap();
    let wanted = text(&[1, 2, 25, 26]);
    let score = |learner: &mut Learner| learner.score(Document::Text(&wanted)).unwrap();
    let before = score(&mut learner);
    assert_eq!(before, shared.score_text(&wanted, &mut Scratch::default()).unwrap());
    assert_eq!(learner.filter().label_of(&before), "list");
    for i in 0..4 {
        learner.learn("ham", Document::Text(&text(&[1, 2, 25, 26, 30 + i]))).unwrap();
    }
    let after = score(&mut learner);
    assert_eq!(learner.filter().label_of(&after), "ham");
    assert_eq!(shared.score_text(&wanted, &mut Scratch::default()).unwrap(), before);
    // a label that the shared model lacks would make them incompatible
    assert!(matches!(learner.add_label("spam").err().unwrap().reason(), Reason::Incompatible { .. }));
    learner.commit().unwrap();
    assert_eq!(Filter::open(&path).unwrap().classes().len(), 2);
}

#[test]
fn models_that_are_not_alike_are_refused_and_nothing_changes() {
    let documents = vec![(0, vec![1, 2]), (1, vec![3])];
    let mut own = train(2, true, &documents);
    let score = |filter: &Filter| filter.score_text("w1 w3 w4", &mut Scratch::default()).unwrap();
    let before = score(&own);
    let bayes = |documents: &Documents| {
        let scoring = Some(Scoring::NaiveBayes(Scoring::parameters()));
        let options = TrainOptions { scoring, ..TrainOptions::new(Kind::Text) };
        let texts = documents.iter().map(|(label, words)| (LABELS[*label], text(words)));
        taught(options, texts).finish().unwrap().into_filter().unwrap()
    };
    let mut kept_case = options(true);
    kept_case.recipe.tokenizer.fold_case = false;
    let others = [
        train(3, true, &vec![(0, vec![4])]),
        train(2, false, &documents),
        bayes(&documents),
        taught(kept_case, [("ham", "w4"), ("list", "w4")]).finish().unwrap().into_filter().unwrap(),
    ];
    for shared in others {
        assert!(matches!(
            own.set_fallback(Arc::new(shared)).err().unwrap().reason(),
            Reason::Incompatible { .. }
        ));
        assert!(own.fallback().is_none());
        assert_eq!(score(&own), before);
    }
    let alike = || Arc::new(bayes(&documents));
    assert!(matches!(
        bayes(&documents).set_fallback(alike()).err().unwrap().reason(),
        Reason::Incompatible { .. }
    ));
}

fn words(range: Range<u32>) -> String {
    range.map(|i| format!("word{i} ")).collect()
}

fn train_words(range: Range<u32>) -> Filter {
    let texts = [("ham", words(range)), ("list", String::new())];
    taught(options(false), texts).finish().unwrap().into_filter().unwrap()
}

#[test]
fn of_many_terms_it_is_estimated_how_many_both_know() {
    let shared = Arc::new(train_words(20_000..90_000));
    let mut own = train_words(0..50_000);
    own.set_fallback(shared).unwrap();
    let n_features = own.layers().n_features() as f64;
    assert!((n_features / 90_000.0 - 1.0).abs() < 0.02, "{n_features}");
}

/// Checks that the number of features, which learning keeps up to date, equals a full count.
fn check_features(learner: &Learner) {
    let filter = learner.filter();
    let counted = CombinedSums::new(filter.store(), filter.fallback().unwrap().store()).unwrap();
    assert_eq!(filter.layers().n_features(), counted.n_features);
}

#[test]
fn learning_looks_up_the_terms_of_its_document_alone() {
    let shared = Arc::new(train_words(2_000..12_000));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.tamis");
    let mut learner =
        Learner::create(&path, options(false), ["ham", "list"], LearnOptions::default()).unwrap();
    learner.set_fallback(shared).unwrap();
    let mut learn = |range: Range<u32>, is_learned: bool| {
        let text = words(range);
        let before = learner.filter().layers().looked_up();
        match is_learned {
            true => assert_eq!(learner.learn("ham", Document::Text(&text)).unwrap(), LearnOutcome::New),
            false => assert_eq!(learner.forget(None, Document::Text(&text)).unwrap(), None),
        }
        check_features(&learner);
        learner.filter().layers().looked_up() - before
    };
    // well beyond the number of terms that are sampled, and back
    for i in 0..4 {
        learn(i * 3000..(i + 1) * 3000, true);
    }
    for i in 0..20 {
        let looked_up = learn(11_900 + 10 * i..12_000 + 10 * i, true);
        assert!((100..=200).contains(&looked_up), "{i}: {looked_up} look-ups for 100 words");
    }
    for i in 0..4 {
        learn(i * 3000..(i + 1) * 3000, false);
    }
}
