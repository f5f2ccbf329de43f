//! Gaussian naive Bayes.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use crate::bayes::{ClassPrior, ParametersError};
use crate::counts::ClassId;
use crate::numbers::{argmax, log_normalize, softmax};
use crate::reals::gaussian_statistics::GaussianStatistics;
use crate::reals::moments::Moments;

/// Parameters of [`GaussianNaiveBayes`]: the prior and the smoothing of variances.
///
/// | field | default | purpose | range |
/// | --- | --- | --- | --- |
/// | `prior` | `Learned` | prior probability of a class | |
/// | `var_smoothing` | 1e-9 | added to all variances, as a fraction of the largest | finite, >= 0 |
/// | `shrinkage` | 0 | share of a variance that all classes have in common | 0 to 1 |
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GaussianParameters {
    /// The class prior. By default the class's share of the documents.
    pub prior: ClassPrior,
    /// Added to every variance, as a fraction of the largest variance of a feature over all classes: scikit-learn's
    /// `var_smoothing`. By default 1e-9.
    pub var_smoothing: f64,
    /// How far the variance of a feature within a class is moved towards its mean over all classes, weighted by their
    /// documents. 0, the default, leaves each class its own; with 1 all have the same, and the log-odds are linear.
    ///
    /// Source: Friedman, "Regularized Discriminant Analysis" (1989), for features that are independent.
    pub shrinkage: f64,
}

impl Default for GaussianParameters {
    fn default() -> Self {
        GaussianParameters { prior: ClassPrior::Learned, var_smoothing: 1e-9, shrinkage: 0.0 }
    }
}

impl GaussianParameters {
    /// Derives a model from the maximum likelihood estimates of mean and variance; variances are smoothed.
    ///
    /// # Errors
    /// Parameters out of their ranges; a prior that does not fit the classes; without smoothing, a feature that is
    /// constant in a class but not overall.
    pub fn fit(&self, statistics: &GaussianStatistics) -> Result<GaussianNaiveBayes, ParametersError> {
        let class_log_prior = self.prior.log_prior_of(&statistics.documents())?;
        Ok(GaussianNaiveBayes { class_log_prior, features: self.features(statistics)? })
    }

    /// The distributions of the features only, for use as [`ColumnLikelihood`](crate::ColumnLikelihood) of a mixed
    /// model.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), except for the prior.
    pub fn features(&self, statistics: &GaussianStatistics) -> Result<Vec<GaussianFeature>, ParametersError> {
        let got = self.var_smoothing;
        if !(got.is_finite() && got >= 0.0) {
            let (name, expected) = ("var_smoothing", "a finite number of at least 0");
            return Err(ParametersError::OutOfRange { name, expected, got });
        }
        if !(0.0..=1.0).contains(&self.shrinkage) {
            let (name, expected, got) = ("shrinkage", "a number from 0 to 1", self.shrinkage);
            return Err(ParametersError::OutOfRange { name, expected, got });
        }
        let pooled = statistics.features().map(|(feature, classes)| pooled(feature, classes));
        let pooled = pooled.collect::<Result<Vec<_>, _>>()?;
        let epsilon = got * pooled.iter().map(Moments::variance).fold(0.0, f64::max);
        let features = statistics.features().zip(&pooled).enumerate();
        let feature = |(i, ((_, classes), all)): (_, ((_, &[Moments]), &Moments))| {
            let shared = self.shrinkage * within(classes) + epsilon;
            GaussianFeature::new(i, classes, all, 1.0 - self.shrinkage, shared)
        };
        features.map(feature).collect()
    }
}

/// The mean variance of a feature within a class.
fn within(classes: &[Moments]) -> f64 {
    let n: f64 = classes.iter().map(Moments::n).sum();
    if n > 0.0 { classes.iter().map(|class| class.n() / n * class.variance()).sum() } else { 0.0 }
}

