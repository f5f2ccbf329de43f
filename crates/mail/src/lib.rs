//! Mail to fields of text: RFC 5322, MIME and HTML, parsed leniently and within limits.
//!
//! Raw bytes go in, a [`Message`] comes out: its header fields with RFC 2047 words decoded, its MIME parts with their
//! text in UTF-8. This is the only crate of tamis that parses hostile mail. It promises:
//!
//! * **Parsing always yields something.** There is no error type: broken structure is read as text.
//! * **It never panics**, and recursion is bounded for any message structure.
//! * **Time is linear, memory bounded**, both by [`Limits`]; [`Message::limits_hit`] tells which limits truncated a
//!   message.
//! * **It prints nothing** and changes no global state.
//!
//! MIME is split by this crate's own code, not by a parser crate. It cuts regions into smaller regions and builds no
//! tree, so dropping cannot overflow the stack; boundaries are searched at line starts only, and never twice.
//! mail-parser, the best crate we found, aborts the process on nested messages and needs quadratic time on some
//! multiparts; the tests use it as a second opinion on real mail.
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

// The rooms, the lowest first: none uses one that comes after it (tests/code/rooms.rs).
mod html;

mod message;

pub mod maildir;

pub mod mbox;

pub mod passthrough;

mod terms;

mod file;

pub use file::{file_text, lacks_header, not_mail};
pub use html::markup::markup_to_text;
#[cfg(any(test, feature = "reference"))]
#[doc(hidden)]
pub use html::standard as reference;
pub use html::{HtmlText, html_to_text, read_html};
pub use message::author::{Author, header_values, is_within};
pub use message::charset::{decode_text, whole_characters};
pub use message::fields::looks_like_mail;
pub use message::forwarded::forwarded_messages;
pub use message::ignored;
pub use message::limits::{Limits, LimitsHit};
pub use message::part::{ContentDigest, Part};
pub use message::{HeaderField, Message};
pub use terms::{Piece, Scope, for_each_bogofilter_token};

/// The README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
