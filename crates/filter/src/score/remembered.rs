//! Stored documents: digests, dates and lengths, suspects, contradictions.

use tamis_model::ClassId;
use tamis_store::config::recipe::Keep;
use tamis_store::error::Result;
use tamis_store::file::documents::named;
use tamis_store::file::documents::{NO_DATE, StoredDocument};
use tamis_tokenizer::Vocabulary;

use crate::extract::counted::Counted;
use crate::extract::digest::{digest, digest_of_nothing};
use crate::extract::document::Document;
use crate::score::filter::Filter;

/// A document that a model knows.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Known {
    /// Its identity, see [`Filter::digest`].
    pub digest: [u8; 16],
    /// The class it was learned under.
    pub class: ClassId,
    /// The number of times it counts.
    pub copies: u32,
    /// Its date in seconds since 1970, if known.
    pub date: Option<i64>,
    /// Its name, if stored.
    pub name: Option<String>,
}

/// A document whose held-out score contradicts its label.
#[derive(Clone, PartialEq, Debug)]
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

/// What the remembered documents are like.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct LearnedRange {
    /// The dates of the earliest and of the latest document that has one, in seconds since 1970.
    pub dates: Option<[i64; 2]>,
    /// The distinct terms of a document: nine of ten documents have between the first and the last number, half of them at
    /// most the middle one. `None` if the terms of documents are not stored.
    pub terms: Option<[usize; 3]>,
}

impl Filter {
    /// The documents that the model knows, by digest. Reads all stored documents.
    pub fn documents(&self) -> impl Iterator<Item = Result<Known>> + '_ {
        self.store.documents().map(|document| -> Result<Known> {
            let StoredDocument { digest, class, multiplicity: copies, date, name, .. } = document?;
            let (date, name) = ((date != NO_DATE).then_some(date), named(name));
            Ok(Known { digest, class, copies, date, name })
        })
    }

    /// The dates and lengths of the documents that the model remembers. Reads all of them.
    ///
    /// ```
    /// use tamis_train::{Document, Keep, Kind, TrainOptions, Trainer};
    ///
    /// let mut options = TrainOptions::new(Kind::Text);
    /// options.keep = Some(Keep::Vectors);
    /// let mut trainer = Trainer::new(options)?;
    /// trainer.add("fruit", Document::Text("apples and pears"))?;
    /// trainer.add("metal", Document::Text("iron"))?;
    /// let filter = trainer.finish()?.into_filter()?;
    /// assert_eq!(filter.learned_range()?.terms, Some([1, 3, 3]));
    /// # Ok::<(), tamis_train::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the model is damaged.
    pub fn learned_range(&self) -> Result<LearnedRange> {
        let (mut dates, mut terms) = (None::<[i64; 2]>, Vec::new());
        for document in self.store.documents() {
            let StoredDocument { date, vector, .. } = document?;
            terms.push(vector.row().ids().len());
            if date != NO_DATE {
                let [first, last] = dates.unwrap_or([date; 2]);
                dates = Some([first.min(date), last.max(date)]);
            }
        }
        terms.sort_unstable();
        let has_terms = self.store.header.stored.keep == Keep::Vectors && !terms.is_empty();
        let at = |percent: usize| terms[terms.len() * percent / 100];
        Ok(LearnedRange { dates, terms: has_terms.then(|| [at(5), at(50), at(95)]) })
    }

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
