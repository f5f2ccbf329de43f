//! Terms of the structure: MIME parts, names and order of header fields, the form of the subject.
use super::emitter::Emitter;
use super::route::MOST_HOPS;
use super::scan::cut;
use crate::message::Message;
use crate::message::ignored::begins_with;
use crate::message::parameters::MimeParameters;
use crate::message::part::{ContentDigest, Part};
use memchr::memchr2_iter;
use std::{iter, mem};

/// More parts than this make no difference.
const MANY_PARTS: usize = 8;
/// Maximum number of header fields read.
const MOST_NAMES: usize = 500;

pub(super) fn terms(message: &Message, out: &mut Emitter<'_>) {
    message.parts().iter().for_each(|part| self::part(part, out));
    out.number("parts:", message.parts().len().min(MANY_PARTS));
    if let Some(value) = message.header("content-type") {
        content_type(value, out);
    }
    let mut hops = 0;
    let names = message.headers().map(|header| header.name).filter(|name| {
        let is_hop = name.eq_ignore_ascii_case("received");
        hops += usize::from(is_hop);
        if is_hop { hops <= MOST_HOPS } else { !is_free(name) }
    });
    header_names(names.take(MOST_NAMES), out);
}

/// Whether the name of a field is no evidence: any sender can copy the field from other mail, and it tells little of real
/// mail that the rest does not.
fn is_free(name: &str) -> bool {
    begins_with(name, "x-") || SIGNATURES.iter().any(|signature| name.eq_ignore_ascii_case(signature))
}

/// Fields that sign a message. Nobody checks them here, so they may be copied from another one.
const SIGNATURES: [&str; 2] = ["dkim-signature", "domainkey-signature"];

/// Emits terms of a part: type, charset, transfer encoding and file extension; of a `data:` URI also its size, in
/// powers of two, and its digest.
fn part(part: &Part, out: &mut Emitter<'_>) {
    out.lower(&["ct:", &part.content_type]);
    out.lower(&[["ct0:", "ct1:", "ct2:", "ct3:"][part.depth.min(3)], &part.content_type]);
    // containers need not declare these, so their absence says nothing
    let unsaid = (!part.content_type.starts_with("multipart/")).then_some("none");
    if let Some(charset) = part.charset.as_deref().or(unsaid) {
        out.lower(&["cs:", charset]);
    }
    if let Some(encoding) = part.transfer_encoding.as_deref().or(unsaid) {
        out.lower(&["cte:", encoding]);
    }
    if let Some(name) = &part.file_name {
        let extension = name.rsplit_once('.').map_or(name.as_str(), |(_, extension)| extension);
        out.lower(&["fext:", cut(extension, 8)]);
    }
    if let Some(content) = part.content.filter(|_| part.unread.is_none()) {
        out.number("csize:", content.size.ilog2() as usize);
        self::content(content, out);
    }
}

/// Emits the digest of a content that is not read.
pub(super) fn content(content: ContentDigest, out: &mut Emitter<'_>) {
    out.term(&["chash:", &format!("{:016x}", content.hash)]);
}

/// Emits the shapes of the boundary and of the content type as written.
fn content_type(value: &str, out: &mut Emitter<'_>) {
    if mentions_boundary(value)
        && let Some(boundary) = MimeParameters::read(value).get("boundary")
    {
        out.shape("bnd:", &boundary);
    }
    out.shape("ctraw:", value.split(';').next().unwrap_or_default());
}

/// Whether a value may have a boundary parameter; a quick test, since most have none. Case does not matter.
fn mentions_boundary(value: &str) -> bool {
    memchr2_iter(b'b', b'B', value.as_bytes()).any(|at| begins_with(&value[at..], "boundary"))
}

/// Emits terms of the header fields: names, sequence, and unusual case.
fn header_names<'m>(names: impl Iterator<Item = &'m str>, out: &mut Emitter<'_>) {
    let (mut text, mut spans) = (String::with_capacity(500), Vec::with_capacity(50));
    for name in names {
        spans.push([text.len(), text.len() + name.len()]);
        text.push_str(name);
    }
    let lower = text.to_ascii_lowercase();
    let name = |[start, end]: [usize; 2]| &lower[start..end];
    let mut sorted: Vec<_> = spans.iter().map(|span| (first_eight(name(*span)), name(*span))).collect();
    sorted.sort_unstable();
    sorted.dedup();
    sorted.iter().for_each(|(_, name)| out.term(&["hn:", name]));
    for pair in spans.windows(2) {
        out.term(&["hseq:", name(pair[0]), ">", name(pair[1])]);
    }
    for &[start, end] in &spans {
        if STANDARD.contains(&name([start, end])) && !is_capitalised(&text[start..end]) {
            out.term(&["hcase:", &text[start..end]]);
        }
    }
}

/// The first eight bytes of a name as a number, for sorting.
fn first_eight(name: &str) -> u64 {
    let eight = || name.bytes().chain(iter::repeat(0)).take(8);
    let first = name.as_bytes().first_chunk().map(|first| u64::from_be_bytes(*first));
    first.unwrap_or_else(|| eight().fold(0, |number, byte| number << 8 | u64::from(byte)))
}

/// Fields that nearly all mail has, so that their case reveals the program that wrote them.
const STANDARD: [&str; 10] = [
    "from",
    "to",
    "cc",
    "subject",
    "date",
    "received",
    "message-id",
    "content-type",
    "content-transfer-encoding",
    "mime-version",
];

