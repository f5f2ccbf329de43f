//! Files that are made to break readers: each is read or refused within limits, and no change of a byte or cut makes
//! the reader panic.

use std::path::Path;
use std::time::Instant;

use proptest::prelude::*;
use tamis_documents::{Format, Limits, members, text_of};

use crate::build::{Entry, Zip, docx, epub, odt, zip};

/// More than anything is nested, and more than there are entries.
const MANY: usize = 1_000_000;

/// Archives that inflate to many bytes.
fn bombs(bytes: usize) -> Vec<(&'static str, Vec<u8>)> {
    let start = "<w:document><w:body><w:p><w:t>start</w:t></w:p>";
    let with = |rest: &str| {
        Zip::default().deflate("word/document.xml", format!("{start}{rest}").as_bytes()).finish()
    };
    let nested =
        (0..20).fold(zip(&[("a.txt", "text")]), |inner, _| Zip::default().deflate("b.zip", &inner).finish());
    let spaces = vec![b' '; bytes];
    let ten = Zip::default().deflate("a.txt", &spaces[..bytes / 2]);
    let many = (0..MANY / 10).fold(Zip::default(), |zip, i| zip.store(&format!("{i}.txt"), b"x"));
    let names = (0..100).fold(Zip::default(), |zip, i| zip.store(&format!("{i:060000}.txt"), b"x"));
    vec![
        ("spaces", with(&" ".repeat(bytes))),
        ("one text", with(&format!("<w:t>{}", "a".repeat(bytes)))),
        ("one text of two bytes a character", with(&format!("<w:t>{}", "\u{e4}".repeat(bytes / 2)))),
        ("empty elements", with(&"<a/>".repeat(bytes / 4))),
        ("paragraphs", with(&"<w:p/>".repeat(bytes / 6))),
        ("one tag", with(&format!("<a{}", " b".repeat(bytes / 2)))),
        ("one attribute", with(&format!("<a href='{}", "b".repeat(bytes)))),
        ("attributes", with(&format!("<w:a {}/>", "b='c' ".repeat(bytes / 12)))),
        ("references", with(&format!("<w:t>{}", "&amp;".repeat(bytes / 5)))),
        ("unknown references", with(&format!("<w:t>{}", "&a;".repeat(bytes / 3)))),
        ("one reference", with(&format!("<w:t>&{}", "a".repeat(bytes)))),
        ("a comment", with(&format!("<!--{}", "-".repeat(bytes)))),
        ("comments begun", with(&"<!-- ".repeat(bytes / 5))),
        ("a zip in a zip, 20 times", nested),
        ("two halves", ten.deflate("b.txt", &spaces[..bytes / 2]).deflate("c.txt", b"end").finish()),
        ("many entries", many.finish()),
        ("long names", names.finish()),
    ]
}

