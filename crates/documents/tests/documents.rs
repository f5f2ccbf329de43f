//! The text of documents of every format.

use tamis_documents::{Format, Limits, Text, Unread, members, text_of};

use crate::build::{Entry, Zip, docx, epub, odt, zip};

#[track_caller]
fn read(bytes: &[u8], format: Format) -> Text {
    assert_eq!(Format::of(bytes), Some(format));
    text_of(bytes, &Limits::default()).unwrap()
}

#[track_caller]
fn check(bytes: &[u8], format: Format, text: &str) {
    assert_eq!(read(bytes, format).text, text);
}

fn fails(bytes: &[u8]) -> Unread {
    text_of(bytes, &Limits::default()).unwrap_err()
}

#[test]
fn a_word_document_has_its_paragraphs_once_with_headers_and_notes_behind() {
    let body = "<w:p><w:pPr><w:tabs><w:tab/></w:tabs></w:pPr><w:r><w:t>One &amp; two</w:t><w:tab/><w:t>three</w:t></w:r></w:p>\
        <w:p><w:r><w:del><w:delText>gone</w:delText></w:del></w:r><w:moveFrom><w:t>moved</w:t></w:moveFrom>\
        <w:r><w:instrText> HYPERLINK \"https://example.org/field\" </w:instrText></w:r><w:t>f&#xfc;nf</w:t></w:p>\
        <mc:AlternateContent><mc:Choice><w:t>box</w:t></mc:Choice><mc:Fallback><w:t>box</w:t></mc:Fallback></mc:AlternateContent>\
        <w:tbl><w:tr><w:tc><w:p><w:t>a</w:t></w:p></w:tc><w:tc><w:p><w:t>b</w:t></w:p></w:tc></w:tr></w:tbl>";
    let document = zip(&[
        ("word/document.xml", &format!("<w:document>{body}</w:document>")),
        ("word/footnotes.xml", "<w:footnotes><w:p><w:t>note</w:t></w:p></w:footnotes>"),
        ("word/styles.xml", "<w:styles><w:t>style</w:t></w:styles>"),
        ("word/header1.xml", "<w:hdr><w:p><w:t>head</w:t></w:p></w:hdr>"),
        (
            "word/_rels/document.xml.rels",
            "<Relationships><Relationship Type='http://x/hyperlink' Target='https://example.org/?a=1&amp;b=2'/>\
            <Relationship Type='http://x/styles' Target='https://example.org/styles'/></Relationships>",
        ),
        ("docProps/core.xml", "<cp:coreProperties><dc:title>A title</dc:title></cp:coreProperties>"),
    ]);
    let text = read(&document, Format::Docx);
    assert_eq!(text.text, "One & two\tthree\nfünf\nbox\na\nb\nhead\nnote");
    assert_eq!(text.title.as_deref(), Some("A title"));
    assert_eq!(text.links, ["https://example.org/field", "https://example.org/?a=1&b=2"]);
    assert!(!text.is_cut);
}

#[test]
fn slides_are_in_the_order_of_their_numbers() {
    let slide = |text: &str| format!("<p:sld><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:sld>");
    let document = zip(&[
        ("ppt/presentation.xml", "<p:presentation/>"),
        ("ppt/slides/slide10.xml", &slide("ten")),
        ("ppt/slides/slide2.xml", &slide("two")),
        ("ppt/slideMasters/slideMaster1.xml", &slide("Click to edit")),
        ("ppt/notesSlides/notesSlide2.xml", &slide("note")),
    ]);
    check(&document, Format::Pptx, "two\nten\nnote");
}

#[test]
fn a_sheet_has_its_strings_and_numbers_in_the_order_of_its_cells() {
    let document = zip(&[
        ("xl/workbook.xml", "<workbook/>"),
        (
            "xl/sharedStrings.xml",
            "<sst><si><t>name</t></si><si><r><t>two </t></r><r><t>runs</t></r><rPh><t>guide</t></rPh></si></sst>",
        ),
        (
            "xl/worksheets/sheet1.xml",
            "<worksheet><sheetData><row><c t='s'><v>1</v></c><c t='inlineStr'><is><t>inline</t></is></c></row>\
            <row><c><f>SUM(A1)</f><v>4.5</v></c><c><v>0.30000000000000004</v></c><c><v>1.5E-3</v></c><c t='s'><v>0</v></c><c t='s'><v>7</v></c></row></sheetData></worksheet>",
        ),
    ]);
    check(&document, Format::Xlsx, "two runs\tinline\n4.5\t0.3\t0.0015\tname");
}

