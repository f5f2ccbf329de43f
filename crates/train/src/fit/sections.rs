//! Writes counts and fitted weights into the sections of a model.

use rayon::prelude::*;
use tamis_filter::scorers::derive::check;
use tamis_model::Documents;
use tamis_store::config::recipe::Keep;
use tamis_store::disk::spool::{Spool, spill};
use tamis_store::error::Result;
use tamis_store::file::documents::{
    DocumentRecord, as_kept, encode_coefficients, encode_dense, encode_name, encode_vector,
};
use tamis_store::file::fitted::FittedScoring;
use tamis_store::file::header::{self, ModelHeader};
use tamis_store::file::terms::{GROUP, TermSections, TermsWriter};
use tamis_tokenizer::TermId;
use zerocopy::IntoBytes;
use zerocopy::little_endian::F32;

use crate::fit::solution::{Solution, SolutionWeights};
use crate::gather::collection::Collection;
use crate::gather::document::TrainingDocument;
use crate::model::Model;

/// Assembles a model from a header and its sections, and enters their sizes in the header.
pub(crate) fn seal(
    header: ModelHeader,
    TermSections { directory, terms, texts, size }: TermSections,
    DocumentSections { documents, vectors }: DocumentSections,
) -> Result<Model> {
    let sections = [directory.into(), terms.into(), texts.into(), documents, vectors];
    let mut header = ModelHeader { size, lengths: sections.each_ref().map(Spool::len), ..header };
    if let FittedScoring::Weighted { bias, .. } = &mut header.scoring {
        // missing ones are read as 0
        bias.truncate(bias.iter().rposition(|bias| *bias != 0).map_or(0, |last| last + 1));
    }
    // an unsuitable prior or smoothing fails here, not when the file is opened
    check(&header)?;
    Model::new(header::write(&header, sections.each_ref())?).map_err(spill)
}

/// Terms that one thread writes at a time, in whole groups.
const STRETCH: usize = 512 * GROUP;

/// Writes the sections of `n_terms` terms, each with `write`.
pub(crate) fn term_sections(
    n_terms: usize,
    write: impl Fn(&mut TermsWriter, TermId) -> Result<()> + Sync,
) -> Result<TermSections> {
    let stretches: Vec<_> = (0..n_terms).step_by(STRETCH).collect();
    let written = stretches.into_par_iter().map(|first| {
        let mut writer = TermsWriter::default();
        let mut stretch = first as TermId..n_terms.min(first + STRETCH) as TermId;
        stretch.try_for_each(|id| write(&mut writer, id))?;
        Ok(writer)
    });
    let mut writer = TermsWriter::default();
    for stretch in written.collect::<Result<Vec<_>>>()? {
        writer.append(stretch)?;
    }
    writer.finish()
}

/// The sections of documents.
pub(crate) struct DocumentSections {
    /// Their records.
    pub(crate) documents: Spool,
    /// Their names, coefficients and terms.
    pub(crate) vectors: Spool,
}

/// Writes the sections of documents.
pub(crate) fn document_sections(
    documents: &mut Collection,
    fitted: &Solution,
    keep: Keep,
    has_vectors: bool,
) -> Result<DocumentSections> {
    let (mut records, mut vectors) = (Spool::default(), Spool::default());
    let mut held_out = fitted.held_out.iter().peekable();
    let block_len = documents.block_len();
    for (block, learned) in documents.documents.chunks(block_len).enumerate() {
        let encoded = (keep == Keep::Vectors).then(|| documents.encoded(block));
        let encode = |(chunk, learned): (usize, &[TrainingDocument])| {
            let (mut vectors, mut ends) = (Vec::new(), Vec::with_capacity(learned.len()));
            for (at, document) in (chunk * TOGETHER..).zip(learned) {
                encode_name(&document.more().name, &mut vectors);
                if let SolutionWeights::Correction(_, coefficients) = &fitted.weights {
                    encode_coefficients(
                        &coefficients.of_document(block * block_len + at).collect::<Vec<_>>(),
                        &mut vectors,
                    );
                }
                if let Some(encoded) = &encoded {
                    if has_vectors {
                        encode_dense(&document.more().dense, &mut vectors);
                    }
                    encode_vector(encoded.terms(at).vector().row(), &mut vectors);
                }
                ends.push(vectors.len() as u64);
            }
            (vectors, ends)
        };
        let chunks: Vec<_> = learned.par_chunks(TOGETHER).enumerate().map(encode).collect();
        let mut at = block * block_len..;
        for ((of_chunk, ends), learned) in chunks.into_iter().zip(learned.chunks(TOGETHER)) {
            for ((document, end), at) in learned.iter().zip(ends).zip(&mut at) {
                let own = held_out.next_if(|(held, _)| *held == at).map(|(_, both)| *both);
                let record = DocumentRecord {
                    digest: document.digest,
                    class: document.class.into(),
                    multiplicity: document.multiplicity.into(),
                    fraction: document.more().fraction.into(),
                    date: document.date().into(),
                    group: document.group.into(),
                    message: document.more().message.into(),
                    held_out: own.map_or([f32::NAN; 5], as_kept).map(F32::new),
                    learned: 0.into(),
                    vector_end: (vectors.len() + end).into(),
                };
                records.push(record.as_bytes()).map_err(spill)?;
            }
            vectors.push(&of_chunk).map_err(spill)?;
        }
        encoded.into_iter().for_each(|encoded| documents.recycle(encoded));
    }
    documents.check().map(|()| DocumentSections { documents: records, vectors })
}

/// Documents that one thread encodes at a time.
const TOGETHER: usize = 256;
