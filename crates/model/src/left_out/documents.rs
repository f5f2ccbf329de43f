//! The training documents of a fit: in memory, or read block by block.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Mutex;

use rayon::prelude::*;
use tamis_tokenizer::{CountRow, CountVector, TermId};

use crate::counts::counts::ClassId;
use crate::counts::term_frequency::{TF_UNIT, tf_units};
use crate::linear::weighted::vector_length;

/// Class, multiplicity and group of a document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Label {
    /// Its class.
    pub class: ClassId,
    /// Number of times it was learned.
    pub multiplicity: u32,
    /// Near-duplicates, such as mails with the same body, share a group. A group is never split between training and
    /// test.
    pub group: u64,
}

/// Copies of a text beyond this number only shift the shares of its labels.
pub(crate) const MAX_COPIES: u32 = 1_000;

/// The weights of documents in a fit: the number of their copies. If a text has more than [`MAX_COPIES`] copies, they
/// are scaled down, by the same factor under all its labels.
#[derive(Default)]
pub(crate) struct CopyWeights {
    /// The scale of groups with more than [`MAX_COPIES`] copies.
    scales: HashMap<u64, f64>,
}

impl CopyWeights {
    fn new(documents: &dyn Documents) -> Self {
        let mut copies = HashMap::<u64, u64>::new();
        for label in (0..documents.len()).map(|at| documents.label(at)).filter(|label| label.multiplicity > 1)
        {
            *copies.entry(label.group).or_default() += u64::from(label.multiplicity);
        }
        let most = u64::from(MAX_COPIES);
        let scale = |(group, copies)| (group, most as f64 / copies as f64);
        CopyWeights { scales: copies.into_iter().filter(|(_, n)| *n > most).map(scale).collect() }
    }

    /// The weight of `copies` copies of a document.
    pub(crate) fn of(&self, label: &Label, copies: u32) -> f64 {
        let scale = match self.scales.is_empty() || copies == 1 && label.multiplicity == 1 {
            true => 1.0,
            false => self.scales.get(&label.group).copied().unwrap_or(1.0),
        };
        f64::from(copies) * scale
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

    /// Class, multiplicity and group of a document.
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

/// Number of documents per block; the last block may have fewer. Fitting visits the documents of a block in random
/// order.
pub const BLOCK: usize = 1 << 16;

/// The factors of terms in a document's vector.
#[derive(Default)]
pub(crate) struct TermScales {
    /// idf of every term, in nats; empty if documents need not be vectors.
    pub(crate) idf: Vec<f32>,
    /// A further factor of every term, which does not change the length |v|, see
    /// [`spread`](crate::fit::ascent::spread); empty if all are 1.
    pub(crate) roots: Vec<f32>,
}

/// The terms of a block of documents, each with ln(1 + tf) in units: all that fitting reads.
#[derive(Clone, Debug, Default)]
pub struct Block {
    rows: Vec<Range<usize>>,
    ids: Vec<TermId>,
    factors: Vec<f32>,
    /// After [`weigh`](Block::weigh): the documents as vectors x, of length at most 1 before
    /// [`roots`](TermScales::roots) apply; and 1 / |v| and |x|^2 of each document.
    values: Vec<f32>,
    scales: Vec<f32>,
    squared_norms: Vec<f32>,
}

impl Block {
    /// Resets to `documents` documents without terms and reserves room for `terms` in all, reusing memory.
    pub fn begin(&mut self, documents: usize, terms: usize) {
        self.rows.clear();
        self.rows.resize(documents, 0..0);
        self.ids.clear();
        self.ids.reserve_exact(terms);
        if self.values.capacity() > self.factors.capacity() {
            std::mem::swap(&mut self.values, &mut self.factors);
        }
        self.factors.clear();
        self.factors.reserve_exact(terms);
    }

    /// Sets the terms of a document, in increasing order; `counts` lists the counts other than 1 with their positions.
    #[inline]
    pub fn put(
        &mut self,
        document: usize,
        ids: impl Iterator<Item = TermId>,
        counts: impl Iterator<Item = (usize, u32)>,
    ) {
        let start = self.ids.len();
        self.ids.extend(ids);
        self.factors.resize(self.ids.len(), tf_units(1) as f32);
        let factors = &mut self.factors[start..];
        for (place, count) in counts {
            if let Some(factor) = factors.get_mut(place) {
                *factor = tf_units(count) as f32;
            }
        }
        if let Some(row) = self.rows.get_mut(document) {
            *row = start..self.ids.len();
        }
    }

    pub(crate) fn of<'a>(rows: impl ExactSizeIterator<Item = CountRow<'a>> + Clone) -> Self {
        let mut block = Block::default();
        block.assign(rows);
        block
    }

    fn assign<'a>(&mut self, rows: impl ExactSizeIterator<Item = CountRow<'a>> + Clone) {
        self.begin(rows.len(), rows.clone().map(|row| row.len()).sum());
        rows.enumerate().for_each(|(at, row)| {
            self.put(at, row.ids().iter().copied(), row.counts().iter().copied().enumerate());
        });
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    #[inline]
    pub(crate) fn terms(&self, document: usize) -> DocumentTerms<'_> {
        let row = self.rows[document].clone();
        DocumentTerms { ids: &self.ids[row.clone()], factors: &self.factors[row] }
    }

