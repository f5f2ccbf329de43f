//! A part of a message.
use crate::html::html_to_text;
use std::borrow::Cow;

/// A MIME part of a message. A message that is no multipart is one part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// How many parts this one lies within.
    pub depth: usize,
    /// Type and subtype in lower case, as `text/html`; `text/plain` where none or nonsense is declared.
    pub content_type: String,
    /// The declared charset in lower case.
    pub charset: Option<String>,
    /// The declared transfer encoding in lower case.
    pub transfer_encoding: Option<String>,
    /// The name of the file that the part holds, decoded.
    pub file_name: Option<String>,
    /// The text of a `text/*` part, attachments included, HTML still with its tags. For a nested message
    /// it is that message's subject; for a container or nested message that could not be opened, all that
    /// is in it. None for other parts.
    pub text: Option<String>,
    /// Whether the text is HTML: declared so, or with an `<html` tag among its first 2,000 bytes.
    pub is_html: bool,
}

impl Part {
    /// The text to read: HTML converted. Empty for parts that have none.
    pub fn plain_text(&self) -> Cow<'_, str> {
        match &self.text {
            Some(text) if self.is_html => Cow::Owned(html_to_text(text)),
            Some(text) => Cow::Borrowed(text),
            None => Cow::Borrowed(""),
        }
    }
}
