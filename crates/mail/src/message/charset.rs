//! Charsets: bytes to text.
use crate::message::transfer::base64;
use encoding_rs::{
    DecoderResult, EUC_KR, Encoding, GBK, ISO_2022_JP, REPLACEMENT, SHIFT_JIS, UTF_16BE, UTF_16LE,
    WINDOWS_1252,
};
use memchr::{memchr, memchr_iter};
use std::borrow::Cow;

/// Decodes text in the declared charset if that works without error, else in UTF-8, else in the declared charset if it
/// is of several bytes a character and few of them are wrong, else in windows-1252.
///
/// `charset` is a label as mail writes it (`"koi8-r"`, `"Latin1"`; WHATWG's list, any case). `us-ascii` is ignored:
/// pure ASCII needs no charset, and other text was mislabelled. A byte order mark is left out. That of UTF-8 overrides
/// the charset. That of UTF-16 does not, or two bytes could hide a text; without a known charset, it counts only if at
/// least a quarter of the bytes are zeros, as in UTF-16. UTF-16 without a mark has the byte order that its zeros tell, and
/// is ASCII if it looks so. windows-1252 never fails. NUL characters are removed.
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
        .or_else(|| utf7(charset?, bytes))
        .or_else(|| ebcdic(charset?, bytes))
        .or_else(|| strict(by_content(declared(charset?)?, bytes)?, bytes, cut))
        .or_else(|| utf8(bytes, cut))
        .or_else(|| mostly(declared(charset?)?, bytes))
        .unwrap_or_else(|| WINDOWS_1252.decode_without_bom_handling(bytes).0);
    without_nul(text)
}

/// Decodes header text: UTF-8, else windows-1252. Ignores byte order marks of other encodings, which could swallow line
/// ends.
pub(crate) fn decode_header(bytes: &[u8]) -> Cow<'_, str> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    without_nul(utf8(bytes, false).unwrap_or_else(|| WINDOWS_1252.decode_without_bom_handling(bytes).0))
}

/// Whether bytes begin with a byte order mark of UTF-16.
pub(crate) fn is_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff")
}

fn is_wide(encoding: &'static Encoding) -> bool {
    encoding == UTF_16LE || encoding == UTF_16BE
}

/// Whether to believe a byte order mark, given the declared charset.
fn is_believable(mark: &'static Encoding, charset: Option<&str>, bytes: &[u8]) -> bool {
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
    let label = unquoted(label);
    let known = if is_ascii(label) { return None } else { Encoding::for_label(label.as_bytes()) };
    known.or_else(|| alias(&label.to_ascii_lowercase()))
}

/// Names that mail has but not WHATWG's list.
fn alias(label: &str) -> Option<&'static Encoding> {
    let code_page = label.strip_prefix("windows").or_else(|| label.strip_prefix("cp-"));
    match label {
        "cp932" => Some(SHIFT_JIS),
        "cp936" => Some(GBK),
        "cp949" | "ks_c_5601" => Some(EUC_KR),
        _ if label.starts_with("iso-2022-jp-") => Some(ISO_2022_JP),
        _ => Encoding::for_label(format!("windows-{}", code_page?).as_bytes()),
    }
}

/// UTF-16 in the byte order that the zeros tell. `None` if the text is ASCII instead.
fn by_content(encoding: &'static Encoding, bytes: &[u8]) -> Option<&'static Encoding> {
    if encoding != UTF_16LE && encoding != UTF_16BE {
        return Some(encoding);
    }
    let (odd, all) = memchr_iter(0, bytes).fold((0, 0), |(odd, all), at| (odd + at % 2, all + 1));
    match all {
        0 if bytes.is_ascii() => None,
        _ if 2 * odd == all => Some(encoding),
        _ => Some(if 2 * odd < all { UTF_16BE } else { UTF_16LE }),
    }
}

/// Decodes UTF-7 (RFC 2152): base64 of UTF-16 between `+` and `-`. `None` if the label does not name it.
fn utf7(label: &str, bytes: &[u8]) -> Option<Cow<'static, str>> {
    let is_utf7 = unquoted(label).to_ascii_lowercase().ends_with("utf-7");
    let ascii = utf8(bytes, false).filter(|_| is_utf7)?;
    let mut pieces = ascii.split('+');
    let mut text = pieces.next()?.to_owned();
    for piece in pieces {
        let end = piece.find(|c: char| !(c.is_ascii_alphanumeric() || c == '/'));
        let (shifted, plain) = piece.split_at(end.unwrap_or(piece.len()));
        text += if piece.starts_with('-') { "+" } else { "" };
        text += &UTF_16BE.decode_without_bom_handling(&base64(shifted.as_bytes())).0;
        text += plain.strip_prefix('-').unwrap_or(plain);
    }
    Some(Cow::Owned(text))
}

/// The ASCII characters of EBCDIC from 0x40 on; a space stands for others.
const EBCDIC: &[u8] = b"           .<(+|&         !$*); -/         ,%_>?         `:#@'=\" abcdefghi       jklmnopqr       ~stuvwxyz      ^         []    {ABCDEFGHI      }JKLMNOPQR      \\ STUVWXYZ      0123456789      ";

