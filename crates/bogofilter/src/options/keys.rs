//! bogofilter's options by letter and by name. The names are also the keys of its configuration files.

/// What an option sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Key {
    BlockOnSubnets,
    BulkArguments,
    BulkInput,
    CharsetDefault,
    ConfigFile,
    Cutoffs,
    DataFrame,
    Date,
    DebugFlags,
    DebugToOutput,
    Directory,
    ExitZero,
    FixedTerse,
    HamCutoff,
    HamEsf,
    HeaderFormat,
    Help,
    InputFile,
    Invalid,
    LogHeaderFormat,
    LogTag,
    LogUpdateFormat,
    Mbox,
    MinDev,
    NoConfigFile,
    OutputFile,
    Passthrough,
    Query,
    Quiet,
    RegisterHam,
    RegisterSpam,
    ReplaceNonAscii,
    ReportUnsure,
    RobinsonParameters,
    Robs,
    Robx,
    SpamCutoff,
    SpamEsf,
    SpamHeaderName,
    SpamHeaderPlace,
    SpamSubjectTag,
    SpamicityFormats,
    SpamicityTags,
    StatsInHeader,
    Terse,
    TerseFormat,
    ThreshUpdate,
    Timestamp,
    /// Accepted, but without effect here.
    Unheeded,
    Unicode,
    UnregisterHam,
    UnregisterSpam,
    UnsureSubjectTag,
    Update,
    UserConfigFile,
    Verbose,
    Version,
}

/// An option: what it sets, and whether it takes a value.
pub(crate) type Known = (Key, bool);

/// The options, each with its letter and its name. An option may have only one of them.
const OPTIONS: [(&str, &str, Known); 72] = {
    use Key::*;
    [
        ("c", "config-file", (ConfigFile, true)),
        ("C", "no-config-file", (NoConfigFile, false)),
        ("h", "help", (Help, false)),
        ("I", "input-file", (InputFile, true)),
        ("O", "output-file", (OutputFile, true)),
        ("", "min-token-len", (Unheeded, true)),
        ("", "max-token-len", (Unheeded, true)),
        ("", "max-multi-token-len", (Unheeded, true)),
        ("", "multi-token-count", (Unheeded, true)),
        ("", "unicode", (Unicode, true)),
        ("V", "version", (Version, false)),
        ("v", "verbosity", (Verbose, false)),
        ("e", "ham-true", (ExitZero, false)),
        ("", "token-count", (Unheeded, true)),
        ("", "token-count-min", (Unheeded, true)),
        ("", "token-count-max", (Unheeded, true)),
        ("", "block-on-subnets", (BlockOnSubnets, true)),
        ("", "charset-default", (CharsetDefault, true)),
        ("", "user-config-file", (UserConfigFile, true)),
        ("", "replace-nonascii-characters", (ReplaceNonAscii, true)),
        ("", "db-transaction", (Unheeded, true)),
        ("y", "timestamp-date", (Date, true)),
        ("", "db-log-autoremove", (Unheeded, true)),
        ("", "db-txn-durable", (Unheeded, true)),
        ("B", "classify-files", (BulkArguments, false)),
        ("L", "syslog-tag", (LogTag, true)),
        ("M", "classify-mbox", (Mbox, false)),
        ("N", "unregister-nonspam", (UnregisterHam, false)),
        ("R", "dataframe", (DataFrame, false)),
        ("S", "unregister-spam", (UnregisterSpam, false)),
        ("T", "fixed-terse-format", (FixedTerse, false)),
        ("U", "report-unsure", (ReportUnsure, false)),
        ("b", "classify-stdin", (BulkInput, false)),
        ("d", "bogofilter-dir", (Directory, true)),
        ("", "nonspam-exits-zero", (ExitZero, false)),
        ("l", "use-syslog", (Unheeded, false)),
        ("n", "register-ham", (RegisterHam, false)),
        ("p", "passthrough", (Passthrough, false)),
        ("s", "register-spam", (RegisterSpam, false)),
        ("u", "update-as-scored", (Update, false)),
        ("x", "debug-flags", (DebugFlags, true)),
        ("D", "debug-to-stdout", (DebugToOutput, false)),
        ("H", "no-header-tags", (Unheeded, false)),
        ("Q", "query", (Query, false)),
        ("k", "db-cachesize", (Unheeded, true)),
        ("", "ns-esf", (HamEsf, true)),
        ("", "sp-esf", (SpamEsf, true)),
        ("", "ham-cutoff", (HamCutoff, true)),
        ("", "header-format", (HeaderFormat, true)),
        ("", "log-header-format", (LogHeaderFormat, true)),
        ("", "log-update-format", (LogUpdateFormat, true)),
        ("", "min-dev", (MinDev, true)),
        ("", "robs", (Robs, true)),
        ("", "robx", (Robx, true)),
        ("", "spam-cutoff", (SpamCutoff, true)),
        ("", "spam-header-name", (SpamHeaderName, true)),
        ("", "spam-header-place", (SpamHeaderPlace, true)),
        ("", "spam-subject-tag", (SpamSubjectTag, true)),
        ("", "spamicity-formats", (SpamicityFormats, true)),
        ("", "spamicity-tags", (SpamicityTags, true)),
        ("", "stats-in-header", (StatsInHeader, true)),
        ("", "terse", (Terse, true)),
        ("", "terse-format", (TerseFormat, true)),
        ("", "thresh-update", (ThreshUpdate, true)),
        ("", "timestamp", (Timestamp, true)),
        ("", "unsure-subject-tag", (UnsureSubjectTag, true)),
        ("X", "", (Unheeded, true)),
        ("m", "", (RobinsonParameters, true)),
        ("o", "", (Cutoffs, true)),
        ("P", "", (Invalid, false)),
        ("q", "", (Quiet, false)),
        ("t", "", (Terse, false)),
    ]
};

/// The options that have a name.
fn named() -> impl Iterator<Item = (&'static str, Known)> {
    OPTIONS.iter().filter(|(_, name, _)| !name.is_empty()).map(|(_, name, known)| (*name, *known))
}

/// Looks up an option by its letter.
pub(crate) fn by_letter(letter: u8) -> Option<Known> {
    OPTIONS.iter().find(|(known, ..)| known.as_bytes() == [letter]).map(|(.., known)| *known)
}

/// Looks up the option meant by `--name`: the exact name, or the only name that begins with it.
pub(crate) fn by_name(name: &str) -> Option<Known> {
    let mut begun = named().filter(|(known, _)| known.starts_with(name));
    let exact = named().find(|(known, _)| *known == name);
    match (exact, begun.next(), begun.next()) {
        (Some((_, known)), ..) | (None, Some((_, known)), None) => Some(known),
        _ => None,
    }
}

/// Looks up a key of a configuration file. Case does not matter, and `_` means `-`.
pub(crate) fn by_key(key: &str) -> Option<Key> {
    if key.eq_ignore_ascii_case("wordlist") {
        return Some(Key::Unheeded);
    }
    let key = key.to_ascii_lowercase().replace('_', "-");
    named().find(|(name, _)| *name == key).map(|(_, (key, _))| key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_be_cut_short_as_long_as_they_are_one() {
        assert_eq!(by_name("spam-header-n"), Some((Key::SpamHeaderName, true)));
        assert_eq!(by_name("spam-header"), None, "two begin so");
        assert_eq!(by_name("terse"), Some((Key::Terse, true)), "a whole name, though another begins with it");
        assert_eq!(by_name("nope"), None);
        assert_eq!(by_key("Ham_Cutoff"), Some(Key::HamCutoff));
        assert_eq!(by_key("ham_cut"), None);
    }
}
