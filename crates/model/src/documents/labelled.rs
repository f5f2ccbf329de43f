//! Labelled documents: the interface a fit reads them by, and documents in memory.

use tamis_tokenizer::{CountRow, CountVector};

use crate::counts::ClassId;
use crate::documents::block::{BLOCK, Block};

/// Class, multiplicity, group and weight of a document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Label {
    /// Its class.
    pub class: ClassId,
    /// Number of times it was learned.
    pub multiplicity: u32,
    /// Near-duplicates, such as mails with the same body, share a group. A group is never split between training and
    /// test.
    pub group: u64,
    /// By how much its weight in a fit exceeds its multiplicity, in units of 1/1,024; negative if the weight is less.
    pub fraction: i32,
}

/// The unit of [`Label::fraction`], per document.
const FRACTION_ONE: f64 = 1024.0;

impl Label {
    /// The multiplicity and [`fraction`](Self::fraction) that come closest to a weight in a fit. Of the counts, which are
    /// integers, a document of any weight is at least one.
    pub fn of_weight(weight: f64) -> (u32, i32) {
        // neither goes beyond its range
        let multiplicity = weight.round().max(1.0) as u32;
        (multiplicity, ((weight - f64::from(multiplicity)) * FRACTION_ONE).round() as i32)
    }

    /// The weight of `copies` of its copies in a fit.
    pub(crate) fn weight_of(&self, copies: u32) -> f64 {
        if self.fraction == 0 {
            return f64::from(copies);
        }
        let all = f64::from(self.multiplicity);
        let weight = (all + f64::from(self.fraction) / FRACTION_ONE).max(1.0 / FRACTION_ONE);
        f64::from(copies) * weight / all.max(1.0)
    }
}

/// Distinct documents to fit to, in a reproducible order.
///
/// Terms are read a block of [`BLOCK`] documents at a time, so that not all need to be in memory.
pub trait Documents: Sync {
    /// The number of documents.
    fn len(&self) -> usize;

    /// Whether there are no documents.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Class, multiplicity, group and weight of a document.
    fn label(&self, document: usize) -> Label;

    /// An upper bound of the term ids.
    fn n_terms(&self) -> usize;

    /// The number of (document, term) pairs.
    fn n_pairs(&self) -> usize;

    /// Replaces the contents of `to` with the terms of the documents of a block.
    fn block(&self, block: usize, to: &mut Block);

    /// The counts of `documents`, which are given in increasing order.
    fn rows(&self, documents: &[usize]) -> Vec<CountVector>;

    /// Whether a copy of a document counts as a new document, so that it can be held out while other copies are
    /// learned. By default it does not: the documents of a group are held out together.
    fn copies_are_apart(&self) -> bool {
        false
    }

    /// Whether any document has windows; used for two classes only.
    fn has_windows(&self) -> bool {
        false
    }

    /// The counts of the windows of a document.
    fn windows(&self, _document: usize) -> Vec<CountVector> {
        Vec::new()
    }
}

/// A labelled document to fit to.
#[derive(Clone, Copy, Debug)]
pub struct Labelled<'a> {
    /// Its counts.
    pub row: CountRow<'a>,
    /// Its class.
    pub class: ClassId,
    /// Number of times it was learned.
    pub multiplicity: u32,
    /// Near-duplicates, such as mails with the same body, share a group. A group is never split between training and
    /// test.
    pub group: u64,
    /// As of [`Label`].
    pub fraction: i32,
}

impl Labelled<'_> {
    /// Its class, multiplicity and group.
    pub(crate) fn label(&self) -> Label {
        let Labelled { class, multiplicity, group, fraction, .. } = *self;
        Label { class, multiplicity, group, fraction }
    }
}

/// Documents in memory, with or without windows.
#[derive(Clone, Copy, Debug)]
pub struct InMemory<'a> {
    /// The documents.
    pub documents: &'a [Labelled<'a>],
    /// The windows of each document; may be empty.
    pub windows: &'a [Vec<CountRow<'a>>],
    /// See [`Documents::copies_are_apart`].
    pub copies_are_apart: bool,
}

impl Documents for InMemory<'_> {
    fn len(&self) -> usize {
        self.documents.len()
    }

    fn copies_are_apart(&self) -> bool {
        self.copies_are_apart
    }

    fn label(&self, document: usize) -> Label {
        self.documents[document].label()
    }

    fn n_terms(&self) -> usize {
        let rows = self.documents.iter().map(|document| &document.row).chain(self.windows.iter().flatten());
        // ids increase, so the last is the highest
        rows.filter_map(|row| row.ids().last()).max().map_or(0, |id| *id as usize + 1)
    }

    fn n_pairs(&self) -> usize {
        self.documents.iter().map(|document| document.row.len()).sum()
    }

    fn block(&self, block: usize, to: &mut Block) {
        let documents = self.documents.chunks(BLOCK).nth(block).unwrap_or_default();
        to.assign(documents.iter().map(|document| document.row));
    }

    fn rows(&self, documents: &[usize]) -> Vec<CountVector> {
        documents.iter().map(|document| owned(self.documents[*document].row)).collect()
    }

    fn has_windows(&self) -> bool {
        !self.windows.is_empty()
    }

    fn windows(&self, document: usize) -> Vec<CountVector> {
        self.windows.get(document).into_iter().flatten().map(|row| owned(*row)).collect()
    }
}

/// Documents without windows.
impl Documents for Vec<Labelled<'_>> {
    fn len(&self) -> usize {
        self.as_slice().len()
    }

    fn label(&self, document: usize) -> Label {
        self[document].label()
    }

    fn n_terms(&self) -> usize {
        in_memory(self).n_terms()
    }

    fn n_pairs(&self) -> usize {
        in_memory(self).n_pairs()
    }

    fn block(&self, block: usize, to: &mut Block) {
        in_memory(self).block(block, to);
    }

    fn rows(&self, documents: &[usize]) -> Vec<CountVector> {
        in_memory(self).rows(documents)
    }
}

/// Documents without windows, of which no copy is held out alone.
fn in_memory<'a>(documents: &'a [Labelled<'a>]) -> InMemory<'a> {
    InMemory { documents, windows: &[], copies_are_apart: false }
}

fn owned(row: CountRow<'_>) -> CountVector {
    CountVector::new(row.ids().to_vec(), row.counts().to_vec()).unwrap_or_default()
}
