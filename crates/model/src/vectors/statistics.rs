//! Sums and second moments of dense vectors, as integers.

use serde::{Deserialize, Serialize};

use crate::counts::{ClassId, Classes, ObservationError, StatisticsError};

/// Sufficient statistics of dense vectors: the number of documents and the sum of the vectors of each class, and the
/// second moments of all documents.
///
/// Each value is rounded to a multiple of 2^-16 ([`STEP`](Self::STEP)), an error of at most 7.7e-6. The rounded values
/// are added up as integers, so that order, shards and what was forgotten leave no trace: `==` and the stored bytes
/// are the same. Vectors should have about unit length, as those of sentence encoders do. Beyond that, values may be
/// up to 1,024 in magnitude, while the sum of a dimension's squares is below 2^31: that is 2 billion documents of unit
/// length, or 20 million whose values are near 10.
///
/// Memory is 8 bytes per class and dimension, and per pair of dimensions: 0.6 MB for 384 dimensions, 4.2 MB for 1,024.
/// Learning a vector takes one multiplication per pair of dimensions. Forgetting takes some more, for its checks.
///
/// Invariant: no two dimensions have a product above what their squares allow (Cauchy-Schwarz), and no class a sum
/// above what they allow. So only the sums of squares can overflow. An operation that would break this fails and
/// changes nothing.
///
/// ```
/// use tamis_model::VectorStatistics;
///
/// let mut statistics = VectorStatistics::new(2, 3)?;
/// statistics.observe_times(1, &[0.6, 0.0, -0.8], 1)?;
/// let before = statistics.clone();
/// statistics.observe_times(0, &[0.0, 1.0, 0.0], 5)?;
/// assert_eq!(statistics.documents(), [5, 1]);
/// statistics.forget_times(0, &[0.0, 1.0, 0.0], 5)?;
/// assert_eq!(statistics, before);
/// # Ok::<(), tamis_model::ObservationError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "UncheckedVectors")]
pub struct VectorStatistics {
    n_dimensions: usize,
    documents: Vec<u64>,
    /// A vector per class, in steps.
    sums: Vec<i64>,
    /// The lower triangle of the sums of products, row after row, in squared steps.
    products: Vec<i64>,
}

/// [`VectorStatistics`] as read, before they are checked.
#[derive(Deserialize)]
struct UncheckedVectors {
    n_dimensions: usize,
    documents: Vec<u64>,
    sums: Vec<i64>,
    products: Vec<i64>,
}

/// The largest magnitude of a value.
const GREATEST: f32 = 1024.0;

/// The largest number of documents: above it, `f64` skips integers.
const MAX_DOCUMENTS: u64 = 1 << 53;

impl VectorStatistics {
    /// The most dimensions of a vector.
    pub const MAX_DIMENSIONS: usize = 4_096;

    /// The unit of the sums.
    pub const STEP: f64 = 1.0 / 65_536.0;

    /// Empty statistics of `n_classes` classes (at most [`Classes::MAX`]) and vectors of `n_dimensions` values.
    ///
    /// # Errors
    /// More than [`MAX_DIMENSIONS`](Self::MAX_DIMENSIONS) dimensions.
    pub fn new(n_classes: usize, n_dimensions: usize) -> Result<Self, ObservationError> {
        if n_dimensions > Self::MAX_DIMENSIONS {
            return Err(ObservationError::Features { expected: Self::MAX_DIMENSIONS, got: n_dimensions });
        }
        let n_classes = n_classes.min(Classes::MAX);
        Ok(VectorStatistics {
            n_dimensions,
            documents: vec![0; n_classes],
            sums: vec![0; n_classes * n_dimensions],
            products: vec![0; row_start(n_dimensions)],
        })
    }

    /// Empty statistics of the same classes and dimensions.
    #[must_use]
    pub fn emptied(&self) -> Self {
        VectorStatistics {
            n_dimensions: self.n_dimensions,
            documents: vec![0; self.documents.len()],
            sums: vec![0; self.sums.len()],
            products: vec![0; self.products.len()],
        }
    }

    /// The number of documents of each class.
    pub fn documents(&self) -> &[u64] {
        &self.documents
    }

    /// The length of a vector.
    pub fn n_dimensions(&self) -> usize {
        self.n_dimensions
    }

    /// The sum of the vectors of a class, in [`STEP`](Self::STEP)s; empty if the class is unknown.
    pub fn sum(&self, class: ClassId) -> &[i64] {
        let start = usize::from(class) * self.n_dimensions;
        self.sums.get(start..start + self.n_dimensions).unwrap_or_default()
    }

    /// The sums of the products of a dimension with each up to itself, in squared [`STEP`](Self::STEP)s; empty if the
    /// dimension is unknown.
    pub fn products(&self, dimension: usize) -> &[i64] {
        self.products.get(row_start(dimension)..row_start(dimension + 1)).unwrap_or_default()
    }

