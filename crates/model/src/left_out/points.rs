//! The grid of smoothings and idf powers to score with.

use crate::bayes::Smoothing;

/// A grid: every smoothing with every power of idf.
#[derive(Clone, Debug)]
pub(crate) struct Points {
    /// At most [`MOST_ALPHAS`].
    pub(crate) alphas: Vec<Smoothing>,
    /// At most [`MOST_POWERS`].
    pub(crate) powers: Vec<f64>,
}

pub(crate) const MOST_ALPHAS: usize = 5;
pub(crate) const MOST_POWERS: usize = 3;

impl Points {
    pub(crate) fn one(alpha: Smoothing, power: f64) -> Points {
        Points { alphas: vec![alpha], powers: vec![power] }
    }

    /// The number of grid points.
    pub(crate) fn len(&self) -> usize {
        self.alphas.len() * self.powers.len()
    }

    /// The grid points, in the order of their scores.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Smoothing, f64)> + '_ {
        self.alphas.iter().flat_map(|alpha| self.powers.iter().map(|power| (*alpha, *power)))
    }
}
