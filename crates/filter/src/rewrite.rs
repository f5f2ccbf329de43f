//! A model file written anew: what its log says becomes part of the rest.

use tamis_model::{Cell, ClassId, Counts};
use tamis_tokenizer::{CountVector, TermId};
use zerocopy::IntoBytes;

use crate::documents::{Remembered, encode_coefficients, encode_vector};
use crate::error::{Error, Result};
use crate::fitting;
use crate::format::Header;
use crate::model::{Model, seal, term_sections};
use crate::scorer::positive_class;
use crate::scoring::{Scoring, Weighted};
use crate::store::{Store, summarize};
use crate::trainer::Keep;

/// The model of a file and its log, as a file without a log. The correction stays what it is; calibration and thresholds
/// follow from the scores of all documents remembered.
pub(crate) fn fold(store: &Store) -> Result<Model> {
    let terms = Terms::new(store)?;
    let sections = term_sections(terms.order.len(), |writer, id| {
        let (fingerprint, old) = terms.order[id as usize];
        let (mut cells, mut weights): (Vec<Cell>, Vec<(ClassId, i32)>) = Default::default();
        store.for_each_cell(old, |cell| cells.push(cell))?;
        store.for_each_value(old, |class, value| {
            weights.push((class, value));
            Ok(())
        })?;
        writer.push(fingerprint, store.text(old)?, cells.into_iter(), weights.into_iter())
    })?;
    let (documents, scores) = documents(store, &terms)?;
    let mut header = Header {
        totals: store.totals.clone(),
        changes: store.header.changes + store.overlay.n_entries(),
        summary: summarize(&store.header.scoring, &terms)?,
        ..store.header.clone()
    };
    if let Scoring::Weighted(_) = header.scoring {
        (header.decision, header.expected) = fitting::settle(
            &scores,
            header.asked.as_ref(),
            header.decision,
            &header.totals,
            positive_class(&header.classes),
        )?;
    }
    seal(header, sections, documents)
}

/// The terms that have counts.
struct Terms<'a> {
    store: &'a Store,
    /// Of each by its new id the fingerprint, which is what they are ordered by, and the id in the store.
    order: Vec<(u64, TermId)>,
    /// The new id of each id in the store.
    ids: Vec<Option<TermId>>,
}

impl<'a> Terms<'a> {
    fn new(store: &'a Store) -> Result<Self> {
        let mut order = Vec::with_capacity(store.n_terms());
        for id in 0..store.n_terms() as TermId {
            // of the model's own terms only those that the log speaks of can be without counts
            if !store.overlay.changes(id) || store.document_frequency(id)? > 0 {
                order.push((store.fingerprint(id)?, id));
            }
        }
        // two sorted runs, which this sort merges
        order.sort();
        let mut ids = vec![None; store.n_terms()];
        for (new, (_, old)) in (0..).zip(&order) {
            ids[*old as usize] = Some(new);
        }
        Ok(Terms { store, order, ids })
    }

    /// A row of the store over the new ids.
    fn renumber(&self, vector: &CountVector) -> Result<CountVector> {
        let id = |(id, count): (TermId, u32)| Some((self.ids.get(id as usize).copied().flatten()?, count));
        let pairs: Option<Vec<_>> = vector.row().iter().map(id).collect();
        pairs.and_then(|pairs| CountVector::from_pairs(pairs).ok()).ok_or_else(|| {
            Error::inconsistent("vectors", "terms that have counts", "others of a document that is known")
        })
    }
}

impl Counts for Terms<'_> {
    type Error = Error;

    fn totals(&self) -> &[tamis_model::ClassTotals] {
        &self.store.totals
    }

    fn n_terms(&self) -> usize {
        self.order.len()
    }

    fn for_each_cell(&self, term: TermId, visit: impl FnMut(Cell)) -> Result<()> {
        match self.order.get(term as usize) {
            Some((_, old)) => self.store.for_each_cell(*old, visit),
            None => Ok(()),
        }
    }
}

/// Held-out scores, and whether they are of the positive class.
type Scores = Vec<(f64, bool)>;

/// The sections of documents, and the held-out scores of all copies.
fn documents(store: &Store, terms: &Terms<'_>) -> Result<((Vec<u8>, Vec<u8>), Scores)> {
    let header = &store.header;
    let positive = positive_class(&header.classes);
    let has_coefficients =
        matches!(header.scoring, Scoring::OneAgainstRest(Weighted { correction: Some(_), .. }));
    let (mut records, mut vectors, mut scores) = (Vec::new(), Vec::new(), Vec::new());
    for document in store.documents() {
        let document: Remembered = document?;
        if has_coefficients {
            encode_coefficients(&document.coefficients, &mut vectors);
        }
        if header.keep == Keep::Vectors {
            encode_vector(terms.renumber(&document.vector)?.row(), &mut vectors);
        }
        if let Some(score) = document.held_out {
            let copies = document.multiplicity as usize;
            scores.extend(std::iter::repeat_n((score, document.class == positive), copies));
        }
        records.extend_from_slice(document.record(vectors.len() as u64).as_bytes());
    }
    Ok(((records, vectors), scores))
}
