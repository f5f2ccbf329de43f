//! The values of options, and how they are parsed.

use std::fmt::Display;
use std::str::FromStr;

use anyhow::Result;
use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use encoding_rs::Encoding;
use tamis_train::options::ColumnKind;

/// The order in which documents come.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    /// As given
    Given,
    /// By MD5 digest of the file name: random, but the same for everyone
    Md5,
    /// By date in the header
    Date,
}

/// How rows are written.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Csv,
    Tsv,
    Jsonl,
}

impl Format {
    /// The delimiter of a table; JSON has none.
    pub(crate) fn delimiter(self) -> Option<u8> {
        match self {
            Format::Csv => Some(b','),
            Format::Tsv => Some(b'\t'),
            Format::Jsonl => None,
        }
    }
}

/// How documents are filed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    Copy,
    Link,
    Move,
}

/// The kind of a column, `NAME=KIND`; `None` to skip it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ColumnChoice {
    pub(crate) name: String,
    pub(crate) kind: Option<ColumnKind>,
}

impl ColumnChoice {
    pub(crate) fn parse(s: &str) -> Result<Self, String> {
        let parsed = s.rsplit_once('=').and_then(|(name, kind)| {
            let kind = if kind == "skip" { None } else { Some(kind.parse().ok()?) };
            Some(ColumnChoice { name: name.to_owned(), kind })
        });
        parsed
            .ok_or_else(|| format!("expected NAME=gaussian, categorical, bernoulli, text or skip, got {s:?}"))
    }
}

/// What to do with equal documents under different labels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Contradictions {
    Refuse,
    Keep,
}

/// Accepts two words, of which one means yes.
pub(crate) fn either(words: [&'static str; 2], yes: &'static str) -> impl TypedValueParser<Value = bool> {
    PossibleValuesParser::new(words).map(move |word| word == yes)
}

/// The cost of a false positive, `fp=N`.
pub(crate) fn cost(s: &str) -> Result<f64, String> {
    let number = s.strip_prefix("fp=").and_then(|n| n.parse().ok());
    let number = number.filter(|n: &f64| *n > 0.0 && n.is_finite());
    number.ok_or_else(|| format!("expected fp=N with a positive number, got {s:?}"))
}

/// Accepts whole numbers of at least `least`.
pub(crate) fn at_least<T>(least: T) -> impl Fn(&str) -> Result<T, String> + Clone
where
    T: FromStr + PartialOrd + Display + Copy,
{
    move |s| {
        let number = s.parse().ok().filter(|number| *number >= least);
        number.ok_or_else(|| format!("expected a whole number, {least} or more, got {s:?}"))
    }
}

/// A small share, `0.5%` or `0.005`. A larger bare number was probably meant in percent.
pub(crate) fn share(s: &str) -> Result<f64, String> {
    let (number, unit) = s.strip_suffix('%').map_or((s, 1.0), |number| (number.trim_end(), 100.0));
    let number = number.parse::<f64>().ok().filter(|n| *n > 0.0 && *n < 100.0);
    match number {
        Some(n) if unit == 1.0 && n > 0.2 => {
            Err(format!("did you mean {s}%? Expected a share such as 0.5% or 0.005"))
        }
        Some(n) => Ok(n / unit),
        None => Err(format!("expected a share such as 0.5% or 0.005, got {s:?}")),
    }
}

/// A delimiter between cells; `\t` is a tab.
pub(crate) fn delimiter(s: &str) -> Result<u8, String> {
    match s.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\r' | b'\n') => Ok(*byte),
        _ => Err(format!("expected one ASCII character such as ; or \\t, got {s:?}")),
    }
}

/// An encoding by any of its names (Encoding Standard, section 4.2).
pub(crate) fn encoding(name: &str) -> Result<&'static Encoding, String> {
    Encoding::for_label(name.as_bytes())
        .ok_or_else(|| "expected the name of an encoding, such as windows-1252 or gb18030".to_owned())
}

/// A delimiter between labels; `\t` is a tab.
pub(crate) fn label_delimiter(s: &str) -> Result<char, String> {
    let mut characters = s.chars();
    match (s, characters.next(), characters.next()) {
        ("\\t", ..) => Ok('\t'),
        (_, Some(character), None) => Ok(character),
        _ => Err(format!("expected one character such as ; or \\t, got {s:?}")),
    }
}

pub(crate) fn probability(s: &str) -> Result<f64, String> {
    let number = s.parse().ok().filter(|p| (0.0..1.0).contains(p));
    number.ok_or_else(|| format!("expected a probability of at least 0 and below 1, got {s:?}"))
}
