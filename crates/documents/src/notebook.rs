//! Jupyter notebooks.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::format::Format;
use crate::limits::{Reading, Unread};

/// Reads the sources of a notebook's cells, text and code. Their outputs are left out.
pub(crate) fn read_notebook(bytes: &[u8], reading: &mut Reading) -> Result<(), Unread> {
    let sources = Sources(reading).deserialize(&mut serde_json::Deserializer::from_slice(bytes));
    sources.map_err(|_| Unread::Damaged(Format::Notebook))
}

/// Appends strings and lists of them, in a notebook, its cells and their sources. Nothing is kept besides.
struct Sources<'a>(&'a mut Reading);

impl<'de> DeserializeSeed<'de> for Sources<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Sources<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a notebook")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.0.push(text);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<(), A::Error> {
        while all.next_element_seed(Sources(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<(), A::Error> {
        while let Some(key) = all.next_key::<String>()? {
            match &*key {
                "cells" | "source" => {
                    all.next_value_seed(Sources(self.0))?;
                    self.0.push_break('\n');
                }
                _ => _ = all.next_value::<IgnoredAny>()?,
            }
        }
        Ok(())
    }
}
