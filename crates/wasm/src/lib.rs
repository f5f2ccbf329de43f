//! The filter for JavaScript, in browsers and in Node: open a model, score, explain.
//!
//! [`Filter`] is the class that JavaScript sees; `types.d.ts` has the fields of the objects that it takes and returns. The
//! names are those of the Python package, in camel case. `npm` holds what else is in the npm package, and
//! `contrib/package/npm` makes it.

#[cfg(target_arch = "wasm32")]
mod numbers;

use js_sys::{Array, ArrayBuffer, Float32Array, Object, Uint8Array};
use tamis_filter::{ClassId, Kind, Scratch, TermContribution};
use wasm_bindgen::prelude::*;

/// A trained model in use: scores and explains messages or texts.
#[wasm_bindgen]
pub struct Filter {
    filter: tamis_filter::Filter,
    scratch: Scratch,
}

#[wasm_bindgen]
impl Filter {
    /// Refuses `new Filter()`.
    ///
    /// # Errors
    /// Always.
    #[wasm_bindgen(constructor)]
    pub fn new(#[wasm_bindgen(unchecked_param_type = "never")] _: &JsValue) -> JsResult<Filter> {
        Err(JsError::new("expected Filter.fromBytes(bytes), got new Filter()").into())
    }

    /// Opens the model that a file of the program `tamis` has.
    ///
    /// # Errors
    /// If the bytes are not a model, are damaged, or were made by another version, and if an option is unknown or does
    /// not suit it.
    #[wasm_bindgen(js_name = fromBytes)]
    pub fn from_bytes(
        #[wasm_bindgen(unchecked_param_type = "Uint8Array | ArrayBuffer")] bytes: &JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "Options")] options: JsValue,
    ) -> JsResult<Filter> {
        let bytes = to_bytes(bytes).ok_or_else(|| JsError::new("expected a Uint8Array or an ArrayBuffer"))?;
        let mut filter = tamis_filter::Filter::from_bytes(bytes).map_err(thrown)?;
        let given =
            if options.is_undefined() { Vec::new() } else { entries(&options, "options, as an object")? };
        for (name, value) in given.iter().filter(|(_, value)| !value.is_undefined()) {
            match (name.as_str(), value.as_f64(), value.as_string()) {
                ("unsure", Some(least), _) => filter.set_unsure(least).map_err(thrown)?,
                ("spamLabel", _, Some(label)) => filter.set_spam_label(&label).map_err(thrown)?,
                ("unsure", ..) => return Err(JsError::new("unsure: expected a number").into()),
                ("spamLabel", ..) => return Err(JsError::new("spamLabel: expected a string").into()),
                _ => {
                    let expected = "expected the options unsure and spamLabel";
                    return Err(JsError::new(&format!("{expected}, got {name:?}")).into());
                }
            }
        }
        Ok(Filter { filter, scratch: Scratch::default() })
    }

    /// What the model is for.
    #[wasm_bindgen(getter, unchecked_return_type = "\"mail\" | \"text\" | \"table\"")]
    pub fn kind(&self) -> String {
        self.filter.information().recipe.kind.to_string()
    }

    /// The labels of the model.
    #[wasm_bindgen(getter)]
    pub fn labels(&self) -> Vec<String> {
        self.filter.classes().iter().map(|(_, label)| label.to_owned()).collect()
    }

    /// Whether the model has two labels, one of which is spam.
    #[wasm_bindgen(getter, js_name = isSpamFilter)]
    pub fn is_spam_filter(&self) -> bool {
        self.filter.is_spam_filter()
    }

    /// Whether a document has any number of labels: the model was trained with `--labels many`.
    #[wasm_bindgen(getter, js_name = hasManyLabels)]
    pub fn has_many_labels(&self) -> bool {
        self.filter.has_many_labels()
    }

