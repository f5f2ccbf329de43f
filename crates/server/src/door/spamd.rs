//! spamd's protocol, 1.0 to 1.5, and the lines of Exim's rspamd variant, which have the same form. One request a
//! connection.
//!
//! The forms of the answers are those of spamd 4.0.1, byte for byte; its scale too: spam begins at 5.0.

pub(crate) mod conversation;
pub(crate) mod reply;
pub(crate) mod request;

pub(crate) use conversation::serve;
pub(crate) use reply::FULL;
