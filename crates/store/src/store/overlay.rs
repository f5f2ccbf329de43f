//! The overlay of a log: changes of counts and weights, new terms, documents. Also sums of counts and weights, checked for
//! overflow.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use tamis_model::{Cell, ClassId, ClassTotals, ClassWeight, Coefficient, VectorStatistics};
use tamis_tokenizer::TermId;

use crate::error::{Error, Reason, Result};
use crate::file::documents::{DocumentKey, StoredDocument};
use crate::file::log::{Change, LogEntry};
use crate::file::terms::limited;

/// The sum of a log's entries by term id. Terms that are new in the log have ids after the model's own.
#[derive(Default)]
pub struct Overlay {
    /// The first change of each term.
    heads: HashMap<TermId, u32>,
    changes: Vec<TermChange>,
    /// The terms that are new in the log.
    pub new_terms: NewTerms,
    /// The state of each document in the log, in the order of digests; `None` if it was forgotten.
    pub documents: BTreeMap<DocumentKey, Option<LogDocument>>,
    /// Terms that gained counts minus terms that lost them.
    pub features: i64,
    /// Number of entries that learn a document, and of those that forget one.
    learned: u64,
    forgotten: u64,
    /// Number of documents learned that the model was not right about.
    corrected: u64,
}

/// The terms that are new in a log, in the order of their ids. A server has thousands of logs open, so their texts are one
/// buffer.
#[derive(Default)]
pub struct NewTerms {
    fingerprints: Vec<u64>,
    /// The texts one after the other, and where each ends.
    texts: String,
    ends: Vec<u32>,
    /// The positions of terms by fingerprint.
    places: HashMap<u64, u32>,
}

/// A document in the log, as its entry without new terms. Decoded it takes several times the memory, and scoring does not
/// need it.
#[derive(Clone, PartialEq, Debug)]
pub struct LogDocument(Box<[u8]>);

/// The change of a term in a class.
#[derive(Clone, Copy, Default)]
struct TermChange {
    class: ClassId,
    df: i64,
    tf: i64,
    units: i64,
    /// Position of the term's next change plus 1; 0 if there is none.
    next: u32,
}

impl Overlay {
    /// An empty overlay over segments with these changes: terms that gained counts, and documents learned, forgotten and
    /// corrected since the sections were written.
    pub fn over(features: i64, [learned, forgotten, corrected]: [u64; 3]) -> Self {
        Overlay { features, learned, forgotten, corrected, ..Overlay::default() }
    }

    /// Adds an entry, and updates the model's `totals` and the statistics of its `vectors`.
    pub fn add(
        &mut self,
        mut entry: LogEntry,
        totals: &mut [ClassTotals],
        vectors: &mut Option<VectorStatistics>,
    ) -> Result<()> {
        let new_terms = std::mem::take(&mut entry.new_terms);
        let LogEntry { change, ref document, features, .. } = entry;
        let learned = change != Change::Forgotten;
        let impossible = |expected: &str| Error::inconsistent("log", expected, "others");
        let is_of_model = |weight: &Coefficient| usize::from(weight.class) < totals.len();
        if document.coefficients.len() > totals.len() || !document.coefficients.iter().all(is_of_model) {
            return Err(impossible("coefficients of classes of the model"));
        }
        let copies = if learned { 1 } else { -1 } * i64::from(document.multiplicity);
        let class = usize::from(document.class);
        let own = totals.get_mut(class).ok_or_else(|| impossible("classes of the model"))?;
        let row = document.vector.row();
        let occurrences: i64 = row.counts().iter().map(|count| i64::from(*count)).sum();
        let add = |to: u64, n: Option<i64>, what| {
            n.and_then(|n| to.checked_add_signed(n)).ok_or_else(|| impossible(what))
        };
        let sums = ClassTotals {
            documents: add(own.documents, Some(copies), "documents to forget")?,
            df: add(own.df, copies.checked_mul(row.len() as i64), "counts to forget")?,
            tf: add(own.tf, copies.checked_mul(occurrences), "counts to forget")?,
        };
        self.new_terms.append(&new_terms)?;
        if !document.dense.is_empty() {
            let vectors = vectors.as_mut().ok_or_else(|| impossible("no dense vectors"))?;
            let change =
                if learned { VectorStatistics::observe_times } else { VectorStatistics::forget_times };
            change(vectors, document.class, &document.dense, document.multiplicity)?;
        }
        *own = sums;
        for (id, count) in row.iter() {
            let tf = copies * i64::from(count);
            self.change(id, TermChange { class: document.class, df: copies, tf, ..TermChange::default() });
            for coefficient in &document.coefficients {
                let weight = ClassWeight::contribution(coefficient, count)
                    .ok_or_else(|| impossible("weights that fit"))?;
                let units = if learned { weight.units } else { -weight.units };
                self.change(id, TermChange { class: weight.class, units, ..TermChange::default() });
            }
        }
        self.features = self.features.saturating_add(features.into());
        match self.documents.get(&document.key()) {
            // it was taken out to change its coefficients, which is no change of what is known
            Some(None) if learned => self.forgotten = self.forgotten.saturating_sub(1),
            _ if learned => {
                self.learned = self.learned.saturating_add(1);
                self.corrected = self.corrected.saturating_add(u64::from(change == Change::Corrected));
            }
            _ => self.forgotten = self.forgotten.saturating_add(1),
        }
        self.documents.insert(document.key(), learned.then(|| LogDocument::new(&entry)));
        Ok(())
    }

