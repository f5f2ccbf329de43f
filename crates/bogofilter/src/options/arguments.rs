//! Splits bogofilter's arguments into options and values as getopt_long does: letters may be bundled, names
//! abbreviated, and options may follow other arguments.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::options::table::BogofilterOption;

/// An argument of the command line.
pub(crate) enum Argument {
    /// An option and its value, `None` if it takes none.
    Option(&'static BogofilterOption, Option<OsString>),
    /// An argument that contains an unknown option.
    Unknown(OsString),
    /// An option whose value is missing.
    WithoutValue(OsString),
}

/// Splits the arguments into options and other arguments.
pub(crate) fn cut(arguments: &[OsString]) -> (Vec<Argument>, Vec<OsString>) {
    let (mut given, mut others) = (Vec::new(), Vec::new());
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let bytes = argument.as_bytes();
        if bytes == b"--" {
            others.extend(rest.cloned());
            break;
        } else if let Some(name) = bytes.strip_prefix(b"--") {
            given.push(long(argument, name, || rest.next().cloned()));
        } else if bytes.len() > 1 && bytes[0] == b'-' {
            bundle(argument, &bytes[1..], || rest.next().cloned(), &mut given);
        } else {
            others.push(argument.clone());
        }
    }
    (given, others)
}

fn long(argument: &OsString, name: &[u8], next: impl FnOnce() -> Option<OsString>) -> Argument {
    let mut parts = name.splitn(2, |byte| *byte == b'=');
    let name = parts.next().and_then(|name| str::from_utf8(name).ok()).unwrap_or_default();
    let own = parts.next().map(|value| OsString::from_vec(value.to_vec()));
    match (BogofilterOption::by_name(name), own) {
        (Some(option), own) if option.takes_value => with_value(argument, option, own.or_else(next)),
        (Some(option), None) => Argument::Option(option, None),
        _ => Argument::Unknown(argument.clone()),
    }
}

fn with_value(argument: &OsString, option: &'static BogofilterOption, value: Option<OsString>) -> Argument {
    match value {
        None => Argument::WithoutValue(argument.clone()),
        value => Argument::Option(option, value),
    }
}

fn bundle(
    argument: &OsString,
    letters: &[u8],
    next: impl FnOnce() -> Option<OsString>,
    given: &mut Vec<Argument>,
) {
    for (at, letter) in letters.iter().enumerate() {
        match BogofilterOption::by_letter(*letter) {
            None => given.push(Argument::Unknown(argument.clone())),
            Some(option) if option.takes_value => {
                let own = Some(OsStr::from_bytes(&letters[at + 1..]).to_owned());
                let value = own.filter(|own| !own.is_empty()).or_else(next);
                given.push(with_value(argument, option, value));
                return;
            }
            Some(option) => given.push(Argument::Option(option, None)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The arguments as text: each option by its name, or else its letter.
    fn given(arguments: &[&str]) -> (Vec<String>, Vec<OsString>) {
        let (given, others) = cut(&arguments.iter().map(OsString::from).collect::<Vec<_>>());
        let text = |argument: &Argument| match argument {
            Argument::Option(option, None) => option.name.to_owned(),
            Argument::Option(option, Some(value)) => format!("{}={}", option.name, value.display()),
            Argument::Unknown(argument) => format!("unknown {}", argument.display()),
            Argument::WithoutValue(argument) => format!("without value {}", argument.display()),
        };
        (given.iter().map(text).collect(), others)
    }

    fn check(arguments: &[&str], options: &[&str], others: &[&str]) {
        let expected =
            (options.iter().map(ToString::to_string).collect(), others.iter().map(OsString::from).collect());
        assert_eq!(given(arguments), expected);
    }

    #[test]
    fn options_stand_in_bundles_and_anywhere() {
        check(&["-Sn", "-v"], &["unregister-spam", "register-ham", "verbosity"], &[]);
        check(&["-o0.9,0.1", "-d", "x"], &["=0.9,0.1", "bogofilter-dir=x"], &[]);
        check(&["-vI", "-p"], &["verbosity", "input-file=-p"], &[]);
        check(&["a", "-e", "--", "-t"], &["ham-true"], &["a", "-t"]);
        check(&["--spam-header-n", "X", "--unicode=yes"], &["spam-header-name=X", "unicode=yes"], &[]);
        check(&["-"], &[], &["-"]);
    }

    #[test]
    fn what_is_wrong_is_told_apart() {
        check(&["-Z"], &["unknown -Z"], &[]);
        check(&["--nope"], &["unknown --nope"], &[]);
        check(&["--register-spam=x"], &["unknown --register-spam=x"], &[]);
        check(&["-d"], &["without value -d"], &[]);
        check(&["--header-format"], &["without value --header-format"], &[]);
    }
}
