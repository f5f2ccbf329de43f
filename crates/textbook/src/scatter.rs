//! Means per class and the pooled scatter matrix of real vectors.

use serde::{Deserialize, Serialize};
use tamis_model::{ClassId, Classes, ObservationError, StatisticsError, Twofold, checked};

/// Sufficient statistics of real vectors: the number of documents and the mean of each class, and the pooled
/// within-class scatter matrix.
///
/// As for [`Moments`](tamis_model::Moments), sums keep twice the digits of `f64`, so that order, sharding and forgetting do
/// not affect the results. Takes 16 bytes per class and feature, and per pair of features.
///
/// ```
/// use tamis_textbook::ScatterStatistics;
///
/// let mut statistics = ScatterStatistics::new(1, 2);
/// statistics.observe(0, &[1.0, 10.0])?;
/// statistics.observe(0, &[3.0, 14.0])?;
/// assert_eq!(statistics.mean(0).ok_or("a class")?, [2.0, 12.0]);
/// assert_eq!(statistics.covariance(), [vec![1.0], vec![2.0, 4.0]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "UncheckedScatter")]
pub struct ScatterStatistics {
    classes: Vec<ClassMean>,
    /// The lower triangle: row `i` has `i + 1` sums of products of differences from the mean of the class.
    scatter: Vec<Vec<Twofold>>,
}

/// The number of documents of a class and their mean, which is 0 without documents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct ClassMean {
    n: u64,
    mean: Vec<Twofold>,
}

/// [`ScatterStatistics`] as read, before they are checked.
#[derive(Deserialize)]
struct UncheckedScatter {
    classes: Vec<ClassMean>,
    scatter: Vec<Vec<Twofold>>,
}

impl ScatterStatistics {
    /// Empty statistics of `n_classes` classes (at most [`Classes::MAX`]) and `n_features` features.
    pub fn new(n_classes: usize, n_features: usize) -> Self {
        let class = ClassMean { n: 0, mean: vec![Twofold::default(); n_features] };
        let scatter = (1..=n_features).map(|n| vec![Twofold::default(); n]).collect();
        ScatterStatistics { classes: vec![class; n_classes.min(Classes::MAX)], scatter }
    }

    /// The number of features.
    pub fn n_features(&self) -> usize {
        self.scatter.len()
    }

    /// The number of documents of each class.
    pub fn documents(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.classes.iter().map(|class| class.n)
    }

    /// The mean of a class; `None` if the class is unknown or has no documents.
    pub fn mean(&self, class: ClassId) -> Option<Vec<f64>> {
        let class = self.classes.get(usize::from(class)).filter(|class| class.n > 0)?;
        Some(class.mean.iter().map(|x| x.round()).collect())
    }

    /// The covariance within classes by maximum likelihood: the scatter matrix divided by the number of documents.
    /// Returns the lower triangle, row `i` with `i + 1` numbers; all are 0 without documents.
    pub fn covariance(&self) -> Vec<Vec<f64>> {
        let n = Twofold::from(self.n().max(1.0));
        self.scatter.iter().map(|row| row.iter().map(|&sum| (sum / n).round()).collect()).collect()
    }

    /// Learns a vector.
    ///
    /// # Errors
    /// An unknown class; a wrong number of values; a value that is not finite or is above 1e150 in magnitude. Nothing
    /// changes then.
    pub fn observe(&mut self, class: ClassId, x: &[f64]) -> Result<(), ObservationError> {
        let delta = self.difference(class, x)?;
        let here = &mut self.classes[usize::from(class)];
        let got = here.n;
        let n = got.checked_add(1);
        here.n = n.ok_or(StatisticsError::TooManyDocuments { class, expected: u64::MAX, got: 1 })?;
        let (before, after) = (Twofold::from(got as f64), Twofold::from(here.n as f64));
        here.mean.iter_mut().zip(&delta).for_each(|(mean, &delta)| *mean = *mean + delta / after);
        add_products(&mut self.scatter, &delta, before / after);
        Ok(())
    }

    /// Forgets a vector that was learned.
    ///
    /// # Errors
    /// As [`observe`](Self::observe); a vector that cannot have been learned, because a variance would become negative.
    /// Nothing changes then.
    pub fn forget(&mut self, class: ClassId, x: &[f64]) -> Result<(), ObservationError> {
        let delta = self.difference(class, x)?;
        let here = &mut self.classes[usize::from(class)];
        match here.n {
            got @ 0 => Err(StatisticsError::NoDocuments { class, expected: 1, got }.into()),
            1 => {
                // nothing to subtract: forgetting the class's earlier vectors removed its scatter
                *here = ClassMean { n: 0, mean: vec![Twofold::default(); x.len()] };
                if self.n() == 0.0 {
                    self.scatter.iter_mut().for_each(|row| row.fill(Twofold::default()));
                }
                Ok(())
            }
            n => {
                let (before, after) = (Twofold::from(n as f64), Twofold::from((n - 1) as f64));
                let factor = -(before / after);
                for (feature, (&delta, row)) in delta.iter().zip(&self.scatter).enumerate() {
                    let product = delta * delta * factor;
                    // negative by more than rounding
                    if (row[feature] + product).round() < 1e-9 * product.round() {
                        return Err(ObservationError::NotLearned { feature, expected: 1.0, got: n as f64 });
                    }
                }
                here.n = n - 1;
                here.mean.iter_mut().zip(&delta).for_each(|(mean, &delta)| *mean = *mean - delta / after);
                add_products(&mut self.scatter, &delta, factor);
                Ok(())
            }
        }
    }

