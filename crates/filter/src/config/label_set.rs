//! Several labels of a document as the name of one class.

/// Separates the labels in the name of a set.
const SEPARATOR: char = '\u{1f}';

/// The name of the class of the documents with exactly these labels, in any order; a label given twice counts once.
/// A single label is its own name.
///
/// ```
/// use tamis_filter::{join_labels, split_labels};
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
        true => SEPARATOR.into(),
        false => labels.join(&SEPARATOR.to_string()),
    }
}

/// The labels of a set, in alphabetical order, from the name that [`join_labels`] gave it.
pub fn split_labels(name: &str) -> impl Iterator<Item = &str> {
    name.split(SEPARATOR).filter(|label| !label.is_empty())
}
