//! The settings from bogofilter's options and configuration.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use anyhow::{Result, bail};
use tamis_program::say;

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

#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) bulk: Bulk,
    pub(crate) mbox: bool,
    pub(crate) input: Option<PathBuf>,
    pub(crate) output: Option<PathBuf>,
    pub(crate) directory: Option<PathBuf>,
    pub(crate) registration: Registration,
    pub(crate) update: bool,
    pub(crate) passthrough: bool,
    pub(crate) exit_zero: bool,
    pub(crate) verbose: u8,
    pub(crate) quiet: bool,
    pub(crate) unsure_stats: bool,
    pub(crate) dataframe: bool,
    pub(crate) debug_database: bool,
    pub(crate) debug_to_output: bool,
    pub(crate) query: u8,
    pub(crate) log_tag: String,
    pub(crate) user_config_file: PathBuf,
    /// A message is spam at or above the first cutoff, and ham up to the second.
    pub(crate) cutoffs: [f64; 2],
    /// The spamicity of a message without known words.
    pub(crate) robx: f64,
    pub(crate) robs: f64,
    pub(crate) min_dev: f64,
    /// For ham and spam.
    pub(crate) esf: [f64; 2],
    pub(crate) thresh_update: f64,
    pub(crate) header_name: String,
    pub(crate) header_place: String,
    pub(crate) spam_subject_tag: String,
    pub(crate) unsure_subject_tag: String,
    pub(crate) header_format: String,
    pub(crate) terse_format: String,
    pub(crate) log_header_format: String,
    pub(crate) log_update_format: String,
    /// For spam, ham and unsure.
    pub(crate) tags: [String; 3],
    pub(crate) formats: [String; 3],
    pub(crate) terse: bool,
    /// How many times -T was given.
    pub(crate) fixed_terse: u8,
    pub(crate) stats_in_header: bool,
    pub(crate) unicode: bool,
    pub(crate) block_on_subnets: bool,
    pub(crate) replace_nonascii: bool,
    pub(crate) timestamp: bool,
    pub(crate) charset_default: String,
}

impl Default for Settings {
    /// bogofilter's defaults.
    fn default() -> Self {
        Settings {
            bulk: Bulk::None,
            mbox: false,
            input: None,
            output: None,
            directory: None,
            registration: Registration::default(),
            update: false,
            passthrough: false,
            exit_zero: false,
            verbose: 0,
            quiet: false,
            unsure_stats: false,
            dataframe: false,
            debug_database: false,
            debug_to_output: false,
            query: 0,
            log_tag: String::new(),
            user_config_file: "~/.bogofilter.cf".into(),
            cutoffs: [0.99, 0.45],
            robx: 0.52,
            robs: 0.0178,
            min_dev: 0.375,
            esf: [1.0; 2],
            thresh_update: 0.0,
            header_name: "X-Bogosity".to_owned(),
            header_place: String::new(),
            spam_subject_tag: String::new(),
            unsure_subject_tag: String::new(),
            header_format: "%h: %c, tests=bogofilter, spamicity=%p, version=%v".to_owned(),
            terse_format: "%1.1c %f".to_owned(),
            log_header_format: "%h: %c, spamicity=%p, version=%v".to_owned(),
            log_update_format: "register-%r, %w words, %m messages".to_owned(),
            tags: ["Spam", "Ham", "Unsure"].map(str::to_owned),
            formats: ["%0.6f"; 3].map(str::to_owned),
            terse: false,
            fixed_terse: 0,
            stats_in_header: true,
            unicode: true,
            block_on_subnets: false,
            replace_nonascii: false,
            timestamp: true,
            charset_default: "iso-8859-1".to_owned(),
        }
    }
}

impl Settings {
    /// Applies an option or a line of a configuration file. Options that only the command line has (`-c`, `-C`, `-v`,
    /// `-h`, `-V`) are not handled here.
    ///
    /// # Errors
    /// If a value or combination is invalid.
    pub(crate) fn set(&mut self, key: Key, value: Option<&OsStr>) -> Result<()> {
        let text = value.map(OsStr::to_string_lossy).unwrap_or_default();
        let yes = || if value.is_none() { Ok(true) } else { boolean(&text) };
        match key {
            Key::BulkInput => self.bulk = Bulk::Input,
            Key::BulkArguments => self.bulk = Bulk::Arguments,
            Key::Mbox => self.mbox = true,
            Key::InputFile => self.input = value.map(PathBuf::from),
            Key::OutputFile => self.output = value.map(PathBuf::from),
            Key::Directory => self.directory = value.map(PathBuf::from),
            Key::RegisterSpam => self.register(|registration| registration.spam = true)?,
            Key::RegisterHam => self.register(|registration| registration.ham = true)?,
            Key::UnregisterSpam => self.register(|registration| registration.unspam = true)?,
            Key::UnregisterHam => self.register(|registration| registration.unham = true)?,
            Key::Update => self.update = true,
            Key::Passthrough => self.passthrough = true,
            Key::ExitZero => self.exit_zero = true,
            Key::Quiet => self.quiet = true,
            Key::ReportUnsure => self.unsure_stats = yes()?,
            Key::DataFrame => self.dataframe = true,
            Key::DebugFlags => self.debug_database |= text.contains('d'),
            Key::DebugToOutput => self.debug_to_output = true,
            Key::Query => self.query = self.query.saturating_add(1),
            Key::LogTag => self.log_tag = text.into_owned(),
            Key::UserConfigFile => self.user_config_file = stripped(&text).into(),
            Key::Date => check_date(&text)?,
            Key::Terse => self.terse = yes()?,
            Key::FixedTerse => {
                self.terse = true;
                self.fixed_terse = self.fixed_terse.saturating_add(1);
            }
            Key::Invalid => bail!("-P: expected an option of bogofilter's"),
            key => return self.set_value(key, &text),
        }
        Ok(())
    }

