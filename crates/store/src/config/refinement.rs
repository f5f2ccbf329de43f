//! Refinements: what training adds to the defaults where held-out documents of a sample are then predicted better.

use serde::{Deserialize, Serialize};
use tamis_model::{WeightedLoss, paired_difference};
use tamis_tokenizer::is_piece;

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

    /// What a text's term, after the prefix of its field, came with: pieces of any length are [`Pieces`](Self::Pieces); `None`
    /// for a word.
    pub fn of_term(term: &str) -> Option<Refinement> {
        // signs may have colons, and begin with a sign
        let of_field = term.split_once(':').filter(|(field, _)| !field.contains('^'));
        match of_field.map_or(term, |(_, rest)| rest) {
            // with pairs come the ends of texts
            rest if rest.contains(' ') || rest == "^" => Some(Refinement::Pairs),
            rest if rest.contains('^') => Some(Refinement::Signs),
            rest if is_piece(rest) => Some(Refinement::Pieces),
            _ => None,
        }
    }

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
        if self == Refinement::Signs { 0.002 } else { 0.01 }
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
    /// The number of documents that were held out.
    pub documents: f64,
    /// The number of all documents.
    pub of: f64,
    /// The standard error of the difference, in nats per document.
    pub error: f64,
}

impl TriedRefinement {
    /// What the losses of the same documents, some `of` all, with and without it say.
    pub fn new(
        refinement: Refinement,
        with: &[WeightedLoss],
        without: &[WeightedLoss],
        of: f64,
    ) -> TriedRefinement {
        let documents: f64 = without.iter().map(|of| of.weight).sum();
        let mean = |of: &[WeightedLoss]| of.iter().map(|of| of.loss * of.weight).sum::<f64>() / documents;
        let [_, error] = paired_difference(with, without);
        TriedRefinement { refinement, with: mean(with), without: mean(without), documents, of, error }
    }

    /// Whether a sample that is not the last takes it; `None` if a larger one has to tell. What pieces bring shrinks with
    /// the number of texts; what pairs and signs bring grows, so that only a sample that `is_enough` refuses these.
    pub fn verdict(&self, is_enough: bool) -> Option<bool> {
        match self.refinement {
            _ if self.with == self.without => Some(false),
            Refinement::Pieces if self.more() < -self.error => Some(false),
            Refinement::AllPieces if self.more() < 0.0 => Some(false),
            Refinement::Pieces | Refinement::AllPieces => None,
            _ if self.is_hopeless() && is_enough => Some(false),
            _ if self.more() > 2.0 * self.error => Some(true),
            _ => None,
        }
    }

    /// Whether it was taken: the loss is less by the [price](Refinement::price), by half a standard error more where what it
    /// brings does not grow with the number of documents, and by one and a half for pieces that fewer than half of the
    /// documents tell of, since what these bring shrinks; and by 2 nats in all, since few documents know no standard error.
    pub fn is_chosen(&self) -> bool {
        let errors = match self.refinement {
            Refinement::Pairs | Refinement::Signs => 0.0,
            Refinement::Pieces if self.documents < 0.5 * self.of => 1.5,
            _ => 0.5,
        };
        self.more() > errors * self.error && (self.without - self.with) * self.documents > 2.0
    }

    /// Whether it brings less than the price by two standard errors.
    pub fn is_hopeless(&self) -> bool {
        self.more() < -2.0 * self.error
    }

    /// By how much it brings more than the price, in nats per document.
    fn more(&self) -> f64 {
        self.without - self.with - self.refinement.price() * self.without
    }
}
