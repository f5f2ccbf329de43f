//! Whole messages: of every shape, hostile, and real.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // tests, and the word about a test that is skipped
mod attachments;
mod corpus;
mod forwarded;
mod hostile;
mod malformed;
mod packed;
mod passthrough;
mod shapes;
mod terms;
