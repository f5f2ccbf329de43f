//! Verdicts written into messages.
use crate::fields::{Field, Fields, line_end};

/// A verdict to write into a message.
///
/// ```
/// use tamis_mail::passthrough::{Verdict, annotate};
///
/// let verdict = Verdict {
///     label: "spam",
///     is_spam: true,
///     unsure: false,
///     probability: 0.99870,
///     log_odds: 6.64,
///     threshold: 2.2,
///     version: "0.1.0",
/// };
/// let mail = annotate(b"Subject: Offer\n\nBuy now\n", &verdict, false);
/// assert_eq!(
///     String::from_utf8_lossy(&mail),
///     "Subject: Offer\n\
///      X-Spam-Flag: YES\n\
///      X-Spam-Status: Yes, score=6.64 required=2.20 tests=TAMIS version=0.1.0\n\
///      X-Tamis: spam; probability=0.9987; log-odds=+6.64; version=0.1.0\n\
///      \n\
///      Buy now\n"
/// );
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Verdict<'a> {
    /// The class found.
    pub label: &'a str,
    /// Whether that class is spam.
    pub is_spam: bool,
    /// Whether the verdict is neither; it then counts as not spam, and the label shown is `unsure`.
    pub unsure: bool,
    /// The probability of the class, from 0 to 1.
    pub probability: f64,
    /// The log-odds, in nats.
    pub log_odds: f64,
    /// The log-odds from which a message is spam, in nats.
    pub threshold: f64,
    /// The version of the program.
    pub version: &'a str,
}

/// The message with three fields added at the end of its header block.
///
/// `X-Spam-Flag`, `X-Spam-Status` and `X-Tamis` are added with the line end of the first line that stays,
/// after removing fields of these names that came with it; with `keep_headers`, only `X-Tamis` is removed.
/// No other byte changes, with one exception: a message without header block whose first line is indented
/// gets an empty line in front, or that line would become part of the last field.
pub fn annotate(raw: &[u8], verdict: &Verdict<'_>, keep_headers: bool) -> Vec<u8> {
    let Head { mut bytes, rest } = head(raw, verdict, keep_headers);
    bytes.extend_from_slice(&raw[rest..]);
    bytes
}

/// How an annotated message begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Head {
    /// What the message begins with: its header block and what was added.
    pub bytes: Vec<u8>,
    /// Where in the message goes on what follows these bytes, unchanged to its end.
    pub rest: usize,
}

/// What [`annotate`] changes of a message, which may be given in part: as far as [`has_whole_header`] says is enough.
///
/// ```
/// use tamis_mail::passthrough::{Verdict, annotate, has_whole_header, head};
///
/// let verdict = Verdict {
///     label: "ham",
///     is_spam: false,
///     unsure: false,
///     probability: 0.9,
///     log_odds: -2.2,
///     threshold: 0.4,
///     version: "0.1.0",
/// };
/// let mail = b"Subject: Soup\n\nAt noon?\n";
/// let part = &mail[..17];
/// assert!(has_whole_header(part) && !has_whole_header(&mail[..14]));
/// let head = head(part, &verdict, false);
/// assert_eq!([&head.bytes, &mail[head.rest..]].concat(), annotate(mail, &verdict, false));
/// ```
pub fn head(raw: &[u8], verdict: &Verdict<'_>, keep_headers: bool) -> Head {
    let mut out = Vec::with_capacity(4096);
    let mut fields = Fields::new(raw);
    let mut copied = 0;
    for field in fields.by_ref() {
        if is_replaced(&field, keep_headers) {
            out.extend_from_slice(&raw[copied..field.range.start]);
            copied = field.range.end;
        }
    }
    let rest = fields.position;
    out.extend_from_slice(&raw[copied..rest]);
    let first_kept = [&out, &raw[rest..], raw].into_iter().find(|bytes| !bytes.is_empty());
    let line_break = line_break(first_kept.unwrap_or_default());

    // A header block whose last line was not ended is not ended afterwards either.
    let unended = rest == raw.len() && !raw.ends_with(b"\n") && !out.is_empty();
    if unended && !out.ends_with(b"\n") {
        out.extend_from_slice(line_break);
    }
    let lines = lines(verdict).map(String::into_bytes);
    out.extend_from_slice(&lines.join(line_break));
    if !unended {
        out.extend_from_slice(line_break);
    }
    if matches!(raw.get(rest), Some(b' ' | b'\t')) {
        out.extend_from_slice(line_break);
    }
    Head { bytes: out, rest }
}

/// Whether the beginning of a message has all of its header block: an empty line ends it.
pub fn has_whole_header(start: &[u8]) -> bool {
    let is_end = |rest: &[u8]| rest.starts_with(b"\n") || rest.starts_with(b"\r\n");
    is_end(start) || memchr::memchr_iter(b'\n', start).any(|at| is_end(&start[at + 1..]))
}

/// The line end of the first line. A lone carriage return that ends the message is half of one.
fn line_break(raw: &[u8]) -> &'static [u8] {
    let line = &raw[..line_end(raw, 0)];
    if line.strip_suffix(b"\n").unwrap_or(line).ends_with(b"\r") { b"\r\n" } else { b"\n" }
}

fn is_replaced(field: &Field<'_>, keep_headers: bool) -> bool {
    field.is("x-tamis") || !keep_headers && (field.is("x-spam-flag") || field.is("x-spam-status"))
}

fn lines(verdict: &Verdict<'_>) -> [String; 3] {
    let spam = verdict.is_spam && !verdict.unsure;
    let label = if verdict.unsure { "unsure".to_owned() } else { harmless(verdict.label) };
    let (log_odds, version) = (verdict.log_odds, harmless(verdict.version));
    [
        format!("X-Spam-Flag: {}", if spam { "YES" } else { "NO" }),
        format!(
            "X-Spam-Status: {}, score={log_odds:.2} required={:.2} tests=TAMIS version={version}",
            if spam { "Yes" } else { "No" },
            verdict.threshold,
        ),
        format!(
            "X-Tamis: {label}; probability={:.4}; log-odds={log_odds:+.2}; version={version}",
            verdict.probability
        ),
    ]
}

/// A word that can neither end the line nor be taken for another part of it, short enough for a line.
fn harmless(word: &str) -> String {
    word.chars().take(100).map(|c| if c.is_control() || c == ';' { '_' } else { c }).collect()
}
