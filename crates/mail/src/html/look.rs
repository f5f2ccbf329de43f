//! How an element looks: what its style and that of its ancestors make of its text.
use crate::html::style::{FAR, Property, Style, Value};
use crate::html::tags::Tag;
use crate::html::values::{Colour, Length, Rgb, contrast};

// What lies below these limits cannot be read.
const LEAST_PX: f32 = 4.0;
/// Sizes relative to others do not go below.
const LEAST_RELATIVE_PX: f32 = 6.0;
const LEAST_CONTRAST: f32 = 1.15;
const LEAST_OPACITY: f32 = 0.1;
/// The share of a line that must be inside its box.
const LEAST_SHOWN: f32 = 0.25;

/// Properties of letters that few elements have.
#[rustfmt::skip]
const RARE: [Property; 9] = [
    Property::LinkColor, Property::Fill, Property::Visibility, Property::Opacity, Property::Filter, Property::Shadow,
    Property::Security, Property::LetterSpacing, Property::TextIndent,
];
/// Properties of boxes but for their backgrounds.
#[rustfmt::skip]
const OF_BOXES: [Property; 13] = [
    Property::Height, Property::MaxHeight, Property::OverflowX, Property::OverflowY, Property::Position,
    Property::MarginLeft, Property::Clip, Property::ClipPath, Property::Transform, Property::Scale, Property::Left,
    Property::Top, Property::Right,
];

/// Whether the text of an element can be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sight {
    Seen,
    /// It cannot, but takes up room, so that it keeps words apart.
    Blank,
    /// It takes up no room.
    Gone,
}

/// How an element joins what is before and behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Layout {
    Inline,
    /// Touches what is beside it unless it has padding.
    InlineBlock,
    /// A cell of a table.
    Cell,
    Block,
}

/// The cells of a table.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Cells {
    /// They lie side by side, without space between them.
    pub(super) touch: bool,
    /// They have no padding unless they ask for it.
    pub(super) are_bare: bool,
}

/// How an element looks.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Look {
    pub(super) sight: Sight,
    pub(super) layout: Layout,
    pub(super) cells: Cells,
    /// Nothing in the element can be seen, whatever its style.
    is_gone: bool,
    is_visible: bool,
    opacity: f32,
    /// The size of letters in pixels.
    px: f32,
    ink: Colour,
    link: Colour,
    fill: Option<Colour>,
    has_shadow: bool,
    /// The colour behind the text.
    ground: Rgb,
    /// A picture is behind the text, of any colour.
    on_picture: bool,
    /// The height and width that ancestors show, in pixels.
    shown: [f32; 2],
    /// The same of positioned ancestors only, which alone clip what has a position of its own.
    shown_positioned: [f32; 2],
    /// How far it is moved to the right and down, in pixels.
    shift: [f32; 2],
    has_contrast: bool,
    is_indented_away: bool,
    is_spaced_away: bool,
}

impl Look {
    /// The page around all elements.
    pub(super) const PAGE: Look = Look {
        sight: Sight::Seen,
        layout: Layout::Block,
        cells: Cells { touch: false, are_bare: false },
        is_gone: false,
        is_visible: true,
        opacity: 1.0,
        px: 16.0,
        ink: Colour::BLACK,
        link: Colour::LINK,
        fill: None,
        has_shadow: false,
        ground: Colour::WHITE.rgb,
        on_picture: false,
        shown: [f32::INFINITY; 2],
        shown_positioned: [f32::INFINITY; 2],
        shift: [0.0; 2],
        has_contrast: true,
        is_indented_away: false,
        is_spaced_away: false,
    };

    /// The same where nothing can be seen.
    pub(super) fn gone(self) -> Look {
        Look { is_gone: true, sight: Sight::Gone, ..self }
    }

    /// The look of a form field, which does not inherit colour and size.
    pub(super) fn field(self, tag: Tag) -> Look {
        let ground = if tag == Tag::Button { Colour::BUTTON } else { Colour::WHITE };
        Look { px: 13.3, ink: Colour::BLACK, ground: ground.rgb, on_picture: false, ..self }
    }

    /// The look of a link.
    pub(super) fn link(self) -> Look {
        Look { ink: self.link, ..self }
    }

    /// Whether pictures in the element can be seen.
    pub(super) fn has_pictures(&self) -> bool {
        !self.is_gone && self.is_visible && self.opacity >= LEAST_OPACITY
    }

    /// The look of a table in quirks mode, which does not inherit size and colour either.
    pub(super) fn table(self, body: &Look) -> Look {
        Look { px: 16.0, ink: body.ink, ..self }
    }

    /// Makes the look that of an element of this style. It starts from `outer`, that of the element around it, or from what
    /// its kind makes of that.
    pub(super) fn dress(&mut self, style: &Style, outer: &Look) {
        self.text(style, outer);
        if style.has_any(&OF_BOXES) {
            self.boxes(style);
        } else if style.has_any(&[Property::BackgroundColor, Property::BackgroundImage]) {
            self.background(style);
        }
        let has_no_box =
            matches!(style.word(Property::Display), "none" | "table-column" | "table-column-group");
        if has_no_box || style.is(Property::ContentVisibility, "hidden") {
            self.is_gone = true;
        }
        let is_inked_alike = self.ink == outer.ink
            && self.fill == outer.fill
            && self.ground == outer.ground
            && self.on_picture == outer.on_picture
            && self.opacity == outer.opacity;
        if !is_inked_alike {
            self.has_contrast = self.contrasts();
        }
        self.sight = self.sight();
    }

