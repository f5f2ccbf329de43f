//! Faults: damage, crashes, hostile input, limits.

pub mod crash;
mod fuzz_corpus;
mod hostile;
mod limits;
pub mod model_file;
