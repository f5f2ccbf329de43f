//! Duplicates: equal documents, and contradictions (equal documents with different labels).

use tamis_model::{ClassId, Counts};

use crate::gather::learned::{LearnedDocument, UNLABELLED};
use crate::train::trainer::Trainer;

/// Equal documents that were given under several labels.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Contradiction {
    /// The digest that they share, see [`Filter::digest`](crate::Filter::digest).
    pub digest: [u8; 16],
    /// The classes in increasing order, each with the number of times the document counts there.
    pub classes: Vec<(ClassId, u32)>,
}

impl Trainer {
    /// Number of documents that equal an earlier one with the same label. Documents without terms never equal one
    /// another. [`TrainOptions::repeat`](crate::TrainOptions::repeat) says whether duplicates count.
    pub fn n_equal(&self) -> u64 {
        self.tally.n_equal
    }

    /// Number of counted documents of a class.
    pub fn n_documents_of(&self, class: ClassId) -> u64 {
        let totals = self.parts.iter().filter_map(|part| part.statistics.totals().get(usize::from(class)));
        totals.map(|totals| totals.documents).sum()
    }

    /// The [digest](crate::Filter::digest) of the document that was added last.
    pub fn last_digest(&self) -> Option<[u8; 16]> {
        self.current.digest
    }

    /// Equal documents with several labels, in the order of digests: some of the labels are probably wrong.
    ///
    /// ```
    /// use tamis_train::{Document, Kind, TrainOptions, Trainer};
    ///
    /// let mut trainer = Trainer::new(TrainOptions::new(Kind::Text))?;
    /// trainer.add("fruit", Document::Text("an apple"))?;
    /// trainer.add("metal", Document::Text("an apple"))?;
    /// trainer.add("metal", Document::Text("iron"))?;
    /// assert_eq!(trainer.contradictions()[0].classes, [(0, 1), (1, 1)]);
    /// # Ok::<(), tamis_train::Error>(())
    /// ```
    pub fn contradictions(&self) -> Vec<Contradiction> {
        let is_one = |d: &&LearnedDocument| d.class != UNLABELLED && d.digest != self.nothing;
        let mut documents: Vec<_> = self.documents.iter().filter(is_one).collect();
        documents.sort_unstable_by_key(|document| (document.digest, document.class));
        let equal = documents.chunk_by(|a, b| a.digest == b.digest).filter(|equal| equal.len() > 1);
        let contradiction = |equal: &[&LearnedDocument]| Contradiction {
            digest: equal[0].digest,
            classes: equal.iter().map(|d| (d.class, d.multiplicity)).collect(),
        };
        equal.map(contradiction).collect()
    }
}

#[cfg(test)]
mod tests;
