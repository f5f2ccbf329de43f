//! Arguments that several commands share.

use std::path::PathBuf;

use clap::Args;
use tamis_program::Volume;

use crate::output::VerdictLog;

mod decision;
mod input;
mod model;
mod recipe;
mod scoring;
mod values;
mod vectors;

pub(crate) use self::decision::{DecisionArgs, VerdictArgs};
pub(crate) use self::input::{GroupArgs, InputArgs, LabelsArgs, ListArgs, TableArgs, TextCommandArgs};
pub(crate) use self::model::{
    ChangeArgs, ModelArg, ModelArgs, lock, needs_terms, refuse_to_replace,
    refuse_to_replace_all_but_partials, refuse_to_replace_taught,
};
pub(crate) use self::recipe::{RecipeArgs, listed, say_chosen_terms, say_left_out};
pub(crate) use self::scoring::{ScoringArgs, UnlabelledArgs};
pub(crate) use self::values::{By, ColumnChoice, Contradictions, Format, Order, at_least, share};
pub(crate) use self::vectors::VectorArgs;

#[derive(Args, Clone, Copy)]
pub(crate) struct VolumeArgs {
    /// Print only results that were asked for and errors
    #[arg(short, long, global = true, display_order = 900, conflicts_with = "verbose")]
    quiet: bool,
    /// Also print how long steps took, and every document that could not be read
    #[arg(short, long, global = true, display_order = 900)]
    verbose: bool,
}

impl VolumeArgs {
    pub(crate) fn volume(self) -> Volume {
        match self {
            VolumeArgs { quiet: true, .. } => Volume::Quiet,
            VolumeArgs { verbose: true, .. } => Volume::Verbose,
            _ => Volume::Usual,
        }
    }
}

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
