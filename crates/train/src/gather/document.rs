//! Learned documents as a trainer stores them, and an index to find them.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use hashbrown::HashTable;
use tamis_model::{ClassId, Classes, Example, Label, Stretch};
use tamis_store::error::Result;
use tamis_store::file::documents::{NO_DATE, greatest_dense, keep_least, least_message};
use tamis_store::file::terms::limited;
use tamis_tokenizer::{CountRow, fingerprint};

use crate::gather::rows::RowId;

/// The class of unlabelled documents, which no label can have.
pub(crate) const UNLABELLED: ClassId = ClassId::MAX;

/// The real values of a row, each with the number of its column among the real-valued ones.
pub(crate) type Reals = Box<[(usize, f64)]>;

/// A counted document and its number of copies. There is one value per document, so it holds only what most documents
/// need.
#[derive(Clone)]
pub(crate) struct TrainingDocument {
    pub(crate) digest: [u8; 16],
    pub(crate) group: u64,
    /// Its terms, if they are needed again.
    pub(crate) terms: Option<RowId>,
    pub(crate) multiplicity: u32,
    pub(crate) class: ClassId,
    /// The part that has its rows and, if it counts once, its counts.
    pub(crate) part: u16,
    /// Fields that texts seldom need.
    more: Option<Box<More>>,
}

/// Further fields of mails, of rows and of long documents.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct More {
    pub(crate) date: Option<i64>,
    /// Its name; empty if it has none or names are not stored.
    pub(crate) name: Box<str>,
    /// A hash of what does not change of a mail in transit; 0 for other documents.
    pub(crate) message: u64,
    /// The stretches of its body.
    pub(crate) cuts: u64,
    pub(crate) stretches: Vec<Stretch<RowId>>,
    pub(crate) reals: Reals,
    /// Its dense vector; empty if it has none.
    pub(crate) dense: Box<[f32]>,
    /// By how much its weight in a fit exceeds its multiplicity, as of [`tamis_model::Label`].
    pub(crate) fraction: i32,
}

/// Those of a document that has none.
static NO_MORE: LazyLock<More> = LazyLock::new(More::default);

impl TrainingDocument {
    /// A document that was counted once.
    pub(crate) fn new(digest: [u8; 16], group: u64, more: More) -> Self {
        let more = (more != More::default()).then(|| Box::new(more));
        TrainingDocument { digest, group, terms: None, multiplicity: 1, class: UNLABELLED, part: 0, more }
    }

    /// Its further fields: the defaults if it has none of its own.
    pub(crate) fn more(&self) -> &More {
        self.more.as_deref().unwrap_or(&NO_MORE)
    }

    /// The day that it is dated by; [`NO_DATE`] if it has none.
    pub(crate) fn date(&self) -> i64 {
        self.more().date.unwrap_or(NO_DATE)
    }

    pub(crate) fn set_fraction(&mut self, fraction: i32) {
        if fraction != self.more().fraction {
            self.more.get_or_insert_default().fraction = fraction;
        }
    }

    /// Takes over the rows of an equal document.
    pub(crate) fn share(&mut self, known: &TrainingDocument) {
        (self.part, self.terms) = (known.part, known.terms);
        self.set_stretches(known.more().stretches.to_vec());
    }

    pub(crate) fn set_stretches(&mut self, stretches: Vec<Stretch<RowId>>) {
        if !stretches.is_empty() || !self.more().stretches.is_empty() {
            self.more.get_or_insert_default().stretches = stretches;
        }
    }

    /// Forgets the stretches, of which only a spam filter makes use.
    pub(crate) fn forget_stretches(&mut self) {
        if let Some(more) = &mut self.more {
            (more.cuts, more.stretches) = (0, Vec::new());
        }
    }

    /// Records a later, equal document with the same stretches that does not count.
    pub(crate) fn meet(&mut self, later: &TrainingDocument) {
        if later.is_before(self) {
            self.group = later.group;
            if self.date() != later.date() {
                self.more.get_or_insert_default().date = later.more().date;
            }
        }
        self.unite(later);
        self.set_fraction(self.more().fraction.max(later.more().fraction));
    }

