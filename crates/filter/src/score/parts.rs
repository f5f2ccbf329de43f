//! The names of parts of a document.

use std::ops::Range;

use tamis_mail::{Message, Piece, Scope};

use crate::extract::document::Document;
use crate::extract::part_verdict::PlaceInBody;
use crate::score::filter::Filter;
use crate::score::verdict::Doubt;
use crate::scorers::scratch::Scratch;

impl Filter {
    /// The part of the document that was scored last that made it worse, or unsure: `lines 12 to 20`, `attachment notes.txt`,
    /// `hidden text`; `None` if it is the whole.
    pub(crate) fn part_name(
        &self,
        document: Document<'_>,
        doubt: Option<Doubt>,
        scratch: &Scratch,
    ) -> Option<String> {
        let part = scratch.part.as_ref()?;
        let window = match &part.deciding {
            _ if doubt == Some(Doubt::Part) => part.window.clone(),
            Some(deciding) => match &deciding.stretches {
                Some(window) => window.clone(),
                None => return Some("what people see".to_owned()),
            },
            None => return None,
        };
        let place = scratch.counted.place_of(window)?;
        match document.apart().0 {
            Document::Mail(raw) => {
                let recipe = self.extractor.recipe();
                let message = Message::parse_ignoring(raw, &recipe.limits, &recipe.ignored_headers);
                Some(name_in(&message, &place))
            }
            Document::Text(text) => Some(lines(text, &place.share)),
            _ => None,
        }
    }
}

/// Names a part of a message.
fn name_in(message: &Message, place: &PlaceInBody) -> String {
    let (mut number, mut name) = (0, String::new());
    message.for_each_piece(true, |piece| match piece {
        Piece::EndOfPart => number += 1,
        Piece::Words { text, scope: Scope::Part, .. } if number == place.number => {
            name = lines(text, &place.share);
        }
        Piece::Words { prefix, .. } if number == place.number => {
            name = if prefix == "title:" { "title" } else { "hidden text" }.to_owned();
        }
        Piece::Words { .. } | Piece::Terms(..) => (),
    });
    // what is seen, hidden and the title of each
    let parts = message.parts();
    let at = place.number / 3;
    let file = parts.get(at).filter(|part| part.is_attached).and_then(|part| part.file_name.as_deref());
    let depth = parts.get(at).map_or(0, |part| part.depth);
    let above = parts.iter().take(at).rev().find(|above| above.depth < depth);
    match (file, above) {
        (Some(file), _) => format!("attachment {file}"),
        (None, Some(above)) if above.content_type == "message/rfc822" => format!("attached message, {name}"),
        _ => name,
    }
}

/// The lines of a text that hold a share of it, counted from 1.
fn lines(text: &str, share: &Range<f64>) -> String {
    let line = |share: f64| {
        let end = text.floor_char_boundary((share.clamp(0.0, 1.0) * text.len() as f64) as usize);
        1 + text[..end].matches('\n').count()
    };
    match (line(share.start), line(share.end).min(text.lines().count().max(1))) {
        (first, last) if first < last => format!("lines {first} to {last}"),
        (first, _) => format!("line {first}"),
    }
}
