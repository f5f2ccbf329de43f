//! Sufficient statistics of Gaussian naive Bayes.

use serde::{Deserialize, Serialize};

use crate::counts::{ClassId, Classes, ObservationError, StatisticsError};
use crate::numbers::Twofold;
use crate::reals::moments::{Moments, checked, weight_of};

/// Sufficient statistics of real features: the weight of each class, and the [`Moments`] of each feature in it.
///
/// A missing value (`None`) is not learned, so a feature may have fewer observations than the class has documents.
/// Order, sharding and forgetting change results only by rounding (see [`Moments`]). Memory is 48 bytes per class and
/// feature.
///
/// ```
/// use tamis_model::GaussianStatistics;
///
/// let mut statistics = GaussianStatistics::new(2, 1);
/// statistics.observe(1, &[Some(3.5)])?;
/// statistics.observe(1, &[None])?;
/// assert_eq!(statistics.documents(), [0.0, 2.0]);
/// assert_eq!(statistics.moments(0, 1).ok_or("a class and a feature")?.n(), 1.0);
/// statistics.forget(1, &[Some(3.5)])?;
/// statistics.forget(1, &[None])?;
/// assert_eq!(statistics, GaussianStatistics::new(2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "UncheckedStatistics")]
pub struct GaussianStatistics {
    /// The weight of each class.
    documents: Vec<Twofold>,
    /// Indexed by feature, then class.
    features: Vec<Vec<Moments>>,
}

/// [`GaussianStatistics`] as read, before they are checked.
#[derive(Deserialize)]
struct UncheckedStatistics {
    documents: Vec<Twofold>,
    features: Vec<Vec<Moments>>,
}

impl GaussianStatistics {
    /// Empty statistics of `n_classes` classes (at most [`Classes::MAX`]) and `n_features` features.
    pub fn new(n_classes: usize, n_features: usize) -> Self {
        let n_classes = n_classes.min(Classes::MAX);
        GaussianStatistics {
            documents: vec![Twofold::default(); n_classes],
            features: vec![vec![Moments::default(); n_classes]; n_features],
        }
    }

    /// The weight of each class, which is its number of documents if each has weight 1.
    pub fn documents(&self) -> Vec<f64> {
        self.documents.iter().map(|n| n.round()).collect()
    }

    /// The number of features.
    pub fn n_features(&self) -> usize {
        self.features.len()
    }

    /// The moments of a feature in a class; `None` if the feature or class is unknown.
    pub fn moments(&self, feature: usize, class: ClassId) -> Option<&Moments> {
        self.features.get(feature)?.get(usize::from(class))
    }

    /// Learns a document, given a value or `None` for each feature.
    ///
    /// # Errors
    /// An unknown class; a wrong number of values; a value that [`Moments`] refuse. Nothing changes then.
    pub fn observe(&mut self, class: ClassId, values: &[Option<f64>]) -> Result<(), ObservationError> {
        self.observe_weighted(class, values, 1.0)
    }

    /// Learns a document as if it were given `weight` times.
    ///
    /// # Errors
    /// As [`observe`](Self::observe); a weight that is negative or not finite.
    pub fn observe_weighted(
        &mut self,
        class: ClassId,
        values: &[Option<f64>],
        weight: f64,
    ) -> Result<(), ObservationError> {
        let documents = self.check(class, values)? + weight_of(weight)?;
        self.change(class, values, documents, |moments, x| moments.observe_weighted(x, weight))
    }

    /// Forgets a document that was learned.
    ///
    /// # Errors
    /// As [`observe`](Self::observe); a document that cannot have been learned. Nothing changes then.
    pub fn forget(&mut self, class: ClassId, values: &[Option<f64>]) -> Result<(), ObservationError> {
        self.forget_weighted(class, values, 1.0)
    }

    /// Forgets a document that was learned with this weight.
    ///
    /// # Errors
    /// As [`forget`](Self::forget); a weight that is negative or not finite.
    pub fn forget_weighted(
        &mut self,
        class: ClassId,
        values: &[Option<f64>],
        weight: f64,
    ) -> Result<(), ObservationError> {
        let documents = self.check(class, values)? - weight_of(weight)?;
        self.change(class, values, documents, |moments, x| moments.forget_weighted(x, weight))
    }

    /// Adds other statistics over the same classes and features.
    ///
    /// # Errors
    /// A different number of classes or features; overflow. Nothing changes then.
    pub fn merge(&mut self, other: &GaussianStatistics) -> Result<(), ObservationError> {
        ObservationError::check_shape(self.shape(), other.shape())?;
        let mut merged = self.clone();
        merged.documents.iter_mut().zip(&other.documents).for_each(|(a, b)| *a = *a + *b);
        for (i, (here, there)) in merged.features.iter_mut().zip(&other.features).enumerate() {
            let mut pairs = here.iter_mut().zip(there);
            pairs.try_for_each(|(a, b)| a.merge(b)).map_err(|error| error.at(i))?;
        }
        *self = merged;
        Ok(())
    }

    /// The features and their moments, in class order.
    pub(crate) fn features(&self) -> impl Iterator<Item = (usize, &[Moments])> {
        self.features.iter().map(Vec::as_slice).enumerate()
    }

