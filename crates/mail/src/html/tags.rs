//! The elements and attributes of HTML that matter, and what the standard says of them.

/// Maximum length of a name that is told apart from longer ones, in bytes.
const LONGEST: usize = 16;

/// The name of an element in lower case, cut to 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Name {
    bytes: [u8; LONGEST],
    length: u8,
}

impl Name {
    pub(super) fn of(name: &str) -> Name {
        let mut bytes = [0; LONGEST];
        bytes.iter_mut().zip(name.bytes()).for_each(|(lower, byte)| *lower = byte.to_ascii_lowercase());
        Name { bytes, length: name.len().min(LONGEST) as u8 }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// Declares an enum of names.
macro_rules! named {
    ($(#[$doc:meta])* $type:ident: $($variant:ident $($name:literal)|+,)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) enum $type { $($variant,)* }

        impl $type {
            fn named(name: &[u8]) -> Option<$type> {
                Some(match name { $($($name)|+ => $type::$variant,)* _ => return None })
            }
        }
    };
}

named! {
    /// An attribute that matters.
    Attribute:
    Alt b"alt", Background b"background", BgColor b"bgcolor", CellPadding b"cellpadding", CellSpacing b"cellspacing",
    Class b"class", Color b"color", Height b"height", Hidden b"hidden", Href b"href", Id b"id", Link b"link",
    Media b"media", Open b"open", Placeholder b"placeholder", Selected b"selected", Size b"size", Src b"src",
    Style b"style", Text b"text", Type b"type", Value b"value", Width b"width",
}

impl Attribute {
    pub(super) fn of(name: &str) -> Option<Attribute> {
        Attribute::named(Name::of(name).as_bytes())
    }
}

named! {
    /// Elements that have the same rules.
    Tag:
    A b"a",
    Body b"body",
    Br b"br",
    Button b"button",
    Caption b"caption",
    Cell b"td" | b"th",
    Details b"details",
    Dialog b"dialog",
    Definition b"dt" | b"dd",
    Font b"font",
    Format b"b" | b"big" | b"code" | b"em" | b"i" | b"nobr" | b"s" | b"small" | b"strike" | b"strong" | b"tt" | b"u",
    Heading b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6",
    Html b"html",
    Image b"img" | b"image",
    Input b"input",
    Item b"li",
    List b"ul" | b"ol" | b"menu" | b"dir",
    Option b"option",
    OptionGroup b"optgroup",
    Block b"div" | b"address" | b"article" | b"aside" | b"blockquote" | b"center" | b"dl" | b"fieldset" | b"figcaption"
        | b"figure" | b"footer" | b"form" | b"header" | b"hgroup" | b"legend" | b"listing" | b"main" | b"nav" | b"pre"
        | b"search" | b"section",
    Paragraph b"p",
    Plaintext b"plaintext",
    Row b"tr",
    Rule b"hr",
    Script b"script",
    Select b"select",
    Style b"style",
    Summary b"summary",
    Table b"table",
    TableSection b"tbody" | b"thead" | b"tfoot",
    TextArea b"textarea",
    Title b"title",
    Xmp b"xmp",
    // shows what it holds only if it fails to show something else, or never
    Hidden b"audio" | b"canvas" | b"datalist" | b"iframe" | b"meter" | b"noembed" | b"noframes" | b"progress" | b"rp"
        | b"template" | b"video",
    // has neither contents nor an end tag
    Void b"area" | b"base" | b"basefont" | b"bgsound" | b"col" | b"colgroup" | b"embed" | b"frame" | b"frameset"
        | b"head" | b"keygen" | b"link" | b"meta" | b"param" | b"source" | b"track" | b"wbr",
    // bounds what is open like a cell
    Bound b"object" | b"applet" | b"marquee",
    // all others
    Inline b"span",
}

/// What an element contains (HTML standard, section 13.2.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Contents {
    /// Other elements and text.
    Markup,
    /// Text with character references up to the end tag.
    Text,
    /// Characters up to the end tag.
    Characters,
    /// The rest of the document.
    Rest,
    Script,
    StyleSheet,
}

impl Contents {
    pub(super) fn of(name: Name) -> Contents {
        match name.as_bytes() {
            b"script" => Contents::Script,
            b"style" => Contents::StyleSheet,
            b"title" | b"textarea" => Contents::Text,
            b"xmp" | b"iframe" | b"noembed" | b"noframes" => Contents::Characters,
            b"plaintext" => Contents::Rest,
            _ => Contents::Markup,
        }
    }
}

impl Tag {
    pub(super) fn of(name: Name) -> Tag {
        Tag::named(name.as_bytes()).unwrap_or(Tag::Inline)
    }

    /// `b`, `font` and their like, which go on after the block that they were opened in.
    pub(super) fn is_format(self) -> bool {
        matches!(self, Tag::A | Tag::Font | Tag::Format)
    }

    /// Whether an end tag of an inline element does not reach beyond it.
    pub(super) fn is_special(self) -> bool {
        !self.is_format() && self != Tag::Inline
    }

    /// Whether an end tag of a block does not reach beyond it.
    pub(super) fn is_barrier(self) -> bool {
        matches!(self, Tag::Cell | Tag::Caption | Tag::Table | Tag::Bound | Tag::Hidden)
    }

    /// Whether formatting elements that begin inside end inside.
    pub(super) fn bounds_formats(self) -> bool {
        matches!(self, Tag::Cell | Tag::Caption | Tag::Bound | Tag::Hidden)
    }

    /// Whether text directly inside goes before the table.
    pub(super) fn is_between_cells(self) -> bool {
        matches!(self, Tag::Table | Tag::TableSection | Tag::Row)
    }

    /// Whether it may be directly inside a table or a row.
    pub(super) fn is_of_table(self) -> bool {
        matches!(self, Tag::Cell | Tag::Caption | Tag::Row | Tag::TableSection | Tag::Hidden)
    }

    /// Whether its start tag ends a paragraph.
    pub(super) fn ends_paragraph(self) -> bool {
        matches!(
            self,
            Tag::Block
                | Tag::Paragraph
                | Tag::Heading
                | Tag::Item
                | Tag::List
                | Tag::Definition
                | Tag::Rule
                | Tag::Table
                | Tag::Details
                | Tag::Summary
                | Tag::Dialog
                | Tag::Plaintext
                | Tag::Xmp
        )
    }
}
