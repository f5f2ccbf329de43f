//! Office documents: those of Microsoft (OOXML) and OpenDocument.

use memchr::memmem;

use crate::archive::Archive;
use crate::format::Format;
use crate::limits::{Limits, Reading, Unread};
use crate::markup::{Dialect, push_text};
use crate::xml::{Piece, attribute, attributes_of, for_each_piece};

/// Only what is in runs; phonetic guides, text that was moved away, and what older programs show instead of a text box
/// are left out.
const OOXML: Dialect =
    Dialect { inside: &["t"], without: &["Fallback", "moveFrom", "rPh", "rt", "pPr", "rPr", "tblPr"] };

const OPEN_DOCUMENT: Dialect = Dialect {
    inside: &["body"],
    without: &["tracked-changes", "annotation", "forms", "ruby-text", "script"],
};

const TITLE: Dialect = Dialect { inside: &["title"], without: &[] };

/// Reads a DOCX, PPTX or XLSX: the parts with text, the most important ones first.
pub(crate) fn read_ooxml(
    archive: &mut Archive<'_>,
    format: Format,
    reading: &mut Reading,
) -> Result<(), Unread> {
    let starts: &[&str] = match format {
        Format::Docx => &["word/document", "word/header", "word/footer", "word/footnotes", "word/endnotes"],
        Format::Pptx => &["ppt/slides/", "ppt/diagrams/data", "ppt/notesSlides/"],
        _ => &["xl/worksheets/", "xl/drawings/drawing"],
    };
    read_title(archive, "docProps/core.xml", reading)?;
    let strings = Strings::read(&archive.take("xl/sharedStrings.xml", reading)?.unwrap_or_default());
    let paths: Vec<_> = starts.iter().flat_map(|start| archive.paths(start)).collect();
    let mut is_whole = paths.is_empty();
    for path in paths {
        let Some(xml) = archive.take(&path, reading)? else { continue };
        is_whole |= match path.starts_with("xl/worksheets/") {
            true => push_cells(&xml, &strings, reading),
            false => push_text(&xml, &OOXML, reading),
        };
        reading.push_break('\n');
        let (folder, file) = path.rsplit_once('/').unwrap_or_default();
        let relations = archive.take(&format!("{folder}/_rels/{file}.rels"), reading)?.unwrap_or_default();
        for [kind, target] in
            attributes_of(&relations, "Relationship", ["Type", "Target"], reading.left.entries)
        {
            let is_link = kind.is_some_and(|kind| kind.ends_with("/hyperlink"));
            target.filter(|_| is_link).into_iter().for_each(|link| reading.push_link(&link));
        }
    }
    reading.output.is_cut |= strings.is_cut;
    if is_whole || reading.output.is_cut { Ok(()) } else { Err(Unread::Damaged(format)) }
}

/// Reads the title among the properties of a document.
fn read_title(archive: &mut Archive<'_>, path: &str, reading: &mut Reading) -> Result<(), Unread> {
    archive.take(path, reading)?.iter().for_each(|xml| push_title(xml, reading));
    Ok(())
}

/// Sets the title that XML has.
pub(crate) fn push_title(xml: &[u8], reading: &mut Reading) {
    let mut title = Reading::new(&Limits { text: 1000, ..reading.left });
    push_text(xml, &TITLE, &mut title);
    reading.output.title = title.output.text.trim().lines().next().map(str::to_owned);
}

/// The strings of a workbook, which its cells refer to by number.
#[derive(Default)]
struct Strings {
    text: String,
    /// Where each of them ends.
    ends: Vec<u32>,
    is_cut: bool,
}

impl Strings {
    fn read(xml: &[u8]) -> Self {
        // bytes, and strings
        const MOST: (usize, usize) = (8 << 20, 1 << 20);
        let mut strings = Strings::default();
        let (mut in_text, mut in_guide) = (false, false);
        for_each_piece(xml, |piece| {
            match piece {
                Piece::Start("rPh", _) => in_guide = true,
                Piece::End("rPh") => in_guide = false,
                Piece::Start(name, _) => in_text = name == "t" && !in_guide,
                Piece::End("si") => strings.ends.push(strings.text.len() as u32),
                Piece::End(_) => in_text = false,
                Piece::Text(text) if in_text => strings.text.push_str(text),
                Piece::Text(_) => (),
            }
            strings.is_cut = strings.text.len() > MOST.0 || strings.ends.len() > MOST.1;
            !strings.is_cut
        });
        strings
    }

    fn get(&self, number: &str) -> Option<&str> {
        let number: usize = number.trim().parse().ok()?;
        let start = number.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.text.get(start as usize..*self.ends.get(number)? as usize)
    }
}

/// Appends the cells of a sheet, row by row: strings, numbers and results of formulas.
fn push_cells(xml: &[u8], strings: &Strings, reading: &mut Reading) -> bool {
    let (mut kind, mut in_value) = (String::new(), false);
    for_each_piece(xml, |piece| {
        match piece {
            Piece::Start("c", start) => kind = attribute(start, "t").unwrap_or_default(),
            Piece::Start(name, _) => in_value = matches!(name, "v" | "t"),
            Piece::End("c") => reading.push_break('\t'),
            Piece::End("row") => reading.push_break('\n'),
            Piece::End(_) => in_value = false,
            Piece::Text(text) if in_value && kind == "s" => {
                reading.push(strings.get(text).unwrap_or_default())
            }
            Piece::Text(text) if in_value => reading.push(rounded(text).as_deref().unwrap_or(text)),
            Piece::Text(_) => (),
        }
        !reading.is_full()
    })
}

/// A long number as people see it: to 15 digits, without an exponent.
fn rounded(number: &str) -> Option<String> {
    let is_long = number.len() > 15 || number.contains('E');
    let is_usual = |value: &f64| is_long && (1e-15..1e15).contains(&value.abs());
    let value = number.parse().ok().filter(is_usual)?;
    let rounded: f64 = format!("{value:.14e}").parse().ok()?;
    Some(rounded.to_string())
}

/// Reads an OpenDocument file.
pub(crate) fn read_open_document(
    archive: &mut Archive<'_>,
    format: Format,
    reading: &mut Reading,
) -> Result<(), Unread> {
    let manifest = archive.take("META-INF/manifest.xml", reading)?.unwrap_or_default();
    if memmem::find(&manifest, b"encryption-data").is_some() {
        return Err(Unread::Password(format));
    }
    read_title(archive, "meta.xml", reading)?;
    let content = archive.take("content.xml", reading)?.ok_or(Unread::Damaged(format))?;
    let is_whole = push_text(&content, &OPEN_DOCUMENT, reading);
    if is_whole || reading.output.is_cut { Ok(()) } else { Err(Unread::Damaged(format)) }
}
