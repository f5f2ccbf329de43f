//! What stands for the file of a model where models come as bytes: nothing.

use std::convert::Infallible;

use crate::disk::map::Bytes;
use crate::error::Result;

/// Stands for the file of an open model. There never is one.
pub(crate) enum ModelFile {}

/// Stands for a file while it is open. There never is one.
#[derive(Clone, Copy)]
pub(crate) struct MappedFile<'a>(&'a Infallible);

impl MappedFile<'_> {
    pub(crate) fn read_from(&self, _offset: usize, _most: usize) -> Result<Vec<u8>> {
        match *self.0 {}
    }

    pub(crate) fn map_more(&self, _bytes: Bytes, _least: usize) -> Result<Bytes> {
        match *self.0 {}
    }
}
