//! Messages that others forward as attachments.

use crate::message::limits::{Limits, LimitsHit};
use crate::message::mime;

/// The messages that a message forwards as attachments, each as it was before it was attached, without its transfer
/// encoding. Not those that are attached to them.
///
/// They are parts of the type `message/rfc822` (or `message/global`, `message/news`) at any depth of multiparts, the parts of
/// a `multipart/digest`, and files named `*.eml` that [look like mail](crate::looks_like_mail). Messages in reports
/// (`multipart/report`), such as undelivered mail, were not forwarded. Of a message that another filter wrapped, the
/// message inside is read. There are at most [`Limits::nested_messages`]; the limits that are returned may have kept others
/// from being found.
///
/// ```
/// use tamis_mail::{Limits, LimitsHit, forwarded_messages};
///
/// let raw = b"From: colleague@example.org\n\
///             Content-Type: multipart/mixed; boundary=b\n\n\
///             --b\n\nIs this spam?\n\
///             --b\nContent-Type: message/rfc822\n\nSubject: Offer\n\nBuy now\n\n\
///             --b--\n";
/// let (messages, hit) = forwarded_messages(raw, &Limits::default());
/// assert_eq!(messages, [b"Subject: Offer\n\nBuy now\n"]);
/// assert!(hit.is_empty());
/// ```
pub fn forwarded_messages(raw: &[u8], limits: &Limits) -> (Vec<Vec<u8>>, LimitsHit) {
    let (_, hit, messages) = mime::read_parts(raw, limits, Some(Vec::new()), &mut |_| ());
    (messages, LimitsHit { headers: false, text: false, wrapper: false, ..hit })
}
