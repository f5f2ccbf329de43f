//! bogofilter's options: their letters, their names and what they set. The names are also the keys of its configuration
//! files.

use std::ffi::OsStr;
use std::path::PathBuf;

use anyhow::{Result, bail, ensure};
use tamis_program::say;
use tamis_train::options::RobinsonFisher;

use crate::options::settings::{BogofilterSettings, Bulk};

/// An option: its letter and its name, one of which may be empty.
pub(crate) struct BogofilterOption {
    letter: &'static str,
    pub(crate) name: &'static str,
    /// Whether it takes a value on the command line.
    pub(crate) takes_value: bool,
    effect: Effect,
}

/// A setting that an option sets.
type Setting<T> = fn(&mut BogofilterSettings) -> &mut T;

/// What an option does.
enum Effect {
    /// Nothing here: only the command line has it (`options/config.rs`).
    CommandLine,
    /// Nothing: it is about bogofilter's own words and files.
    Ignored,
    Flag(Setting<bool>),
    /// A flag on the command line, yes or no in a file.
    YesNo(Setting<bool>),
    /// A number. Text that is not a number leaves it unchanged.
    Number(Setting<f64>),
    Text(Setting<String>),
    Path(Setting<Option<PathBuf>>),
    Other(fn(&mut BogofilterSettings, &str)),
    Checked(fn(&mut BogofilterSettings, &str) -> Result<()>),
}

const fn row(
    letter: &'static str,
    name: &'static str,
    takes_value: bool,
    effect: Effect,
) -> BogofilterOption {
    BogofilterOption { letter, name, takes_value, effect }
}

static OPTIONS: [BogofilterOption; 72] = {
    use Effect::*;
    [
        row("c", "config-file", true, CommandLine),
        row("C", "no-config-file", false, CommandLine),
        row("h", "help", false, CommandLine),
        row("I", "input-file", true, Path(|s| &mut s.file)),
        row("O", "output-file", true, Path(|s| &mut s.output)),
        row("", "min-token-len", true, Ignored),
        row("", "max-token-len", true, Ignored),
        row("", "max-multi-token-len", true, Ignored),
        row("", "multi-token-count", true, Ignored),
        row("", "unicode", true, YesNo(|s| &mut s.unicode)),
        row("V", "version", false, CommandLine),
        row("v", "verbosity", false, CommandLine),
        row("e", "ham-true", false, Flag(|s| &mut s.exit_zero)),
        row("", "token-count", true, Ignored),
        row("", "token-count-min", true, Ignored),
        row("", "token-count-max", true, Ignored),
        row("", "block-on-subnets", true, YesNo(|s| &mut s.block_on_subnets)),
        row("", "charset-default", true, Text(|s| &mut s.charset_default)),
        row("", "user-config-file", true, Other(|s, text| s.user_config_file = Some(stripped(text).into()))),
        row("", "replace-nonascii-characters", true, YesNo(|s| &mut s.replace_nonascii)),
        row("", "db-transaction", true, Ignored),
        row("y", "timestamp-date", true, Checked(|_, text| check_date(text))),
        row("", "db-log-autoremove", true, Ignored),
        row("", "db-txn-durable", true, Ignored),
        row("B", "classify-files", false, Other(|s, _| s.bulk = Bulk::Arguments)),
        row("L", "syslog-tag", true, Other(|s, text| s.log_tag = text.to_owned())),
        row("M", "classify-mbox", false, Flag(|s| &mut s.mbox)),
        row("N", "unregister-nonspam", false, Flag(|s| &mut s.registration.unham)),
        row("R", "dataframe", false, Flag(|s| &mut s.dataframe)),
        row("S", "unregister-spam", false, Flag(|s| &mut s.registration.unspam)),
        row("T", "fixed-terse-format", false, Other(|s, _| count_fixed_terse(s))),
        row("U", "report-unsure", false, YesNo(|s| &mut s.unsure_stats)),
        row("b", "classify-stdin", false, Other(|s, _| s.bulk = Bulk::Input)),
        row("d", "bogofilter-dir", true, Path(|s| &mut s.directory)),
        row("", "nonspam-exits-zero", false, Flag(|s| &mut s.exit_zero)),
        row("l", "use-syslog", false, Ignored),
        row("n", "register-ham", false, Flag(|s| &mut s.registration.ham)),
        row("p", "passthrough", false, Flag(|s| &mut s.passthrough)),
        row("s", "register-spam", false, Flag(|s| &mut s.registration.spam)),
        row("u", "update-as-scored", false, Flag(|s| &mut s.update)),
        row("x", "debug-flags", true, Other(|s, text| s.debug_database |= text.contains('d'))),
        row("D", "debug-to-stdout", false, Flag(|s| &mut s.debug_to_output)),
        row("H", "no-header-tags", false, Ignored),
        row("Q", "query", false, Other(|s, _| s.query = s.query.saturating_add(1))),
        row("k", "db-cachesize", true, Ignored),
        row("", "ns-esf", true, Number(|s| &mut s.esf[0])),
        row("", "sp-esf", true, Number(|s| &mut s.esf[1])),
        row("", "ham-cutoff", true, Number(|s| &mut s.cutoffs[1])),
        row("", "header-format", true, Text(|s| &mut s.header_format)),
        row("", "log-header-format", true, Text(|s| &mut s.log_header_format)),
        row("", "log-update-format", true, Text(|s| &mut s.log_update_format)),
        row("", "min-dev", true, Number(|s| &mut s.robinson.min_dev)),
        row("", "robs", true, Number(|s| &mut s.robinson.robs)),
        row("", "robx", true, Number(|s| &mut s.robinson.robx)),
        row("", "spam-cutoff", true, Number(|s| &mut s.cutoffs[0])),
        row("", "spam-header-name", true, Text(|s| &mut s.header_name)),
        row("", "spam-header-place", true, Text(|s| &mut s.header_place)),
        row("", "spam-subject-tag", true, Text(|s| &mut s.spam_subject_tag)),
        row("", "spamicity-formats", true, Other(|s, text| set_three(&mut s.spamicity_formats, text))),
        row("", "spamicity-tags", true, Other(|s, text| set_three(&mut s.tags, text))),
        row("", "stats-in-header", true, YesNo(|s| &mut s.stats_in_header)),
        row("", "terse", true, YesNo(|s| &mut s.terse)),
        row("", "terse-format", true, Text(|s| &mut s.terse_format)),
        row("", "thresh-update", true, Number(|s| &mut s.thresh_update)),
        row("", "timestamp", true, YesNo(|s| &mut s.timestamp)),
        row("", "unsure-subject-tag", true, Text(|s| &mut s.unsure_subject_tag)),
        row("X", "", true, Ignored),
        row("m", "", true, Other(set_robinson)),
        row("o", "", true, Other(|s, text| set_numbers("-o", text, s.cutoffs.each_mut()))),
        row("P", "", false, Checked(|_, _| bail!("-P: expected an option of bogofilter's"))),
        row("q", "", false, Flag(|s| &mut s.quiet)),
        row("t", "", false, YesNo(|s| &mut s.terse)),
    ]
};