    /// Scores a raw message, a text or a row, whichever the model is for. Bytes of a text are UTF-8. For a model that was
    /// trained with vectors, `beside` may have the document's.
    ///
    /// # Errors
    /// If the document is not what the model is for, or the model is damaged in a part that is read.
    #[wasm_bindgen(unchecked_return_type = "Score")]
    pub fn score(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "Document")] document: &JsValue,
        beside: Option<Beside>,
    ) -> JsResult<JsValue> {
        let score = self.ask(document, beside, tamis_filter::Filter::score)?;
        self.score_object(&score)
    }

    /// Scores many documents, in their order.
    ///
    /// # Errors
    /// As `score`, for the first document that is wrong; its index is named.
    #[wasm_bindgen(js_name = scoreMany, unchecked_return_type = "Score[]")]
    pub fn score_many(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "readonly Document[]")] documents: &JsValue,
    ) -> JsResult<Array> {
        let documents = documents.dyn_ref::<Array>().ok_or_else(|| JsError::new("expected an array"))?;
        let score = |(index, document): (usize, JsValue)| {
            self.score(&document, None).map_err(|error| {
                let message = error.dyn_ref::<js_sys::Error>().map(|error| error.message());
                JsError::new(&format!("document {index}: {}", String::from(message.unwrap_or_default())))
                    .into()
            })
        };
        documents.iter().enumerate().map(score).collect()
    }

    /// Explains the score of a document, with the `n` strongest terms; all of them by default.
    ///
    /// # Errors
    /// As `score`.
    #[wasm_bindgen(unchecked_return_type = "Explanation")]
    pub fn explain(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "Document")] document: &JsValue,
        n: Option<u32>,
        beside: Option<Beside>,
    ) -> JsResult<JsValue> {
        let explanation = self.ask(document, beside, tamis_filter::Filter::explain)?;
        let most = n.map_or(usize::MAX, |n| n as usize);
        let terms = explanation.terms.iter().take(most).map(|term| self.term_object(term));
        object([
            ("score", self.score_object(&explanation.score)?),
            ("label", self.label(explanation.class).into()),
            ("against", self.label(explanation.against).into()),
            ("intercept", explanation.intercept.into()),
            ("terms", terms.collect::<JsResult<Array>>()?.into()),
            ("unknown", count(explanation.unknown as u64)),
            ("part", explanation.part.as_deref().into()),
        ])
    }
}

