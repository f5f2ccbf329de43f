//! The program and the library as their users meet them.

mod determinism;
mod golden_output;
mod hostile;
mod model_file;
mod public_corpora;
mod readme;
mod score;
mod sources;
mod support;
