//! How much the program prints besides its results.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU8, Ordering};

/// How much is printed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Volume {
    /// Errors, and what could not be read.
    Quiet,
    /// Also how sources were read, what was chosen, and progress.
    Usual,
    /// Also how long steps took, and every document that could not be read.
    Verbose,
}

/// Set once, before a command runs.
static VOLUME: AtomicU8 = AtomicU8::new(Volume::Usual as u8);

impl Volume {
    /// Sets the volume for the whole program.
    pub fn set(self) {
        VOLUME.store(self as u8, Ordering::Relaxed);
    }

    /// Whether the program prints at this volume.
    pub fn is_on(self) -> bool {
        VOLUME.load(Ordering::Relaxed) >= self as u8
    }
}

/// Where a command reports what it has done: standard output, or nowhere with --quiet. Results that were asked for go
/// to standard output in any case.
pub fn done() -> Box<dyn Write> {
    match Volume::Usual.is_on() {
        true => Box::new(io::stdout().lock()),
        false => Box::new(io::sink()),
    }
}
