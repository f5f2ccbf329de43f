//! Code shared by the programs of tamis: reads standard input and files, passes a message on whatever fails, opens a
//! user's model, and shows names and errors on a terminal.
//!
//! A program calls [`keep_lost_pages`] first. Linking this crate does the rest before `main`: see [`arm`].

// The rooms, the lowest first: none uses one that comes after it (tests/code/rooms.rs).
mod output;

mod expected;

mod decoded;

mod text_command;

mod stream;

mod passthrough;

mod model;

pub use decoded::{decoded, is_encoded, to_utf8};
pub use expected::{expectation, noun};
pub use model::{LazyModel, commit, make_private, open_model, variable};
pub use output::{
    DAY, ERROR, Volume, at, clean, day, done, is_closed_pipe, json_line, named, now, one_word, plain, say_at,
    say_line, seconds_now, shown, shown_path, told,
};
pub use passthrough::rescue::{
    arm, asks_for_passthrough, keep_lost_pages, passes_input_through, survive_file_limits,
};
pub use passthrough::{Passthrough, standard_output};
pub use stream::{Contents, Stream, read_document, read_start};
pub use tamis_report::{counted, grouped};
pub use text_command::{TextCommand, TextCommands};
