//! The sorted labels of a model's classes.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::counts::cell::ClassId;

/// The labels of a model's classes.
///
/// Invariant: labels are sorted by bytes, unique, not empty and without control characters; there are at most
/// [`MAX`](Self::MAX). The id of a class is its position, so ids do not depend on the order of learning.
///
/// Deserialized labels must already be sorted, since ids elsewhere refer to positions.
///
/// ```
/// use tamis_model::Classes;
///
/// let mut classes = Classes::new(["spam", "ham"])?;
/// assert_eq!(classes.index("spam"), Some(1));
/// let at = classes.insert("newsletter")?; // follow it with Statistics::insert_class(at)
/// assert_eq!((at, classes.label(2)), (1, Some("spam")));
/// # Ok::<(), tamis_model::ClassesError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Classes {
    labels: Vec<String>,
}

impl Classes {
    /// The most classes a model can have: 65,535.
    pub const MAX: usize = ClassId::MAX as usize;

    /// Sorts the labels and removes duplicates.
    ///
    /// # Errors
    /// A label that is empty or has a control character; more than [`MAX`](Self::MAX) labels.
    pub fn new(labels: impl IntoIterator<Item = impl Into<String>>) -> Result<Classes, ClassesError> {
        let mut labels: Vec<String> = labels.into_iter().map(Into::into).collect();
        labels.sort_unstable();
        labels.dedup();
        Classes::try_from(labels)
    }

    /// The number of classes.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are no classes.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The id of a label.
    pub fn index(&self, label: &str) -> Option<ClassId> {
        self.search(label).ok().map(class_id)
    }

    /// The label of an id.
    pub fn label(&self, class: ClassId) -> Option<&str> {
        self.labels.get(usize::from(class)).map(String::as_str)
    }

    /// Ids and labels, in order.
    pub fn iter(&self) -> impl Iterator<Item = (ClassId, &str)> + '_ {
        self.labels.iter().enumerate().map(|(i, label)| (class_id(i), label.as_str()))
    }

    /// Adds a label and returns its id. The classes from there on move up by one, so
    /// [`Statistics::insert_class`](crate::Statistics::insert_class) must follow with the same id.
    ///
    /// # Errors
    /// A label that exists, is empty or has a control character; [`MAX`](Self::MAX) classes already. Nothing changes
    /// then.
    pub fn insert(&mut self, label: &str) -> Result<ClassId, ClassesError> {
        let class = self.check_new(label)?;
        self.labels.insert(usize::from(class), label.into());
        Ok(class)
    }

    /// The id that [`insert`](Self::insert) would give a label.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn check_new(&self, label: &str) -> Result<ClassId, ClassesError> {
        check(label)?;
        let Err(at) = self.search(label) else { return Err(ClassesError::Duplicate { got: label.into() }) };
        if self.len() == Self::MAX {
            return Err(ClassesError::TooMany { expected: Self::MAX, got: Self::MAX + 1 });
        }
        Ok(class_id(at))
    }

    fn search(&self, label: &str) -> Result<usize, usize> {
        self.labels.binary_search_by(|l| l.as_str().cmp(label))
    }
}

impl fmt::Display for Classes {
    /// The labels, as messages list them: at most 20, then how many more there are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST: usize = 20;
        f.write_str(&self.labels[..self.len().min(MOST)].join(", "))?;
        if self.len() > MOST { write!(f, " and {} more", self.len() - MOST) } else { Ok(()) }
    }
}

/// Positions are below [`Classes::MAX`], so the cast loses nothing.
fn class_id(position: usize) -> ClassId {
    position as ClassId
}

fn check(label: &str) -> Result<(), ClassesError> {
    if label.is_empty() {
        return Err(ClassesError::Empty);
    }
    if label.contains(char::is_control) {
        return Err(ClassesError::ControlCharacter { got: label.into() });
    }
    Ok(())
}

impl TryFrom<Vec<String>> for Classes {
    type Error = ClassesError;

    /// Takes labels that are already sorted and unique.
    fn try_from(labels: Vec<String>) -> Result<Classes, ClassesError> {
        if labels.len() > Self::MAX {
            return Err(ClassesError::TooMany { expected: Self::MAX, got: labels.len() });
        }
        labels.iter().try_for_each(|label| check(label))?;
        for pair in labels.windows(2) {
            match pair {
                [a, b] if a == b => return Err(ClassesError::Duplicate { got: b.clone() }),
                [a, b] if a > b => {
                    return Err(ClassesError::Unsorted { expected: a.clone(), got: b.clone() });
                }
                _ => {}
            }
        }
        Ok(Classes { labels })
    }
}

impl From<Classes> for Vec<String> {
    fn from(classes: Classes) -> Vec<String> {
        classes.labels
    }
}

/// Why labels were refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClassesError {
    /// An empty label.
    #[error("expected a label of at least one character, got an empty one")]
    Empty,
    /// A label with a control character, such as a line end.
    #[error("expected a label without control characters, got {got:?}")]
    ControlCharacter {
        /// The label.
        got: String,
    },
    /// A label that exists already.
    #[error("expected a new label, got {got:?}, which is there already")]
    Duplicate {
        /// The label.
        got: String,
    },
    /// Labels that were read but are not sorted.
    #[error("labels are not sorted: expected one after {expected:?}, got {got:?}")]
    Unsorted {
        /// The preceding label, which `got` must exceed.
        expected: String,
        /// The label.
        got: String,
    },
    /// More classes than there are ids.
    #[error("too many classes: expected at most {expected}, got {got}")]
    TooMany {
        /// The largest number allowed.
        expected: usize,
        /// The number given.
        got: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_and_takes_each_label_once() {
        let classes = Classes::new(["spam", "ham", "spam"]).unwrap();
        assert_eq!(classes.iter().collect::<Vec<_>>(), [(0, "ham"), (1, "spam")]);
        assert_eq!(classes.index("eggs"), None);
        assert_eq!(classes.label(2), None);
        assert!(Classes::default().is_empty());
    }

    #[test]
    fn refuses_bad_labels() {
        assert_eq!(Classes::new([""]), Err(ClassesError::Empty));
        assert!(matches!(Classes::new(["a\nb"]), Err(ClassesError::ControlCharacter { .. })));
        let unsorted = Classes::try_from(vec!["b".to_string(), "a".to_string()]);
        assert!(matches!(unsorted, Err(ClassesError::Unsorted { .. })));
        let many: Vec<String> = (0..=Classes::MAX).map(|i| format!("{i:05}")).collect();
        assert!(matches!(Classes::new(many.clone()), Err(ClassesError::TooMany { got: 65_536, .. })));
        let mut full = Classes::new(&many[1..]).unwrap();
        assert!(matches!(full.insert("x"), Err(ClassesError::TooMany { .. })));
    }

    #[test]
    fn insert_keeps_the_order() {
        let mut classes = Classes::new(["b", "d"]).unwrap();
        assert_eq!(classes.insert("c"), Ok(1));
        assert_eq!(classes.insert("a"), Ok(0));
        assert!(matches!(classes.insert("d"), Err(ClassesError::Duplicate { .. })));
        assert_eq!(Vec::from(classes), ["a", "b", "c", "d"]);
    }
}
