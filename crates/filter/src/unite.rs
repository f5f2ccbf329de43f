//! Unites several models: terms with new ids, documents in canonical order, shared documents.

pub(crate) mod shared;
pub(crate) mod stores;
