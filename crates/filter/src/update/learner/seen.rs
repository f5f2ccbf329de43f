//! Reading a document to learn or forget.

use tamis_model::Counts;
use tamis_tokenizer::{CountVector, TermId};

use super::{Learner, Seen};
use crate::error::Result;
use crate::extract::digest::digest;
use crate::extract::document::Document;
use crate::file::documents::{NO_DATE, Remembered};
use crate::file::groups;
use crate::score::filter::Filter;

impl Learner {
    /// Reads a document as the model would store it, in `group`.
    pub(super) fn see(&mut self, group: Option<&str>, document: Document<'_>) -> Result<Seen> {
        let Learner { filter: Filter { store, extractor, .. }, counted, vocabulary, .. } = self;
        extractor.count(document, counted, vocabulary)?;
        let (mut ids, mut new_terms): (Vec<TermId>, Vec<_>) = (Vec::new(), Vec::new());
        for term in vocabulary.document() {
            ids.push(match store.find(term.fingerprint)? {
                Some(id) => id,
                None => {
                    let text = vocabulary.term(term.id).unwrap_or_default().to_owned();
                    new_terms.push((term.fingerprint, text));
                    (store.n_terms() + new_terms.len() - 1) as TermId
                }
            });
        }
        let digest =
            digest(extractor.recipe().version, counted.words(vocabulary.document()), counted.reals());
        counted.rows(vocabulary.document(), |place| ids.get(place).copied());
        let (own, learned_at) = (counted.date(), self.options.learned_at);
        let date = match (own, learned_at) {
            (Some(own), Some(now)) => Some(own.min(now)),
            _ => own.or(learned_at),
        };
        let document = Remembered {
            digest,
            class: 0,
            multiplicity: 1,
            date: date.unwrap_or(NO_DATE),
            group: groups::group(group, counted.body_hash()),
            message: counted.message(),
            name: if store.header.stored.names { counted.name().into() } else { Box::default() },
            coefficients: Vec::new(),
            held_out: None,
            learned: 0,
            vector: CountVector::from_pairs(counted.whole().iter()).unwrap_or_default(),
        };
        self.see_layers()?;
        Ok(Seen { document, new_terms })
    }

    /// If there is a shared model, rebuilds the rows of the current document with the ids of both models, to score it.
    fn see_layers(&mut self) -> Result<()> {
        if self.filter.fallback.is_none() {
            return Ok(());
        }
        let (layers, terms) = (self.filter.layers(), self.vocabulary.document());
        let unknown = |place| TermId::try_from(layers.n_terms() + place).ok();
        let ids = terms
            .iter()
            .enumerate()
            .map(|(place, term)| Ok(layers.find(term.fingerprint)?.or(unknown(place))));
        let ids: Vec<_> = ids.collect::<Result<_>>()?;
        self.counted.rows(terms, |place| ids.get(place).copied().flatten());
        Ok(())
    }
}
