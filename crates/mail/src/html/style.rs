//! The CSS properties that decide whether text can be read, and how words are joined.
use crate::html::css::{plain, split};
use crate::html::values::{Colour, Length, number};
use memchr::memchr;

/// Names the properties that matter, with how their values are read.
macro_rules! properties {
    ($($property:ident $name:literal $reader:expr,)*) => {
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) enum Property { $($property,)* }

        impl Property {
            /// The property of this name, and the reader of its values.
            fn of(name: &str) -> Option<(Property, Reader)> {
                Some(match name { $($name => (Property::$property, $reader),)* _ => return None })
            }
        }
    };
}

/// Reads a value in lower case, given whether the document is in quirks mode. `None` if it is invalid.
type Reader = fn(&str, bool) -> Option<Value>;

// `-tamis-` marks what only attributes say.
#[rustfmt::skip]
properties! {
    BackgroundColor "background-color" colour,
    BackgroundImage "background-image" |value, _| picture(value),
    BorderCollapse "border-collapse" |value, _| word(value, &["collapse", "separate"]),
    CellPadding "-tamis-cellpadding" |_, _| None,
    Clip "clip" |value, _| Some(gone(is_clip_empty(value))),
    ClipPath "clip-path" |value, _| Some(gone(is_path_empty(value))),
    Color "color" colour,
    ContentVisibility "content-visibility" |value, _| word(value, &["visible", "auto", "hidden"]),
    Display "display" |value, _| word(value, DISPLAYS),
    Fill "-webkit-text-fill-color" colour,
    Filter "filter" |value, _| opacity(value.strip_prefix("opacity(")?.strip_suffix(')')?),
    Float "float" |value, _| word(value, &["left", "right", "none"]),
    FontSize "font-size" font_size,
    Height "height" length_or_word,
    Left "left" length_or_word,
    LetterSpacing "letter-spacing" length_or_word,
    LinkColor "-tamis-link" |_, _| None,
    MarginLeft "margin-left" length_or_word,
    MaxHeight "max-height" length_or_word,
    MaxWidth "max-width" length_or_word,
    MinHeight "min-height" length_or_word,
    MinWidth "min-width" length_or_word,
    Opacity "opacity" |value, _| opacity(value),
    OverflowX "overflow-x" |value, _| word(value, OVERFLOWS),
    OverflowY "overflow-y" |value, _| word(value, OVERFLOWS),
    Padding "padding-left" length_or_word,
    Position "position" |value, _| word(value, &["absolute", "relative", "fixed", "static", "sticky"]),
    Right "right" length_or_word,
    Scale "scale" |value, _| Some(gone(number(value).is_some_and(|factor| factor.abs() < 0.1))),
    Security "-webkit-text-security" |value, _| word(value, &["none", "disc", "circle", "square"]),
    Shadow "text-shadow" |value, _| Some(Value::Word(if value == "none" { "none" } else { "some" })),
    TextIndent "text-indent" length_or_word,
    Top "top" length_or_word,
    Transform "transform" |value, _| Some(gone(is_moved_away(value))),
    Visibility "visibility" |value, _| word(value, &["visible", "hidden", "collapse"]),
    Width "width" length_or_word,
}

#[rustfmt::skip]
const DISPLAYS: &[&str] = &[
    "block", "inline", "none", "inline-block", "table", "table-cell", "table-row", "flex", "list-item", "inline-flex",
    "inline-table", "grid", "inline-grid", "contents", "flow-root", "table-row-group", "table-header-group",
    "table-footer-group", "table-column", "table-column-group", "table-caption", "ruby", "-webkit-box",
    "-webkit-inline-box", "-webkit-flex", "-webkit-inline-flex", "flow", "run-in", "math",
];
const OVERFLOWS: &[&str] = &["hidden", "visible", "auto", "scroll", "clip"];

/// The value of a property.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) enum Value {
    #[default]
    Unset,
    Inherit,
    Initial,
    Word(&'static str),
    Number(f32),
    Length(Length),
    Colour(Colour),
}

/// A declared value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Declaration {
    pub(super) property: Property,
    pub(super) value: Value,
    pub(super) is_important: bool,
}

/// What an element's declarations come to.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Style {
    /// One bit for each property that is set.
    set: u64,
    values: Vec<(Property, Value)>,
}

const _: () = assert!((Property::Width as u32) < u64::BITS);

impl Style {
    pub(super) const NONE: Style = Style { set: 0, values: Vec::new() };

    pub(super) fn is_empty(&self) -> bool {
        self.set == 0
    }

    pub(super) fn clear(&mut self) {
        self.set = 0;
        self.values.clear();
    }

    /// Whether it sets any of these properties.
    pub(super) fn has_any(&self, properties: &[Property]) -> bool {
        properties.iter().any(|property| self.set & 1 << *property as u64 != 0)
    }

    pub(super) fn get(&self, property: Property) -> Value {
        if self.set & 1 << property as u64 == 0 {
            return Value::Unset;
        }
        let value = self.values.iter().find(|(one, _)| *one == property);
        value.map_or(Value::Unset, |(_, value)| *value)
    }

