//! Documents of every format, built here, and files that are made to break readers.

mod build;
mod documents;
mod formats;
mod hostile;
