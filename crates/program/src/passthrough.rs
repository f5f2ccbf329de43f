//! A message that is passed on whatever fails.

pub(crate) mod held;
pub(crate) mod passed;
pub(crate) mod rescue;
