//! Histograms of counts for the normalised complement likelihood.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::bayes::features::Mass;
use crate::bayes::rule::Rule;
use crate::counts::{Cell, ClassTotals};

/// Count of a term in all classes -> its count in one class -> number of features with both counts.
type Histogram = BTreeMap<u64, BTreeMap<u64, u64>>;

/// The integers that normalised complement weights need from all features. They suffice because the sum over the
/// features of `ln(count outside the class + alpha)` depends only on two counts per feature.
///
/// Has at most one entry per cell, in practice far fewer, because most counts are small.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Complement {
    /// Count of a term in all classes -> number of features with that count.
    features: BTreeMap<u64, u64>,
    /// One histogram per class, over the features that the class has.
    classes: Vec<Histogram>,
}

impl Complement {
    pub(crate) fn new(n_classes: usize) -> Self {
        Complement { features: BTreeMap::new(), classes: vec![Histogram::new(); n_classes] }
    }

    pub(crate) fn add(&mut self, rule: &Rule, mass: Mass, cells: &[Cell]) {
        let total = rule.total(mass);
        *self.features.entry(total).or_default() += 1;
        for &cell in cells {
            if let Some(histogram) = self.classes.get_mut(usize::from(cell.class)) {
                *histogram.entry(total).or_default().entry(rule.evidence(cell)).or_default() += 1;
            }
        }
    }

    /// Adds `n` features that no class has.
    pub(crate) fn add_uncounted(&mut self, n: u64) {
        if n > 0 {
            *self.features.entry(0).or_default() += n;
        }
    }

    /// The sum of `ln(count outside the class + alpha)` over the features, for each class. Starts from the sum for a
    /// class that has none of the features and corrects it for those that each class has.
    pub(crate) fn log_counts<'a>(&'a self, rule: &'a Rule) -> impl Iterator<Item = f64> + 'a {
        let absent: f64 =
            self.features.iter().map(|(&total, &n)| n as f64 * rule.log_count(total as f64, 0.0)).sum();
        self.classes.iter().map(move |histogram| {
            let entries = histogram.iter().flat_map(|(&total, counts)| {
                let total = total as f64;
                let log = rule.log_count(total, 0.0);
                counts.iter().map(move |(&count, &n)| n as f64 * (rule.log_count(total, count as f64) - log))
            });
            absent + entries.sum::<f64>()
        })
    }

    /// Whether the histograms are consistent with the totals and the number of features.
    pub(crate) fn fits(&self, rule: &Rule, totals: &[ClassTotals], n_features: u64) -> bool {
        let tokens = |counts: &BTreeMap<u64, u64>| {
            counts.iter().try_fold(0u64, |sum, (&count, &n)| sum.checked_add(count.checked_mul(n)?))
        };
        let features =
            |counts: &BTreeMap<u64, u64>| counts.values().try_fold(0u64, |sum, &n| sum.checked_add(n));
        let fits = |(histogram, class): (&Histogram, &ClassTotals)| {
            let inside = |(total, counts): (&u64, &BTreeMap<u64, u64>)| {
                counts.last_key_value().is_none_or(|(count, _)| count <= total)
                    && features(counts).is_some_and(|n| self.features.get(total).is_some_and(|&all| n <= all))
            };
            let sum = histogram.values().try_fold(0u64, |sum, counts| sum.checked_add(tokens(counts)?));
            histogram.iter().all(inside) && sum == Some(rule.tokens(class))
        };
        let all = totals.iter().try_fold(0u64, |sum, class| sum.checked_add(rule.tokens(class)));
        self.classes.len() == totals.len()
            && features(&self.features) == Some(n_features)
            && tokens(&self.features) == all
            && all.is_some()
            && self.classes.iter().zip(totals).all(fits)
    }
}

#[cfg(test)]
mod tests {
    use crate::bayes::naive_bayes::NaiveBayes;
    use crate::counts::Statistics;
    use tamis_tokenizer::CountVector;

    use crate::bayes::likelihood::Likelihood;
    use crate::bayes::parameters::Parameters;

    #[test]
    fn weights_add_up_to_one_with_features_that_were_never_counted() {
        let mut statistics = Statistics::new(2);
        for (class, pairs) in [(0, [(0, 3), (1, 1)]), (1, [(0, 1), (1, 5)])] {
            statistics.observe(class, CountVector::from_pairs(pairs).unwrap().row()).unwrap();
        }
        let likelihood = Likelihood::ComplementNormalized;
        let parameters = Parameters { likelihood, ..Parameters::default() };
        let Ok(summary) = parameters.summarize_terms(&statistics, 0..2, 4);
        let model = NaiveBayes::new(&parameters, &summary).unwrap();
        // alpha 1, four features: outside class 0 there are counts of 1, 5, 0 and 0, outside class 1 of 3, 1, 0 and 0
        for (class, counts) in [(0, [1.0, 5.0]), (1, [3.0, 1.0f64])] {
            let log_total = (counts[0] + counts[1] + 4.0).ln();
            let sum = 4.0 * log_total - (counts[0] + 1.0).ln() - (counts[1] + 1.0).ln();
            for (term, count) in (0..).zip(counts) {
                let weight = model.feature_log_prob(&statistics, term, class).unwrap().unwrap();
                assert!((weight - (log_total - (count + 1.0).ln()) / sum).abs() < 1e-12, "{weight}");
            }
        }
    }
}
