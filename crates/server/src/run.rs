//! Starting and stopping.

pub(crate) mod server;

pub use server::serve;
