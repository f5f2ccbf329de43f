//! Partials: the unfitted counts of one shard, as bytes that can be sent and merged.

mod read;
mod select;
mod write;

use std::io::Write;
use std::path::Path;

use tamis_model::Classes;
use tamis_store::config::training::TrainOptions;
use tamis_store::disk::map::ModelBytes;
use tamis_store::disk::source::ModelFile;
use tamis_store::error::{Error, Result};
use tamis_store::file::container::Section;
use tamis_store::file::partial::{self, PartialHeader};

use crate::train::trainer::Trainer;

/// The unfitted counts of a [`Trainer`]: the bytes of a file that another process can merge.
///
/// Count each shard of a collection by itself, wherever it is. [Merge](Trainer::merge_partial) the partials in any
/// order, or in a tree, then [finish](Trainer::finish). The model has the same bytes as that of one trainer over all
/// documents, whatever the scoring. A shard may have documents of one label only, unlabelled documents only, or no
/// documents at all.
///
/// A partial holds the terms of its documents if the scoring needs them. It holds their texts as long as it is open
/// which [refinements](crate::options::Refinement) there are. It never holds their names.
///
/// ```
/// use tamis_train::distributed::Partial;
/// use tamis_train::{Document, Kind, TrainOptions, Trainer};
///
/// let options = TrainOptions::new(Kind::Text);
/// let count = |label, text| {
///     let mut trainer = Trainer::new(options.clone())?;
///     trainer.add(label, Document::Text(text))?;
///     trainer.into_partial()
/// };
/// // on one machine and on another
/// let [fruit, metal] = [count("fruit", "apples and pears")?, count("metal", "iron and tin")?];
/// let sent: Vec<u8> = metal.as_bytes().to_vec();
///
/// let trainer = fruit.to_trainer()?.merge_partial(&Partial::from_bytes(sent)?)?;
/// assert_eq!(trainer.n_documents(), 2);
/// let model = trainer.finish()?;
/// # let mut one = Trainer::new(options)?;
/// # one.add("fruit", Document::Text("apples and pears"))?;
/// # one.add("metal", Document::Text("iron and tin"))?;
/// # assert!(model == one.finish()?);
/// # Ok::<(), tamis_train::Error>(())
/// ```
pub struct Partial {
    bytes: ModelBytes,
    header: PartialHeader,
    sections: Vec<Section>,
}

impl Partial {
    fn new(bytes: ModelBytes) -> Result<Self> {
        let partial = Partial::unverified(bytes)?;
        for section in &partial.sections {
            // verified once: later reads rely on it
            section.get(&partial.bytes, 0..section.len())?;
        }
        Ok(partial)
    }

    fn unverified(bytes: ModelBytes) -> Result<Self> {
        let (header, sections) = partial::open(&bytes)?;
        Ok(Partial { bytes, header, sections })
    }

    /// Opens and maps a file that [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// If the file cannot be read, is not a partial, is of another version, or is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let (source, file) = ModelFile::open(path.as_ref())?;
        Partial::new(source.map(&file)?)
    }

    /// Reads a partial from [its bytes](Self::as_bytes). They are not copied and must not change.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_bytes(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Result<Self> {
        Partial::new(ModelBytes::Shared(Box::new(bytes)))
    }

    /// The bytes of its file. The same documents give the same bytes, in any order and however they were merged.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Writes the partial to a file in one step, replacing what is there. Only the owner can read the file, since it
    /// reveals what was in the documents.
    ///
    /// # Errors
    /// If the file cannot be written. An existing file stays as it was.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let write = || {
            let mut file = tempfile::NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?;
            file.write_all(self.as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(path)?;
            Ok(())
        };
        write().map_err(Error::io(path))
    }

    /// The options of the trainer that counted the documents, with names off.
    pub fn options(&self) -> &TrainOptions {
        &self.header.options
    }

    /// The labels seen.
    pub fn classes(&self) -> &Classes {
        &self.header.classes
    }

    /// The number of counted documents of each class, copies included. If there are unlabelled documents, their number
    /// follows the last class.
    pub fn documents(&self) -> &[u64] {
        &self.header.documents
    }

    /// Creates a trainer with the counts of this partial.
    ///
    /// # Errors
    /// As [`Trainer::merge_partial`].
    pub fn to_trainer(&self) -> Result<Trainer> {
        Trainer::new(self.options().clone())?.merge_partial(self)
    }

    /// The content of a section: terms, documents or texts.
    fn section(&self, section: usize) -> Result<&[u8]> {
        let section = &self.sections[section];
        section.get(&self.bytes, 0..section.len())
    }
}

impl std::fmt::Debug for Partial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let documents: u64 = self.documents().iter().sum();
        write!(f, "Partial({documents} documents, {} bytes)", self.bytes.len())
    }
}

#[cfg(test)]
mod tests;
