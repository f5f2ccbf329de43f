//! The names of a table's columns.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

/// The names of a table's columns, in order; none where each row names its own.
#[derive(Clone, Default)]
pub(crate) struct Names(Arc<[Arc<str>]>);

impl Names {
    /// The names in a first row. A column without a name is called by its number, as in `column 1`.
    pub(crate) fn of_header(first: &[Cow<'_, [u8]>]) -> Self {
        let name = |(i, cell): (usize, &Cow<'_, [u8]>)| match tamis_mail::decode_text(cell, None).trim() {
            "" => format!("column {}", i + 1).into(),
            name => name.into(),
        };
        Names(first.iter().enumerate().map(name).collect())
    }

    /// The names of `n` columns without a header: their numbers.
    pub(crate) fn numbers(n: usize) -> Self {
        Names((1..=n).map(|number| number.to_string().into()).collect())
    }

    pub(crate) fn all(&self) -> &[Arc<str>] {
        &self.0
    }
}

impl AsRef<Names> for Names {
    fn as_ref(&self) -> &Names {
        self
    }
}

/// The first name that occurs before.
pub(crate) fn repeated(names: &[Arc<str>]) -> Option<&str> {
    let mut seen = HashSet::new();
    names.iter().map(|name| &**name).find(|name| !seen.insert(*name))
}

/// Lists names for an error message.
pub(crate) fn listed(names: &[Arc<str>]) -> String {
    const MOST: usize = 20;
    let mut shown = names.iter().take(MOST).map(|name| &**name).collect::<Vec<_>>().join(", ");
    if names.len() > MOST {
        shown.push_str(&format!(" and {} more", names.len() - MOST));
    }
    shown
}
