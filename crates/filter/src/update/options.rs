//! Options of online learning.

use std::time::Duration;

use crate::disk::lock::LOCK_TIMEOUT;
use crate::error::{ErrorKind, Result};
use crate::file::log;

/// Options of a [`Learner`](crate::Learner).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LearnOptions {
    /// How long to wait while another process is changing the model; a minute by default.
    pub lock_timeout: Duration,
    /// Bytes of what was learned that may lie in the file's log, where every reader goes through them, before the file is written
    /// anew; 128 KiB by default, some hundred messages, and at most [`MAX_LOG_LIMIT`](Self::MAX_LOG_LIMIT). As long as the file
    /// may grow, a quarter of it becomes a segment instead, in which readers look up what they need. With 0 the file is written anew
    /// every time.
    pub log_limit: usize,
    /// Bytes by which log and segments may make the file longer before it is written anew; by default as many as it had then.
    /// A small file so has no segments.
    pub growth_limit: Option<u64>,
}

impl LearnOptions {
    /// The highest [`log_limit`](Self::log_limit): no reader takes more log than that, 128 MiB.
    pub const MAX_LOG_LIMIT: usize = log::LIMIT;

    pub(super) fn check(&self) -> Result<()> {
        let (limit, got) = (Self::MAX_LOG_LIMIT as u64, self.log_limit as u64);
        match got > limit {
            true => Err(ErrorKind::TooLarge { what: "bytes of log (log_limit)", limit, got }.into()),
            false => Ok(()),
        }
    }
}

impl Default for LearnOptions {
    fn default() -> Self {
        LearnOptions { lock_timeout: LOCK_TIMEOUT, log_limit: 128 << 10, growth_limit: None }
    }
}
