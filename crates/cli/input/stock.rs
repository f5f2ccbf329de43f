//! What a pass has found: how many documents were read, of which formats, and what was not read.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;
use tamis_program::{counted, grouped};

/// What stands for documents that were refused with an error of their own.
pub(super) const REFUSED: &str = "an error";

/// The documents of a pass by their formats.
#[derive(Clone, Default, Serialize)]
pub(crate) struct Stock {
    /// Number of documents that were read.
    pub(super) read: u64,
    /// Those among them that are neither plain text nor mail, nor rows.
    pub(super) formats: BTreeMap<String, u64>,
    /// What was not read, and how often.
    pub(super) not_read: BTreeMap<String, u64>,
}

impl Stock {
    /// Number of documents that were not read.
    pub(super) fn n_not_read(&self) -> u64 {
        self.not_read.values().sum()
    }

    /// A sentence on what figures leave out; `None` if all was read.
    pub(crate) fn left_out(&self) -> Option<String> {
        let (not_read, all) = (self.n_not_read(), counted(self.read + self.n_not_read(), "document"));
        (not_read > 0)
            .then(|| format!("not in the figures: {} of {all}, which could not be read", grouped(not_read)))
    }

    /// A line such as `412 documents: 190 PDF, 120 DOCX, 88 others, 14 not read (9: a PDF without text; 5: a PDF with a
    /// password)`. `None` if all are text, mail or rows.
    pub(super) fn line(&self) -> Option<String> {
        let is_mixed = !self.formats.is_empty() || self.not_read.keys().any(|what| what != REFUSED);
        let others = self.read - self.formats.values().sum::<u64>().min(self.read);
        let known = self.formats.iter().map(|(name, n)| (*n, name.clone()));
        let others = (others, if self.formats.is_empty() { "read" } else { "others" }.to_owned());
        let mut whys: Vec<_> = self.not_read.iter().collect();
        whys.sort_by_key(|(_, n)| Reverse(**n));
        let whys: Vec<_> = whys.iter().map(|(why, n)| format!("{}: {why}", grouped(**n))).collect();
        let not_read = (self.n_not_read(), format!("not read ({})", whys.join("; ")));
        let parts = known.chain([others, not_read]).filter(|(n, _)| *n > 0);
        let parts: Vec<_> = parts.map(|(n, what)| format!("{} {what}", grouped(n))).collect();
        let all = counted(self.read + self.n_not_read(), "document");
        is_mixed.then(|| format!("{all}: {}", parts.join(", ")))
    }

    /// Whether nothing could be read.
    pub(super) fn is_all_refused(&self) -> bool {
        self.read == 0 && !self.not_read.is_empty()
    }
}
