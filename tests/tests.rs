//! The program and the library as their users meet them.
#![allow(clippy::unwrap_used, clippy::print_stderr, unreachable_pub)]

mod code;
mod evaluation;
mod faults;
mod files;
mod learning;
mod mail;
mod program;
mod shards;
mod sources;
mod support;
mod tables;
mod text;
