//! The bytes of a model.

use std::io::{self, Write};
use std::path::Path;

use tamis_filter::Filter;
use tamis_store::disk::map::ModelBytes;
use tamis_store::disk::spool::{Spool, spill};
use tamis_store::error::Result;
use tamis_store::store::opened::Store;

use crate::lock::{LOCK_TIMEOUT, Lock};

/// A trained model: the bytes of its file, in memory or, if it is large, in a temporary file.
pub struct Model {
    whole: Spool,
    /// Map of the temporary file.
    map: Option<ModelBytes>,
}

impl Clone for Model {
    fn clone(&self) -> Self {
        Model { whole: self.as_bytes().to_vec().into(), map: None }
    }
}

impl PartialEq for Model {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Model {}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Model({} bytes)", self.whole.len())
    }
}

impl Model {
    pub(crate) fn new(mut whole: Spool) -> io::Result<Self> {
        let map = whole.map()?;
        Ok(Model { whole, map })
    }

    /// The bytes of the model file. The same documents give the same bytes.
    pub fn as_bytes(&self) -> &[u8] {
        self.map.as_deref().or(self.whole.in_memory()).unwrap_or_default()
    }

    /// Writes the model to a file, replacing what is there in one step: a reader sees the old file or the new one,
    /// never a part. Writers take turns on `PATH.lock` and wait at most a minute. A new file is readable by its owner
    /// only. A replaced file keeps its mode.
    ///
    /// # Errors
    /// As [`Lock::wait`] and [`Lock::save`]. An existing file stays as it was.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        Lock::wait(path, LOCK_TIMEOUT)?.save(self)
    }

    /// Copies the model as it was opened, including its log: to save elsewhere, or to send to another machine. What was
    /// learned in the file since is left out.
    ///
    /// ```
    /// use tamis_train::{Document, Filter, Kind, Model, TrainOptions, Trainer};
    ///
    /// let mut trainer = Trainer::new(TrainOptions::new(Kind::Text))?;
    /// trainer.add("fruit", Document::Text("apples"))?;
    /// trainer.add("metal", Document::Text("iron"))?;
    /// let model = trainer.finish()?;
    /// let filter = Filter::from_bytes(model.as_bytes().to_vec())?;
    /// assert_eq!(Model::copy(&filter)?, model);
    /// # Ok::<(), tamis_train::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the model is damaged, or its file is mapped and was changed in place: every checksum is checked.
    pub fn copy(filter: &Filter) -> Result<Self> {
        Model::new(filter.copy()?).map_err(spill)
    }

    /// Opens this model for scoring.
    ///
    /// # Errors
    /// Only if this crate has a bug.
    pub fn into_filter(self) -> Result<Filter> {
        Filter::from_map(self.into_bytes())
    }

    pub(crate) fn into_store(self) -> Result<Store> {
        Store::new(self.into_bytes(), None)
    }

    /// All bytes, mapped if they are in a file.
    pub(crate) fn into_bytes(self) -> ModelBytes {
        self.map.unwrap_or_else(|| ModelBytes::Owned(self.whole.into_memory()))
    }
}

impl Lock {
    /// Rewrites the file in one step. A reader, even after a crash, sees the old file or the new one.
    ///
    /// A new file is private (mode 0600). A replaced file keeps its mode and, where permitted, its owner. Until it is
    /// complete it has another name, which only the holder of the lock uses. The next writer removes what a stopped
    /// writer left behind.
    ///
    /// # Errors
    /// If the file cannot be written. An existing file stays as it was.
    pub fn save(&self, model: &Model) -> Result<()> {
        self.replace(|file| model.whole.for_each(|bytes| file.write_all(bytes)))
    }
}