    /// Adds other statistics over the same classes and features.
    ///
    /// # Errors
    /// A different number of classes or features; overflow. Nothing changes then.
    pub fn merge(&mut self, other: &ScatterStatistics) -> Result<(), ObservationError> {
        ObservationError::check_shape(self.shape(), other.shape())?;
        let mut merged = self.clone();
        for (row, other) in merged.scatter.iter_mut().zip(&other.scatter) {
            row.iter_mut().zip(other).for_each(|(a, b)| *a = *a + *b);
        }
        for (class, (here, there)) in (0..=ClassId::MAX).zip(merged.classes.iter_mut().zip(&other.classes)) {
            let got = there.n;
            let n = here.n.checked_add(got);
            let n = n.ok_or(StatisticsError::TooManyDocuments { class, expected: u64::MAX, got })?;
            if got == 0 {
                continue;
            }
            let share = Twofold::from(got as f64) / (n as f64).into();
            let delta: Vec<Twofold> = there.mean.iter().zip(&here.mean).map(|(b, a)| *b - *a).collect();
            add_products(&mut merged.scatter, &delta, share * (here.n as f64).into());
            here.mean.iter_mut().zip(delta).for_each(|(mean, delta)| *mean = *mean + delta * share);
            here.n = n;
        }
        *self = merged;
        Ok(())
    }

    /// The mean of all documents.
    pub(crate) fn center(&self) -> Vec<f64> {
        let n = Twofold::from(self.n().max(1.0));
        let mut center = vec![Twofold::default(); self.n_features()];
        for class in &self.classes {
            let share = Twofold::from(class.n as f64) / n;
            center.iter_mut().zip(&class.mean).for_each(|(sum, &mean)| *sum = *sum + mean * share);
        }
        center.into_iter().map(Twofold::round).collect()
    }

    /// The mean of each class minus `center`; 0 for a class without documents.
    pub(crate) fn deviations(&self, center: &[f64]) -> Vec<Vec<f64>> {
        let deviation = |class: &ClassMean| {
            let of = |mean: Twofold, center| if class.n == 0 { 0.0 } else { (mean - center).round() };
            class.mean.iter().zip(center).map(|(&mean, &center)| of(mean, center.into())).collect()
        };
        self.classes.iter().map(deviation).collect()
    }

    /// The numbers of classes and features.
    fn shape(&self) -> [usize; 2] {
        [self.classes.len(), self.n_features()]
    }

    fn n(&self) -> f64 {
        self.documents().map(|n| n as f64).sum()
    }

    /// Returns the vector minus the mean of its class.
    fn difference(&self, class: ClassId, x: &[f64]) -> Result<Vec<Twofold>, ObservationError> {
        check(x, self.n_features())?;
        let unknown = StatisticsError::UnknownClass { expected: self.classes.len(), got: class };
        let class = self.classes.get(usize::from(class)).ok_or(unknown)?;
        Ok(x.iter().zip(&class.mean).map(|(&x, &mean)| Twofold::from(x) - mean).collect())
    }
}

/// Adds `factor` times the outer product of `delta` with itself.
fn add_products(scatter: &mut [Vec<Twofold>], delta: &[Twofold], factor: Twofold) {
    for (row, &a) in scatter.iter_mut().zip(delta) {
        let scaled = a * factor;
        row.iter_mut().zip(delta).for_each(|(sum, &b)| *sum = *sum + scaled * b);
    }
}

impl TryFrom<UncheckedScatter> for ScatterStatistics {
    type Error = String;

    fn try_from(UncheckedScatter { classes, scatter }: UncheckedScatter) -> Result<Self, String> {
        let expected = scatter.len();
        if let Some(class) = classes.iter().find(|class| class.mean.len() != expected) {
            return Err(format!("expected means of {expected} features, got {}", class.mean.len()));
        }
        match scatter.iter().enumerate().find(|(i, row)| row.len() != i + 1 || row[*i].round() < 0.0) {
            Some((i, _)) => {
                Err(format!("expected a triangle without negative variances, got another row {i}"))
            }
            None => Ok(ScatterStatistics { classes, scatter }),
        }
    }
}

