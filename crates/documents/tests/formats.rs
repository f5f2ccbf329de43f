//! What a file is, by its bytes.

use proptest::prelude::*;
use tamis_documents::{Format, is_binary};

use crate::build::{Zip, docx, epub, odt, zip};

fn name(bytes: &[u8]) -> &'static str {
    Format::of(bytes).map_or("text", |format| format.name())
}

#[test]
fn marks_tell_formats_apart() {
    let zeros = [0; 600];
    let with = |mark: &[u8]| [mark, &zeros].concat();
    for (mark, what) in [
        (&b"\x89PNG\r\n\x1a\n"[..], "a PNG image"),
        (b"\xff\xd8\xff\xe0", "a JPEG image"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "a WebP image"),
        (b"RIFF\0\0\0\0WAVEfmt ", "a sound file (WAV or AIFF)"),
        (b"\0\0\0\x18ftypmp42", "a film (MP4)"),
        (b"MZ\x90", "a Windows program"),
        (b"BM", "a Windows image"),
        (b"ID3\x03", "a sound file (MP3)"),
        (b"BZh91AY&SY", "a bzip2 file; only gzip and zstd are read through"),
        (b"%!PS-Adobe-3.0 EPSF-3.0", "PostScript; ps2pdf writes it as PDF"),
        (b"{\\rtf1", "an RTF document"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Office document or Outlook message (OLE)"),
    ] {
        assert_eq!(name(&with(mark)), what);
    }
}

#[test]
fn texts_that_begin_like_a_mark_are_texts() {
    for text in [
        &b"MZ is the mark of programs"[..],
        b"BM 1234 was the number plate",
        b"ID3 tags are in MP3 files",
        b"BZh is not a word",
        b"%PDF- is the mark of a PDF",
        b"RIFF raff",
        b"{\"cells\": 3}",
        b"<html><svg></svg></html>",
        b"<svgs>",
        b"PK 12",
        b"",
        b"\xef\xbb\xbf",
    ] {
        assert_eq!(Format::of(text), None, "{}", text.escape_ascii());
    }
}

#[test]
fn a_pdf_may_begin_behind_blank_lines_or_binary_data_but_not_in_a_text() {
    let pdf = b"%PDF-1.4\n1 0 obj";
    for before in
        [&b""[..], b"\n\n", b"\xef\xbb\xbf", b"\r\n \t", &[0; 128], b"\x1b%-12345X@PJL\r\n", b"junk\x01\n"]
    {
        assert_eq!(Format::of(&[before, pdf].concat()), Some(Format::Pdf), "{}", before.escape_ascii());
    }
    for before in [
        &b"Subject: a PDF\n\n"[..],
        b"A PDF begins with\n",
        b"\"",
        "\u{e4}\n".as_bytes(),
        &[b'\n', b'.'].repeat(600),
    ] {
        assert_eq!(Format::of(&[before, pdf].concat()), None, "{}", before.escape_ascii());
    }
    assert_ne!(Format::of(&[&[0; 1100], &pdf[..]].concat()), Some(Format::Pdf));
}

#[test]
fn zip_archives_are_what_is_in_them() {
    let of = |names: &[&str]| name(&zip(&names.iter().map(|name| (*name, "<x/>")).collect::<Vec<_>>()));
    assert_eq!(of(&["[Content_Types].xml", "_rels/.rels", "word/document.xml"]), "a Word document (DOCX)");
    assert_eq!(of(&["docProps/app.xml", "ppt/presentation.xml"]), "a PowerPoint presentation (PPTX)");
    assert_eq!(of(&["xl/worksheets/sheet1.xml", "xl/workbook.xml"]), "an Excel workbook (XLSX)");
    assert_eq!(of(&["xl/workbook.bin"]), "a binary Excel workbook (XLSB); LibreOffice saves it as XLSX");
    assert_eq!(of(&["META-INF/MANIFEST.MF", "a/B.class"]), "a Java archive (JAR)");
    assert_eq!(of(&["a.txt", "word.txt"]), "a zip archive");
    assert_eq!(of(&[]), "a zip archive");
    // a document in an archive does not make it one
    assert_eq!(Format::of(&Zip::default().store("a.docx", &docx("x")).finish()), Some(Format::Zip));
    for kind in ["text", "text-template", "presentation", "graphics", "spreadsheet"] {
        let mimetype = format!("application/vnd.oasis.opendocument.{kind}");
        let bytes = Zip::default().store("mimetype", mimetype.as_bytes()).store("content.xml", b"").finish();
        let format = match kind {
            "presentation" | "graphics" => Format::Odp,
            "spreadsheet" => Format::Ods,
            _ => Format::Odt,
        };
        assert_eq!(Format::of(&bytes), Some(format));
    }
}

#[test]
fn the_beginning_of_a_document_is_enough() {
    let long = "<w:p/>".repeat(1000);
    for (bytes, format) in
        [(docx(&long), Format::Docx), (odt(&long), Format::Odt), (epub(&[("a", &long)], ""), Format::Epub)]
    {
        assert_eq!(Format::of(&bytes[..bytes.len() * 2 / 3]), Some(format));
    }
}

#[test]
fn ole_files_are_what_their_streams_say() {
    for (stream, what) in [
        ("WordDocument", "a Word document of before 2007 (DOC); LibreOffice saves it as DOCX"),
        ("EncryptedPackage", "an Office document with a password"),
        ("__properties_version1.0", "an Outlook message (MSG); msgconvert writes it as mail"),
    ] {
        let mut bytes = [&b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"[..], &[0; 4088]].concat();
        bytes[30] = 9; // sectors of 512 bytes
        bytes[48] = 2; // the directory begins in the third
        let before: Vec<u8> = "Workbook\0".encode_utf16().flat_map(u16::to_le_bytes).collect();
        bytes[1000..1000 + before.len()].copy_from_slice(&before);
        let units: Vec<u8> = stream.encode_utf16().flat_map(u16::to_le_bytes).collect();
        bytes[1536 + 128..1536 + 128 + units.len()].copy_from_slice(&units);
        assert_eq!(name(&bytes), what);
    }
}

#[test]
fn binary_data_is_found_behind_text_too() {
    let text = "A line of text in any script: \u{416}\u{4e16}\r\n\t".repeat(3000).into_bytes();
    assert!(!is_binary(&text));
    // control characters of terminals, of printers, and of ISO 2022
    assert!(!is_binary(&b"\x1b[1mbold\x1b[0m\x0c\x08_\x1b$B0l\x1b(B\x0eab\x0f".repeat(500)));
    let mut state = 1_u64;
    let random = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    let noise: Vec<u8> = (0..100_000).map(random).collect();
    assert!(is_binary(&[&text[..], &noise].concat()));
    let without_zeros: Vec<u8> = noise.iter().copied().filter(|byte| *byte != 0).collect();
    assert!(is_binary(&[&text[..], &without_zeros].concat()));
    assert!(is_binary(b"a\0"));
}

proptest! {
    #[test]
    fn texts_are_no_binary_data(text in "[^\0-\u{7}\u{10}-\u{1f}]{0,700}") {
        prop_assert!(!is_binary(text.as_bytes()));
    }
}
