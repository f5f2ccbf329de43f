//! A model file written anew: what its log says becomes part of the rest.

use tamis_model::{Cell, ClassId, ClassTotals, Classes, Counts, Temperature};
use tamis_tokenizer::{CountRow, CountVector, TermId};
use zerocopy::IntoBytes;

use crate::documents::{Remembered, encode_coefficients, encode_vector};
use crate::error::{Error, Result};
use crate::fitting;
use crate::format::Header;
use crate::model::{Distinct, Model, document_sections, fit, seal, term_sections, write_term};
use crate::rows::Rows;
use crate::scorer::positive_class;
use crate::scoring::{Decision, Scoring, Weighted};
use crate::store::{Store, summarize};
use crate::trainer::{Keep, Learned};

/// The model of a file and its log, as a file without a log. The correction stays what it is; calibration and thresholds
/// follow from the scores of all documents remembered.
pub(crate) fn fold(store: &Store) -> Result<Model> {
    fold_into(store, store.header.classes.clone(), store.header.scoring.clone())
}

/// The same model with one label more. A model of two labels gets another scoring by that, of which everything is fitted
/// anew if it remembers documents; else its correction begins again from nothing.
pub(crate) fn with_label(store: &Store, label: &str) -> Result<Model> {
    let mut classes = store.header.classes.clone();
    classes.insert(label)?;
    let scoring = match store.header.scoring {
        Scoring::Weighted(Weighted { alpha, correction }) => {
            let topics = Weighted::for_classes(classes.len());
            Scoring::OneAgainstRest(Weighted { alpha, correction: correction.and(topics.correction) })
        }
        ref same => same.clone(),
    };
    let is_other = scoring != store.header.scoring;
    let model = fold_into(store, classes, scoring)?;
    match is_other && store.header.keep == Keep::Vectors {
        true => refit(&model.into_filter()?.store),
        false => Ok(model),
    }
}

fn fold_into(store: &Store, classes: Classes, scoring: Scoring) -> Result<Model> {
    let class = |(_, label)| classes.index(label).unwrap_or_default();
    let moved: Vec<ClassId> = store.header.classes.iter().map(class).collect();
    let keeps_weights = std::mem::discriminant(&scoring) == std::mem::discriminant(&store.header.scoring);
    let terms = Terms::new(store, moved, classes.len())?;
    let sections = term_sections(terms.order.len(), |writer, id| {
        let (fingerprint, old) = terms.order[id as usize];
        let (mut cells, mut weights): (Vec<Cell>, Vec<(ClassId, i32)>) = Default::default();
        terms.for_each_cell(id, |cell| cells.push(cell))?;
        if keeps_weights {
            store.for_each_value(old, |class, value| {
                weights.push((terms.class(class), value));
                Ok(())
            })?;
        }
        writer.push(fingerprint, store.text(old)?, cells.into_iter(), weights.into_iter())
    })?;
    let (documents, scores) = documents(store, &terms, &scoring, keeps_weights)?;
    let mut header = Header {
        totals: terms.totals.clone(),
        changes: store.changes(),
        unfitted: store.unfitted(),
        summary: summarize(&scoring, &terms)?,
        scoring,
        classes,
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
    } else if !keeps_weights {
        (header.decision, header.asked, header.expected) = (Decision::PLAIN, None, None);
        header.temperature = Temperature::IDENTITY;
    }
    seal(header, sections, documents)
}

