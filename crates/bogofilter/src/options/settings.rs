//! The settings from bogofilter's options and configuration.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tamis_program::{say, shown_path};
use tamis_train::options::RobinsonFisher;

use crate::options::keys::Key;

/// Where the messages are, and whether there is one or many.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Bulk {
    /// Standard input or a file.
    #[default]
    None,
    /// Files and folders named on standard input.
    Input,
    /// Files and folders named as arguments.
    Arguments,
}

/// What to register or take back.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Registration {
    pub(crate) spam: bool,
    pub(crate) ham: bool,
    pub(crate) unspam: bool,
    pub(crate) unham: bool,
}

impl Registration {
    pub(crate) fn any(self) -> bool {
        self.spam || self.ham || self.unspam || self.unham
    }

    fn check(self) -> Result<()> {
        if (self.spam || self.unham) && (self.ham || self.unspam) {
            bail!("expected at most one of -s and -n, of -S and -N, of -s and -S, and of -n and -N");
        }
        Ok(())
    }
}

/// Which messages are read.
#[derive(Clone, Default, Debug)]
pub(crate) struct Source {
    pub(crate) bulk: Bulk,
    pub(crate) mbox: bool,
    pub(crate) file: Option<PathBuf>,
}

/// What is done with them.
#[derive(Clone, Default, Debug)]
pub(crate) struct Task {
    pub(crate) registration: Registration,
    /// Registers each message as what it was found to be.
    pub(crate) update: bool,
    pub(crate) passthrough: bool,
    /// The file to pass messages on to.
    pub(crate) output: Option<PathBuf>,
    pub(crate) exit_zero: bool,
    /// How many times -Q was given.
    pub(crate) query: u8,
}

/// How a message is classified.
#[derive(Clone, Debug)]
pub(crate) struct Classification {
    /// A message is spam at or above the first cutoff, and ham up to the second.
    pub(crate) cutoffs: [f64; 2],
    /// The formula of a word list that is imported, and of the tables of words.
    pub(crate) robinson: RobinsonFisher,
    /// Distance from 0 and 1 within which `update` registers nothing.
    pub(crate) thresh_update: f64,
}

impl Default for Classification {
    fn default() -> Self {
        Classification { cutoffs: [0.99, 0.45], robinson: RobinsonFisher::default(), thresh_update: 0.0 }
    }
}

/// How much is printed.
#[derive(Clone, Default, Debug)]
pub(crate) struct Printed {
    pub(crate) verbose: u8,
    pub(crate) quiet: bool,
    pub(crate) terse: bool,
    /// How many times -T was given.
    pub(crate) fixed_terse: u8,
    pub(crate) unsure_stats: bool,
    pub(crate) dataframe: bool,
    pub(crate) debug_database: bool,
    pub(crate) debug_to_output: bool,
}

/// The forms of lines and header fields.
#[derive(Clone, Debug)]
pub(crate) struct Forms {
    pub(crate) header_name: String,
    pub(crate) header_place: String,
    pub(crate) header_format: String,
    pub(crate) terse_format: String,
    pub(crate) spam_subject_tag: String,
    pub(crate) unsure_subject_tag: String,
    pub(crate) log_tag: String,
    /// For spam, ham and unsure.
    pub(crate) tags: [String; 3],
    pub(crate) formats: [String; 3],
    pub(crate) stats_in_header: bool,
}

impl Default for Forms {
    fn default() -> Self {
        Forms {
            header_name: "X-Bogosity".to_owned(),
            header_place: String::new(),
            header_format: "%h: %c, tests=bogofilter, spamicity=%p, version=%v".to_owned(),
            terse_format: "%1.1c %f".to_owned(),
            spam_subject_tag: String::new(),
            unsure_subject_tag: String::new(),
            log_tag: String::new(),
            tags: ["Spam", "Ham", "Unsure"].map(str::to_owned),
            formats: ["%0.6f"; 3].map(str::to_owned),
            stats_in_header: true,
        }
    }
}

/// Settings without effect, which -Q shows.
#[derive(Clone, Debug)]
pub(crate) struct Unheeded {
    pub(crate) block_on_subnets: bool,
    pub(crate) unicode: bool,
    pub(crate) charset_default: String,
    pub(crate) replace_nonascii: bool,
    pub(crate) timestamp: bool,
    /// For ham and spam.
    pub(crate) esf: [f64; 2],
    pub(crate) log_header_format: String,
    pub(crate) log_update_format: String,
}

impl Default for Unheeded {
    fn default() -> Self {
        Unheeded {
            block_on_subnets: false,
            unicode: true,
            charset_default: "iso-8859-1".to_owned(),
            replace_nonascii: false,
            timestamp: true,
            esf: [1.0; 2],
            log_header_format: "%h: %c, spamicity=%p, version=%v".to_owned(),
            log_update_format: "register-%r, %w words, %m messages".to_owned(),
        }
    }
}

