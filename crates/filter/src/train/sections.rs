//! Writes counts and fitted weights into the sections of a model.

use rayon::prelude::*;
use tamis_model::{BLOCK, Cell};
use tamis_tokenizer::TermId;
use zerocopy::IntoBytes;
use zerocopy::little_endian::F32;

use crate::config::keep::Keep;
use crate::disk::model::Model;
use crate::disk::spool::{Spool, spill};
use crate::error::Result;
use crate::file::documents::{DocumentRecord, as_kept, encode_coefficients, encode_vector};
use crate::file::header::{self, Header};
use crate::file::names;
use crate::file::terms::{GROUP, Size, TermsWriter};
use crate::gather::learned::LearnedDocument;
use crate::gather::ordered::Ordered;
use crate::score::scorer::Scorer;
use crate::train::fitting::{Fitted, FittedWeights};

/// Assembles a model from a header and its sections, and enters their sizes in the header.
pub(crate) fn seal(
    header: Header,
    ([directory, terms, texts], size): ([Vec<u8>; 3], Size),
    (documents, vectors): (impl Into<Spool>, impl Into<Spool>),
) -> Result<Model> {
    let sections = [directory.into(), terms.into(), texts.into(), documents.into(), vectors.into()];
    let mut header = Header { size, lengths: sections.each_ref().map(Spool::len), ..header };
    // missing biases are read as 0
    header.bias.truncate(header.bias.iter().rposition(|bias| *bias != 0).map_or(0, |last| last + 1));
    // an unsuitable prior or smoothing fails here, not when the file is opened
    Scorer::new(&header, &header.totals, header.n_terms(), &header.bias)?;
    Model::new(header::write(&header, sections.each_ref())?).map_err(spill)
}

/// Terms that one thread writes at a time, in whole groups.
const STRETCH: usize = 512 * GROUP;

/// Writes the sections of `n_terms` terms, each with `write`.
pub(crate) fn term_sections(
    n_terms: usize,
    write: impl Fn(&mut TermsWriter, TermId) -> Result<()> + Sync,
) -> Result<([Vec<u8>; 3], Size)> {
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

/// Writes a term; `id` is its id in the weights.
pub(crate) fn write_term(
    writer: &mut TermsWriter,
    (fingerprint, text): (u64, &str),
    cells: impl Iterator<Item = Cell>,
    weights: &FittedWeights,
    id: TermId,
) -> Result<()> {
    match weights {
        FittedWeights::None => writer.push(fingerprint, text, cells, std::iter::empty()),
        FittedWeights::Correction(correction, _) => {
            let weights = correction.weights(id).map(|weight| (weight.class, weight.units));
            writer.push(fingerprint, text, cells, weights)
        }
        FittedWeights::Expected(expected) => {
            let bits = |weight: f64| i64::from((weight as f32).to_bits());
            let weights = expected.weights(id).map(|(class, weight)| (class, bits(weight)));
            writer.push(fingerprint, text, cells, weights)
        }
    }
}

/// The sections `documents` and `vectors`.
pub(crate) fn document_sections(
    documents: &mut Ordered,
    fitted: &Fitted,
    keep: Keep,
) -> Result<(Spool, Spool)> {
    let (mut records, mut vectors) = (Spool::default(), Spool::default());
    let mut held_out = fitted.held_out.iter().peekable();
    for (block, learned) in documents.documents.chunks(BLOCK).enumerate() {
        let encoded = (keep == Keep::Vectors).then(|| documents.encoded(block));
        let encode = |(chunk, learned): (usize, &[LearnedDocument])| {
            let (mut vectors, mut ends) = (Vec::new(), Vec::with_capacity(learned.len()));
            for (at, document) in (chunk * TOGETHER..).zip(learned) {
                names::encode(document.name(), &mut vectors);
                if let FittedWeights::Correction(_, coefficients) = &fitted.weights {
                    encode_coefficients(
                        &coefficients.of(block * BLOCK + at).collect::<Vec<_>>(),
                        &mut vectors,
                    );
                }
                if let Some(encoded) = &encoded {
                    encode_vector(encoded.terms(at).vector().row(), &mut vectors);
                }
                ends.push(vectors.len() as u64);
            }
            (vectors, ends)
        };
        let chunks: Vec<_> = learned.par_chunks(TOGETHER).enumerate().map(encode).collect();
        let mut at = block * BLOCK..;
        for ((of_chunk, ends), learned) in chunks.into_iter().zip(learned.chunks(TOGETHER)) {
            for ((document, end), at) in learned.iter().zip(ends).zip(&mut at) {
                let own = held_out.next_if(|(held, _)| *held == at).map(|(_, both)| *both);
                let record = DocumentRecord {
                    digest: document.digest,
                    class: document.class.into(),
                    multiplicity: document.multiplicity.into(),
                    date: document.date().into(),
                    group: document.group.into(),
                    message: document.message().into(),
                    held_out: own.map_or([f32::NAN; 2], as_kept).map(F32::new),
                    learned: 0.into(),
                    vector_end: (vectors.len() + end).into(),
                };
                records.push(record.as_bytes()).map_err(spill)?;
            }
            vectors.push(&of_chunk).map_err(spill)?;
        }
        encoded.into_iter().for_each(|encoded| documents.give_back(encoded));
    }
    documents.check().map(|()| (records, vectors))
}

/// Documents that one thread encodes at a time.
const TOGETHER: usize = 256;
