//! What a server's bytes meet first, for fuzzing.

use crate::imap::bounded::Scan;
use crate::imap::names::{decode, quote};

/// Looks at bytes as they are looked at on the wire, parses them as async-imap does if they are within the limits, and
/// decodes what may be a folder's name. Returns whether they were within the limits.
pub fn look(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    if let Some(quoted) = quote(&decode(&text)) {
        assert!(!quoted.contains(['\r', '\n']));
    }
    let is_within = Scan::default().look(bytes).is_ok();
    if is_within {
        let mut rest = bytes;
        while let Ok((after, _)) = imap_proto::Response::parse(rest) {
            if after.len() == rest.len() {
                break;
            }
            rest = after;
        }
    }
    is_within
}
