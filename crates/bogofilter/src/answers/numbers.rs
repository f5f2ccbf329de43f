//! Formats numbers as C's printf does, since formats in bogofilter's configuration are C formats.

use anyhow::Result;

/// The notation of a number, by its letter in a format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Notation {
    /// `%f`
    Fixed,
    /// `%e`
    Scientific,
    /// `%g`
    Shortest,
}

impl Notation {
    /// Writes the number with `precision` decimals, or for `%g` that many digits.
    pub(crate) fn write(self, value: f64, precision: usize) -> String {
        match self {
            Notation::Fixed => format!("{value:.precision$}"),
            Notation::Scientific => {
                let (digits, exponent) = digits_and_exponent(value, precision);
                with_exponent(&digits, exponent)
            }
            Notation::Shortest => shortest(value, precision.max(1)),
        }
    }
}

/// The digits and the exponent of a number in scientific notation.
fn digits_and_exponent(value: f64, decimals: usize) -> (String, i32) {
    let text = format!("{value:.decimals$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (digits.to_owned(), exponent.parse().unwrap_or(0))
}

fn with_exponent(digits: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

fn shortest(value: f64, n_digits: usize) -> String {
    let bare = |digits: &str| match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => digits.to_owned(),
    };
    let (digits, exponent) = digits_and_exponent(value, n_digits - 1);
    if exponent < -4 || exponent >= n_digits as i32 {
        return with_exponent(&bare(&digits), exponent);
    }
    // not negative, since the exponent is below the number of digits
    let decimals = (n_digits as i32 - 1 - exponent) as usize;
    bare(&format!("{value:.decimals$}"))
}

/// The most decimals that a format may ask for.
pub(super) const MOST_DECIMALS: usize = 40;

/// Replaces the conversions of a format. `convert` gets what follows a `%`; it returns the text, and the rest of the
/// format.
pub(super) fn expand<'f>(
    format: &'f str,
    convert: impl Fn(&'f str) -> Result<(String, &'f str)>,
) -> Result<String> {
    let (mut out, mut rest) = (String::new(), format);
    while let Some((before, after)) = rest.split_once('%') {
        let (text, behind) = convert(after)?;
        out.extend([before, &text]);
        rest = behind;
    }
    Ok(out + rest)
}

/// Formats a number with a C format such as `%0.6f` or `%6.2e`. All other text is copied, including conversions that
/// are not for numbers.
pub(super) fn formatted(format: &str, value: f64) -> String {
    let convert = |after| Ok(conversion(after, value).unwrap_or_else(|| ("%".to_owned(), after)));
    // `convert` gives no error
    expand(format, convert).unwrap_or_default()
}

/// The result of a conversion, and the rest of the format after it.
fn conversion(format: &str, value: f64) -> Option<(String, &str)> {
    if let Some(behind) = format.strip_prefix('%') {
        return Some(("%".to_owned(), behind));
    }
    let after_flags = format.trim_start_matches(['-', '0', '+', ' ', '#']);
    let flags = &format[..format.len() - after_flags.len()];
    let (width, after_width) = leading_number(after_flags);
    let (precision, behind) = match after_width.strip_prefix('.') {
        Some(rest) => leading_number(rest),
        None => (6, after_width),
    };
    let notation = match behind.as_bytes().first()?.to_ascii_lowercase() {
        b'f' => Notation::Fixed,
        b'e' => Notation::Scientific,
        b'g' => Notation::Shortest,
        _ => return None,
    };
    let text = notation.write(value, precision.min(MOST_DECIMALS));
    let missing = width.min(MOST_DECIMALS).saturating_sub(text.len());
    let text = match (flags.contains('-'), flags.contains('0')) {
        (true, _) => text + &" ".repeat(missing),
        (false, true) => "0".repeat(missing) + &text,
        (false, false) => " ".repeat(missing) + &text,
    };
    Some((text, &behind[1..]))
}

/// The number at the start of a text, 0 if there is none, and the rest.
pub(super) fn leading_number(text: &str) -> (usize, &str) {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    (text[..text.len() - rest.len()].parse().unwrap_or(0), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As printf of the C library writes them.
    #[test]
    fn numbers_are_written_as_c_does() {
        for (format, value, expected) in [
            ("%0.6f", 0.5, "0.500000"),
            ("%0.16f", 0.546_189_079_845_231_8, "0.5461890798452318"),
            ("%6.2e", 7.340_91e-6, "7.34e-06"),
            ("%g", 7.340_914e-6, "7.34091e-06"),
            ("%g", 0.000_1, "0.0001"),
            ("%g", 0.0, "0"),
            ("%g", 1.0, "1"),
            ("%g", 0.999_999_9, "1"),
            ("%.3g", 0.123_456, "0.123"),
            ("%e", 0.0, "0.000000e+00"),
            ("%8.3f|", 0.25, "   0.250|"),
            ("%-8.3f|", 0.25, "0.250   |"),
            ("%08.3f", 0.25, "0000.250"),
            ("100%% %d", 0.25, "100% %d"),
            ("", 0.25, ""),
            ("%", 0.25, "%"),
        ] {
            assert_eq!(formatted(format, value), expected, "{format} of {value}");
        }
    }
}
