//! Groups: documents that are held out together.

use tamis_tokenizer::fingerprint;

use crate::kind::Kind;

/// Named groups have numbers below this. Of several groups the lowest counts, so a named group precedes an unnamed one.
const NAMED: u64 = 1 << 48;

/// The number of a document's group: a hash of the group's name, the same in every model. Without a name, or with an
/// empty one, it is the hash of the document's body.
pub fn group(name: Option<&str>, body: u64) -> u64 {
    match name {
        Some(name) if !name.is_empty() => fingerprint(name) % NAMED,
        _ if is_named(body) => body | 1 << 63,
        _ => body,
    }
}

/// Whether copies of documents of this kind, with these groups, may be held out one by one. Another copy of a text is
/// like a new text. But a mail must not help predict its own copy, nor a document its named group.
pub fn copies_are_apart(kind: Kind, mut groups: impl Iterator<Item = u64>) -> bool {
    kind != Kind::Mail && !groups.any(is_named)
}

/// Whether a group was named.
pub fn is_named(group: u64) -> bool {
    group < NAMED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_always_the_same_group_and_never_a_body() {
        assert_eq!(group(Some("alice"), 1), group(Some("alice"), 2));
        assert_ne!(group(Some("alice"), 1), group(Some("bob"), 1));
        assert_eq!(group(None, u64::MAX), u64::MAX);
        assert_eq!(group(None, 7), group(Some(""), 7));
        assert_ne!(group(None, 7), group(None, 8));
        assert!(group(Some("alice"), 0) < group(None, 0));
        assert!(is_named(group(Some("alice"), 0)) && !is_named(group(None, 7)));
    }
}
