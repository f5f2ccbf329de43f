//! What a pass has found: how many documents were read, of which formats, and what was not read.

use std::collections::BTreeMap;

use serde::Serialize;
use tamis_program::{counted, grouped};

/// The documents of a pass by their formats.
#[derive(Clone, Default, Serialize)]
pub(crate) struct Stock {
    /// Number of documents that were read.
    pub(crate) read: u64,
    /// Those among them that are neither plain text nor mail, nor rows.
    pub(super) formats: BTreeMap<String, u64>,
    /// What was not read, and how often.
    pub(super) not_read: BTreeMap<String, u64>,
}

impl Stock {
    /// Number of documents that were not read.
    pub(crate) fn n_not_read(&self) -> u64 {
        self.not_read.values().sum()
    }

    /// A sentence on what figures leave out; `None` if all was read.
    pub(crate) fn left_out(&self) -> Option<String> {
        let (not_read, all) = (self.n_not_read(), counted(self.read + self.n_not_read(), "document"));
        (not_read > 0).then(|| format!("{} of {all} were not read, and are not in the figures", grouped(not_read)))
    }

    /// A line such as `412 documents: 190 PDF, 120 DOCX, 88 others, 14 not read (9: a PDF without text, 5: a PDF with a
    /// password)`. `None` if all was read and of one kind.
    pub(super) fn line(&self) -> Option<String> {
        let not_read = self.n_not_read();
        let mut parts: Vec<_> = self.formats.iter().map(|(name, n)| format!("{} {name}", grouped(*n))).collect();
        let others = self.read - self.formats.values().sum::<u64>();
        if others > 0 && !parts.is_empty() {
            parts.push(format!("{} others", grouped(others)));
        } else if others > 0 {
            parts.push(format!("{} read", grouped(others)));
        }
        if not_read > 0 {
            let mut whys: Vec<_> = self.not_read.iter().collect();
            whys.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
            let whys: Vec<_> = whys.iter().map(|(why, n)| format!("{}: {why}", grouped(**n))).collect();
            parts.push(format!("{} not read ({})", grouped(not_read), whys.join(", ")));
        }
        let all = counted(self.read + not_read, "document");
        (not_read > 0 || !self.formats.is_empty()).then(|| format!("{all}: {}", parts.join(", ")))
    }
}
