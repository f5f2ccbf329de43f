//! Tests of the file and of scoring that need a trained model.

mod beside_text;
mod fallback;
mod header;
mod mixed;
mod terms;
mod vectors;
mod words;
