//! Sufficient statistics of mixed naive Bayes.

use serde::{Deserialize, Serialize};
use tamis_model::{
    ClassId, ClassPrior, ColumnLikelihood, Counts, GaussianParameters, GaussianStatistics, MixedNaiveBayes,
    NaiveBayes, ObservationError, Parameters, ParametersError, Statistics, softmax,
};
use tamis_tokenizer::{CountRow, CountVector};

use crate::categorical::{FeatureOutcome, OutcomeCounts, fit_category};

/// The kind of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Feature {
    /// A real value, normally distributed within a class.
    Real,
    /// One of several categories.
    Category {
        /// Minimum number of categories; 0 if unknown.
        min_categories: u32,
    },
    /// Yes or no.
    Flag,
    /// Text, as counts of its terms.
    Text,
}

/// The value of one feature of a document.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A value of [`Feature::Real`].
    Real(f64),
    /// A value of [`Feature::Category`].
    Category(u32),
    /// A value of [`Feature::Flag`].
    Flag(bool),
    /// A value of [`Feature::Text`], with term ids of the feature's own vocabulary.
    Text(CountRow<'a>),
    /// Unknown; allowed for any feature.
    Missing,
}

impl Value<'_> {
    fn kind(&self) -> &'static str {
        match self {
            Value::Real(_) => "real value",
            Value::Category(_) => "category",
            Value::Flag(_) => "flag",
            Value::Text(_) => "text",
            Value::Missing => "missing value",
        }
    }
}

/// Parameters of [`MixedNaiveBayes`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MixedParameters {
    /// `prior` is the class prior, and `alpha` smooths categories, flags and texts. Likelihood, counting and feature
    /// limits apply to texts only. By default as [`Parameters`].
    pub terms: Parameters,
    /// As in [`GaussianParameters`], for the real features. By default 1e-9.
    pub var_smoothing: f64,
}

impl Default for MixedParameters {
    fn default() -> Self {
        let var_smoothing = GaussianParameters::default().var_smoothing;
        MixedParameters { terms: Parameters::default(), var_smoothing }
    }
}

/// Sufficient statistics of a table with columns of different kinds: [`GaussianStatistics`] of the real columns, and
/// one [`Statistics`] whose terms are the outcomes of all others.
///
/// A missing value is not learned. Integers are exact; for the precision of real values see
/// [`Moments`](tamis_model::Moments).
///
/// ```
/// use tamis_textbook::{Feature, MixedParameters, MixedStatistics, Value};
///
/// // does one walk (0) or drive (1)? By the miles, and whether it rains
/// let mut statistics = MixedStatistics::new(2, vec![Feature::Real, Feature::Flag]);
/// for (class, miles, rain) in [(0, 0.5, false), (0, 1.5, false), (1, 3.0, false), (1, 7.0, true)] {
///     statistics.observe(class, &[Value::Real(miles), Value::Flag(rain)])?;
/// }
/// let model = statistics.fit(&MixedParameters::default())?;
/// let mut probabilities = Vec::new();
/// statistics.predict_proba(&model, &[Value::Missing, Value::Flag(true)], &mut probabilities)?;
/// assert!((probabilities[1] - 2.0 / 3.0).abs() < 1e-12); // (1+1)/(2+2) to (0+1)/(2+2)
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MixedStatistics {
    features: Vec<Feature>,
    reals: GaussianStatistics,
    outcomes: OutcomeCounts,
}

/// A document split into its real values and its counted outcomes.
type ValueParts = (Vec<Option<f64>>, Vec<(FeatureOutcome, u32)>);

impl MixedStatistics {
    /// Empty statistics of `n_classes` classes and the given `features`.
    pub fn new(n_classes: usize, features: Vec<Feature>) -> Self {
        let n_reals = features.iter().filter(|feature| **feature == Feature::Real).count();
        let reals = GaussianStatistics::new(n_classes, n_reals);
        MixedStatistics { features, reals, outcomes: OutcomeCounts::new(n_classes) }
    }

    /// The features.
    pub fn features(&self) -> &[Feature] {
        &self.features
    }

