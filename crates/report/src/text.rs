//! Untrusted text made safe to show, and numbers as people read them.

use std::fmt::{self, Display, Formatter, Write};

/// Untrusted text in a page, isolated from its surroundings whatever its writing direction. Characters that a page
/// would act on are shown as their codes.
#[derive(Clone, Copy)]
pub(crate) struct Name<'a>(pub(crate) &'a str);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "<bdi>{}</bdi>", Escaped(self.0))
    }
}

/// HTML for places where elements are not allowed: titles and drawings. Characters isolate the names in it.
pub(crate) fn without_elements(html: &str) -> String {
    html.replace("<bdi>", "\u{2068}").replace("</bdi>", "\u{2069}")
}

/// Untrusted running text. Keeps line feeds; tabs and carriage returns become spaces.
pub(crate) fn running(text: &str) -> String {
    let escaped = |line: &str| Escaped(&line.replace(['\t', '\r'], " ")).to_string();
    text.split('\n').map(escaped).collect::<Vec<_>>().join("\n")
}

/// Text of others as HTML: isolated from its surroundings, and text whatever it holds.
///
/// ```
/// assert_eq!(tamis_report::shown("<b>\u{1b}"), "<bdi>&lt;b&gt;\\u{1b}</bdi>");
/// ```
pub fn shown(text: &str) -> String {
    Name(text).to_string()
}

struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c if is_obeyed(c) => write!(f, "\\u{{{:x}}}", u32::from(c))?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// Whether a character would act instead of being seen: controls, line ends, changes of the text's direction,
/// characters without width, noncharacters.
fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
        || u32::from(c) & 0xfffe == 0xfffe
}

/// The width of a text in characters of average width, to leave room for it. Capitals and letters of wide scripts take
/// more.
pub(crate) fn width(text: &str) -> f64 {
    let of = |c: char| match c {
        '\u{2066}'..='\u{2069}' => 0.0,
        '\u{1100}'.. => 1.75,
        c if c.is_uppercase() || matches!(c, 'm' | 'w' | '@' | '%') => 1.35,
        _ => 1.0,
    };
    without_elements(text).chars().map(of).sum()
}

/// Cuts a text to `most` characters, keeping the beginning and the end of a long one.
pub fn cut(text: &str, most: usize) -> String {
    let n = text.chars().count();
    if n <= most {
        return text.to_owned();
    }
    let (head, tail) = (most - most / 3 - 1, most / 3);
    let ends = text.chars().take(head).chain(['…']).chain(text.chars().skip(n - tail));
    ends.collect()
}

/// Formats a number with its thousands separated.
///
/// ```
/// assert_eq!(tamis_report::grouped(1_234_567), "1,234,567");
/// ```
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a number of things, given the name of one: `1 document`, `2 documents`.
///
/// ```
/// assert_eq!(tamis_report::counted(12_000, "term"), "12,000 terms");
/// ```
pub fn counted(number: u64, one: &str) -> String {
    format!("{} {one}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// Formats a share with the decimals that its size calls for: `0.024 %`, `1.24 %`, `97.2 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent.min(100.0 - percent) {
        _ if percent == 0.0 || percent == 100.0 => format!("{percent:.0}\u{a0}%"),
        small if small < 0.1 => format!("{percent:.3}\u{a0}%"),
        small if small < 10.0 => format!("{percent:.2}\u{a0}%"),
        _ => format!("{percent:.1}\u{a0}%"),
    }
}

/// The share of `part` in `whole`; 0 if `whole` is 0.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Formats nats with their sign. NaN, the sum of infinities of both signs, becomes `±inf`.
pub(crate) fn nats(number: f64) -> String {
    let number = if number == 0.0 { 0.0 } else { number };
    let text = if number.is_nan() {
        "±inf".to_owned()
    } else if number.abs() < 9.9995 || !number.is_finite() {
        format!("{number:+.3}")
    } else {
        format!("{number:+.2}")
    };
    text.replace('-', "\u{2212}").replace("inf", "∞")
}

/// Writes a number for a page: shown as people read it, with all its digits for programs.
pub(crate) fn number(value: f64, shown: &str) -> String {
    format!("<data value=\"{value}\">{shown}</data>")
}

/// Writes a share in the same way.
pub(crate) fn percent_cell(share: f64) -> String {
    number(share, &percent(share))
}

/// Writes nats in the same way.
pub(crate) fn nats_cell(value: f64) -> String {
    number(value, &nats(value))
}

/// Writes a whole number in the same way.
pub(crate) fn count(value: u64) -> String {
    format!("<data value=\"{value}\">{}</data>", grouped(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_stays_text() {
        for (text, shown) in [
            ("</script><b>", "&lt;/script&gt;&lt;b&gt;"),
            ("\"' onload='x", "&quot;&#39; onload=&#39;x"),
            ("a\0b\u{1b}[31m\u{9b}", "a\\u{0}b\\u{1b}[31m\\u{9b}"),
            ("exe\u{202e}fdp\u{2069}", "exe\\u{202e}fdp\\u{2069}"),
            ("\u{feff}\u{200f}\u{ffff}", "\\u{feff}\\u{200f}\\u{ffff}"),
            ("Größe שלום", "Größe שלום"),
        ] {
            assert_eq!(Name(text).to_string(), format!("<bdi>{shown}</bdi>"));
            assert_eq!(without_elements(&Name(text).to_string()), format!("\u{2068}{shown}\u{2069}"));
        }
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(counted(1, "document"), "1 document");
        for (share, shown) in [
            (0.0, "0 %"),
            (1.0, "100 %"),
            (0.00024, "0.024 %"),
            (0.0124, "1.24 %"),
            (0.5, "50.0 %"),
            (0.97212, "97.21 %"),
            (0.9999, "99.990 %"),
        ] {
            assert_eq!(percent(share), shown.replace(' ', "\u{a0}"));
        }
        assert_eq!([nats(-0.0), nats(-1.5), nats(12.3456)], ["+0.000", "\u{2212}1.500", "+12.35"]);
        assert_eq!([nats(f64::NEG_INFINITY), nats(f64::NAN)], ["\u{2212}∞", "±∞"]);
        assert!(width("WWW") > 4.0 && width("猫猫") == 3.5 && width("<bdi>ab</bdi>") == 2.0);
        assert_eq!(cut("abcdefghij", 10), "abcdefghij");
        assert_eq!(cut("abcdefghijk", 10), "abcdef…ijk");
    }
}
