//! The program's output, for people and for programs.

mod canvas;
mod card;
mod comparison;
mod confusion;
mod expected;
mod facts;
mod fixed;
mod kept;
mod label_report;
mod log;
mod manual;
pub(crate) mod page;
mod path_text;
mod pictures;
mod progress;
mod report;
mod rows;
mod usage;
mod verdict;

pub(crate) use self::canvas::{Canvas, bar, signed_bar};
pub(crate) use self::card::ModelCard;
pub(crate) use self::comparison::{Comparison, Outcome, Side};
pub(crate) use self::expected::{report, report_change, report_counted};
pub(crate) use self::facts::{describe_json, print_facts, print_reals, print_terms};
pub(crate) use self::label_report::LabelReport;
pub(crate) use self::log::{Entry, Log, What, message_id, parse_line};
pub(crate) use self::manual::{command_page, format_page};
pub(crate) use self::path_text::{file_name, from_text, path_of, to_text};
pub(crate) use self::progress::{Measured, Progress, while_shown};
pub(crate) use self::report::Report;
pub(crate) use self::rows::Rows;
pub(crate) use self::usage::usage_message;
pub(crate) use self::verdict::{Verdict, labels, say_limits, say_truncated};
