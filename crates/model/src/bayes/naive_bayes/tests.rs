use tamis_tokenizer::CountVector;

use super::*;
use crate::bayes::error::FitError;
use crate::bayes::features::{Criterion, FeatureLimits, Select};
use crate::bayes::likelihood::Likelihood;
use crate::bayes::parameters::{ClassPrior, Smoothing};
use crate::counts::Statistics;
use crate::numbers::log_normalize;

fn row(pairs: &[(TermId, u32)]) -> CountVector {
    CountVector::from_pairs(pairs.iter().copied()).unwrap()
}

use Likelihood::{Bernoulli, Complement, ComplementNormalized, Multinomial};

const GENERATIVE: [Likelihood; 2] = [Bernoulli, Multinomial];
const ALL: [Likelihood; 4] = [Bernoulli, Multinomial, Complement, ComplementNormalized];

fn each<const N: usize>(likelihoods: [Likelihood; N], change: impl Fn(&mut Parameters)) -> [Parameters; N] {
    likelihoods.map(|likelihood| {
        let mut parameters = Parameters { likelihood, ..Parameters::default() };
        change(&mut parameters);
        parameters
    })
}

#[test]
fn nothing_learned_predicts_the_prior() {
    let statistics = Statistics::new(2);
    for parameters in each(GENERATIVE, |p| p.prior = ClassPrior::Given(vec![0.25, 0.75])) {
        let model = parameters.fit(&statistics).unwrap();
        let mut out = Vec::new();
        assert_eq!(model.predict_proba(&statistics, row(&[(3, 9)]).row(), &mut out), Ok(0));
        assert!((out[1] - 0.75).abs() < 1e-12);
        assert!(model.linear_form(&statistics, 0, 1).unwrap().weights.is_empty());
    }
    let error = Parameters::default().fit(&statistics).unwrap_err();
    assert!(matches!(error, FitError::Parameters(ParametersError::EmptyClass { class: 0, .. })));
    assert!(Parameters::default().fit(&Statistics::new(0)).is_err());
}

#[test]
fn extreme_smoothing_stays_finite() {
    let mut statistics = Statistics::new(2);
    statistics.observe(0, row(&[(0, u32::MAX), (1, 1)]).row()).unwrap();
    statistics.observe(1, row(&[(1, 1)]).row()).unwrap();
    for alpha in [f64::from_bits(1), 1e-300, 1e300, f64::MAX] {
        for parameters in each(ALL, |p| p.alpha = Smoothing::try_from(alpha).unwrap()) {
            let model = parameters.fit(&statistics).unwrap();
            let mut out = Vec::new();
            model.joint_log_likelihood(&statistics, row(&[(0, u32::MAX), (1, 7)]).row(), &mut out).unwrap();
            log_normalize(&mut out);
            assert!(out.iter().all(|x| x.is_finite() && *x <= 0.0), "{alpha} {out:?}");
        }
    }
}

#[test]
fn ties_go_to_the_lowest_class_and_unknown_classes_to_nothing() {
    let mut statistics = Statistics::new(3);
    for class in 0..3 {
        statistics.observe(class, row(&[(0, 1)]).row()).unwrap();
    }
    for parameters in each(ALL, |_| {}) {
        let model = parameters.fit(&statistics).unwrap();
        assert_eq!(model.predict(&statistics, row(&[(0, 2)]).row()), Ok(0));
        assert_eq!(model.feature_log_prob(&statistics, 0, 3), Ok(None));
        assert_eq!(model.feature_log_prob(&statistics, 1, 0), Ok(None));
        let form = model.linear_form(&statistics, 0, 3).unwrap();
        assert_eq!((form.weights, form.bias), (vec![0.0], 0.0));
    }
}

#[test]
fn parameters_are_checked() {
    let mut statistics = Statistics::new(1);
    statistics.observe(0, row(&[(0, 1)]).row()).unwrap();
    for bad in [0.0, -1.0, 1.1, f64::NAN, f64::INFINITY] {
        let features = FeatureLimits { max_df: Some(bad), ..FeatureLimits::default() };
        let fitted = Parameters { features, ..Parameters::default() }.fit(&statistics);
        assert!(matches!(fitted, Err(FitError::Parameters(ParametersError::MaxDf { .. }))), "{bad}");
    }
    let features = FeatureLimits { max_features: Some(0), ..FeatureLimits::default() };
    let fitted = Parameters { features, ..Parameters::default() }.fit(&statistics);
    assert!(matches!(fitted, Err(FitError::Parameters(ParametersError::MaxFeatures { .. }))));
    let select = Some(Select { by: Criterion::ChiSquare, n: 0 });
    let features = FeatureLimits { select, ..FeatureLimits::default() };
    let fitted = Parameters { features, ..Parameters::default() }.fit(&statistics);
    assert!(matches!(fitted, Err(FitError::Parameters(ParametersError::MaxFeatures { .. }))));
}

#[test]
fn complements_need_smoothing_and_start_even() {
    let mut statistics = Statistics::new(2);
    statistics.observe(0, row(&[(0, 1), (1, 2)]).row()).unwrap();
    statistics.observe(0, row(&[(0, 1)]).row()).unwrap();
    statistics.observe(1, row(&[(1, 1)]).row()).unwrap();
    for parameters in each([Complement, ComplementNormalized], |_| {}) {
        assert_eq!(parameters.fit(&statistics).unwrap().intercept(), [0.0, 0.0]);
        let unsmoothed = Parameters { alpha: Smoothing::maximum_likelihood(), ..parameters };
        let error = unsmoothed.fit(&statistics).unwrap_err();
        assert_eq!(error, FitError::Parameters(ParametersError::Smoothing { got: 0.0 }));
    }
}