    fn change(&mut self, id: TermId, change: TermChange) {
        // there are fewer than 2^32, since a log is bounded
        let next = self.changes.len() as u32 + 1;
        let mut at = *self.heads.entry(id).or_insert(next);
        while at != next {
            let known = &mut self.changes[at as usize - 1];
            if known.class == change.class {
                known.df += change.df;
                known.tf = known.tf.wrapping_add(change.tf);
                known.units = known.units.wrapping_add(change.units);
                return;
            }
            if known.next == 0 {
                known.next = next;
            }
            at = known.next;
        }
        self.changes.push(change);
    }

    fn changes_of(&self, id: TermId) -> impl Iterator<Item = TermChange> + '_ {
        let mut at = self.heads.get(&id).copied().unwrap_or(0);
        std::iter::from_fn(move || {
            let change = *self.changes.get((at as usize).checked_sub(1)?)?;
            at = change.next;
            Some(change)
        })
    }

    /// Whether the log changes a term.
    pub(crate) fn changes(&self, id: TermId) -> bool {
        self.heads.contains_key(&id)
    }

    /// Number of terms that the log changes.
    pub(crate) fn n_changed(&self) -> usize {
        self.heads.len()
    }

    /// The terms that the log changes, in no particular order.
    pub(crate) fn changed(&self) -> impl Iterator<Item = TermId> + '_ {
        self.heads.keys().copied()
    }

    /// Adds the log's changes of a term to its cells, which are sorted by class.
    pub(crate) fn change_cells(&self, id: TermId, cells: &mut Vec<Cell>) -> Result<()> {
        let impossible = |class| {
            Error::inconsistent(
                "log",
                "counts that were learned",
                format!("others of term {id}, class {class}"),
            )
        };
        for TermChange { class, df, tf, .. } in
            self.changes_of(id).filter(|change| change.tf != 0 || change.df != 0)
        {
            let at = cells.binary_search_by_key(&class, |cell| cell.class);
            let known = at.map_or(Cell { class, df: 0, tf: 0 }, |at| cells[at]);
            let add = |n: u32, more: i64| i64::from(n).checked_add(more).and_then(|n| u32::try_from(n).ok());
            let (df, tf) = add(known.df, df).zip(add(known.tf, tf)).ok_or_else(|| impossible(class))?;
            match (at, df) {
                (Ok(at), 0) if tf == 0 => drop(cells.remove(at)),
                (_, 0) => return Err(impossible(class)),
                _ if tf < df => return Err(impossible(class)),
                (Ok(at), _) => cells[at] = Cell { class, df, tf },
                (Err(at), _) => cells.insert(at, Cell { class, df, tf }),
            }
        }
        Ok(())
    }

    /// Adds the log's changes of a term to its weights, which are sorted by class.
    pub(crate) fn change_weights(&self, id: TermId, weights: &mut Vec<ClassWeight>) -> Result<()> {
        for TermChange { class, units, .. } in self.changes_of(id).filter(|change| change.units != 0) {
            let at = weights.binary_search_by_key(&class, |weight| weight.class);
            let before = at.map_or(0, |at| weights[at].units);
            let units = before.checked_add(units).ok_or_else(|| too_large(before))?;
            match at {
                Ok(at) if units == 0 => drop(weights.remove(at)),
                Ok(at) => weights[at].units = units,
                Err(at) => weights.insert(at, ClassWeight { class, units }),
            }
        }
        Ok(())
    }

    /// The growth in the number of known documents.
    pub fn n_documents(&self) -> i64 {
        self.learned.wrapping_sub(self.forgotten) as i64
    }

    /// Number of documents learned or forgotten.
    pub fn n_entries(&self) -> u64 {
        self.learned.saturating_add(self.forgotten)
    }

    /// Number of documents learned, of documents forgotten, and of those learned that the model was not right about.
    pub(crate) fn n_changes(&self) -> [u64; 3] {
        [self.learned, self.forgotten, self.corrected]
    }
}

