//! Checks whether models can be merged.

use serde::Serialize;
use serde_json::Value;

use crate::config::label_set::are_sets;
use crate::error::{Error, Reason, Result};
use crate::store::opened::Store;

/// Checks that models can be merged.
pub fn check(stores: &[&Store]) -> Result<()> {
    let unlike = |setting: &str, expected: &str, got: &str| {
        Err(Reason::Incompatible { setting: setting.into(), expected: expected.into(), got: got.into() }
            .into())
    };
    let Some((first, others)) = stores.split_first() else { return unlike("models", "at least one", "none") };
    for store in stores {
        if let Some(got) = store.header.scoring.options().fitted_at_once() {
            return unlike("scoring", "counts of terms, which add up", got);
        }
    }
    for other in others {
        let [expected, got] = [first, other].map(|store| match are_sets(&store.header.classes) {
            true => "many labels a document",
            false => "one label a document",
        });
        if expected != got {
            return unlike("labels", expected, got);
        }
        check_equal("recipe", &first.header.recipe, &other.header.recipe)?;
        check_equal("scoring", &first.header.scoring.options(), &other.header.scoring.options())?;
    }
    Ok(())
}

/// Checks that two values of a setting are equal; the error names the first part that differs.
pub fn check_equal<T: Serialize + PartialEq>(setting: &str, expected: &T, got: &T) -> Result<()> {
    if expected == got {
        return Ok(());
    }
    let shown = |value: &T| {
        let shown = serde_json::to_value(value);
        shown.map_err(|e| Error::inconsistent("header", "settings that can be shown", e))
    };
    let (expected, got) = (shown(expected)?, shown(got)?);
    let found = difference(setting, &expected, &got);
    let (setting, expected, got) = found.unwrap_or((setting.into(), &expected, &got));
    Err(Reason::Incompatible { setting, expected: expected.to_string(), got: got.to_string() }.into())
}

/// The path of the first setting that differs.
fn difference<'a>(path: &str, a: &'a Value, b: &'a Value) -> Option<(String, &'a Value, &'a Value)> {
    match (a, b) {
        (Value::Object(here), Value::Object(there)) if here.keys().eq(there.keys()) => here
            .iter()
            .zip(there.values())
            .find_map(|((key, a), b)| difference(&format!("{path}.{key}"), a, b)),
        _ if a == b => None,
        _ => Some((path.to_owned(), a, b)),
    }
}
