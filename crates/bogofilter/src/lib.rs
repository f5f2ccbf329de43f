//! Replaces bogofilter: reads bogofilter's options and configuration, answers in its formats and with its exit
//! statuses, and scores with a tamis model.
//!
//! The programs `bogofilter` and `tamis bogofilter` call [`run`] with their arguments:
//!
//! ```
//! assert_eq!(tamis_bogofilter::run(&["-V".into()]), 0);
//! ```
#![forbid(unsafe_code)]

// The rooms, the lowest first: none uses one that comes after it (tests/code/rooms.rs).
mod options;

mod answers;

mod folder;

mod mails;

mod run;

pub use run::run;
