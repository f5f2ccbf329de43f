//! Merging models: terms with new ids, documents in canonical order, shared documents counted once. Compaction, new
//! labels and retraining rewrite a model the same way.

pub(crate) mod documents;
pub(crate) mod families;
pub(crate) mod models;
pub(crate) mod refit;
pub(crate) mod rewrite;
pub(crate) mod stores;
pub(crate) mod surplus;
