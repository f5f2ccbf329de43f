//! Positions of words, batches of terms, and stretches of long text.

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

    /// Calls `emit` with a batch of one term.
    pub(crate) fn of_one(term: &str, emit: &mut impl FnMut(Batch<'_>)) {
        emit(Batch { bytes: term.as_bytes(), spans: &[[0, term.len()]], are_signs: false });
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

/// Cuts a text into stretches of about `size` bytes, at white space if possible.
///
/// Concatenated, the stretches are the text. Each has at least `size` bytes (except the last) and at most twice that
/// plus one character.
///
/// ```
/// let stretches: Vec<_> = tamis_tokenizer::stretches("ab cd ef", 4).collect();
/// assert_eq!(stretches, ["ab cd", " ef"]);
/// ```
pub fn stretches(text: &str, size: usize) -> impl Iterator<Item = &str> {
    let size = size.max(1);
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let least = rest.ceil_char_boundary(size.min(rest.len()));
        let most = rest.ceil_char_boundary(size.saturating_mul(2).min(rest.len()));
        let end = rest[least..most].find(char::is_whitespace).map_or(most, |space| least + space);
        let (stretch, after) = rest.split_at(end);
        rest = after;
        Some(stretch)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_at_spaces_where_there_are_some() {
        let cut = |text, size| stretches(text, size).collect::<Vec<_>>();
        assert_eq!(cut("abcdefghijk", 4), ["abcdefgh", "ijk"]);
        assert_eq!(cut("\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}", 4), ["\u{e9}\u{e9}\u{e9}\u{e9}", "\u{e9}"]);
        assert_eq!(cut("a b", usize::MAX), ["a b"]);
        assert_eq!(cut("ab", 0), ["ab"]);
        assert!(cut("", 4).is_empty());
    }
}
