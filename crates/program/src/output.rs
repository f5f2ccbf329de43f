//! Output for people: lines in which no file name and no mail can control the terminal, errors in plain words, dates, and
//! how much is printed.

use std::borrow::Cow;
use std::collections::TryReserveError;
use std::fmt::{self, Write as _};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::SystemTime;

use tamis_train::Error;

/// How much is printed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Volume {
    /// Errors, and what could not be read.
    Quiet,
    /// Also how sources were read, what was chosen, and progress.
    Usual,
    /// Also how long steps took, and every document that could not be read.
    Verbose,
}

/// Set once, before a command runs.
static VOLUME: AtomicU8 = AtomicU8::new(Volume::Usual as u8);

impl Volume {
    /// Sets the volume for the whole program.
    pub fn set(self) {
        VOLUME.store(self as u8, Ordering::Relaxed);
    }

    /// Whether the program prints at this volume.
    pub fn is_on(self) -> bool {
        VOLUME.load(Ordering::Relaxed) >= self as u8
    }
}

/// Where a command reports what it has done: standard output, or nowhere with --quiet. Results that were asked for go
/// to standard output in any case.
pub fn done() -> Box<dyn Write> {
    if Volume::Usual.is_on() { Box::new(io::stdout().lock()) } else { Box::new(io::sink()) }
}

/// Prints an error or a warning to standard error. A closed standard error is not a failure.
#[macro_export]
macro_rules! say {
    ($($argument:tt)*) => { $crate::say_line(format_args!($($argument)*)) };
}

/// As [`say`], but prints nothing with --quiet.
#[macro_export]
macro_rules! note {
    ($($argument:tt)*) => { $crate::say_at($crate::Volume::Usual, format_args!($($argument)*)) };
}

/// As [`say`], but prints only with --verbose.
#[macro_export]
macro_rules! detail {
    ($($argument:tt)*) => { $crate::say_at($crate::Volume::Verbose, format_args!($($argument)*)) };
}
pub(crate) use {note, say};

/// Writes a line to standard error if the program prints lines of this volume.
pub fn say_at(volume: Volume, line: fmt::Arguments<'_>) {
    if volume.is_on() {
        say_line(line);
    }
}

/// Writes a line to standard error, without control characters.
pub fn say_line(line: fmt::Arguments<'_>) {
    let mut line = clean(&line.to_string()).into_owned();
    line.push('\n');
    let _ = io::stderr().write_all(line.as_bytes());
}

/// Whether a terminal would obey a character instead of showing it: control characters, line ends, and characters that
/// change the direction of text.
fn is_obeyed(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A name or text to show within a line. If a terminal would obey parts of it, it is quoted as GNU `ls` does,
/// `'a'$'\n''b'`, which a shell can read back.
pub fn shown(text: &str) -> Cow<'_, str> {
    if text.contains(is_obeyed) { quoted(text.as_bytes()).into() } else { text.into() }
}

/// As [`shown`], for a path. Bytes that are not UTF-8 are quoted too.
pub fn shown_path(path: &(impl AsRef<Path> + ?Sized)) -> String {
    let path = path.as_ref();
    match path.to_str() {
        Some(text) => shown(text).into_owned(),
        None => quoted(path.as_os_str().as_encoded_bytes()),
    }
}

fn quoted(bytes: &[u8]) -> String {
    let (mut out, mut escapes) = ("'".to_owned(), false);
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if is_obeyed(c) {
                out.push_str(if escapes { "" } else { "'$'" });
                escape(&mut out, c.encode_utf8(&mut [0; 4]).as_bytes());
                escapes = true;
                continue;
            }
            out.push_str(if escapes { "''" } else { "" });
            match c {
                '\'' => out.push_str("'\\''"),
                c => out.push(c),
            }
            escapes = false;
        }
        if !chunk.invalid().is_empty() {
            out.push_str(if escapes { "" } else { "'$'" });
            escape(&mut out, chunk.invalid());
            escapes = true;
        }
    }
    out.push('\'');
    out
}

/// Escapes bytes for use within `$'...'`.
fn escape(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        match byte {
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            // writing to a String cannot fail
            _ => drop(write!(out, "\\{byte:03o}")),
        }
    }
}

/// A text as one word without white space, for lines that are split at spaces; `-` if it is empty.
pub fn one_word(text: &str) -> String {
    if text.is_empty() { "-".to_owned() } else { escaped(text, |c| is_obeyed(c) || c.is_whitespace()) }
}

/// Escapes a whole line on output, in case something was not quoted earlier.
pub fn clean(line: &str) -> Cow<'_, str> {
    if line.contains(is_obeyed) { escaped(line, is_obeyed).into() } else { line.into() }
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_escaped(c) { escape(&mut out, c.encode_utf8(&mut [0; 4]).as_bytes()) } else { out.push(c) }
    }
    out
}

