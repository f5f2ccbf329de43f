//! Documents of a pass that are skipped: the reasons, their count and what is printed of them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use tamis_program::{Volume, counted, grouped, say, shown_path};

use crate::input::items::Item;

/// The reason that there is no result for a document.
pub(super) enum SkipReason {
    /// It could not be read.
    Unreadable(String),
    /// It is a file of another kind that the user did not name.
    Foreign(String),
    /// It is a message of an mbox, or a row, that is not one to learn.
    NotToLearn(&'static str, &'static str),
    /// It contradicts what the user says of it, which ends the pass.
    Contradicts(String),
}

impl From<String> for SkipReason {
    fn from(error: String) -> Self {
        SkipReason::Unreadable(error)
    }
}

/// Number of files of a foreign kind, and of unreadable parts of a file, that are named. The others are only counted.
fn most_named() -> usize {
    if Volume::Verbose.is_on() { usize::MAX } else { 5 }
}

/// Counts and reports the documents that are skipped. Of the rows or messages of a file, and of each other kind of files,
/// the first five are named.
#[derive(Default)]
pub(super) struct Complaints {
    pub(super) unreadable: usize,
    /// Number of files of each kind, and of messages and rows that are not to learn by the reason.
    pub(super) skipped: BTreeMap<(&'static str, String), u64>,
    /// The file of the last unreadable document.
    path: PathBuf,
    /// Number of its unreadable documents.
    n_in_file: usize,
}

impl Complaints {
    pub(super) fn add(&mut self, item: &Item<'_>, reason: SkipReason) {
        match reason {
            SkipReason::Unreadable(error) | SkipReason::Contradicts(error) => {
                if item.file.path != self.path {
                    self.finish_file();
                    (self.path, self.n_in_file) = (item.file.path.clone(), 0);
                }
                self.unreadable += 1;
                self.n_in_file += 1;
                if self.n_in_file <= most_named() {
                    say!("tamis: {}: {error}", shown_path(&item.name()));
                }
            }
            SkipReason::NotToLearn(noun, why) => {
                *self.skipped.entry((noun, why.to_owned())).or_default() += 1
            }
            SkipReason::Foreign(what) => {
                // without the details of a single one
                let kind = what.split(": ").next().unwrap_or_default().to_owned();
                let n = self.skipped.entry(("file", kind)).or_default();
                *n += 1;
                if *n <= most_named() as u64 {
                    say!("tamis: {}: skipped: {what}", shown_path(&item.name()));
                }
            }
        }
    }

    /// Prints how many documents of the last file were not named.
    fn finish_file(&self) {
        if self.n_in_file > most_named() {
            let more = grouped((self.n_in_file - most_named()) as u64);
            say!("tamis: {}: ... and {more} more", shown_path(&self.path));
        }
    }

    pub(super) fn finish(&self) {
        self.finish_file();
        for ((noun, what), n) in &self.skipped {
            if *noun != "file" || *n > most_named() as u64 {
                say!("tamis: skipped {}: {what}", counted(*n, noun));
            }
        }
    }
}
