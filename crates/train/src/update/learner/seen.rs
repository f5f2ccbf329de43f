//! Reading a document to learn or forget.

use tamis_filter::extract::document::{Document, digest};
use tamis_filter::extract::extraction::Extraction;
use tamis_filter::score::filter::Filter;
use tamis_model::Counts;
use tamis_store::error::Result;
use tamis_store::file::documents::{NO_DATE, StoredDocument, group_number};
use tamis_tokenizer::{CountVector, TermCount, TermId};

use super::{CandidateDocument, Learner};
use crate::update::record::Record;

impl Learner {
    /// Reads a document as the model would store it, in `group`.
    pub(super) fn see(&mut self, group: Option<&str>, document: Document<'_>) -> Result<CandidateDocument> {
        let shifts =
            self.filter.score(document, &mut self.scratch).map(|_| self.filter.shifts(&self.scratch))?;
        let document = self.read(group, document)?;
        let Learner { filter, counted, vocabulary, .. } = self;
        let terms = vocabulary.document();
        let text = |place: usize| vocabulary.term(terms[place].id).unwrap_or_default().to_owned();
        Ok(CandidateDocument { shifts, ..place(filter, counted, document, terms, text)? })
    }

    /// The document of a record as the model would store it. The record holds no parts.
    pub(super) fn see_record(&mut self, record: &Record) -> Result<CandidateDocument> {
        let Learner { filter, counted, .. } = self;
        counted.clear();
        let mut document = record.document().clone();
        if !filter.store().header.stored.names {
            document.name = Box::default();
        }
        place(filter, counted, document, &record.terms(), |place| record.text(place))
    }

    /// Counts the terms of a document in the vocabulary. Returns the document without them.
    pub(super) fn read(&mut self, group: Option<&str>, document: Document<'_>) -> Result<StoredDocument> {
        let Learner { filter, counted, vocabulary, .. } = self;
        let extractor = filter.extractor();
        extractor.count(document, counted, vocabulary)?;
        let digest = digest(extractor.recipe().version, counted.words(vocabulary.document()), &counted.reals);
        let date = self.options.learned_at.or(counted.facts.date);
        Ok(StoredDocument {
            digest,
            multiplicity: 1,
            date: date.unwrap_or(NO_DATE),
            group: group_number(group, counted.facts.body_hash),
            message: counted.message(),
            name: if filter.store().header.stored.names {
                counted.facts.name.as_str().into()
            } else {
                Box::default()
            },
            dense: counted.facts.dense.as_slice().into(),
            ..StoredDocument::default()
        })
    }
}

/// Gives the `terms` of a document the ids of the model, and builds its rows. `text` gives the text of a term by its
/// position.
pub(super) fn place(
    filter: &Filter,
    counted: &mut Extraction,
    mut document: StoredDocument,
    terms: &[TermCount],
    text: impl Fn(usize) -> String,
) -> Result<CandidateDocument> {
    let store = filter.store();
    let (mut ids, mut new_terms): (Vec<TermId>, Vec<_>) = (Vec::new(), Vec::new());
    for (place, term) in terms.iter().enumerate() {
        ids.push(match store.find(term.fingerprint)? {
            Some(id) => id,
            None => {
                new_terms.push((term.fingerprint, text(place)));
                (store.n_terms() + new_terms.len() - 1) as TermId
            }
        });
    }
    counted.rows(terms, |place| ids.get(place).copied());
    document.vector = CountVector::from_pairs(counted.whole().iter()).unwrap_or_default();
    see_layers(filter, counted, terms)?;
    Ok(CandidateDocument { document, new_terms, shifts: None })
}

/// If there is a shared model, rebuilds the rows of the document with the ids of both models, to score it.
fn see_layers(filter: &Filter, counted: &mut Extraction, terms: &[TermCount]) -> Result<()> {
    if filter.fallback().is_none() {
        return Ok(());
    }
    let layers = filter.layers();
    let unknown = |place| TermId::try_from(layers.n_terms() + place).ok();
    let ids =
        terms.iter().enumerate().map(|(place, term)| Ok(layers.find(term.fingerprint)?.or(unknown(place))));
    let ids: Vec<_> = ids.collect::<Result<_>>()?;
    counted.rows(terms, |place| ids.get(place).copied().flatten());
    Ok(())
}
