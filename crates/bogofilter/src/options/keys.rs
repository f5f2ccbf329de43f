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
    NoHeaderTags,
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

/// Looks up an option by its letter.
pub(crate) fn by_letter(letter: u8) -> Option<Known> {
    use Key::*;
    Some(match letter {
        b'b' => (BulkInput, false),
        b'B' => (BulkArguments, false),
        b'c' => (ConfigFile, true),
        b'C' => (NoConfigFile, false),
        b'd' => (Directory, true),
        b'D' => (DebugToOutput, false),
        b'e' => (ExitZero, false),
        b'h' => (Help, false),
        b'H' => (NoHeaderTags, false),
        b'I' => (InputFile, true),
        b'k' | b'X' => (Unheeded, true),
        b'l' => (Unheeded, false),
        b'L' => (LogTag, true),
        b'm' => (RobinsonParameters, true),
        b'M' => (Mbox, false),
        b'n' => (RegisterHam, false),
        b'N' => (UnregisterHam, false),
        b'o' => (Cutoffs, true),
        b'O' => (OutputFile, true),
        b'p' => (Passthrough, false),
        b'P' => (Invalid, false),
        b'q' => (Quiet, false),
        b'Q' => (Query, false),
        b'R' => (DataFrame, false),
        b's' => (RegisterSpam, false),
        b'S' => (UnregisterSpam, false),
        b't' => (Terse, false),
        b'T' => (FixedTerse, false),
        b'u' => (Update, false),
        b'U' => (ReportUnsure, false),
        b'v' => (Verbose, false),
        b'V' => (Version, false),
        b'x' => (DebugFlags, true),
        b'y' => (Date, true),
        _ => return None,
    })
}

/// The options by name.
const NAMES: [(&str, Known); 66] = {
    use Key::*;
    [
        ("config-file", (ConfigFile, true)),
        ("no-config-file", (NoConfigFile, false)),
        ("help", (Help, false)),
        ("input-file", (InputFile, true)),
        ("output-file", (OutputFile, true)),
        ("min-token-len", (Unheeded, true)),
        ("max-token-len", (Unheeded, true)),
        ("max-multi-token-len", (Unheeded, true)),
        ("multi-token-count", (Unheeded, true)),
        ("unicode", (Unicode, true)),
        ("version", (Version, false)),
        ("verbosity", (Verbose, false)),
        ("ham-true", (ExitZero, false)),
        ("token-count", (Unheeded, true)),
        ("token-count-min", (Unheeded, true)),
        ("token-count-max", (Unheeded, true)),
        ("block-on-subnets", (BlockOnSubnets, true)),
        ("charset-default", (CharsetDefault, true)),
        ("user-config-file", (UserConfigFile, true)),
        ("replace-nonascii-characters", (ReplaceNonAscii, true)),
        ("db-transaction", (Unheeded, true)),
        ("timestamp-date", (Date, true)),
        ("db-log-autoremove", (Unheeded, true)),
        ("db-txn-durable", (Unheeded, true)),
        ("classify-files", (BulkArguments, false)),
        ("syslog-tag", (LogTag, true)),
        ("classify-mbox", (Mbox, false)),
        ("unregister-nonspam", (UnregisterHam, false)),
        ("dataframe", (DataFrame, false)),
        ("unregister-spam", (UnregisterSpam, false)),
        ("fixed-terse-format", (FixedTerse, false)),
        ("report-unsure", (ReportUnsure, false)),
        ("classify-stdin", (BulkInput, false)),
        ("bogofilter-dir", (Directory, true)),
        ("nonspam-exits-zero", (ExitZero, false)),
        ("use-syslog", (Unheeded, false)),
        ("register-ham", (RegisterHam, false)),
        ("passthrough", (Passthrough, false)),
        ("register-spam", (RegisterSpam, false)),
        ("update-as-scored", (Update, false)),
        ("debug-flags", (DebugFlags, true)),
        ("debug-to-stdout", (DebugToOutput, false)),
        ("no-header-tags", (NoHeaderTags, false)),
        ("query", (Query, false)),
        ("db-cachesize", (Unheeded, true)),
        ("ns-esf", (HamEsf, true)),
        ("sp-esf", (SpamEsf, true)),
        ("ham-cutoff", (HamCutoff, true)),
        ("header-format", (HeaderFormat, true)),
        ("log-header-format", (LogHeaderFormat, true)),
        ("log-update-format", (LogUpdateFormat, true)),
        ("min-dev", (MinDev, true)),
        ("robs", (Robs, true)),
        ("robx", (Robx, true)),
        ("spam-cutoff", (SpamCutoff, true)),
        ("spam-header-name", (SpamHeaderName, true)),
        ("spam-header-place", (SpamHeaderPlace, true)),
        ("spam-subject-tag", (SpamSubjectTag, true)),
        ("spamicity-formats", (SpamicityFormats, true)),
        ("spamicity-tags", (SpamicityTags, true)),
        ("stats-in-header", (StatsInHeader, true)),
        ("terse", (Terse, true)),
        ("terse-format", (TerseFormat, true)),
        ("thresh-update", (ThreshUpdate, true)),
        ("timestamp", (Timestamp, true)),
        ("unsure-subject-tag", (UnsureSubjectTag, true)),
    ]
};

/// Looks up the option meant by `--name`: the exact name, or the only name that begins with it.
pub(crate) fn by_name(name: &str) -> Option<Known> {
    let exact = || NAMES.iter().find(|(known, _)| *known == name);
    let mut begun = NAMES.iter().filter(|(known, _)| known.starts_with(name));
    match (exact(), begun.next(), begun.next()) {
        (Some((_, known)), ..) | (None, Some((_, known)), None) => Some(*known),
        _ => None,
    }
}

/// Looks up a key of a configuration file. Case does not matter, and `_` means `-`.
pub(crate) fn by_key(key: &str) -> Option<Key> {
    if key.eq_ignore_ascii_case("wordlist") {
        return Some(Key::Unheeded);
    }
    let key = key.to_ascii_lowercase().replace('_', "-");
    NAMES.iter().find(|(name, _)| *name == key).map(|(_, (key, _))| *key)
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
