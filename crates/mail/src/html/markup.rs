//! Text of documents that are HTML.

use std::borrow::Cow;

use memchr::memmem;

use crate::html::{read_html, tokens};

/// Returns the text of a document that is HTML, as pages are. Any other stays as it is, XML and source code too, whose tags
/// say what it is.
///
/// A document is HTML if a document type of that name, `<html`, `<head` or `<body` comes first after white space,
/// comments and processing instructions. Its text is its title and what a person can read of it, as by
/// [`html_to_text`](crate::html_to_text); if that is nothing, because only scripts would show it, its hidden text. Takes
/// linear time on any input.
///
/// ```
/// use tamis_mail::markup_to_text;
///
/// assert_eq!(markup_to_text("<!doctype html><p>Fish &amp; <b>chips</b>"), "Fish & chips");
/// let xml = "<?xml version='1.0'?><a><b>one</b><c>two</c></a>";
/// assert_eq!(markup_to_text(xml), xml);
/// assert_eq!(markup_to_text("a < b, not a <tag>"), "a < b, not a <tag>");
/// ```
pub fn markup_to_text(text: &str) -> Cow<'_, str> {
    if !is_html(text) {
        return Cow::Borrowed(text);
    }
    let found = read_html(text);
    // a page that only its scripts would show
    let is_blank = found.text.trim_ascii().is_empty();
    let texts = [found.title, if is_blank { found.unseen } else { found.text }];
    let texts: Vec<_> = texts.into_iter().filter(|text| !text.is_empty()).collect();
    Cow::Owned(texts.join("\n"))
}

/// Recognises HTML by its beginning.
fn is_html(text: &str) -> bool {
    let mut rest = after_space(text);
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
        return begins(rest["<!doctype".len()..].trim_start(), "html");
    }
    ["<html", "<head", "<body"].iter().any(|tag| begins(rest, tag))
}

fn after_space(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
}

/// Whether `text` begins with `with` as a whole word. Case does not matter.
fn begins(text: &str, with: &str) -> bool {
    let goes_on = |next: &u8| next.is_ascii_alphanumeric() || *next == b'-';
    tokens::begins(text.as_bytes(), with) && !text.as_bytes().get(with.len()).is_some_and(goes_on)
}

fn find(text: &str, what: &str) -> Option<usize> {
    let found = memmem::find(text.as_bytes(), what.as_bytes());
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
        for text in [
            "",
            "a",
            "<p>a",
            "<htmlx>a",
            "<html-like> a",
            "see <html>",
            "<!-- a",
            "< html>",
            "<?php a",
            "<?xml version='1.0'?><a>b</a>",
            "<!DOCTYPE lewis SYSTEM \"lewis.dtd\">\n<BODY>a</BODY>",
        ] {
            assert_eq!(markup_to_text(text), text);
        }
    }

    #[test]
    fn hostile_documents_are_linear() {
        check_linear(&["<!---->", "<!--", "<?a?>", "<?", " "], |text| _ = is_html(text));
    }

    proptest! {
        #[test]
        fn anything_is_read(
            xml in "(<(/?[a-zé]+( [a-z]+=(\"[^\"]*\"|'[^']*))?/?>?|!--|\\?|!\\[CDATA\\[|![A-Z]+ )|-->|\\?>|\\]\\]>|&[a-z#0-9]*;|.){0,40}"
        ) {
            prop_assert!(markup_to_text(&xml).len() <= 2 * xml.len());
        }
    }
}
