//! Files: opening, memory mapping, locking and replacing them, and temporary files. Knows nothing of their contents.

pub mod map;
#[cfg(unix)]
pub mod open;
#[cfg(unix)]
pub mod source;
#[cfg(not(unix))]
#[path = "disk/no_source.rs"]
pub mod source;
pub mod spool;
pub mod temporary;