    /// Learns a vector `times` times.
    ///
    /// # Errors
    /// An unknown class; a wrong number of values; a value that is not finite or is above 1,024 in magnitude; a sum of
    /// squares that overflows. Nothing changes then.
    pub fn observe_times(&mut self, class: ClassId, x: &[f32], times: u32) -> Result<(), ObservationError> {
        let steps = self.steps(class, x)?;
        self.check_total([u64::from(times)], class)?;
        for (i, x) in steps.iter().enumerate() {
            add_square(i, self.square(i), i128::from(times) * i128::from(x * x))?;
        }
        self.documents[usize::from(class)] += u64::from(times);
        let times = i64::from(times);
        let start = usize::from(class) * self.n_dimensions;
        self.sums[start..].iter_mut().zip(&steps).for_each(|(sum, x)| *sum += times * x);
        let mut products = &mut self.products[..];
        for (i, x) in steps.iter().enumerate() {
            let (row, rest) = std::mem::take(&mut products).split_at_mut(i + 1);
            let x = times * x;
            row.iter_mut().zip(&steps).for_each(|(sum, y)| *sum += x * y);
            products = rest;
        }
        Ok(())
    }

    /// Forgets a vector that was learned `times` times: the exact inverse of [`observe_times`](Self::observe_times).
    ///
    /// # Errors
    /// As [`observe_times`](Self::observe_times); a vector that cannot have been learned. Nothing changes then. (Sums
    /// cannot tell whether this very vector was learned.)
    pub fn forget_times(&mut self, class: ClassId, x: &[f32], times: u32) -> Result<(), ObservationError> {
        let mut gone = VectorStatistics::new(self.documents.len(), self.n_dimensions)?;
        gone.observe_times(class, x, times)?;
        self.subtract(&gone)
    }

    /// Adds other statistics over the same classes and dimensions.
    ///
    /// # Errors
    /// A different number of classes or dimensions; overflow. Nothing changes then.
    pub fn merge(&mut self, other: &VectorStatistics) -> Result<(), ObservationError> {
        ObservationError::check_shape(self.shape(), other.shape())?;
        self.check_total(other.documents.iter().copied(), 0)?;
        for i in 0..self.n_dimensions {
            add_square(i, self.square(i), other.square(i).into())?;
        }
        self.documents.iter_mut().zip(&other.documents).for_each(|(a, b)| *a += b);
        self.sums.iter_mut().zip(&other.sums).for_each(|(a, b)| *a += b);
        self.products.iter_mut().zip(&other.products).for_each(|(a, b)| *a += b);
        Ok(())
    }

    /// As [`merge`](Self::merge), of statistics over other classes: `moved` gives the class here of each of them.
    ///
    /// # Errors
    /// A class that is unknown here or has no place; a different number of dimensions; overflow. Nothing changes then.
    pub fn merge_moved(
        &mut self,
        other: &VectorStatistics,
        moved: &[ClassId],
    ) -> Result<(), ObservationError> {
        let mut there = self.emptied();
        ObservationError::check_shape([moved.len(), self.n_dimensions], other.shape())?;
        for (class, to) in (0..).zip(moved) {
            let at = usize::from(*to);
            let expected = self.documents.len();
            let n =
                there.documents.get_mut(at).ok_or(StatisticsError::UnknownClass { expected, got: *to })?;
            *n += other.documents[usize::from(class)];
            let start = at * self.n_dimensions;
            there.sums[start..].iter_mut().zip(other.sum(class)).for_each(|(a, b)| *a += b);
        }
        there.products.clone_from(&other.products);
        self.merge(&there)
    }

    /// Takes away other statistics that are a part of these: the exact inverse of [`merge`](Self::merge).
    ///
    /// # Errors
    /// A different number of classes or dimensions; statistics that cannot be a part of these. Nothing changes then.
    pub fn subtract(&mut self, other: &VectorStatistics) -> Result<(), ObservationError> {
        ObservationError::check_shape(self.shape(), other.shape())?;
        for (class, (&got, &expected)) in (0..).zip(self.documents.iter().zip(&other.documents)) {
            if got < expected {
                return Err(StatisticsError::NoDocuments { class, expected, got }.into());
            }
        }
        let minus = |(a, b): (&i64, &i64)| a.saturating_sub(*b);
        let rest = VectorStatistics {
            n_dimensions: self.n_dimensions,
            documents: self.documents.iter().zip(&other.documents).map(|(a, b)| a - b).collect(),
            sums: self.sums.iter().zip(&other.sums).map(minus).collect(),
            products: self.products.iter().zip(&other.products).map(minus).collect(),
        };
        let (all, gone) = (self.n_documents() as f64, other.n_documents() as f64);
        let not_learned = |feature| ObservationError::NotLearned { feature, expected: gone, got: all };
        rest.possible().map_err(not_learned)?;
        *self = rest;
        Ok(())
    }

