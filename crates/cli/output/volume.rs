//! How much the program says besides its results.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU8, Ordering};

/// How much is said.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Volume {
    /// Errors, and what could not be read.
    Quiet,
    /// Also what sources were taken for and what was chosen, and progress.
    Usual,
    /// Also how long it took, and every document that could not be read.
    Verbose,
}

/// Set once, before a command runs.
static VOLUME: AtomicU8 = AtomicU8::new(Volume::Usual as u8);

impl Volume {
    /// Sets it for the whole program.
    pub(crate) fn set(self) {
        VOLUME.store(self as u8, Ordering::Relaxed);
    }

    /// Whether what is said at this volume is said.
    pub(crate) fn is_on(self) -> bool {
        VOLUME.load(Ordering::Relaxed) >= self as u8
    }
}

/// Where a command says what it has done: standard output, unless the program is to be quiet. Results that were asked
/// for go to standard output in any case.
pub(crate) fn done() -> Box<dyn Write> {
    match Volume::Usual.is_on() {
        true => Box::new(io::stdout().lock()),
        false => Box::new(io::sink()),
    }
}