    fn unite(&mut self, other: &TrainingDocument) {
        let Some(other) = &other.more else { return };
        let own = self.more.get_or_insert_default();
        keep_least(&mut own.name, &other.name);
        own.message = least_message(own.message, other.message);
        let dense = greatest_dense(&own.dense, &other.dense);
        if *dense != *own.dense {
            own.dense = dense.into();
        }
    }

    /// Whether this document counts rather than `other`, which is equal. Documents with equal terms can differ in
    /// group, date or stretches. The smallest one counts, so that the order of arrival
    /// does not matter.
    fn is_before(&self, other: &TrainingDocument) -> bool {
        (self.group, self.date(), self.more().cuts) < (other.group, other.date(), other.more().cuts)
    }

    /// The document's label, with the row of its terms.
    pub(crate) fn labelled<'a>(&'a self, row: CountRow<'a>) -> Example<'a> {
        let Label { class, multiplicity, group, fraction } = self.label();
        Example { row, class, multiplicity, group, fraction, vector: &self.more().dense }
    }

    /// The document's label.
    pub(crate) fn label(&self) -> Label {
        let TrainingDocument { class, multiplicity, group, .. } = *self;
        Label { class, multiplicity, group, fraction: self.more().fraction }
    }

    /// Counts another copy of the same document.
    pub(crate) fn repeat(&mut self, mut other: TrainingDocument) -> Result<()> {
        let multiplicity = copies(self.multiplicity, other.multiplicity)?;
        let fraction = self.more().fraction.saturating_add(other.more().fraction);
        self.put_first(&mut other);
        self.multiplicity = multiplicity;
        self.set_fraction(fraction);
        Ok(())
    }

    /// Swaps two equal documents if needed, so that `self` is the one that counts. Both get the same name.
    pub(crate) fn put_first(&mut self, other: &mut TrainingDocument) {
        self.unite(other);
        self.set_fraction(self.more().fraction.max(other.more().fraction));
        if other.is_before(self) {
            other.set_fraction(self.more().fraction);
            other.unite(self);
            std::mem::swap(self, other);
        }
    }
}

/// Adds the numbers of copies of a document in two trainers.
pub(crate) fn copies(here: u32, there: u32) -> Result<u32> {
    limited("copies of a document", u64::from(here) + u64::from(there))
}

/// The positions of distinct documents, which differ in digest or label.
#[derive(Default)]
pub(crate) struct DocumentIndex {
    places: HashTable<u32>,
    state: RandomState,
}

impl DocumentIndex {
    /// Hashes a label by its fingerprint, since class numbers change.
    fn hash(&self, digest: &[u8; 16], class: ClassId, classes: &Classes) -> u64 {
        self.state.hash_one((digest, classes.label(class).map_or(0, fingerprint)))
    }

    /// The position of a document.
    pub(crate) fn find(
        &self,
        documents: &[TrainingDocument],
        classes: &Classes,
        digest: &[u8; 16],
        class: ClassId,
    ) -> Option<usize> {
        let is_equal = |place: &u32| {
            let known = &documents[*place as usize];
            (&known.digest, known.class) == (digest, class)
        };
        let place = self.places.find(self.hash(digest, class, classes), is_equal);
        place.map(|place| *place as usize)
    }

    /// Adds the last of `documents`, which is new.
    pub(crate) fn insert_last(&mut self, documents: &[TrainingDocument], classes: &Classes) {
        let Some(last) = documents.len().checked_sub(1) else { return };
        let hash = |place: &u32| {
            let TrainingDocument { digest, class, .. } = &documents[*place as usize];
            self.state.hash_one((digest, classes.label(*class).map_or(0, fingerprint)))
        };
        let own = self.hash(&documents[last].digest, documents[last].class, classes);
        // there are fewer documents than a u32 can number
        self.places.insert_unique(own, last as u32, hash);
    }
}