    /// The document as a vector: its terms, each with its value.
    #[inline]
    pub(crate) fn vector(&self, document: usize) -> DocumentTerms<'_> {
        let row = self.rows[document].clone();
        DocumentTerms { ids: &self.ids[row.clone()], factors: &self.values[row] }
    }

    /// Turns the documents into vectors, and keeps the terms' counts.
    pub(crate) fn weigh(&mut self, terms: &TermScales) {
        self.values.clone_from(&self.factors);
        self.make_vectors(terms);
    }

    /// As [`weigh`](Self::weigh), but discards the terms' counts to save memory.
    fn weigh_alone(&mut self, terms: &TermScales) {
        std::mem::swap(&mut self.values, &mut self.factors);
        self.make_vectors(terms);
    }

    /// Turns counts into the values of vectors.
    fn make_vectors(&mut self, TermScales { idf, roots }: &TermScales) {
        let idf = |id: &TermId| idf.get(*id as usize).copied().unwrap_or(0.0);
        std::iter::zip(&self.ids, &mut self.values).for_each(|(id, value)| *value *= idf(id));
        self.scales.clear();
        self.squared_norms.clear();
        for row in &self.rows {
            let values = &mut self.values[row.clone()];
            let square: f64 = values.iter().map(|value| f64::from(*value) * f64::from(*value)).sum();
            // documents without terms have no length
            let scale = if values.is_empty() { 0.0 } else { 1.0 / vector_length(square * TF_UNIT * TF_UNIT) };
            values.iter_mut().for_each(|value| *value *= (scale * TF_UNIT) as f32);
            self.scales.push(scale as f32);
            if !roots.is_empty() {
                let ids = &self.ids[row.clone()];
                std::iter::zip(&mut *values, ids).for_each(|(value, id)| *value *= roots[*id as usize]);
            }
            self.squared_norms.push(values.iter().map(|value| value * value).sum());
        }
    }

    /// |x|^2 of a document: the contribution of one unit of its coefficient to its own log-odds, without the bias.
    pub(crate) fn squared_norm(&self, document: usize) -> f32 {
        self.squared_norms[document]
    }

    /// 1 / |v| of each document, at most 1; 0 without terms.
    pub(crate) fn scales(&self) -> &[f32] {
        &self.scales
    }
}

/// The terms of a document, each with ln(1 + tf) in units.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct DocumentTerms<'a> {
    pub(crate) ids: &'a [TermId],
    pub(crate) factors: &'a [f32],
}

impl<'a> DocumentTerms<'a> {
    pub(crate) fn len(self) -> usize {
        self.ids.len()
    }

    pub(crate) fn is_empty(self) -> bool {
        self.ids.is_empty()
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = (TermId, f32)> + use<'a> {
        std::iter::zip(self.ids.iter().copied(), self.factors.iter().copied())
    }
}

/// Reads blocks of documents, and keeps them in memory between passes if they have few terms.
pub(crate) struct BlockReader<'a> {
    pub(crate) documents: &'a dyn Documents,
    pub(crate) weights: CopyWeights,
    kept: Vec<Block>,
    terms: TermScales,
    /// Blocks whose memory can be reused.
    spare: Mutex<Vec<Block>>,
}

/// Documents are kept in memory up to this number of (document, term) pairs: eight bytes each, twelve as vectors.
const KEPT: usize = 1 << 24;