impl Filter {
    /// Asks the model about a document.
    fn ask<T>(
        &mut self,
        document: &JsValue,
        beside: Option<Beside>,
        ask: fn(&tamis_filter::Filter, tamis_filter::Document<'_>, &mut Scratch) -> tamis_filter::Result<T>,
    ) -> JsResult<T> {
        let recipe = self.filter.information().recipe;
        let kind = recipe.kind;
        let vector = match beside.as_ref().map(Beside::vector).filter(|vector| !vector.is_undefined()) {
            Some(vector) => match vector.dyn_ref::<Float32Array>() {
                Some(vector) => vector.to_vec(),
                None => return Err(JsError::new("vector: expected a Float32Array").into()),
            },
            None => Vec::new(),
        };
        if kind == Kind::Table {
            let cells = entries(document, "a row, as an object of columns")?;
            let has = |name: &str| cells.iter().any(|(known, _)| known == name);
            if let Some(column) = recipe.columns.iter().find(|column| !has(&column.name)) {
                return Err(JsError::new(&format!("expected a column {:?}, got none", column.name)).into());
            }
            let cell = |(name, value): (String, JsValue)| Ok((cell(&name, &value)?, name));
            let cells = cells.into_iter().map(cell).collect::<JsResult<Vec<_>>>()?;
            let cells: Vec<_> = cells.iter().map(|(cell, name)| (&**name, &**cell)).collect();
            let row = tamis_filter::Document::Fields(&cells);
            return ask(&self.filter, row.with_vector(&vector), &mut self.scratch).map_err(thrown);
        }
        let bytes = document.as_string().map(String::into_bytes).or_else(|| to_bytes(document));
        let bytes = bytes.ok_or_else(|| JsError::new("expected a string, a Uint8Array or an ArrayBuffer"))?;
        let document = match kind {
            Kind::Mail => tamis_filter::Document::Mail(&bytes),
            _ => tamis_filter::Document::Text(std::str::from_utf8(&bytes).map_err(thrown)?),
        };
        ask(&self.filter, document.with_vector(&vector), &mut self.scratch).map_err(thrown)
    }

    fn label(&self, class: ClassId) -> &str {
        self.filter.classes().label(class).unwrap_or_default()
    }

    /// The object of the score of the document that was asked about last.
    fn score_object(&self, score: &tamis_filter::Score) -> JsResult<JsValue> {
        let labels = self.scratch.labels().iter().map(|label| JsValue::from(self.label(label.label)));
        object([
            ("label", self.filter.label_of(score).into()),
            ("labels", labels.collect::<Array>().into()),
            ("probability", score.probability.into()),
            ("logOdds", score.log_odds.into()),
            ("probabilities", self.by_label(self.scratch.probabilities().iter().copied())?),
            ("isSpam", (score.label.is_some() && score.label == self.filter.spam()).into()),
            ("isUnsure", score.label.is_none().into()),
            ("knownTerms", count(score.known_terms as u64)),
            ("truncated", (!self.scratch.limits_hit().is_empty()).into()),
        ])
    }

    fn term_object(&self, term: &TermContribution) -> JsResult<JsValue> {
        object([
            ("term", term.term.as_str().into()),
            ("count", term.count.into()),
            ("documents", self.by_label(term.document_frequencies.iter().map(|df| count(*df)))?),
            ("contribution", term.contribution.into()),
        ])
    }

    /// A value for every label.
    fn by_label(&self, values: impl IntoIterator<Item = impl Into<JsValue>>) -> JsResult<JsValue> {
        object(self.filter.classes().iter().map(|(_, label)| label).zip(values))
    }
}

/// A number in JavaScript, which is exact up to 2^53.
fn count(n: u64) -> JsValue {
    (n as f64).into()
}

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = include_str!("types.d.ts");

#[wasm_bindgen]
extern "C" {
    /// What is beside a document.
    #[wasm_bindgen(typescript_type = "Beside")]
    pub type Beside;

    /// Its dense vector, if it has one.
    #[wasm_bindgen(method, getter)]
    fn vector(this: &Beside) -> JsValue;
}

/// What JavaScript gets: a value, or an error that is thrown.
type JsResult<T> = Result<T, JsValue>;

/// The error that is thrown.
fn thrown(error: impl std::error::Error) -> JsValue {
    JsError::from(error).into()
}

/// The bytes of a `Uint8Array` or an `ArrayBuffer`.
fn to_bytes(value: &JsValue) -> Option<Vec<u8>> {
    let buffer = value.dyn_ref::<ArrayBuffer>().map(|buffer| Uint8Array::new(buffer));
    buffer.as_ref().or(value.dyn_ref::<Uint8Array>()).map(Uint8Array::to_vec)
}

/// The properties of an object.
///
/// # Errors
/// It is not a plain object.
fn entries(object: &JsValue, expected: &str) -> JsResult<Vec<(String, JsValue)>> {
    let is_plain = object.is_object() && !Array::is_array(object) && to_bytes(object).is_none();
    if !is_plain {
        return Err(JsError::new(&format!("expected {expected}")).into());
    }
    let entries = Object::entries(object.unchecked_ref()).into_iter().map(|entry| {
        let entry: Array = entry.unchecked_into();
        (entry.get(0).as_string().unwrap_or_default(), entry.get(1))
    });
    Ok(entries.collect())
}

/// The text of a cell; none for what is missing.
///
/// # Errors
/// It is neither text nor a number nor true or false.
fn cell(name: &str, value: &JsValue) -> JsResult<String> {
    if value.is_null() || value.is_undefined() {
        return Ok(String::new());
    }
    let number = value.as_f64().map(|n| if n.is_nan() { String::new() } else { n.to_string() });
    let text = value.as_string().or(number).or(value.as_bool().map(|flag| flag.to_string()));
    text.ok_or_else(|| {
        JsError::new(&format!("column {name:?}: expected text, a number, or true or false")).into()
    })
}

/// A plain object. Its keys may be any labels, even `__proto__`.
fn object<'k>(entries: impl IntoIterator<Item = (&'k str, impl Into<JsValue>)>) -> JsResult<JsValue> {
    let pair = |(key, value): (&'k str, _)| Array::of2(&key.into(), &Into::into(value));
    Object::from_entries(&entries.into_iter().map(pair).collect::<Array>()).map(JsValue::from)
}
