//! Values of CSS properties: colours and lengths (CSS Color 4, CSS Values 4).
use std::iter;
use std::sync::LazyLock;

/// Red, green and blue, from 0 to 255.
pub(super) type Rgb = [u8; 3];

/// A colour, and its opacity from 0 to 255.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Colour {
    pub(super) rgb: Rgb,
    pub(super) alpha: u8,
}

impl Colour {
    pub(super) const BLACK: Colour = Colour::opaque(0);
    pub(super) const WHITE: Colour = Colour::opaque(0xFFFFFF);
    /// What browsers give to links and to buttons.
    pub(super) const LINK: Colour = Colour::opaque(0x0000EE);
    pub(super) const BUTTON: Colour = Colour::opaque(0xEFEFEF);
    const TRANSPARENT: Colour = Colour { rgb: [0; 3], alpha: 0 };

    const fn opaque(hex: u32) -> Colour {
        Colour { rgb: [(hex >> 16) as u8, (hex >> 8) as u8, hex as u8], alpha: 255 }
    }

    /// Reads a colour in lower case. In quirks mode, `#` may be missing.
    pub(super) fn read(text: &str, quirks: bool) -> Option<Colour> {
        if let Some(digits) = text.strip_prefix('#') {
            return Colour::hex(digits);
        }
        if text == "transparent" {
            return Some(Colour::TRANSPARENT);
        }
        if let Ok(at) = NAMES.binary_search_by_key(&text, |(name, _)| name) {
            return Some(Colour::opaque(NAMES[at].1));
        }
        if let Some((function, rest)) = text.split_once('(') {
            return Colour::function(function, rest.strip_suffix(')').unwrap_or(rest));
        }
        if quirks && matches!(text.len(), 3 | 6) { Colour::hex(text) } else { None }
    }

