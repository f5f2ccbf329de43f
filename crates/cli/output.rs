//! What the program prints.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::path::Path;

use serde::Serialize;
use tamis_filter::{Document, Error, Filter, Kind, Score, Scratch};

use crate::paths;
use crate::records::Cells;
use crate::shown::{shown, shown_path};

pub(crate) use crate::shown::say;

/// Whether an error only says that nobody reads our output any more.
pub(crate) fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == ErrorKind::BrokenPipe)
            || matches!(cause.downcast_ref(), Some(Error::Io { source, .. }) if source.kind() == ErrorKind::BrokenPipe)
            || cause.downcast_ref::<csv::Error>().is_some_and(
                |e| matches!(e.kind(), csv::ErrorKind::Io(e) if e.kind() == ErrorKind::BrokenPipe),
            )
    })
}

/// A document's score under the keys that every JSON output of the program uses.
#[derive(Serialize)]
pub(crate) struct Verdict<'a> {
    #[serde(serialize_with = "path_as_text")]
    pub(crate) path: &'a OsStr,
    pub(crate) label: &'a str,
    pub(crate) probability: f64,
    pub(crate) log_odds: f64,
    /// Whether only a part of the message was read; no key where it was read whole.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) truncated: bool,
}

impl<'a> Verdict<'a> {
    pub(crate) fn new(filter: &'a Filter, path: &'a OsStr, score: &Score, truncated: bool) -> Self {
        Verdict {
            path,
            label: filter.label_of(score),
            probability: score.probability,
            log_odds: score.log_odds,
            truncated,
        }
    }
}

fn path_as_text<S: serde::Serializer>(path: &OsStr, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&paths::to_text(path))
}

/// `spam 0.9987 +6.64`
pub(crate) fn verdict_line(filter: &Filter, score: &Score) -> String {
    format!("{} {:.4} {:+.2}", shown(filter.label_of(score)), score.probability, score.log_odds)
}

/// A number with its thousands set apart.
pub(crate) fn grouped(number: u64) -> String {
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

/// `1 document`, `2 documents`
pub(crate) fn counted(number: u64, one: &str) -> String {
    format!("{} {one}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// A document's bytes as a kind of document. Text that is not UTF-8 is read as windows-1252.
pub(crate) enum Loaded<'a> {
    Mail(&'a [u8]),
    Text(Cow<'a, str>),
    Row(Vec<(&'a str, &'a str)>),
}

impl<'a> Loaded<'a> {
    pub(crate) fn new(kind: Kind, bytes: &'a [u8]) -> Self {
        match kind {
            Kind::Mail => Loaded::Mail(bytes),
            Kind::Text | Kind::Table => Loaded::Text(tamis_mail::decode_text(bytes, None)),
        }
    }

    pub(crate) fn row(cells: &'a Cells<'_>) -> Self {
        Loaded::Row(cells.iter().map(|(name, cell)| (&**name, &**cell)).collect())
    }

    pub(crate) fn document(&self) -> Document<'_> {
        match self {
            Loaded::Mail(bytes) => Document::Mail(bytes),
            Loaded::Text(text) => Document::Text(text),
            Loaded::Row(cells) => Document::Fields(cells),
        }
    }
}

/// Tells that the verdict is on a part of the message, and why.
pub(crate) fn say_limits(name: &(impl AsRef<Path> + ?Sized), scratch: &Scratch) {
    let hit = scratch.limits_hit();
    if !hit.is_empty() {
        say!("tamis: {}: read in part, because of the limit of: {hit}", shown_path(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(counted(1, "term"), "1 term");
        assert_eq!(counted(12_000, "term"), "12,000 terms");
    }
}
