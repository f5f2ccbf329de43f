//! The file of a tamis model: its settings, and how it is opened, read, extended and written.
//!
//! A [`Store`](store::opened::Store) is an open file: it looks terms up where they are mapped, with what the log changed.
//! `tamis-filter` scores over it, `tamis-train` writes files and appends to them; applications use these two. Data is
//! verified when it is first read, so a damaged model causes an [`Error`], never a wrong answer. `docs/format.md` describes
//! the file byte by byte.
//!
//! Models are opened from files on Unix; elsewhere (wasm32 too) they come as bytes.
#![deny(unsafe_code)]

// The rooms, the lowest first: none uses one that comes after it (tests/code/rooms.rs).
pub mod kind;

pub mod error;

pub mod config;

pub mod disk;

pub mod file;

pub mod store;

pub use error::{Error, ErrorKind, Result};
pub use kind::Kind;
