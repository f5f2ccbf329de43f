//! Names of folders: modified UTF-7 on the wire (RFC 3501, section 5.1.3), text for people.

use base64::Engine;
use base64::alphabet::IMAP_MUTF7;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Decodes a folder's name. What is not valid stays as it is.
pub(crate) fn decode(raw: &str) -> String {
    try_decode(raw).unwrap_or_else(|| raw.to_owned())
}

fn try_decode(raw: &str) -> Option<String> {
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let engine = GeneralPurpose::new(&IMAP_MUTF7, config);
    let (mut out, mut rest) = (String::new(), raw);
    while let Some((plain, after)) = rest.split_once('&') {
        out.push_str(plain);
        let (encoded, after) = after.split_once('-')?;
        if encoded.is_empty() {
            out.push('&');
        } else {
            let bytes = engine.decode(encoded).ok()?;
            let units = bytes.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
            for character in char::decode_utf16(units) {
                out.push(character.ok()?);
            }
        }
        rest = after;
    }
    out.push_str(rest);
    Some(out)
}

/// A folder's name as it is sent; `None` if it cannot be.
pub(crate) fn quote(raw: &str) -> Option<String> {
    let is_sendable = !raw.chars().any(char::is_control);
    is_sendable.then(|| format!("\"{}\"", raw.replace('\\', "\\\\").replace('"', "\\\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_decoded() {
        for (raw, name) in [
            ("INBOX", "INBOX"),
            ("Entw&APw-rfe", "Entwürfe"),
            ("&ZeVnLIqe-", "日本語"),
            ("Q&-A", "Q&A"),
            ("&2D3eAA-", "😀"),
            ("a & b", "a & b"),
            ("&!!-", "&!!-"),
            ("&2D0-", "&2D0-"),
        ] {
            assert_eq!(decode(raw), name, "{raw}");
        }
    }

    #[test]
    fn names_are_sent_in_quotes_or_not_at_all() {
        assert_eq!(quote(r#"a "b" \c"#).unwrap(), r#""a \"b\" \\c""#);
        for raw in ["a\r\nA1 DELETE INBOX", "a\0", "\u{1b}[2J"] {
            assert_eq!(quote(raw), None);
        }
    }
}
