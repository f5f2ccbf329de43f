//! Naive Bayes for two classes as a linear classifier: weights and bias.

use tamis_tokenizer::CountRow;

use crate::bayes::likelihood::Counting;

/// The log-odds of two classes as a linear function of a document's counts.
///
/// Made by [`NaiveBayes::linear_form`](crate::NaiveBayes::linear_form). Takes eight bytes per term of the vocabulary,
/// so it pays off when many documents are scored.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearForm {
    /// Log-odds (nats) added by one occurrence of each term, indexed by term id; 0 for terms that are not features.
    pub weights: Vec<f64>,
    /// Log-odds (nats) of a document without features.
    pub bias: f64,
}

impl LinearForm {
    /// The log-odds (nats) of a document: positive in favour of the positive class. `counting` must be the model's, and
    /// `Presence` for Bernoulli. Terms beyond the weights are skipped. Never NaN: without smoothing there may be
    /// infinite weights of both signs, which give 0.
    pub fn decision_function(&self, row: CountRow<'_>, counting: Counting) -> f64 {
        let mut sum = self.bias;
        for (term, count) in row.iter() {
            let count = if counting == Counting::Presence { 1.0 } else { f64::from(count) };
            sum += count * self.weights.get(term as usize).copied().unwrap_or(0.0);
        }
        if sum.is_nan() { 0.0 } else { sum }
    }
}
