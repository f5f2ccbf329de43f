//! Header fields that are ignored.
//!
//! Other filters, delivery agents and mailboxes add fields to mail after it was sent. Learning them would poison a
//! filter: `Status` in a ham mailbox would make every mail that was read look like ham. They are removed before the
//! names, order and counts of fields are taken.

/// Ignored names, in lower case.
const NAMES: &[&str] = &[
    "arc-authentication-results",
    "arc-message-signature",
    "arc-seal",
    "authentication-results",
    "content-length",
    "delivered-to",
    "delivery-date",
    "envelope-to",
    "lines",
    "old-return-path",
    "original-recipient",
    "received-spf",
    "status",
    "xref",
];

/// Ignored names that begin with `x-`, in lower case.
const X_NAMES: &[&str] = &[
    "x-account-key",
    "x-apparently-to",
    "x-authentication-results",
    "x-delivered-to",
    "x-delivery-date",
    "x-envelope-from",
    "x-envelope-to",
    "x-eopattributedmessage",
    "x-eoptenantattributedmessage",
    "x-fetched-by",
    "x-folder",
    "x-from-line",
    "x-imap",
    "x-imapbase",
    "x-keywords",
    "x-label",
    "x-original-to",
    "x-pstn-levels",
    "x-pstn-settings",
    "x-pstn-status",
    "x-proofpoint-spam-details",
    "x-rcpt-to",
    "x-received",
    "x-resolved-to",
    "x-status",
    "x-uid",
    "x-uidl",
];

/// Prefixes of ignored names, in lower case; all begin with `x-`.
const X_PREFIXES: &[&str] = &[
    "x-amavis",
    "x-antispam",
    "x-barracuda-",
    "x-bogosity",
    "x-crm114",
    "x-dovecot",
    "x-dspam",
    "x-evolution",
    "x-fetchmail",
    "x-forefront-",
    "x-getmail",
    "x-gm-",
    "x-gmail-",
    "x-gnus-",
    "x-google-smtp-source",
    "x-ironport-a",
    "x-kmail-",
    "x-mailscanner",
    "x-microsoft-antispam",
    "x-mozilla-",
    "x-ms-exchange-",
    "x-ms-office365-filtering",
    "x-ms-publictraffictype",
    "x-ms-traffictypediagnostic",
    "x-popfile",
    "x-razor",
    "x-rspamd",
    "x-sieve",
    "x-spam",
    "x-tamis",
    "x-virus",
];

/// Whether header fields of this name are ignored. Case does not matter.
///
/// ```
/// use tamis_mail::ignored::is_ignored;
///
/// assert!(is_ignored("X-UIDL") && is_ignored("x-spam-status"));
/// assert!(is_ignored("Authentication-Results") && !is_ignored("Received"));
/// ```
pub fn is_ignored(name: &str) -> bool {
    let is_one_of = |names: &[&str]| names.iter().any(|ignored| name.eq_ignore_ascii_case(ignored));
    if !begins_with(name, "x-") {
        return is_one_of(NAMES);
    }
    // comparing one more letter rules out most names
    let third = name.as_bytes().get(2).map(u8::to_ascii_lowercase);
    let may_begin_with = |prefix: &&&str| prefix.as_bytes().get(2).copied() == third;
    is_one_of(X_NAMES) || X_PREFIXES.iter().filter(may_begin_with).any(|prefix| begins_with(name, prefix))
}

/// Names of fields that mail programs take for a verdict, in lower case: ours, SpamAssassin's and bogofilter's.
const VERDICTS: [&str; 8] = [
    "x-tamis",
    "x-tamis-reasons",
    "x-tamis-label",
    "x-spam-flag",
    "x-spam-status",
    "x-spam-level",
    "x-spam-score",
    "x-bogosity",
];

/// Whether fields of this name hold a verdict. Those that arrive with a message are forged or old. Case does not matter.
pub(crate) fn is_verdict(name: &str) -> bool {
    matches!(name.as_bytes().first(), Some(b'x' | b'X'))
        && VERDICTS.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Whether a name matches one of the patterns, where a final `*` stands for any ending. Case does not matter.
pub(crate) fn matches_any(name: &str, patterns: &[String]) -> bool {
    patterns.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(prefix) => begins_with(name, prefix),
        None => name.eq_ignore_ascii_case(pattern),
    })
}

pub(crate) fn begins_with(name: &str, prefix: &str) -> bool {
    let start = name.as_bytes().get(..prefix.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let patterns = ["X-Ours", "x-gate-*"].map(str::to_owned);
        for name in ["x-ours", "X-GATE-1", "x-gate-"] {
            assert!(matches_any(name, &patterns), "{name}");
        }
        for name in ["", "x-ours2", "x-gate", "Subject"] {
            assert!(!matches_any(name, &patterns), "{name}");
        }
        assert!(matches_any("any", &["*".to_owned()]) && !matches_any("any", &[]));
    }

    #[test]
    fn names_and_prefixes() {
        assert!(X_NAMES.iter().chain(X_PREFIXES).all(|name| name.starts_with("x-") && is_ignored(name)));
        assert!(NAMES.iter().all(|name| !name.starts_with("x-") && is_ignored(name)));
        for name in ["Status", "LINES", "X-SpamProbe", "X-Spamd-Bar", "x-mozilla-status2", "X-Bogosity"] {
            assert!(is_ignored(name), "{name}");
        }
        for name in ["", "X", "Stat", "Status-Code", "Subject", "X-Mailer", "X-Priority", "List-Id"] {
            assert!(!is_ignored(name), "{name}");
        }
    }
}