/// bogofilter's settings, by default as bogofilter has them.
#[derive(Clone, Default, Debug)]
pub(crate) struct Settings {
    pub(crate) source: Source,
    pub(crate) task: Task,
    pub(crate) classification: Classification,
    pub(crate) printed: Printed,
    pub(crate) forms: Forms,
    pub(crate) unheeded: Unheeded,
    /// The folder of the model.
    pub(crate) directory: Option<PathBuf>,
    /// The user's configuration file, if not the usual one.
    pub(crate) user_config_file: Option<PathBuf>,
}

impl Settings {
    /// The user's configuration file.
    pub(crate) fn user_config_file(&self) -> &Path {
        self.user_config_file.as_deref().unwrap_or(Path::new("~/.bogofilter.cf"))
    }

    /// Applies an option or a line of a configuration file. Options that only the command line has (`-c`, `-C`, `-v`,
    /// `-h`, `-V`) are not handled here.
    ///
    /// # Errors
    /// If a value or combination is invalid.
    pub(crate) fn set(&mut self, key: Key, value: Option<&OsStr>) -> Result<()> {
        let text = value.map(OsStr::to_string_lossy).unwrap_or_default();
        let yes = || if value.is_none() { Ok(true) } else { boolean(&text) };
        let path = || value.map(PathBuf::from);
        let Settings { source, task, printed, .. } = self;
        match key {
            Key::BulkInput => source.bulk = Bulk::Input,
            Key::BulkArguments => source.bulk = Bulk::Arguments,
            Key::Mbox => source.mbox = true,
            Key::InputFile => source.file = path(),
            Key::OutputFile => task.output = path(),
            Key::Directory => self.directory = path(),
            Key::UserConfigFile => self.user_config_file = Some(stripped(&text).into()),
            Key::RegisterSpam => task.registration.spam = true,
            Key::RegisterHam => task.registration.ham = true,
            Key::UnregisterSpam => task.registration.unspam = true,
            Key::UnregisterHam => task.registration.unham = true,
            Key::Update => task.update = true,
            Key::Passthrough => task.passthrough = true,
            Key::ExitZero => task.exit_zero = true,
            Key::Query => task.query = task.query.saturating_add(1),
            Key::Quiet => printed.quiet = true,
            Key::ReportUnsure => printed.unsure_stats = yes()?,
            Key::DataFrame => printed.dataframe = true,
            Key::DebugFlags => printed.debug_database |= text.contains('d'),
            Key::DebugToOutput => printed.debug_to_output = true,
            Key::Terse => printed.terse = yes()?,
            Key::FixedTerse => {
                printed.terse = true;
                printed.fixed_terse = printed.fixed_terse.saturating_add(1);
            }
            Key::LogTag => self.forms.log_tag = text.into_owned(),
            Key::Date => check_date(&text)?,
            Key::Invalid => bail!("-P: expected an option of bogofilter's"),
            key => self.set_value(key, &text)?,
        }
        self.task.registration.check()
    }

    fn set_value(&mut self, key: Key, text: &str) -> Result<()> {
        let string = || stripped(text).to_owned();
        let Settings { classification, forms, unheeded, .. } = self;
        let [spam_cutoff, ham_cutoff] = &mut classification.cutoffs;
        let RobinsonFisher { robs, robx, min_dev } = &mut classification.robinson;
        match key {
            Key::Cutoffs => set_numbers("-o", text, [spam_cutoff, ham_cutoff]),
            Key::SpamCutoff => set_number(text, spam_cutoff),
            Key::HamCutoff => set_number(text, ham_cutoff),
            Key::RobinsonParameters => set_numbers("-m", text, [min_dev, robs, robx]),
            Key::MinDev => set_number(text, min_dev),
            Key::Robs => set_number(text, robs),
            Key::Robx => set_number(text, robx),
            Key::ThreshUpdate => set_number(text, &mut classification.thresh_update),
            Key::HeaderFormat => forms.header_format = string(),
            Key::TerseFormat => forms.terse_format = string(),
            Key::SpamHeaderName => forms.header_name = string(),
            Key::SpamHeaderPlace => forms.header_place = string(),
            Key::SpamSubjectTag => forms.spam_subject_tag = string(),
            Key::UnsureSubjectTag => forms.unsure_subject_tag = string(),
            Key::SpamicityTags => set_three(&mut forms.tags, text),
            Key::SpamicityFormats => set_three(&mut forms.formats, text),
            Key::StatsInHeader => forms.stats_in_header = boolean(text)?,
            Key::BlockOnSubnets => unheeded.block_on_subnets = boolean(text)?,
            Key::Unicode => unheeded.unicode = boolean(text)?,
            Key::CharsetDefault => unheeded.charset_default = string(),
            Key::ReplaceNonAscii => unheeded.replace_nonascii = boolean(text)?,
            Key::Timestamp => unheeded.timestamp = boolean(text)?,
            Key::HamEsf => set_number(text, &mut unheeded.esf[0]),
            Key::SpamEsf => set_number(text, &mut unheeded.esf[1]),
            Key::LogHeaderFormat => unheeded.log_header_format = string(),
            Key::LogUpdateFormat => unheeded.log_update_format = string(),
            // options about bogofilter's own words and files
            _ => (),
        }
        Ok(())
    }

