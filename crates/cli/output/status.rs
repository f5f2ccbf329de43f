//! How the program ends.

use std::io::{self, ErrorKind};

use tamis_filter::Error;

/// The exit status of every error, of usage and of the program's own.
pub(crate) const ERROR: u8 = 3;

/// Whether an error only says that nobody reads our output any more.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == ErrorKind::BrokenPipe)
            || matches!(cause.downcast_ref(), Some(Error::Io { source, .. }) if source.kind() == ErrorKind::BrokenPipe)
            || cause.downcast_ref::<csv::Error>().is_some_and(
                |e| matches!(e.kind(), csv::ErrorKind::Io(e) if e.kind() == ErrorKind::BrokenPipe),
            )
    })
}