/// The moments of a feature over all classes.
fn pooled(feature: usize, classes: &[Moments]) -> Result<Moments, ParametersError> {
    let mut all = Moments::default();
    let merged = classes.iter().try_for_each(|class| all.merge(class));
    let singular = |_| ParametersError::Singular { class: None, feature, expected: 0.0, got: f64::INFINITY };
    merged.map(|()| all).map_err(singular)
}

/// The normal distributions of one real feature, one per class.
///
/// A class without values of the feature gets the moments of all classes together. A feature that is constant over all
/// classes weighs nothing, unless smoothing gives it a variance.
#[derive(Clone, Debug, PartialEq)]
pub struct GaussianFeature {
    /// `None` if the feature weighs nothing.
    classes: Option<Vec<Normal>>,
}

/// A normal distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Normal {
    mean: f64,
    variance: f64,
    /// The logarithm of the density at the mean (nats).
    log_peak: f64,
}

impl GaussianFeature {
    /// The variance of each class is `own` times that of its values, plus `shared`.
    fn new(
        feature: usize,
        classes: &[Moments],
        pooled: &Moments,
        own: f64,
        shared: f64,
    ) -> Result<GaussianFeature, ParametersError> {
        if pooled.variance() + shared == 0.0 {
            return Ok(GaussianFeature { classes: None });
        }
        let normal = |(class, moments): (usize, &Moments)| {
            let moments = if moments.is_empty() { pooled } else { moments };
            let variance = own * moments.variance() + shared;
            if !(variance > 0.0 && variance.is_finite()) {
                let class = Some(class);
                return Err(ParametersError::Singular { class, feature, expected: 0.0, got: variance });
            }
            let log_peak = -0.5 * ((2.0 * PI).ln() + variance.ln());
            Ok(Normal { mean: moments.mean(), variance, log_peak })
        };
        let classes: Result<Vec<_>, _> = classes.iter().enumerate().map(normal).collect();
        Ok(GaussianFeature { classes: Some(classes?) })
    }

    /// The mean of a class; `None` if the class is unknown or the feature weighs nothing.
    pub fn mean(&self, class: ClassId) -> Option<f64> {
        self.normal(class).map(|normal| normal.mean)
    }

    /// The smoothed variance of a class; `None` if the class is unknown or the feature weighs nothing.
    pub fn variance(&self, class: ClassId) -> Option<f64> {
        self.normal(class).map(|normal| normal.variance)
    }

    fn normal(&self, class: ClassId) -> Option<&Normal> {
        self.classes.as_ref()?.get(usize::from(class))
    }

    /// The number of classes; `None` if the feature weighs nothing.
    pub(crate) fn n_classes(&self) -> Option<usize> {
        self.classes.as_ref().map(Vec::len)
    }

    /// Adds the log-density (nats) of the value in each class to `out`. Returns `false` and adds nothing if the value
    /// is missing or not finite, or if the feature weighs nothing.
    pub fn add_log_density(&self, value: Option<f64>, out: &mut [f64]) -> bool {
        self.add_times(1.0, value, out)
    }

    /// As [`add_log_density`](Self::add_log_density), each multiplied by `factor`.
    pub(crate) fn add_times(&self, factor: f64, value: Option<f64>, out: &mut [f64]) -> bool {
        let value = value.filter(|x| x.is_finite());
        let Some((value, classes)) = value.zip(self.classes.as_ref()) else { return false };
        for (out, normal) in out.iter_mut().zip(classes) {
            let distance = value - normal.mean;
            *out += factor * (normal.log_peak - 0.5 * (distance * (distance / normal.variance)));
        }
        true
    }
}

/// Gaussian naive Bayes: within a class each feature is normally distributed, independently of the others.
///
/// The joint log-likelihood of a document and a class is `log p(c) + sum over features of log N(x; mean, variance)`.
/// Here `variance` is that of the class (maximum likelihood) plus `var_smoothing` times the largest variance of a
/// feature. Logarithms are natural (nats). The sum leaves out values that are missing (`None`) or not finite.
///
/// ```
/// use tamis_model::{GaussianParameters, GaussianStatistics};
///
/// let mut statistics = GaussianStatistics::new(2, 2);
/// for (class, height, weight) in [(0, 1.0, 5.0), (0, 1.4, 5.5), (1, 2.0, 5.2), (1, 2.2, 4.9)] {
///     statistics.observe(class, &[Some(height), Some(weight)])?;
/// }
/// let model = GaussianParameters::default().fit(&statistics)?;
/// assert_eq!(model.predict(&[Some(2.05), None]), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GaussianNaiveBayes {
    class_log_prior: Vec<f64>,
    features: Vec<GaussianFeature>,
}

