//! Documents of every format, built here, and files that are made to break readers.
#![allow(clippy::unwrap_used, reason = "clippy knows tests by their attribute, not their helpers")]

mod build;
mod documents;
mod formats;
mod hostile;
