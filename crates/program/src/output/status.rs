//! Exit statuses.

use std::io;

use tamis_filter::{Error, ErrorKind};

/// The exit status of every error, including usage errors.
pub const ERROR: u8 = 3;

/// Whether an error only means that the reader closed the pipe.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
            || matches!(cause.downcast_ref().map(Error::kind), Some(ErrorKind::Io { source, .. }) if source.kind() == io::ErrorKind::BrokenPipe)
            || cause.downcast_ref::<csv::Error>().is_some_and(
                |e| matches!(e.kind(), csv::ErrorKind::Io(e) if e.kind() == io::ErrorKind::BrokenPipe),
            )
    })
}
