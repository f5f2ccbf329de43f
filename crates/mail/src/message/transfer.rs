//! Content-Transfer-Encoding: base64 and quoted-printable (RFC 2045, section 6), decoded leniently.
use memchr::{memchr, memchr3};
use std::borrow::Cow;

/// Decodes a transfer encoding, given in lower case: the first known word of what is declared. Bytes in an unknown encoding
/// are left as they are.
///
/// Where readers differ, both readings follow each other, the bytes as they are first: if more than the word is declared,
/// if what is declared base64 does not begin so or has the alphabet of URLs, or if base64 is not declared so.
pub(crate) fn decode<'a>(bytes: &'a [u8], encoding: Option<&str>) -> Cow<'a, [u8]> {
    decode_either(bytes, encoding, true)
}

/// Decodes a file, which may be binary, in one reading. What is declared base64 and does not look so is left as it is; what
/// looks like base64 in an unknown encoding is decoded.
pub(crate) fn decode_file<'a>(bytes: &'a [u8], encoding: Option<&str>) -> Cow<'a, [u8]> {
    decode_either(bytes, encoding, false)
}

fn decode_either<'a>(bytes: &'a [u8], encoding: Option<&str>, is_text_part: bool) -> Cow<'a, [u8]> {
    let declared = encoding.unwrap_or_default();
    let mut words = declared.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let known = words.find_map(|word| Some((word, decoder_of(word)?)));
    let line =
        bytes.trim_ascii_start().split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii_end();
    let is_coded = |byte: &u8| *byte == b'=' || SEXTETS[usize::from(*byte)] < 64;
    let is_base64 =
        || line.iter().all(is_coded) || line.split(|byte| *byte == b' ').all(|word| word.len() < 2);
    let (name, decoder) = match known {
        Some(known) if is_text_part || known.0 != "base64" || is_base64() => known,
        None if (60..=LONGEST_LINE).contains(&line.len())
            && is_base64()
            && (!is_text_part || is_text(&base64(line))) =>
        {
            ("base64", base64 as Decoder)
        }
        _ => return Cow::Borrowed(bytes),
    };
    let mut decoded = decoder(bytes);
    if !is_text_part {
        return Cow::Owned(decoded);
    }
    let is_for_urls = memchr3(b'-', b'_', b'=', bytes).is_some_and(|at| bytes[at] != b'=');
    if name == "base64" && is_for_urls {
        let standard = |byte: &u8| match byte {
            b'-' => b'+',
            b'_' => b'/',
            other => *other,
        };
        decoded.push(b'\n');
        decoded.extend(base64(&bytes.iter().map(standard).collect::<Vec<_>>()));
    }
    if name == declared && (name != "base64" || is_base64()) {
        return Cow::Owned(decoded);
    }
    Cow::Owned([bytes, b"\n", &decoded].concat())
}

/// Whether bytes are text in UTF-8, without the control characters that text does not have.
fn is_text(bytes: &[u8]) -> bool {
    let is_odd = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    !bytes.is_empty() && str::from_utf8(bytes).is_ok() && !bytes.iter().any(is_odd)
}

/// The longest line of base64 that is recognised, in bytes. RFC 2045 allows 76.
const LONGEST_LINE: usize = 1_000;

type Decoder = fn(&[u8]) -> Vec<u8>;

/// The decoder of an encoding in lower case. Uuencode is older than MIME and has many names.
fn decoder_of(name: &str) -> Option<Decoder> {
    match name {
        "base64" => Some(base64),
        "quoted-printable" => Some(quoted_printable),
        "x-uuencode" | "uuencode" | "x-uue" | "uue" => Some(uudecode),
        _ => None,
    }
}

