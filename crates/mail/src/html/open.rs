//! An open element: its style, and what its attributes say of its style.
use crate::html::look::{Cells, Layout, Look};
use crate::html::sheet::Subject;
use crate::html::style::{Property, Style, Value};
use crate::html::tags::{Attribute, Tag};
use crate::html::tokens::Attributes;
use crate::html::values::{Colour, Length};
use std::rc::Rc;

static EMPTY: Style = Style::NONE;

/// An element that has begun and not yet ended.
#[derive(Clone, Debug)]
pub(super) struct OpenElement<'h> {
    /// Tells it apart from all others of the document.
    pub(super) number: usize,
    pub(super) tag: Tag,
    pub(super) subject: Subject<'h>,
    /// Its style, if it has one of its own.
    pub(super) style: Option<Rc<Style>>,
    /// Its contents are not shown, whatever its style.
    pub(super) is_closed: bool,
    /// Whether it is apart from what is beside it.
    pub(super) separates: bool,
    pub(super) look: Look,
}

impl<'h> AsRef<Subject<'h>> for OpenElement<'h> {
    fn as_ref(&self) -> &Subject<'h> {
        &self.subject
    }
}

impl OpenElement<'_> {
    /// Whether it is the same element with the same style.
    pub(super) fn is_like(&self, other: &OpenElement<'_>) -> bool {
        self.subject.name == other.subject.name && self.style == other.style
    }

    /// Sets the look inside an element of the look `outer`. In quirks mode, tables inherit colours from `body`.
    pub(super) fn restyle(&mut self, outer: &Look, body: Option<&Look>) {
        let base = match self.tag {
            Tag::Button | Tag::Select | Tag::TextArea | Tag::Input => Some(outer.field(self.tag)),
            Tag::Table => body.map(|body| outer.table(body)),
            Tag::A if self.subject.is_link => Some(outer.link()),
            _ => None,
        };
        let style = self.style.as_deref();
        let layout = layout(self.tag, style);
        let is_like_outer = base.is_none() && style.is_none();
        self.look = base.unwrap_or(*outer);
        self.look.layout = layout;
        if !is_like_outer {
            self.look.dress(style.unwrap_or(&EMPTY), outer);
        }
        if self.is_closed {
            self.look = self.look.gone();
        }
        if self.tag == Tag::Table {
            let style = style.unwrap_or(&EMPTY);
            self.look.cells = Cells {
                touch: style.is(Property::BorderCollapse, "collapse") && !has_width(style),
                are_bare: style.px(Property::CellPadding, 16.0) == Some(0.0),
            };
        }
        self.separates = self.is_apart();
    }

    /// Whether words end at its edges.
    fn is_apart(&self) -> bool {
        let style = self.style.as_deref().unwrap_or(&EMPTY);
        let is_zero = |property| style.px(property, 16.0).unwrap_or_default().abs() < 2.0;
        let is_bare = match style.get(Property::Padding) {
            Value::Unset => self.look.cells.are_bare,
            _ => is_zero(Property::Padding),
        };
        match self.look.layout {
            Layout::Inline => !is_zero(Property::Padding),
            Layout::InlineBlock => {
                has_width(style) || !is_zero(Property::Padding) || !is_zero(Property::MarginLeft)
            }
            Layout::Cell => has_width(style) || !self.look.cells.touch || !is_bare,
            Layout::Block => true,
        }
    }
}

fn has_width(style: &Style) -> bool {
    !matches!(style.get(Property::Width), Value::Unset | Value::Word(_))
}

/// Sets what attributes say of an element's style, below all style sheets (HTML standard, section 15).
pub(super) fn hints(tag: Tag, attributes: &Attributes<'_>, style: &mut Style) {
    let hints = attributes.iter().filter_map(|(attribute, value)| hint(tag, *attribute, value));
    hints.for_each(|(property, value)| style.set(property, value));
}

fn hint(tag: Tag, attribute: Attribute, value: &str) -> Option<(Property, Value)> {
    let colour = || Colour::of_attribute(value).map(Value::Colour);
    let length = || Length::read(value.trim(), true).map(Value::Length);
    let zero = |value: &str| pixels(value) == Some(0.0);
    let has_ground =
        matches!(tag, Tag::Body | Tag::Table | Tag::TableSection | Tag::Row | Tag::Cell | Tag::Bound);
    Some(match (attribute, tag) {
        (Attribute::Hidden, _) => (Property::Display, Value::Word("none")),
        (Attribute::BgColor, _) if has_ground => (Property::BackgroundColor, colour()?),
        (Attribute::Background, _) if has_ground && !value.trim().is_empty() => {
            (Property::BackgroundImage, Value::Word("picture"))
        }
        (Attribute::Link, Tag::Body) => (Property::LinkColor, colour()?),
        (Attribute::Color, Tag::Font) | (Attribute::Text, Tag::Body) => (Property::Color, colour()?),
        (Attribute::Size, Tag::Font) => (Property::FontSize, Value::Length(Length::Px(font_size(value)?))),
        (Attribute::Width, Tag::Table | Tag::Cell) => (Property::Width, length()?),
        (Attribute::Height, Tag::Table | Tag::Cell) => (Property::Height, length()?),
        (Attribute::CellSpacing, Tag::Table) if zero(value) => {
            (Property::BorderCollapse, Value::Word("collapse"))
        }
        (Attribute::CellPadding, Tag::Table) if zero(value) => {
            (Property::CellPadding, Value::Length(Length::Px(0.0)))
        }
        _ => return None,
    })
}

/// The number of an attribute such as `width`.
pub(super) fn pixels(value: &str) -> Option<f64> {
    let number = value.trim();
    // nearly all are whole
    let whole = number.parse::<u32>().ok().map(f64::from);
    whole.or_else(|| number.trim_end_matches("px").parse().ok())
}

/// The pixels of a size such as `2` or `+1`, where `3` is usual.
fn font_size(size: &str) -> Option<f32> {
    let size = size.trim();
    let digits = size.trim_start_matches(['+', '-']);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let number: i32 = digits[..end].parse().ok()?;
    let number = match size.chars().next() {
        Some('+') => 3 + number.min(9),
        Some('-') => 3 - number.min(9),
        _ => number,
    };
    Some([10.0, 13.0, 16.0, 18.0, 24.0, 32.0, 48.0][(number.clamp(1, 7) - 1) as usize])
}

fn layout(tag: Tag, style: Option<&Style>) -> Layout {
    let usual = match tag {
        Tag::Cell => Layout::Cell,
        Tag::A | Tag::Format | Tag::Font | Tag::Inline | Tag::Image | Tag::Br => Layout::Inline,
        _ => Layout::Block,
    };
    let Some(style) = style else { return usual };
    let is_out = matches!(style.word(Property::Position), "absolute" | "fixed");
    match style.word(Property::Display) {
        _ if is_out => Layout::Block,
        _ if matches!(style.word(Property::Float), "left" | "right") => Layout::InlineBlock,
        "" | "none" => usual,
        "inline" | "contents" | "ruby" => Layout::Inline,
        "inline-block" | "inline-flex" | "inline-table" | "inline-grid" | "-webkit-inline-box" => {
            Layout::InlineBlock
        }
        "table-cell" if tag == Tag::Cell => Layout::Cell,
        "table-cell" => Layout::InlineBlock,
        _ => Layout::Block,
    }
}