#[test]
fn opendocument_texts_have_no_deleted_text_and_no_comments() {
    let body = "<office:text><text:tracked-changes><text:p>gone</text:p></text:tracked-changes><text:h>Head</text:h>\
        <text:p>a<text:s text:c=\"3\"/>b<text:tab/>c<office:annotation><dc:creator>me</dc:creator><text:p>remark</text:p>\
        </office:annotation><text:line-break/><text:a xlink:href=\"mailto:me@example.org\">mail</text:a></text:p></office:text>";
    let text = read(&odt(body), Format::Odt);
    assert_eq!(text.text, "Head\na b\tc\nmail");
    assert_eq!(text.links, ["mailto:me@example.org"]);
}

#[test]
fn chapters_are_in_the_order_of_the_spine_once_each() {
    let chapters =
        [("a b.xhtml", "<p>first&nbsp;&eacute;</p>"), ("c.xhtml", "<h1>second</h1><script>x</script>")];
    let spine = "<itemref idref='c.xhtml'/><itemref idref='a b.xhtml'/><itemref idref='c.xhtml'/><itemref idref='no'/>";
    let text = read(&epub(&chapters, spine), Format::Epub);
    assert_eq!(text.text, "second\nfirst\u{a0}é");
    assert_eq!(text.title.as_deref(), Some("A book"));
}

