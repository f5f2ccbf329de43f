//! The Date field: its terms, and its value.
use super::emitter::Emitter;

/// Emits the first time zone and the shape of a Date field.
pub(super) fn terms(value: Option<&str>, out: &mut Emitter<'_>) {
    let value = value.unwrap_or("none");
    out.term(&["date:tz:", zone(value).unwrap_or("none")]);
    out.shape("date:shape:", value);
}

/// The first sign followed by four digits.
fn zone(value: &str) -> Option<&str> {
    let is_zone = |w: &[u8]| matches!(w[0], b'+' | b'-') && w[1..].iter().all(u8::is_ascii_digit);
    let at = value.as_bytes().windows(5).position(is_zone)?;
    value.get(at..at + 5)
}

/// Parses a date such as `Thu, 22 Aug 2002 18:26:25 +0700` (RFC 5322, sections 3.3 and 4.3) to seconds since 1970.
pub(super) fn parse(value: &str) -> Option<i64> {
    let value = value.split_once(',').map_or(value, |(_, date)| date);
    let mut words = value.split_whitespace().skip_while(|word| word.starts_with(|c: char| c.is_alphabetic()));
    let day = number(words.next()?, 1, 31)?;
    let month = month(words.next()?)?;
    let year = year(words.next()?)?;
    if day > days_in(month, year) {
        return None;
    }
    let mut time = words.next()?.split(':');
    let hours = number(time.next()?, 0, 23)?;
    let minutes = number(time.next()?, 0, 59)?;
    let seconds = time.next().map_or(Some(0), |seconds| number(seconds, 0, 60))?;
    if time.next().is_some() {
        return None;
    }
    let offset = words.next().map_or(Some(0), offset)?;
    let minutes = (days_since_1970(day, month, year) * 24 + hours) * 60 + minutes - offset;
    Some(minutes * 60 + seconds)
}

/// Parses one to four digits as a number from `least` to `most`.
fn number(digits: &str, least: i64, most: i64) -> Option<i64> {
    let plain = digits.len() <= 4 && digits.bytes().all(|c| c.is_ascii_digit());
    digits.parse().ok().filter(|number| plain && (least..=most).contains(number))
}

/// A month by the first three letters of its name, counted from 1.
fn month(name: &str) -> Option<i64> {
    let at = "janfebmaraprmayjunjulaugsepoctnovdec".find(&name.get(..3)?.to_ascii_lowercase())?;
    (at % 3 == 0).then_some(at as i64 / 3 + 1)
}

/// Parses a year. Two digits count from 1900 if they are 50 or more, else from 2000; three digits count from 1900 (RFC
/// 5322, section 4.3). So do three digits after a leading zero, a year-2000 bug of some programs.
fn year(digits: &str) -> Option<i64> {
    let year = match (digits.len(), number(digits, 0, 9_999)?) {
        (2, year @ 0..50) => year + 2_000,
        (2, year) | (_, year @ 100..1_000) => year + 1_900,
        (_, year) => year,
    };
    (year >= 1_900).then_some(year)
}

/// Minutes east of UTC.
fn offset(zone: &str) -> Option<i64> {
    let digits = zone.strip_prefix(['+', '-']);
    if let Some(digits) = digits.filter(|digits| digits.len() == 4) {
        let (hours, minutes) = digits.split_at_checked(2)?;
        let minutes = number(hours, 0, 23)? * 60 + number(minutes, 0, 59)?;
        return Some(if zone.starts_with('-') { -minutes } else { minutes });
    }
    let hours = match zone.to_ascii_uppercase().as_str() {
        "EDT" => -4,
        "EST" | "CDT" => -5,
        "CST" | "MDT" => -6,
        "MST" | "PDT" => -7,
        "PST" => -8,
        _ => 0,
    };
    Some(hours * 60)
}

fn days_in(month: i64, year: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970 in the Gregorian calendar. Years are counted from March, so that the leap day comes last.
fn days_since_1970(day: i64, month: i64, year: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    let days_before_month = (153 * month + 2) / 5;
    year * 365 + leap_days + days_before_month + day - 719_469
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::emitter::testing;
    use proptest::prelude::*;

    #[test]
    fn evidence() {
        let check = |value, zone: &str, shape: &str| {
            assert_eq!(testing::terms(|out| terms(value, out)), [zone, shape]);
        };
        check(Some("Thu, 22 Aug 2002 18:26:25 +0700"), "date:tz:+0700", "date:shape:Aa, 0 Aa 0 0:0:0 +0");
        check(Some("22-08-2002"), "date:tz:-2002", "date:shape:0-0-0");
        check(Some(""), "date:tz:none", "date:shape:");
        check(None, "date:tz:none", "date:shape:a");
        for unit in ["+", "+1", "-123é", ":", " "] {
            let text = unit.repeat(1_000_000);
            testing::terms(|out| terms(Some(&text), out));
            parse(&text);
        }
    }

    #[test]
    fn times() {
        for (text, expected) in [
            ("Thu, 1 Jan 1970 00:00:00 +0000", 0),
            ("Thu, 22 Aug 2002 18:26:25 +0700 (ICT)", 1_030_015_585),
            ("22 Aug 2002 18:26:25 -0530", 1_030_060_585),
            ("22 August 2002 18:26 gmt", 1_030_040_760),
            ("Thu 22 aug 02 18:26:25 EDT", 1_030_055_185),
            ("Fri, 31 Dec 99 23:59:60 UT", 946_684_800),
            ("29 Feb 2000 00:00:00", 951_782_400),
            ("1 Mar 102 0:0:0 XYZ", 1_014_940_800),
            ("1 Mar 0102 0:0:0", 1_014_940_800),
            ("31 Dec 1969 23:59:59 +0000", -1),
        ] {
            assert_eq!(parse(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn no_times() {
        for text in [
            "",
            "none",
            "Thu,",
            "32 Aug 2002 1:1:1",
            "0 Aug 2002 1:1:1",
            "29 Feb 1900 1:1:1",
            "22 Aux 2002 1:1:1",
            "22 8 2002 1:1:1",
            "22 Aug 1899 1:1:1",
            "22 Aug 20022 1:1:1",
            "22 Aug 0002 1:1:1",
            "22 Aug 2 1:1:1",
            "22 Aug 2002",
            "22 Aug 2002 24:1:1",
            "22 Aug 2002 1:60:1",
            "22 Aug 2002 1:1:61",
            "22 Aug 2002 1:1:1:1",
            "22 Aug 2002 1",
            "22 Aug 2002 1:+1:1",
            "22 Aug 2002 1:1:1 +9900",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn days_follow_days() {
        let mut expected = days_since_1970(1, 1, 1_900);
        for year in 1_900..2_500 {
            for month in 1..=12 {
                for day in 1..=days_in(month, year) {
                    assert_eq!(days_since_1970(day, month, year), expected);
                    expected += 1;
                }
            }
        }
        assert_eq!(days_since_1970(1, 1, 1_970), 0);
    }

    proptest! {
        #[test]
        fn never_panics(text in "([A-Z][a-z]{2},? )?([0-9]{1,5}|Feb|[ :+-]|\\PC){0,20}") {
            parse(&text);
        }
    }
}
