//! A model in use, whose file others may write to meanwhile.

pub(crate) mod opened;
pub(crate) mod rescue;
