//! Text of documents that are HTML or XML.

use std::borrow::Cow;

use memchr::{memchr, memmem};

use crate::html::read_html;
use crate::html::tokens::{push_text, separate};

/// Returns the text of a document that is HTML or XML. A document that is neither stays as it is.
///
/// A document is HTML if a document type of that name, `<html`, `<head` or `<body` comes first after white space,
/// comments and processing instructions. Otherwise, it is XML if it begins with `<?xml` or has another document type
/// there. HTML is its title and what a person can read of it, as by [`html_to_text`](crate::html_to_text); if that is
/// nothing, because only scripts would show it, its hidden text. In XML, every tag separates words, since tag names
/// have no known meaning there; comments, instructions and declarations are dropped, character references are decoded,
/// and CDATA sections are text. Entities that a document declares stay as written. Takes linear time on any input.
///
/// ```
/// use tamis_mail::markup_to_text;
///
/// assert_eq!(markup_to_text("<!doctype html><p>Fish &amp; <b>chips</b>"), "Fish & chips");
/// assert_eq!(markup_to_text("<?xml version='1.0'?><a><b>one</b><c>two</c></a>"), "one\ntwo\n");
/// assert_eq!(markup_to_text("a < b, not a <tag>"), "a < b, not a <tag>");
/// ```
pub fn markup_to_text(text: &str) -> Cow<'_, str> {
    match markup(text) {
        None => Cow::Borrowed(text),
        Some(Markup::Html) => {
            let found = read_html(text);
            // a page that only its scripts would show
            let is_blank = found.text.trim_ascii().is_empty();
            let texts = [found.title, if is_blank { found.unseen } else { found.text }];
            let texts: Vec<_> = texts.into_iter().filter(|text| !text.is_empty()).collect();
            Cow::Owned(texts.join("\n"))
        }
        Some(Markup::Xml) => Cow::Owned(xml_to_text(text)),
    }
}

enum Markup {
    Html,
    Xml,
}

/// Recognises a document by its beginning.
fn markup(text: &str) -> Option<Markup> {
    let mut rest = after_space(text);
    let is_xml = begins(rest, "<?xml");
    loop {
        let end = match rest {
            _ if rest.starts_with("<!--") => "-->",
            _ if rest.starts_with("<?") => "?>",
            _ => break,
        };
        let Some(at) = find(rest, end) else { break };
        rest = after_space(&rest[at + end.len()..]);
    }
    if begins(rest, "<!doctype") {
        let name = rest["<!doctype".len()..].trim_start();
        return Some(if begins(name, "html") { Markup::Html } else { Markup::Xml });
    }
    let is_html = ["<html", "<head", "<body"].iter().any(|tag| begins(rest, tag));
    match is_html {
        true => Some(Markup::Html),
        false => is_xml.then_some(Markup::Xml),
    }
}

fn after_space(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
}

/// Whether `text` begins with `with` as a whole word. Case does not matter.
fn begins(text: &str, with: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with.as_bytes()))
        && !bytes.get(with.len()).is_some_and(|next| next.is_ascii_alphanumeric() || *next == b'-')
}

fn xml_to_text(xml: &str) -> String {
    let (mut text, mut rest) = (String::with_capacity(xml.len()), xml);
    while let Some(at) = passed(rest, memchr(b'<', rest.as_bytes())) {
        push_text(&rest[..at], &mut text);
        let markup = &rest[at..];
        let inside = |start: &str, end: &'static str| {
            markup.strip_prefix(start).map(|inside| (find(inside, end), start.len(), end.len()))
        };
        let section = inside("<![CDATA[", "]]>");
        let end = match section.or_else(|| inside("<!--", "-->")).or_else(|| inside("<?", "?>")) {
            Some((end, start, close)) => end.map(|end| (start..start + end, start + end + close)),
            None => end_of_tag(markup).map(|end| (0..0, end)),
        };
        // markup that does not end is text, so nothing can hide behind it
        let Some((within, end)) = end else {
            text.push_str(markup);
            return text;
        };
        match section {
            Some(_) => text.push_str(&markup[within]),
            None if end == 1 => text.push('<'),
            None => separate(&mut text),
        }
        rest = &markup[end..];
    }
    push_text(rest, &mut text);
    text
}

