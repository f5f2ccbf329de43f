//! Whether a message is passed through, judged by the raw arguments: before they are parsed, or if they are wrong.

/// Options of `tamis score` whose value may be the next argument.
const WITH_VALUE: [&[u8]; 8] =
    [b"-m", b"--model", b"--fallback", b"--log", b"--prior", b"--cost", b"--unsure", b"--spam-label"];

/// Whether the arguments, beginning with the program's name, ask to pass a message through.
pub fn asks_for_passthrough<'a>(mut arguments: impl Iterator<Item = &'a [u8]> + Clone) -> bool {
    let is_passthrough = |a: &[u8]| a.starts_with(b"--pass") || is_short_with_p(a);
    arguments.clone().any(|a| a == b"score") && arguments.any(is_passthrough)
}

/// The arguments that could name a file.
fn files<'a>(arguments: impl Iterator<Item = &'a [u8]>) -> impl Iterator<Item = &'a [u8]> {
    let mut is_value = false;
    arguments.skip(2).filter(move |a| {
        let is_file = !is_value && !a.starts_with(b"-");
        is_value = WITH_VALUE.contains(a);
        is_file
    })
}

/// Whether that message is certainly on standard input, because no argument could name a file.
pub fn passes_input_through<'a>(arguments: impl Iterator<Item = &'a [u8]> + Clone) -> bool {
    asks_for_passthrough(arguments.clone()) && files(arguments).next().is_none()
}

/// The file of the message to pass through, if exactly one argument could name it.
pub(crate) fn file_passed_through<'a>(arguments: impl Iterator<Item = &'a [u8]> + Clone) -> Option<&'a [u8]> {
    let mut files = files(arguments.clone());
    let file = files.next().filter(|_| asks_for_passthrough(arguments))?;
    files.next().is_none().then_some(file)
}

/// As [`passes_input_through`], but also covers `tamis bogofilter -p` and tamis called as bogofilter.
pub(crate) fn may_pass_input_through<'a>(arguments: impl Iterator<Item = &'a [u8]> + Clone) -> bool {
    let mut first = arguments.clone();
    let is_bogofilter =
        first.next().is_some_and(|a| a.ends_with(b"bogofilter")) || first.next() == Some(b"bogofilter");
    let is_passthrough = |a: &[u8]| a.starts_with(b"--pass") || is_short_with_p(a) && !a.contains(&b'/');
    let names_a_file = |a: &[u8]| a.starts_with(b"-I") || a.starts_with(b"--input");
    match is_bogofilter {
        true => arguments.clone().any(is_passthrough) && !arguments.clone().any(names_a_file),
        false => passes_input_through(arguments),
    }
}

/// Whether an argument is a cluster of short options that includes `-p`.
fn is_short_with_p(argument: &[u8]) -> bool {
    argument.starts_with(b"-") && !argument.starts_with(b"--") && argument.contains(&b'p')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_found_among_options() {
        let file = |line: &'static str| file_passed_through(line.split(' ').map(str::as_bytes));
        assert_eq!(file("tamis score -p -m a.tamis message.eml"), Some(&b"message.eml"[..]));
        assert_eq!(file("tamis score -p a.eml b.eml"), None);
        assert_eq!(file("tamis score message.eml"), None);
        assert_eq!(file("tamis score -p -m message.eml"), None);
    }

    #[test]
    fn what_is_passed_through_is_seen_in_the_arguments() {
        let check = |line: &str, asks: bool, certainly: bool, early: bool| {
            let arguments = line.split(' ').map(str::as_bytes);
            assert_eq!(asks_for_passthrough(arguments.clone()), asks, "{line}");
            assert_eq!(passes_input_through(arguments.clone()), certainly, "{line}");
            assert_eq!(may_pass_input_through(arguments), early, "{line}");
        };
        check("tamis score", false, false, false);
        check("tamis score -p", true, true, true);
        check("/usr/bin/tamis score --passthrough -m a.tamis --log syslog", true, true, true);
        check("tamis score -ep message.eml", true, false, false);
        check("tamis learn -p", false, false, false);
        check("tamis score --nonsense -p", true, true, true);
        check("/home/a/bin/bogofilter -p -e", false, false, true);
        check("tamis bogofilter -e -p -I message.eml", false, false, false);
        check("bogofilter -s -d/tmp", false, false, false);
    }
}
