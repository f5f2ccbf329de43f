//! Labels: the spam class and the positive class, sets of labels, labels that are refused, and suggestions for misspelt
//! ones.
//!
//! In a model of many labels, a class is the set of labels that a document has, so that documents are learned, forgotten
//! and merged as in any other model. What is scored are the labels.

use std::borrow::Cow;

use tamis_model::{ClassId, Classes, Columns};
use tamis_tokenizer::normalize;

use crate::error::{Error, Reason, Result};

/// Labels of spam; case does not matter.
const SPAM_LABELS: [&str; 4] = ["spam", "junk", "unwanted", "phish"];

/// The class that counts as spam by its label: the first of `spam`, `junk`, `unwanted` and `phish` that is a label, in
/// any case. A model of two classes with a spam class is a spam filter.
pub fn spam_class(classes: &Classes) -> Option<ClassId> {
    let find = |name: &&str| classes.iter().find(|(_, label)| label.eq_ignore_ascii_case(name));
    SPAM_LABELS.iter().find_map(find).map(|(class, _)| class)
}

/// The positive class of two, to which raw scores and a [`Decision`](crate::config::decision::Decision) refer: the
/// [spam class](spam_class) if there is one, otherwise the last class.
pub fn positive_class(classes: &Classes) -> ClassId {
    let spam = spam_class(classes).filter(|_| classes.len() == 2);
    spam.unwrap_or(classes.len().saturating_sub(1) as ClassId)
}

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
    if labels.is_empty() { NO_LABELS.to_owned() } else { labels.join(NO_LABELS) }
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
    pub(crate) fn derive(classes: &Classes) -> Result<Option<SetLabels>> {
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

/// The name of the verdict that gives no label.
pub const UNSURE: &str = "unsure";

/// Checks a label under which documents are to be learned.
///
/// # Errors
/// If the label looks the same as `unsure`.
pub fn check_label(label: &str) -> Result<()> {
    Reason::ReservedLabel { got: label.to_owned() }.unless(folded(label) != UNSURE)
}

/// Checks the labels of a new model.
///
/// # Errors
/// If a label is reserved, or two labels look the same.
pub fn check_labels(classes: &Classes) -> Result<()> {
    let classes = labels_of(classes)?;
    classes.iter().try_for_each(|(_, label)| check_label(label))?;
    let mut all: Vec<_> = classes.iter().map(|(_, label)| (folded(label), label)).collect();
    all.sort_unstable();
    match all.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => Err(Reason::SimilarLabels { got: [pair[0].1, pair[1].1].map(str::to_owned) }.into()),
        None => Ok(()),
    }
}

/// As [`check_labels`], for a model made from `models`. If one of them already has labels that would be refused,
/// nothing is checked.
pub fn check_labels_of<'a>(models: impl IntoIterator<Item = &'a Classes>, classes: &Classes) -> Result<()> {
    let are_checked = models.into_iter().all(|known| check_labels(known).is_ok());
    if are_checked { check_labels(classes) } else { Ok(()) }
}

/// Removes from a label what a reader may overlook: case, blanks, invisible and look-alike characters.
fn folded(label: &str) -> String {
    let visible = |c: &char| !c.is_whitespace();
    normalize(label, &mut String::new()).chars().filter(visible).flat_map(char::to_lowercase).collect()
}

/// The error for an unknown label.
pub fn unknown_label(label: &str, classes: &Classes) -> Error {
    let labels = classes.iter().map(|(_, known)| (distance(label, known), known));
    // short labels are close to others by chance: `junk` is not a typo of `ham`
    let is_near = |(distance, known): &(usize, &str)| {
        *distance <= 2 && (2 * distance < label.chars().count() || sorted(label) == sorted(known))
    };
    let nearest = labels.min_by_key(|(distance, _)| *distance).filter(is_near);
    Reason::UnknownLabel {
        got: label.to_owned(),
        known: classes.to_string(),
        nearest: nearest.map(|(_, known)| known.to_owned()),
    }
    .into()
}

fn sorted(word: &str) -> Vec<char> {
    let mut letters: Vec<_> = word.chars().collect();
    letters.sort_unstable();
    letters
}

/// The Levenshtein distance in characters.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.chars().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_look_the_same_are_refused_with_both_names() {
        for [one, other] in
            [["Spam", "spam"], ["ham", "ham "], ["ham", "h\u{202e}am"], ["a b", "ab"], ["h\u{200b}am", "ham"]]
        {
            let error = check_labels(&Classes::new([one, other, "x"]).unwrap()).unwrap_err();
            let Reason::SimilarLabels { got } = error.reason() else { panic!("{error}") };
            assert!(got.contains(&one.to_owned()) && got.contains(&other.to_owned()), "{error}");
        }
        assert!(
            check_labels(&Classes::new(["ham", "spam", "спам", "sci.space", "sci.med"]).unwrap()).is_ok()
        );
        for label in ["unsure", "Unsure", " unsure"] {
            let error = check_labels(&Classes::new([label, "ham"]).unwrap()).unwrap_err();
            assert!(matches!(error.reason(), Reason::ReservedLabel { got } if got == label), "{error}");
        }
    }

    #[test]
    fn what_a_model_has_already_is_not_refused() {
        let [old, new] = [["Ham", "ham"], ["spam", "x"]].map(|labels| Classes::new(labels).unwrap());
        let both = Classes::new(["Ham", "ham", "spam", "x"]).unwrap();
        assert!(check_labels_of([&old, &new], &both).is_ok());
        assert!(check_labels_of([&new], &both).is_err());
    }

    #[test]
    fn only_near_spellings_are_suggested() {
        let classes = Classes::new(["ham", "spam", "gardening"]).unwrap();
        let nearest = |label: &str| match unknown_label(label, &classes).into_reason() {
            Reason::UnknownLabel { nearest, .. } => nearest,
            error => panic!("{error}"),
        };
        for (label, expected) in
            [("Spam", Some("spam")), ("hum", Some("ham")), ("gardning", Some("gardening"))]
        {
            assert_eq!(nearest(label).as_deref(), expected, "{label}");
        }
        for label in ["junk", "", "h", "bag", "inbox/01.eml"] {
            assert_eq!(nearest(label), None, "{label}");
        }
    }
}