/// The length of the tag or declaration that begins here; 1 for a bare `<`, `None` if it does not end.
fn end_of_tag(markup: &str) -> Option<usize> {
    let bytes = markup.as_bytes();
    match bytes.get(1) {
        Some(b'!' | b'/' | b'_' | b':') => (),
        Some(name) if name.is_ascii_alphabetic() || !name.is_ascii() => (),
        _ => return Some(1),
    }
    let (mut at, mut is_open) = (1, false);
    loop {
        let is_any = |byte: &u8| matches!(byte, b'>' | b'"' | b'\'' | b'[' | b']');
        at += passed(&markup[at..], bytes[at..].iter().position(is_any))?;
        match bytes[at] {
            b'>' if !is_open => return Some(at + 1),
            b'>' => at += 1,
            // the list of declarations in a document type, where `>` ends only a declaration
            bracket @ (b'[' | b']') => {
                is_open = bracket == b'[' && bytes[1] == b'!';
                at += 1;
            }
            // a lone apostrophe is not a quotation mark and does not end anything
            quote => at += passed(&markup[at + 1..], memchr(quote, &bytes[at + 1..])).map_or(1, |n| n + 2),
        }
    }
}

fn find(text: &str, what: &str) -> Option<usize> {
    passed(text, memmem::find(text.as_bytes(), what.as_bytes()))
}

/// Returns what a search found. Tests count the bytes that it passed.
#[inline(always)]
#[cfg_attr(not(test), allow(unused_variables))]
fn passed(text: &str, found: Option<usize>) -> Option<usize> {
    #[cfg(test)]
    tamis_testing::step(found.unwrap_or(text.len()));
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tamis_testing::check_linear;

    use super::*;

    #[test]
    fn html_is_known_by_how_it_begins() {
        for html in [
            "<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0\"><p>a",
            "\u{feff}\n <!-- by hand --><HTML lang=en><p>a",
            "<?xml version=\"1.0\"?>\n<!DOCTYPE html><p>a",
            "<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><p>a",
            "<head><title>a",
            "<body><p>a",
            "<html><body style='opacity:0'>a",
        ] {
            assert_eq!(markup_to_text(html).trim_start_matches(['\u{feff}', '\n', ' ']), "a", "{html}");
        }
        for text in
            ["", "a", "<p>a", "<htmlx>a", "<html-like> a", "see <html>", "<!-- a", "< html>", "<?php a"]
        {
            assert_eq!(markup_to_text(text), text);
        }
    }

    #[test]
    fn xml() {
        for (xml, text) in [
            ("<a>x<b/>y<c z='>'>u&lt;v</c></a>", "x\ny\nu<v\n"),
            ("<a><!-- <b>no</b> --><![CDATA[<i> & ]]>c</a>", "<i> & c\n"),
            ("<!DOCTYPE a [<!ENTITY e \"]>no\"> <!ELEMENT a ANY>]><a>&e;x</a>", "&e;x\n"),
            ("<été>x</été><_y>z</_y>", "x\nz\n"),
            ("<a>1 < 2 &amp; it's <b c=\"d>e</b>", "1 < 2 & it's e\n"),
            ("<a>x<!-- open", "x<!-- open"),
            ("<a>x<b", "x<b"),
        ] {
            assert_eq!(markup_to_text(&format!("<?xml version=\"1.0\"?>{xml}")), text, "{xml}");
        }
        assert_eq!(markup_to_text("<!DOCTYPE lewis SYSTEM \"lewis.dtd\">\n<BODY>a</BODY>"), "\na\n");
    }

    #[test]
    fn hostile_documents_are_linear() {
        let units = [
            "<",
            "<a ",
            "<a b=\"",
            "<a b='\"",
            "<!--",
            "</",
            "&",
            "&#",
            "<![CDATA[",
            "<?",
            "<!a [",
            "<!a [>",
            "]]>",
            "x",
            ">",
        ];
        for once in ["", "<a \"", "<!--", "<!DOCTYPE a ["] {
            check_linear(&units, |text| drop(xml_to_text(&format!("{once}{text}"))));
        }
        check_linear(&["<!---->", "<!--", "<?a?>", "<?", " "], |text| _ = markup(text));
    }

    proptest! {
        #[test]
        fn anything_is_read(
            xml in "(<(/?[a-zé]+( [a-z]+=(\"[^\"]*\"|'[^']*))?/?>?|!--|\\?|!\\[CDATA\\[|![A-Z]+ )|-->|\\?>|\\]\\]>|&[a-z#0-9]*;|.){0,40}"
        ) {
            prop_assert!(markup_to_text(&xml).len() <= 2 * xml.len());
            prop_assert!(xml_to_text(&xml).len() <= 2 * xml.len());
        }
    }
}
