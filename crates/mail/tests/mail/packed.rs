//! Files that hold others, made for tests: zip archives, signed data, Outlook's TNEF.
use flate2::{Compression, Crc, write::DeflateEncoder};
use std::io::Write;

/// Base64 in lines.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for (n, three) in bytes.chunks(3).enumerate() {
        let bits = (0..3).fold(0, |bits, n| bits << 8 | u32::from(three.get(n).copied().unwrap_or_default()));
        let letter = |n: usize| {
            let letter = LETTERS[(bits >> (18 - 6 * n)) as usize % 64];
            char::from(if n > three.len() { b'=' } else { letter })
        };
        encoded.extend((0..4).map(letter));
        encoded.push_str(if n % 19 == 18 { "\n" } else { "" });
    }
    encoded
}

/// A zip archive of files: the name and bytes of each, and whether it is compressed.
pub(crate) fn zip(files: &[(&str, &[u8], bool)]) -> Vec<u8> {
    let (mut all, mut directory) = (Vec::new(), Vec::new());
    for (name, bytes, is_deflated) in files {
        let mut packed = DeflateEncoder::new(Vec::new(), Compression::default());
        packed.write_all(bytes).unwrap();
        let packed = if *is_deflated { packed.finish().unwrap() } else { bytes.to_vec() };
        let mut crc = Crc::new();
        crc.update(bytes);
        let mut head = vec![20, 0, 0, 0, if *is_deflated { 8 } else { 0 }, 0, 0, 0, 0, 0];
        for number in [crc.sum(), packed.len() as u32, bytes.len() as u32, name.len() as u32] {
            head.extend(number.to_le_bytes());
        }
        directory.extend(
            [b"PK\x01\x02\x14\0", &head[..], &[0; 10], &(all.len() as u32).to_le_bytes(), name.as_bytes()]
                .concat(),
        );
        all.extend([b"PK\x03\x04", &head[..], name.as_bytes(), &packed].concat());
    }
    let n = (files.len() as u16).to_le_bytes();
    let (size, at) = ((directory.len() as u32).to_le_bytes(), (all.len() as u32).to_le_bytes());
    [&all[..], &directory, b"PK\x05\x06\0\0\0\0", &n, &n, &size, &at, b"\0\0"].concat()
}

/// A Word document of one paragraph.
pub(crate) fn docx(text: &str) -> Vec<u8> {
    let space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";
    let body = format!("<w:p><w:r><w:t xml:space=\"preserve\">{text}</w:t></w:r></w:p>");
    let document = format!("<w:document xmlns:w=\"{space}\"><w:body>{body}</w:body></w:document>");
    zip(&[("[Content_Types].xml", b"<Types/>", false), ("word/document.xml", document.as_bytes(), true)])
}

/// An element in DER.
fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u32).to_be_bytes();
    [&[tag, 0x84], &length[..], content].concat()
}

const SIGNED: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02";
const DATA: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01";

/// Signed data (RFC 5652) of a content, in DER; without content if it is empty. The signatures are left out.
pub(crate) fn signed(content: &[u8]) -> Vec<u8> {
    let content = if content.is_empty() { Vec::new() } else { element(0xa0, &element(4, content)) };
    let inner = element(0x30, &[element(6, DATA), content].concat());
    let digests = element(0x31, &element(0x30, &element(6, b"\x2b\x0e\x03\x02\x1a")));
    let data = element(0x30, &[element(2, &[1]), digests, inner, element(0x31, b"")].concat());
    element(0x30, &[element(6, SIGNED), element(0xa0, &data)].concat())
}

/// The same in BER: lengths are not told beforehand, and the content is in pieces of pieces.
pub(crate) fn signed_in_pieces(content: &[u8]) -> Vec<u8> {
    let open = |tag: u8| vec![tag, 0x80];
    let end = b"\0\0".to_vec();
    let mut pieces = Vec::new();
    for piece in content.chunks(50) {
        let (first, second) = piece.split_at(piece.len() / 2);
        pieces.extend(
            [open(0x24), element(4, first), element(0x24, &element(4, second)), end.clone()].concat(),
        );
    }
    let digests =
        [open(0x31), open(0x30), element(6, b"\x2b\x0e\x03\x02\x1a"), end.clone(), end.clone()].concat();
    let head = [open(0x30), element(6, SIGNED), open(0xa0), open(0x30), element(2, &[1])].concat();
    let inner = [open(0x30), element(6, DATA), open(0xa0), open(0x24), pieces, end.repeat(3)].concat();
    let certificates = element(0xa0, &element(4, b"a certificate"));
    [head, digests, inner, certificates, element(0x31, b""), end.repeat(3)].concat()
}

/// A TNEF stream of attributes, each with its level, number and data.
pub(crate) fn tnef(attributes: &[(u8, u32, &[u8])]) -> Vec<u8> {
    let mut all = b"\x78\x9f\x3e\x22\x01\0".to_vec();
    for (level, id, data) in attributes {
        let sum = data.iter().fold(0u16, |sum, byte| sum.wrapping_add((*byte).into()));
        let length = (data.len() as u32).to_le_bytes();
        all.extend([&[*level], &id.to_le_bytes()[..], &length, data, &sum.to_le_bytes()].concat());
    }
    all
}

/// Properties of a TNEF stream, behind a number and a named one: the type, number and value of each.
pub(crate) fn properties(all: &[(u16, u16, &[u8])]) -> Vec<u8> {
    let mut bytes = (all.len() as u32 + 2).to_le_bytes().to_vec();
    bytes.extend(b"\x03\0\x01\0\x07\0\0\0");
    bytes.extend(
        [b"\x0b\0\x01\x80", &[7; 16][..], b"\x01\0\0\0\x06\0\0\0a\0b\0\0\0\0\0", b"\x01\0\0\0"].concat(),
    );
    for (kind, id, value) in all {
        let length = (value.len() as u32).to_le_bytes();
        let padding = &[0; 3][..value.len().wrapping_neg() % 4];
        bytes.extend(
            [&kind.to_le_bytes()[..], &id.to_le_bytes(), b"\x01\0\0\0", &length, value, padding].concat(),
        );
    }
    bytes
}
