//! The Cholesky factor of a symmetric positive definite matrix.

/// The lower triangle L of a matrix L L^T: row `i` has `i + 1` numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Cholesky {
    rows: Vec<Vec<f64>>,
}

/// A pivot that is not above its bound: the feature is constant, or a linear function of earlier ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SingularPivot {
    /// The feature, from 0.
    pub feature: usize,
    /// What the pivot must exceed.
    pub expected: f64,
    /// The pivot.
    pub got: f64,
}

/// If a pivot is at most this share of the feature's variance, the earlier features explain it to twelve digits.
const TOLERANCE: f64 = 1e-12;

impl Cholesky {
    /// Factorises a covariance matrix, given by its lower triangle.
    ///
    /// # Errors
    /// A singular matrix.
    pub fn new(matrix: &[Vec<f64>]) -> Result<Cholesky, SingularPivot> {
        let mut rows: Vec<Vec<f64>> = Vec::with_capacity(matrix.len());
        for (feature, source) in matrix.iter().enumerate() {
            let mut row = Vec::with_capacity(feature + 1);
            for (above, value) in rows.iter().zip(source) {
                row.push((value - dot(&row, above)) / above[row.len()]);
            }
            let variance = source[feature];
            let (expected, got) = (TOLERANCE * variance, variance - dot(&row, &row));
            // written so that NaN fails
            if !(got > expected && got.is_finite()) {
                return Err(SingularPivot { feature, expected, got });
            }
            row.push(got.sqrt());
            rows.push(row);
        }
        Ok(Cholesky { rows })
    }

    /// Solves L z = x in place.
    pub fn solve_lower(&self, x: &mut [f64]) {
        for (i, row) in self.rows.iter().enumerate() {
            x[i] = (x[i] - dot(&row[..i], x)) / row[i];
        }
    }

    /// Solves L L^T z = x in place.
    pub fn solve(&self, x: &mut [f64]) {
        self.solve_lower(x);
        for (i, row) in self.rows.iter().enumerate().rev() {
            x[i] /= row[i];
            let solved = x[i];
            x.iter_mut().zip(&row[..i]).for_each(|(x, l)| *x -= solved * l);
        }
    }

    /// The logarithm of the matrix's determinant.
    pub fn log_determinant(&self) -> f64 {
        self.rows.iter().enumerate().map(|(i, row)| 2.0 * row[i].ln()).sum()
    }
}

/// The dot product over the shorter length. Eight sums at a time, in a fixed order.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len().min(b.len());
    let (a, rest_of_a) = a[..n].as_chunks::<8>();
    let (b, rest_of_b) = b[..n].as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        sums.iter_mut().zip(a).zip(b).for_each(|((sum, a), b)| *sum += a * b);
    }
    let rest: f64 = rest_of_a.iter().zip(rest_of_b).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves() {
        // L = [2], [1, 3], [-1, 2, 1]
        let matrix = [vec![4.0], vec![2.0, 10.0], vec![-2.0, 5.0, 6.0]];
        let cholesky = Cholesky::new(&matrix).unwrap();
        assert_eq!(cholesky.rows, [vec![2.0], vec![1.0, 3.0], vec![-1.0, 2.0, 1.0]]);
        assert!((cholesky.log_determinant() - 36f64.ln()).abs() < 1e-12);
        // the matrix times z = (1, 2, 3)
        let mut x = [2.0, 37.0, 26.0];
        cholesky.solve(&mut x);
        assert!(x.iter().zip([1.0, 2.0, 3.0]).all(|(x, z)| (x - z).abs() < 1e-12), "{x:?}");
    }

    #[test]
    fn names_the_feature_that_is_no_news() {
        let singular = |matrix: &[Vec<f64>]| Cholesky::new(matrix).err().map(|pivot| pivot.feature);
        assert_eq!(singular(&[vec![1.0], vec![0.0, 0.0]]), Some(1));
        assert_eq!(singular(&[vec![1.0], vec![0.5, 1.0], vec![1.5, 1.5, 3.0]]), Some(2));
        assert_eq!(singular(&[vec![f64::NAN]]), Some(0));
        assert_eq!(singular(&[vec![f64::INFINITY]]), Some(0));
        // scale alone does not make a matrix singular
        assert_eq!(singular(&[vec![1e-30], vec![0.0, 1e30]]), None);
        assert_eq!(singular(&[]), None);
    }
}
