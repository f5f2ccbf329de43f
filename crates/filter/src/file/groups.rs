//! Groups: documents that are held out together.

use tamis_tokenizer::fingerprint;

/// Set in the hash of a body, clear in the number of a group that was named: of several groups the least counts, so a name
/// comes before none.
const UNNAMED: u64 = 1 << 63;

/// The number of a document's group: a hash of the name it was given, the same wherever it is given. Without a name, or
/// with an empty one, it is the hash of the document's body.
pub(crate) fn group(name: Option<&str>, body: u64) -> u64 {
    match name {
        Some(name) if !name.is_empty() => fingerprint(name) & !UNNAMED,
        _ => body | UNNAMED,
    }
}

/// Whether a group was named.
pub(crate) fn is_named(group: u64) -> bool {
    group & UNNAMED == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_always_the_same_group_and_never_a_body() {
        assert_eq!(group(Some("alice"), 1), group(Some("alice"), 2));
        assert_ne!(group(Some("alice"), 1), group(Some("bob"), 1));
        assert_eq!(group(None, 7), group(Some(""), 7));
        assert!(group(Some("alice"), 0) < group(None, 0));
        assert!(is_named(group(Some("alice"), 0)) && !is_named(group(None, u64::MAX)));
    }
}
