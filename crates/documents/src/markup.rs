//! The text of XML, by the elements that have text.

use crate::limits::Reading;
use crate::xml::{Piece, attribute, for_each_piece};

/// Which text of XML is text to read.
pub(crate) struct Dialect {
    /// What is in these elements,
    pub(crate) inside: &'static [&'static str],
    /// but not in these.
    pub(crate) without: &'static [&'static str],
}

/// Appends the text of XML and its hyperlinks. Returns whether it was read to its end.
pub(crate) fn push_text(xml: &[u8], dialect: &Dialect, reading: &mut Reading) -> bool {
    let (mut inside, mut skipped, mut in_field) = (0_usize, 0_usize, false);
    for_each_piece(xml, |piece| {
        match piece {
            Piece::Start(name, start) => {
                if skipped > 0 || dialect.without.contains(&name) {
                    skipped += 1;
                    return true;
                }
                inside += usize::from(dialect.inside.contains(&name));
                in_field = name == "instrText";
                match name {
                    "a" => attribute(start, "href").into_iter().for_each(|link| reading.push_link(&link)),
                    "fldSimple" => {
                        attribute(start, "instr").into_iter().for_each(|code| reading.push_field(&code))
                    }
                    _ => (),
                }
                space_of(name).into_iter().for_each(|space| reading.push_break(space));
            }
            Piece::End(_) if skipped > 0 => skipped -= 1,
            Piece::End(name) => {
                inside -= usize::from(inside > 0 && dialect.inside.contains(&name));
                in_field = false;
                space_of(name).into_iter().for_each(|space| reading.push_break(space));
            }
            Piece::Text(text) if skipped == 0 && inside > 0 => reading.push(text),
            Piece::Text(text) if in_field => reading.push_field(text),
            Piece::Text(_) => (),
        }
        !reading.is_full()
    })
}

/// The white space around an element, in OOXML, OpenDocument, XHTML and SVG.
fn space_of(name: &str) -> Option<char> {
    match name {
        "tab" | "tc" | "table-cell" | "covered-table-cell" | "td" | "th" => Some('\t'),
        "s" | "tspan" | "img" => Some(' '),
        "p" | "h" | "br" | "cr" | "tr" | "table-row" | "line-break" | "div" | "li" | "dt" | "dd" | "pre"
        | "blockquote" | "section" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "title" | "text" | "note" => {
            Some('\n')
        }
        _ => None,
    }
}
