//! A MIME part of a message.
use crate::html::html_to_text;
use std::borrow::Cow;

/// A MIME part. A message that is not a multipart has one part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// Nesting depth: the number of enclosing parts.
    pub depth: usize,
    /// Type and subtype in lower case, such as `text/html`; `text/plain` if missing or invalid.
    pub content_type: String,
    /// The declared charset in lower case.
    pub charset: Option<String>,
    /// The declared transfer encoding in lower case.
    pub transfer_encoding: Option<String>,
    /// The decoded file name of an attachment.
    pub file_name: Option<String>,
    /// The text of a `text/*` part, attachments included; HTML has its tags. For a nested message, its subject; for a
    /// container or nested message beyond the limits, its whole content. `None` for other parts.
    pub text: Option<String>,
    /// Whether the text is HTML: declared, or with an `<html` tag in its first 2,000 bytes.
    pub is_html: bool,
}

impl Part {
    /// The text with HTML converted to text. Empty for parts without text.
    pub fn plain_text(&self) -> Cow<'_, str> {
        match &self.text {
            Some(text) if self.is_html => Cow::Owned(html_to_text(text)),
            Some(text) => Cow::Borrowed(text),
            None => Cow::Borrowed(""),
        }
    }
}
