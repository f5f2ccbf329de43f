//! The kinds of documents: mail, text, rows of a table.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The kind of documents of a model.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Kind {
    /// Raw RFC 5322 messages.
    Mail,
    /// Plain text.
    Text,
    /// Rows of a table, whose columns the recipe lists.
    Table,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Mail => "mail",
            Kind::Text => "text",
            Kind::Table => "table",
        })
    }
}

/// Parses the kinds that a single document can be read as: mail or text.
impl FromStr for Kind {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        let known = [Kind::Mail, Kind::Text].into_iter().find(|kind| kind.to_string() == s);
        known.ok_or_else(|| format!("expected mail or text, got {s:?}"))
    }
}
