//! Rows of JSON: one object per line.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::error::Category;
use serde_json::map::Entry;

/// A JSON object.
pub(crate) type Object = serde_json::Map<String, serde_json::Value>;

/// Reads a line as an object without repeated keys.
pub(crate) fn read(line: &[u8]) -> Result<Object, String> {
    let line = str::from_utf8(line).map_err(|_| "expected a line of UTF-8, got other bytes".to_owned())?;
    // never the text itself, which may be private
    let read = serde_json::from_str(line.strip_prefix('\u{feff}').unwrap_or(line));
    let WrittenObject { object, repeated } = read.map_err(|error| match error.classify() {
        Category::Eof => "expected a JSON object, got the beginning of one".to_owned(),
        Category::Data => "expected a JSON object, got a JSON value of another kind".to_owned(),
        _ => format!("expected a JSON object, got something else at column {}", error.column()),
    })?;
    match repeated {
        Some(key) => Err(format!("expected each key once, got {key:?} twice")),
        None => Ok(object),
    }
}

/// A JSON object as written, and its first repeated key. `serde_json` alone would take the last value.
struct WrittenObject {
    object: Object,
    repeated: Option<String>,
}

impl<'de> Deserialize<'de> for WrittenObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor)
    }
}

struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = WrittenObject;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WrittenObject, A::Error> {
        let (mut object, mut repeated) = (Object::new(), None);
        while let Some((key, value)) = map.next_entry()? {
            match object.entry::<String>(key) {
                Entry::Vacant(place) => {
                    place.insert(value);
                }
                Entry::Occupied(known) => {
                    repeated.get_or_insert_with(|| known.key().clone());
                }
            }
        }
        Ok(WrittenObject { object, repeated })
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
        assert_eq!(object.len(), 3);
    }
}
