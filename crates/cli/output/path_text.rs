//! Paths, which need not be UTF-8, as text that can be converted back.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use anyhow::{Context, Result};

/// Converts a path to text. A UTF-8 path stays as it is. Any other becomes `$'...'`, the quoting of bash, with `\xHH`
/// for bytes that are not UTF-8. A path that looks quoted is quoted too, so that no two paths have the same text.
pub(crate) fn to_text(path: &OsStr) -> Cow<'_, str> {
    match path.to_str() {
        // a carriage return at the end of a line is not read as part of the path
        Some(text) if !text.starts_with("$'") && !text.ends_with('\r') => Cow::Borrowed(text),
        _ => Cow::Owned(quoted(path.as_encoded_bytes())),
    }
}

/// The name of a file without its folders, as text.
pub(crate) fn file_name(path: &OsStr) -> Cow<'_, str> {
    to_text(Path::new(path).file_name().unwrap_or(path))
}

fn quoted(bytes: &[u8]) -> String {
    let mut text = "$'".to_owned();
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\'' | '\\' => text.extend(['\\', character]),
                '\n' => text.push_str("\\n"),
                _ if character.is_ascii_control() => {
                    text.push_str(&format!("\\x{:02x}", u32::from(character)))
                }
                _ => text.push(character),
            }
        }
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    text.push('\'');
    text
}

/// Converts a text back to a path. It may come from [`to_text`], from `ls` or from bash's `printf %q`.
pub(crate) fn from_text(text: &[u8]) -> Result<OsString> {
    let quoted = text.strip_prefix(b"$'").and_then(|rest| rest.strip_suffix(b"'"));
    let Some(mut rest) = quoted else { return Ok(OsString::from_vec(text.to_vec())) };
    let mut bytes = Vec::with_capacity(rest.len());
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let got = || String::from_utf8_lossy(text);
        let expected = || format!("--files-from: expected an escape that bash knows, got {:?}", got());
        let (byte, length) = unescaped(rest).with_context(expected)?;
        bytes.push(byte);
        rest = &rest[length..];
    }
    Ok(OsString::from_vec(bytes))
}

/// The byte that an escape stands for, given the text after its backslash, and the length of the escape.
fn unescaped(rest: &[u8]) -> Option<(u8, usize)> {
    let number = |digits: &[u8], radix| u8::from_str_radix(str::from_utf8(digits).ok()?, radix).ok();
    let simple = match rest.first()? {
        b'x' => return Some((number(rest.get(1..3)?, 16)?, 3)),
        b'0'..=b'3' => return Some((number(rest.get(..3)?, 8)?, 3)),
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'a' => 7,
        b'b' => 8,
        b'v' => 11,
        b'f' => 12,
        b'e' | b'E' => 27,
        byte @ (b'\\' | b'\'' | b'"' | b'?') => *byte,
        _ => return None,
    };
    Some((simple, 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_is_plain_where_it_can_be() {
        let path = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        for (bytes, expected) in [
            (&b"mail/1.eml"[..], "mail/1.eml"),
            ("é 'x'\n".as_bytes(), "é 'x'\n"),
            (b"caf\xe9's \\ \n", "$'caf\\xe9\\'s \\\\ \\n'"),
            (b"$'x'", "$'$\\'x\\''"),
        ] {
            assert_eq!(to_text(&path(bytes)), expected);
        }
        for text in ["$'caf\\351'", "$'caf\\xe9'", "$'\\143af\\xe9'"] {
            assert_eq!(from_text(text.as_bytes()).unwrap(), path(b"caf\xe9"), "{text}");
        }
        assert!(from_text(b"$'\\q'").is_err() && from_text(b"$'\\x4'").is_err());
        assert_eq!(from_text(b"$'open").unwrap(), "$'open");
    }

    proptest! {
        #[test]
        fn every_path_is_taken_back(bytes in prop::collection::vec(prop::sample::select(b"a'\\$\n\t\xc3\xa9\xff".to_vec()), 0..8)) {
            let path = OsString::from_vec(bytes.clone());
            // line feeds of plain paths are for --null
            prop_assert_eq!(from_text(to_text(&path).as_bytes()).unwrap(), path);
        }
    }
}