/// A line of JSON with control characters escaped. They can occur only within strings.
pub fn json_line(line: String) -> String {
    let shown = |c: char| if is_obeyed(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    if line.contains(is_obeyed) { line.chars().map(shown).collect() } else { line }
}

/// An error and its causes, in one line.
pub fn told(error: &anyhow::Error) -> String {
    let cause = |cause: &(dyn std::error::Error + 'static)| match (cause.downcast_ref(), io_error(cause)) {
        (Some(error), _) => told_of_library(error),
        (None, Some(error)) => plain(error),
        _ if cause.is::<TryReserveError>() => "out of memory".to_owned(),
        _ => cause.to_string(),
    };
    error.chain().map(cause).collect::<Vec<_>>().join(": ")
}

/// The error of the operating system that an error is, or that reading a table met.
fn io_error<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a io::Error> {
    match error.downcast_ref().map(csv::Error::kind) {
        Some(csv::ErrorKind::Io(error)) => Some(error),
        _ => error.downcast_ref(),
    }
}

/// An error of the library, with options as they are given at the prompt.
fn told_of_library(error: &Error) -> String {
    if let (Some(path), Some(source)) = (error.path(), error.io_error()) {
        return format!("{}: {}", shown_path(path), plain(source));
    }
    let text = error.to_string();
    let message = error.setting().and_then(|option| Some((option, text.strip_prefix(option)?)));
    message.map_or_else(|| text.clone(), |(option, rest)| format!("--{}{rest}", option.replace('_', "-")))
}

/// An error of the operating system, in plain words.
pub fn plain(error: &io::Error) -> String {
    let words = match error.kind() {
        io::ErrorKind::NotFound => "no such file or folder",
        io::ErrorKind::PermissionDenied => "permission denied",
        io::ErrorKind::AlreadyExists => "the file already exists",
        io::ErrorKind::IsADirectory => "expected a file, got a folder",
        io::ErrorKind::NotADirectory => "a part of this path is a file, not a folder",
        io::ErrorKind::StorageFull => "no space left on the device",
        io::ErrorKind::QuotaExceeded => "disk quota exceeded",
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only",
        io::ErrorKind::FileTooLarge => "the file would become too large",
        io::ErrorKind::BrokenPipe => "the reader closed the pipe",
        // see `before_main`
        io::ErrorKind::NotConnected => "expected an open file or pipe, got a closed one",
        io::ErrorKind::UnexpectedEof => "it ends too early",
        io::ErrorKind::OutOfMemory => "out of memory",
        io::ErrorKind::InvalidFilename => "the file name is too long or not allowed",
        _ => {
            // "Too many levels of symbolic links (os error 40)": the number does not help people
            let said = error.to_string();
            return said.split_once(" (os error").map_or(&*said, |(words, _)| words).to_owned();
        }
    };
    words.to_owned()
}

/// Adds the file's name to an error of the library, unless the error names it already.
pub fn named(path: &Path) -> impl FnOnce(Error) -> anyhow::Error + '_ {
    move |error| match error.path() {
        Some(_) => error.into(),
        None => anyhow::Error::new(error).context(shown_path(path)),
    }
}

/// The exit status of every error, including usage errors.
pub const ERROR: u8 = 3;

/// Whether an error only means that the reader closed the pipe.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let of_model = cause.downcast_ref().and_then(Error::io_error);
        of_model.or(io_error(cause)).is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

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
    fn names_are_quoted_as_ls_does_it() {
        for (name, seen) in [
            ("plain name.eml", "plain name.eml"),
            ("it's", "it's"),
            ("a\nb", "'a'$'\\n''b'"),
            ("\u{1b}[31mred", "''$'\\033''[31mred'"),
            ("it's\r", "'it'\\''s'$'\\r'"),
            ("a\t\u{7f}b", "'a'$'\\t\\177''b'"),
            ("\u{9b}1m", "''$'\\302\\233''1m'"),
            ("exe\u{202e}fdp", "'exe'$'\\342\\200\\256''fdp'"),
        ] {
            assert_eq!(shown(name), seen, "{name:?}");
        }
        assert_eq!(quoted(b"caf\xe9.txt"), "'caf'$'\\351''.txt'");
    }

    #[test]
    fn nothing_slips_through_at_the_exit() {
        assert_eq!(clean("tamis: a\u{1b}]0;x\u{7}b\nc"), "tamis: a\\033]0;x\\007b\\nc");
        assert_eq!(clean("tamis: fine, Größe"), "tamis: fine, Größe");
    }

    #[test]
    fn json_stays_what_it_is() {
        let line = serde_json::json!({"path": "a\u{9b}1m\u{202e}\n"}).to_string();
        let escaped = json_line(line.clone());
        assert!(!escaped.contains(is_obeyed), "{escaped}");
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(read(&escaped), read(&line));
    }

    #[test]
    fn causes_are_told_once_and_in_plain_words() {
        let missing = || io::Error::from_raw_os_error(2);
        let library = tamis_train::Filter::open("no/m.tamis").err().unwrap();
        assert_eq!(told(&library.into()), "no/m.tamis: no such file or folder");
        let named = anyhow::Error::new(missing()).context("a.eml");
        assert_eq!(told(&named), "a.eml: no such file or folder");
        assert_eq!(told(&io::Error::from_raw_os_error(40).into()), "Too many levels of symbolic links");
    }

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
