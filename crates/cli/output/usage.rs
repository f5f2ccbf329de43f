//! Messages about wrong arguments.

use std::error::Error as _;
use std::ffi::OsString;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The text of a usage error: what was expected and given for a wrong value, otherwise the parser's message.
pub(crate) fn usage_message(error: &clap::Error, arguments: &[OsString]) -> String {
    let is_of_value = matches!(error.kind(), ErrorKind::ValueValidation | ErrorKind::InvalidValue);
    match of_value(error).filter(|_| is_of_value) {
        Some(said) => {
            let command =
                arguments.get(1).and_then(|name| name.to_str()).filter(|name| !name.starts_with('-'));
            let command = command.map_or(String::new(), |name| format!("{name} "));
            format!("tamis: {said}; see tamis {command}--help")
        }
        None => error.render().to_string().trim_end().to_owned(),
    }
}

fn of_value(error: &clap::Error) -> Option<String> {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let (argument, value) = (context(ContextKind::InvalidArg)?, context(ContextKind::InvalidValue)?);
    let got = if value.is_empty() { "none".to_owned() } else { format!("{value:?}") };
    let expected = match (error.get(ContextKind::ValidValue), error.source()) {
        (Some(ContextValue::Strings(values)), _) => one_of(values),
        (_, Some(source)) => match source.downcast_ref::<ParseIntError>().map(ParseIntError::kind) {
            Some(IntErrorKind::PosOverflow) => "a smaller number".to_owned(),
            Some(_) => "a whole number".to_owned(),
            None if source.is::<ParseFloatError>() => "a number".to_owned(),
            // our own error message is complete
            None => return Some(format!("{argument}: {source}")),
        },
        _ => "a value".to_owned(),
    };
    Some(format!("{argument}: expected {expected}, got {got}"))
}

/// `csv, tsv or jsonl`
fn one_of(values: &[String]) -> String {
    match values {
        [others @ .., last] if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => values.concat(),
    }
}
