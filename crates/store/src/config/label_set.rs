//! Several labels of a document as the name of one class.
//!
//! In a model of many labels, a class is the set of labels that a document has, so that documents are learned, forgotten
//! and merged as in any other model. What is scored are the labels.

use std::borrow::Cow;

use tamis_model::{ClassId, Classes, Columns};

use crate::config::roles::positive_class;
use crate::error::Result;

/// Separates the labels in the name of a set: the invisible separator of Unicode.
const SEPARATOR: char = '\u{2063}';

/// The name of the set without labels. It is a class of every model of many labels, and of no other.
pub const NO_LABELS: &str = "\u{2063}";

/// The name of the class of the documents with exactly these labels, in any order; a label given twice counts once. A
/// single label is its own name. A label must not contain the character U+2063, which separates labels.
///
/// ```
/// use tamis_train::{join_labels, split_labels};
///
/// let name = join_labels(["wheat", "grain"]);
/// assert_eq!(name, join_labels(["grain", "wheat", "grain"]));
/// assert_eq!(split_labels(&name).collect::<Vec<_>>(), ["grain", "wheat"]);
/// assert_eq!(join_labels(["grain"]), "grain");
/// assert_eq!(split_labels(&join_labels([])).count(), 0);
/// ```
pub fn join_labels<'a>(labels: impl IntoIterator<Item = &'a str>) -> String {
    let mut labels: Vec<_> = labels.into_iter().filter(|label| !label.is_empty()).collect();
    labels.sort_unstable();
    labels.dedup();
    match labels.is_empty() {
        true => NO_LABELS.to_owned(),
        false => labels.join(NO_LABELS),
    }
}

/// The labels of a set, in alphabetical order, from the name that [`join_labels`] gave it.
pub fn split_labels(name: &str) -> impl Iterator<Item = &str> {
    name.split(SEPARATOR).filter(|label| !label.is_empty())
}

/// What is derived from classes that are sets of labels.
pub(crate) struct SetLabels {
    pub labels: Classes,
    pub columns: Columns,
}

impl SetLabels {
    /// `None` if classes are not sets.
    pub(crate) fn of(classes: &Classes) -> Result<Option<SetLabels>> {
        let of_sets =
            || Ok(SetLabels { labels: labels_of(classes)?.into_owned(), columns: columns_of(classes)? });
        are_sets(classes).then(of_sets).transpose()
    }
}

/// Whether classes are sets of labels.
pub fn are_sets(classes: &Classes) -> bool {
    classes.index(NO_LABELS).is_some()
}

/// The labels that documents may have: the classes or, where these are sets, what is in them.
pub fn labels_of(classes: &Classes) -> Result<Cow<'_, Classes>> {
    match are_sets(classes) {
        true => Ok(Cow::Owned(Classes::new(classes.iter().flat_map(|(_, set)| split_labels(set)))?)),
        false => Ok(Cow::Borrowed(classes)),
    }
}

/// The columns of weighted scoring for these classes.
pub fn columns_of(classes: &Classes) -> Result<Columns> {
    if !are_sets(classes) {
        return Ok(Columns::new(classes.len(), positive_class(classes))?);
    }
    let labels = labels_of(classes)?;
    let ids = |set| split_labels(set).filter_map(|label| labels.index(label)).collect::<Vec<ClassId>>();
    Ok(Columns::of_sets(labels.len(), classes.iter().map(|(_, set)| ids(set)))?)
}
