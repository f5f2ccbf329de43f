//! Keyword arguments as they are given.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::error::TamisError;

/// Keyword arguments that were not looked at yet.
pub(crate) struct Given<'py>(pub(crate) Bound<'py, PyDict>);

/// A type of options, in words.
pub(crate) trait Value {
    const EXPECTED: &'static str;
}

macro_rules! values {
    ($($type:ty => $expected:expr),* $(,)?) => {$(
        impl Value for $type {
            const EXPECTED: &'static str = $expected;
        }
    )*};
}
values!(
    bool => "True or False",
    f64 => "a number",
    i64 => "a whole number",
    u8 => "a whole number from 0 to 255",
    u16 => "a whole number from 0 to 65535",
    u32 => "a whole number of 0 or more",
    u64 => "a whole number of 0 or more",
    usize => "a whole number of 0 or more",
    String => "a name (str)",
    Vec<String> => "a list of str",
    BTreeMap<String, f64> => "a dict of label (str) to number",
);

impl<'py> Given<'py> {
    /// The value of an option, if it is given.
    ///
    /// # Errors
    /// If it is of another type, or a number that the type does not hold.
    pub(crate) fn take<T>(&self, name: &str) -> PyResult<Option<T>>
    where
        T: Value + for<'a> FromPyObject<'a, 'py>,
    {
        let Some(value) = self.0.get_item(name)? else { return Ok(None) };
        self.0.del_item(name)?;
        if value.is_none() {
            return Ok(None);
        }
        if let Ok(extracted) = value.extract::<T>() {
            return Ok(Some(extracted));
        }
        let got: String = value.repr()?.to_cow()?.chars().take(60).collect();
        Err(wrong(name, format!("expected {}, got {got}", T::EXPECTED)))
    }

    pub(crate) fn flag(&self, name: &str) -> PyResult<bool> {
        Ok(self.take(name)?.unwrap_or(false))
    }

    /// The value of an option that is a name, such as that of a language.
    pub(super) fn named<T>(&self, name: &str) -> PyResult<Option<T>>
    where
        T: std::str::FromStr<Err: std::fmt::Display>,
    {
        let value = self.take::<String>(name)?;
        value.map(|value| value.parse().map_err(|error| wrong(name, error))).transpose()
    }

    pub(crate) fn expect_no_more(&self) -> PyResult<()> {
        match self.0.keys().iter().next() {
            None => Ok(()),
            Some(name) => {
                let name = name.cast_into::<PyString>()?;
                Err(TamisError::new_err(format!("expected no option {:?}: there is none", name.to_str()?)))
            }
        }
    }
}

/// The exception for an option whose value is wrong.
pub(super) fn wrong(option: &str, what: impl std::fmt::Display) -> PyErr {
    TamisError::new_err(format!("{option}: {what}"))
}
