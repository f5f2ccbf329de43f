//! Files: opened, mapped, locked, replaced, and temporary ones. What is in them is no matter here.

pub(crate) mod lock;
pub(crate) mod map;
pub(crate) mod model;
pub(crate) mod open;
pub(crate) mod source;
pub(crate) mod spool;
