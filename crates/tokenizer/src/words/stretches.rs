//! Cutting long text into stretches of about equal size.

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