impl GaussianNaiveBayes {
    /// The logarithm of each class's prior probability.
    pub fn class_log_prior(&self) -> &[f64] {
        &self.class_log_prior
    }

    /// The distributions of the features, in order.
    pub fn features(&self) -> &[GaussianFeature] {
        &self.features
    }

    /// Writes the joint log-likelihood (nats) of the values, one per feature, and each class to `out`. Returns the
    /// number of values used. Extra values are ignored; absent ones are missing.
    pub fn joint_log_likelihood(&self, values: &[Option<f64>], out: &mut Vec<f64>) -> usize {
        out.clear();
        out.extend_from_slice(&self.class_log_prior);
        let pairs = self.features.iter().zip(values);
        pairs.filter(|(feature, value)| feature.add_log_density(**value, out)).count()
    }

    /// As [`joint_log_likelihood`](Self::joint_log_likelihood), normalised to the logarithms of the posterior
    /// probabilities.
    pub fn predict_log_proba(&self, values: &[Option<f64>], out: &mut Vec<f64>) -> usize {
        let known = self.joint_log_likelihood(values, out);
        log_normalize(out);
        known
    }

    /// As [`joint_log_likelihood`](Self::joint_log_likelihood), normalised to posterior probabilities that
    /// add up to 1.
    pub fn predict_proba(&self, values: &[Option<f64>], out: &mut Vec<f64>) -> usize {
        let known = self.joint_log_likelihood(values, out);
        softmax(out);
        known
    }

