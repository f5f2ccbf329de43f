//! Mail to fields of text: RFC 5322, MIME and HTML, parsed leniently and within limits.
//!
//! Raw bytes go in, a [`Message`] comes out: its header fields with RFC 2047 words decoded, its MIME
//! parts with their text in UTF-8. This is the only crate of tamis that sees hostile mail, and these are
//! its promises:
//!
//! * **Parsing always yields something.** There is no error type: whatever is broken is read as text.
//! * **It never panics**, and no structure of a message is followed by unbounded recursion.
//! * **Time is linear, memory bounded**, both by [`Limits`]; what a limit cut off is told by
//!   [`Message::limits_hit`].
//! * **Nothing is printed**, and nothing global is changed.
//!
//! The MIME structure is read by this crate's own splitter, not by a parser crate: cutting a region into
//! smaller regions needs no tree, so there is nothing to overflow a stack when it is dropped, every
//! boundary is found at line starts only, and no scan is repeated for a boundary that never comes.
//! mail-parser, the best of the crates looked at, aborts the process on nested messages and needs
//! quadratic time on some multiparts; the tests still use it as a second opinion on real mail.
//!
//! ```
//! use tamis_mail::{Limits, Message};
//!
//! let raw = b"Subject: =?utf-8?q?Caf=C3=A9?=\r\nContent-Type: text/html\r\n\r\n<p>One<p>t<b>w</b>o\r\n";
//! let message = Message::parse(raw, &Limits::default());
//! assert_eq!(message.subject(), "Café");
//! assert_eq!(message.body(), "One\ntwo\n");
//! assert!(message.limits_hit().is_empty());
//! ```
#![forbid(unsafe_code)]
#![allow(clippy::module_inception, reason = "a room has the type in it that it is named for")]

// The rooms, the lowest first: none uses one that comes after it (tests/rooms.rs).
mod html;

mod message;

mod mailbox;

pub mod passthrough;

mod terms;

#[doc(hidden)]
pub use html::standard as reference;
pub use html::{HtmlText, html_links, html_to_text, read_html};
pub use mailbox::{maildir, mbox};
pub use message::charset::decode_text;
pub use message::detect::looks_like_mail;
pub use message::ignored;
pub use message::limits::{Limits, LimitsHit};
pub use message::message::{Header, Message};
pub use message::part::Part;
pub use terms::{Piece, Scope};
