//! Collects the style sheets of a document that has some, before it is read: they say how the text before them looks too.
use crate::html::sheet::{StyleSheet, media_matches};
use crate::html::tags::{Attribute, Name};
use crate::html::tokens::{Attributes, TokenSink, value};

/// Collects the style sheets of a document.
pub(super) struct StyleCollector {
    pub(super) sheet: StyleSheet,
    pub(super) quirks: bool,
    applies: bool,
    scratch: String,
}

impl StyleCollector {
    pub(super) fn new(quirks: bool) -> Self {
        StyleCollector { sheet: StyleSheet::default(), quirks, applies: false, scratch: String::new() }
    }
}

impl<'h> TokenSink<'h> for StyleCollector {
    fn start_tag(&mut self, _: Name, attributes: &mut Attributes<'h>) {
        let media = value(attributes, Attribute::Media);
        self.applies = media.is_none_or(|media| media_matches(&media.to_ascii_lowercase()));
    }

    fn style_sheet(&mut self, text: &str) {
        if self.applies {
            self.sheet.add(text, self.quirks);
        }
    }

    fn text(&mut self, _: &str) -> &mut String {
        self.scratch.clear();
        &mut self.scratch
    }
}

/// Whether a document type makes browsers take a page for an old one (HTML standard, section 13.2.6.4.1).
pub(super) fn has_quirks(declaration: &str) -> bool {
    let declaration = declaration.to_ascii_lowercase();
    let Some(identifiers) = declaration.trim_ascii_start().strip_prefix("html") else { return true };
    let is = |old: &str| identifiers.contains(old);
    let is_old = || ["//ietf//dtd html", "html 4.0 ", "html 3", "html 2"].into_iter().any(is);
    let may_be_old = || (is("html 4.01 transitional") || is("html 4.01 frameset")) && !is("http://");
    !identifiers.trim_ascii().is_empty() && (is_old() || may_be_old())
}
