//! Texts of documents as they were given, in order of arrival. Beyond a bound they are on disk.

use std::borrow::Cow;

use tamis_filter::extract::document::Document;
use tamis_filter::extract::extractor::Extractor;
use tamis_store::disk::spool::{Cursor, Spool, spill};
use tamis_store::error::{Error, Result};
use tamis_store::file::documents::{decode_dense, encode_dense};
use tamis_store::file::terms::{put_run, take_run};
use tamis_store::file::varint::{put_varint, take_varint, unzigzag, zigzag};
use tamis_store::kind::Kind;
use tamis_tokenizer::fingerprint;
use xxhash_rust::xxh3::xxh3_64;

/// Texts with their labels and groups, kept to be read again.
#[derive(Default)]
pub(crate) struct Texts {
    spools: Vec<Spool>,
    pub(crate) places: Vec<TextPlace>,
    record: Vec<u8>,
}

/// The position of a text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TextPlace {
    spool: u32,
    start: u64,
    /// The [`label_hash`] of its label.
    pub(crate) label: u32,
    /// A hash of the text with its label and group.
    pub(crate) hash: u64,
}

/// A document as it was given.
pub(crate) struct RawExample<'a> {
    pub(crate) label: Option<&'a str>,
    pub(crate) group: Option<&'a str>,
    /// By how much its weight in a fit exceeds 1, as of [`tamis_model::Label`].
    pub(crate) fraction: i32,
    pub(crate) document: Document<'a>,
    /// Its dense vector; empty if it has none.
    pub(crate) dense: Cow<'a, [f32]>,
}

/// A 32-bit hash of a label; 0 if there is none.
pub(crate) fn label_hash(label: Option<&str>) -> u32 {
    label.map_or(0, |label| fingerprint(label) as u32 | 1)
}

/// Maximum bytes held in memory: a page of it costs as much as writing the page to a file.
const IN_MEMORY: usize = 4 << 20;

/// Bytes read at once.
const AT_ONCE: usize = 1 << 18;

/// Maximum bytes of a number.
const NUMBER: usize = 10;

impl Texts {
    /// Stores a text, or a row as it is written most plainly.
    pub(crate) fn push(&mut self, given: &RawExample<'_>, extractor: &Extractor) -> Result<()> {
        let is_counted = matches!(given.document, Document::Counted(_));
        Error::ensure_option(!is_counted, "document", "expected a text, got counts of one")?;
        let mut record = std::mem::take(&mut self.record);
        record.clear();
        // labels are never empty, and an empty group means none
        [given.label, given.group]
            .iter()
            .for_each(|it| put_run(it.unwrap_or_default().as_bytes(), &mut record));
        put_varint(zigzag(given.fraction.into()), &mut record);
        encode_dense(&given.dense, &mut record);
        match given.document {
            Document::Fields(fields) if extractor.recipe().kind == Kind::Table => {
                let row = extractor.plain_row(fields)?;
                let row: Vec<_> = row.iter().map(|(name, cell)| (*name, &**cell)).collect();
                put_document(Document::Fields(&row), &mut record);
            }
            document => put_document(document, &mut record),
        }
        let outcome = self.push_record(given.label, &record);
        self.record = record;
        outcome
    }

    fn push_record(&mut self, label: Option<&str>, record: &[u8]) -> Result<()> {
        if self.spools.is_empty() {
            self.spools.push(Spool::with_bound(IN_MEMORY));
        }
        let spool = &mut self.spools[0];
        let place =
            TextPlace { spool: 0, start: spool.len(), label: label_hash(label), hash: xxh3_64(record) };
        push_run(spool, record)?;
        self.places.push(place);
        Ok(())
    }

    /// Appends the texts of `other`.
    pub(crate) fn append(&mut self, mut other: Texts) {
        let first = self.spools.len() as u32;
        self.spools.append(&mut other.spools);
        self.places
            .extend(other.places.iter().map(|place| TextPlace { spool: place.spool + first, ..*place }));
    }