    /// Resolves what options mean together, once all have been read.
    ///
    /// # Errors
    /// If options exclude one another, there are too many arguments, or there is no file of -I.
    pub(crate) fn settle(&mut self, others: &[OsString]) -> Result<()> {
        let Settings { source, task, printed, forms, .. } = self;
        if let Some(output) = task.output.as_ref().filter(|_| !task.passthrough) {
            say!("bogofilter: -O {}: of no effect without -p", output.display());
        }
        if task.registration.any() && (task.update || printed.dataframe) {
            bail!("-u and -R: expected none of -s, -n, -S and -N with them");
        }
        if source.bulk == Bulk::None && !others.is_empty() {
            bail!("expected options only, got {}; -B takes the names of files", others[0].display());
        }
        match printed.fixed_terse {
            0 => (),
            1 => {
                forms.terse_format = "%1.1c %-8.6g".to_owned();
                forms.tags = Forms::default().tags;
            }
            2 => forms.terse_format = "%0.16f".to_owned(),
            _ => bail!("-T: expected it once or twice"),
        }
        printed.verbose = printed.verbose.max(u8::from(printed.fixed_terse > 0));
        source.mbox |= source.bulk == Bulk::None && task.registration.any();
        match &source.file {
            Some(path) => fs::metadata(path).map(drop).with_context(|| format!("-I {}", shown_path(path))),
            None => Ok(()),
        }
    }
}

/// A value without the comment after it.
fn stripped(text: &str) -> &str {
    match text.find('#') {
        Some(at) => text[..at].trim_end(),
        None => text,
    }
}

fn boolean(text: &str) -> Result<bool> {
    match text.trim_start().as_bytes().first().map(u8::to_ascii_uppercase) {
        Some(b'Y' | b'T' | b'1') => Ok(true),
        Some(b'N' | b'F' | b'0') => Ok(false),
        _ => bail!("expected Yes or No, got {text:?}"),
    }
}

/// Sets a number. Text that is not a number leaves it unchanged.
fn set_number(text: &str, number: &mut f64) {
    match stripped(text).trim().parse() {
        Ok(value) => *number = value,
        Err(_) => say!("bogofilter: expected a number, got {text:?}; it is passed over"),
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

fn set_three(fields: &mut [String; 3], text: &str) {
    let parts = text.split([' ', ',']).filter(|part| !part.is_empty());
    fields.iter_mut().zip(parts).for_each(|(field, part)| *field = part.to_owned());
}

/// Checks the date of -y. Dates of words have no effect here, but a wrong date is an error.
fn check_date(text: &str) -> Result<()> {
    let date: u64 = text.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0);
    if date != 0 && date < 19_990_000 {
        bail!("-y: expected a date as YYYYMMDD, or 0, got {text:?}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(options: &[(Key, Option<&str>)]) -> Result<Settings> {
        let mut settings = Settings::default();
        options.iter().try_for_each(|(key, value)| settings.set(*key, value.map(OsStr::new)))?;
        settings.settle(&[]).map(|()| settings)
    }

    #[test]
    fn numbers_in_a_list_may_be_left_out() {
        let cutoffs = |text| set(&[(Key::Cutoffs, Some(text))]).unwrap().classification.cutoffs;
        assert_eq!(cutoffs("0.9,0.1"), [0.9, 0.1]);
        assert_eq!(cutoffs(",0.3"), [0.99, 0.3]);
        assert_eq!(cutoffs("0.5"), [0.5, 0.45]);
        assert_eq!(cutoffs("abc"), [0.99, 0.45]);
        let settings = set(&[(Key::RobinsonParameters, Some("0.1,,0.3"))]).unwrap();
        let expected = RobinsonFisher { min_dev: 0.1, robs: 0.0178, robx: 0.3 };
        assert_eq!(settings.classification.robinson, expected);
    }

    #[test]
    fn values_are_read_as_configuration_files_have_them() {
        let settings = set(&[
            (Key::SpamHeaderName, Some("X-Spam   # ours")),
            (Key::SpamicityTags, Some("S, h,u")),
            (Key::HamCutoff, Some("0.1  # low")),
            (Key::StatsInHeader, Some("no")),
        ])
        .unwrap();
        assert_eq!(settings.forms.header_name, "X-Spam");
        assert_eq!(settings.forms.tags, ["S", "h", "u"]);
        assert_eq!((settings.classification.cutoffs[1], settings.forms.stats_in_header), (0.1, false));
        assert!(set(&[(Key::Terse, Some("maybe"))]).is_err());
    }

    #[test]
    fn what_excludes_one_another_is_refused() {
        use Key::*;
        for pair in
            [[RegisterSpam, RegisterHam], [UnregisterSpam, UnregisterHam], [RegisterHam, UnregisterHam]]
        {
            assert!(set(&pair.map(|key| (key, None))).is_err(), "{pair:?}");
        }
        assert!(set(&[(RegisterSpam, None), (Update, None)]).is_err());
        let moved = set(&[(UnregisterSpam, None), (RegisterHam, None)]).unwrap();
        assert!(moved.task.registration.any() && moved.source.mbox);
        assert_eq!(set(&[(FixedTerse, None)]).unwrap().printed.verbose, 1);
    }
}
