//! What a model remembers: documents with digests and dates, and terms with counts and weights.

use std::collections::HashSet;

use tamis_model::{ClassId, KnownTerms};
use tamis_store::config::recipe::Keep;
use tamis_store::error::Result;
use tamis_store::file::documents::{NO_DATE, StoredDocument, named};
use tamis_store::store::layers::DecodedTerm;
use tamis_tokenizer::{TermId, Vocabulary};

use crate::extract::document::{Document, digest, digest_of_nothing};
use crate::extract::extraction::Extraction;
use crate::score::filter::Filter;
use crate::scorers::scratch::Scratch;

/// A document that a model knows.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct KnownDocument {
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
    pub fn documents(&self) -> impl Iterator<Item = Result<KnownDocument>> + '_ {
        self.store.documents().map(|document| -> Result<KnownDocument> {
            let StoredDocument { digest, class, multiplicity: copies, date, name, .. } = document?;
            let (date, name) = ((date != NO_DATE).then_some(date), named(name));
            Ok(KnownDocument { digest, class, copies, date, name })
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
        let (mut counted, mut terms) = (Extraction::default(), Vocabulary::without_texts());
        self.extractor.count(document, &mut counted, &mut terms)?;
        Ok(self.digest_of(&counted, &terms))
    }

    /// The [digest](Self::digest) of the document that was scored last with `scratch`.
    pub fn digest_of_scored(&self, scratch: &Scratch) -> [u8; 16] {
        self.digest_of(&scratch.counted, &scratch.memo.terms)
    }

    fn digest_of(&self, counted: &Extraction, terms: &Vocabulary) -> [u8; 16] {
        digest(self.extractor.recipe().version, counted.words(terms.document()), &counted.reals)
    }

    /// The digests of all documents that the model knows.
    ///
    /// # Errors
    /// If the model is damaged.
    pub fn known_digests(&self) -> Result<HashSet<[u8; 16]>> {
        self.documents().map(|known| Ok(known?.digest)).collect()
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

/// A term with its counts and its weights, by class.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct TermRow {
    /// The term, with the field it is found in.
    pub term: String,
    /// Documents of each class that contain it.
    pub documents: Vec<u64>,
    /// Its occurrences in each class.
    pub occurrences: Vec<u64>,
    /// What it adds to the log-odds of each class against its strongest rival, in nats, if it is the only term of a
    /// document; `None` if it is not used in scoring.
    pub weights: Option<Vec<f64>>,
}

impl Filter {
    /// The terms with counts, in no particular order. Unlabelled documents are left out.
    ///
    /// ```
    /// use tamis_train::{Document, Kind, TrainOptions, Trainer};
    ///
    /// let mut trainer = Trainer::new(TrainOptions::new(Kind::Text))?;
    /// trainer.add("fruit", Document::Text("apples, more apples"))?;
    /// trainer.add("metal", Document::Text("iron and more"))?;
    /// let filter = trainer.finish()?.into_filter()?;
    /// let apples = filter.terms().find(|row| row.as_ref().is_ok_and(|row| row.term == "apples")).unwrap()?;
    /// assert_eq!((apples.documents, apples.occurrences), (vec![1, 0], vec![2, 0]));
    /// assert!(apples.weights.unwrap()[0] > 0.0);
    /// # Ok::<(), tamis_train::Error>(())
    /// ```
    pub fn terms(&self) -> impl Iterator<Item = Result<TermRow>> + '_ {
        let mut decoded = DecodedTerm::new(self.layers());
        self.layers().ids().filter_map(move |id| {
            let row = id.and_then(|id| self.row(id, &mut decoded));
            row.transpose()
        })
    }

    /// `None` for a term without labelled documents, such as one that was forgotten.
    fn row(&self, id: TermId, decoded: &mut DecodedTerm<'_>) -> Result<Option<TermRow>> {
        let n_classes = self.classes().len();
        let (mut documents, mut occurrences) = (vec![0; n_classes], vec![0; n_classes]);
        self.for_each_label(decoded.term(id)?.cells, |label, cell| {
            documents[label] += u64::from(cell.df);
            occurrences[label] += u64::from(cell.tf);
        });
        if documents.iter().all(|n| *n == 0) {
            return Ok(None);
        }
        let term = decoded.text()?.to_owned();
        let weight = |class| self.scorer.term_weight(self.layers(), id, class as ClassId);
        let weights = (0..n_classes).map(weight).collect::<Result<Option<_>>>()?;
        Ok(Some(TermRow { term, documents, occurrences, weights }))
    }
}
