//! Text: topics, groups, terms, documents without a label.

mod families;
mod groups;
mod public_corpora;
mod text_forms;
mod topics;
mod unlabelled;
mod vectors;
