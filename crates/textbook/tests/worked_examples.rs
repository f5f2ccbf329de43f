//! Examples of the textbooks, worked out by the library's own functions.

use proptest::prelude::*;
use tamis_model::{ClassPrior, Likelihood, Parameters, Smoothing, Statistics, log_sum_exp};
use tamis_testing::near;
use tamis_textbook::{Beta, Dirichlet};
use tamis_tokenizer::CountVector;

const HEALTHY: u16 = 0;
const CANCER: u16 = 1;

fn document(terms: &[u32]) -> CountVector {
    CountVector::from_pairs(terms.iter().map(|&term| (term, 1))).unwrap()
}

/// A test of true positive rate 0.9 (9 of 10 cases) and false positive rate 0.05 (1 of 20 others).
fn cancer_test() -> Statistics {
    let (positive, negative) = (document(&[0]), document(&[]));
    let mut statistics = Statistics::new(2);
    for (class, result, times) in
        [(CANCER, &positive, 9), (CANCER, &negative, 1), (HEALTHY, &positive, 1), (HEALTHY, &negative, 19)]
    {
        statistics.observe_times(class, result.row(), times).unwrap();
    }
    statistics
}

#[test]
fn a_positive_cancer_test_is_mostly_a_false_alarm() {
    let statistics = cancer_test();
    let model = Parameters {
        likelihood: Likelihood::Bernoulli,
        alpha: Smoothing::maximum_likelihood(),
        prior: ClassPrior::Given(vec![0.99, 0.01]),
        ..Parameters::default()
    }
    .fit(&statistics)
    .unwrap();
    let rate = |class| model.feature_log_prob(&statistics, 0, class).unwrap().unwrap().exp();
    assert!(near(rate(CANCER), 0.9, 1e-12) && near(rate(HEALTHY), 0.05, 1e-12));
    assert!(near(Beta::maximum_likelihood(9, 1).unwrap(), rate(CANCER), 1e-12));

    let (positive, negative) = (document(&[0]), document(&[]));
    let mut out = Vec::new();
    model.joint_log_likelihood(&statistics, positive.row(), &mut out).unwrap();
    assert!(near(out[1].exp(), 0.01 * 0.9, 1e-12) && near(out[0].exp(), 0.99 * 0.05, 1e-12));
    let evidence = log_sum_exp(&out).exp();
    assert!(near(evidence, 0.0585, 1e-12), "{evidence}");
    model.predict_proba(&statistics, positive.row(), &mut out).unwrap();
    assert!(near(out[1], 0.009 / 0.0585, 1e-12), "{out:?}");
    assert!((out[1] - 0.1538).abs() < 5e-5);

    // the likelihood ratio of a positive test is 18, of a negative one 2/19
    let ratio =
        |row: &CountVector| model.log_likelihood_ratio(&statistics, row.row(), HEALTHY, CANCER).unwrap();
    assert!(near(ratio(&positive), 18f64.ln(), 1e-12) && near(ratio(&negative), (0.1f64 / 0.95).ln(), 1e-12));
    // odds of 1 to 99 times 18
    let odds = out[1] / out[0];
    assert!(near(odds, 18.0 / 99.0, 1e-12), "{odds}");
    model.predict_proba(&statistics, negative.row(), &mut out).unwrap();
    assert!(near(out[1], 0.001 / (0.001 + 0.99 * 0.95), 1e-12), "{out:?}");
}

#[test]
fn features_that_are_absent_count_and_stay_finite() {
    let mut statistics = Statistics::new(2);
    statistics.observe(0, document(&[0, 1]).row()).unwrap();
    statistics.observe(0, document(&[0]).row()).unwrap();
    statistics.observe(1, document(&[2]).row()).unwrap();
    let bernoulli = Parameters { likelihood: Likelihood::Bernoulli, ..Parameters::default() };
    let model = bernoulli.fit(&statistics).unwrap();
    let mut out = Vec::new();
    model.joint_log_likelihood(&statistics, document(&[]).row(), &mut out).unwrap();
    // by Laplace's rule p(0|0) = 3/4, p(1|0) = 2/4, p(2|0) = 1/4; p(0|1) = p(1|1) = 1/3, p(2|1) = 2/3
    let expected =
        [2.0 / 3.0 * (1.0 / 4.0) * (2.0 / 4.0) * (3.0 / 4.0), 1.0 / 3.0 * (2.0 / 3.0) * (2.0 / 3.0) / 3.0];
    assert!(out.iter().zip(expected).all(|(got, p): (&f64, f64)| near(*got, p.ln(), 1e-12)), "{out:?}");
    // a term always there is missed, one never there is seen: finite all the same
    model.joint_log_likelihood(&statistics, document(&[2]).row(), &mut out).unwrap();
    assert!(out.iter().all(|x| x.is_finite()), "{out:?}");
}

