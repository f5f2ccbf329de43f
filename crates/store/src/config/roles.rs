//! The spam class and the positive class.

use tamis_model::{ClassId, Classes};

/// Labels of spam; case does not matter.
const SPAM_LABELS: [&str; 4] = ["spam", "junk", "unwanted", "phish"];

/// The class that counts as spam by its label: the first of `spam`, `junk`, `unwanted` and `phish` that is a label, in
/// any case. A model of two classes with a spam class is a spam filter.
pub fn spam_class(classes: &Classes) -> Option<ClassId> {
    let find = |name: &&str| classes.iter().find(|(_, label)| label.eq_ignore_ascii_case(name));
    SPAM_LABELS.iter().find_map(find).map(|(class, _)| class)
}

/// The positive class of two, to which raw scores and a [`Decision`](crate::config::decision::Decision) refer: `spam` if there is one,
/// otherwise the last class. Fixed in model files, so it does not follow [`spam_class`].
pub fn positive_class(classes: &Classes) -> ClassId {
    let spam = classes.index(SPAM_LABELS[0]).filter(|_| classes.len() == 2);
    spam.unwrap_or(classes.len().saturating_sub(1) as ClassId)
}
