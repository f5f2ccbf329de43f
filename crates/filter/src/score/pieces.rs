//! The contributions of pieces of words to a score, as part of the contributions of their words.

use std::collections::HashMap;

use tamis_tokenizer::{TermCount, TermId};

use crate::score::filter::Filter;
use crate::score::scratch::Scratch;

/// The contributions of the known pieces of a document's words.
#[derive(Default)]
pub(crate) struct PieceParts {
    /// The words with known pieces: their positions in the document, and their shares of the pieces' contributions, in
    /// nats.
    pub words: Vec<(usize, f64)>,
    /// The ids of the known pieces in the model.
    pub known: Vec<TermId>,
}

impl Filter {
    /// Divides the contribution of each piece among the words that contain it, in proportion to their occurrences.
    pub(crate) fn deal_pieces(&self, scratch: &Scratch, contributions: &[(TermId, f64)]) -> PieceParts {
        if !self.extractor.recipe().pieces {
            return PieceParts::default();
        }
        let Scratch { memo, counted, .. } = scratch;
        let (document, n_terms) = (memo.document(), self.layers().n_terms());
        let words = counted.words(document);
        let contributions: HashMap<TermId, f64> = contributions.iter().copied().collect();
        // the contribution of one occurrence, by the piece's number in the vocabulary
        let mut known = Vec::new();
        let pieces: HashMap<TermId, f64> = (words.len()..document.len())
            .filter_map(|at| {
                let id = memo.id(at, n_terms)?;
                let adds = contributions.get(&id)?;
                known.push(id);
                Some((document[at].id, adds / f64::from(document[at].count)))
            })
            .collect();
        let part = |(at, word): (usize, &TermCount)| {
            let own = memo.terms.pieces_of(word.id).iter().filter_map(|piece| pieces.get(piece));
            let sum = own.copied().reduce(|sum, adds| sum + adds)?;
            Some((at, f64::from(word.count) * sum))
        };
        let words = words.iter().enumerate().filter_map(part).collect();
        PieceParts { words, known }
    }
}
