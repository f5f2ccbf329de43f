//! Normal distributions of real features within each class.

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};

use crate::bayes::{ClassPrior, ParametersError};
use crate::counts::ClassId;
use crate::reals::gaussian_statistics::GaussianStatistics;
use crate::reals::moments::Moments;

/// Parameters of Gaussian naive Bayes: the prior and the smoothing of variances.
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
    /// How far the variance of a feature within a class is moved towards that of all classes together. 0, the default, leaves each class its own; with 1 all have the same, and the log-odds are linear.
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
    /// The distributions of the features, from the maximum likelihood estimates of mean and variance; variances are
    /// smoothed. They are [`ColumnLikelihood`](crate::ColumnLikelihood)s of a mixed model.
    ///
    /// # Errors
    /// Parameters out of their ranges; without smoothing, a feature that is constant in a class but not overall.
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
            let shared = self.shrinkage * within(classes, all) + epsilon;
            GaussianFeature::new(i, classes, all, 1.0 - self.shrinkage, shared)
        };
        features.map(feature).collect()
    }
}

/// The variance of a feature within a class, estimated without bias from all classes and, as one value more, from the
/// variance of all values together: it is not 0 where each class has a single value.
fn within(classes: &[Moments], all: &Moments) -> f64 {
    let squares = |class: &Moments| class.n() * class.variance();
    let free = |class: &Moments| (class.n() - 1.0).max(0.0);
    let [squares, free] = [classes.iter().map(squares).sum::<f64>(), classes.iter().map(free).sum()];
    (squares + all.variance()) / (free + 1.0)
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
