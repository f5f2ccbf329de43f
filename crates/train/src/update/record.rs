//! Records of learned and forgotten documents, as bytes that servers send one another.
//!
//! ```text
//! "TAMIS\r\nr"                         8 bytes
//! format version                       u32, little-endian like every number here
//! CRC-32 of the version and the rest   u32
//! recipe                               u64, a hash of the recipe; u16, its version
//! label                                varint, its length; its text, empty if the document was forgotten
//! number of words                      varint
//! entry                                as in a log, over its own terms
//! ```
//!
//! All terms are new terms of the entry: first the words, then pieces of words, both by increasing fingerprint, so that
//! they do not tell the order of words in the document.

use std::collections::HashSet;
use std::fmt;

use tamis_filter::extract::document::digest;
use tamis_store::config::recipe::Recipe;
use tamis_store::error::{Error, Reason, Result};
use tamis_store::file::container;
use tamis_store::file::container::checksum;
use tamis_store::file::documents::StoredDocument;
use tamis_store::file::log::{self, Change, LogEntry};
use tamis_store::file::terms::{fingerprint_of, put_run, take_run, unknown_text};
use tamis_store::file::varint::{put_varint, take_array, take_varint};
use tamis_tokenizer::{CountVector, TermCount, TermId};
use xxhash_rust::xxh3::xxh3_64;

/// The version of the format of records.
const VERSION: u32 = 1;

/// A document that was learned or forgotten: what another server needs to do the same to its copy of the model.
///
/// It holds counts, never the message: the document's digest, the label, its date, hashes of its group and of its
/// Message-ID and body, and its terms, each as a 64-bit fingerprint with its number of occurrences, in an order that
/// does not tell that of the document. Only if the model [stores names](crate::information::Retention::names) does the record of a
/// learned document have the Message-ID and the texts of the terms. A fingerprint hides no word from someone who
/// guesses it.
///
/// [`Learner::record`](crate::Learner::record) makes a record, and [`Learner::apply`](crate::Learner::apply) applies
/// it.
#[derive(Clone, PartialEq)]
pub struct Record {
    /// A hash of the recipe, and its version.
    recipe: u64,
    recipe_version: u16,
    /// The label it was learned under; `None` if it was forgotten.
    label: Option<String>,
    /// The number of terms that are words; pieces of words follow.
    n_words: usize,
    /// The document is over `new_terms`, which are all its terms. Their texts are empty if they are not told.
    entry: LogEntry,
}

/// What a record says of a document.
fn change_of(label: Option<&str>) -> Change {
    if label.is_some() { Change::Learned } else { Change::Forgotten }
}

impl Record {
    /// A record of `document`, whose vector it makes of the `terms`, words and pieces. `text` gives the text of a term.
    pub(super) fn new(
        recipe: &Recipe,
        label: Option<&str>,
        document: StoredDocument,
        terms: [&[TermCount]; 2],
        text: impl Fn(TermId) -> String,
    ) -> Result<Self> {
        let n_words = terms[0].len();
        let sorted = terms.map(|terms| {
            let mut terms: Vec<_> = terms.iter().collect();
            terms.sort_unstable_by_key(|term| term.fingerprint);
            terms
        });
        let sorted = sorted.concat();
        let counts = sorted.iter().map(|term| term.count);
        let vector = CountVector::from_pairs((0..).zip(counts)).unwrap_or_default();
        let new_terms = sorted.iter().map(|term| (term.fingerprint, text(term.id))).collect();
        let derived = StoredDocument { class: 0, vector, learned: 0, held_out: None, ..document };
        let document = StoredDocument { coefficients: Vec::new(), ..derived };
        let entry = LogEntry { change: change_of(label), document, features: 0, new_terms };
        let (recipe, recipe_version) = (hash(recipe)?, recipe.version);
        let record = Record { recipe, recipe_version, label: label.map(str::to_owned), n_words, entry };
        check_length(record.to_bytes().len())?;
        Ok(record)
    }

