//! Passthrough: writes verdicts into messages as header fields.

use crate::message::fields::{HeaderFields, copy_without, is_empty_line, line_end, verdicts_in};
use crate::message::ignored::is_verdict;

/// A verdict to write into a message.
///
/// ```
/// use tamis_mail::passthrough::{SpamStatus, Verdict, annotate};
///
/// let verdict = Verdict {
///     label: "spam",
///     unsure: false,
///     probability: 0.99870,
///     log_odds: 6.64,
///     spam: Some(SpamStatus { is_spam: true, score: 6.64, threshold: 2.2 }),
///     truncated: false,
///     doubt: "",
///     reasons: "",
///     version: "0.1.0",
/// };
/// let mail = annotate(b"Subject: Offer\n\nBuy now\n", &verdict, false);
/// assert_eq!(
///     String::from_utf8_lossy(&mail),
///     "Subject: Offer\n\
///      X-Spam-Flag: YES\n\
///      X-Spam-Status: Yes, score=6.64 required=2.20 tests=TAMIS version=0.1.0\n\
///      X-Spam-Level: ******\n\
///      X-Tamis: spam; probability=0.9987; log-odds=+6.64; version=0.1.0\n\
///      \n\
///      Buy now\n"
/// );
/// ```
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Verdict<'a> {
    /// The label of the class.
    pub label: &'a str,
    /// Whether the verdict is unsure; the label shown is then `unsure`.
    pub unsure: bool,
    /// The probability of the class, from 0 to 1.
    pub probability: f64,
    /// The log-odds, in nats.
    pub log_odds: f64,
    /// For `X-Spam-Flag`, `X-Spam-Status` and `X-Spam-Level`. `None`, for filters in which no class is spam, leaves
    /// these fields out.
    pub spam: Option<SpamStatus>,
    /// Whether only a part of the message was read. `X-Tamis` then says so.
    pub truncated: bool,
    /// Why the filter is unsure whatever the probability; empty if that is not so. `X-Tamis` then says so.
    pub doubt: &'a str,
    /// The strongest reasons, for `X-Tamis-Reasons`; the field is left out if this is empty.
    pub reasons: &'a str,
    /// The version of the program.
    pub version: &'a str,
}

/// The spam verdict for other programs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SpamStatus {
    /// Whether the verdict is spam.
    pub is_spam: bool,
    /// The log-odds of spam, in nats.
    pub score: f64,
    /// The log-odds above which a message is spam, in nats.
    pub threshold: f64,
}

/// Returns the message with up to five fields added at the end of its header block.
///
/// Adds `X-Spam-Flag`, `X-Spam-Status`, `X-Spam-Level` (an asterisk for each whole nat of the score, 50 at most),
/// `X-Tamis` and, if asked for, `X-Tamis-Reasons`, with the line end of the first remaining line. First removes fields of
/// these names, `X-Spam-Score`, `X-Bogosity` and `X-Tamis-Label` that came with the message; with `keep_headers`, only
/// `X-Tamis`, `X-Tamis-Reasons` and `X-Tamis-Label`. They are removed up to the first empty line, because other programs
/// read on after a line that is not a field, and also after a lone carriage return. No other byte changes, with one
/// exception: a message without a header block whose first line is indented gets an empty line in front, or that line
/// would become part of the last field. If a header follows that line, the fields are added after it.
pub fn annotate(raw: &[u8], verdict: &Verdict<'_>, keep_headers: bool) -> Vec<u8> {
    let Head { mut bytes, rest } = head(raw, verdict, keep_headers);
    bytes.extend_from_slice(&raw[rest..]);
    bytes
}

/// The beginning of an annotated message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Head {
    /// The header block with the added fields.
    pub bytes: Vec<u8>,
    /// Where in the message the unchanged rest begins.
    pub rest: usize,
}