/// Whether every word of the name is capitalised: its first letter and no other.
fn is_capitalised(name: &str) -> bool {
    let mut last = b'-';
    name.bytes().all(|c| match mem::replace(&mut last, c) {
        b'-' => !c.is_ascii_lowercase(),
        _ => !c.is_ascii_uppercase(),
    })
}

/// Emits whether the subject is all capitals, and whether it has a trailing token after a gap (which makes each copy
/// differ), an exclamation mark, or `Re:` in front.
pub(super) fn subject(subject: &str, out: &mut Emitter<'_>) {
    if subject.is_empty() {
        return;
    }
    let is_capitals = subject.contains(char::is_uppercase) && !subject.contains(char::is_lowercase);
    out.term(&[if is_capitals { "subj:caps" } else { "subj:nocaps" }]);
    if has_trail(subject) {
        out.term(&["subj:trail"]);
    }
    if subject.contains('!') {
        out.term(&["subj:excl"]);
    }
    if begins_with(subject, "re:") {
        out.term(&["subj:re"]);
    }
}

/// Whether the last word follows four or more white-space characters.
fn has_trail(subject: &str) -> bool {
    let before = subject.trim_end_matches(|c: char| !c.is_whitespace());
    before.chars().rev().take_while(|c| c.is_whitespace()).take(4).count() == 4
        && before.len() < subject.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::emitter::testing::{message, terms};

    #[test]
    fn parts() {
        let raw = "Content-Type: Multipart/Mixed; boundary=\"--=_Next 12\"\n\n----=_Next 12\n\
                   Content-Type: text/HTML; charset=\"UTF-8\"\nContent-Transfer-Encoding: BASE64\n\n\n\
                   ----=_Next 12\nContent-Disposition: attachment; filename=Doc.PDF.executable\n\n\n";
        assert_eq!(
            terms(|out| super::terms(&message(raw), out)),
            [
                "ct:multipart/mixed",
                "ct0:multipart/mixed",
                "ct:text/html",
                "ct1:text/html",
                "cs:utf-8",
                "cte:base64",
                "ct:text/plain",
                "ct1:text/plain",
                "cs:none",
                "cte:none",
                "fext:executab",
                "parts:3",
                "bnd:--=_Aa 0",
                "ctraw:Aa/Aa",
                "hn:content-type",
            ]
        );
        assert_eq!(
            terms(|out| super::terms(&message(""), out)),
            ["ct:text/plain", "ct0:text/plain", "cs:none", "cte:none", "parts:1"]
        );
    }

    #[test]
    fn names_and_their_order() {
        let check = |names: &[&str], expected: &[&str]| {
            assert_eq!(terms(|out| header_names(names.iter().copied(), out)), expected, "{names:?}");
        };
        check(&[], &[]);
        check(
            &["Received", "received", "X-Mailer", "MIME-Version"],
            &[
                "hn:mime-version",
                "hn:received",
                "hn:x-mailer",
                "hseq:received>received",
                "hseq:received>x-mailer",
                "hseq:x-mailer>mime-version",
                "hcase:received",
                "hcase:MIME-Version",
            ],
        );
    }

    #[test]
    fn names_that_any_sender_copies() {
        let raw =
            "Received: a\nRECEIVED: b\nreceived: c\nTo: d\nX-Mailer: e\nDKIM-Signature: f\nx-: g\nX: h\n";
        assert_eq!(
            terms(|out| super::terms(&message(raw), out))[5..],
            [
                "hn:received",
                "hn:to",
                "hn:x",
                "hseq:received>received",
                "hseq:received>to",
                "hseq:to>x",
                "hcase:RECEIVED"
            ]
        );
    }

    #[test]
    fn capitals() {
        for name in ["From", "Message-Id", "X-", "-", "A--B"] {
            assert!(is_capitalised(name), "{name}");
        }
        for name in ["from", "FROM", "Message-ID", "Mime-version"] {
            assert!(!is_capitalised(name), "{name}");
        }
    }

    #[test]
    fn numbers_are_bounded() {
        let names: Vec<_> = (0..1_000).map(|i| format!("A{i}: {}", "x".repeat(300))).collect();
        assert_eq!(terms(|out| super::terms(&message(&names.join("\n")), out)).len(), 5 + 500 + 499);
        for value in [";".repeat(1_000_000), "\"".repeat(1_000_000), "x".repeat(1_000_000)] {
            terms(|out| content_type(&value, out));
        }
    }

    #[test]
    fn subjects() {
        for (subject, expected) in [
            ("", &[][..]),
            ("Offer", &["subj:nocaps"]),
            ("FREE 4 YOU!", &["subj:caps", "subj:excl"]),
            ("123", &["subj:nocaps"]),
            ("Re: you", &["subj:nocaps", "subj:re"]),
            ("RE: ÄÖ", &["subj:caps", "subj:re"]),
            ("re\u{e9}", &["subj:nocaps"]),
            ("Buy    xk12", &["subj:nocaps", "subj:trail"]),
            ("Buy   xk12", &["subj:nocaps"]),
            ("Buy    ", &["subj:nocaps"]),
        ] {
            assert_eq!(terms(|out| super::subject(subject, out)), expected, "{subject:?}");
        }
        for unit in [" ", "x", " x", "!"] {
            terms(|out| subject(&unit.repeat(1_000_000), out));
        }
    }
}
