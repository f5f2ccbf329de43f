//! Scans CSS (CSS Syntax 3): declarations, lists and blocks, with strings, escapes and comments.
use memchr::{memchr2, memmem};
use std::borrow::Cow;

/// Bytes that need a closer look.
static SPECIAL: [bool; 256] = {
    let (mut special, mut i) = ([false; 256], 0);
    let bytes = b"\\/\"'()[]{}";
    while i < bytes.len() {
        special[bytes[i] as usize] = true;
        i += 1;
    }
    special
};

/// Returns the end of a stretch of CSS: the position of the first byte for which `stops` holds, outside of
/// strings, comments, escapes and brackets; or the length of the text.
#[inline]
pub(super) fn end_of(text: &str, stops: impl Fn(u8) -> bool) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    let next = |at: usize| {
        let rest = bytes.get(at..).unwrap_or_default();
        rest.iter().position(|byte| SPECIAL[usize::from(*byte)] || stops(*byte)).map(|length| at + length)
    };
    while let Some(found) = next(at) {
        at = found;
        match bytes[at] {
            byte if depth == 0 && stops(byte) => break,
            b'\\' => at += 1,
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at += 3 + memmem::find(&bytes[at + 2..], b"*/").unwrap_or(bytes.len());
            }
            quote @ (b'"' | b'\'') => at = end_of_string(bytes, at + 1, quote),
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => (),
        }
        at += 1;
    }
    let is_end = bytes.get(at).is_some_and(|byte| depth == 0 && stops(*byte));
    let end = if is_end { at } else { bytes.len() };
    #[cfg(test)]
    tamis_testing::step(end);
    end
}

/// The position of the quote or line end that ends a string.
fn end_of_string(bytes: &[u8], mut at: usize, quote: u8) -> usize {
    while let Some(byte) = bytes.get(at).filter(|byte| **byte != quote && **byte != b'\n') {
        at += 1 + usize::from(*byte == b'\\');
    }
    at
}

/// The parts of a list, separated by `separator`.
pub(super) fn split(text: &str, separator: u8) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = end_of(text, |byte| byte == separator);
        rest = text.get(end + 1..);
        Some(&text[..end])
    })
}

/// The text in lower case, with escapes decoded and a space for every comment.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    let has_capitals = text.bytes().fold(false, |has, byte| has | byte.is_ascii_uppercase());
    if memchr2(b'\\', b'*', text.as_bytes()).is_none() {
        return if has_capitals { Cow::Owned(text.to_ascii_lowercase()) } else { Cow::Borrowed(text) };
    }
    let (mut plain, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(['\\', '/']) {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with("/*") {
            let end = rest[2..].find("*/").map_or(rest.len(), |end| end + 4);
            plain.push(' ');
            rest = &rest[end..];
        } else if let Some(escaped) = rest.strip_prefix('\\') {
            rest = unescape(escaped, &mut plain);
        } else {
            plain.push('/');
            rest = &rest[1..];
        }
    }
    plain.push_str(rest);
    plain.make_ascii_lowercase();
    Cow::Owned(plain)
}

/// Appends the character that an escape stands for, given what follows its backslash. Returns the rest.
pub(super) fn unescape<'t>(text: &'t str, out: &mut String) -> &'t str {
    let digits = text.bytes().take(6).take_while(u8::is_ascii_hexdigit).count();
    if digits > 0 {
        let code = u32::from_str_radix(&text[..digits], 16).unwrap_or_default();
        out.push(char::from_u32(code).filter(|c| *c != '\0').unwrap_or('\u{fffd}'));
        let rest = &text[digits..];
        return rest.strip_prefix([' ', '\t', '\n', '\x0c']).unwrap_or(rest);
    }
    let mut characters = text.chars();
    out.extend(characters.next().filter(|c| *c != '\n'));
    characters.as_str()
}