    /// The digest of the document; see [`Filter::digest`](crate::Filter::digest).
    pub fn digest(&self) -> [u8; 16] {
        self.entry.document.digest
    }

    /// The label that the document was learned under; `None` if it was forgotten.
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// The record as bytes, for [`from_bytes`](Self::from_bytes). Equal records give equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = [&container::RECORD[..], &VERSION.to_le_bytes(), &[0; 4]].concat();
        bytes.extend(self.recipe.to_le_bytes());
        bytes.extend(self.recipe_version.to_le_bytes());
        let label = self.label.as_deref().unwrap_or_default();
        put_run(label.as_bytes(), &mut bytes);
        put_varint(self.n_words as u64, &mut bytes);
        self.entry.write(&mut bytes);
        let sum = checksum_of(&bytes);
        bytes[SUM..START].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads a record from [its bytes](Self::to_bytes), of which there are at most 128 MiB. They are trusted no more
    /// than a message: everything is checked, and reading takes memory in proportion to their number.
    ///
    /// # Errors
    /// [`ErrorKind::NotAModel`](crate::ErrorKind::NotAModel) if they do not begin like a record,
    /// [`ErrorKind::Version`](crate::ErrorKind::Version) if the format is unknown here,
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged) if they are not a whole record, and
    /// [`ErrorKind::Data`](crate::ErrorKind::Data) if there are too many.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        check_length(bytes.len())?;
        container::check_magic(bytes, container::RECORD)?;
        let mut rest = &bytes[container::RECORD.len()..];
        let version = take_array(&mut rest).map(u32::from_le_bytes).ok_or_else(cut_short)?;
        Reason::Version { expected: VERSION, got: version }.unless(version == VERSION)?;
        let expected = take_array(&mut rest).map(u32::from_le_bytes).ok_or_else(cut_short)?;
        let got = checksum_of(bytes);
        ensure(got == expected, format_args!("checksum {expected:08x}"), format_args!("{got:08x}"))?;
        let recipe = take_array(&mut rest).map(u64::from_le_bytes).ok_or_else(cut_short)?;
        let recipe_version = take_array(&mut rest).map(u16::from_le_bytes).ok_or_else(cut_short)?;
        let label = take_run(&mut rest).and_then(|label| str::from_utf8(label).ok()).ok_or_else(cut_short)?;
        let n_words = take_varint(&mut rest).and_then(|n| usize::try_from(n).ok()).ok_or_else(cut_short)?;
        let entry = LogEntry::take(&mut rest, 0).map_err(|error| broken("an entry of a log", error))?;
        ensure(rest.is_empty(), "nothing after the entry", format_args!("{} bytes", rest.len()))?;
        let label = Some(label.to_owned()).filter(|label| !label.is_empty());
        let record = Record { recipe, recipe_version, label, n_words, entry };
        record.check()?;
        Ok(record)
    }

    /// Checks that the record says what [`new`](Self::new) would have written.
    fn check(&self) -> Result<()> {
        let LogEntry { change, document, features, new_terms } = &self.entry;
        let is_labelled = *change == change_of(self.label.as_deref());
        ensure(is_labelled, "a label if a document was learned", "the opposite")?;
        let StoredDocument { class, multiplicity, coefficients, held_out, learned, vector, .. } = document;
        let derived = (*features, *class, *learned, coefficients.len(), held_out.is_some());
        let is_counts = derived == (0, 0, 0, 0, false) && *multiplicity > 0;
        ensure(is_counts, "counts alone, of a copy or more", "others")?;
        let (n_terms, got) = (new_terms.len(), vector.row().len());
        let (expected, shown) =
            (format_args!("counts of {n_terms} terms"), format_args!("{got}, {} words", self.n_words));
        ensure(got == n_terms && self.n_words <= n_terms, expected, shown)?;
        let (words, pieces) = new_terms.split_at(self.n_words);
        let is_sorted = |terms: &[(u64, String)]| terms.is_sorted_by(|a, b| a.0 < b.0);
        let of_words: HashSet<u64> = words.iter().map(|term| term.0).collect();
        let are_apart = !pieces.iter().any(|term| of_words.contains(&term.0));
        let are_in_order = is_sorted(words) && is_sorted(pieces) && are_apart;
        ensure(are_in_order, "terms by increasing fingerprint", "another order")?;
        let is_of_print = |(print, text): &(u64, String)| text.is_empty() || fingerprint_of(text) == *print;
        ensure(new_terms.iter().all(is_of_print), "texts that have the fingerprints", "others")?;
        // without words, the vector identifies the document
        let values = document.dense.iter().filter(|_| self.n_words == 0);
        let values: Vec<_> = values.map(|value| Some(f64::from(value + 0.0))).collect();
        let got = digest(self.recipe_version, &self.terms()[..self.n_words], &values);
        ensure(got == document.digest, "the digest of the words", "another")
    }

    /// Checks that the record suits models of `recipe`.
    pub(super) fn check_recipe(&self, recipe: &Recipe) -> Result<()> {
        let shown = |hash: u64, version: u16| format!("{hash:016x} of version {version}");
        let (expected, got) = (hash(recipe)?, self.recipe);
        if expected == got {
            return Ok(());
        }
        Err(Error::incompatible("recipe", shown(expected, recipe.version), shown(got, self.recipe_version)))
    }

    /// The document, over [`terms`](Self::terms).
    pub(super) fn document(&self) -> &StoredDocument {
        &self.entry.document
    }

    /// The terms of the document.
    pub(super) fn terms(&self) -> Vec<TermCount> {
        let counts = self.entry.document.vector.row().iter();
        let terms = self.entry.new_terms.iter().zip(counts);
        terms
            .map(|((fingerprint, _), (id, count))| TermCount { fingerprint: *fingerprint, id, count })
            .collect()
    }

    /// The text of a term; if it is not told, what stands for it.
    pub(super) fn text(&self, term: usize) -> String {
        match self.entry.new_terms.get(term) {
            Some((fingerprint, text)) if text.is_empty() => unknown_text(*fingerprint),
            Some((_, text)) => text.clone(),
            None => String::new(),
        }
    }
}

