//! Linear discriminant analysis (LDA).

use std::f64::consts::PI;

use serde::{Deserialize, Serialize};
use tamis_model::{
    Cholesky, ClassId, ClassPrior, ObservationError, ParametersError, SingularPivot, argmax, dot,
    log_normalize, softmax,
};

use crate::scatter::{ScatterStatistics, check};

/// How a covariance matrix is regularized before it is inverted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Regularization {
    /// None: the maximum likelihood estimate S.
    #[default]
    None,
    /// S + r I: adds the variance r (finite, >= 0) to that of each feature.
    Ridge(f64),
    /// (1 - s) S + s tr(S)/d I, with s in [0, 1] and d features: scikit-learn's `shrinkage`.
    Shrinkage(f64),
}

impl Regularization {
    fn check(self) -> Result<(), ParametersError> {
        let (name, expected, got, good) = match self {
            Regularization::None => return Ok(()),
            Regularization::Ridge(r) => ("ridge", "a finite number of at least 0", r, 0.0..=f64::MAX),
            Regularization::Shrinkage(s) => ("shrinkage", "a number in [0, 1]", s, 0.0..=1.0),
        };
        good.contains(&got).then_some(()).ok_or(ParametersError::OutOfRange { name, expected, got })
    }

    /// Regularizes a covariance matrix, given by its lower triangle.
    fn apply(self, covariance: &mut [Vec<f64>]) {
        let d = covariance.len() as f64;
        let trace: f64 = covariance.iter().filter_map(|row| row.last()).sum();
        let (factor, ridge) = match self {
            Regularization::None => return,
            Regularization::Ridge(r) => (1.0, r),
            Regularization::Shrinkage(s) => (1.0 - s, s * trace / d),
        };
        for row in covariance {
            row.iter_mut().for_each(|value| *value *= factor);
            row.last_mut().into_iter().for_each(|variance| *variance += ridge);
        }
    }
}

/// Parameters of [`LinearDiscriminant`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DiscriminantParameters {
    /// The class prior. By default the class's share of the documents.
    pub prior: ClassPrior,
    /// Regularization of the covariance matrix. By default none.
    pub regularization: Regularization,
}

impl DiscriminantParameters {
    /// Derives a model from the maximum likelihood estimates of means and covariance, in closed form. A class without
    /// documents gets the mean of all documents.
    ///
    /// # Errors
    /// Parameters out of their ranges; a prior that does not fit the classes; a singular covariance matrix. The error
    /// names the first feature that is constant or a linear function of earlier ones.
    pub fn fit(&self, statistics: &ScatterStatistics) -> Result<LinearDiscriminant, ParametersError> {
        self.regularization.check()?;
        let documents: Vec<f64> = statistics.documents().map(|n| n as f64).collect();
        let class_log_prior = self.prior.log_prior_of(&documents)?;
        let mut covariance = statistics.covariance();
        self.regularization.apply(&mut covariance);
        let singular = |SingularPivot { feature, expected, got }| ParametersError::Singular {
            class: None,
            feature,
            expected,
            got,
        };
        let cholesky = Cholesky::new(&covariance).map_err(singular)?;
        let center = statistics.center();
        let deviations = statistics.deviations(&center);
        let mut weights = deviations.clone();
        weights.iter_mut().for_each(|w| cholesky.solve(w));
        let terms = class_log_prior.iter().zip(deviations.iter().zip(&weights));
        let offsets = terms.map(|(prior, (deviation, w))| prior - 0.5 * dot(deviation, w)).collect();
        let log_peak = -0.5 * (center.len() as f64 * (2.0 * PI).ln() + cholesky.log_determinant());
        Ok(LinearDiscriminant { class_log_prior, center, weights, offsets, cholesky, log_peak })
    }
}

/// Linear discriminant analysis (LDA): within a class the features are jointly normal, with a mean per class and a
/// covariance shared by all classes.
///
/// The joint log-likelihood of a vector x and class c is `log p(c) + log N(x; mean_c, S)` in nats, where S is the
/// pooled covariance: the scatter within classes divided by the number of documents. The part that depends on c is
/// linear in x, so the boundary between two classes is a hyperplane. Work grows with the square of the number of
/// features, plus classes times features.
///
/// Source: Fisher, "The Use of Multiple Measurements in Taxonomic Problems" (1936); in this form Bishop,
/// "Pattern Recognition and Machine Learning" (2006), section 4.2.
///
/// ```
/// use tamis_textbook::{DiscriminantParameters, ScatterStatistics};
///
/// let mut statistics = ScatterStatistics::new(2, 2);
/// for (class, x) in [(0, [0.0, 0.0]), (0, [1.0, 2.0]), (0, [2.0, 1.0]), (1, [3.0, 0.0]), (1, [4.0, 1.0])] {
///     statistics.observe(class, &x)?;
/// }
/// let model = DiscriminantParameters::default().fit(&statistics)?;
/// assert_eq!(model.predict(&[3.0, 0.5])?, 1);
/// let boundary = model.decision_boundary(0, 1).ok_or("both classes are there")?;
/// assert!(boundary.decision_function(&[3.0, 0.5])? > 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LinearDiscriminant {
    class_log_prior: Vec<f64>,
    /// The mean of all documents, subtracted to avoid cancellation.
    center: Vec<f64>,
    /// For each class, S^-1 (mean_c - center).
    weights: Vec<Vec<f64>>,
    /// For each class, log p(c) - 1/2 (mean_c - center)^T S^-1 (mean_c - center).
    offsets: Vec<f64>,
    cholesky: Cholesky,
    /// The logarithm of the density at the mean.
    log_peak: f64,
}

