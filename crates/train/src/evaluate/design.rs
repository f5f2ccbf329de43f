//! What to observe next: V-optimal design of experiments.

use rayon::prelude::*;

/// Which of many unknown values would tell most about all of them.
///
/// The values are a Gaussian process with a known covariance. An observed value has noise of variance 0.3. What an
/// observation is worth is by how much it lowers the sum of the variances of all values (V-optimality): values that
/// resemble many others come first, and values like those observed already come last.
///
/// Memory is 4 bytes for each pair of values, and a call takes time in proportion to the pairs.
///
/// Source: Seo, Wallat, Graepel and Obermayer, "Gaussian Process Regression: Active Data Selection and Test Point
/// Rejection" (2000), section 3, after Cohn, Ghahramani and Jordan (1996).
#[derive(Clone, Debug)]
pub(crate) struct Design {
    /// The covariance of the values given what was observed, row by row.
    covariance: Vec<f32>,
    n: usize,
}

/// The variance of the noise of an observation, where that of a value is 1 or 2: chosen on 20 Newsgroups and Ohsumed.
const NOISE: f32 = 0.3;

impl Design {
    /// Starts with `n_observed` values that were observed before and `n` that were not, which have the numbers from 0
    /// here. `row` gets the number of a value among all, the observed ones first, and writes its covariance with each.
    pub(crate) fn new(n_observed: usize, n: usize, row: impl Fn(usize, &mut [f32]) + Sync) -> Self {
        let all = n_observed + n;
        let mut covariance = vec![0.0; all * all];
        covariance.par_chunks_mut(all.max(1)).enumerate().for_each(|(i, of_row)| row(i, of_row));
        // what is eliminated need not be kept up to date
        (0..n_observed).for_each(|i| eliminate(&mut covariance, all, i, i + 1));
        let rest = covariance.chunks(all.max(1)).skip(n_observed).flat_map(|row| &row[n_observed..]);
        Design { covariance: rest.copied().collect(), n }
    }

    /// By how much observing a value would lower the sum of all variances.
    pub(crate) fn gain(&self, i: usize) -> f64 {
        let row = &self.covariance[i * self.n..][..self.n];
        let squares: f64 = row.iter().map(|c| f64::from(*c).powi(2)).sum();
        squares / f64::from(row[i].max(0.0) + NOISE)
    }

    /// Observes a value: the variances of those like it fall.
    pub(crate) fn observe(&mut self, i: usize) {
        eliminate(&mut self.covariance, self.n, i, 0);
    }
}

/// Subtracts from the rows and columns from `start` on what the value `i` explains.
fn eliminate(covariance: &mut [f32], n: usize, i: usize, start: usize) {
    let of_i = covariance[i * n..][..n].to_vec();
    let variance = of_i[i].max(0.0) + NOISE;
    covariance.par_chunks_mut(n).enumerate().skip(start).with_min_len(64).for_each(|(j, row)| {
        let share = of_i[j] / variance;
        row[start..].iter_mut().zip(&of_i[start..]).for_each(|(c, of_i)| *c -= share * of_i);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The covariance of points on a line, the first five close together.
    fn of_line(i: usize, row: &mut [f32]) {
        let place = |i: usize| if i < 5 { i as f32 / 10.0 } else { 10.0 + 3.0 * i as f32 };
        row.iter_mut().enumerate().for_each(|(j, c)| *c = (-(place(i) - place(j)).powi(2)).exp());
    }

    #[test]
    fn what_resembles_many_comes_first_and_then_what_is_unlike_it() {
        let mut design = Design::new(0, 9, of_line);
        assert!((0..9).all(|i| design.gain(2) >= design.gain(i)));
        design.observe(2);
        assert!(design.gain(8) > design.gain(1));
    }

    #[test]
    fn the_gain_is_what_observing_saves() {
        let mut design = Design::new(0, 9, of_line);
        let variance = |design: &Design| (0..9).map(|i| f64::from(design.covariance[10 * i])).sum::<f64>();
        for i in [2, 2, 8, 0] {
            let (before, gain) = (variance(&design), design.gain(i));
            design.observe(i);
            assert!((before - variance(&design) - gain).abs() < 1e-5, "value {i}");
        }
    }

    #[test]
    fn values_observed_before_are_values_observed() {
        let known = Design::new(4, 6, of_line);
        let mut all = Design::new(0, 10, of_line);
        (0..4).for_each(|i| all.observe(i));
        for i in 0..6 {
            let of_rest: f64 = (4..10).map(|j| f64::from(all.covariance[10 * (4 + i) + j]).powi(2)).sum();
            let variance = f64::from(all.covariance[11 * (4 + i)] + NOISE);
            assert!((known.gain(i) - of_rest / variance).abs() < 1e-5, "value {i}");
        }
    }

    #[test]
    fn nothing_can_be_designed() {
        Design::new(3, 0, of_line);
        Design::new(0, 0, of_line);
    }
}