impl<'a> BlockReader<'a> {
    pub(crate) fn new(documents: &'a dyn Documents) -> Self {
        let mut source = BlockReader::unread(documents);
        if documents.n_pairs() <= KEPT {
            source.kept =
                (0..source.n_blocks()).into_par_iter().map(|block| source.read(block, false)).collect();
        }
        source
    }

    /// A reader that keeps nothing in memory.
    pub(crate) fn unread(documents: &'a dyn Documents) -> Self {
        BlockReader {
            documents,
            weights: CopyWeights::new(documents),
            kept: Vec::new(),
            terms: TermScales::default(),
            spare: Mutex::default(),
        }
    }

    /// Adds the documents as vectors, scaled by `terms`.
    pub(crate) fn weighed(mut self, terms: TermScales) -> Self {
        self.kept.par_iter_mut().for_each(|block| block.weigh(&terms));
        BlockReader { terms, ..self }
    }

    /// idf of every term, in nats; empty if the documents are not vectors.
    pub(crate) fn idf(&self) -> &[f32] {
        &self.terms.idf
    }

    fn read(&self, block: usize, as_vectors: bool) -> Block {
        let mut read = self.spare.lock().ok().and_then(|mut spare| spare.pop()).unwrap_or_default();
        self.documents.block(block, &mut read);
        if as_vectors {
            read.weigh_alone(&self.terms);
        }
        read
    }

    /// The weight of a document in a fit.
    pub(crate) fn weight(&self, document: usize) -> f64 {
        let label = self.documents.label(document);
        self.weights.of(&label, label.multiplicity)
    }

    pub(crate) fn n_blocks(&self) -> usize {
        self.documents.len().div_ceil(BLOCK)
    }

    /// Whether all documents are in memory.
    pub(crate) fn is_kept(&self) -> bool {
        self.kept.len() == self.n_blocks()
    }

    /// The terms of a document, if they are in memory.
    pub(crate) fn kept(&self, document: usize) -> Option<DocumentTerms<'_>> {
        Some(self.kept.get(document / BLOCK)?.terms(document % BLOCK))
    }

    /// Visits blocks as vectors, in the given `order`, each with the number of its first document. Reads the next block
    /// in the background.
    pub(crate) fn for_each_vector(&self, order: &[usize], visit: impl FnMut(usize, &Block) + Send) {
        self.for_each(order, true, visit);
    }

    fn for_each(&self, order: &[usize], as_vectors: bool, mut visit: impl FnMut(usize, &Block) + Send) {
        if self.is_kept() {
            return order.iter().for_each(|block| visit(block * BLOCK, &self.kept[*block]));
        }
        let mut here = order.first().map(|first| self.read(*first, as_vectors));
        for (at, block) in order.iter().enumerate() {
            let next = || order.get(at + 1).map(|next| self.read(*next, as_vectors));
            let Some(terms) = here.take() else { return };
            here = rayon::join(|| visit(block * BLOCK, &terms), next).1;
            if let Ok(mut spare) = self.spare.lock() {
                spare.push(terms);
            }
        }
    }

    /// Visits all blocks in order.
    pub(crate) fn for_all(&self, visit: impl FnMut(usize, &Block) + Send) {
        self.for_each(&(0..self.n_blocks()).collect::<Vec<_>>(), false, visit);
    }

    /// Visits all blocks in order as vectors.
    pub(crate) fn for_all_vectors(&self, visit: impl FnMut(usize, &Block) + Send) {
        self.for_each(&(0..self.n_blocks()).collect::<Vec<_>>(), true, visit);
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
}

impl Labelled<'_> {
    /// Its class, multiplicity and group.
    pub(crate) fn label(&self) -> Label {
        let Labelled { class, multiplicity, group, .. } = *self;
        Label { class, multiplicity, group }
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
        InMemory { documents: self, windows: &[], copies_are_apart: false }.n_terms()
    }

    fn n_pairs(&self) -> usize {
        InMemory { documents: self, windows: &[], copies_are_apart: false }.n_pairs()
    }

    fn block(&self, block: usize, to: &mut Block) {
        InMemory { documents: self, windows: &[], copies_are_apart: false }.block(block, to);
    }

    fn rows(&self, documents: &[usize]) -> Vec<CountVector> {
        InMemory { documents: self, windows: &[], copies_are_apart: false }.rows(documents)
    }
}

fn owned(row: CountRow<'_>) -> CountVector {
    CountVector::new(row.ids().to_vec(), row.counts().to_vec()).unwrap_or_default()
}
