//! Dates in readable form.

use std::time::SystemTime;

/// The day (UTC) of a time in seconds since 1970, as `2003-02-11`.
///
/// Years are taken to begin in March, so that a leap day is the last of its year (Howard Hinnant, "chrono-compatible
/// low-level date algorithms", `civil_from_days`).
pub fn day(seconds: i64) -> String {
    let days = seconds.div_euclid(86_400) + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The end of the current day (UTC), in seconds since 1970, so that everything learned on one day has the same date.
pub fn today() -> i64 {
    (seconds_now().div_euclid(DAY) + 1) * DAY - 1
}

/// Seconds per day.
pub const DAY: i64 = 86_400;

/// The current time (UTC), as `2003-02-11T08:15:00Z`.
pub fn now() -> String {
    at(seconds_now())
}

/// The current time, in seconds since 1970.
pub fn seconds_now() -> i64 {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_1970.as_secs()).unwrap_or(0)
}

/// A time (UTC) in seconds since 1970, as `2003-02-11T08:15:00Z`.
pub fn at(seconds: i64) -> String {
    let of_day = seconds.rem_euclid(86_400);
    format!("{}T{:02}:{:02}:{:02}Z", day(seconds), of_day / 3_600, of_day / 60 % 60, of_day % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_dates() {
        for (seconds, date) in [
            (0, "1970-01-01"),
            (86_399, "1970-01-01"),
            (-1, "1969-12-31"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_044_921_600, "2003-02-11"),
            (4_107_542_400, "2100-03-01"),
        ] {
            assert_eq!(day(seconds), date);
        }
    }
}
