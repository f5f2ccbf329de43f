//! Checks whether models can be merged.

use serde_json::Value;

use crate::config::scoring::Scoring;
use crate::error::{Error, ErrorKind, Result};
use crate::store::store::Store;

/// Checks that models can be merged.
pub(crate) fn check(stores: &[&Store]) -> Result<()> {
    let unlike = |setting: &str, expected: &str, got: &str| {
        Err(ErrorKind::Incompatible { setting: setting.into(), expected: expected.into(), got: got.into() }
            .into())
    };
    let Some((first, others)) = stores.split_first() else { return unlike("models", "at least one", "none") };
    let settings = |store: &Store| {
        let settings = serde_json::to_value((&store.header.recipe, &store.header.scoring));
        settings.map_err(|e| Error::inconsistent("header", "settings that can be shown", e))
    };
    let expected = settings(first)?;
    for store in stores {
        match store.header.scoring {
            Scoring::ExpectationMaximization(_) => {
                return unlike("scoring", "counts, which add up", "expectation maximization");
            }
            Scoring::Mixed(_) => {
                return unlike("scoring", "counts of terms", "a table of columns other than text");
            }
            _ => (),
        }
    }
    for other in others {
        let got = settings(other)?;
        for (i, part) in ["recipe", "scoring"].into_iter().enumerate() {
            if let Some((setting, expected, got)) = difference(part, &expected[i], &got[i]) {
                return unlike(&setting, &expected.to_string(), &got.to_string());
            }
        }
    }
    Ok(())
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
