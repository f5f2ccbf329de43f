//! The code itself: rooms, public items, and the pages that name them.

mod api;
mod checks;
mod named_places;
pub mod rooms;
mod signatures;