    /// The numbers of classes and features.
    fn shape(&self) -> [usize; 2] {
        [self.documents.len(), self.n_features()]
    }

    /// Checks class and values, and returns the weight of the class.
    fn check(&self, class: ClassId, values: &[Option<f64>]) -> Result<Twofold, ObservationError> {
        ObservationError::check_features(self.n_features(), values.len())?;
        for (i, value) in values.iter().enumerate() {
            value.map(checked).transpose().map_err(|error| error.at(i))?;
        }
        let unknown = StatisticsError::UnknownClass { expected: self.documents.len(), got: class };
        Ok(self.documents.get(usize::from(class)).copied().ok_or(unknown)?)
    }

    /// Applies `step` to the features that have a value. Fails if that would leave a class with fewer documents than
    /// values.
    fn change(
        &mut self,
        class: ClassId,
        values: &[Option<f64>],
        documents: Twofold,
        step: impl Fn(&mut Moments, f64) -> Result<(), ObservationError>,
    ) -> Result<(), ObservationError> {
        let class = usize::from(class);
        let mut changed = Vec::with_capacity(values.len());
        for (feature, (value, classes)) in values.iter().zip(&self.features).enumerate() {
            let mut moments = classes[class];
            value.map_or(Ok(()), |x| step(&mut moments, x)).map_err(|error| error.at(feature))?;
            changed.push(moments);
        }
        let learned = self.documents[class].round();
        let most = changed.iter().map(Moments::n).fold(0.0, f64::max);
        // they may be equal up to the rounding of weights
        if documents.round() < 0.0 || documents.round() < most - 1e-9 * learned {
            let (expected, got) = (learned - documents.round(), learned);
            return Err(ObservationError::NotLearned { feature: 0, expected, got });
        }
        self.documents[class] = documents;
        for (classes, moments) in self.features.iter_mut().zip(changed) {
            classes[class] = moments;
        }
        Ok(())
    }
}

impl TryFrom<UncheckedStatistics> for GaussianStatistics {
    type Error = String;

    fn try_from(UncheckedStatistics { documents, features }: UncheckedStatistics) -> Result<Self, String> {
        let expected = documents.len();
        if let Some(class) = documents.iter().find(|n| n.round() < 0.0) {
            return Err(format!("expected a weight of at least 0 of each class, got {}", class.round()));
        }
        match features.iter().find(|classes| classes.len() != expected) {
            Some(classes) => Err(format!("expected moments of {expected} classes, got {}", classes.len())),
            None => Ok(GaussianStatistics { documents, features }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learned() -> GaussianStatistics {
        let mut s = GaussianStatistics::new(2, 2);
        s.observe(0, &[Some(1.0), None]).unwrap();
        s.observe(1, &[Some(2.0), Some(3.0)]).unwrap();
        s.observe_weighted(1, &[None, Some(0.5)], 3.0).unwrap();
        s
    }

    #[test]
    fn an_error_changes_nothing() {
        let mut s = learned();
        let unknown = StatisticsError::UnknownClass { expected: 2, got: 2 };
        assert_eq!(s.observe(2, &[None, None]), Err(unknown.into()));
        assert_eq!(s.observe(0, &[None]), Err(ObservationError::Features { expected: 2, got: 1 }));
        let nan = s.observe(0, &[Some(1.0), Some(f64::NAN)]);
        assert!(matches!(nan, Err(ObservationError::Value { feature: 1, .. })));
        let other = GaussianStatistics::new(3, 2);
        assert!(matches!(
            s.merge(&other),
            Err(ObservationError::Counts(StatisticsError::Classes { expected: 2, got: 3 }))
        ));
        assert!(s.merge(&GaussianStatistics::new(2, 1)).is_err());
        // forgets a value that was missing; the only document without its value; more documents than there are
        let gone: [(ClassId, &[Option<f64>], f64); 4] = [
            (0, &[Some(1.0), Some(1.0)], 1.0),
            (0, &[None, None], 1.0),
            (1, &[None, None], 5.0),
            (1, &[None, None], f64::NAN),
        ];
        for (class, values, weight) in gone {
            assert!(s.forget_weighted(class, values, weight).is_err(), "{values:?}");
        }
        assert_eq!(s, learned());
    }

    #[test]
    fn stored_and_merged() {
        let s = learned();
        let json = serde_json::to_string(&s).unwrap();
        assert_eq!(serde_json::from_str::<GaussianStatistics>(&json).unwrap(), s);
        let bad = json.replacen("[[0.0,0.0],[0.0,0.0],[0.0,0.0]]", "[[0.0,0.0],[0.0,0.0],[1.0,1.0]]", 1);
        assert!(serde_json::from_str::<GaussianStatistics>(&bad).is_err());
        assert!(
            serde_json::from_str::<GaussianStatistics>(
                r#"{"documents":[],"features":[[[[0.0,0.0],[0.0,0.0],[0.0,0.0]]]]}"#
            )
            .is_err()
        );
        let mut merged = GaussianStatistics::new(2, 2);
        merged.merge(&s).unwrap();
        assert_eq!(merged, s);
    }
}
