//! Reference implementation on html5gum's tokenizer, for tests of the fast one.
use crate::html::collector::StyleCollector;
use crate::html::page::{HtmlText, MOST_LINKS, Page};
use crate::html::tags::{Attribute, Contents, Name};
use crate::html::tokens::{Attributes, TokenSink};
use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, State, Tokenizer};
use std::borrow::Cow;

/// The expected result of [`read_html`](crate::read_html).
pub fn read_html(html: &str) -> HtmlText {
    let html = html.replace("\r\n", "\n").replace('\r', "\n");
    let mut page = Page::new(None, html.len(), MOST_LINKS);
    read_tokens(&html, &mut page);
    if page.lacks_sheets {
        let mut styles = StyleCollector::new(page.has_quirks());
        read_tokens(&html, &mut styles);
        page = Page::new(Some(styles), html.len(), MOST_LINKS);
        read_tokens(&html, &mut page);
    }
    page.found
}

fn read_tokens<S: TokenSink<'static>>(html: &str, sink: &mut S) {
    let mut events = Events {
        sink,
        name: Name::of(""),
        attributes: Vec::new(),
        attribute: None,
        text: String::new(),
        contents: None,
    };
    let emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| events.take(&event));
    let mut tokenizer = Tokenizer::new_with_emitter(html, emitter);
    while let Some(Ok(state)) = tokenizer.next() {
        tokenizer.set_state(state);
    }
    drop(tokenizer);
    events.end_text();
}

/// Turns html5gum's events into tokens.
struct Events<'s, S> {
    sink: &'s mut S,
    name: Name,
    attributes: Attributes<'static>,
    /// The current attribute, if it counts.
    attribute: Option<Attribute>,
    /// The text since the last tag, comment or declaration.
    text: String,
    contents: Option<Contents>,
}

impl<S: TokenSink<'static>> Events<'_, S> {
    /// Takes one event; returns the tokenizer's next state if it must change.
    fn take(&mut self, event: &CallbackEvent<'_>) -> Option<State> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.name = Name::of(&text(name));
                self.attributes.clear();
            }
            CallbackEvent::AttributeName { name } => {
                let is_new =
                    |attribute: &Attribute| self.attributes.iter().all(|(before, _)| before != attribute);
                self.attribute = Attribute::named(Name::of(&text(name))).filter(is_new);
                self.attributes.extend(self.attribute.map(|attribute| (attribute, Cow::Borrowed(""))));
            }
            CallbackEvent::AttributeValue { value } => {
                if let Some((_, last)) = self.attributes.last_mut().filter(|_| self.attribute.is_some()) {
                    *last = Cow::Owned(text(value));
                }
            }
            CallbackEvent::CloseStartTag { .. } => {
                self.end_text();
                self.contents = Contents::named(self.name);
                self.sink.start_tag(self.name, &mut self.attributes);
                return match self.contents {
                    Some(Contents::Script) => Some(State::ScriptData),
                    Some(Contents::StyleSheet | Contents::Characters) => Some(State::RawText),
                    Some(Contents::Text) => Some(State::RcData),
                    Some(Contents::Rest) => Some(State::PlainText),
                    None => None,
                };
            }
            CallbackEvent::EndTag { name } => {
                self.end_text();
                self.sink.end_tag(Name::of(&text(name)));
            }
            CallbackEvent::String { value } => self.text.push_str(&text(value)),
            CallbackEvent::Comment { .. } => self.end_text(),
            CallbackEvent::Doctype { name, public_identifier, system_identifier, .. } => {
                self.end_text();
                let identifiers =
                    [public_identifier, system_identifier].map(|id| text(id.unwrap_or_default()));
                self.sink.doctype(&[&[text(name)], &identifiers[..]].concat().join(" "));
            }
            _ => {}
        }
        None
    }

    fn end_text(&mut self) {
        let text = std::mem::take(&mut self.text);
        match self.contents.take() {
            Some(Contents::Script) => (),
            Some(Contents::StyleSheet) => self.sink.style_sheet(&text),
            _ if text.is_empty() => (),
            _ => self.sink.text(&text).push_str(&text),
        }
    }
}
