use tamis_tokenizer::CountRow;

use crate::bayes::likelihood::Counting;

/// The log-odds of two classes as a linear function of a document's counts.
///
/// Made by [`NaiveBayes::linear_form`](crate::NaiveBayes::linear_form). Eight bytes a term of the whole
/// vocabulary: worth it when many documents are scored.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearForm {
    /// Log-odds (nats) an occurrence of each term adds, by term id; 0 for terms that are no features.
    pub weights: Vec<f64>,
    /// Log-odds (nats) of a document without features.
    pub bias: f64,
}

impl LinearForm {
    /// The log-odds (nats) of a document: positive for the positive class. `counting` must be what the model
    /// was made with, and `Presence` for Bernoulli. Terms beyond the weights are skipped. Never NaN: where
    /// infinite weights of both signs meet, which takes a model without smoothing, it is 0, undecided.
    pub fn decision_function(&self, row: CountRow<'_>, counting: Counting) -> f64 {
        let mut sum = self.bias;
        for (term, count) in row.iter() {
            let count = if counting == Counting::Presence { 1.0 } else { f64::from(count) };
            sum += count * self.weights.get(term as usize).copied().unwrap_or(0.0);
        }
        if sum.is_nan() { 0.0 } else { sum }
    }
}
