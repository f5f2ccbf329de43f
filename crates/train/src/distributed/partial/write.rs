//! Turns a trainer into a partial.

use tamis_model::{Counts, Documents, Stretch};
use tamis_store::disk::spool::{Spool, spill};
use tamis_store::error::Result;
use tamis_store::file::documents::{NO_DATE, encode_dense, encode_vector};
use tamis_store::file::partial::{self, PartialHeader};
use tamis_store::file::terms::{put_cells, put_run};
use tamis_store::file::varint::{put_varint, zigzag};
use tamis_tokenizer::{CountRow, TermId, TermTexts};

use super::Partial;
use crate::gather::collection::Collection;
use crate::gather::document::TrainingDocument;
use crate::gather::merged::MergedShards;
use crate::gather::texts::Texts;
use crate::model::Model;
use crate::train::finish::TrainingSet;
use crate::train::trainer::Trainer;

impl Trainer {
    /// Returns the unfitted counts, to be merged with those of other trainers, in this process or another.
    ///
    /// Names are left out, as if [`TrainOptions::names`](crate::TrainOptions::names) were off.
    ///
    /// # Errors
    /// If a count overflows, or a temporary file cannot be used.
    pub fn into_partial(mut self) -> Result<Partial> {
        self.options.names = false;
        let texts = self.texts.take();
        let TrainingSet { texts: terms, merged, mut documents, vectors } = self.take_in_order()?;
        let (terms, of_documents) =
            rayon::join(|| terms_section(&merged, &terms), || documents_section(&mut documents));
        let of_texts = texts.as_ref().map_or_else(|| Ok(Spool::default()), Texts::to_section)?;
        let sections = [terms?, of_documents?, of_texts];
        let header = PartialHeader {
            options: self.options,
            classes: self.classes,
            counts_alone: self.counts_alone,
            documents: merged.statistics.totals().iter().map(|totals| totals.documents).collect(),
            n_different: documents.len() as u64,
            n_equal: self.tally.n_equal,
            missing: self.tally.missing,
            n_terms: merged.n_terms() as u64,
            vectors,
            has_texts: texts.is_some(),
            lengths: sections.each_ref().map(Spool::len),
        };
        let file = partial::write(&header, &sections)?;
        // just written, so its checksums are right
        Partial::unverified(Model::new(file).map_err(spill)?.into_bytes())
    }
}

fn terms_section(merged: &MergedShards, texts: &[TermTexts]) -> Result<Spool> {
    let (mut section, mut term, mut cells) = (Spool::default(), Vec::new(), Vec::new());
    for id in 0..merged.n_terms() as TermId {
        term.clear();
        cells.clear();
        put_run(merged.term(texts, id).1.as_bytes(), &mut term);
        put_cells(merged.statistics.cells(id), &mut cells);
        put_run(&cells, &mut term);
        section.push(&term).map_err(spill)?;
    }
    Ok(section)
}

fn documents_section(documents: &mut Collection) -> Result<Spool> {
    let (mut section, mut bytes) = (Spool::default(), Vec::new());
    let block_len = documents.block_len();
    for block in 0..documents.len().div_ceil(block_len) {
        let encoded = documents.encoded(block);
        for (at, place) in (block * block_len..documents.len()).take(block_len).enumerate() {
            bytes.clear();
            encode(&documents.documents[place], encoded.terms(at).vector().row(), &mut bytes);
            let stretches = documents.stretches(place);
            put_varint(stretches.len() as u64, &mut bytes);
            for Stretch { terms, ends_part, is_seen } in &stretches {
                put_varint(u64::from(*ends_part) | u64::from(*is_seen) << 1, &mut bytes);
                put_vector(terms.row(), &mut bytes);
            }
            section.push(&bytes).map_err(spill)?;
        }
        documents.recycle(encoded);
    }
    documents.check().map(|()| section)
}

/// Appends a document, without its stretches.
fn encode(document: &TrainingDocument, terms: CountRow<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(&document.digest);
    out.extend_from_slice(&document.group.to_le_bytes());
    out.extend_from_slice(&document.more().message.to_le_bytes());
    put_varint(document.class.into(), out);
    put_varint(document.multiplicity.into(), out);
    put_varint(zigzag(document.more().fraction.into()), out);
    // 0 means no date: `NO_DATE` alone has the highest code, which plus one would overflow
    let date = document.date();
    put_varint(if date == NO_DATE { 0 } else { zigzag(date) + 1 }, out);
    put_varint(document.more().cuts, out);
    put_varint(document.more().reals.len() as u64, out);
    for (column, real) in &document.more().reals {
        put_varint(*column as u64, out);
        out.extend_from_slice(&real.to_bits().to_le_bytes());
    }
    encode_dense(&document.more().dense, out);
    put_vector(terms, out);
}

/// Appends a vector as a run.
fn put_vector(row: CountRow<'_>, out: &mut Vec<u8>) {
    let mut vector = Vec::new();
    encode_vector(row, &mut vector);
    put_run(&vector, out);
}
