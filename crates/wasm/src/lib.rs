//! The filter for JavaScript, in browsers and in Node: open a model, score, explain.
//!
//! [`Filter`] is the class that JavaScript sees; `types.d.ts` has the fields of the objects that it takes and returns. The
//! names are those of the Python package, in camel case. `npm` holds what else is in the npm package, and
//! `contrib/package/npm` makes it.

#[cfg(target_arch = "wasm32")]
mod numbers;

use js_sys::{Array, Float32Array, Object, Uint8Array};
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
    /// Opens the model that a file of the program `tamis` has.
    ///
    /// # Errors
    /// If the bytes are not a model, are damaged, or were made by another version, and if an option does not suit it.
    #[wasm_bindgen(js_name = fromBytes)]
    pub fn from_bytes(
        #[wasm_bindgen(unchecked_param_type = "Uint8Array")] bytes: &JsValue,
        options: Option<Options>,
    ) -> JsResult<Filter> {
        let bytes = bytes.dyn_ref::<Uint8Array>().ok_or_else(|| JsError::new("expected a Uint8Array"))?;
        let mut filter = tamis_filter::Filter::from_bytes(bytes.to_vec()).map_err(thrown)?;
        if let Some(label) = options.as_ref().and_then(Options::spam_label) {
            filter.set_spam_label(&label).map_err(thrown)?;
        }
        if let Some(least) = options.as_ref().and_then(Options::unsure) {
            filter.set_unsure(least).map_err(thrown)?;
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

    /// Scores a raw message or a text, whichever the model is for. Bytes of a text are UTF-8. For a model that was trained with
    /// vectors, `beside` may have the document's.
    ///
    /// # Errors
    /// If the document is not what the model is for, or the model is damaged in a part that is read.
    #[wasm_bindgen(unchecked_return_type = "Score")]
    pub fn score(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "string | Uint8Array")] document: &JsValue,
        beside: Option<Beside>,
    ) -> JsResult<JsValue> {
        let score = self.ask(document, beside, tamis_filter::Filter::score)?;
        self.score_object(&score)
    }

    /// Explains the score of a document, with the `n` strongest terms; all of them by default.
    ///
    /// # Errors
    /// As `score`.
    #[wasm_bindgen(unchecked_return_type = "Explanation")]
    pub fn explain(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "string | Uint8Array")] document: &JsValue,
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
        let bytes = match (document.as_string(), document.dyn_ref::<Uint8Array>()) {
            (Some(text), _) => text.into_bytes(),
            (None, Some(bytes)) => bytes.to_vec(),
            (None, None) => return Err(JsError::new("expected a string or a Uint8Array").into()),
        };
        let document = match self.filter.information().recipe.kind {
            Kind::Mail => tamis_filter::Document::Mail(&bytes),
            // the library says that a table takes rows
            Kind::Text | Kind::Table => {
                tamis_filter::Document::Text(std::str::from_utf8(&bytes).map_err(thrown)?)
            }
        };
        let vector = match beside.as_ref().map(Beside::vector).filter(|vector| !vector.is_undefined()) {
            Some(vector) => match vector.dyn_ref::<Float32Array>() {
                Some(vector) => vector.to_vec(),
                None => return Err(JsError::new("vector: expected a Float32Array").into()),
            },
            None => Vec::new(),
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
    /// The settings of a filter.
    #[wasm_bindgen(typescript_type = "Options")]
    pub type Options;

    /// What is beside a document.
    #[wasm_bindgen(typescript_type = "Beside")]
    pub type Beside;

    /// Its dense vector, if it has one.
    #[wasm_bindgen(method, getter)]
    fn vector(this: &Beside) -> JsValue;

    /// The minimum probability of a verdict.
    #[wasm_bindgen(method, getter)]
    fn unsure(this: &Options) -> Option<f64>;

    /// The label that counts as spam.
    #[wasm_bindgen(method, getter, js_name = spamLabel)]
    fn spam_label(this: &Options) -> Option<String>;
}

/// What JavaScript gets: a value, or an error that is thrown.
type JsResult<T> = Result<T, JsValue>;

/// The error that is thrown.
fn thrown(error: impl std::error::Error) -> JsValue {
    JsError::from(error).into()
}

/// A plain object. Its keys may be any labels, even `__proto__`.
fn object<'k>(entries: impl IntoIterator<Item = (&'k str, impl Into<JsValue>)>) -> JsResult<JsValue> {
    let pair = |(key, value): (&'k str, _)| Array::of2(&key.into(), &Into::into(value));
    Object::from_entries(&entries.into_iter().map(pair).collect::<Array>()).map(JsValue::from)
}