    /// Visits the texts at `places`. Sorted places, which are in the order of arrival, are read fastest.
    pub(crate) fn for_each(
        &self,
        places: &[TextPlace],
        mut visit: impl FnMut(RawExample<'_>) -> Result<()>,
    ) -> Result<()> {
        self.for_each_record(places, |record| visit(RawExample::read(record, &mut Vec::new())?))
    }

    /// Visits the bytes of the texts at `places`.
    fn for_each_record(
        &self,
        places: &[TextPlace],
        mut visit: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut cursors: Vec<_> = self.spools.iter().map(|spool| Cursor::new(spool, AT_ONCE)).collect();
        for place in places {
            let cursor = &mut cursors[place.spool as usize];
            let mut bytes = cursor.from(place.start, NUMBER).map_err(spill)?;
            let before = bytes.len();
            let len = take_varint(&mut bytes).ok_or_else(broken)? as usize;
            let start = before - bytes.len();
            let bytes = cursor.from(place.start, start + len).map_err(spill)?;
            visit(bytes.get(start..start + len).ok_or_else(broken)?)?;
        }
        Ok(())
    }

    /// All texts as bytes that do not depend on the order of arrival.
    pub(crate) fn to_section(&self) -> Result<Spool> {
        let mut places = self.places.clone();
        places.sort_unstable_by_key(|place| place.hash);
        let mut section = Spool::default();
        self.for_each_record(&places, |record| push_run(&mut section, record))?;
        Ok(section)
    }

    /// Adds the texts of a section, each after `check` has accepted it.
    pub(crate) fn add_section(
        &mut self,
        mut section: &[u8],
        mut check: impl FnMut(&RawExample<'_>) -> Result<()>,
    ) -> Result<()> {
        while !section.is_empty() {
            let record = take_run(&mut section).ok_or_else(broken)?;
            let mut fields = Vec::new();
            let given = RawExample::read(record, &mut fields)?;
            check(&given)?;
            self.push_record(given.label, record)?;
        }
        Ok(())
    }
}

impl<'a> RawExample<'a> {
    /// A hash of the text alone.
    pub(crate) fn text_hash(&self) -> u64 {
        let mut record = Vec::new();
        put_document(self.document, &mut record);
        xxh3_64(&record)
    }

    /// Reads a text from its bytes.
    fn read(mut record: &'a [u8], fields: &'a mut Vec<(&'a str, &'a str)>) -> Result<Self> {
        let mut string = || take_run(&mut record).and_then(|run| str::from_utf8(run).ok()).ok_or_else(broken);
        let [label, group] = [string()?, string()?].map(|it| Some(it).filter(|it| !it.is_empty()));
        let fraction =
            take_varint(&mut record).and_then(|n| i32::try_from(unzigzag(n)).ok()).ok_or_else(broken)?;
        let dense = Cow::Owned(decode_dense(&mut record)?.into_vec());
        let Some((0xff, mut rest)) = record.split_first() else {
            let text = str::from_utf8(record).map_err(|_| broken())?;
            return Ok(RawExample { label, group, fraction, document: Document::Text(text), dense });
        };
        let mut string = || take_run(&mut rest).and_then(|run| str::from_utf8(run).ok());
        while let Some(name) = string() {
            fields.push((name, string().ok_or_else(broken)?));
        }
        if !rest.is_empty() {
            return Err(broken());
        }
        Ok(RawExample { label, group, fraction, document: Document::Fields(fields), dense })
    }
}

fn put_document(document: Document<'_>, record: &mut Vec<u8>) {
    match document {
        Document::Text(text) => record.extend_from_slice(text.as_bytes()),
        Document::Fields(fields) => {
            // no text begins with this byte
            record.push(0xff);
            let strings = fields.iter().flat_map(|(name, text)| [name, text]);
            strings.for_each(|string| put_run(string.as_bytes(), record));
        }
        Document::Mail(_) | Document::Counted(_) | Document::Embedded { .. } => (),
    }
}

/// Appends a run, its length first.
fn push_run(spool: &mut Spool, run: &[u8]) -> Result<()> {
    let mut length = Vec::with_capacity(NUMBER);
    put_varint(run.len() as u64, &mut length);
    spool.push(&length).and_then(|()| spool.push(run)).map_err(spill)
}

fn broken() -> Error {
    Error::inconsistent("texts", "texts with their labels and groups", "others")
}