/// Returns the part of a message that [`annotate`] changes. The beginning of a message is enough if
/// [`has_whole_header`] is true of it.
///
/// ```
/// use tamis_mail::passthrough::{Verdict, annotate, has_whole_header, head};
///
/// let verdict = Verdict {
///     label: "ham",
///     unsure: false,
///     probability: 0.9,
///     log_odds: -2.2,
///     spam: None,
///     truncated: false,
///     doubt: "",
///     reasons: "",
///     version: "0.1.0",
/// };
/// let mail = b"Subject: Soup\n\nAt noon?\n";
/// let part = &mail[..17];
/// assert!(has_whole_header(part) && !has_whole_header(&mail[..14]));
/// let head = head(part, &verdict, false);
/// assert_eq!([&head.bytes, &mail[head.rest..]].concat(), annotate(mail, &verdict, false));
/// ```
pub fn head(raw: &[u8], verdict: &Verdict<'_>, keep_headers: bool) -> Head {
    head_with(raw, &fields(verdict), keep_headers)
}

/// As [`head`], with these fields (names and values) in place of a verdict's. The values must have no line ends, as those
/// of [`fields`] and [`label_field`].
///
/// ```
/// use tamis_mail::passthrough::{head_with, label_field};
///
/// let mail = b"Subject: Soup\nX-Tamis-Label: forged\n\nAt noon?\n";
/// let head = head_with(mail, &[label_field("lunch")], false);
/// assert_eq!(String::from_utf8_lossy(&head.bytes), "Subject: Soup\nX-Tamis-Label: lunch\n");
/// ```
pub fn head_with(raw: &[u8], added: &[(&str, String)], keep_headers: bool) -> Head {
    let mut out = Vec::with_capacity(4096);
    let mut fields = HeaderFields::new(raw);
    fields.by_ref().for_each(drop);
    let mut block = fields.position;
    if is_indented(raw, block) {
        // readers that pass over the line read the added fields after it
        let mut fields = HeaderFields::lenient(raw);
        fields.next();
        block = fields.position;
    }
    let is_replaced = |name: &str| is_verdict(name) && (!keep_headers || is_own(name));
    let replaced = verdicts_in(raw, 0, is_replaced);
    let (inside, behind) = replaced.split_at(replaced.partition_point(|range| range.start < block));
    copy_without(inside, raw, 0..block, &mut out);
    let last = behind.last().map(|range| range.end);
    let rest = last.map_or(block, |end| if raw[..end].ends_with(b"\n") { end } else { line_end(raw, end) });
    let mut more = Vec::new();
    copy_without(behind, raw, block..rest, &mut more);
    let first_kept = [&out, &more, &raw[rest..], raw].into_iter().find(|bytes| !bytes.is_empty());
    let line_break = line_break(first_kept.unwrap_or_default());

    if !added.is_empty() {
        // an unterminated last header line stays unterminated
        let unended = block == raw.len() && !raw.ends_with(b"\n") && !out.is_empty();
        if unended && !out.ends_with(b"\n") {
            out.extend_from_slice(line_break);
        }
        out.extend_from_slice(&lines(added).join(line_break));
        if !unended {
            out.extend_from_slice(line_break);
        }
        if is_indented(raw, block) {
            out.extend_from_slice(line_break);
        }
    }
    out.append(&mut more);
    Head { bytes: out, rest }
}

/// Whether the line at `start` would become part of a field before it.
fn is_indented(raw: &[u8], start: usize) -> bool {
    matches!(raw.get(start), Some(b' ' | b'\t'))
}

/// Whether the beginning of a message includes its whole header block, up to an empty line.
pub fn has_whole_header(start: &[u8]) -> bool {
    is_empty_line(start) || memchr::memchr_iter(b'\n', start).any(|at| is_empty_line(&start[at + 1..]))
}

/// The line end of the first line. A lone carriage return at the end of the message counts as half of a CRLF.
fn line_break(raw: &[u8]) -> &'static [u8] {
    let line = &raw[..line_end(raw, 0)];
    if line.strip_suffix(b"\n").unwrap_or(line).ends_with(b"\r") { b"\r\n" } else { b"\n" }
}

