//! The program's output, for people and for programs.

mod canvas;
mod expected;
mod log;
pub(crate) mod page;
mod path_text;
mod progress;
mod rows;
mod verdict;

pub(crate) use self::canvas::{Canvas, bar, curve, signed_bar};
pub(crate) use self::expected::{report, report_change, report_counted};
pub(crate) use self::log::{LogEntry, LogEvent, VerdictLog, message_id, parse_line};
pub(crate) use self::path_text::{file_name, from_text, path_of, to_text};
pub(crate) use self::progress::{ByteCounter, PassProgress, while_shown};
pub(crate) use self::rows::RowWriter;
pub(crate) use self::verdict::{DocumentVerdict, labels, say_limits, say_truncated};
