//! The settings that bogofilter's options and configuration files set.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use tamis_program::{say, shown_path};
use tamis_train::options::RobinsonFisher;

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

    pub(super) fn check(self) -> Result<()> {
        let is_odd = (self.spam || self.unham) && (self.ham || self.unspam);
        ensure!(!is_odd, "expected at most one of -s and -n, of -S and -N, of -s and -S, and of -n and -N");
        Ok(())
    }
}

/// bogofilter's settings. [`usual`](Self::usual) are those that bogofilter has.
#[derive(Clone, Default, Debug)]
pub(crate) struct BogofilterSettings {
    pub(crate) bulk: Bulk,
    pub(crate) mbox: bool,
    /// The file to read, if not standard input.
    pub(crate) file: Option<PathBuf>,
    pub(crate) registration: Registration,
    /// Registers each message as what it was found to be.
    pub(crate) update: bool,
    pub(crate) passthrough: bool,
    /// The file to pass messages on to.
    pub(crate) output: Option<PathBuf>,
    pub(crate) exit_zero: bool,
    /// How many times -Q was given.
    pub(crate) query: u8,
    /// The folder of the model.
    pub(crate) directory: Option<PathBuf>,
    /// The user's configuration file, if not the usual one.
    pub(crate) user_config_file: Option<PathBuf>,

    // how a message is classified
    /// A message is spam at or above the first cutoff, and ham up to the second.
    pub(crate) cutoffs: [f64; 2],
    /// The formula of a word list that is imported, and of the tables of words.
    pub(crate) robinson: RobinsonFisher,
    /// Distance from 0 and 1 within which `update` registers nothing.
    pub(crate) thresh_update: f64,

    // how much is printed
    pub(crate) verbose: u8,
    pub(crate) quiet: bool,
    pub(crate) terse: bool,
    /// How many times -T was given.
    pub(crate) fixed_terse: u8,
    pub(crate) unsure_stats: bool,
    pub(crate) dataframe: bool,
    pub(crate) debug_database: bool,
    pub(crate) debug_to_output: bool,

    // lines and header fields
    pub(crate) header_name: String,
    pub(crate) header_place: String,
    pub(crate) header_format: String,
    pub(crate) terse_format: String,
    pub(crate) spam_subject_tag: String,
    pub(crate) unsure_subject_tag: String,
    pub(crate) log_tag: String,
    /// For spam, ham and unsure.
    pub(crate) tags: [String; 3],
    pub(crate) spamicity_formats: [String; 3],
    pub(crate) stats_in_header: bool,

    // without effect; -Q shows them
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

impl BogofilterSettings {
    /// The user's configuration file.
    pub(crate) fn user_config_file(&self) -> &Path {
        self.user_config_file.as_deref().unwrap_or(Path::new("~/.bogofilter.cf"))
    }

    /// Resolves what options mean together, once all have been read.
    ///
    /// # Errors
    /// If options exclude one another, there are too many arguments, or there is no file of -I.
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
        match self.fixed_terse {
            0 => (),
            1 => {
                self.terse_format = "%1.1c %-8.6g".to_owned();
                self.tags = ["Spam", "Ham", "Unsure"].map(str::to_owned);
            }
            2 => self.terse_format = "%0.16f".to_owned(),
            _ => bail!("-T: expected it once or twice"),
        }
        self.verbose = self.verbose.max(u8::from(self.fixed_terse > 0));
        self.mbox |= self.bulk == Bulk::None && self.registration.any();
        match &self.file {
            Some(path) => fs::metadata(path).map(drop).with_context(|| format!("-I {}", shown_path(path))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;
    use crate::options::table::BogofilterOption;

    /// Applies options, each by its letter or its name.
    fn set(options: &[(&str, Option<&str>)]) -> Result<BogofilterSettings> {
        let mut settings = BogofilterSettings::usual();
        for (key, value) in options {
            let option = match key.as_bytes() {
                [letter] => BogofilterOption::by_letter(*letter),
                _ => BogofilterOption::by_name(key),
            };
            option.unwrap().apply(&mut settings, value.map(OsStr::new))?;
        }
        settings.settle(&[]).map(|()| settings)
    }

    #[test]
    fn numbers_in_a_list_may_be_left_out() {
        let cutoffs = |text| set(&[("o", Some(text))]).unwrap().cutoffs;
        assert_eq!(cutoffs("0.9,0.1"), [0.9, 0.1]);
        assert_eq!(cutoffs(",0.3"), [0.99, 0.3]);
        assert_eq!(cutoffs("0.5"), [0.5, 0.45]);
        assert_eq!(cutoffs("abc"), [0.99, 0.45]);
        let settings = set(&[("m", Some("0.1,,0.3"))]).unwrap();
        let expected = RobinsonFisher { min_dev: 0.1, robs: 0.0178, robx: 0.3 };
        assert_eq!(settings.robinson, expected);
    }

    #[test]
    fn values_are_read_as_configuration_files_have_them() {
        let settings = set(&[
            ("spam-header-name", Some("X-Spam   # ours")),
            ("spamicity-tags", Some("S, h,u")),
            ("ham-cutoff", Some("0.1  # low")),
            ("stats-in-header", Some("no")),
        ])
        .unwrap();
        assert_eq!(settings.header_name, "X-Spam");
        assert_eq!(settings.tags, ["S", "h", "u"]);
        assert_eq!((settings.cutoffs[1], settings.stats_in_header), (0.1, false));
        assert!(set(&[("terse", Some("maybe"))]).is_err());
    }

    #[test]
    fn what_excludes_one_another_is_refused() {
        for pair in [["s", "n"], ["S", "N"], ["n", "N"]] {
            assert!(set(&pair.map(|key| (key, None))).is_err(), "{pair:?}");
        }
        assert!(set(&[("s", None), ("u", None)]).is_err());
        let moved = set(&[("S", None), ("n", None)]).unwrap();
        assert!(moved.registration.any() && moved.mbox);
        assert_eq!(set(&[("T", None)]).unwrap().verbose, 1);
    }
}
