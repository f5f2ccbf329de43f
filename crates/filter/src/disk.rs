//! Files: opening, memory mapping, locking and replacing them, and temporary files. Knows nothing of their contents.

#[cfg(feature = "files")]
pub(crate) mod lock;
pub(crate) mod map;
pub(crate) mod model;
#[cfg(feature = "files")]
pub(crate) mod open;
#[cfg(feature = "files")]
pub(crate) mod source;
#[cfg(not(feature = "files"))]
#[path = "disk/no_source.rs"]
pub(crate) mod source;
pub(crate) mod spool;
pub(crate) mod temporary;
