//! An open model file: its terms, counts, texts and documents, read in place.

pub(crate) mod add;
pub(crate) mod compact;
pub(crate) mod compatible;
pub(crate) mod copy;
pub(crate) mod documents;
pub(crate) mod information;
pub(crate) mod layers;
pub(crate) mod look_up;
pub(crate) mod opened;
pub(crate) mod overlay;
pub(crate) mod sections;
pub(crate) mod segment;
pub(crate) mod summarize;
pub(crate) mod verify;
