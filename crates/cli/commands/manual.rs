//! Manual pages: of the commands, from their definitions; of the model file, from `docs/format.md`.

use std::io;

use clap::Command;
use clap::builder::{PossibleValue, StyledStr};
use clap_mangen::Man;
use clap_mangen::roff::{Inline, Roff, bold, italic, roman};

const SOURCE: &str = concat!("tamis ", env!("CARGO_PKG_VERSION"));

/// The manual page of a built command, with this date.
///
/// # Errors
/// Never: it is written to memory.
pub(crate) fn command_page(command: &mut Command, date: &str) -> io::Result<Vec<u8>> {
    let usage = command.render_usage().to_string();
    let man = Man::new(with_values_in_help(command)).date(date).source(SOURCE).manual("tamis");
    let mut out = Vec::new();
    man.render_title(&mut out)?;
    man.render_name_section(&mut out)?;
    let mut synopsis = Roff::new();
    synopsis.control("SH", ["SYNOPSIS"]);
    synopsis.text([bold(usage.trim_start_matches("Usage: "))]);
    synopsis.to_writer(&mut out)?;
    man.render_description_section(&mut out)?;
    let mut page = Roff::new();
    if command.has_subcommands() {
        page.control("SH", ["COMMANDS"]);
        for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
            page.control("TP", []);
            page.text([bold(inner.get_name())]);
            page.text([roman(plain(inner.get_about()))]);
        }
    }
    page.to_writer(&mut out)?;
    man.render_options_section(&mut out)?;
    let mut page = Roff::new();
    details(&mut page, &plain(command.get_after_help()));
    page.control("SH", ["SEE ALSO"]);
    let name = command.get_display_name().unwrap_or(command.get_name());
    let inner = command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help");
    let mut pages: Vec<_> = inner.map(|inner| format!("{name}-{}", inner.get_name())).collect();
    if pages.is_empty() {
        pages.push("tamis".to_owned());
    }
    for name in pages {
        page.text([bold(name), roman("(1),")]);
    }
    page.text([bold("tamis"), roman("(5)")]);
    page.to_writer(&mut out)?;
    Ok(out)
}

/// Puts the possible values of arguments into their help, since mandoc finds fault with the list that clap_mangen makes.
fn with_values_in_help(command: &Command) -> Command {
    command.clone().mut_args(|argument| {
        let values = argument.get_possible_values();
        if values.is_empty() || argument.is_hide_possible_values_set() {
            return argument;
        }
        let names: Vec<_> = values.iter().map(PossibleValue::get_name).collect();
        let help = format!("{} [one of: {}]", plain(argument.get_help()), names.join(", "));
        argument.help(help).hide_possible_values(true)
    })
}

fn plain(text: Option<&StyledStr>) -> String {
    text.map_or_else(String::new, |text| text.to_string())
}

/// Writes the sections of the help text after the options. The beginning of a paragraph decides its section.
fn details(page: &mut Roff, help: &str) {
    let heading = |block: &str| match block.split_once([':', ' ']) {
        Some(("Example", _)) => "EXAMPLES",
        Some(("Exit", _)) => "EXIT STATUS",
        _ => "DETAILS",
    };
    for section in ["DETAILS", "EXIT STATUS", "EXAMPLES"] {
        let blocks = help.split("\n\n").filter(|block| !block.trim().is_empty() && heading(block) == section);
        for (n, block) in blocks.enumerate() {
            match n {
                0 => page.control("SH", [section]),
                _ => page.control("PP", []),
            };
            let is_named = block.starts_with("Example:\n") || section == "EXIT STATUS";
            let block = block.split_once(':').filter(|_| is_named).map_or(block, |(_, rest)| rest);
            lines(page, block.strip_prefix(' ').unwrap_or(block).trim_start_matches('\n'));
        }
    }
}

/// Writes text. Indented lines stay as they are.
fn lines(page: &mut Roff, text: &str) {
    let mut is_code = false;
    for line in text.lines() {
        let code = line.strip_prefix("  ");
        if code.is_some() != is_code {
            is_code = !is_code;
            begin_or_end_code(page, is_code);
            if !is_code {
                page.control("PP", []);
            }
        }
        page.text([roman(code.unwrap_or(line))]);
    }
    if is_code {
        begin_or_end_code(page, false);
    }
}

fn begin_or_end_code(page: &mut Roff, begins: bool) {
    if begins {
        page.control("IP", []);
    }
    page.control(if begins { "nf" } else { "fi" }, []);
}

/// The manual page of the model file, from `docs/format.md`. Handles only the Markdown that this file uses.
pub(crate) fn format_page(date: &str) -> Vec<u8> {
    let mut page = Roff::new();
    page.control("TH", ["tamis", "5", date, SOURCE, "tamis"]);
    page.control("SH", ["NAME"]);
    page.text([roman("tamis - the model file, byte by byte")]);
    let (mut is_code, mut is_after_heading, mut begins_paragraph) = (false, false, false);
    for line in include_str!("../../../docs/format.md").lines() {
        if line.is_empty() && !is_code {
            begins_paragraph = !is_after_heading;
            continue;
        }
        if line.starts_with("```") {
            is_code = !is_code;
            begin_or_end_code(&mut page, is_code);
        } else if is_code {
            page.text([roman(line)]);
        } else if line.starts_with("# ") {
            page.control("SH", ["DESCRIPTION"]);
        } else if let Some(title) = line.strip_prefix("## ") {
            page.control("SH", [&*title.to_uppercase()]);
        } else if let Some(title) = line.strip_prefix("### ") {
            page.control("SS", [title]);
        } else if let Some(row) = line.strip_prefix('|') {
            table_row(&mut page, row);
        } else if let Some(point) = line.strip_prefix("* ") {
            page.control("IP", ["\\(bu", "2"]);
            page.text(inlines(point));
        } else {
            if begins_paragraph {
                page.control("PP", []);
            }
            page.text(inlines(line.trim_start()));
        }
        (is_after_heading, begins_paragraph) = (line.starts_with('#') && !is_code, false);
    }
    page.render().into_bytes()
}

/// Writes a row of a table: its last cell, with the other cells as its tag. Rows without text are rules and empty
/// headings.
fn table_row(page: &mut Roff, row: &str) {
    let cells: Vec<_> = row.trim_end_matches('|').split('|').map(str::trim).collect();
    let is_text = |cell: &&str| !cell.is_empty() && !cell.starts_with("---");
    let Some((last, tags)) = cells.split_last().filter(|(last, _)| is_text(last)) else { return };
    let tag = tags.iter().copied().filter(is_text).collect::<Vec<_>>().join(", ");
    page.control("TP", []);
    page.text(inlines(if tag.is_empty() { "also" } else { &tag }));
    page.text(inlines(last));
}

/// Converts Markdown within a line: `**bold**`, `*italic*`, code in backticks, the text of links.
fn inlines(line: &str) -> Vec<Inline> {
    let mut all = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find(['*', '`', '[']) {
        let (before, from) = rest.split_at(at);
        let mark = if from.starts_with("**") { "**" } else { &from[..1] };
        let end = if mark == "[" { "](" } else { mark };
        all.push(roman(before));
        let Some((inner, after)) = from[mark.len()..].split_once(end) else {
            all.push(roman(mark));
            rest = &from[mark.len()..];
            continue;
        };
        rest = after;
        match mark {
            "*" => all.push(italic(inner)),
            "[" => {
                all.push(roman(inner));
                rest = after.split_once(')').map_or("", |(_, after)| after);
            }
            _ => all.push(bold(inner)),
        }
    }
    all.push(roman(rest));
    all
}
