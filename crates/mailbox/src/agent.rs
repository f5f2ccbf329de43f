//! The agent: sorts what arrives, and learns from what is moved.

pub(crate) mod confirm;
pub(crate) mod decide;
pub(crate) mod digest;
pub(crate) mod inbox;
pub(crate) mod labels;
pub(crate) mod state;
pub(crate) mod undo;
pub(crate) mod watch;
