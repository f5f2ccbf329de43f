//! Parsing a message: header fields, MIME parts, text.
//!
//! A [`Message`](message::Message) is the result. [`fields`] reads header fields and [`mime`] splits a message into
//! [parts](part::Part); [`transfer`] (quoted-printable, base64), [`charset`], [`encoded_word`] and [`parameters`]
//! decode them.

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
