//! Code shared by the programs of tamis: reads standard input and files, passes a message on whatever fails, opens a
//! user's model, and shows names and errors on a terminal.
//!
//! A program calls [`keep_lost_pages`] first. Linking this crate does the rest before `main`: see [`arm`].

// The rooms, the lowest first: none uses one that comes after it (tests/code/rooms.rs).
mod output;

mod input;

mod passthrough;

mod model;

pub use input::decoded::{decoded, is_encoded};
pub use input::stream::{Contents, Stream, read_document, read_start};
pub use model::learning::commit;
pub use model::opened::{Model, check_unchanged, make_private, open_model};
pub use output::dates::{DAY, at, day, now, seconds_now, today};
pub use output::expected::{expectation, noun};
pub use output::shown::{
    clean, json_line, named, one_word, plain, say_at, say_line, shown, shown_path, told,
};
pub use output::status::{ERROR, is_closed_pipe};
pub use output::volume::{Volume, done};
pub use passthrough::held::{Held, standard_output};
pub use passthrough::passed::{asks_for_passthrough, passes_input_through};
pub use passthrough::rescue::{arm, keep_lost_pages, return_large_blocks, survive_file_limits};
pub use tamis_report::{counted, grouped};
