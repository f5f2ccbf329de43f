//! Options of online learning.

use std::time::Duration;

use tamis_store::error::{Reason, Result};
use tamis_store::file::log;

use crate::lock::LOCK_TIMEOUT;

/// Options of a [`Learner`](crate::Learner).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LearnOptions {
    /// How long to wait while another process is changing the model; a minute by default.
    pub lock_timeout: Duration,
    /// Maximum size of the file's log in bytes: 128 KiB by default, about a hundred messages, and at most
    /// [`MAX_LOG_LIMIT`](Self::MAX_LOG_LIMIT). Every reader reads the whole log. While the file may
    /// [grow](Self::growth_limit), the log becomes a segment at a quarter of this size; readers read only what they
    /// look up in a segment. A file that may not grow is rewritten when its log reaches a quarter of the file's size
    /// after the last rewrite, but not before an eighth of this size, and at this size at the latest. With 0, every
    /// commit rewrites the file.
    pub log_limit: usize,
    /// Bytes by which log and segments may make the file longer before it is rewritten; by default its size after the
    /// last rewrite. A small file therefore has no segments.
    pub growth_limit: Option<u64>,
    /// The time of learning, in seconds since 1970. Documents without a date, or with a later one, get it as their
    /// date. `None` by default: documents keep their own date, if any.
    pub learned_at: Option<i64>,
    /// Whether [`commit`](crate::Learner::commit) retrains the model when that is
    /// [due](crate::Learner::wants_retraining); true by default.
    pub retrain: bool,
}

impl LearnOptions {
    /// The highest [`log_limit`](Self::log_limit), 128 MiB: readers refuse a longer log.
    pub const MAX_LOG_LIMIT: usize = log::LIMIT;

    pub(super) fn check(&self) -> Result<()> {
        let (limit, got) = (Self::MAX_LOG_LIMIT as u64, self.log_limit as u64);
        match got > limit {
            true => Err(Reason::TooLarge { what: "bytes of log (log_limit)", limit, got }.into()),
            false => Ok(()),
        }
    }
}

impl Default for LearnOptions {
    fn default() -> Self {
        LearnOptions {
            lock_timeout: LOCK_TIMEOUT,
            log_limit: 128 << 10,
            growth_limit: None,
            learned_at: None,
            retrain: true,
        }
    }
}
