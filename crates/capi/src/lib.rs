//! The C API. Its documentation is `include/tamis.h`, which cbindgen writes from this crate.
//!
//! [`functions`] holds the functions that C calls, [`filter`] the handle, and [`edge`] the boundary between the two
//! languages: pointers are checked there, and panics stop there.
#![allow(unsafe_code, reason = "C passes pointers; each use of one has its reason beside it")]
#![allow(
    clippy::missing_safety_doc,
    reason = "the first lines of the header say what holds for every pointer"
)]

// The rooms, the lowest first: none uses one that comes after it (tests/code/rooms.rs).
mod edge;

mod filter;

mod functions;

pub use filter::TamisFilter;
pub use functions::{
    TamisDocument, TamisExplanation, TamisScore, TamisTerm, tamis_explain, tamis_explain_mail,
    tamis_explain_text, tamis_explanation_free, tamis_forget, tamis_forget_mail, tamis_forget_text,
    tamis_free, tamis_last_error, tamis_learn, tamis_learn_mail, tamis_learn_text, tamis_open,
    tamis_open_bytes, tamis_reload, tamis_score, tamis_score_mail, tamis_score_text, tamis_version,
};
