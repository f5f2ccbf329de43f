//! From bytes to a message: its header fields, its parts, its text.
//!
//! A [`Message`](message::Message) is what the rest of tamis sees. [`fields`] are lines of a header, [`mime`] splits a message into
//! [parts](part::Part); [`transfer`], [`charset`], [`encoded_word`] and [`parameters`] decode what they hold.

pub(crate) mod charset;
pub(crate) mod detect;
pub(crate) mod encoded_word;
pub(crate) mod fields;
pub mod ignored;
pub(crate) mod limits;
pub(crate) mod message;
pub(crate) mod mime;
pub(crate) mod parameters;
pub(crate) mod part;
pub(crate) mod transfer;
