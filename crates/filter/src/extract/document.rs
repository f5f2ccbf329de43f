//! A document to learn from or to score.

/// One document to learn from or to score.
///
/// A model of mail takes `Mail` and `Fields`, a model of text takes `Text` and `Fields`, a model of a table `Fields`.
#[derive(Clone, Copy, Debug)]
pub enum Document<'a> {
    /// A raw RFC 5322 message.
    Mail(&'a [u8]),
    /// Text. Of HTML and XML only the text is read, unless [`Recipe::raw`](crate::Recipe::raw) is set.
    Text(&'a str),
    /// Named fields of text: `("subject", "...")`; the field with the empty name is the body. For a table, a row: cells
    /// by column name. A column without a field is missing; other fields are ignored.
    Fields(&'a [(&'a str, &'a str)]),
}

impl Document<'_> {
    /// The length of all its text, in bytes.
    pub(super) fn n_bytes(self) -> usize {
        match self {
            Document::Mail(raw) => raw.len(),
            Document::Text(text) => text.len(),
            Document::Fields(fields) => fields.iter().map(|(_, text)| text.len()).sum(),
        }
    }
}