fn structures() -> Vec<(&'static str, Vec<u8>)> {
    let laughs =
        "<!DOCTYPE l [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;&a;&a;&a;'><!ENTITY c '&b;&b;&b;&b;&b;&b;'>]>";
    let file = "<!DOCTYPE l [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>";
    let entities = |dtd: &str| format!("{dtd}<office:body><text:p>x&a;&b;&c;</text:p></office:body>");
    let refs = "<itemref idref='a.xhtml'/>".repeat(MANY);
    let cell = "<c t='s'><v>0</v></c>".repeat(MANY);
    let sheet = |strings: &str, cells: &str| {
        zip(&[
            ("xl/workbook.xml", ""),
            ("xl/sharedStrings.xml", strings),
            ("xl/worksheets/sheet1.xml", cells),
        ])
    };
    let own = "<container><rootfile full-path='META-INF/container.xml'/></container>";
    vec![
        ("deep", docx(&"<w:p>".repeat(MANY))),
        ("deep and closed", docx(&["<a>".repeat(MANY), "</a>".repeat(MANY)].concat())),
        ("only closed", docx(&["<w:t>a</w:t>", &"</a>".repeat(MANY)].concat())),
        ("deep in what is left out", docx(&"<w:pPr>".repeat(MANY))),
        ("a billion laughs", zip(&[("content.xml", &entities(laughs))])),
        ("a file of the system", zip(&[("content.xml", &entities(file))])),
        (
            "repeated cells",
            odt(
                "<table:table-cell table:number-columns-repeated='1000000000'/><text:s text:c='2000000000'/>x",
            ),
        ),
        ("a chapter again and again", epub(&[("a.xhtml", "chapter")], &refs)),
        ("items", epub(&[("a.xhtml", "chapter")], &"<item id='a' href='b'/>".repeat(MANY))),
        (
            "a chapter outside",
            epub(&[("../../../../../a%2", "chapter")], "<itemref idref='../../../../../a%2'/>"),
        ),
        ("a container of itself", zip(&[("META-INF/container.xml", own)])),
        ("empty strings", sheet(&"<si/>".repeat(10 * MANY), &cell)),
        ("a long string in every cell", sheet(&format!("<si><t>{}</t></si>", "a".repeat(MANY)), &cell)),
        ("strings that are not there", sheet("", &"<c t='s'><v>99999999999999999999</v></c>".repeat(MANY))),
        ("links", docx(&"<a href='https://example.org/'/>".repeat(MANY))),
        (
            "a long title",
            zip(&[
                ("content.xml", "<body>x</body>"),
                ("meta.xml", &format!("<title>{}", "a".repeat(9 * MANY))),
            ]),
        ),
        ("a drawing", format!("<svg>{}", "<g>".repeat(MANY)).into_bytes()),
        (
            "a document type without end",
            format!("<!DOCTYPE svg [{}", "<!ENTITY a 'b'>".repeat(MANY)).into_bytes(),
        ),
        ("JSON, deep", format!(r#"{{"cells": {}"nbformat""#, "[".repeat(MANY)).into_bytes()),
        ("cells", format!(r#"{{"cells": [{}{{}}], "nbformat": 4}}"#, "{},".repeat(MANY)).into_bytes()),
    ]
}

fn rich_texts() -> Vec<(&'static str, Vec<u8>)> {
    let rtf = |body: &str| format!(r"{{\rtf1 start {body}").into_bytes();
    vec![
        ("groups", rtf(&"{".repeat(MANY))),
        ("groups and their ends", rtf(&["{".repeat(MANY), "}".repeat(MANY)].concat())),
        ("ends", rtf(&"}".repeat(MANY))),
        ("data beyond the end", rtf(r"\bin99999999 x")),
        ("data of a negative length", rtf(r"\bin-5 x\bin99999999999999 y")),
        ("a long fallback", rtf(&r"\uc2147483647\u65 ".repeat(MANY / 10))),
        ("halves of characters", rtf(&r"\u-10240".repeat(MANY))),
        (
            "fonts",
            rtf(&format!(
                r"{{\fonttbl{}",
                (0..MANY / 5).map(|i| format!(r"{{\f{i}\fcharset204}}")).collect::<String>()
            )),
        ),
        ("a long control word", rtf(&format!(r"\{}", "a".repeat(MANY)))),
        ("a long number", rtf(&format!(r"\u{}", "9".repeat(MANY)))),
        ("digits that are none", rtf(&r"\'zz\'".repeat(MANY))),
        ("breaks", rtf(&r"\par\tab".repeat(MANY))),
        ("a picture", rtf(&format!(r"{{\pict {}}}", "00ff".repeat(4 * MANY)))),
        ("codes of fields", rtf(&r#"{\fldinst HYPERLINK "a:"}"#.repeat(MANY / 5))),
        ("a long title", rtf(&format!(r"{{\title {}", "a".repeat(10 * MANY)))),
    ]
}

fn archives() -> Vec<(&'static str, Vec<u8>)> {
    let entry = Entry { name: "word/document.xml", method: 0, flags: 0, crc: 0, stored: 4, size: 4, at: 0 };
    let one = |entry: &Entry<'_>| {
        let mut zip = Zip::default();
        zip.local(entry);
        zip.raw(b"<a/>").entry(entry).finish()
    };
    // every entry has the same data, whose checksum is right
    let kernel = Zip::default().deflate("word/document.xml", " ".repeat(MANY).as_bytes()).finish();
    let at = kernel.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    let number = |from: usize| u32::from_le_bytes(*kernel[at + from..].first_chunk().unwrap());
    let overlapping = (0..9000).fold(Zip::default().raw(&kernel[..at]), |zip, i| {
        let name = format!("word/header{i}.xml");
        zip.entry(&Entry {
            name: &name,
            method: 8,
            crc: number(16),
            stored: number(20),
            size: number(24),
            ..entry
        })
    });
    let mut quoting = Zip::default();
    quoting.local(&Entry { size: 1 << 31, stored: 200, ..entry });
    vec![
        ("overlapping entries", overlapping.finish()),
        ("an entry that is the archive", one(&Entry { stored: 130, size: 130, ..entry })),
        ("more than there is", one(&Entry { stored: u32::MAX - 1, size: u32::MAX - 1, ..entry })),
        (
            "zip64 without its numbers",
            one(&Entry { stored: u32::MAX, size: u32::MAX, at: u32::MAX, ..entry }),
        ),
        ("a place beyond the end", one(&Entry { at: u32::MAX - 1, ..entry })),
        ("another size", one(&Entry { size: 3, ..entry })),
        ("another checksum", one(&Entry { crc: 1, ..entry })),
        ("an unknown compression", one(&Entry { method: 99, ..entry })),
        ("a password", one(&Entry { flags: 1, ..entry })),
        ("a size of its own", quoting.raw(b"<a/>").entry(&entry).finish()),
        ("headers alone", b"PK\x03\x04\x14\0\0\0\x08\0".repeat(MANY / 10)),
        (
            "an end alone",
            b"PK\x05\x06\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0".to_vec(),
        ),
        ("OLE", [&b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"[..], &[0xff; 600]].concat()),
    ]
}

/// With `TAMIS_HOSTILE`, a folder, the files are written there, made for the limits of every day.
#[test]
fn hostile_files_are_read_or_refused_within_limits() {
    let folder = std::env::var_os("TAMIS_HOSTILE");
    let (inflated, huge) = if folder.is_some() { (64 << 20, 80 << 20) } else { (4 << 20, 5 << 20) };
    let all = [bombs(huge), structures(), rich_texts(), archives()].concat();
    assert!(all.len() >= 40);
    for (name, bytes) in &all {
        if let Some(folder) = &folder {
            std::fs::write(Path::new(folder).join(name.replace(' ', "-")), bytes).unwrap();
        }
        let (limits, before) = (Limits { inflated, ..Limits::default() }, Instant::now());
        let text = text_of(bytes, &limits).unwrap_or_default();
        assert!(text.text.len() <= limits.text && text.links.len() <= 1000, "{name}");
        let members = members(bytes, &limits).into_iter().flatten().flat_map(|member| member.bytes);
        let got: usize = members.map(|bytes| bytes.len()).sum();
        assert!(got as u64 <= limits.inflated, "{name}: {got}");
        // not built to be fast
        assert!(before.elapsed().as_secs() < 30, "{name}: {:?}", before.elapsed());
    }
}

/// A document of each format.
fn whole() -> Vec<Vec<u8>> {
    let text = br#"{\rtf1\ansicpg1251{\fonttbl{\f1\fcharset204 A;}}{\field{\fldinst HYPERLINK "a:b"}}\f1\'e4\u8364?\par\bin2 xx}"#;
    vec![
        docx("<w:p><w:r><w:t>One &amp; two</w:t><w:tab/></w:r></w:p>"),
        odt("<text:p>A<text:s/>b <text:a xlink:href='a:b'>c</text:a></text:p>"),
        epub(&[("a.xhtml", "<p>first&nbsp;</p>"), ("b.xhtml", "second")], "<itemref idref='b.xhtml'/>"),
        zip(&[
            ("xl/workbook.xml", ""),
            ("xl/sharedStrings.xml", "<si><t>a</t></si>"),
            ("xl/worksheets/1.xml", "<c t='s'><v>0</v></c>"),
        ]),
        Zip::default().store("a.txt", b"text").deflate("b/c.txt", b"more text").finish(),
        text.to_vec(),
        br#"{"cells": [{"cell_type": "code", "source": ["a\n", "b"]}], "nbformat": 4}"#.to_vec(),
        b"<?xml version='1.0'?><!-- x --><svg><text>a<tspan>b</tspan></text></svg>".to_vec(),
    ]
}

fn read_anyway(bytes: &[u8]) {
    let _ = (Format::of(bytes), text_of(bytes, &Limits::default()));
    let _ = members(bytes, &Limits::default()).map(Iterator::count);
}

#[test]
fn documents_cut_anywhere_or_with_any_byte_changed_are_read_or_refused() {
    for bytes in whole() {
        assert!(text_of(&bytes, &Limits::default()).is_ok());
        for at in 0..bytes.len() {
            read_anyway(&bytes[..at]);
            read_anyway(&bytes[at..]);
            for value in [0, 0xff, bytes[at] ^ 1, bytes[at] ^ 0x80, b'<', b'}'] {
                let mut changed = bytes.clone();
                changed[at] = value;
                read_anyway(&changed);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_xml_in_a_document_is_read_or_refused(body in "(<[a/!?]?[a-c:]{0,3} ?(t=['\"]?s)?/?>?|&#?[a-z]{0,3};|[a-z\u{e4}<\\]]){0,20}") {
        read_anyway(&docx(&body));
        read_anyway(&odt(&body));
        read_anyway(&epub(&[("a.xhtml", &body)], "<itemref idref='a.xhtml'/>"));
        read_anyway(&zip(&[("xl/workbook.xml", ""), ("xl/sharedStrings.xml", &body), ("xl/worksheets/sheet1.xml", &body)]));
    }

    #[test]
    fn any_rich_text_is_read(body in "(\\\\[a-z*']{0,7}-?[0-9]{0,5} ?|[{}]|[a-z\u{e4}]){0,40}") {
        read_anyway(format!(r"{{\rtf1{body}").as_bytes());
    }

    #[test]
    fn any_bytes_behind_any_mark_are_read_or_refused(mark in 0..6_usize, bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        const MARKS: [&[u8]; 6] = [b"PK\x03\x04", b"PK\x05\x06", b"{\\rtf", b"<svg", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"{\"cells\" \"nbformat\""];
        read_anyway(&[MARKS[mark], &bytes].concat());
    }
}