    pub(super) fn set(&mut self, property: Property, value: Value) {
        self.set |= 1 << property as u64;
        match self.values.iter_mut().find(|(one, _)| *one == property) {
            Some((_, before)) => *before = value,
            None => self.values.push((property, value)),
        }
    }

    /// The value if it is a keyword; otherwise empty.
    pub(super) fn word(&self, property: Property) -> &'static str {
        if let Value::Word(word) = self.get(property) { word } else { "" }
    }

    pub(super) fn is(&self, property: Property, word: &str) -> bool {
        self.word(property) == word
    }

    /// The value in pixels, if it is a length, for a font of `em` pixels.
    pub(super) fn px(&self, property: Property, em: f32) -> Option<f32> {
        if let Value::Length(length) = self.get(property) { length.px(em) } else { None }
    }
}

/// Reads the declarations of a text that matter and are valid.
pub(super) fn read_declarations(text: &str, quirks: bool, into: &mut Vec<Declaration>) {
    for declaration in split(text, b';') {
        let Some(colon) = memchr(b':', declaration.as_bytes()) else { continue };
        let (name, value) = (plain(declaration[..colon].trim_ascii()), &declaration[colon + 1..]);
        let name = name.trim_ascii();
        let known = Property::of(
            name.strip_prefix("-webkit-").filter(|name| !name.starts_with("text")).unwrap_or(name),
        );
        if known.is_none() && !SHORTHANDS.contains(&name) {
            continue;
        }
        let value = plain(value);
        let value = value.trim_ascii();
        let important =
            value.strip_suffix("important").and_then(|rest| rest.trim_ascii_end().strip_suffix('!'));
        let (value, is_important) = (important.unwrap_or(value).trim_ascii(), important.is_some());
        let mut put = |property, value| into.push(Declaration { property, value, is_important });
        match known {
            Some((property, read)) => {
                let value = global(value).or_else(|| read(value, quirks));
                value.into_iter().for_each(|value| put(property, value));
            }
            None => shorthand(name, value, quirks, put),
        }
    }
}

const SHORTHANDS: [&str; 6] = ["background", "font", "margin", "overflow", "padding", "padding-right"];

/// Calls `put` with the properties that a shorthand sets, unless it is invalid.
fn shorthand(name: &str, value: &str, quirks: bool, mut put: impl FnMut(Property, Value)) {
    let sides: Vec<_> = value.split_ascii_whitespace().take(4).collect();
    let side = |at: usize| sides.get(at).and_then(|side| length_or_word(side, quirks));
    match name {
        "background" => background(value, quirks, put),
        "font" => font(value).into_iter().for_each(|size| put(Property::FontSize, size)),
        "margin" => {
            side([0, 0, 1, 1, 3][sides.len()]).into_iter().for_each(|left| put(Property::MarginLeft, left))
        }
        "overflow" => {
            let of = |value: &str| global(value).or_else(|| word(value, OVERFLOWS));
            let first = sides.first().copied().unwrap_or_default();
            if let Some((x, y)) = of(first).zip(of(sides.get(1).copied().unwrap_or(first))) {
                put(Property::OverflowX, x);
                put(Property::OverflowY, y);
            }
        }
        _ => side(sides.len().min(2).saturating_sub(1))
            .into_iter()
            .for_each(|side| put(Property::Padding, side)),
    }
}

/// A value that every property can have.
fn global(value: &str) -> Option<Value> {
    Some(match value {
        "inherit" => Value::Inherit,
        "initial" => Value::Initial,
        "unset" | "revert" | "revert-layer" => Value::Unset,
        _ => return None,
    })
}

