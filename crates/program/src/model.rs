//! A user's model, whose file may change meanwhile.

pub(crate) mod learning;
pub(crate) mod opened;
