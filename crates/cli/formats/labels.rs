//! The labels of a document, as the name of one class.

use std::borrow::Cow;

use serde_json::Value;
use tamis_train::{Filter, join_labels};

/// How many labels a document has.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum RowLabels {
    #[default]
    One,
    /// Any number, even none. This character is between the labels in a text.
    Many { delimiter: char },
}

/// The label that an argument names, for a model: several, between commas, if the model is of many labels.
pub(crate) fn learned_as<'a>(filter: &Filter, label: &'a str) -> Cow<'a, str> {
    RowLabels::of_model(filter).of_text(label.into())
}

/// The whole number in a label such as `1.0`.
pub(crate) fn whole_number(label: &str) -> Option<&str> {
    let (whole, zeros) = label.split_once('.')?;
    let is_whole =
        !zeros.is_empty() && zeros.bytes().all(|byte| byte == b'0') && whole.parse::<i64>().is_ok();
    is_whole.then_some(whole)
}

/// The name of the class that a row is of, `None` if it has no label, or why there is none.
pub(crate) type Label<'a> = Result<Option<Cow<'a, str>>, String>;

impl RowLabels {
    /// How labels are read for a model: with commas between several.
    pub(crate) fn of_model(filter: &Filter) -> Self {
        if filter.has_many_labels() { RowLabels::Many { delimiter: ',' } } else { RowLabels::One }
    }

    /// The class of a text: a cell of a table, the name of a folder, an argument.
    pub(crate) fn of_text(self, text: Cow<'_, str>) -> Cow<'_, str> {
        match self {
            RowLabels::One => text,
            RowLabels::Many { delimiter } => join_labels(text.split(delimiter).map(str::trim)).into(),
        }
    }

    /// The class of a JSON value. A string is one label, whatever it contains.
    pub(crate) fn of_value(self, value: &Value) -> Label<'static> {
        Ok(match (self, value) {
            (RowLabels::One, Value::Null) => None,
            (RowLabels::One, Value::Array(labels)) => {
                return Err(several(&format!("an array of {}", labels.len())));
            }
            (RowLabels::One, label) => Some(of_scalar(label)?),
            (RowLabels::Many { .. }, Value::Null) => Some(join_labels([]).into()),
            (RowLabels::Many { .. }, Value::Array(labels)) => {
                let labels: Vec<_> = labels.iter().map(of_scalar).collect::<Result<_, _>>()?;
                Some(join_labels(labels.iter().map(|label| &**label)).into())
            }
            (RowLabels::Many { .. }, label) => Some(join_labels([&*of_scalar(label)?]).into()),
        })
    }

    /// The class of labels that are written one by one.
    pub(crate) fn of_labels(self, labels: &[&str]) -> Label<'static> {
        match (self, labels) {
            (RowLabels::Many { .. }, _) => Ok(Some(join_labels(labels.iter().copied()).into())),
            (RowLabels::One, []) => Ok(None),
            (RowLabels::One, [label]) => Ok(Some((*label).to_owned().into())),
            (RowLabels::One, _) => Err(several(&labels.len().to_string())),
        }
    }
}

fn several(got: &str) -> String {
    format!("expected one label, got {got}; --labels many reads them")
}

fn of_scalar(label: &Value) -> Result<Cow<'static, str>, String> {
    let got = match label {
        Value::String(label) => return Ok(label.clone().into()),
        Value::Number(_) | Value::Bool(_) => return Ok(label.to_string().into()),
        Value::Null => "null",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    Err(format!("expected a label, a string, a number, true or false, got {got}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tamis_train::split_labels;

    use super::*;

    const MANY: RowLabels = RowLabels::Many { delimiter: ',' };

    fn labels(label: &str) -> Vec<&str> {
        split_labels(label).collect()
    }

    #[test]
    fn a_text_is_split_at_the_delimiter_if_there_may_be_many() {
        for (text, expected) in [
            ("wheat", &["wheat"][..]),
            (" wheat ,, grain,", &["grain", "wheat"]),
            ("soft wheat,soft wheat", &["soft wheat"]),
            ("wheat;grain", &["wheat;grain"]),
            (" , ", &[]),
            ("", &[]),
        ] {
            assert_eq!(labels(&MANY.of_text(text.into())), expected, "{text:?}");
            assert_eq!(RowLabels::One.of_text(text.into()), text);
        }
        assert_eq!(labels(&RowLabels::Many { delimiter: ' ' }.of_text("b a  b".into())), ["a", "b"]);
    }

    #[test]
    fn json_has_labels_by_type() {
        for (value, expected) in [
            (json!("a,b"), &["a,b"][..]),
            (json!(["b", "a", "b"]), &["a", "b"]),
            (json!([3, true, "a,b"]), &["3", "a,b", "true"]),
            (json!(3), &["3"]),
            (json!([""]), &[]),
            (json!([]), &[]),
            (json!(null), &[]),
        ] {
            assert_eq!(labels(&MANY.of_value(&value).unwrap().unwrap()), expected, "{value}");
        }
        for (value, got) in [(json!([["a"]]), "an array"), (json!([null]), "null"), (json!({}), "an object")]
        {
            let error = MANY.of_value(&value).unwrap_err();
            assert!(error.starts_with("expected a label") && error.ends_with(got), "{error}");
        }
    }

    #[test]
    fn several_labels_are_refused_where_one_is_expected() {
        let one = RowLabels::One;
        assert_eq!(one.of_value(&json!(3)).unwrap().unwrap(), "3");
        assert_eq!(one.of_value(&json!(null)), Ok(None));
        let error = one.of_value(&json!(["a", "b"])).unwrap_err();
        assert_eq!(error, "expected one label, got an array of 2; --labels many reads them");
        assert_eq!(one.of_labels(&[]), Ok(None));
        assert_eq!(one.of_labels(&["a"]).unwrap().unwrap(), "a");
        assert!(one.of_labels(&["a", "b"]).unwrap_err().contains("got 2; --labels many"));
        assert_eq!(labels(&MANY.of_labels(&["b", "a"]).unwrap().unwrap()), ["a", "b"]);
    }
}