/// The model with correction, calibration and thresholds fitted anew to the documents it remembers.
///
/// # Errors
/// [`Error::NotAtHand`] if it remembers digests only, or scores windows, which no model remembers.
pub(crate) fn refit(store: &Store) -> Result<Model> {
    let header = &store.header;
    if !is_fitted(store) {
        return fold(store);
    }
    if !can_refit(store) {
        return Err(Error::NotAtHand);
    }
    let moved = (0..header.classes.len() as ClassId).collect();
    let terms = Terms::new(store, moved, header.classes.len())?;
    let statistics =
        store.statistics()?.permuted(&terms.order.iter().map(|(_, old)| *old).collect::<Vec<_>>());
    let mut rows = Rows::default();
    let mut learned = Vec::new();
    for document in store.documents() {
        let document: Remembered = document?;
        let row = terms.renumber(&document.vector)?;
        let row = rows.push(row.row().iter()).map_err(crate::trainer::spill)?;
        learned.push((Learned { terms: Some(row), ..document.learned() }, row));
    }
    let distinct =
        |(learned, row)| Distinct { learned, row: rows.get(row), windows: Vec::<CountRow<'_>>::new() };
    let documents: Vec<_> = learned.into_iter().map(distinct).collect();
    let asked = header.asked.unwrap_or_default();
    let fitted = fit(&header.scoring, &asked, &header.classes, &statistics, terms.order.len(), &documents)?;
    let sections = term_sections(terms.order.len(), |writer, id| {
        let (fingerprint, old) = terms.order[id as usize];
        write_term(writer, (fingerprint, store.text(old)?), statistics.cells(id), &fitted.correction, id)
    })?;
    let decision = match header.asked {
        Some(_) => fitted.decision,
        None => Decision { calibration: fitted.decision.calibration, ..header.decision },
    };
    let sealed = Header {
        totals: store.totals.clone(),
        changes: store.changes(),
        unfitted: 0,
        decision,
        temperature: fitted.temperature,
        expected: fitted.expected,
        ..header.clone()
    };
    seal(sealed, sections, document_sections(&documents, &fitted, header.keep)?)
}

/// Whether anything of the model is fitted to documents, besides counting them.
fn is_fitted(store: &Store) -> bool {
    matches!(store.header.scoring, Scoring::Weighted(_) | Scoring::OneAgainstRest(_))
}

/// Whether there is something to fit, and what it is fitted to is remembered: windows are not.
pub(crate) fn can_refit(store: &Store) -> bool {
    is_fitted(store) && store.header.keep == Keep::Vectors && store.header.recipe.windows.is_none()
}

/// The terms that have counts.
struct Terms<'a> {
    store: &'a Store,
    /// Of each by its new id the fingerprint, which is what they are ordered by, and the id in the store.
    order: Vec<(u64, TermId)>,
    /// The new id of each id in the store.
    ids: Vec<Option<TermId>>,
    /// The new class of each class in the store.
    moved: Vec<ClassId>,
    totals: Vec<ClassTotals>,
}

impl<'a> Terms<'a> {
    fn new(store: &'a Store, moved: Vec<ClassId>, n_classes: usize) -> Result<Self> {
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
        let mut totals = vec![ClassTotals::default(); n_classes];
        moved.iter().zip(&store.totals).for_each(|(class, of)| totals[usize::from(*class)] = *of);
        Ok(Terms { store, order, ids, moved, totals })
    }

    fn class(&self, class: ClassId) -> ClassId {
        self.moved.get(usize::from(class)).copied().unwrap_or(class)
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

    fn totals(&self) -> &[ClassTotals] {
        &self.totals
    }

    fn n_terms(&self) -> usize {
        self.order.len()
    }

    fn for_each_cell(&self, term: TermId, mut visit: impl FnMut(Cell)) -> Result<()> {
        let Some((_, old)) = self.order.get(term as usize) else { return Ok(()) };
        self.store.for_each_cell(*old, |cell| visit(Cell { class: self.class(cell.class), ..cell }))
    }
}

/// The sections of documents, and their held-out scores, each with whether it is of the positive class.
type Documents = ((Vec<u8>, Vec<u8>), Vec<(f64, bool)>);

fn documents(store: &Store, terms: &Terms<'_>, scoring: &Scoring, keeps_weights: bool) -> Result<Documents> {
    let positive = positive_class(&store.header.classes);
    let has_coefficients = matches!(scoring, Scoring::OneAgainstRest(Weighted { correction: Some(_), .. }));
    let (mut records, mut vectors, mut scores) = (Vec::new(), Vec::new(), Vec::new());
    for document in store.documents() {
        let mut document: Remembered = document?;
        if let Some(score) = document.held_out {
            scores.extend(fitting::repeated(score, document.class == positive, document.multiplicity));
        }
        document.class = terms.class(document.class);
        document.coefficients.iter_mut().for_each(|weight| weight.class = terms.class(weight.class));
        if !keeps_weights {
            (document.coefficient, document.held_out) = (0, None);
            document.coefficients.clear();
        }
        if has_coefficients {
            encode_coefficients(&document.coefficients, &mut vectors);
        }
        if store.header.keep == Keep::Vectors {
            encode_vector(terms.renumber(&document.vector)?.row(), &mut vectors);
        }
        records.extend_from_slice(document.record(vectors.len() as u64).as_bytes());
    }
    Ok(((records, vectors), scores))
}
