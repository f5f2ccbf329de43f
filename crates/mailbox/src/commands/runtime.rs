//! The runtime of an account.

use anyhow::{Context, Result};
use tokio::runtime::{Builder, Runtime};

/// A runtime for one account, on the calling thread.
///
/// # Errors
/// If the system refuses what it takes.
pub(crate) fn runtime() -> Result<Runtime> {
    Builder::new_current_thread().enable_all().build().context("starting")
}