    /// Inserts a class without documents, as [`Statistics::insert_class`](crate::Statistics::insert_class) does:
    /// classes from `at` on move up by one.
    pub fn insert_class(&mut self, at: ClassId) {
        let at = usize::from(at).min(self.documents.len());
        if self.documents.len() < Classes::MAX {
            self.documents.insert(at, 0);
            let start = at * self.n_dimensions;
            self.sums.splice(start..start, vec![0; self.n_dimensions]);
        }
    }

    /// The number of documents.
    pub(crate) fn n_documents(&self) -> u64 {
        self.documents.iter().sum()
    }

    /// Checks that a vector has `n_dimensions` values, all in range.
    ///
    /// # Errors
    /// It has not.
    pub fn check(n_dimensions: usize, x: &[f32]) -> Result<(), ObservationError> {
        const RANGE: &str = "a finite number of magnitude at most 1,024";
        ObservationError::check_features(n_dimensions, x.len())?;
        let bad = x.iter().position(|value| !(-GREATEST..=GREATEST).contains(value));
        let error = |feature| ObservationError::Value { feature, expected: RANGE, got: x[feature].into() };
        bad.map_or(Ok(()), |feature| Err(error(feature)))
    }

    /// Checks class and vector, and rounds the vector to steps.
    fn steps(&self, class: ClassId, x: &[f32]) -> Result<Vec<i64>, ObservationError> {
        if usize::from(class) >= self.documents.len() {
            return Err(StatisticsError::UnknownClass { expected: self.documents.len(), got: class }.into());
        }
        Self::check(self.n_dimensions, x)?;
        Ok(x.iter().map(|value| (value * 65_536.0).round_ties_even() as i64).collect())
    }

    /// The numbers of classes and dimensions.
    fn shape(&self) -> [usize; 2] {
        [self.documents.len(), self.n_dimensions]
    }

    /// A dimension's sum of squares.
    fn square(&self, dimension: usize) -> i64 {
        self.products[row_start(dimension) + dimension]
    }

    /// Checks that so many more documents can be counted.
    fn check_total(
        &self,
        more: impl IntoIterator<Item = u64>,
        class: ClassId,
    ) -> Result<(), StatisticsError> {
        let got = more.into_iter().fold(0, u64::saturating_add);
        let is_possible = self.n_documents().saturating_add(got) <= MAX_DOCUMENTS;
        let error = StatisticsError::TooManyDocuments { class, expected: MAX_DOCUMENTS, got };
        is_possible.then_some(()).ok_or(error)
    }

    /// Checks the invariant. Fails with a dimension in which it does not hold.
    fn possible(&self) -> Result<(), usize> {
        for i in 0..self.n_dimensions {
            let square = i128::from(self.square(i));
            let bound = |(j, product): (usize, &i64)| {
                i128::from(*product).pow(2) <= square * i128::from(self.square(j))
            };
            let mut means = self.documents.iter().zip(self.sums.iter().skip(i).step_by(self.n_dimensions));
            let between = means.try_fold(0i128, |all, (n, sum)| match n {
                0 => (*sum == 0).then_some(all),
                n => all.checked_add(i128::from(*sum).pow(2) / i128::from(*n)),
            });
            let is_bounded = self.products(i).iter().enumerate().all(bound);
            if square < 0 || !is_bounded || between.is_none_or(|between| between > square) {
                return Err(i);
            }
        }
        Ok(())
    }
}

/// Where a row of a lower triangle starts.
fn row_start(row: usize) -> usize {
    row * (row + 1) / 2
}

/// Checks that a sum of squares does not overflow.
fn add_square(feature: usize, here: i64, more: i128) -> Result<(), ObservationError> {
    const BOUND: &str = "a sum of squares below 2^31";
    let sum = i128::from(here) + more;
    let got = sum as f64 * VectorStatistics::STEP.powi(2);
    let error = ObservationError::Value { feature, expected: BOUND, got };
    (sum <= i64::MAX.into()).then_some(()).ok_or(error)
}

impl TryFrom<UncheckedVectors> for VectorStatistics {
    type Error = String;

    fn try_from(read: UncheckedVectors) -> Result<Self, String> {
        let UncheckedVectors { n_dimensions, documents, sums, products } = read;
        let most = Self::MAX_DIMENSIONS;
        if n_dimensions > most || documents.len() > Classes::MAX {
            let got = documents.len();
            return Err(format!(
                "expected at most {most} dimensions and {} classes, got {n_dimensions} and {got}",
                Classes::MAX
            ));
        }
        let expected = [documents.len() * n_dimensions, row_start(n_dimensions)];
        let got = [sums.len(), products.len()];
        if expected != got {
            return Err(format!("expected {expected:?} sums and products, got {got:?}"));
        }
        let n = documents.iter().fold(0, |sum: u64, n| sum.saturating_add(*n));
        if n > MAX_DOCUMENTS {
            return Err(format!("expected at most {MAX_DOCUMENTS} documents, got {n}"));
        }
        let statistics = VectorStatistics { n_dimensions, documents, sums, products };
        let error = |i| format!("dimension {i}: expected sums that vectors can have, got others");
        statistics.possible().map_err(error).map(|()| statistics)
    }
}