impl LinearDiscriminant {
    /// The number of features.
    pub fn n_features(&self) -> usize {
        self.center.len()
    }

    /// The logarithm of each class's prior probability.
    pub fn class_log_prior(&self) -> &[f64] {
        &self.class_log_prior
    }

    /// Writes the joint log-likelihood (nats) of a vector and each class to `out`.
    ///
    /// # Errors
    /// A wrong number of values; a value that is not finite or is above 1e150 in magnitude.
    pub fn joint_log_likelihood(&self, x: &[f64], out: &mut Vec<f64>) -> Result<(), ObservationError> {
        check(x, self.n_features())?;
        let mut distance: Vec<f64> = x.iter().zip(&self.center).map(|(x, center)| x - center).collect();
        let classes = self.weights.iter().zip(&self.offsets);
        out.clear();
        out.extend(classes.map(|(weights, offset)| dot(weights, &distance) + offset));
        self.cholesky.solve_lower(&mut distance);
        let common = self.log_peak - 0.5 * dot(&distance, &distance);
        out.iter_mut().for_each(|joint| *joint += common);
        Ok(())
    }

    /// As [`joint_log_likelihood`](Self::joint_log_likelihood), normalised to the logarithms of the posterior
    /// probabilities.
    ///
    /// # Errors
    /// As [`joint_log_likelihood`](Self::joint_log_likelihood).
    pub fn predict_log_proba(&self, x: &[f64], out: &mut Vec<f64>) -> Result<(), ObservationError> {
        self.joint_log_likelihood(x, out).inspect(|()| log_normalize(out))
    }

    /// As [`joint_log_likelihood`](Self::joint_log_likelihood), normalised to posterior probabilities that
    /// add up to 1.
    ///
    /// # Errors
    /// As [`joint_log_likelihood`](Self::joint_log_likelihood).
    pub fn predict_proba(&self, x: &[f64], out: &mut Vec<f64>) -> Result<(), ObservationError> {
        self.joint_log_likelihood(x, out).inspect(|()| softmax(out))
    }

    /// The most probable class; ties go to the lowest id.
    ///
    /// # Errors
    /// As [`joint_log_likelihood`](Self::joint_log_likelihood).
    pub fn predict(&self, x: &[f64]) -> Result<ClassId, ObservationError> {
        let mut joint = Vec::new();
        self.joint_log_likelihood(x, &mut joint).map(|()| argmax(&joint))
    }

    /// The hyperplane on which two classes are equally probable; `None` if either is unknown.
    pub fn decision_boundary(&self, negative: ClassId, positive: ClassId) -> Option<Hyperplane> {
        let class = |id: ClassId| self.weights.get(usize::from(id)).zip(self.offsets.get(usize::from(id)));
        let ((minus, down), (plus, up)) = (class(negative)?, class(positive)?);
        let weights: Vec<f64> = plus.iter().zip(minus).map(|(plus, minus)| plus - minus).collect();
        let bias = up - down - dot(&weights, &self.center);
        Some(Hyperplane { weights, bias })
    }
}

/// The log-odds of one class against another as a linear function `weights . x + bias` of a vector.
#[derive(Clone, Debug, PartialEq)]
pub struct Hyperplane {
    /// Log-odds (nats) that one unit of each feature adds.
    pub weights: Vec<f64>,
    /// Log-odds (nats) at the origin.
    pub bias: f64,
}

