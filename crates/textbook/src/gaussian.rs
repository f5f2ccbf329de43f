//! Gaussian naive Bayes.

use tamis_model::{
    ClassId, GaussianFeature, GaussianParameters, GaussianStatistics, ParametersError, argmax, log_normalize,
    softmax,
};

/// Gaussian naive Bayes: within a class each feature is normally distributed, independently of the others.
///
/// The joint log-likelihood of a document and a class is `log p(c) + sum over features of log N(x; mean, variance)`.
/// Here `variance` is that of the class (maximum likelihood) plus `var_smoothing` times the largest variance of a
/// feature. Logarithms are natural (nats). The sum leaves out values that are missing (`None`) or not finite.
///
/// ```
/// use tamis_model::{GaussianParameters, GaussianStatistics};
/// use tamis_textbook::GaussianNaiveBayes;
///
/// let mut statistics = GaussianStatistics::new(2, 2);
/// for (class, height, weight) in [(0, 1.0, 5.0), (0, 1.4, 5.5), (1, 2.0, 5.2), (1, 2.2, 4.9)] {
///     statistics.observe(class, &[Some(height), Some(weight)])?;
/// }
/// let model = GaussianNaiveBayes::new(&GaussianParameters::default(), &statistics)?;
/// assert_eq!(model.predict(&[Some(2.05), None]), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GaussianNaiveBayes {
    class_log_prior: Vec<f64>,
    features: Vec<GaussianFeature>,
}

impl GaussianNaiveBayes {
    /// Derives a model from the maximum likelihood estimates of mean and variance; variances are smoothed.
    ///
    /// # Errors
    /// Parameters out of their ranges; a prior that does not fit the classes; without smoothing, a feature that is
    /// constant in a class but not overall.
    pub fn new(
        parameters: &GaussianParameters,
        statistics: &GaussianStatistics,
    ) -> Result<GaussianNaiveBayes, ParametersError> {
        let class_log_prior = parameters.prior.log_prior_of(&statistics.documents())?;
        Ok(GaussianNaiveBayes { class_log_prior, features: parameters.features(statistics)? })
    }

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
    use tamis_model::ClassPrior;

    use super::*;

    fn fit(
        parameters: &GaussianParameters,
        statistics: &GaussianStatistics,
    ) -> Result<GaussianNaiveBayes, ParametersError> {
        GaussianNaiveBayes::new(parameters, statistics)
    }

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
        let smoothed = fit(&GaussianParameters::default(), &statistics(&rows, 2)).unwrap();
        assert!(smoothed.features()[1].variance(1).unwrap() > 0.0);
        let exact = GaussianParameters { var_smoothing: 0.0, ..GaussianParameters::default() };
        let error = fit(&exact, &statistics(&rows, 2)).unwrap_err();
        assert_eq!(error, ParametersError::Singular { class: Some(1), feature: 0, expected: 0.0, got: 0.0 });
        // a feature that never varies tells nothing
        let constant = rows.map(|(class, values)| (class, &values[1..]));
        for parameters in [exact, GaussianParameters::default()] {
            let model = fit(&parameters, &statistics(&constant, 1)).unwrap();
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
        let model = fit(&parameters, &statistics(&rows, 2)).unwrap();
        assert_eq!(model.features()[0].mean(1), Some(2.0));
        assert_eq!(model.features()[0].variance(1), Some(1.0));
        let mut out = Vec::new();
        assert_eq!(model.predict_proba(&[Some(99.0)], &mut out), 1);
        assert_eq!(out, [0.5, 0.5]);
        // a class without documents does not fail either, if the prior does not need any
        let parameters = GaussianParameters { prior: ClassPrior::Smoothed, ..parameters };
        assert!(fit(&parameters, &statistics(&rows[..2], 2)).is_ok());
        let learned = fit(&GaussianParameters::default(), &statistics(&rows[..2], 2));
        assert!(matches!(learned, Err(ParametersError::EmptyClass { class: 1, .. })));
    }

    #[test]
    fn classes_are_needed() {
        let none = GaussianStatistics::new(0, 1);
        for prior in [ClassPrior::Learned, ClassPrior::Smoothed, ClassPrior::Uniform] {
            let parameters = GaussianParameters { prior, ..GaussianParameters::default() };
            assert_eq!(fit(&parameters, &none), Err(ParametersError::NoClasses));
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
        // squares of 8 and 0.5 with 2 and 1 to choose freely, and one more of the variance of all five, 15.2
        let (own, within) = ([8.0 / 3.0, 0.25], (8.0 + 0.5 + 15.2) / 4.0);
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
            let model = fit(&parameters, &statistics(&rows, 1)).unwrap();
            for x in [0.0, 1e-300, -1e150, f64::MAX, f64::MIN, f64::NAN, f64::INFINITY] {
                let known = model.predict_log_proba(&[Some(x)], &mut out);
                assert_eq!(known, usize::from(x.is_finite()));
                assert!(out.iter().all(|p| *p <= 0.0), "{x} {out:?}");
            }
        }
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            let parameters = GaussianParameters { var_smoothing: bad, ..GaussianParameters::default() };
            let fitted = fit(&parameters, &statistics(&rows, 1));
            assert!(
                matches!(fitted, Err(ParametersError::OutOfRange { name: "var_smoothing", .. })),
                "{bad}"
            );
        }
    }
}
