//! An open model file: its terms, counts, texts and documents, read in place.

pub mod add;
pub mod compact;
pub mod compatible;
pub mod copy;
pub mod documents;
pub mod information;
pub mod layers;
pub mod look_up;
pub mod opened;
pub mod overlay;
pub mod sections;
pub mod segment;
pub mod summarize;
pub mod verify;
