//! Names of documents: for mail the Message-ID.

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};
use crate::file::varint::{put_varint, take_varint};

/// Maximum length of a name, in bytes.
const LONGEST: usize = 100;

/// The name of a document with this Message-ID: the text in angle brackets, if any, without control characters,
/// truncated to 100 bytes.
///
/// ```
/// assert_eq!(tamis_train::document_name(" <1@example.org> (added by a gateway)"), "1@example.org");
/// assert_eq!(tamis_train::document_name("1@example.org"), "1@example.org");
/// ```
pub fn document_name(message_id: &str) -> String {
    let within = message_id.split_once('<').map_or(message_id, |(_, rest)| rest);
    let within = within.split_once('>').map_or(within, |(within, _)| within);
    let name: String = within.chars().filter(|c| !c.is_control() && !matches!(c, '<' | '>')).collect();
    let name = name.trim();
    name[..name.floor_char_boundary(LONGEST)].trim_end().to_owned()
}

/// Keeps the lesser of the names of two equal documents, in byte order. An empty name counts as none.
pub fn keep_least(name: &mut Box<str>, other: &str) {
    if !other.is_empty() && (name.is_empty() || other < &**name) {
        *name = other.into();
    }
}

/// The lesser of the [messages](message) of two equal documents. 0 counts as none.
pub fn least_message(message: u64, other: u64) -> u64 {
    if message == 0 || other == 0 { message | other } else { message.min(other) }
}

/// A hash of a mail's name and body, which do not change in transport, to find the mail again; 0 without a name.
pub fn message(name: &str, body: u64) -> u64 {
    if name.is_empty() {
        return 0;
    }
    xxh3_64(&[&body.to_le_bytes(), name.as_bytes()].concat()).max(1)
}

/// A name, unless it is empty.
pub fn named(name: Box<str>) -> Option<String> {
    Some(name.into_string()).filter(|name| !name.is_empty())
}

/// Appends a name, which may be empty.
pub fn encode(name: &str, out: &mut Vec<u8>) {
    put_varint(name.len() as u64, out);
    out.extend_from_slice(name.as_bytes());
}

/// Reads a name.
pub fn decode(bytes: &mut &[u8]) -> Result<Box<str>> {
    let length = take_varint(bytes).filter(|length| *length <= LONGEST as u64);
    let taken = length.and_then(|length| bytes.split_at_checked(length as usize));
    let name = taken.and_then(|(name, rest)| {
        *bytes = rest;
        std::str::from_utf8(name).ok().filter(|name| is_name(name))
    });
    name.map(Box::from).ok_or_else(|| Error::inconsistent("vectors", "names of documents", "other bytes"))
}

/// Whether a name is valid: short enough, and safe to display.
pub fn is_name(name: &str) -> bool {
    name.len() <= LONGEST && !name.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_name_of_anything_is_one_and_its_own(id in "[ <>a-z@\\p{any}]{0,150}") {
            let name = document_name(&id);
            prop_assert!(is_name(&name), "{name:?}");
            prop_assert_eq!(&document_name(&name), &name);
            prop_assert_eq!(&document_name(&format!("\t<{name}>")), &name);
        }

        #[test]
        fn names_come_back_and_anything_else_is_an_error_or_a_name(id: String, rest: Vec<u8>) {
            let (name, mut bytes) = (document_name(&id), Vec::new());
            encode(&name, &mut bytes);
            bytes.extend(&rest);
            let mut left = &bytes[..];
            prop_assert_eq!(&*decode(&mut left).unwrap(), &*name);
            prop_assert_eq!(left, &rest[..]);
            if let Ok(name) = decode(&mut &rest[..]) {
                prop_assert!(is_name(&name), "{name:?}");
            }
        }

        #[test]
        fn the_order_of_equal_documents_leaves_no_trace(mut names: Vec<String>) {
            let least = |names: &[String]| names.iter().fold(Box::default(), |mut least, name| {
                keep_least(&mut least, name);
                least
            });
            let forwards = least(&names);
            names.reverse();
            prop_assert_eq!(&forwards, &least(&names));
            prop_assert_eq!(Some(&*forwards).filter(|n| !n.is_empty()), names.iter().map(|n| &**n).filter(|n| !n.is_empty()).min());
        }
    }
}
