//! The elements and attributes of HTML that matter, and what the standard says of them.

/// Maximum length of a name that is told apart from longer ones, in bytes.
pub(super) const LONGEST: usize = 16;

/// The name of an element or attribute in lower case, cut to 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Name(u128);

impl Name {
    pub(super) const fn of(name: &str) -> Name {
        // no name has this byte
        let mut bytes = [0xFF; LONGEST];
        let length = if name.len() < LONGEST { name.len() } else { LONGEST };
        bytes.split_at_mut(length).0.copy_from_slice(name.as_bytes().split_at(length).0);
        bytes.make_ascii_lowercase();
        Name(u128::from_le_bytes(bytes))
    }

    /// The name of so many bytes at a place of a document.
    pub(super) fn at(html: &str, start: usize, length: usize) -> Name {
        let Some(mut bytes) = html.as_bytes()[start..].first_chunk::<LONGEST>().copied() else {
            return Name::of(&html[start..start + length]);
        };
        bytes.make_ascii_lowercase();
        let behind = if length < LONGEST { u128::MAX << (8 * length) } else { 0 };
        Name(u128::from_le_bytes(bytes) | behind)
    }
}

/// Declares an enum of names.
macro_rules! named {
    ($(#[$doc:meta])* $type:ident: $($variant:ident $($name:literal)|+,)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) enum $type { $($variant,)* }

        impl $type {
            /// The one of this name.
            pub(super) fn named(name: Name) -> Option<$type> {
                $($(if name.0 == const { Name::of($name).0 } { return Some($type::$variant); })+)*
                None
            }
        }
    };
}

named! {
    /// An attribute that matters.
    Attribute:
    Alt "alt", Background "background", BgColor "bgcolor", CellPadding "cellpadding", CellSpacing "cellspacing",
    Class "class", Color "color", Height "height", Hidden "hidden", Href "href", Id "id", Link "link",
    Media "media", Open "open", Placeholder "placeholder", Selected "selected", Size "size", Src "src",
    Style "style", Text "text", Type "type", Value "value", Width "width",
}

named! {
    /// Elements that have the same rules.
    Tag:
    A "a",
    Body "body",
    Br "br",
    Button "button",
    Caption "caption",
    Cell "td" | "th",
    Details "details",
    Dialog "dialog",
    Definition "dt" | "dd",
    Font "font",
    Format "" | "big" | "code" | "em" | "i" | "nobr" | "s" | "small" | "strike" | "strong" | "tt" | "u",
    Heading "h1" | "h2" | "h3" | "h4" | "h5" | "h6",
    Html "html",
    Image "img" | "image",
    Input "input",
    Item "li",
    List "ul" | "ol" | "menu" | "dir",
    Option "option",
    OptionGroup "optgroup",
    Block "div" | "address" | "article" | "aside" | "blockquote" | "center" | "dl" | "fieldset" | "figcaption"
        | "figure" | "footer" | "form" | "header" | "hgroup" | "legend" | "listing" | "main" | "nav" | "pre"
        | "search" | "section",
    Paragraph "p",
    Plaintext "plaintext",
    Row "tr",
    Rule "hr",
    Script "script",
    Select "select",
    Style "style",
    Summary "summary",
    Table "table",
    TableSection "tbody" | "thead" | "tfoot",
    TextArea "textarea",
    Title "title",
    Xmp "xmp",
    // shows what it holds only if it fails to show something else, or never
    Hidden "audio" | "canvas" | "datalist" | "iframe" | "meter" | "noembed" | "noframes" | "progress" | "rp"
        | "template" | "video",
    // has neither contents nor an end tag
    Void "area" | "base" | "basefont" | "bgsound" | "col" | "colgroup" | "embed" | "frame" | "frameset"
        | "head" | "keygen" | "link" | "meta" | "param" | "source" | "track" | "wbr",
    // bounds what is open like a cell
    Bound "object" | "applet" | "marquee",
    // all others
    Inline "span",
}

named! {
    /// What an element contains besides markup (HTML standard, section 13.2.6).
    Contents:
    // text with character references up to the end tag
    Text "title" | "textarea",
    // characters up to the end tag
    Characters "xmp" | "iframe" | "noembed" | "noframes",
    // the rest of the document
    Rest "plaintext",
    Script "script",
    StyleSheet "style",
}

impl Tag {
    pub(super) fn of(name: Name) -> Tag {
        Tag::named(name).unwrap_or(Tag::Inline)
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