/// The log-likelihood (nats) of counts under a distribution.
fn log_likelihood(counts: &[u64], p: &[f64]) -> f64 {
    counts.iter().zip(p).filter(|(n, _)| **n > 0).map(|(&n, p)| n as f64 * p.ln()).sum()
}

proptest! {
    #[test]
    fn the_coin(successes in 1..1_000u64, failures in 1..1_000u64, other in 0.001..0.999) {
        let p = Beta::maximum_likelihood(successes, failures).unwrap();
        prop_assert!(near(p, successes as f64 / (successes + failures) as f64, 1e-12));
        // where the derivative of s ln p + f ln(1-p) is 0
        let gradient = successes as f64 / p - failures as f64 / (1.0 - p);
        prop_assert!(gradient.abs() < 1e-6, "{}", gradient);
        let log_likelihood = |p: f64| log_likelihood(&[successes, failures], &[p, 1.0 - p]);
        prop_assert!(log_likelihood(other) <= log_likelihood(p) + 1e-9);
    }

    /// Maximising the sum of n_k ln p_k where the p_k add up to 1, by Lagrange's multiplier.
    #[test]
    fn the_die(
        (counts, direction) in (2..7usize).prop_flat_map(|k| {
            (proptest::collection::vec(1..200u64, k), proptest::collection::vec(-1.0..1.0, k))
        }),
        step in 0.01..0.9,
    ) {
        let p = Dirichlet::maximum_likelihood(&counts).unwrap();
        let n = counts.iter().sum::<u64>() as f64;
        prop_assert!(near(p.iter().sum(), 1.0, 1e-12));
        for (&count, p) in counts.iter().zip(&p) {
            let multiplier = count as f64 / p;
            prop_assert!((multiplier - n).abs() < 1e-9 * n, "{} {}", multiplier, n);
        }
        // any other distribution: each probability changed by up to `step` of itself, then made to add up to 1
        let moved: Vec<f64> = p.iter().zip(&direction).map(|(p, d): (&f64, &f64)| p * (1.0 + step * d)).collect();
        let sum: f64 = moved.iter().sum();
        let moved: Vec<f64> = moved.iter().map(|p| p / sum).collect();
        let distance: f64 = p.iter().zip(&moved).map(|(p, q)| (p - q).abs()).sum();
        prop_assume!(distance > 1e-3);
        prop_assert!(log_likelihood(&counts, &moved) < log_likelihood(&counts, &p));
    }

    /// The mode under a prior maximises likelihood times prior, sum of (n_k + alpha_k - 1) ln p_k.
    #[test]
    fn the_mode_is_the_frequency_of_counts_and_prior_less_one(
        (counts, alpha) in (2..6usize).prop_flat_map(|k| {
            (proptest::collection::vec(0..50u64, k), proptest::collection::vec(1.1..9.0, k))
        }),
    ) {
        let prior = Dirichlet::new(alpha.clone()).unwrap();
        let (mode, mean) = (prior.map(&counts).unwrap(), prior.posterior_mean(&counts).unwrap());
        let n = counts.iter().sum::<u64>() as f64;
        let (sum, k) = (alpha.iter().sum::<f64>(), alpha.len() as f64);
        for i in 0..counts.len() {
            prop_assert!(((counts[i] as f64 + alpha[i] - 1.0) / mode[i] - (n + sum - k)).abs() < 1e-6);
            prop_assert!(near(mean[i], (counts[i] as f64 + alpha[i]) / (n + sum), 1e-12));
        }
    }

    /// Additive smoothing by alpha is the posterior's mean under Dirichlet(alpha), and its mode under
    /// Dirichlet(alpha + 1).
    #[test]
    fn smoothing_is_an_estimate(counts in proptest::collection::vec(1..50u32, 2..6), alpha in 0.01..5.0) {
        let alpha: f64 = alpha;
        let mut statistics = Statistics::new(1);
        let tokens = CountVector::from_pairs((0..).zip(counts.iter().copied())).unwrap();
        statistics.observe(0, tokens.row()).unwrap();
        let probabilities = |alpha| {
            let model = Parameters { alpha, ..Parameters::default() }.fit(&statistics).unwrap();
            let log_prob = |term| model.feature_log_prob(&statistics, term, 0).unwrap().unwrap();
            (0..counts.len() as u32).map(|term| log_prob(term).exp()).collect::<Vec<f64>>()
        };
        let smoothed = probabilities(Smoothing::try_from(alpha).unwrap());
        let n: Vec<_> = counts.iter().map(|&n| u64::from(n)).collect();
        let mean = Dirichlet::symmetric(alpha, n.len()).unwrap().posterior_mean(&n).unwrap();
        let mode = Dirichlet::symmetric(alpha + 1.0, n.len()).unwrap().map(&n).unwrap();
        let modal = probabilities(Smoothing::map(alpha + 1.0).unwrap());
        for i in 0..n.len() {
            prop_assert!(near(smoothed[i], mean[i], 1e-12) && near(smoothed[i], mode[i], 1e-12) && near(smoothed[i], modal[i], 1e-12));
        }
    }
}
