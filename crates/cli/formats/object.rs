//! Rows of JSON: one object per line.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::error::Category;

/// The members of a JSON object, in order.
#[cfg_attr(test, derive(Debug))]
pub(crate) struct Object(Vec<(String, Value)>);

impl Object {
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    /// Takes a value out, which is null from then on.
    pub(crate) fn take(&mut self, key: &str) -> Option<Value> {
        self.0.iter_mut().find(|(known, _)| known == key).map(|(_, value)| value.take())
    }

    /// A key that occurs twice.
    fn repeated(&self) -> Option<String> {
        let mut keys: Vec<_> = self.0.iter().map(|(key, _)| key).collect();
        keys.sort_unstable();
        keys.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0].clone())
    }
}

impl IntoIterator for Object {
    type Item = (String, Value);
    type IntoIter = std::vec::IntoIter<(String, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Reads a line as an object without repeated keys.
pub(crate) fn read(line: &[u8]) -> Result<Object, String> {
    let line = str::from_utf8(line).map_err(|_| "expected a line of UTF-8, got other bytes".to_owned())?;
    // never the text itself, which may be private
    let read = serde_json::from_str(line.strip_prefix('\u{feff}').unwrap_or(line));
    let object: Object = read.map_err(|error: serde_json::Error| match error.classify() {
        Category::Eof => "expected a JSON object, got the beginning of one".to_owned(),
        Category::Data => "expected a JSON object, got a JSON value of another kind".to_owned(),
        _ => format!("expected a JSON object, got something else at column {}", error.column()),
    })?;
    match object.repeated() {
        Some(key) => Err(format!("expected each key once, got {key:?} twice")),
        None => Ok(object),
    }
}

// `serde_json` alone would take the last value of a repeated key
impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor)
    }
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = Object;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_object_is_refused() {
        for line in ["{\"text\": ", "[1]", "{text}", "x", "{\"a\": 1, \"a\": 2} x"] {
            let error = read(line.as_bytes()).unwrap_err();
            assert!(error.starts_with("expected a JSON object, got "), "{error}");
        }
    }

    #[test]
    fn a_key_named_twice_is_refused_and_named() {
        let error = read(br#"{"label": "ham", "text": "a", "label": "spam", "text": "b"}"#).unwrap_err();
        assert_eq!(error, "expected each key once, got \"label\" twice");
        // other keys, and keys of other objects
        let object = read(br#"{"text": "a", "Text": "b", "x": {"text": "c"}}"#).unwrap();
        assert_eq!(object.into_iter().count(), 3);
    }
}
