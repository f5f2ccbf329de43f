//! Documents drawn from a model are as the model says.

use proptest::prelude::*;
use tamis_model::{
    ClassId, ClassPrior, FeatureLimits, Likelihood, NaiveBayes, Parameters, Smoothing, Statistics,
};
use tamis_textbook::{Generator, SampleError, sample};
use tamis_tokenizer::{CountVector, TermId};

use crate::support::{Document, learn};

const TERMS: TermId = 6;

fn documents() -> impl Strategy<Value = Vec<Document>> {
    let pairs = proptest::collection::btree_map(0..TERMS, 1..4u32, 1..5);
    let vector = pairs.prop_map(|pairs| CountVector::from_pairs(pairs).unwrap());
    proptest::collection::vec((0..2u16, vector), 1..8)
}

fn parameters(likelihood: Likelihood, alpha: Smoothing) -> Parameters {
    Parameters { likelihood, alpha, prior: ClassPrior::Smoothed, ..Parameters::default() }
}

fn p(model: &NaiveBayes, statistics: &Statistics, term: TermId, class: ClassId) -> f64 {
    model.feature_log_prob(statistics, term, class).unwrap().map_or(0.0, f64::exp)
}

/// Whether `n` of `all` is within five standard deviations of a share `p`.
fn likely(n: u64, all: u64, p: f64) -> bool {
    let (n, all) = (n as f64, all as f64);
    (n - all * p).abs() <= 5.0 * (all * p * (1.0 - p)).sqrt() + 1e-6
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::with_cases(24) })]

    #[test]
    fn tokens_have_the_probabilities_of_the_class(documents in documents(), smooth in any::<bool>(), seed in any::<u64>()) {
        let statistics = learn(2, &documents);
        let alpha = if smooth { Smoothing::LAPLACE } else { Smoothing::maximum_likelihood() };
        let model = parameters(Likelihood::Multinomial, alpha).fit(&statistics).unwrap();
        for class in 0..2 {
            let generator = Generator::new(&model, &statistics, class).unwrap();
            let drawn: Vec<_> = generator.documents(50, seed).take(100).collect();
            let possible = (0..TERMS).any(|t| p(&model, &statistics, t, class) > 0.0);
            let length = if possible { 50 } else { 0 };
            prop_assert!(drawn.iter().all(|d| d.row().total() == length));
            for term in 0..TERMS {
                let n = drawn.iter().flat_map(|d| d.row().iter()).filter(|(t, _)| *t == term);
                let n = n.map(|(_, n)| u64::from(n)).sum();
                let p = p(&model, &statistics, term, class);
                prop_assert!(likely(n, 100 * length, p), "{} {}", n, p);
            }
        }
    }

    #[test]
    fn features_have_their_own_coins(documents in documents(), smooth in any::<bool>(), seed in any::<u64>()) {
        let statistics = learn(2, &documents);
        let alpha = if smooth { Smoothing::LAPLACE } else { Smoothing::maximum_likelihood() };
        let model = parameters(Likelihood::Bernoulli, alpha).fit(&statistics).unwrap();
        for class in 0..2 {
            let generator = Generator::new(&model, &statistics, class).unwrap();
            let drawn: Vec<_> = generator.documents(0, seed).take(2_000).collect();
            prop_assert!(drawn.iter().all(|d| d.row().counts().iter().all(|n| *n == 1)));
            for term in 0..TERMS {
                let n = drawn.iter().filter(|d| d.row().ids().contains(&term)).count() as u64;
                let p = p(&model, &statistics, term, class);
                prop_assert!(likely(n, 2_000, p), "{} {}", n, p);
            }
        }
    }

    #[test]
    fn classes_have_their_prior_and_a_seed_its_documents(documents in documents(), share in 0.05..0.95, seed in any::<u64>()) {
        let statistics = learn(2, &documents);
        let prior = ClassPrior::Given(vec![1.0 - share, share]);
        let parameters = Parameters { prior, ..Parameters::default() };
        let model = parameters.fit(&statistics).unwrap();
        let drawn = sample(&model, &statistics, 2_000, 3, seed).unwrap();
        prop_assert_eq!(&drawn, &sample(&model, &statistics, 2_000, 3, seed).unwrap());
        prop_assert_ne!(&drawn, &sample(&model, &statistics, 2_000, 3, seed.wrapping_add(1)).unwrap());
        let n = drawn.iter().filter(|(class, _)| *class == 1).count() as u64;
        prop_assert!(likely(n, 2_000, share), "{} {}", n, share);
    }
}

#[test]
fn what_is_drawn_can_be_learned_again() {
    let row = |pairs: [(TermId, u32); 2]| CountVector::from_pairs(pairs).unwrap();
    let first = learn(2, &[(0, row([(0, 3), (1, 1)])), (1, row([(1, 1), (2, 3)]))]);
    let model = Parameters::default().fit(&first).unwrap();
    let second = learn(2, &sample(&model, &first, 400, 50, 7).unwrap());
    let again = Parameters::default().fit(&second).unwrap();
    for class in 0..2 {
        for term in 0..3 {
            let (expected, got) = (p(&model, &first, term, class), p(&again, &second, term, class));
            assert!((expected - got).abs() < 0.03, "{expected} {got}");
        }
    }
}

#[test]
fn some_models_draw_nothing() {
    let statistics = learn(2, &[(0, CountVector::from_pairs([(0, 1)]).unwrap())]);
    for got in [Likelihood::Complement, Likelihood::ComplementNormalized] {
        let model = parameters(got, Smoothing::LAPLACE).fit(&statistics).unwrap();
        let error = sample(&model, &statistics, 1, 1, 0).unwrap_err();
        assert!(matches!(error, SampleError::NotGenerative { .. }), "{error}");
    }
    let mut bare = parameters(Likelihood::Multinomial, Smoothing::LAPLACE);
    let model = bare.fit(&statistics).unwrap();
    let error = Generator::new(&model, &statistics, 2).unwrap_err();
    assert_eq!(error, SampleError::UnknownClass { expected: 2, got: 2 });
    assert_eq!(sample(&model, &statistics, 0, 1, 0), Ok(vec![]));
    bare.features = FeatureLimits { min_df: 2, ..FeatureLimits::default() };
    let drawn = sample(&bare.fit(&statistics).unwrap(), &statistics, 3, 9, 0).unwrap();
    assert!(drawn.iter().all(|(_, document)| document.is_empty()));
}
