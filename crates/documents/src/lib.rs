//! What a file is, by its bytes, and the text of documents.
//!
//! * [`Format::of`] recognises a file by its first bytes, and a zip archive by the names in it; [`is_binary`] tells
//!   binary data from text.
//! * [`text_of`] reads the text of DOCX, PPTX, XLSX, ODT, ODP, ODS, EPUB, RTF, SVG, notebooks and zip archives.
//! * [`members`] yields the files of a zip archive.
//!
//! ```
//! use tamis_documents::{Format, Limits, text_of};
//!
//! let bytes = br"{\rtf1\ansi\ansicpg1252 {\b Dear} J\'fcrgen,\par see you at ten.}";
//! assert_eq!(Format::of(bytes), Some(Format::Rtf));
//! let document = text_of(bytes, &Limits::default())?;
//! assert_eq!(document.text, "Dear Jürgen,\nsee you at ten.");
//! # Ok::<(), tamis_documents::Unread>(())
//! ```
//!
//! Nothing here panics, whatever the bytes, and [`Limits`] bound time and memory: bytes are counted as they are
//! inflated, nothing recurses, and entities of a DTD are not expanded.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

// The rooms, the lowest first: none uses one that comes after it (tests/code/rooms.rs).
mod marks;

mod xml;

mod format;

mod limits;

mod archive;

mod markup;

mod office;

mod epub;

mod notebook;

mod rtf;

mod text;

pub use archive::{Member, members};
pub use format::{Format, is_binary};
pub use limits::{Limits, Text, Unread};
pub use text::text_of;