fn lines(fields: &[(&str, String)]) -> Vec<Vec<u8>> {
    let line = |(name, value): &(&str, String)| match value.is_empty() {
        true => format!("{name}:").into_bytes(),
        false => format!("{name}: {value}").into_bytes(),
    };
    fields.iter().map(line).collect()
}

/// The header fields of a verdict, as names and values. Values have no line ends; that of `X-Spam-Level` may be empty.
///
/// ```
/// use tamis_mail::passthrough::{Verdict, fields};
///
/// let verdict = Verdict {
///     label: "ham",
///     unsure: false,
///     probability: 0.1,
///     log_odds: -2.2,
///     spam: None,
///     truncated: false,
///     doubt: "",
///     reasons: "soup -1.20, noon -0.70",
///     version: "0.1.0",
/// };
/// let fields = fields(&verdict);
/// assert_eq!(fields[0], ("X-Tamis", "ham; probability=0.1000; log-odds=-2.20; version=0.1.0".to_owned()));
/// assert_eq!(fields[1], ("X-Tamis-Reasons", "soup -1.20, noon -0.70".to_owned()));
/// ```
pub fn fields(verdict: &Verdict<'_>) -> Vec<(&'static str, String)> {
    let label = if verdict.unsure { "unsure".to_owned() } else { harmless(verdict.label, 100) };
    let version = harmless(verdict.version, 100);
    let mut fields = Vec::with_capacity(5);
    if let Some(SpamStatus { is_spam, score, threshold }) = verdict.spam {
        let (flag, status) = if is_spam { ("YES", "Yes") } else { ("NO", "No") };
        let status =
            format!("{status}, score={score:.2} required={threshold:.2} tests=TAMIS version={version}");
        fields.push(("X-Spam-Flag", flag.to_owned()));
        fields.push(("X-Spam-Status", status));
        fields.push(("X-Spam-Level", level(score)));
    }
    let truncated = if verdict.truncated { "truncated; " } else { "" };
    let doubt = if verdict.doubt.is_empty() { String::new() } else { format!("doubt={}; ", verdict.doubt) };
    let Verdict { probability, log_odds, reasons, .. } = *verdict;
    let tamis = format!(
        "{label}; probability={probability:.4}; log-odds={log_odds:+.2}; {truncated}{doubt}version={version}"
    );
    fields.push(("X-Tamis", tamis));
    if !reasons.is_empty() {
        fields.push(("X-Tamis-Reasons", harmless(reasons, 900)));
    }
    fields
}

/// The field `X-Tamis-Label`, whose whole value is a label, for programs that file by label. Its first 200 characters are
/// written, with `_` in place of control characters.
pub fn label_field(label: &str) -> (&'static str, String) {
    let safe = |c: char| if c.is_control() { '_' } else { c };
    ("X-Tamis-Label", label.chars().take(200).map(safe).collect())
}

/// Whether fields of this name hold a verdict, ours or another filter's: those in arriving mail are forged or old. Case
/// does not matter.
pub fn holds_verdict(name: &str) -> bool {
    is_verdict(name)
}

/// Whether fields of this name are written by tamis alone. Case does not matter.
pub fn is_own(name: &str) -> bool {
    ["x-tamis", "x-tamis-reasons", "x-tamis-label"].iter().any(|own| name.eq_ignore_ascii_case(own))
}

/// Maximum number of asterisks in a level, as in SpamAssassin.
const HIGHEST_LEVEL: f64 = 50.0;

/// An asterisk for each whole nat of a score.
fn level(score: f64) -> String {
    // NaN counts as 0
    "*".repeat(score.clamp(0.0, HIGHEST_LEVEL) as usize)
}

/// Makes a word safe for a header line: it cannot end the line or be read as another part of it, and it is short
/// enough.
fn harmless(word: &str, longest: usize) -> String {
    word.chars().take(longest).map(|c| if c.is_control() || c == ';' { '_' } else { c }).collect()
}
