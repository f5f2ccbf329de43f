//! Reference implementation on html5gum's tokenizer, for tests of the fast reader.
use crate::html::reader::{HtmlText, MOST_LINKS, close_comments, is_separator, leads_elsewhere};
use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, State, Tokenizer};

/// The expected result of [`read_html`](crate::read_html).
pub fn read_html(html: &str) -> HtmlText {
    let html = close_comments(html);
    let mut reader = EventReader::default();
    let emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| reader.event(&event));
    let mut tokenizer = Tokenizer::new_with_emitter(&*html, emitter);
    while let Some(Ok(state)) = tokenizer.next() {
        tokenizer.set_state(state);
    }
    drop(tokenizer);
    reader.found
}

#[derive(Default)]
struct EventReader {
    found: HtmlText,
    /// Tokenizer state for skipping the contents of the element that begins.
    raw_text: Option<State>,
    /// Inside a script or style sheet.
    skipping: bool,
    attribute: Attribute,
}

#[derive(Default)]
enum Attribute {
    Alt,
    Link,
    #[default]
    Other,
}

impl EventReader {
    /// Handles one event; returns the tokenizer's next state if it must change.
    fn event(&mut self, event: &CallbackEvent<'_>) -> Option<State> {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.attribute = Attribute::Other;
                self.raw_text = match *name {
                    b"script" => Some(State::ScriptData),
                    b"style" => Some(State::RawText),
                    _ => None,
                };
                if is_separator(name) {
                    self.separate();
                }
            }
            CallbackEvent::CloseStartTag { .. } => {
                self.skipping = self.raw_text.is_some();
                return self.raw_text.take();
            }
            CallbackEvent::EndTag { name } => {
                self.skipping = false;
                if *name == b"a" || is_separator(name) {
                    self.separate();
                }
            }
            CallbackEvent::AttributeName { name } => {
                self.attribute = match *name {
                    b"alt" => Attribute::Alt,
                    b"href" | b"src" => Attribute::Link,
                    _ => Attribute::Other,
                };
            }
            CallbackEvent::AttributeValue { value } => self.attribute_value(value),
            CallbackEvent::String { value } if !self.skipping => {
                self.found.text.push_str(&String::from_utf8_lossy(value));
            }
            _ => {}
        }
        None
    }

    fn attribute_value(&mut self, value: &[u8]) {
        let value = String::from_utf8_lossy(value);
        match self.attribute {
            Attribute::Alt => {
                self.separate();
                self.found.text.push_str(&value);
                self.separate();
            }
            Attribute::Link if self.found.links.len() < MOST_LINKS => {
                let value = value.trim();
                if leads_elsewhere(value) {
                    self.found.links.push(value.to_owned());
                }
            }
            _ => {}
        }
    }

    fn separate(&mut self) {
        if self.found.text.chars().next_back().is_some_and(|last| !last.is_whitespace()) {
            self.found.text.push('\n');
        }
    }
}