/// Checks that a vector has `expected` values, all in range.
pub(crate) fn check(x: &[f64], expected: usize) -> Result<(), ObservationError> {
    ObservationError::check_features(expected, x.len())?;
    x.iter().enumerate().try_for_each(|(i, &value)| checked(value).map(drop).map_err(|error| error.at(i)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis_model::SplitMix64;

    type Row = (ClassId, [f64; 3]);

    fn learned(rows: &[Row]) -> ScatterStatistics {
        let mut s = ScatterStatistics::new(2, 3);
        rows.iter().for_each(|(class, x)| s.observe(*class, x).unwrap());
        s
    }

    fn close(a: &ScatterStatistics, b: &ScatterStatistics) {
        assert!(a.documents().eq(b.documents()));
        let near = |a: &f64, b: &f64| (a - b).abs() <= 1e-12 * b.abs();
        let (s, t) = (a.covariance().concat(), b.covariance().concat());
        assert!(s.iter().zip(&t).all(|(a, b)| near(a, b)), "{s:?} {t:?}");
        for class in 0..2 {
            let (s, t) = (a.mean(class), b.mean(class));
            let means = s.iter().flatten().zip(t.iter().flatten());
            assert!(s.is_some() == t.is_some() && { means }.all(|(a, b)| near(a, b)));
        }
    }

    /// Correlated vectors near 1e9 that differ by thousandths.
    fn rows() -> (Vec<Row>, SplitMix64) {
        let mut random = SplitMix64::new(5);
        let rows = (0..900).map(|i| {
            let [a, b] = [0; 2].map(|_| random.below(4_096) as f64 / 1_048_576.0);
            (i % 2, [1e9 + a, -1e9 - a - b, b])
        });
        (rows.collect(), random)
    }

    #[test]
    fn order_shards_and_what_was_forgotten_leave_no_trace() {
        let (mut rows, mut random) = rows();
        let expected = learned(&rows);
        // the second feature is minus the first and the third, so its variance follows
        let s = expected.covariance();
        assert!((s[1][1] - (s[0][0] + s[2][2] + 2.0 * s[2][0])).abs() <= 1e-12 * s[1][1], "{s:?}");
        random.shuffle(&mut rows);
        close(&learned(&rows), &expected);
        let mut merged = ScatterStatistics::new(2, 3);
        rows.chunks(77).for_each(|shard| merged.merge(&learned(shard)).unwrap());
        close(&merged, &expected);
        let (kept, gone) = rows.split_at(300);
        gone.iter().rev().for_each(|(class, x)| merged.forget(*class, x).unwrap());
        close(&merged, &learned(kept));
        kept.iter().for_each(|(class, x)| merged.forget(*class, x).unwrap());
        assert_eq!(merged, ScatterStatistics::new(2, 3));
    }

    #[test]
    fn an_error_changes_nothing() {
        let rows = [(0, [1.0, 2.0, 3.0]), (0, [3.0, 2.0, 1.0])];
        let mut s = learned(&rows);
        assert_eq!(s.observe(0, &[1.0]), Err(ObservationError::Features { expected: 3, got: 1 }));
        assert!(matches!(s.observe(2, &[0.0; 3]), Err(ObservationError::Counts(_))));
        for bad in [f64::NAN, f64::NEG_INFINITY, -1e151] {
            let error = s.observe(1, &[0.0, bad, 0.0]).unwrap_err();
            assert!(matches!(error, ObservationError::Value { feature: 1, .. }));
        }
        assert!(matches!(s.forget(1, &[0.0; 3]), Err(ObservationError::Counts(_))));
        let other = s.forget(0, &[2.0, 2.5, 2.0]);
        assert_eq!(other, Err(ObservationError::NotLearned { feature: 1, expected: 1.0, got: 2.0 }));
        assert!(s.merge(&ScatterStatistics::new(2, 2)).is_err());
        assert!(s.merge(&ScatterStatistics::new(1, 3)).is_err());
        assert_eq!(s, learned(&rows));
    }

    #[test]
    fn stored_scatter_is_checked() {
        let s = learned(&[(0, [1.0, 2.0, 3.0]), (0, [3.0, 2.0, 1.0])]);
        let json = serde_json::to_string(&s).unwrap();
        assert_eq!(serde_json::from_str::<ScatterStatistics>(&json).unwrap(), s);
        let short = r#"{"classes":[{"n":1,"mean":[]}],"scatter":[[[0.0,0.0]]]}"#;
        let square = r#"{"classes":[],"scatter":[[[0.0,0.0],[0.0,0.0]]]}"#;
        let negative = r#"{"classes":[],"scatter":[[[-1.0,0.0]]]}"#;
        for bad in [short, square, negative] {
            assert!(serde_json::from_str::<ScatterStatistics>(bad).is_err(), "{bad}");
        }
    }
}