/// Decodes EBCDIC, whose code pages have the same letters. `None` if the label names none of them.
fn ebcdic(label: &str, bytes: &[u8]) -> Option<Cow<'static, str>> {
    let code_page = unquoted(label).trim_start_matches(|c: char| !c.is_ascii_digit());
    let decode =
        |byte: &u8| byte.checked_sub(0x40).map_or('\n', |place| char::from(EBCDIC[usize::from(place)]));
    matches!(code_page, "037" | "500" | "1047").then(|| bytes.iter().map(decode).collect())
}

/// Decodes text of a charset of several bytes a character if few of its other characters are invalid.
fn mostly<'a>(encoding: &'static Encoding, bytes: &'a [u8]) -> Option<Cow<'a, str>> {
    let text = Some(encoding).filter(|it| !it.is_single_byte())?.decode_without_bom_handling(bytes).0;
    let foreign = text.chars().filter(|c| !c.is_ascii()).count();
    let invalid = text.chars().filter(|c| *c == char::REPLACEMENT_CHARACTER).count();
    (10 * invalid < foreign).then_some(text)
}

/// Whether a text cannot be decoded: its charset is one that no browser decodes either, or is not known, and then most of
/// the text is not ASCII.
pub(crate) fn is_unreadable(bytes: &[u8], charset: Option<&str>) -> bool {
    let Some(label) = charset.filter(|label| !is_ascii(label)) else { return false };
    match declared(label) {
        Some(encoding) => encoding == REPLACEMENT,
        None if utf8(bytes, true).is_some() || ebcdic(label, b"").is_some() => false,
        None => 2 * bytes.iter().filter(|byte| !byte.is_ascii()).count() > bytes.len(),
    }
}

/// Whether bytes, of which this is the text, are binary data: they have zeros although they are not UTF-16, and the text has
/// nearly as many control characters as that of random bytes.
pub(crate) fn is_binary(bytes: &[u8], charset: Option<&str>, text: &str) -> bool {
    let of = Encoding::for_bom(bytes).map(|(mark, _)| mark).or_else(|| declared(charset?));
    let is_control = |byte: &u8| *byte < 0x20 && !matches!(byte, 8..=15 | 0x1b);
    !of.is_some_and(is_wide)
        && memchr(0, bytes).is_some()
        && 20 * text.bytes().filter(is_control).count() > text.len()
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
    str::from_utf8(if cut { whole_characters(bytes) } else { bytes }).ok().map(Cow::Borrowed)
}

/// Bytes that were cut off, without an incomplete character at their end. Changes only UTF-8.
pub fn whole_characters(bytes: &[u8]) -> &[u8] {
    match str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => bytes,
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
            (b"\x82\xb1\x82\xf1", "cp932", "こん"),
            (b"\xc4\xe3\xba\xc3", "cp936", "你好"),
            (b"\xbe\xc8", "KS_C_5601", "안"),
            (b"\x1b$B$3$s\x1b(B", "iso-2022-jp-1", "こん"),
            (b"\xcf\xf0\xe8", "windows1251", "При"),
            (b"\xcf\xf0\xe8", "cp-1251", "При"),
            // a few invalid bytes
            (
                b"\xc4\xe3\xba\xc3\xc4\xe3\xba\xc3\xc4\xe3\xba\xc3\xc4\xe3\xba\xc3\xc4\xe3\xba\xc3\xff",
                "gbk",
                "你好你好你好你好你好\u{fffd}",
            ),
            // byte order by the zeros, and ASCII
            (b"\0h\0i", "utf-16", "hi"),
            (b"h\0i\0", "utf-16be", "hi"),
            (b"hiya", "utf-16", "hiya"),
            (b"\xc8\x85\x93\x93\x96k\x25\xf1", "ibm037", "Hello,\n1"),
            (b"+BB8EQAQ4- a+-b +AOk", "utf-7", "При a+b é"),
            (b"caf+AOk-s", "unicode-1-1-UTF-7", "cafés"),
        ] {
            assert_eq!(decode_text(bytes, Some(charset)), expected, "{charset}");
        }
    }

    #[test]
    fn unknown_charsets_cannot_be_read() {
        for (bytes, charset, expected) in [
            (&b"\xc8\x85\x93\x93\x96"[..], Some("cp420"), true),
            (b"\x1b$)C\x0e!!\x0f", Some("iso-2022-kr"), true),
            (b"\xc8\x85\x93\x93\x96", Some("cp500"), false),
            (b"\xc8\x85\x93\x93\x96", None, false),
            (b"\xc8\x85\x93\x93\x96", Some("windows-1252"), false),
            (b"caf\xe9 au lait", Some("unknown-8bit"), false),
            ("Привет".as_bytes(), Some("x-unknown"), false),
        ] {
            assert_eq!(is_unreadable(bytes, charset), expected, "{charset:?}");
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
