//! Labels that are refused, and suggestions for misspelt ones.

use tamis_model::Classes;
use tamis_tokenizer::normalize;

use crate::config::label_set::labels_of;
use crate::error::{Error, Reason, Result};

/// The name of the verdict that gives no label.
pub const UNSURE: &str = "unsure";

/// Checks a label under which documents are to be learned.
///
/// # Errors
/// If the label looks the same as `unsure`.
pub fn check_label(label: &str) -> Result<()> {
    match folded(label) == UNSURE {
        true => Err(Reason::ReservedLabel { got: label.to_owned() }.into()),
        false => Ok(()),
    }
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
        known: classes.iter().map(|(_, known)| known.to_owned()).collect(),
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
