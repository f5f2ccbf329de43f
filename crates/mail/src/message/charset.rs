//! Charsets: bytes to text.
use encoding_rs::{DecoderResult, Encoding, UTF_16BE, UTF_16LE, WINDOWS_1252};
use memchr::{memchr, memchr_iter};
use std::borrow::Cow;

/// Decodes text in the declared charset if that works without error, else in UTF-8, else in windows-1252.
///
/// `charset` is a label as mail writes it (`"koi8-r"`, `"Latin1"`; WHATWG's list, any case). `us-ascii` is ignored:
/// pure ASCII needs no charset, and other text was mislabelled. A byte order mark is left out. That of UTF-8 overrides
/// the charset. That of UTF-16 does not, or two bytes could hide a text; without a known charset, it counts only if at
/// least a quarter of the bytes are zeros, as in UTF-16. windows-1252 never fails. NUL characters are removed.
///
/// ```
/// use tamis_mail::decode_text;
///
/// assert_eq!(decode_text(b"\xf0\xd2\xc9\xd7\xc5\xd4", Some("KOI8-R")), "Привет");
/// assert_eq!(decode_text(b"caf\xc3\xa9", None), "café");
/// assert_eq!(decode_text(b"caf\xe9", Some("utf-8")), "café");
/// ```
pub fn decode_text<'a>(bytes: &'a [u8], charset: Option<&str>) -> Cow<'a, str> {
    decode(bytes, charset, false)
}

/// As [`decode_text`]. If the bytes were `cut` off, drops an incomplete character at the end.
pub(crate) fn decode<'a>(bytes: &'a [u8], charset: Option<&str>, cut: bool) -> Cow<'a, str> {
    let (mark, length) = Encoding::for_bom(bytes).unzip();
    let bytes = &bytes[length.unwrap_or(0)..];
    let text = mark
        .filter(|mark| is_believable(mark, charset, bytes))
        .and_then(|mark| strict(mark, bytes, cut))
        .or_else(|| strict(declared(charset?)?, bytes, cut))
        .or_else(|| utf8(bytes, cut))
        .unwrap_or_else(|| WINDOWS_1252.decode_without_bom_handling(bytes).0);
    without_nul(text)
}

/// Decodes header text: UTF-8, else windows-1252. Ignores byte order marks of other encodings, which could swallow line
/// ends.
pub(crate) fn decode_header(bytes: &[u8]) -> Cow<'_, str> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    without_nul(utf8(bytes, false).unwrap_or_else(|| WINDOWS_1252.decode_without_bom_handling(bytes).0))
}

/// Whether to believe a byte order mark, given the declared charset.
fn is_believable(mark: &'static Encoding, charset: Option<&str>, bytes: &[u8]) -> bool {
    let is_wide = |encoding| encoding == UTF_16LE || encoding == UTF_16BE;
    match charset.map(|label| (is_ascii(label), declared(label))) {
        _ if !is_wide(mark) => true,
        Some((_, Some(encoding))) => is_wide(encoding),
        Some((true, None)) => false,
        Some((false, None)) | None => 4 * memchr_iter(0, bytes).count() >= bytes.len(),
    }
}

fn without_nul(text: Cow<'_, str>) -> Cow<'_, str> {
    match memchr(0, text.as_bytes()) {
        Some(_) => Cow::Owned(text.replace('\0', "")),
        None => text,
    }
}

fn declared(label: &str) -> Option<&'static Encoding> {
    if is_ascii(label) { None } else { Encoding::for_label(unquoted(label).as_bytes()) }
}

fn is_ascii(label: &str) -> bool {
    ["us-ascii", "ascii", "ansi_x3.4-1968"].iter().any(|ascii| unquoted(label).eq_ignore_ascii_case(ascii))
}

fn unquoted(label: &str) -> &str {
    label.trim_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\''))
}

fn strict<'a>(encoding: &'static Encoding, bytes: &'a [u8], cut: bool) -> Option<Cow<'a, str>> {
    if !cut {
        return encoding.decode_without_bom_handling_and_without_replacement(bytes);
    }
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut text = String::with_capacity(decoder.max_utf8_buffer_length_without_replacement(bytes.len())?);
    let (result, _) = decoder.decode_to_string_without_replacement(bytes, &mut text, false);
    (result == DecoderResult::InputEmpty).then_some(Cow::Owned(text))
}

fn utf8(bytes: &[u8], cut: bool) -> Option<Cow<'_, str>> {
    match str::from_utf8(bytes) {
        Ok(text) => Some(Cow::Borrowed(text)),
        Err(error) if cut && error.error_len().is_none() => {
            str::from_utf8(&bytes[..error.valid_up_to()]).ok().map(Cow::Borrowed)
        }
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_charsets() {
        for (bytes, charset, expected) in [
            (&b"plain"[..], "us-ascii", "plain"),
            (b"caf\xc3\xa9", "US-ASCII", "café"),
            (b"caf\xe9", "iso-8859-1", "café"),
            (b"caf\xe9", " \"ISO-8859-1\" ", "café"),
            (b"\x80 5", "iso-8859-1", "€ 5"),
            (b"\xd0\xcf\xce", "koi8-r", "пон"),
            (b"\xc4\xe3\xba\xc3", "gb2312", "你好"),
            (b"\x1b$B$3$s\x1b(B", "iso-2022-jp", "こん"),
            (b"h\0i\0", "utf-16le", "hi"),
            (b"caf\xe9", "utf-8", "café"),
            (b"caf\xc3\xa9", "no-such-charset", "café"),
            (b"\xff\xff", "gb2312", "ÿÿ"),
        ] {
            assert_eq!(decode_text(bytes, Some(charset)), expected, "{charset}");
        }
    }

    #[test]
    fn marks_and_nuls() {
        assert_eq!(decode_text(b"\xef\xbb\xbfhi", None), "hi");
        assert_eq!(decode_text(b"\xff\xfeh\0i\0", Some("iso-8859-1")), "hi");
        assert_eq!(decode_text(b"\xff\xfeh\0i\0", None), "hi");
        assert_eq!(decode_text(b"\xff\xfe\x60\x4f", Some("utf-16")), "\u{4f60}");
        assert_eq!(decode_text(b"vi\0agra\0", None), "viagra");
        assert_eq!(decode_text(b"", Some("utf-8")), "");
    }

    #[test]
    fn a_mark_that_contradicts_the_charset_hides_nothing() {
        let charsets =
            ["us-ascii", "utf-8", "iso-8859-1", "windows-1252", "koi8-r", "gb2312", "no-such-charset"];
        for charset in charsets.map(Some).into_iter().chain([None]) {
            for mark in [&b"\xff\xfe"[..], b"\xfe\xff", b"\xef\xbb\xbf"] {
                assert_eq!(
                    decode_text(&[mark, b"cheap pills!"].concat(), charset),
                    "cheap pills!",
                    "{charset:?}"
                );
            }
        }
    }

    #[test]
    fn only_cut_text_may_end_in_half_a_character() {
        assert_eq!(decode(b"caf\xc3", None, false), "cafÃ");
        assert_eq!(decode(b"caf\xc3", None, true), "caf");
        assert_eq!(decode(b"\xc4\xe3\xba", Some("gb2312"), true), "你");
        assert_eq!(decode(b"caf\xe9 au lait", Some("utf-8"), true), "café au lait");
    }
}