impl fmt::Debug for Record {
    /// Without the terms, which may come from someone's mail.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digest = u128::from_be_bytes(self.digest());
        write!(f, "Record({digest:032x}, {:?}, {} terms)", self.label, self.entry.new_terms.len())
    }
}

/// Where the checksum begins, and where what it covers besides the version begins.
const SUM: usize = 12;
const START: usize = 16;

/// The checksum of a record, of everything after the first bytes but itself.
fn checksum_of(bytes: &[u8]) -> u32 {
    let version = &bytes[container::RECORD.len().min(bytes.len())..SUM.min(bytes.len())];
    checksum(checksum(0, version), &bytes[START.min(bytes.len())..])
}

/// A hash of a recipe, which may be long: it has the stop words.
fn hash(recipe: &Recipe) -> Result<u64> {
    Ok(xxh3_64(&container::encode(recipe)?))
}

fn check_length(got: usize) -> Result<()> {
    let (limit, got) = (log::LIMIT as u64, got as u64);
    Reason::TooLarge { what: "bytes of a record", limit, got }.unless(got <= limit)
}

fn broken(expected: impl fmt::Display, got: impl fmt::Display) -> Error {
    Reason::Record { expected: expected.to_string(), got: got.to_string() }.into()
}

fn ensure(is_well: bool, expected: impl fmt::Display, got: impl fmt::Display) -> Result<()> {
    if is_well { Ok(()) } else { Err(broken(expected, got)) }
}

fn cut_short() -> Error {
    broken("a whole one", "one that is cut short")
}

#[cfg(test)]
mod tests;
