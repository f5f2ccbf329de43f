//! Elsewhere than on Unix, where models only come as bytes: no file can be opened.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::disk::map::Bytes;
use crate::error::{Error, Result};

/// Stands for the file of an open model. Never constructed.
pub enum ModelFile {}

impl ModelFile {
    /// Fails.
    pub fn open(path: &Path) -> Result<(Self, File)> {
        Err(Error::io(path)(io::ErrorKind::Unsupported.into()))
    }

    /// As on Unix.
    pub fn path(&self) -> &Path {
        match *self {}
    }

    /// As on Unix.
    pub fn map(&self, _file: &File) -> Result<Bytes> {
        match *self {}
    }

    /// As on Unix.
    pub fn read(&self, _file: &File) -> Result<Bytes> {
        match *self {}
    }

    /// As on Unix.
    pub fn open_again(&self) -> Option<File> {
        match *self {}
    }

    /// As on Unix.
    pub fn is_at_its_path(&self) -> Result<bool> {
        match *self {}
    }

    /// As on Unix.
    pub fn check_unchanged(&self, _is_as_read: impl FnOnce() -> bool) -> Result<()> {
        match *self {}
    }

    /// As on Unix.
    pub fn may_have_changed(&self) -> bool {
        match *self {}
    }
}

/// Stands for a file while it is open. Never constructed.
#[derive(Clone, Copy)]
pub struct MappedFile<'a> {
    /// What is known of it.
    pub source: &'a ModelFile,
    /// It, open.
    pub file: &'a File,
}

impl MappedFile<'_> {
    /// As on Unix.
    pub fn read_from(&self, _offset: usize, _most: usize) -> Result<Vec<u8>> {
        match *self.source {}
    }

    pub(crate) fn map_more(&self, _bytes: Bytes, _least: usize) -> Result<Bytes> {
        match *self.source {}
    }
}