/// The key `wordlist` of configuration files, which is not an option.
static WORD_LIST: BogofilterOption = row("", "wordlist", true, Effect::Ignored);

/// What bogofilter's options are without any.
const USUAL: [(&str, &str); 15] = [
    ("unicode", "Yes"),
    ("charset-default", "iso-8859-1"),
    ("ns-esf", "1"),
    ("sp-esf", "1"),
    ("ham-cutoff", "0.45"),
    ("spam-cutoff", "0.99"),
    ("spam-header-name", "X-Bogosity"),
    ("header-format", "%h: %c, tests=bogofilter, spamicity=%p, version=%v"),
    ("log-header-format", "%h: %c, spamicity=%p, version=%v"),
    ("log-update-format", "register-%r, %w words, %m messages"),
    ("terse-format", "%1.1c %f"),
    ("spamicity-formats", "%0.6f, %0.6f, %0.6f"),
    ("spamicity-tags", "Spam, Ham, Unsure"),
    ("stats-in-header", "Yes"),
    ("timestamp", "Yes"),
];

impl BogofilterSettings {
    /// The settings of bogofilter without options and configuration files.
    pub(crate) fn usual() -> Self {
        let mut settings = BogofilterSettings::default();
        for (name, value) in USUAL {
            // each is an option with a value that it takes, as a test checks
            let _ = BogofilterOption::by_key(name).map(|it| it.apply(&mut settings, Some(value.as_ref())));
        }
        settings
    }
}