/// Decodes the uuencoded files in a text, and leaves the text around them (POSIX, utility `uuencode`).
fn uudecode(bytes: &[u8]) -> Vec<u8> {
    let (mut out, mut is_inside) = (Vec::with_capacity(bytes.len()), false);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let text = line.trim_ascii_end();
        let marks = if is_inside { text == b"end" } else { text.starts_with(b"begin ") };
        is_inside ^= marks;
        if !marks && !is_inside {
            out.extend_from_slice(line);
        } else if let Some((length, rest)) = text.split_first().filter(|_| !marks) {
            let sextet = |byte: &u8| u32::from(byte.wrapping_sub(b' ') & 63);
            let end = out.len() + sextet(length) as usize;
            for four in rest.chunks(4) {
                let bits = (0..4).fold(0, |bits, n| bits << 6 | four.get(n).map_or(0, sextet));
                out.extend_from_slice(&bits.to_be_bytes()[1..]);
            }
            out.truncate(end);
        }
    }
    out
}

/// Decodes base64, skipping everything outside its alphabet.
///
/// Padding does not end the data, since spammers put it in front. A character outside the alphabet ends them after
/// padding, since mailing lists append text.
pub(crate) fn base64(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() / 4 * 3 + 3);
    let (mut bits, mut count, mut padded) = (0u32, 0, false);
    let mut rest = bytes;
    while let [byte, more @ ..] = rest {
        if count == 0
            && let Some((four, more)) = rest.split_first_chunk()
            && let Some(three) = whole(*four)
        {
            out.extend_from_slice(&three);
            rest = more;
            continue;
        }
        rest = more;
        let value = SEXTETS[usize::from(*byte)];
        if value < 64 {
            bits = bits << 6 | u32::from(value);
            count += 1;
            if count == 4 {
                out.extend_from_slice(&bits.to_be_bytes()[1..]);
                (bits, count) = (0, 0);
            }
        } else if *byte == b'=' {
            flush(bits, count, &mut out);
            (bits, count, padded) = (0, 0, true);
        } else if padded && !byte.is_ascii_whitespace() {
            return out;
        }
    }
    flush(bits, count, &mut out);
    out
}

/// Writes the complete bytes of fewer than four sextets.
fn flush(bits: u32, count: u32, out: &mut Vec<u8>) {
    let bytes = (bits << (6 * (4 - count))).to_be_bytes();
    out.extend_from_slice(&bytes[1..][..(count as usize * 6) / 8]);
}

/// Decodes four characters of the alphabet to three bytes.
fn whole(four: [u8; 4]) -> Option<[u8; 3]> {
    let four = four.map(|byte| SEXTETS[usize::from(byte)]);
    let [a, b, c, d] = four.map(u32::from);
    let [_, three @ ..] = (a << 18 | b << 12 | c << 6 | d).to_be_bytes();
    four.iter().all(|sextet| *sextet < 64).then_some(three)
}

/// The value of each byte; above 63 outside the alphabet.
static SEXTETS: [u8; 256] = {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut sextets = [u8::MAX; 256];
    let mut value = 0;
    while value < 64 {
        sextets[alphabet[value] as usize] = value as u8;
        value += 1;
    }
    sextets
};

/// Decodes quoted-printable; an `=` that begins neither an escape nor a soft line break stays.
pub(crate) fn quoted_printable(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = memchr(b'=', rest) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        if let [high, low, tail @ ..] = rest
            && let (Some(high), Some(low)) = (hex(*high), hex(*low))
        {
            out.push(high << 4 | low);
            rest = tail;
        } else if let Some(length) = soft_break(rest) {
            rest = &rest[length..];
        } else {
            out.push(b'=');
        }
    }
    out.extend_from_slice(rest);
    out
}

/// The length of a line end (or the end of the bytes) with the white space before it.
fn soft_break(bytes: &[u8]) -> Option<usize> {
    let space = bytes.iter().position(|c| !matches!(c, b' ' | b'\t' | b'\r'));
    match space {
        Some(length) => (bytes[length] == b'\n').then_some(length + 1),
        None => Some(bytes.len()),
    }
}

