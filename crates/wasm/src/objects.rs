//! The objects that JavaScript gives and gets; `types.d.ts` has their fields.

use js_sys::{Array, Object};
use wasm_bindgen::prelude::*;

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = include_str!("types.d.ts");

#[wasm_bindgen]
extern "C" {
    /// The settings of a filter.
    #[wasm_bindgen(typescript_type = "Options")]
    pub type Options;

    /// The minimum probability of a verdict.
    #[wasm_bindgen(method, getter)]
    pub(crate) fn unsure(this: &Options) -> Option<f64>;

    /// The label that counts as spam.
    #[wasm_bindgen(method, getter, js_name = spamLabel)]
    pub(crate) fn spam_label(this: &Options) -> Option<String>;
}

/// What JavaScript gets: a value, or an error that is thrown.
pub(crate) type Answer<T> = Result<T, JsValue>;

/// The error that is thrown.
pub(crate) fn thrown(error: impl std::error::Error) -> JsValue {
    JsError::from(error).into()
}

/// A plain object. Its keys may be any labels, even `__proto__`.
pub(crate) fn object<'k>(
    entries: impl IntoIterator<Item = (&'k str, impl Into<JsValue>)>,
) -> Answer<JsValue> {
    let pair = |(key, value): (&'k str, _)| Array::of2(&key.into(), &Into::into(value));
    Object::from_entries(&entries.into_iter().map(pair).collect::<Array>()).map(JsValue::from)
}
