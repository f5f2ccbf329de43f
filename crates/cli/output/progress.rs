//! Progress on a terminal.

use std::io::{self, IsTerminal, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tamis_program::{Volume, counted, detail, grouped};

/// Bytes read from files that hold many documents. The number of documents in them is unknown until they are read.
static BYTES: AtomicU64 = AtomicU64::new(0);

/// A reader that counts the bytes read from a file that holds many documents.
pub(crate) struct ByteCounter<R>(pub(crate) R);

impl<R: Read> Read for ByteCounter<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.0.read(buffer)?;
        BYTES.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

/// The progress of a pass over documents: their number, the rate per second, and the time left.
pub(crate) struct PassProgress {
    bar: ProgressBar,
    began: Instant,
    documents: u64,
    files: u64,
    /// The bytes read before this pass, if the bar shows bytes.
    bytes_before: Option<u64>,
}

impl PassProgress {
    /// Creates a bar for as many documents as there are `files`. If `bytes` is not 0, the bar shows the share of these
    /// bytes of files that hold many documents. It is only visible if `is_wanted`.
    pub(crate) fn new(files: u64, bytes: u64, is_wanted: bool) -> Self {
        let bar = shown(ProgressBar::new(if bytes > 0 { bytes } else { files }), is_wanted);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {msg}, {eta} left") {
            bar.set_style(style);
        }
        bar.set_message("reading");
        let bytes_before = (bytes > 0).then(|| BYTES.load(Ordering::Relaxed));
        PassProgress { bar, began: Instant::now(), documents: 0, files, bytes_before }
    }

    /// Adds to the number of documents that are done.
    pub(crate) fn add(&mut self, documents: u64) {
        self.documents += documents;
        let done = self.documents;
        let (position, of, documents) = match self.bytes_before {
            Some(before) => (BYTES.load(Ordering::Relaxed) - before, String::new(), done),
            None => (done, format!("{} of ", grouped(done)), done.max(self.files)),
        };
        self.bar.set_message(format!("{of}{}, {}", counted(documents, "document"), self.rate()));
        // a file may grow meanwhile, or not be a regular file
        if self.bar.length().is_some_and(|length| length < position) {
            self.bar.set_length(position);
        }
        self.bar.set_position(position);
    }

    /// Documents per second.
    fn rate(&self) -> String {
        format!("{} a second", grouped((self.documents as f64 / self.began.elapsed().as_secs_f64()) as u64))
    }

    /// Prints something above the bar.
    pub(crate) fn above(&self, say: impl FnOnce()) {
        self.bar.suspend(say);
    }

    /// Ends the bar, and prints what was done in verbose mode.
    pub(crate) fn finish(self, done: &str) {
        self.bar.finish_and_clear();
        let (documents, took) = (counted(self.documents, "document"), self.began.elapsed().as_secs_f64());
        detail!("{done} {documents} in {took:.2} s, {}", self.rate());
    }
}

/// Shows work without known steps, such as fitting, with the seconds that it has taken so far.
pub(crate) fn while_shown<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let (bar, began) = (shown(ProgressBar::new_spinner(), true), Instant::now());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}, {elapsed}") {
        bar.set_style(style);
    }
    bar.set_message(what.to_owned());
    if !bar.is_hidden() {
        bar.enable_steady_tick(Duration::from_millis(200));
    }
    let done = work();
    bar.finish_and_clear();
    detail!("{what} took {:.2} s", began.elapsed().as_secs_f64());
    done
}

/// The bar, hidden unless standard error is a terminal and progress is wanted.
fn shown(bar: ProgressBar, is_wanted: bool) -> ProgressBar {
    if !(is_wanted && io::stderr().is_terminal() && Volume::Usual.is_on()) {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    bar
}
