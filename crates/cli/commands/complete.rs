//! `tamis complete`: completions for the word that is being typed in a shell. The scripts in `contrib/completions` call
//! it.
//!
//! The answer follows from the definitions of the commands: their options and the values of these. The name that a
//! value has in the help (`FILE`, `DIR`, `LABEL`) says whether to offer files, folders, or the labels of the model.

use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Arg, Command};
use tamis_program::clean;

use crate::args::{ModelArg, ModelArgs};
use crate::output::labels;

/// Prints a line for each word that may stand there, with a tab and what it means. A line `:files` or `:folders`, a tab
/// and the beginning of a path leaves it to the shell to complete that path.
pub(crate) fn run(words: &[OsString], mut program: Command) -> Result<u8> {
    program.build();
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let words: Vec<&str> = words.iter().map(|word| &**word).collect();
    let (current, before) = words.split_last().unwrap_or((&"", &[]));
    let mut out = std::io::stdout().lock();
    for (value, help) in offers(&program, before, current) {
        writeln!(out, "{}\t{}", clean(&value), clean(&help))?;
    }
    Ok(0)
}

/// A word and its meaning; or what the shell completes by itself, and the beginning of it.
type Offer = (String, String);

fn offers(program: &Command, before: &[&str], current: &str) -> Vec<Offer> {
    let (mut command, mut before) = (program, before);
    while let Some((name, rest)) = before.split_first() {
        let Some(inner) = command.find_subcommand(name) else { break };
        (command, before) = (inner, rest);
    }
    let place = CompletionPoint::after(command, before);
    let long = current.strip_prefix("--").and_then(|word| word.split_once('='));
    if let Some(option) = place.option {
        return place.values(option, "", current);
    }
    if let Some((name, value)) = long.filter(|_| !place.is_past_options) {
        let option = command.get_arguments().find(|option| option.get_long() == Some(name));
        let prefix = &current[..current.len() - value.len()];
        return option.map_or_else(Vec::new, |option| place.values(option, prefix, value));
    }
    if current.starts_with('-') && !place.is_past_options {
        return options(command, current);
    }
    if command.has_subcommands() {
        let names = command.get_subcommands().filter(|inner| !inner.is_hide_set());
        let names = names.map(|inner| (inner.get_name().to_owned(), about(inner.get_about())));
        return names.filter(|(name, _)| place.positionals == 0 && name.starts_with(current)).collect();
    }
    let arguments: Vec<_> = command.get_positionals().collect();
    let takes_more = |argument: &&&Arg| argument.get_num_args().is_some_and(|n| n.max_values() > 1);
    let argument = arguments.get(place.positionals).or(arguments.last().filter(takes_more));
    argument.map_or_else(Vec::new, |argument| place.values(argument, "", current))
}

/// The names of options that begin with `current`.
fn options(command: &Command, current: &str) -> Vec<Offer> {
    let shown = command.get_arguments().filter(|option| !option.is_positional() && !option.is_hide_set());
    let names = shown.flat_map(|option| {
        let long = option.get_long().map(|name| format!("--{name}"));
        let short = option.get_short().map(|name| format!("-{name}"));
        long.into_iter().chain(short).map(|name| (name, about(option.get_help())))
    });
    names.filter(|(name, _)| name.starts_with(current)).collect()
}

/// The first phrase of a help text.
fn about(help: Option<&clap::builder::StyledStr>) -> String {
    let help = help.map_or_else(String::new, |help| help.to_string());
    let ends = [". ", "; ", ": ", " (", " [", "\n"];
    let end = ends.iter().filter_map(|end| help.find(end)).min().unwrap_or(help.len());
    help[..end].to_owned()
}

/// The position of a word after those before it.
#[derive(Default)]
struct CompletionPoint<'a> {
    /// The option whose value the word is.
    option: Option<&'a Arg>,
    /// Number of positional arguments before the word.
    positionals: usize,
    /// Whether `--` comes before the word.
    is_past_options: bool,
    /// The model file named before the word.
    model: Option<PathBuf>,
}

