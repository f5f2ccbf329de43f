//! Detects whether a file is mail.
use crate::message::fields::Fields;

/// Bytes examined.
const WINDOW: usize = 64 * 1024;

/// Fields typical of mail. From and Subject alone may be those of a newsgroup post.
const OF_MAIL: [&str; 9] =
    ["from", "to", "date", "received", "message-id", "return-path", "mime-version", "delivered-to", "sender"];

/// Whether bytes look like a mail message.
///
/// They must begin with well-formed header lines (RFC 5322, section 2.2; folding and an mbox `From ` line are allowed)
/// up to an empty line or the end, with at least two of From, To, Date, Received, Message-ID, Return-Path,
/// MIME-Version, Delivered-To and Sender. Examines the first 64 KiB.
///
/// ```
/// use tamis_mail::looks_like_mail;
///
/// assert!(looks_like_mail(b"From: a@example.org\nTo: b@example.org\n\nHello\n"));
/// assert!(!looks_like_mail(b"From: a@example.org\nSubject: a newsgroup post\n\nHello\n"));
/// assert!(!looks_like_mail(b"Dear reader,\nthis is a letter.\n"));
/// ```
pub fn looks_like_mail(bytes: &[u8]) -> bool {
    let mut fields = Fields::new(&bytes[..bytes.len().min(WINDOW)]);
    let of_mail = are_of_mail(fields.by_ref().map(|field| field.name));
    fields.by_ref().for_each(drop);
    let cut_line = bytes.len() > WINDOW && !bytes[fields.position..WINDOW].contains(&b'\n');
    of_mail && (cut_line || fields.ended_well())
}

/// Whether the names include at least two different fields typical of mail.
pub(crate) fn are_of_mail<'a>(names: impl Iterator<Item = &'a str>) -> bool {
    let mut seen = None;
    let mut numbers = names.filter_map(|name| OF_MAIL.iter().position(|it| name.eq_ignore_ascii_case(it)));
    numbers.any(|number| seen.replace(number).is_some_and(|before| before != number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mail_and_other_files() {
        for (bytes, expected) in [
            ("From: a\nTo: b\n\nbody", true),
            ("From a@b Fri Aug 23 2002\nFrom: a\nTo: b\n\nbody", true),
            ("Received: a\n\tb\r\nDate: c\r\n\r\n", true),
            ("MESSAGE-ID: a\nSender: b", true),
            ("", false),
            ("\nFrom: a\nTo: b\n\n", false),
            ("From: a\nFrom: b\n\n", false),
            ("From: a\nSubject: b\n\n", false),
            ("From: a\nTo: b\nno header line\n\n", false),
            ("From the desk of a writer\n\nDear all", false),
            ("{\"from\": 1, \"to\": 2}", false),
        ] {
            assert_eq!(looks_like_mail(bytes.as_bytes()), expected, "{bytes:?}");
        }
    }

    #[test]
    fn only_the_beginning_is_looked_at() {
        let mut long = "From: a\nTo: b\n".to_owned();
        long += &"X-Filler: 123456789\n".repeat(10_000);
        assert!(looks_like_mail(long.as_bytes()));
        assert!(!looks_like_mail(format!("{}From: a\nTo: b\n\n", "X: y\n".repeat(20_000)).as_bytes()));
    }
}