/// The value of a hexadecimal digit.
pub(crate) fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn base64_cases() {
        for (encoded, expected) in [
            ("", ""),
            ("SGVsbG8=", "Hello"),
            ("SGVsbG8", "Hello"),
            ("SGVs\r\n bG8h\r\n", "Hello!"),
            ("S*G-V_s", "Hel"),
            ("QQ==SGVs", "AHel"),
            ("QQ==\n____\nfooter", "A"),
            ("A", ""),
            ("====", ""),
        ] {
            assert_eq!(base64(encoded.as_bytes()), expected.as_bytes(), "{encoded:?}");
        }
    }

    #[test]
    fn quoted_printable_cases() {
        for (encoded, expected) in [
            ("", ""),
            ("a=3Db=3d", "a=b="),
            ("soft=\nbreak=\r\ns= \t\nhere=", "softbreakshere"),
            ("a = b =ZZ =4", "a = b =ZZ =4"),
            ("==41", "=A"),
            ("line\r\nend", "line\r\nend"),
        ] {
            assert_eq!(quoted_printable(encoded.as_bytes()), expected.as_bytes(), "{encoded:?}");
        }
        assert_eq!(quoted_printable(b"=E9"), b"\xe9");
    }

    #[test]
    fn other_encodings_are_taken_as_they_are() {
        for encoding in [None, Some("7bit"), Some("x-unknown"), Some("")] {
            assert_eq!(decode(b"=41", encoding), b"=41".as_slice());
        }
    }

    #[test]
    fn uuencode_in_all_its_names() {
        let encoded = b"before\nbegin 644 a.txt\n%:&5L;&\\\n`\nend\nafter\n";
        for name in ["x-uuencode", "uuencode", "x-uue", "uue"] {
            assert_eq!(decode(encoded, Some(name)), b"before\nhelloafter\n".as_slice(), "{name}");
        }
        assert_eq!(uudecode(b"begin 644 a\n#~~\n\n"), b"\x79\xe0\0");
    }

    #[test]
    fn both_readings_where_readers_differ() {
        let text = "The words of a letter that nobody has encoded, whatever its header says of it.";
        let encoded = "VGhlIHdvcmRzIG9mIGEgbGV0dGVyIHRoYXQgbm9ib2R5IGhhcyBlbmNvZGVk\r\nLCB3aGF0ZXZlcg==";
        let decoded = &text[..55];
        let both = format!("{encoded}\n{decoded}");
        for (declared, expected) in [
            ("base64", decoded),
            ("7bit base64", &both),
            ("base64; x=y", &both),
            ("", &both),
            ("7bit", &both),
            ("x-unknown", &both),
        ] {
            assert_eq!(decode(encoded.as_bytes(), Some(declared)), expected.as_bytes(), "{declared}");
        }
        // in the alphabet of URLs; and what stands after the padding
        assert!(
            decode(b"8J-YgCBjaGVhcCBwaWxscw==", Some("base64")).ends_with("\u{1f600} cheap pills".as_bytes())
        );
        assert_eq!(decode(b"QQ==\n____\nfooter", Some("base64")), b"A".as_slice());
        let prose = decode(text.as_bytes(), Some("base64"));
        assert!(prose.starts_with(text.as_bytes()) && prose.len() > text.len());
        // base64 with spaces, and of other bytes than text
        let spaced: String = encoded.chars().flat_map(|c| [c, ' ']).collect();
        assert_eq!(decode(spaced.as_bytes(), Some("base64")), decoded.as_bytes());
        for line in ["=", "/", "+", "X", "A"].map(|letter| letter.repeat(72)) {
            assert_eq!(decode(line.as_bytes(), None), line.as_bytes());
        }
        let binary = "AAECAwQFBgcICQoLDA0ODwABAgMEBQYHCAkKCwwNDg8AAQIDBAUGBwgJCgsMDQ4P";
        assert_eq!(decode(binary.as_bytes(), None), binary.as_bytes());
    }

    proptest! {
        #[test]
        fn base64_agrees_with_mail_parser(bytes in "[A-Za-z0-9+/\n]{0,200}") {
            let theirs = mail_parser::decoders::base64::base64_decode(bytes.as_bytes());
            prop_assert_eq!(Some(base64(bytes.as_bytes())), theirs);
        }

        #[test]
        fn quoted_printable_gives_back_what_was_escaped(bytes: Vec<u8>) {
            let escaped: String = bytes.iter().map(|b| format!("={b:02X}")).collect();
            prop_assert_eq!(quoted_printable(escaped.as_bytes()), bytes);
        }
    }
}
