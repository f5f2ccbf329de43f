//! Splits bogofilter's arguments into options and values as getopt_long does: letters may be bundled, names
//! abbreviated, and options may follow other arguments.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::options::keys::{Key, by_letter, by_name};

/// An option as given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Given {
    /// An option and its value, `None` if it takes none.
    Option { key: Key, value: Option<OsString> },
    /// An argument that contains an unknown option.
    Unknown(OsString),
    /// An option whose value is missing.
    WithoutValue(OsString),
}

/// Splits the arguments into options and other arguments.
pub(crate) fn cut(arguments: &[OsString]) -> (Vec<Given>, Vec<OsString>) {
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

fn long(argument: &OsString, name: &[u8], next: impl FnOnce() -> Option<OsString>) -> Given {
    let mut parts = name.splitn(2, |byte| *byte == b'=');
    let name = parts.next().and_then(|name| str::from_utf8(name).ok()).unwrap_or_default();
    let own = parts.next().map(|value| OsString::from_vec(value.to_vec()));
    match (by_name(name), own) {
        (None, _) | (Some((_, false)), Some(_)) => Given::Unknown(argument.clone()),
        (Some((key, false)), None) => Given::Option { key, value: None },
        (Some((key, true)), own) => match own.or_else(next) {
            None => Given::WithoutValue(argument.clone()),
            value => Given::Option { key, value },
        },
    }
}

fn bundle(
    argument: &OsString,
    letters: &[u8],
    mut next: impl FnMut() -> Option<OsString>,
    given: &mut Vec<Given>,
) {
    for (at, letter) in letters.iter().enumerate() {
        match by_letter(*letter) {
            None => given.push(Given::Unknown(argument.clone())),
            Some((key, false)) => given.push(Given::Option { key, value: None }),
            Some((key, true)) => {
                let own = Some(OsStr::from_bytes(&letters[at + 1..]).to_owned());
                given.push(match own.filter(|own| !own.is_empty()).or_else(&mut next) {
                    None => Given::WithoutValue(argument.clone()),
                    value => Given::Option { key, value },
                });
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(arguments: &[&str], given: &[(Key, Option<&str>)], others: &[&str]) {
        let arguments: Vec<_> = arguments.iter().map(OsString::from).collect();
        let expected: Vec<_> = given
            .iter()
            .map(|(key, value)| Given::Option { key: *key, value: value.map(OsString::from) })
            .collect();
        assert_eq!(cut(&arguments), (expected, others.iter().map(OsString::from).collect()));
    }

    #[test]
    fn options_stand_in_bundles_and_anywhere() {
        use Key::*;
        check(&["-Sn", "-v"], &[(UnregisterSpam, None), (RegisterHam, None), (Verbose, None)], &[]);
        check(&["-o0.9,0.1", "-d", "x"], &[(Cutoffs, Some("0.9,0.1")), (Directory, Some("x"))], &[]);
        check(&["-vI", "-p"], &[(Verbose, None), (InputFile, Some("-p"))], &[]);
        check(&["a", "-e", "--", "-t"], &[(ExitZero, None)], &["a", "-t"]);
        check(
            &["--spam-header-n", "X", "--unicode=yes"],
            &[(SpamHeaderName, Some("X")), (Unicode, Some("yes"))],
            &[],
        );
        check(&["-"], &[], &["-"]);
    }

    #[test]
    fn what_is_wrong_is_told_apart() {
        let given = |arguments: &[&str]| cut(&arguments.iter().map(OsString::from).collect::<Vec<_>>()).0;
        assert_eq!(given(&["-Z"]), [Given::Unknown("-Z".into())]);
        assert_eq!(given(&["--nope"]), [Given::Unknown("--nope".into())]);
        assert_eq!(given(&["--register-spam=x"]), [Given::Unknown("--register-spam=x".into())]);
        assert_eq!(given(&["-d"]), [Given::WithoutValue("-d".into())]);
        assert_eq!(given(&["--header-format"]), [Given::WithoutValue("--header-format".into())]);
    }
}