    fn set_value(&mut self, key: Key, text: &str) -> Result<()> {
        let string = || stripped(text).to_owned();
        match key {
            Key::BlockOnSubnets => self.block_on_subnets = boolean(text)?,
            Key::ReplaceNonAscii => self.replace_nonascii = boolean(text)?,
            Key::StatsInHeader => self.stats_in_header = boolean(text)?,
            Key::Timestamp => self.timestamp = boolean(text)?,
            Key::Unicode => self.unicode = boolean(text)?,
            Key::Cutoffs => set_numbers("-o", text, self.cutoffs.each_mut()),
            Key::RobinsonParameters => {
                set_numbers("-m", text, [&mut self.min_dev, &mut self.robs, &mut self.robx]);
            }
            Key::SpamCutoff => set_number(text, &mut self.cutoffs[0]),
            Key::HamCutoff => set_number(text, &mut self.cutoffs[1]),
            Key::HamEsf => set_number(text, &mut self.esf[0]),
            Key::SpamEsf => set_number(text, &mut self.esf[1]),
            Key::MinDev => set_number(text, &mut self.min_dev),
            Key::Robs => set_number(text, &mut self.robs),
            Key::Robx => set_number(text, &mut self.robx),
            Key::ThreshUpdate => set_number(text, &mut self.thresh_update),
            Key::CharsetDefault => self.charset_default = string(),
            Key::HeaderFormat => self.header_format = string(),
            Key::LogHeaderFormat => self.log_header_format = string(),
            Key::LogUpdateFormat => self.log_update_format = string(),
            Key::TerseFormat => self.terse_format = string(),
            Key::SpamHeaderName => self.header_name = string(),
            Key::SpamHeaderPlace => self.header_place = string(),
            Key::SpamSubjectTag => self.spam_subject_tag = string(),
            Key::UnsureSubjectTag => self.unsure_subject_tag = string(),
            Key::SpamicityTags => set_three(&mut self.tags, text),
            Key::SpamicityFormats => set_three(&mut self.formats, text),
            // -H, and options about bogofilter's own words and files
            _ => (),
        }
        Ok(())
    }

    fn register(&mut self, set: impl FnOnce(&mut Registration)) -> Result<()> {
        set(&mut self.registration);
        self.registration.check()
    }

    /// Resolves what options mean together, once all have been read.
    ///
    /// # Errors
    /// If options exclude one another, or there are too many arguments.
    pub(crate) fn settle(&mut self, others: &[OsString]) -> Result<()> {
        if let Some(output) = self.output.as_ref().filter(|_| !self.passthrough) {
            say!("bogofilter: -O {}: of no effect without -p", output.display());
        }
        if self.registration.any() && (self.update || self.dataframe) {
            bail!("-u and -R: expected none of -s, -n, -S and -N with them");
        }
        if self.bulk == Bulk::None && !others.is_empty() {
            bail!("expected options only, got {}; -B takes the names of files", others[0].display());
        }
        if self.fixed_terse > 2 {
            bail!("-T: expected it once or twice");
        }
        if self.fixed_terse > 0 {
            self.verbose = self.verbose.max(1);
            self.terse_format = if self.fixed_terse == 1 { "%1.1c %-8.6g" } else { "%0.16f" }.to_owned();
        }
        if self.fixed_terse == 1 {
            self.tags = Settings::default().tags;
        }
        self.mbox |= self.bulk == Bulk::None && self.registration.any();
        Ok(())
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
        let cutoffs = |text| set(&[(Key::Cutoffs, Some(text))]).unwrap().cutoffs;
        assert_eq!(cutoffs("0.9,0.1"), [0.9, 0.1]);
        assert_eq!(cutoffs(",0.3"), [0.99, 0.3]);
        assert_eq!(cutoffs("0.5"), [0.5, 0.45]);
        assert_eq!(cutoffs("abc"), [0.99, 0.45]);
        let settings = set(&[(Key::RobinsonParameters, Some("0.1,,0.3"))]).unwrap();
        assert_eq!((settings.min_dev, settings.robs, settings.robx), (0.1, 0.0178, 0.3));
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
        assert_eq!(settings.header_name, "X-Spam");
        assert_eq!(settings.tags, ["S", "h", "u"]);
        assert_eq!((settings.cutoffs[1], settings.stats_in_header), (0.1, false));
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
        assert!(moved.registration.any() && moved.mbox);
        assert_eq!(set(&[(FixedTerse, None)]).unwrap().verbose, 1);
    }
}
