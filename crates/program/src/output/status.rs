//! Exit statuses.

use std::io;

use tamis_train::Error;

/// The exit status of every error, including usage errors.
pub const ERROR: u8 = 3;

/// Whether an error only means that the reader closed the pipe.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let of_table = cause.downcast_ref::<csv::Error>().and_then(|error| match error.kind() {
            csv::ErrorKind::Io(error) => Some(error),
            _ => None,
        });
        let of_model = cause.downcast_ref().and_then(Error::io_error);
        let error = cause.downcast_ref().or(of_model).or(of_table);
        error.is_some_and(|error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}