#[test]
fn rich_text_is_read_in_its_encodings_without_what_is_no_text() {
    let rtf = br#"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fswiss\fcharset0 Arial;}{\f1\fcharset204 Times;}}
{\colortbl;\red0;}{\stylesheet{\s1 heading;}}{\info{\title A title}{\author Me}}{\*\generator Writer;}
{\field{\*\fldinst{HYPERLINK "https://example.org/"}}{\fldrslt {link}}} caf\'e9 {\f1 \'cf\'f0\'e8}\par
\u8364?{\uc2\u-10179\'3f\'3f\u-8704\'3f\'3f}{\uc0\u228} \{x\}\tab{\v hidden}{\deleted gone}{\b bold}\emdash\bin3 {{{dash{\pict 00ff}\
end}"#;
    let text = read(rtf, Format::Rtf);
    assert_eq!(text.text, "link café При\n€\u{1f600}ä {x}\tbold\u{2014}dash\nend");
    assert_eq!(text.title.as_deref(), Some("A title"));
    assert_eq!(text.links, ["https://example.org/"]);
}

#[test]
fn a_notebook_has_the_sources_of_its_cells() {
    let notebook = br##"{"cells": [{"cell_type": "markdown", "metadata": {}, "source": ["# Head\n", "text"]},
        {"cell_type": "code", "source": "print(1)", "outputs": [{"text": ["1"]}]}], "metadata": {}, "nbformat": 4}"##;
    check(notebook, Format::Notebook, "# Head\ntext\nprint(1)");
    assert_eq!(
        fails(&notebook[..100].iter().chain(br#""nbformat""#).copied().collect::<Vec<_>>()),
        Unread::Damaged(Format::Notebook)
    );
}

#[test]
fn an_archive_has_the_texts_of_its_documents_one_level_deep() {
    let inner = zip(&[("deep.txt", "too deep")]);
    let archive = Zip::default()
        .store("a.docx", &docx("<w:p><w:t>word</w:t></w:p>"))
        .store("b/c.txt", "gr\u{fc}n".as_bytes())
        .store("b/d.txt", b"gr\xfcn")
        .deflate("e.html", b"<!DOCTYPE html><html><body><p>page</p></body></html>")
        .store("f.zip", &inner)
        .store("g.png", b"\x89PNG\r\n\x1a\n")
        .store("folder/", b"")
        .finish();
    check(&archive, Format::Zip, "word\ngrün\ngrün\npage");
    let paths: Vec<_> = members(&archive, &Limits::default()).unwrap().map(|member| member.path).collect();
    assert_eq!(paths, ["a.docx", "b/c.txt", "b/d.txt", "e.html", "f.zip", "g.png"]);
    assert!(members(&archive, &Limits::default()).unwrap().all(|member| member.bytes.is_ok()));
}

#[test]
fn drawings_have_the_text_in_them() {
    let drawing = br#"<?xml version="1.0"?><!DOCTYPE svg PUBLIC "a" "b" [<!ENTITY x "y">]><!-- by hand -->
        <svg><style>p{}</style><a xlink:href="https://example.org/"><text>North<tspan>ern</tspan> &x;sea</text></a></svg>"#;
    let text = read(drawing, Format::Svg);
    assert_eq!(text.text, "North ern  sea");
    assert_eq!(text.links, ["https://example.org/"]);
}

#[test]
fn a_password_damage_and_a_document_without_text_are_told_apart() {
    assert_eq!(fails(&docx("<w:p><w:drawing/></w:p>")), Unread::NoText(Format::Docx));
    assert_eq!(fails(&zip(&[])), Unread::NoText(Format::Zip));
    assert_eq!(fails(b"plain text"), Unread::NoDocument(None));

    let whole = docx(&"<w:p><w:t>Some words that are read</w:t></w:p>".repeat(20));
    assert_eq!(fails(&whole[..whole.len() - 30]), Unread::Damaged(Format::Docx));
    let mut changed = whole.clone();
    let data = whole.windows(9).position(|bytes| bytes == b"word/docu").unwrap() + 60;
    changed[data] ^= 1;
    assert_eq!(fails(&changed), Unread::Damaged(Format::Docx));

    let manifest = "<manifest:file-entry><manifest:encryption-data/></manifest:file-entry>";
    let locked = zip(&[("content.xml", "\u{1}\u{2}"), ("META-INF/manifest.xml", manifest)]);
    assert_eq!(fails(&locked), Unread::Password(Format::Odt));

    let mut archive = Zip::default();
    let entry = Entry { name: "secret.txt", method: 0, flags: 1, crc: 0, stored: 3, size: 3, at: 0 };
    archive.local(&entry);
    let locked = archive.raw(b"abc").entry(&entry).finish();
    assert_eq!(fails(&locked), Unread::Password(Format::Zip));
    let member = members(&locked, &Limits::default()).unwrap().next().unwrap();
    assert_eq!(member.bytes, Err(Unread::Password(Format::Zip)));
    assert_eq!(
        Unread::Password(Format::Zip).to_string(),
        "expected a document with text, got a zip archive with a password"
    );
}

#[test]
fn limits_cut_the_text_off_and_say_so() {
    let words = docx(&"<w:p><w:t>gr\u{fc}n</w:t></w:p>".repeat(1000));
    for most in 0..40 {
        match text_of(&words, &Limits { text: most, ..Limits::default() }) {
            Ok(text) => {
                assert!(text.is_cut && text.text.len() <= most && text.text.len() + 4 > most, "{most}")
            }
            Err(error) => assert!(most == 0 && error == Unread::NoText(Format::Docx)),
        }
    }
    let inflated = text_of(&words, &Limits { inflated: 1000, ..Limits::default() }).unwrap();
    assert!(inflated.is_cut && inflated.text.len() > 100);
    let whole = text_of(&words, &Limits::default()).unwrap();
    assert!(!whole.is_cut && whole.text.lines().count() == 1000);
    let archive = zip(&[("a.txt", "one"), ("b.txt", "two"), ("c.txt", "three")]);
    let two = text_of(&archive, &Limits { entries: 2, ..Limits::default() }).unwrap();
    assert!(two.is_cut && two.text == "one\ntwo");
}

#[test]
fn parts_in_other_encodings_are_read() {
    let xml = "<w:document><w:p><w:t>Gr\u{fc}\u{df}e \u{4e16}</w:t></w:p></w:document>";
    let units: Vec<u8> =
        "\u{feff}".chars().chain(xml.chars()).flat_map(|c| (c as u16).to_le_bytes()).collect();
    let archive = Zip::default().deflate("word/document.xml", &units).finish();
    check(&archive, Format::Docx, "Gr\u{fc}\u{df}e \u{4e16}");
    let mut declared = b"<?xml version='1.0' encoding='windows-1251'?><html><body>".to_vec();
    declared.extend(b"\xcf\xf0\xe8</body></html>");
    let zip = Zip::default().store("content.xml", &declared).finish();
    check(&zip, Format::Odt, "При");
}
