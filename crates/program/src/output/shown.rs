//! Makes names, errors and lines safe to display: no file name and no mail may control the terminal.

use std::borrow::Cow;
use std::collections::TryReserveError;
use std::fmt::{self, Write as _};
use std::io;
use std::path::Path;

use tamis_train::Error;

use crate::output::volume::Volume;

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
    let _ = io::Write::write_all(&mut io::stderr(), line.as_bytes());
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
    let mut out = String::new();
    for c in text.chars() {
        match is_obeyed(c) || c.is_whitespace() {
            true => escape(&mut out, c.encode_utf8(&mut [0; 4]).as_bytes()),
            false => out.push(c),
        }
    }
    if out.is_empty() { "-".to_owned() } else { out }
}

/// Escapes a whole line on output, in case something was not quoted earlier.
pub fn clean(line: &str) -> Cow<'_, str> {
    if !line.contains(is_obeyed) {
        return line.into();
    }
    let mut out = String::with_capacity(line.len() + 8);
    for c in line.chars() {
        if is_obeyed(c) {
            escape(&mut out, c.encode_utf8(&mut [0; 4]).as_bytes());
        } else {
            out.push(c);
        }
    }
    out.into()
}

/// A line of JSON with control characters escaped. They can occur only within strings.
pub fn json_line(line: String) -> String {
    if !line.contains(is_obeyed) {
        return line;
    }
    let mut out = String::with_capacity(line.len() + 8);
    for c in line.chars() {
        match c {
            c if is_obeyed(c) => drop(write!(out, "\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// An error and its causes, in one line.
pub fn told(error: &anyhow::Error) -> String {
    let cause = |cause: &(dyn std::error::Error + 'static)| {
        if let Some(error) = cause.downcast_ref::<Error>() {
            return told_of_library(error);
        }
        if cause.is::<TryReserveError>() {
            return "out of memory".to_owned();
        }
        let csv = cause.downcast_ref::<csv::Error>().map(csv::Error::kind);
        match (cause.downcast_ref::<io::Error>(), csv) {
            (Some(error), _) | (_, Some(csv::ErrorKind::Io(error))) => plain(error),
            _ => cause.to_string(),
        }
    };
    error.chain().map(cause).collect::<Vec<_>>().join(": ")
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
}
