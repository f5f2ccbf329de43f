//! Keyword arguments and the types of their values.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use tamis_train::options::{
    Estimate, LabelShare, Language, LikelihoodName, PieceOption, PriorOption, Select, Span, WordRule,
    stop_words,
};

use crate::error::{Exception, Result};

/// Keyword arguments that were not looked at yet.
pub(crate) struct Keywords<'py>(pub(crate) Bound<'py, PyDict>);

impl<'py> Keywords<'py> {
    /// The value of an option, if it is given and not None.
    ///
    /// # Errors
    /// If it is of another type, or a number that the type does not hold.
    pub(crate) fn take<T: OptionValue>(&self, name: &str) -> Result<Option<T>>
    where
        T::Given: for<'a> FromPyObject<'a, 'py>,
    {
        let Some(value) = self.0.get_item(name)? else { return Ok(None) };
        self.0.del_item(name)?;
        if value.is_none() {
            return Ok(None);
        }
        match value.extract::<T::Given>() {
            Ok(given) => T::parse(given).map(Some).map_err(|error| wrong(name, error)),
            Err(_) => {
                let got: String = value.repr()?.to_cow()?.chars().take(60).collect();
                Err(wrong(name, format!("expected {}, got {got}", T::EXPECTED)))
            }
        }
    }

    pub(crate) fn flag(&self, name: &str) -> Result<bool> {
        Ok(self.take(name)?.unwrap_or(false))
    }

    pub(crate) fn expect_no_more(&self) -> Result<()> {
        match self.0.keys().iter().next() {
            None => Ok(()),
            Some(name) => {
                let name = name.cast_into::<PyString>().map_err(PyErr::from)?;
                Err(format!("expected no option {:?}: there is none", name.to_str()?).into())
            }
        }
    }
}

/// The exception for an option whose value is wrong.
pub(super) fn wrong(option: &str, what: impl Display) -> Exception {
    format!("{option}: {what}").into()
}

/// The value of an option.
pub(crate) trait OptionValue: Sized {
    /// What Python gives for it.
    type Given;
    /// That in words.
    const EXPECTED: &'static str;

    /// # Errors
    /// What is wrong with the value.
    fn parse(given: Self::Given) -> std::result::Result<Self, String>;
}

/// `type: what Python gives, "in words" => how it is parsed;`
macro_rules! option_values {
    ($($type:ty, $expected:expr;)*) => {
        option_values!($($type: $type, $expected => Ok;)*);
    };
    ($($type:ty: $given:ty, $expected:expr => $parse:expr;)*) => {$(
        impl OptionValue for $type {
            type Given = $given;
            const EXPECTED: &'static str = $expected;

            fn parse(given: $given) -> std::result::Result<Self, String> {
                $parse(given)
            }
        }
    )*};
}

option_values!(
    bool, "True or False";
    f64, "a number";
    i64, "a whole number";
    u16, "a whole number from 0 to 65535";
    u32, "a whole number of 0 or more";
    u64, "a whole number of 0 or more";
    usize, "a whole number of 0 or more";
    String, "a name (str)";
    Vec<String>, "a list of str";
    BTreeMap<String, String>, "a dict of column (str) to kind (str)";
);

const NAME: &str = <String as OptionValue>::EXPECTED;

option_values!(
    Estimate: String, NAME => by_name;
    Language: String, NAME => by_name;
    LikelihoodName: String, NAME => by_name;
    Select: String, NAME => by_name;
    WordRule: String, NAME => by_name;
    Span: LengthRange, "a whole number or a pair of them (least, most), from 1 to 255" => LengthRange::span;
    PieceOption: Pieces, "True, False, or a length or a pair of them (least, most), from 2 to 5" => Pieces::option;
    StopWords: WordList, "the name of a language or a list of words" => WordList::stop_words;
    PriorOption: Prior, "'learned', 'smoothed', 'uniform' or a dict of label to share" => Prior::option;
    LabelShare: BTreeMap<String, f64>, "a dict of label (str) to number" => only_share;
);

fn by_name<T: FromStr<Err: Display>>(name: String) -> std::result::Result<T, String> {
    name.parse().map_err(|error: T::Err| error.to_string())
}

/// A range of lengths: one of them, or the least and the most.
#[derive(FromPyObject)]
pub(crate) enum LengthRange {
    One(u8),
    Both((u8, u8)),
}

impl LengthRange {
    fn span(self) -> std::result::Result<Span, String> {
        let (min, max) = match self {
            LengthRange::One(n) => (n, n),
            LengthRange::Both(both) => both,
        };
        Ok(Span { min, max })
    }
}

/// Whether there are pieces of words, or their lengths.
#[derive(FromPyObject)]
pub(crate) enum Pieces {
    AreThere(bool),
    Lengths(LengthRange),
}

impl Pieces {
    fn option(self) -> std::result::Result<PieceOption, String> {
        match self {
            Pieces::AreThere(are_there) => if are_there { "on" } else { "off" }.parse(),
            Pieces::Lengths(lengths) => {
                lengths.span().and_then(|Span { min, max }| format!("{min}-{max}").parse())
            }
        }
    }
}

/// Words to leave out.
pub(super) struct StopWords(pub(super) Vec<String>);

/// Words to leave out as Python gives them: those of a language by its name, or a list.
#[derive(FromPyObject)]
pub(crate) enum WordList {
    Language(String),
    List(Vec<String>),
}

impl WordList {
    fn stop_words(self) -> std::result::Result<StopWords, String> {
        Ok(StopWords(match self {
            WordList::List(words) => words,
            WordList::Language(name) => {
                stop_words(&name).map_err(|error| error.to_string())?.map(str::to_owned).collect()
            }
        }))
    }
}

/// A class prior: its text, or the share of every label.
#[derive(FromPyObject)]
pub(crate) enum Prior {
    Text(String),
    Shares(BTreeMap<String, f64>),
}

impl Prior {
    fn option(self) -> std::result::Result<PriorOption, String> {
        match self {
            Prior::Text(text) => text.parse(),
            Prior::Shares(shares) => Ok(PriorOption::Shares(shares)),
        }
    }
}

fn only_share(shares: BTreeMap<String, f64>) -> std::result::Result<LabelShare, String> {
    let got = shares.len();
    match shares.into_iter().next() {
        Some((label, share)) if got == 1 => LabelShare::new(label, share)
            .map_err(|_| format!("expected a share between 0 and 1, got {share}")),
        _ => Err(format!("expected the share of one label, as {{'spam': 0.1}}, got {got} labels")),
    }
}