    fn hex(digits: &str) -> Option<Colour> {
        let value = u32::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))?;
        let twice = |shift: u32| (value >> shift & 0xF) * 0x11;
        let (rgb, alpha) = match digits.len() {
            3 => (twice(8) << 16 | twice(4) << 8 | twice(0), 255),
            4 => (twice(12) << 16 | twice(8) << 8 | twice(4), twice(0)),
            6 => (value, 255),
            8 => (value >> 8, value & 0xFF),
            _ => return None,
        };
        Some(Colour { alpha: alpha as u8, ..Colour::opaque(rgb) })
    }

    /// Reads `rgb()`, `rgba()`, `hsl()` or `hsla()`, with commas or without.
    fn function(name: &str, arguments: &str) -> Option<Colour> {
        let mut parts = arguments.split([',', '/', ' ', '\t', '\n']).filter(|part| !part.is_empty());
        // with commas, only all parts or none may be percentages
        let is_mixed = |parts: &str| {
            let of_colour = parts.split(',').take(3);
            parts.contains(',') && !matches!(of_colour.filter(|part| part.contains('%')).count(), 0 | 3)
        };
        if name.starts_with("rgb") && is_mixed(arguments) {
            return None;
        }
        let mut next = |whole: f32| match parts.next() {
            None => Some(None),
            Some("none") => Some(Some(0.0)),
            Some(part) => match part.strip_suffix('%') {
                Some(percent) => number(percent).map(|number| Some(number * whole / 100.0)),
                None => number(part.strip_suffix("deg").unwrap_or(part)).map(Some),
            },
        };
        let rgb = match name {
            "rgb" | "rgba" => [next(255.0)??, next(255.0)??, next(255.0)??],
            "hsl" | "hsla" => {
                let hue = next(360.0)??;
                let [saturation, lightness] =
                    [next(100.0)??, next(100.0)??].map(|part| (part / 100.0).clamp(0.0, 1.0));
                let chroma = saturation * lightness.min(1.0 - lightness);
                [0.0, 8.0, 4.0].map(|n| {
                    let k = (n + hue / 30.0).rem_euclid(12.0);
                    255.0 * (lightness - chroma * (k - 3.0).min(9.0 - k).clamp(-1.0, 1.0))
                })
            }
            _ => return None,
        };
        let alpha = next(1.0)?.unwrap_or(1.0).clamp(0.0, 1.0);
        Some(Colour { rgb: rgb.map(|part| part.round() as u8), alpha: (alpha * 255.0).round() as u8 })
    }

    /// Reads the colour of an attribute such as `bgcolor`, where any text is one (HTML standard, section 2.3.6).
    pub(super) fn of_attribute(text: &str) -> Option<Colour> {
        let text = text.trim_ascii();
        if let Some(colour) = text.strip_prefix('#').filter(|digits| digits.len() == 6).and_then(Colour::hex)
        {
            return Some(colour);
        }
        let text = text.to_ascii_lowercase();
        if text.is_empty() || text == "transparent" {
            return None;
        }
        let is_short = text.len() == 4 && text.starts_with('#') || !text.contains(['#', '(']);
        if let Some(colour) = Colour::read(&text, false).filter(|_| is_short) {
            return Some(colour);
        }
        let text = text.strip_prefix('#').unwrap_or(&text);
        let digit = |c: char| if c.is_ascii_hexdigit() { c as u8 } else { b'0' };
        // a character beyond the basic plane counts as two
        let digits = text.chars().flat_map(|c| iter::repeat_n(digit(c), c.len_utf16()));
        let mut digits: Vec<u8> = digits.take(128).collect();
        while digits.is_empty() || !digits.len().is_multiple_of(3) {
            digits.push(b'0');
        }
        let length = digits.len() / 3;
        let mut parts = [0, 1, 2].map(|i| &digits[i * length..(i + 1) * length][length.saturating_sub(8)..]);
        while parts[0].len() > 2 && parts.iter().all(|part| part[0] == b'0') {
            parts = parts.map(|part| &part[1..]);
        }
        let value = |part: &[u8]| {
            let first = str::from_utf8(&part[..part.len().min(2)]).unwrap_or_default();
            u8::from_str_radix(first, 16).unwrap_or_default()
        };
        Some(Colour { rgb: parts.map(value), alpha: 255 })
    }

    pub(super) fn opacity(self) -> f32 {
        f32::from(self.alpha) / 255.0
    }

    /// This colour at an opacity, painted over another one.
    pub(super) fn over(self, opacity: f32, under: Rgb) -> Rgb {
        let alpha = self.opacity() * opacity;
        [0, 1, 2]
            .map(|i| (f32::from(self.rgb[i]) * alpha + f32::from(under[i]) * (1.0 - alpha)).round() as u8)
    }
}

/// The contrast of two colours, from 1 to 21 (WCAG 2.1).
pub(super) fn contrast(a: Rgb, b: Rgb) -> f32 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

fn luminance(rgb: Rgb) -> f32 {
    let [r, g, b] = rgb.map(|part| LINEAR[usize::from(part)]);
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

/// How light each part of a colour is.
static LINEAR: LazyLock<[f32; 256]> = LazyLock::new(|| {
    std::array::from_fn(|part| {
        let part = part as f32 / 255.0;
        if part <= 0.03928 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    })
});

/// A length or percentage.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Length {
    Px(f32),
    /// Times the size of the font.
    Em(f32),
    Percent(f32),
}

impl Length {
    /// Reads a length in lower case. Only in quirks mode may a number other than 0 lack a unit.
    pub(super) fn read(text: &str, quirks: bool) -> Option<Length> {
        let unit = text.bytes().rposition(|byte| byte.is_ascii_digit() || byte == b'.')? + 1;
        let (value, unit) = (number(&text[..unit])?, &text[unit..]);
        Some(match unit {
            "px" => Length::Px(value),
            "" if quirks || value == 0.0 => Length::Px(value),
            "%" => Length::Percent(value),
            "em" => Length::Em(value),
            "ex" | "ch" => Length::Em(value / 2.0),
            "pt" => Length::Px(value * 4.0 / 3.0),
            "pc" | "rem" => Length::Px(value * 16.0),
            "in" => Length::Px(value * 96.0),
            "cm" => Length::Px(value * 37.8),
            "mm" => Length::Px(value * 3.78),
            "q" => Length::Px(value * 0.945),
            // of a window of 1000 by 4000 pixels
            "vw" | "vmin" => Length::Px(value * 10.0),
            "vh" | "vmax" => Length::Px(value * 40.0),
            _ => return None,
        })
    }

