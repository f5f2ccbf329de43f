//! Stored documents: digests, suspects, contradictions.

use tamis_model::ClassId;
use tamis_tokenizer::Vocabulary;

use crate::error::Result;
use crate::extract::counted::Counted;
use crate::extract::digest::{digest, digest_of_nothing};
use crate::extract::document::Document;
use crate::score::filter::Filter;

/// A document whose held-out score contradicts its label.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Suspect {
    /// Its identity, see [`Filter::digest`].
    pub digest: [u8; 16],
    /// The class it was learned under.
    pub class: ClassId,
    /// Its date in seconds since 1970, if it has one.
    pub date: Option<i64>,
    /// Its name, if it is stored.
    pub name: Option<String>,
    /// The label that its held-out score gives it.
    pub proposed: ClassId,
    /// The held-out probability of that label.
    pub probability: f64,
    /// With two labels, the held-out log-odds of the positive one, in nats; with more, those of `class` against all
    /// others.
    pub log_odds: f64,
}

impl Filter {
    /// The identity under which the model remembers, or would remember, a document: a digest of its terms.
    ///
    /// # Errors
    /// If the document is not of the model's kind, or the model is damaged in a part that is read.
    pub fn digest(&self, document: Document<'_>) -> Result<[u8; 16]> {
        let (mut counted, mut terms) = (Counted::default(), Vocabulary::without_texts());
        self.extractor.count(document, &mut counted, &mut terms)?;
        Ok(digest(self.extractor.recipe().version, counted.words(terms.document()), counted.reals()))
    }

    /// The number of different documents that the model knows under several labels. Reads all stored documents.
    ///
    /// # Errors
    /// If the model is damaged.
    pub fn n_contradictions(&self) -> Result<u64> {
        let nothing = digest_of_nothing(&self.store.header.recipe);
        let (mut n, mut before, mut is_counted) = (0, nothing, true);
        for document in self.store.documents() {
            let digest = document?.digest;
            if digest != before {
                (before, is_counted) = (digest, digest == nothing);
            } else if !is_counted {
                n += 1;
                is_counted = true;
            }
        }
        Ok(n)
    }
}
