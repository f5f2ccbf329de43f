//! The program's output, for people and for programs.

mod canvas;
mod expected;
mod log;
mod path_text;
mod progress;
mod rows;
mod verdict;

use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::Path;

use anyhow::{Context, Result};
use tamis_program::{json_line, shown_path};

pub(crate) use self::canvas::{Canvas, bar, curve, signed_bar};
pub(crate) use self::expected::{print_expectation, report, report_change, report_counted};
pub(crate) use self::log::{LogEvent, StatsEntry, VerdictLog, message_id, parse_line};
pub(crate) use self::path_text::{file_name, from_text, to_text};
pub(crate) use self::progress::{ByteCounter, PassProgress, while_shown};
pub(crate) use self::rows::RowWriter;
pub(crate) use self::verdict::{DocumentVerdict, labels, say_limits, say_truncated};

/// Prints to standard output: an object of JSON, or else what `print` writes.
pub(crate) fn print_out(
    json: Option<serde_json::Value>,
    print: impl FnOnce(&mut BufWriter<StdoutLock<'_>>) -> Result<()>,
) -> Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    match json {
        Some(json) => writeln!(out, "{}", json_line(json.to_string()))?,
        None => print(&mut out)?,
    }
    Ok(out.flush()?)
}

/// Writes a report with pictures, for `--html`.
pub(crate) fn write_page(path: &Path, page: &tamis_report::Page) -> Result<()> {
    std::fs::write(path, page.to_html()).with_context(|| shown_path(path))
}
