//! Refinements: what training adds to the defaults where held-out documents of a sample are then predicted better.

use serde::{Deserialize, Serialize};

/// What training may add to words as terms and to the default fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Refinement {
    /// Pieces of words, of four characters.
    Pieces,
    /// Pieces of all lengths instead.
    AllPieces,
    /// Pairs of neighbouring words, and the words at the text's ends.
    Pairs,
    /// Punctuation, hashtags, mentions and capitals; see [`TokenizerOptions::signs`](tamis_tokenizer::TokenizerOptions::signs).
    Signs,
    /// A correction with C 4, which labels given partly by chance need.
    Regularisation,
}

impl Refinement {
    /// The C of [`Refinement::Regularisation`].
    pub const C: f64 = 4.0;

    /// All of them, in the order in which they are tried.
    pub const ALL: [Refinement; 5] = [
        Refinement::Pieces,
        Refinement::AllPieces,
        Refinement::Pairs,
        Refinement::Signs,
        Refinement::Regularisation,
    ];

    /// Its name, as programs show it.
    pub fn name(self) -> &'static str {
        match self {
            Refinement::Pieces => "pieces of words",
            Refinement::AllPieces => "pieces of all lengths",
            Refinement::Pairs => "pairs of words",
            Refinement::Signs => "signs",
            Refinement::Regularisation => "C 4",
        }
    }

    /// The share of the loss that it must take away to be worth its terms: with pieces or pairs, a model is several times as
    /// large; signs are few. Less of a change of C would be chance.
    pub fn price(self) -> f64 {
        match self {
            Refinement::Pieces | Refinement::AllPieces | Refinement::Pairs | Refinement::Regularisation => {
                0.01
            }
            Refinement::Signs => 0.002,
        }
    }
}

/// A refinement that was tried on a sample, and the mean log loss of its held-out documents, in nats per document.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct TriedRefinement {
    /// What was tried.
    pub refinement: Refinement,
    /// The loss with it.
    pub with: f64,
    /// The loss without it.
    pub without: f64,
    /// The number of documents of the sample.
    pub documents: f64,
}

impl TriedRefinement {
    /// Whether it was taken: the loss is less by the [price](Refinement::price), and by more than 5
    /// nats in all, so that few documents do not decide by chance.
    pub fn is_chosen(&self) -> bool {
        let gain = self.without - self.with;
        gain > self.refinement.price() * self.without && gain * self.documents > 5.0
    }
}
