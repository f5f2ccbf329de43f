//! Limits on what is read of a message.
use serde::{Deserialize, Serialize};
use std::fmt;

/// Limits on what is read of one message, so that hostile mail costs no more than large mail.
///
/// A message over a limit is truncated; [`LimitsHit`] tells which limits were hit.
///
/// ```
/// use tamis_mail::{Limits, Message};
///
/// let mut limits = Limits::default();
/// limits.text = 5;
/// let message = Message::parse(b"Subject: s\n\nten letters", &limits);
/// assert_eq!(message.body(), "ten l");
/// assert!(message.limits_hit().text);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of the raw message that are searched for parts. By default, 64 MiB, more than mail servers accept.
    pub bytes: usize,
    /// Nested messages (`message/rfc822` and similar) that are parsed; others are read as plain text. By default, 64;
    /// never more than 256. Also the most that [`forwarded_messages`](crate::forwarded_messages) finds.
    pub nested_messages: usize,
    /// MIME parts with text that are read, including containers. By default, 1,000. As many parts without text are
    /// listed besides, so that images and empty parts do not keep text from being read.
    pub parts: usize,
    /// Header fields that are read per header block. By default, 1,000.
    pub headers: usize,
    /// Bytes of decoded text of all parts together, counting HTML with its tags. By default, 300 KiB. The same limit
    /// applies separately to the text of attachments and to each header block.
    pub text: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { bytes: 64 << 20, nested_messages: 64, parts: 1_000, headers: 1_000, text: 300 * 1024 }
    }
}

/// The [`Limits`] that truncated a message.
///
/// Displayed as the names of the limits, separated by commas; empty if none was hit.
///
/// ```
/// use tamis_mail::LimitsHit;
///
/// let hit = LimitsHit { bytes: true, text: true, ..LimitsHit::default() };
/// assert_eq!(hit.to_string(), "bytes, text");
/// assert!(LimitsHit::default().is_empty());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LimitsHit {
    /// The message is larger than [`Limits::bytes`].
    pub bytes: bool,
    /// A nested message was read as plain text: see [`Limits::nested_messages`].
    pub nested_messages: bool,
    /// Parts were left out, perhaps only parts without text: see [`Limits::parts`] and [`text`](Self::text).
    pub parts: bool,
    /// Header fields were left out: see [`Limits::headers`].
    pub headers: bool,
    /// Text may have been left unread, whichever limit caused it or because its charset is unknown, so what was read
    /// cannot show that a message is harmless. Set for attachments only if the message says nothing beside one that was
    /// not read.
    pub text: bool,
    /// The text of attachments was left out: see [`Limits::text`] and [`Part::unread`](crate::Part::unread).
    pub attachments: bool,
    /// A multipart was read as plain text: one more than 64 levels deep, or in a message that had been passed over too often.
    /// Each level is one more pass. All passes together are limited to 24 times the length of the message and 256 KiB.
    pub depth: bool,
    /// Another filter had wrapped the message: only the message inside was read, not the report around it.
    pub wrapper: bool,
}

impl LimitsHit {
    /// Whether the whole message was read.
    pub fn is_empty(&self) -> bool {
        *self == LimitsHit::default()
    }
}

impl fmt::Display for LimitsHit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (self.bytes, "bytes"),
            (self.nested_messages, "nested messages"),
            (self.parts, "parts"),
            (self.headers, "headers"),
            (self.text, "text"),
            (self.attachments, "attachments"),
            (self.depth, "depth"),
            (self.wrapper, "wrapper"),
        ];
        let hit: Vec<_> = names.iter().filter(|(hit, _)| *hit).map(|(_, name)| *name).collect();
        f.write_str(&hit.join(", "))
    }
}
