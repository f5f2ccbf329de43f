//! How much the program prints.

use clap::Args;
use tamis_program::Volume;

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
