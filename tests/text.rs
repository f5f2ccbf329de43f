//! Text: topics, groups, terms, documents without a label.

mod groups;
mod pairs;
mod public_corpora;
mod text_forms;
mod topics;
mod unlabelled;
