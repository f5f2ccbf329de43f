//! An open model file: its terms, counts, texts and documents, read in place.

pub mod compact;
pub mod documents;
pub mod information;
pub mod layers;
pub mod opened;
pub mod overlay;
pub mod sections;
pub mod segment;
pub mod verify;