impl NewTerms {
    /// Adds terms, all or none.
    fn append(&mut self, terms: &[(u64, String)]) -> Result<()> {
        let bytes: usize = terms.iter().map(|(_, text)| text.len()).sum();
        limited("bytes of texts", (self.texts.len() + bytes) as u64)?;
        limited("terms", (self.fingerprints.len() + terms.len()) as u64)?;
        for (fingerprint, text) in terms {
            self.places.insert(*fingerprint, self.fingerprints.len() as u32);
            self.fingerprints.push(*fingerprint);
            self.texts.push_str(text);
            self.ends.push(self.texts.len() as u32);
        }
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.fingerprints.len()
    }

    /// The position of the term with this fingerprint.
    pub(crate) fn find(&self, fingerprint: u64) -> Option<usize> {
        self.places.get(&fingerprint).map(|place| *place as usize)
    }

    /// The fingerprint of the term at a position, and its text.
    pub fn get(&self, place: usize) -> Option<(u64, &str)> {
        let fingerprint = *self.fingerprints.get(place)?;
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some((fingerprint, &self.texts[start as usize..self.ends[place] as usize]))
    }
}

impl LogDocument {
    fn new(entry: &LogEntry) -> Self {
        let mut bytes = Vec::new();
        entry.write(&mut bytes);
        LogDocument(bytes.into())
    }

    /// The document.
    pub(crate) fn document(&self) -> Result<StoredDocument> {
        // its terms were checked when it was added
        Ok(LogEntry::take(&mut &self.0[..], TermId::MAX as usize)?.document)
    }
}

/// Adds totals.
pub fn add_totals(to: &mut ClassTotals, of: &ClassTotals) -> Result<()> {
    let add = |a: u64, b: u64| {
        a.checked_add(b).ok_or(Reason::TooLarge { what: "counts", limit: u64::MAX, got: u64::MAX })
    };
    *to = ClassTotals {
        documents: add(to.documents, of.documents)?,
        df: add(to.df, of.df)?,
        tf: add(to.tf, of.tf)?,
    };
    Ok(())
}

/// Sorts items by class and adds up those of the same class.
#[inline]
pub fn add_equal<T>(
    items: &mut Vec<T>,
    class: impl Fn(&T) -> ClassId,
    add: impl Fn(&mut T, &T) -> Result<()>,
) -> Result<()> {
    items.sort_unstable_by_key(&class);
    let mut outcome = Ok(());
    items.dedup_by(|item, sum| {
        let is_same = class(sum) == class(item);
        if is_same && let Err(error) = add(sum, item) {
            outcome = Err(error);
        }
        is_same
    });
    outcome
}

/// Sorts cells by class and adds up those of the same class.
pub fn add_cells(cells: &mut Vec<Cell>) -> Result<()> {
    let add = |a: u32, b: u32| limited("counts of a term", u64::from(a) + u64::from(b));
    let add_cell = |sum: &mut Cell, cell: &Cell| {
        (sum.df, sum.tf) = (add(sum.df, cell.df)?, add(sum.tf, cell.tf)?);
        Ok(())
    };
    add_equal(cells, |cell| cell.class, add_cell)
}

/// The error for an overflowing sum of coefficients.
pub fn too_large(got: i64) -> Error {
    Reason::TooLarge { what: "units of correction", limit: i64::MAX as u64, got: got.unsigned_abs() }.into()
}

/// Adds biases, column by column.
pub fn add_bias(to: &mut Vec<i64>, of: &[i64]) -> Result<()> {
    to.resize(to.len().max(of.len()), 0);
    for (to, of) in to.iter_mut().zip(of) {
        *to = to.checked_add(*of).ok_or_else(|| too_large(*to))?;
    }
    Ok(())
}

/// Sorts weights by class, adds up those of the same class and drops those whose sum is 0.
pub fn add_weights(weights: &mut Vec<ClassWeight>) -> Result<()> {
    if weights.is_sorted_by(|a, b| a.class < b.class) {
        return Ok(());
    }
    let add = |sum: &mut ClassWeight, weight: &ClassWeight| {
        sum.units = sum.units.checked_add(weight.units).ok_or_else(|| too_large(sum.units))?;
        Ok(())
    };
    add_equal(weights, |weight| weight.class, add)?;
    weights.retain(|weight| weight.units != 0);
    Ok(())
}
