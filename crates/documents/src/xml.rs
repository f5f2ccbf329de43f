//! XML, piece by piece, and attributes of elements.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8};
use quick_xml::Reader;
use quick_xml::events::{BytesRef, BytesStart, Event};

/// A piece of XML. Names are without their prefix.
pub(crate) enum Piece<'a> {
    Start(&'a str, &'a BytesStart<'a>),
    End(&'a str),
    Text(&'a str),
}

/// Calls `visit` with each piece until it returns false. Returns whether it came to the end.
pub(crate) fn for_each_piece(xml: &[u8], mut visit: impl FnMut(Piece<'_>) -> bool) -> bool {
    const DEEPEST: usize = 10_000;
    let xml = decode(xml);
    let mut reader = Reader::from_str(&xml);
    let config = reader.config_mut();
    (config.check_end_names, config.allow_unmatched_ends) = (false, true);
    (config.allow_dangling_amp, config.expand_empty_elements) = (true, true);
    let mut depth = 0_usize;
    loop {
        let goes_on = match reader.read_event() {
            Ok(Event::Start(start)) => {
                depth += 1;
                depth < DEEPEST && visit(Piece::Start(start.local_name().into_inner(), &start))
            }
            Ok(Event::End(end)) => {
                depth = depth.saturating_sub(1);
                visit(Piece::End(end.local_name().into_inner()))
            }
            Ok(Event::Text(text)) => visit(Piece::Text(&text)),
            Ok(Event::CData(text)) => visit(Piece::Text(&text)),
            Ok(Event::GeneralRef(reference)) => visit(Piece::Text(&resolve(&reference))),
            Ok(Event::Eof) => return true,
            Ok(_) => true,
            Err(_) => false,
        };
        if !goes_on {
            return false;
        }
    }
}

/// XML as text: by its byte order mark, or by its declaration if it is not UTF-8.
fn decode(xml: &[u8]) -> Cow<'_, str> {
    // three times as long as text, so not much of it
    const MOST: usize = 8 << 20;
    if let Ok(text) = str::from_utf8(xml) {
        return text.trim_start_matches('\u{feff}').into();
    }
    let xml = &xml[..xml.len().min(MOST)];
    let declaration = String::from_utf8_lossy(&xml[..xml.len().min(100)]);
    let label = declaration.split("encoding=").nth(1).and_then(|rest| rest.split(['"', '\'']).nth(1));
    let encoding = label.and_then(|label| Encoding::for_label(label.as_bytes())).unwrap_or(UTF_8);
    encoding.decode(xml).0
}

/// A character, or a named entity of HTML; those of a DTD are left out.
fn resolve(reference: &BytesRef<'_>) -> String {
    let whole = format!("&{};", &**reference);
    let resolved = htmlize::unescape(&*whole);
    if resolved == whole { String::new() } else { resolved.into_owned() }
}

/// The value of an attribute, by its name without a prefix.
pub(crate) fn attribute(start: &BytesStart<'_>, name: &str) -> Option<String> {
    let mut attributes = start.attributes();
    attributes.with_checks(false);
    let found = attributes.flatten().find(|attribute| attribute.key.local_name().into_inner() == name)?;
    Some(htmlize::unescape_attribute(&*found.value).into_owned())
}

/// The attributes with these names of each element with a name, of `most` elements.
pub(crate) fn attributes_of<const N: usize>(
    xml: &[u8],
    element: &str,
    names: [&str; N],
    most: usize,
) -> Vec<[Option<String>; N]> {
    let mut all = Vec::new();
    for_each_piece(xml, |piece| {
        if let Piece::Start(name, start) = piece
            && name == element
        {
            all.push(names.map(|name| attribute(start, name)));
        }
        all.len() < most
    });
    all
}
