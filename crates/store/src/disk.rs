//! Files: opening, memory mapping, and temporary files. Knows nothing of their contents.

pub mod map;
pub mod memory;
pub mod open;
pub mod source;
pub mod spool;