impl<'a> CompletionPoint<'a> {
    fn after(command: &'a Command, before: &[&str]) -> Self {
        let mut place = CompletionPoint::default();
        for word in before {
            if let Some(option) = place.option.take() {
                place.note(option, word);
            } else if place.is_past_options || !word.starts_with('-') || *word == "-" {
                place.positionals += 1;
            } else if *word == "--" {
                place.is_past_options = true;
            } else if let Some((option, value)) = option(command, word) {
                match value {
                    Some(value) => place.note(option, value),
                    None => place.option = Some(option),
                }
            }
        }
        place
    }

    fn note(&mut self, option: &Arg, value: &str) {
        if option.get_id() == "model" {
            let home = std::env::var_os("HOME").map(PathBuf::from);
            let in_home = value.strip_prefix("~/").zip(home).map(|(rest, home)| home.join(rest));
            self.model = Some(in_home.unwrap_or_else(|| value.into()));
        }
    }

    /// The possible values of an argument, part of which may be typed. Each is given `prefix`.
    fn values(&self, argument: &Arg, prefix: &str, value: &str) -> Vec<Offer> {
        let name = argument.get_value_names().and_then(|names| names.first()).map_or("", |name| name);
        let mut offers: Vec<Offer> = Vec::new();
        for known in argument.get_possible_values().iter().filter(|known| !known.is_hide_set()) {
            offers.push((known.get_name().to_owned(), about(known.get_help())));
        }
        // `mail|text`, `chi2=N|mi=N`: parts that are not in capitals are typed literally
        if offers.is_empty() && name.starts_with(|c: char| c.is_ascii_lowercase()) {
            let typed = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase());
            let words =
                name.split('|').filter(typed).map(|word| word.split_inclusive('=').next().unwrap_or(word));
            offers.extend(words.map(|word| (word.to_owned(), String::new())));
        }
        let is_source = name == "SOURCE";
        if is_source || name.contains("LABEL") {
            let end = if is_source || name.contains("LABEL=") { "=" } else { "" };
            let labels = self.labels().into_iter();
            offers.extend(labels.map(|label| (format!("{label}{end}"), "label".to_owned())));
        }
        offers.retain(|(word, _)| word.starts_with(value));
        offers.iter_mut().for_each(|(word, _)| word.insert_str(0, prefix));
        // LABEL=PATH
        let path = value.split_once('=').filter(|(label, _)| is_source && !label.contains('/'));
        let path = path.map_or(value, |(_, path)| path).to_owned();
        if name == "DIR" {
            offers.push((":folders".to_owned(), path));
        } else if ["FILE", "PATH", "SOURCE", "MODEL"].iter().any(|known| name.ends_with(known)) {
            offers.push((":files".to_owned(), path));
        }
        offers
    }

    /// The labels of the model, or those with which `learn` creates one.
    fn labels(&self) -> Vec<String> {
        let model = ModelArgs { own: ModelArg { model: self.model.clone() }, fallback: None };
        model
            .open()
            .map_or_else(|_| vec!["ham".to_owned(), "spam".to_owned()], |filter| labels(filter.classes()))
    }
}

/// The option that a word names, if it takes a value; and the value, if it is in the same word.
fn option<'a, 'w>(command: &'a Command, word: &'w str) -> Option<(&'a Arg, Option<&'w str>)> {
    let takes = |option: &&Arg| option.get_action().takes_values();
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
        let option = command.get_arguments().filter(takes).find(|option| option.get_long() == Some(name))?;
        return (value.is_some() || !option.is_require_equals_set()).then_some((option, value));
    }
    word.char_indices().skip(1).find_map(|(at, short)| {
        let option =
            command.get_arguments().filter(takes).find(|option| option.get_short() == Some(short))?;
        let value = &word[at + short.len_utf8()..];
        Some((option, Some(value).filter(|value| !value.is_empty())))
    })
}
