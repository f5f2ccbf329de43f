//! Times in the past: `2d` or a date.

use anyhow::{Result, anyhow};
use tamis_program::{at, seconds_now};

/// A time as the journal has it.
///
/// # Errors
/// If it is neither a number of minutes, hours, days or weeks nor a date.
pub(crate) fn since(text: Option<&str>) -> Result<String> {
    let Some(text) = text else { return Ok(String::new()) };
    let expected =
        || anyhow!("--since: expected a time such as 30m, 12h, 2d, 1w or 2026-11-24, got {text:?}");
    let is_date = text.len() == 10
        && text.bytes().enumerate().all(|(n, byte)| match n {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    if is_date {
        return Ok(text.to_owned());
    }
    let unit = text.chars().last().ok_or_else(expected)?;
    let seconds = match unit {
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return Err(expected()),
    };
    let n: u32 = text[..text.len() - 1].parse().map_err(|_| expected())?;
    Ok(at(seconds_now() - i64::from(n) * seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        assert_eq!(since(None).unwrap(), "");
        assert_eq!(since(Some("2026-11-24")).unwrap(), "2026-11-24");
        assert!(since(Some("2d")).unwrap() < since(Some("1h")).unwrap());
        for bad in ["", "d", "5", "5y", "-5d", "20261124", "ü"] {
            assert!(since(Some(bad)).is_err(), "{bad}");
        }
    }
}