impl BogofilterOption {
    /// Looks up an option by its letter.
    pub(crate) fn by_letter(letter: u8) -> Option<&'static Self> {
        OPTIONS.iter().find(|option| option.letter.as_bytes() == [letter])
    }

    /// Looks up the option meant by `--name`: the exact name, or the only name that begins with it.
    pub(crate) fn by_name(name: &str) -> Option<&'static Self> {
        let mut begun = named().filter(|option| option.name.starts_with(name));
        let exact = named().find(|option| option.name == name);
        match (exact, begun.next(), begun.next()) {
            (Some(option), ..) | (None, Some(option), None) => Some(option),
            _ => None,
        }
    }

    /// Looks up a key of a configuration file. Case does not matter, and `_` means `-`.
    pub(crate) fn by_key(key: &str) -> Option<&'static Self> {
        let key = key.to_ascii_lowercase().replace('_', "-");
        named().chain([&WORD_LIST]).find(|option| option.name == key)
    }

    /// Applies the option, given on the command line or in a configuration file.
    ///
    /// # Errors
    /// If a value or combination is invalid.
    pub(crate) fn apply(&self, settings: &mut BogofilterSettings, value: Option<&OsStr>) -> Result<()> {
        let text = &*value.map(OsStr::to_string_lossy).unwrap_or_default();
        match self.effect {
            Effect::CommandLine | Effect::Ignored => (),
            Effect::Flag(flag) => *flag(settings) = true,
            Effect::YesNo(flag) => *flag(settings) = value.is_none() || boolean(text)?,
            Effect::Number(number) => match stripped(text).trim().parse() {
                Ok(value) => *number(settings) = value,
                Err(_) => say!("bogofilter: expected a number, got {text:?}; ignored"),
            },
            Effect::Text(string) => *string(settings) = stripped(text).to_owned(),
            Effect::Path(path) => *path(settings) = value.map(PathBuf::from),
            Effect::Other(set) => set(settings, text),
            Effect::Checked(set) => set(settings, text)?,
        }
        settings.registration.check()
    }
}

/// The options that have a name.
fn named() -> impl Iterator<Item = &'static BogofilterOption> {
    OPTIONS.iter().filter(|option| !option.name.is_empty())
}

/// A value without the comment after it.
fn stripped(text: &str) -> &str {
    text.split_once('#').map_or(text, |(value, _)| value.trim_end())
}

fn boolean(text: &str) -> Result<bool> {
    match text.trim_start().as_bytes().first().map(u8::to_ascii_uppercase) {
        Some(b'Y' | b'T' | b'1') => Ok(true),
        Some(b'N' | b'F' | b'0') => Ok(false),
        _ => bail!("expected Yes or No, got {text:?}"),
    }
}

/// Sets numbers from a list, in which some may be omitted.
fn set_numbers<const N: usize>(option: &str, text: &str, numbers: [&mut f64; N]) {
    for (part, number) in text.split(',').zip(numbers).filter(|(part, _)| !part.is_empty()) {
        match part.trim().parse() {
            Ok(value) => *number = value,
            Err(_) => {
                say!("bogofilter: {option}: expected numbers between commas, got {text:?}");
                return;
            }
        }
    }
}

/// Sets the formula's parameters from the list of `-m`.
fn set_robinson(settings: &mut BogofilterSettings, text: &str) {
    let RobinsonFisher { robs, robx, min_dev } = &mut settings.robinson;
    set_numbers("-m", text, [min_dev, robs, robx]);
}

fn count_fixed_terse(settings: &mut BogofilterSettings) {
    settings.terse = true;
    settings.fixed_terse = settings.fixed_terse.saturating_add(1);
}

fn set_three(fields: &mut [String; 3], text: &str) {
    let parts = text.split([' ', ',']).filter(|part| !part.is_empty());
    fields.iter_mut().zip(parts).for_each(|(field, part)| *field = part.to_owned());
}

/// Checks the date of -y. Dates of words have no effect here, but a wrong date is an error.
fn check_date(text: &str) -> Result<()> {
    let date: u64 = text.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0);
    ensure!(date == 0 || date >= 19_990_000, "-y: expected a date as YYYYMMDD, or 0, got {text:?}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_usual_is_what_options_take() {
        for (name, value) in USUAL {
            let option = BogofilterOption::by_key(name).unwrap();
            option.apply(&mut BogofilterSettings::default(), Some(value.as_ref())).unwrap();
        }
        let settings = BogofilterSettings::usual();
        assert!(settings.unicode && settings.timestamp && settings.stats_in_header);
        assert_eq!((settings.cutoffs, settings.esf), ([0.99, 0.45], [1.0; 2]));
        assert_eq!(settings.tags, ["Spam", "Ham", "Unsure"]);
        assert_eq!(settings.spamicity_formats, ["%0.6f"; 3]);
        assert_eq!(settings.log_update_format, "register-%r, %w words, %m messages");
    }

    #[test]
    fn names_may_be_cut_short_as_long_as_they_are_one() {
        let by_name = |name| BogofilterOption::by_name(name).map(|option| (option.name, option.takes_value));
        assert_eq!(by_name("spam-header-n"), Some(("spam-header-name", true)));
        assert_eq!(by_name("spam-header"), None, "two begin so");
        assert_eq!(by_name("terse"), Some(("terse", true)), "a whole name, though another begins with it");
        assert_eq!(by_name("nope"), None);
        let by_key = |key| BogofilterOption::by_key(key).map(|option| option.name);
        assert_eq!(by_key("Ham_Cutoff"), Some("ham-cutoff"));
        assert_eq!(by_key("ham_cut"), None);
    }
}
