//! Which class is which.

use tamis_model::{ClassId, Classes};

/// What spam is called, in any case.
const SPAM_LABELS: [&str; 4] = ["spam", "junk", "unwanted", "phish"];

/// The class that counts as spam by its label: the first of `spam`, `junk`, `unwanted` and `phish` that is one, in any
/// case. A model of two classes that has one is a spam filter.
pub fn spam_class(classes: &Classes) -> Option<ClassId> {
    let find = |name: &&str| classes.iter().find(|(_, label)| label.eq_ignore_ascii_case(name));
    SPAM_LABELS.iter().find_map(find).map(|(class, _)| class)
}

/// Of two classes the one that raw scores, log-odds of a [`Decision`](crate::Decision) and its options are about: `spam`,
/// else the last. Model files keep it, so it does not follow [`spam_class`].
pub fn positive_class(classes: &Classes) -> ClassId {
    let spam = classes.index(SPAM_LABELS[0]).filter(|_| classes.len() == 2);
    spam.unwrap_or(classes.len().saturating_sub(1) as ClassId)
}
