//! The model of an account: what it says of a message, and what it is taught.

pub(crate) mod judge;
pub(crate) mod message;
pub(crate) mod teach;
