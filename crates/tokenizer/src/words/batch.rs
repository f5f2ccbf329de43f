//! Positions of words, and batches of terms.

/// A word and its position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WordSpan<'t> {
    /// Its first byte.
    pub(crate) start: usize,
    pub(crate) text: &'t str,
}

/// Several terms of a text, in order.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The text, of which only the spans need be valid UTF-8. Bytes avoid a check per occurrence.
    pub(crate) bytes: &'a [u8],
    /// Start and end of each term. At most [`Batch::MOST`] terms.
    pub(crate) spans: &'a [[usize; 2]],
    pub(crate) are_signs: bool,
}

impl<'a> Batch<'a> {
    /// Maximum number of terms in a batch.
    pub const MOST: usize = 64;

    /// Splits the terms at these spans of a text into batches.
    pub fn each(text: &'a str, spans: &'a [[usize; 2]]) -> impl Iterator<Item = Batch<'a>> {
        Batch::of_bytes(text.as_bytes(), spans)
    }

    /// The same for bytes that are UTF-8 within the spans. Batches have about equal size.
    pub(crate) fn of_bytes(bytes: &'a [u8], spans: &'a [[usize; 2]]) -> impl Iterator<Item = Batch<'a>> {
        let batches = spans.len().div_ceil(Batch::MOST);
        spans.chunks(spans.len().div_ceil(batches.max(1)).max(1)).map(move |spans| Batch {
            bytes,
            spans,
            are_signs: false,
        })
    }

    /// Whether these are [signs](crate::TokenizerOptions::signs).
    pub fn are_signs(&self) -> bool {
        self.are_signs
    }

    /// The terms.
    pub fn iter(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let bytes = self.bytes;
        self.spans.iter().map(|span| term(bytes, *span))
    }
}

/// Returns a term of a batch. Spans are valid UTF-8, so the fallback is never used.
pub(crate) fn term(bytes: &[u8], [start, end]: [usize; 2]) -> &str {
    std::str::from_utf8(&bytes[start..end]).unwrap_or_default()
}