    /// In pixels, if percentages are of `whole` pixels.
    pub(super) fn of(self, whole: f32) -> f32 {
        if let Length::Percent(percent) = self { whole * percent / 100.0 } else { whole }
    }

    /// In pixels, for a font of `em` pixels; `None` for a percentage.
    pub(super) fn px(self, em: f32) -> Option<f32> {
        match self {
            Length::Px(px) => Some(px),
            Length::Em(n) => Some(n * em),
            Length::Percent(_) => None,
        }
    }
}

/// Reads a number as CSS writes it.
pub(super) fn number(text: &str) -> Option<f32> {
    let is_in_number = |c: u8| matches!(c, b'0'..=b'9' | b'.' | b'+' | b'-' | b'e');
    let number: f32 = text.bytes().all(is_in_number).then(|| text.parse().ok())??;
    number.is_finite().then_some(number)
}

/// Names of colours, in order.
#[rustfmt::skip]
static NAMES: [(&str, u32); 168] = [
    ("aliceblue", 0xF0F8FF), ("antiquewhite", 0xFAEBD7), ("aqua", 0x00FFFF), ("aquamarine", 0x7FFFD4),
    ("azure", 0xF0FFFF), ("background", 0xFFFFFF), ("beige", 0xF5F5DC), ("bisque", 0xFFE4C4),
    ("black", 0x000000), ("blanchedalmond", 0xFFEBCD), ("blue", 0x0000FF), ("blueviolet", 0x8A2BE2),
    ("brown", 0xA52A2A), ("burlywood", 0xDEB887), ("buttonface", 0xEFEFEF), ("buttontext", 0x000000),
    ("cadetblue", 0x5F9EA0), ("canvas", 0xFFFFFF), ("canvastext", 0x000000), ("captiontext", 0x000000),
    ("chartreuse", 0x7FFF00), ("chocolate", 0xD2691E), ("coral", 0xFF7F50), ("cornflowerblue", 0x6495ED),
    ("cornsilk", 0xFFF8DC), ("crimson", 0xDC143C), ("cyan", 0x00FFFF), ("darkblue", 0x00008B),
    ("darkcyan", 0x008B8B), ("darkgoldenrod", 0xB8860B), ("darkgray", 0xA9A9A9), ("darkgreen", 0x006400),
    ("darkgrey", 0xA9A9A9), ("darkkhaki", 0xBDB76B), ("darkmagenta", 0x8B008B),
    ("darkolivegreen", 0x556B2F), ("darkorange", 0xFF8C00), ("darkorchid", 0x9932CC),
    ("darkred", 0x8B0000), ("darksalmon", 0xE9967A), ("darkseagreen", 0x8FBC8F),
    ("darkslateblue", 0x483D8B), ("darkslategray", 0x2F4F4F), ("darkslategrey", 0x2F4F4F),
    ("darkturquoise", 0x00CED1), ("darkviolet", 0x9400D3), ("deeppink", 0xFF1493),
    ("deepskyblue", 0x00BFFF), ("dimgray", 0x696969), ("dimgrey", 0x696969), ("dodgerblue", 0x1E90FF),
    ("field", 0xFFFFFF), ("fieldtext", 0x000000), ("firebrick", 0xB22222), ("floralwhite", 0xFFFAF0),
    ("forestgreen", 0x228B22), ("fuchsia", 0xFF00FF), ("gainsboro", 0xDCDCDC), ("ghostwhite", 0xF8F8FF),
    ("gold", 0xFFD700), ("goldenrod", 0xDAA520), ("gray", 0x808080), ("graytext", 0x808080),
    ("green", 0x008000), ("greenyellow", 0xADFF2F), ("grey", 0x808080), ("highlight", 0xB5D5FF),
    ("highlighttext", 0x000000), ("honeydew", 0xF0FFF0), ("hotpink", 0xFF69B4), ("indianred", 0xCD5C5C),
    ("indigo", 0x4B0082), ("infobackground", 0xFBFCC5), ("infotext", 0x000000), ("ivory", 0xFFFFF0),
    ("khaki", 0xF0E68C), ("lavender", 0xE6E6FA), ("lavenderblush", 0xFFF0F5), ("lawngreen", 0x7CFC00),
    ("lemonchiffon", 0xFFFACD), ("lightblue", 0xADD8E6), ("lightcoral", 0xF08080), ("lightcyan", 0xE0FFFF),
    ("lightgoldenrodyellow", 0xFAFAD2), ("lightgray", 0xD3D3D3), ("lightgreen", 0x90EE90),
    ("lightgrey", 0xD3D3D3), ("lightpink", 0xFFB6C1), ("lightsalmon", 0xFFA07A),
    ("lightseagreen", 0x20B2AA), ("lightskyblue", 0x87CEFA), ("lightslategray", 0x778899),
    ("lightslategrey", 0x778899), ("lightsteelblue", 0xB0C4DE), ("lightyellow", 0xFFFFE0),
    ("lime", 0x00FF00), ("limegreen", 0x32CD32), ("linen", 0xFAF0E6), ("linktext", 0x0000EE),
    ("magenta", 0xFF00FF), ("mark", 0xFFFF00), ("marktext", 0x000000), ("maroon", 0x800000),
    ("mediumaquamarine", 0x66CDAA), ("mediumblue", 0x0000CD), ("mediumorchid", 0xBA55D3),
    ("mediumpurple", 0x9370DB), ("mediumseagreen", 0x3CB371), ("mediumslateblue", 0x7B68EE),
    ("mediumspringgreen", 0x00FA9A), ("mediumturquoise", 0x48D1CC), ("mediumvioletred", 0xC71585),
    ("menu", 0xF7F7F7), ("menutext", 0x000000), ("midnightblue", 0x191970), ("mintcream", 0xF5FFFA),
    ("mistyrose", 0xFFE4E1), ("moccasin", 0xFFE4B5), ("navajowhite", 0xFFDEAD), ("navy", 0x000080),
    ("oldlace", 0xFDF5E6), ("olive", 0x808000), ("olivedrab", 0x6B8E23), ("orange", 0xFFA500),
    ("orangered", 0xFF4500), ("orchid", 0xDA70D6), ("palegoldenrod", 0xEEE8AA), ("palegreen", 0x98FB98),
    ("paleturquoise", 0xAFEEEE), ("palevioletred", 0xDB7093), ("papayawhip", 0xFFEFD5),
    ("peachpuff", 0xFFDAB9), ("peru", 0xCD853F), ("pink", 0xFFC0CB), ("plum", 0xDDA0DD),
    ("powderblue", 0xB0E0E6), ("purple", 0x800080), ("rebeccapurple", 0x663399), ("red", 0xFF0000),
    ("rosybrown", 0xBC8F8F), ("royalblue", 0x4169E1), ("saddlebrown", 0x8B4513), ("salmon", 0xFA8072),
    ("sandybrown", 0xF4A460), ("seagreen", 0x2E8B57), ("seashell", 0xFFF5EE), ("sienna", 0xA0522D),
    ("silver", 0xC0C0C0), ("skyblue", 0x87CEEB), ("slateblue", 0x6A5ACD), ("slategray", 0x708090),
    ("slategrey", 0x708090), ("snow", 0xFFFAFA), ("springgreen", 0x00FF7F), ("steelblue", 0x4682B4),
    ("tan", 0xD2B48C), ("teal", 0x008080), ("thistle", 0xD8BFD8), ("tomato", 0xFF6347),
    ("turquoise", 0x40E0D0), ("violet", 0xEE82EE), ("wheat", 0xF5DEB3), ("white", 0xFFFFFF),
    ("whitesmoke", 0xF5F5F5), ("window", 0xFFFFFF), ("windowtext", 0x000000), ("yellow", 0xFFFF00),
    ("yellowgreen", 0x9ACD32),
];