fn word(value: &str, words: &[&'static str]) -> Option<Value> {
    words.iter().find(|word| **word == value).map(|word| Value::Word(word))
}

fn gone(is_gone: bool) -> Value {
    Value::Word(if is_gone { "gone" } else { "there" })
}

fn colour(value: &str, quirks: bool) -> Option<Value> {
    if value == "currentcolor" {
        return Some(Value::Inherit);
    }
    Colour::read(value, quirks).map(Value::Colour)
}

/// Lengths stay, other sizes such as `auto` do not matter.
fn length_or_word(value: &str, quirks: bool) -> Option<Value> {
    let inside = value.strip_prefix("calc(").and_then(|value| value.strip_suffix(')')).unwrap_or(value);
    let other = |value: &str| {
        let known = ["auto", "none", "normal", "max-content", "min-content", "fit-content"];
        (known.contains(&value) || value.contains('(')).then_some(Value::Word("auto"))
    };
    Length::read(inside.trim_ascii(), quirks).map(Value::Length).or_else(|| other(value))
}

fn opacity(value: &str) -> Option<Value> {
    let opacity = match value.trim_ascii().strip_suffix('%') {
        Some(percent) => number(percent)? / 100.0,
        None => number(value.trim_ascii())?,
    };
    Some(Value::Number(opacity.clamp(0.0, 1.0)))
}

fn picture(value: &str) -> Option<Value> {
    let names = ["url(", "gradient(", "image-set("];
    let is_picture = value.contains('(') && names.iter().any(|name| value.contains(name));
    match is_picture {
        true => Some(Value::Word("picture")),
        false => (value == "none").then_some(Value::Word("none")),
    }
}

fn font_size(value: &str, quirks: bool) -> Option<Value> {
    let keyword = |px| Some(Value::Length(Length::Px(px)));
    match value {
        "xx-small" => keyword(9.0),
        "x-small" => keyword(10.0),
        "small" => keyword(13.0),
        "medium" => keyword(16.0),
        "large" => keyword(18.0),
        "x-large" => keyword(24.0),
        "xx-large" => keyword(32.0),
        "xxx-large" => keyword(48.0),
        "smaller" => Some(Value::Length(Length::Em(0.83))),
        "larger" => Some(Value::Length(Length::Em(1.2))),
        _ => {
            let is_negative = value.starts_with('-');
            Length::read(value, quirks).filter(|_| !is_negative).map(Value::Length)
        }
    }
}

/// The size in the shorthand `font`: the last word before the family that can be one.
fn font(value: &str) -> Option<Value> {
    let mut words = value.split_ascii_whitespace();
    let size = words.by_ref().find_map(|word| {
        let size = word.split('/').next().unwrap_or_default();
        // a number alone is the weight
        if number(size).is_some_and(|number| number != 0.0) { None } else { font_size(size, false) }
    });
    // the family must follow
    words.next().and(size)
}

fn background(value: &str, quirks: bool, mut put: impl FnMut(Property, Value)) {
    if let Some(value) = global(value) {
        put(Property::BackgroundColor, value);
        put(Property::BackgroundImage, value);
        return;
    }
    let (mut found, mut is_picture) = (Value::Initial, Value::Word("none"));
    for word in split(value, b' ').flat_map(|word| split(word, b',')).filter(|word| !word.is_empty()) {
        if let Some(value) = colour(word, quirks && found == Value::Initial) {
            found = value;
        } else if let Some(value) = picture(word) {
            is_picture = value;
        } else if !is_of_background(word) {
            return;
        }
    }
    put(Property::BackgroundColor, found);
    put(Property::BackgroundImage, is_picture);
}

/// Whether a word may be in the shorthand `background` besides a colour and a picture.
fn is_of_background(word: &str) -> bool {
    let mut words = word.split('/').filter(|word| !word.is_empty());
    words.all(|word| OF_BACKGROUND.contains(&word) || Length::read(word, true).is_some())
}

#[rustfmt::skip]
const OF_BACKGROUND: [&str; 21] = [
    "repeat", "no-repeat", "repeat-x", "repeat-y", "scroll", "fixed", "local", "center", "top", "left", "right", "bottom",
    "cover", "contain", "auto", "space", "round", "border-box", "padding-box", "content-box", "text",
];

/// The numbers of a function's arguments, without their units.
fn arguments(value: &str) -> impl Iterator<Item = Option<f32>> {
    let inside = value.split_once('(').map_or("", |(_, rest)| rest);
    let inside = inside.split(')').next().unwrap_or_default();
    inside
        .split([',', ' '])
        .filter(|part| !part.is_empty())
        .map(|part| number(part.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%')))
}

/// Whether `clip` leaves at most a pixel.
fn is_clip_empty(value: &str) -> bool {
    let sides: Vec<_> = arguments(value).collect();
    let [top, right, bottom, left] = sides[..] else { return false };
    let is_thin =
        |from: Option<f32>, to: Option<f32>| from.zip(to).is_some_and(|(from, to)| to - from <= 1.0);
    value.starts_with("rect(") && (is_thin(top, bottom) || is_thin(left, right))
}

/// Whether `clip-path` leaves nothing.
fn is_path_empty(value: &str) -> bool {
    let mut numbers = arguments(value).map(|number| number.unwrap_or(f32::NAN));
    match value.split('(').next() {
        Some("inset") => value.contains('%') && numbers.next().is_some_and(|first| first >= 50.0),
        Some("circle" | "ellipse") => numbers.next() == Some(0.0),
        Some("polygon") => numbers.all(|number| number == 0.0),
        _ => false,
    }
}

/// Whether `transform` makes an element too small to see or moves it off the page.
fn is_moved_away(value: &str) -> bool {
    split(value, b' ').any(|function| {
        let mut numbers = arguments(function).flatten();
        match function.split('(').next() {
            Some("scale" | "scale3d" | "scalex" | "scaley") => numbers.any(|factor| factor.abs() < 0.1),
            Some("translate" | "translate3d" | "translatex" | "translatey") => {
                function.contains("px") && numbers.any(|px| px <= -FAR)
            }
            _ => false,
        }
    })
}

/// What lies this many pixels to the left of the page, or above it, cannot be seen.
pub(super) const FAR: f32 = 500.0;
