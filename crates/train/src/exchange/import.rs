//! Import: restores a model from the text that [`export`](super::export) wrote.

use std::io::BufRead;

use tamis_store::error::Result;

use crate::exchange::draft::Draft;
use crate::exchange::export::{EXPORT_VERSION, Head};
use crate::exchange::lines::Lines;
use crate::model::Model;

/// Restores the model that [`export`](super::export) wrote, byte for byte if documents were exported.
/// Otherwise, the model knows no documents, and stores only digests of those it learns later.
///
/// The text is trusted no more than a model file: everything is checked, as [`Filter::verify`](crate::Filter::verify)
/// does.
///
/// # Errors
/// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged) with the first line that cannot be read; others if lines
/// contradict one another.
pub fn import(input: impl BufRead) -> Result<Model> {
    let mut lines = Lines { input, line: 0, bytes: Vec::new() };
    let head: Head = lines
        .parse("the first line of an exported model")?
        .ok_or_else(|| lines.unlike("a model", "nothing"))?;
    if head.tamis_export != EXPORT_VERSION {
        return Err(lines.unlike(format!("version {EXPORT_VERSION}"), head.tamis_export));
    }
    let has_documents = head.documents;
    let mut draft = Draft::new(head)?;
    while lines.next()?.is_some() {
        let added = match (lines.read("a term"), has_documents) {
            (Ok(term), _) => draft.add_term(term),
            (Err(error), false) => return Err(error),
            (Err(_), true) => draft.add_document(lines.read("a term or a document")?),
        };
        added.map_err(|(expected, got)| lines.unlike(expected, got))?;
    }
    draft.finish()
}

#[cfg(test)]
mod tests;
