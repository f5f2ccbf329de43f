//! Suggestions for misspelt labels.

use tamis_model::Classes;

use crate::error::{Error, ErrorKind};

/// The error for an unknown label.
pub(crate) fn unknown_label(label: &str, classes: &Classes) -> Error {
    let labels = classes.iter().map(|(_, known)| (distance(label, known), known));
    // short labels are close to others by chance: `junk` is no typo of `ham`
    let is_near = |(distance, known): &(usize, &str)| {
        *distance <= 2 && (2 * distance < label.chars().count() || sorted(label) == sorted(known))
    };
    let nearest = labels.min_by_key(|(distance, _)| *distance).filter(is_near);
    ErrorKind::UnknownLabel {
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
    fn only_near_spellings_are_suggested() {
        let classes = Classes::new(["ham", "spam", "gardening"]).unwrap();
        let nearest = |label: &str| match unknown_label(label, &classes).into_kind() {
            ErrorKind::UnknownLabel { nearest, .. } => nearest,
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
