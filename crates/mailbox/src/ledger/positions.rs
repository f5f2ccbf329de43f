//! How far each folder was read.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tamis_program::shown_path;

/// How far a folder was read: everything with a lower UID is dealt with.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub(crate) struct FolderPosition {
    pub(crate) validity: u32,
    pub(crate) next_uid: u32,
}

/// The positions of all folders.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize, Debug)]
pub(crate) struct Positions {
    pub(crate) folders: BTreeMap<String, FolderPosition>,
    /// When the inbox was last read to its end, in seconds since 1970.
    pub(crate) inbox_read_at: Option<i64>,
}

/// Reads a file of JSON; `None` if there is none.
pub(crate) fn read_if_there<T: DeserializeOwned>(path: &Path) -> Result<Option<T>> {
    match fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map(Some).with_context(|| shown_path(path)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| shown_path(path)),
    }
}

/// Replaces a private file, whole or not at all.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let write = || {
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_data()?;
        file.persist(path)?;
        fs::File::open(folder)?.sync_all()
    };
    write().with_context(|| shown_path(path))
}