    /// The statistics of the real features, which are numbered among themselves.
    pub fn reals(&self) -> &GaussianStatistics {
        &self.reals
    }

    /// The counts of all other features.
    pub fn counts(&self) -> &Statistics {
        self.outcomes.counts()
    }

    /// Learns a document, given a value for each feature.
    ///
    /// # Errors
    /// An unknown class; a wrong number or kind of values; a real value that [`Moments`](tamis_model::Moments) refuse;
    /// overflow of `u32`. Nothing changes then.
    pub fn observe(&mut self, class: ClassId, values: &[Value<'_>]) -> Result<(), ObservationError> {
        let (reals, outcomes) = self.parts(values)?;
        self.outcomes.observe(class, &outcomes)?;
        self.reals.observe(class, &reals).map_err(|error| {
            // forgetting what was just learned cannot fail
            let _ = self.outcomes.forget(class, &outcomes);
            self.renumbered(error)
        })
    }

    /// Forgets a document that was learned.
    ///
    /// # Errors
    /// As [`observe`](Self::observe); a document that cannot have been learned. Nothing changes then.
    pub fn forget(&mut self, class: ClassId, values: &[Value<'_>]) -> Result<(), ObservationError> {
        let (reals, outcomes) = self.parts(values)?;
        self.outcomes.forget(class, &outcomes)?;
        self.reals.forget(class, &reals).map_err(|error| {
            // learning what was just forgotten cannot fail
            let _ = self.outcomes.observe(class, &outcomes);
            self.renumbered(error)
        })
    }

    /// Adds other statistics over the same classes and features.
    ///
    /// # Errors
    /// Different features or number of classes; overflow. Nothing changes then.
    pub fn merge(&mut self, other: &MixedStatistics) -> Result<(), ObservationError> {
        if self.features != other.features {
            return Err(ObservationError::Schema);
        }
        let mut reals = self.reals.clone();
        reals.merge(&other.reals).map_err(|error| self.renumbered(error))?;
        self.outcomes.merge(&other.outcomes)?;
        self.reals = reals;
        Ok(())
    }

    /// Derives a model, with a part for each feature.
    ///
    /// # Errors
    /// Parameters out of their ranges; a prior that does not fit the classes; as [`GaussianParameters::features`].
    pub fn fit(&self, parameters: &MixedParameters) -> Result<MixedNaiveBayes, ParametersError> {
        let MixedParameters { terms, var_smoothing } = parameters;
        let gaussian = GaussianParameters { var_smoothing: *var_smoothing, ..GaussianParameters::default() };
        let mut reals = gaussian.features(&self.reals)?.into_iter();
        let mut parts = Vec::with_capacity(self.features.len());
        for (i, feature) in self.features.iter().enumerate() {
            let category =
                |min| fit_category(terms.alpha, &self.outcomes, i, min).map(ColumnLikelihood::Category);
            match feature {
                // one per real feature
                Feature::Real => parts.extend(reals.next().map(ColumnLikelihood::Gaussian)),
                Feature::Category { min_categories } => parts.push(category(*min_categories)?),
                Feature::Flag => parts.push(category(2)?),
                Feature::Text => parts.push(ColumnLikelihood::Terms(self.fit_text(terms, i)?)),
            }
        }
        MixedNaiveBayes::new(&terms.prior, self.counts().totals(), parts)
    }

    /// Writes the joint log-likelihood (nats) of a document and each class to `out`. Returns the number of values used:
    /// those that are neither missing nor out of range. The model must have been fitted to these statistics.
    ///
    /// # Errors
    /// A wrong number or kind of values.
    pub fn joint_log_likelihood(
        &self,
        model: &MixedNaiveBayes,
        values: &[Value<'_>],
        out: &mut Vec<f64>,
    ) -> Result<usize, ObservationError> {
        let (reals, _) = self.parts(values)?;
        let pairs = self.features.iter().zip(values).enumerate();
        let others = pairs.filter(|(_, (feature, _))| **feature != Feature::Real);
        let rows: Vec<_> = others.map(|(i, (&feature, &value))| self.row(i, feature, value)).collect();
        let rows: Vec<_> = rows.iter().map(|row| row.as_ref().map(CountVector::row)).collect();
        let Ok(known) = model.joint_log_likelihood(self.counts(), &reals, &rows, out);
        Ok(known)
    }

    /// As [`joint_log_likelihood`](Self::joint_log_likelihood), normalised to posterior probabilities that
    /// add up to 1.
    ///
    /// # Errors
    /// As [`joint_log_likelihood`](Self::joint_log_likelihood).
    pub fn predict_proba(
        &self,
        model: &MixedNaiveBayes,
        values: &[Value<'_>],
        out: &mut Vec<f64>,
    ) -> Result<usize, ObservationError> {
        self.joint_log_likelihood(model, values, out).inspect(|_| softmax(out))
    }

    fn fit_text(&self, parameters: &Parameters, feature: usize) -> Result<NaiveBayes, ParametersError> {
        let parameters = Parameters { prior: ClassPrior::Uniform, ..parameters.clone() };
        let terms = self.outcomes.of_feature(feature).map(|(_, term)| term);
        let Ok(summary) = parameters.summarize_terms(self.counts(), terms, 0);
        let mut documents = vec![0; self.counts().totals().len()];
        if let Some(present) = self.outcomes.term((feature, None)) {
            self.counts().cells(present).for_each(|c| documents[usize::from(c.class)] = c.df.into());
        }
        NaiveBayes::new(&parameters, &summary.with_documents(documents))
    }

    /// The terms of a value; `None` if it is missing, out of range or real.
    fn row(&self, i: usize, feature: Feature, value: Value<'_>) -> Option<CountVector> {
        let category = |category, min| {
            let known = u64::from(category) < self.outcomes.n_categories(i, min);
            known.then(|| self.outcomes.row((i, Some(category))))
        };
        match (feature, value) {
            (Feature::Category { min_categories }, Value::Category(c)) => category(c, min_categories),
            (_, Value::Flag(flag)) => category(flag.into(), 2),
            (_, Value::Text(row)) => {
                let known = |(term, count)| Some((self.outcomes.term((i, Some(term)))?, count));
                // terms are distinct, so nothing overflows
                Some(CountVector::from_pairs(row.iter().filter_map(known)).unwrap_or_default())
            }
            _ => None,
        }
    }

    fn parts(&self, values: &[Value<'_>]) -> Result<ValueParts, ObservationError> {
        ObservationError::check_features(self.features.len(), values.len())?;
        let (mut reals, mut outcomes) = (Vec::new(), Vec::new());
        for (i, (&feature, &value)) in self.features.iter().zip(values).enumerate() {
            match (feature, value) {
                (Feature::Real, Value::Real(x)) => reals.push(Some(x)),
                (Feature::Real, Value::Missing) => reals.push(None),
                (_, Value::Missing) => {}
                (Feature::Category { .. }, Value::Category(category)) => {
                    outcomes.push(((i, Some(category)), 1));
                }
                (Feature::Flag, Value::Flag(flag)) => outcomes.push(((i, Some(flag.into())), 1)),
                (Feature::Text, Value::Text(row)) => {
                    outcomes.push(((i, None), 1));
                    outcomes.extend(row.iter().map(|(term, count)| ((i, Some(term)), count)));
                }
                (feature, got) => {
                    return Err(ObservationError::Kind {
                        feature: i,
                        expected: feature.kind(),
                        got: got.kind(),
                    });
                }
            }
        }
        Ok((reals, outcomes))
    }

    /// Renumbers the feature of an error: from its place among the real features to its place among all.
    fn renumbered(&self, error: ObservationError) -> ObservationError {
        let reals = self.features.iter().enumerate().filter(|(_, feature)| **feature == Feature::Real);
        let mut reals = reals.map(|(i, _)| i);
        match &error {
            ObservationError::Value { feature, .. } | ObservationError::NotLearned { feature, .. } => {
                let feature = reals.nth(*feature).unwrap_or(*feature);
                error.at(feature)
            }
            _ => error,
        }
    }
}

impl Feature {
    fn kind(self) -> &'static str {
        match self {
            Feature::Real => "real value",
            Feature::Category { .. } => "category",
            Feature::Flag => "flag",
            Feature::Text => "text",
        }
    }
}
