//! Files: open, memory map, lock, replace, and temporary ones. Knows nothing of their contents.

pub(crate) mod lock;
pub(crate) mod map;
pub(crate) mod model;
pub(crate) mod open;
pub(crate) mod source;
pub(crate) mod spool;