    /// The most probable class; ties go to the lowest id.
    pub fn predict(&self, values: &[Option<f64>]) -> ClassId {
        let mut joint = Vec::new();
        self.joint_log_likelihood(values, &mut joint);
        argmax(&joint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statistics(rows: &[(ClassId, &[Option<f64>])], n_features: usize) -> GaussianStatistics {
        let mut statistics = GaussianStatistics::new(2, n_features);
        rows.iter().for_each(|(class, values)| statistics.observe(*class, values).unwrap());
        statistics
    }

    #[test]
    fn constant_features() {
        let rows: [(ClassId, &[Option<f64>]); 4] = [
            (0, &[Some(1.0), Some(7.0)]),
            (0, &[Some(3.0), Some(7.0)]),
            (1, &[Some(4.0), Some(7.0)]),
            (1, &[Some(4.0), Some(7.0)]),
        ];
        // smoothing gives constant features a distribution; without it feature 0 has none in class 1
        let smoothed = GaussianParameters::default().fit(&statistics(&rows, 2)).unwrap();
        assert!(smoothed.features()[1].variance(1).unwrap() > 0.0);
        let exact = GaussianParameters { var_smoothing: 0.0, ..GaussianParameters::default() };
        let error = exact.fit(&statistics(&rows, 2)).unwrap_err();
        assert_eq!(error, ParametersError::Singular { class: Some(1), feature: 0, expected: 0.0, got: 0.0 });
        // a feature that never varies tells nothing
        let constant = rows.map(|(class, values)| (class, &values[1..]));
        for parameters in [exact, GaussianParameters::default()] {
            let model = parameters.fit(&statistics(&constant, 1)).unwrap();
            let mut out = Vec::new();
            assert_eq!(model.predict_proba(&[Some(8.0)], &mut out), 0);
            assert_eq!(out, [0.5, 0.5]);
            assert_eq!(model.features()[0].mean(0), None);
        }
    }

    #[test]
    fn a_class_without_values_takes_those_of_all() {
        let rows: [(ClassId, &[Option<f64>]); 3] =
            [(0, &[Some(1.0), Some(0.0)]), (0, &[Some(3.0), Some(1.0)]), (1, &[None, Some(5.0)])];
        let parameters = GaussianParameters { var_smoothing: 0.0, ..GaussianParameters::default() };
        let mut rows = rows.to_vec();
        rows.push((1, &[None, Some(6.0)]));
        let model = parameters.fit(&statistics(&rows, 2)).unwrap();
        assert_eq!(model.features()[0].mean(1), Some(2.0));
        assert_eq!(model.features()[0].variance(1), Some(1.0));
        let mut out = Vec::new();
        assert_eq!(model.predict_proba(&[Some(99.0)], &mut out), 1);
        assert_eq!(out, [0.5, 0.5]);
        // a class without documents does not fail either, if the prior does not need any
        let parameters = GaussianParameters { prior: ClassPrior::Smoothed, ..parameters };
        assert!(parameters.fit(&statistics(&rows[..2], 2)).is_ok());
        let learned = GaussianParameters::default().fit(&statistics(&rows[..2], 2));
        assert!(matches!(learned, Err(ParametersError::EmptyClass { class: 1, .. })));
    }

    #[test]
    fn classes_are_needed() {
        let none = GaussianStatistics::new(0, 1);
        for prior in [ClassPrior::Learned, ClassPrior::Smoothed, ClassPrior::Uniform] {
            let parameters = GaussianParameters { prior, ..GaussianParameters::default() };
            assert_eq!(parameters.fit(&none), Err(ParametersError::NoClasses));
        }
    }

    #[test]
    fn shrinkage_moves_variances_towards_their_mean_within_classes() {
        let rows: [(ClassId, &[Option<f64>]); 5] =
            [(0, &[Some(0.0)]), (0, &[Some(2.0)]), (0, &[Some(4.0)]), (1, &[Some(9.0)]), (1, &[Some(10.0)])];
        let variances = |shrinkage| {
            let parameters =
                GaussianParameters { var_smoothing: 0.0, shrinkage, ..GaussianParameters::default() };
            let features = parameters.features(&statistics(&rows, 1))?;
            Ok([0, 1].map(|class| features[0].variance(class).unwrap()))
        };
        let (own, within) = ([8.0 / 3.0, 0.25], 3.0 / 5.0 * 8.0 / 3.0 + 2.0 / 5.0 * 0.25);
        for share in [0.0, 0.3, 1.0] {
            let expected = own.map(|own| (1.0 - share) * own + share * within);
            let got = variances(share).unwrap();
            assert!(got.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{got:?}");
        }
        for bad in [-0.1, 1.1, f64::NAN] {
            let error: ParametersError = variances(bad).unwrap_err();
            assert!(matches!(error, ParametersError::OutOfRange { name: "shrinkage", .. }), "{bad}");
        }
    }

    #[test]
    fn never_nan() {
        let rows: [(ClassId, &[Option<f64>]); 4] =
            [(0, &[Some(-1e150)]), (0, &[Some(1e150)]), (1, &[Some(0.0)]), (1, &[Some(1e-150)])];
        let mut out = Vec::new();
        for var_smoothing in [1e-9, 1e-300] {
            let parameters = GaussianParameters { var_smoothing, ..GaussianParameters::default() };
            let model = parameters.fit(&statistics(&rows, 1)).unwrap();
            for x in [0.0, 1e-300, -1e150, f64::MAX, f64::MIN, f64::NAN, f64::INFINITY] {
                let known = model.predict_log_proba(&[Some(x)], &mut out);
                assert_eq!(known, usize::from(x.is_finite()));
                assert!(out.iter().all(|p| *p <= 0.0), "{x} {out:?}");
            }
        }
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            let parameters = GaussianParameters { var_smoothing: bad, ..GaussianParameters::default() };
            let fitted = parameters.fit(&statistics(&rows, 1));
            assert!(
                matches!(fitted, Err(ParametersError::OutOfRange { name: "var_smoothing", .. })),
                "{bad}"
            );
        }
    }
}
