//! The log of a command.

use std::path::PathBuf;

use clap::Args;

use crate::args::model::ModelArg;
use crate::output::VerdictLog;

#[derive(Args)]
pub(crate) struct LogArg {
    /// Log a line for each verdict and each learned document to this file or to syslog: time, Message-ID, verdict,
    /// log-odds, model and milliseconds, never a subject or an address. A log that cannot be written changes nothing
    /// else. tamis stats counts the lines
    #[arg(long, value_name = "syslog|FILE")]
    pub(crate) log: Option<PathBuf>,
}

impl LogArg {
    /// Starts the log, if one was asked for.
    pub(crate) fn begin(&self, model: &ModelArg) -> Option<VerdictLog> {
        self.log.as_ref().map(|target| VerdictLog::new(target.clone(), model.path().ok()))
    }
}