    /// Sets what concerns letters: size, colours, opacity.
    fn text(&mut self, style: &Style, outer: &Look) {
        match style.get(Property::FontSize) {
            Value::Length(Length::Px(px)) => self.px = px,
            Value::Length(length) => {
                let px = length.px(outer.px).unwrap_or_else(|| length.of(outer.px));
                // as Chromium does
                self.px = if px > 0.0 { px.max(LEAST_RELATIVE_PX) } else { px };
            }
            Value::Initial => self.px = 16.0,
            _ => (),
        }
        match style.get(Property::Color) {
            Value::Colour(colour) => self.ink = colour,
            Value::Initial => self.ink = Colour::BLACK,
            Value::Inherit => self.ink = outer.ink,
            _ => (),
        }
        if style.has_any(&RARE) {
            self.rare(style);
        }
    }

    fn rare(&mut self, style: &Style) {
        if let Value::Colour(colour) = style.get(Property::LinkColor) {
            self.link = colour;
        }
        match style.get(Property::Fill) {
            Value::Colour(colour) => self.fill = Some(colour),
            Value::Initial => self.fill = None,
            _ => (),
        }
        match style.word(Property::Visibility) {
            "" => self.is_visible |= style.get(Property::Visibility) == Value::Initial,
            word => self.is_visible = word == "visible",
        }
        for property in [Property::Opacity, Property::Filter] {
            if let Value::Number(opacity) = style.get(property) {
                self.opacity *= opacity;
            }
        }
        match style.word(Property::Shadow) {
            "" => (),
            word => self.has_shadow = word != "none",
        }
        if !matches!(style.word(Property::Security), "" | "none") {
            self.is_visible = false;
        }
        if let Some(spacing) = style.px(Property::LetterSpacing, self.px) {
            self.is_spaced_away = spacing < -0.4 * self.px;
        }
        if let Some(indent) = style.px(Property::TextIndent, self.px) {
            self.is_indented_away = indent <= -FAR;
        }
    }

    /// Sets what concerns boxes: backgrounds, clipping, position.
    fn boxes(&mut self, style: &Style) {
        let em = self.px;
        let px = |property| style.px(property, em);
        let is_box = self.layout != Layout::Inline && self.layout != Layout::Cell;
        let [height, width] = [
            [Property::Height, Property::MaxHeight, Property::MinHeight],
            [Property::Width, Property::MaxWidth, Property::MinWidth],
        ]
        .map(|[exact, most, least]| {
            let size = px(exact).unwrap_or(f32::INFINITY).min(px(most).unwrap_or(f32::INFINITY));
            size.max(px(least).unwrap_or(0.0))
        });
        let overflow =
            [(Property::OverflowY, height), (Property::OverflowX, width)].map(|(property, size)| {
                match style.word(property) {
                    "hidden" | "clip" => Some(size),
                    // a box that scrolls can be scrolled if there is room to do so
                    "auto" | "scroll" if size < 10.0 => Some(size),
                    _ => None,
                }
            });
        let position = style.word(Property::Position);
        match position {
            "absolute" => self.shown = self.shown_positioned,
            "fixed" => (self.shown, self.shift) = ([f32::INFINITY; 2], [0.0; 2]),
            _ => (),
        }
        let clips = is_box && overflow.iter().any(Option::is_some);
        if clips {
            self.shown[0] = self.shown[0].min(overflow[0].unwrap_or(f32::INFINITY));
            self.shown[1] = self.shown[1].min(overflow[1].unwrap_or(f32::INFINITY));
        }
        // text that flows out of its box does not lie on its background
        if clips || !is_box || height >= LEAST_SHOWN * self.px {
            self.background(style);
        }
        let is_out = matches!(position, "absolute" | "fixed");
        if is_out || position == "relative" {
            self.shown_positioned = self.shown;
            self.shift[0] += px(Property::Left).unwrap_or_default();
            self.shift[1] += px(Property::Top).unwrap_or_default();
        }
        self.shift[0] += px(Property::MarginLeft).unwrap_or_default();
        let is_far_right = px(Property::Right).is_some_and(|px| px >= 1000.0 + FAR);
        self.is_gone |= is_out && (is_far_right || style.is(Property::Clip, "gone"))
            || style.is(Property::ClipPath, "gone")
            || is_box && (style.is(Property::Transform, "gone") || style.is(Property::Scale, "gone"));
    }

    fn background(&mut self, style: &Style) {
        if let Value::Colour(colour) = style.get(Property::BackgroundColor) {
            self.ground = colour.over(1.0, self.ground);
            self.on_picture &= colour.opacity() <= 0.9;
        }
        self.on_picture |= style.is(Property::BackgroundImage, "picture");
    }

    fn sight(&self) -> Sight {
        let line = LEAST_SHOWN * self.px;
        let is_clipped = self.shown[0] < line * 1.15 || self.shown[1] < line * 2.0;
        let is_off = self.shift.iter().any(|shift| *shift <= -FAR);
        if self.is_gone || is_clipped || is_off || self.px <= 0.5 || self.is_spaced_away {
            return Sight::Gone;
        }
        let is_faint = !self.is_visible || self.opacity < LEAST_OPACITY || self.px < LEAST_PX;
        if is_faint || self.is_indented_away || !self.has_shadow && !self.has_contrast {
            return Sight::Blank;
        }
        Sight::Seen
    }

    /// Whether letters differ enough from what is behind them.
    fn contrasts(&self) -> bool {
        let ink = self.fill.unwrap_or(self.ink);
        ink.opacity() >= LEAST_OPACITY
            && (self.on_picture
                || contrast(ink.over(self.opacity, self.ground), self.ground) >= LEAST_CONTRAST)
    }
}