impl Hyperplane {
    /// The log-odds (nats) of a vector: positive in favour of the positive class, 0 on the boundary. Never NaN: if
    /// infinities of both signs meet, the result is 0, undecided.
    ///
    /// # Errors
    /// A wrong number of values; a value that is not finite or is above 1e150 in magnitude.
    pub fn decision_function(&self, x: &[f64]) -> Result<f64, ObservationError> {
        check(x, self.weights.len())?;
        let log_odds = dot(&self.weights, x) + self.bias;
        Ok(if log_odds.is_nan() { 0.0 } else { log_odds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learned(rows: &[(ClassId, [f64; 2])]) -> ScatterStatistics {
        let mut statistics = ScatterStatistics::new(2, 2);
        rows.iter().for_each(|(class, x)| statistics.observe(*class, x).unwrap());
        statistics
    }

    const ROWS: [(ClassId, [f64; 2]); 6] = [
        (0, [0.0, 1.0]),
        (0, [1.0, 3.0]),
        (0, [2.0, 2.0]),
        (1, [4.0, 1.0]),
        (1, [5.0, 2.5]),
        (1, [7.0, 2.0]),
    ];

    fn fit(
        statistics: &ScatterStatistics,
        regularization: Regularization,
    ) -> Result<LinearDiscriminant, ParametersError> {
        DiscriminantParameters { regularization, ..DiscriminantParameters::default() }.fit(statistics)
    }

    #[test]
    fn the_boundary_is_where_the_classes_meet() {
        let model = fit(&learned(&ROWS), Regularization::None).unwrap();
        let boundary = model.decision_boundary(0, 1).unwrap();
        let mut out = Vec::new();
        for x in [[0.0, 0.0], [3.0, 2.0], [-10.0, 40.0]] {
            model.joint_log_likelihood(&x, &mut out).unwrap();
            let odds = boundary.decision_function(&x).unwrap();
            assert!((out[1] - out[0] - odds).abs() <= 1e-9 * (1.0 + odds.abs()));
        }
        // a point on the boundary
        let x = [-(boundary.bias + boundary.weights[1]) / boundary.weights[0], 1.0];
        model.predict_proba(&x, &mut out).unwrap();
        assert!((out[0] - 0.5).abs() < 1e-9);
        assert_eq!(model.decision_boundary(0, 2), None);
    }

    #[test]
    fn one_feature_is_a_normal_distribution() {
        let mut s = ScatterStatistics::new(2, 1);
        [(0, 1.0), (0, 3.0), (1, 5.0), (1, 6.0)].iter().for_each(|&(c, x)| s.observe(c, &[x]).unwrap());
        let model = fit(&s, Regularization::Ridge(0.5)).unwrap();
        let (mut out, variance) = (Vec::new(), (1.0 + 1.0 + 0.25 + 0.25) / 4.0 + 0.5);
        model.joint_log_likelihood(&[4.0], &mut out).unwrap();
        for (got, mean) in out.iter().zip([2.0, 5.5f64]) {
            let density = (-(4.0 - mean).powi(2) / (2.0 * variance)).exp() / (2.0 * PI * variance).sqrt();
            assert!((got - (0.5 * density).ln()).abs() < 1e-12);
        }
    }

    #[test]
    fn a_singular_covariance_names_the_feature() {
        // the second feature is twice the first; the second is constant; neither varies within a class
        let twice = ROWS.map(|(class, [x, _])| (class, [x, 2.0 * x]));
        let constant = ROWS.map(|(class, [x, _])| (class, [x, 7.0]));
        let cases: [(&[_], usize); 3] = [(&twice, 1), (&constant, 1), (&ROWS[2..4], 0)];
        for (rows, expected) in cases {
            let error = fit(&learned(rows), Regularization::None).unwrap_err();
            assert!(
                matches!(error, ParametersError::Singular { feature, .. } if feature == expected),
                "{error}"
            );
            assert!(fit(&learned(rows), Regularization::Ridge(0.1)).is_ok());
        }
        assert!(fit(&learned(&twice), Regularization::Shrinkage(0.1)).is_ok());
        for bad in [-0.1, f64::NAN, f64::INFINITY] {
            for regularization in [Regularization::Ridge(bad), Regularization::Shrinkage(bad)] {
                let error = fit(&learned(&ROWS), regularization).unwrap_err();
                assert!(matches!(error, ParametersError::OutOfRange { .. }));
            }
        }
        assert!(fit(&learned(&ROWS), Regularization::Shrinkage(1.1)).is_err());
        assert_eq!(fit(&ScatterStatistics::new(0, 2), Regularization::None), Err(ParametersError::NoClasses));
    }

    #[test]
    fn hostile_vectors() {
        let model = fit(&learned(&ROWS), Regularization::None).unwrap();
        let mut out = Vec::new();
        for bad in [f64::NAN, f64::INFINITY, 1e151] {
            let error = model.predict_proba(&[0.0, bad], &mut out).unwrap_err();
            assert!(matches!(error, ObservationError::Value { feature: 1, .. }));
        }
        assert_eq!(model.predict(&[0.0]), Err(ObservationError::Features { expected: 2, got: 1 }));
        model.predict_log_proba(&[1e150, -1e150], &mut out).unwrap();
        assert!(out.iter().all(|p| *p <= 0.0), "{out:?}");
        // features so small that distances to other vectors overflow
        let tiny = learned(&ROWS.map(|(class, x)| (class, x.map(|x| x * 1e-160))));
        let model = fit(&tiny, Regularization::None).unwrap();
        let boundary = model.decision_boundary(0, 1).unwrap();
        for x in [[1e150, 1e150], [1e150, -1e150], [-1e150, 0.0]] {
            assert!(!boundary.decision_function(&x).unwrap().is_nan());
            model.predict_proba(&x, &mut out).unwrap();
            assert!((out.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{out:?}");
        }
        // a class without documents gets the mean of all
        let prior = ClassPrior::Smoothed;
        let parameters = DiscriminantParameters { prior, regularization: Regularization::None };
        let model = parameters.fit(&learned(&ROWS[..3])).unwrap();
        model.predict_proba(&[1.0, 1.0], &mut out).unwrap();
        assert!((out[0] - 4.0 / 5.0).abs() < 1e-12);
    }
}
