//! Reads bogofilter's options: the configuration files, then the command line.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tamis_program::{say, shown, shown_path};

use crate::options::arguments::Argument;
use crate::options::settings::BogofilterSettings;
use crate::options::table::BogofilterOption;

/// What the command line asks the program to do.
pub(crate) enum BogofilterCall {
    Work(Box<BogofilterSettings>),
    Help,
    Version,
}

/// The system-wide configuration file.
const SYSTEM: &str = "/etc/bogofilter.cf";

/// Maximum bytes read of a configuration file.
const MOST_BYTES: u64 = 1 << 20;

/// Reads the options. The command line takes precedence over files, whichever comes first.
///
/// # Errors
/// If an option lacks its value, a value or combination is invalid, or a file of `-c` or `-I` cannot be read.
pub(crate) fn read(given: &[Argument], others: &[OsString]) -> Result<BogofilterCall> {
    let mut settings = BogofilterSettings::usual();
    let mut reads_usual_files = true;
    for option in given {
        let (option, value) = match option {
            Argument::Unknown(argument) => {
                say!("bogofilter: {}: unknown option, ignored", shown_path(argument));
                continue;
            }
            Argument::WithoutValue(argument) => bail!("{}: expected a value", shown_path(argument)),
            Argument::Option(option, value) => (option, value.as_deref()),
        };
        match option.name {
            "help" => return Ok(BogofilterCall::Help),
            "version" => return Ok(BogofilterCall::Version),
            "no-config-file" => reads_usual_files = false,
            "config-file" => {
                reads_usual_files = false;
                read_file(Path::new(value.unwrap_or_default()), &mut settings)?;
            }
            "verbosity" => settings.verbose = settings.verbose.saturating_add(1),
            "user-config-file" => option.apply(&mut settings, value)?,
            _ => (),
        }
    }
    if reads_usual_files {
        read_if_there(Path::new(SYSTEM), &mut settings)?;
        let own = settings.user_config_file().to_owned();
        read_if_there(&own, &mut settings)?;
    }
    for option in given {
        if let Argument::Option(option, value) = option {
            option.apply(&mut settings, value.as_deref())?;
        }
    }
    settings.settle(others)?;
    Ok(BogofilterCall::Work(Box::new(settings)))
}

fn read_if_there(path: &Path, settings: &mut BogofilterSettings) -> Result<()> {
    match read_file(path, settings) {
        Err(error) if error.downcast_ref::<io::Error>().is_some() => Ok(()),
        other => other,
    }
}

fn read_file(path: &Path, settings: &mut BogofilterSettings) -> Result<()> {
    let (path, mut bytes) = (at_home(path), Vec::new());
    let read = File::open(&path).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes));
    read.with_context(|| shown_path(&path))?;
    for (number, line) in (1..).zip(String::from_utf8_lossy(&bytes).lines()) {
        let line = line.trim_end_matches(|c: char| c.is_whitespace() || c.is_control());
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let place = || format!("{}, line {number}", shown_path(&path));
        match setting(line) {
            Some((option, value)) if option.name == "bogofilter-dir" => {
                settings.directory = Some(at_home(Path::new(value)));
            }
            Some((option, value)) => option.apply(settings, Some(value.as_ref())).with_context(place)?,
            None => say!("bogofilter: {}: no option of bogofilter's: {}", place(), shown(line)),
        }
    }
    Ok(())
}

/// Reads the option and value of a line: a name, a space or an equals sign, then the value.
fn setting(line: &str) -> Option<(&'static BogofilterOption, &str)> {
    let (name, value) = line.trim_start().split_once([' ', '\t', '='])?;
    let value = value.trim_start_matches([' ', '\t', '=']);
    Some((BogofilterOption::by_key(name)?, if value == "''" { "" } else { value }))
}

/// Expands a leading `~` in a path to the home folder.
fn at_home(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), std::env::var_os("HOME")) {
        (Ok(rest), Some(home)) => Path::new(&home).join(rest),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_names_and_values() {
        let setting = |line| setting(line).map(|(option, value)| (option.name, value));
        assert_eq!(setting("ham_cutoff = 0.45"), Some(("ham-cutoff", "0.45")));
        assert_eq!(setting("  terse=yes"), Some(("terse", "yes")));
        assert_eq!(setting("spam_subject_tag=''"), Some(("spam-subject-tag", "")));
        assert_eq!(setting("header_format = %h: %c, x=%p"), Some(("header-format", "%h: %c, x=%p")));
        assert_eq!(setting("terse"), None);
        assert_eq!(setting("nonsense = 1"), None);
    }
}
