//! The output for one document.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use tamis_filter::{Classes, Filter, Kind, Score, Scratch};
use tamis_program::{counted, noun, say, shown, shown_path};

use crate::output::path_text::to_text;

/// A document's score, with the keys that every JSON output of the program uses.
#[derive(Serialize)]
pub(crate) struct Verdict<'a> {
    #[serde(serialize_with = "path_as_text")]
    pub(crate) path: &'a OsStr,
    pub(crate) label: &'a str,
    pub(crate) probability: f64,
    pub(crate) log_odds: f64,
    /// Whether only a part of the message was read. The key is left out if all of it was read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) truncated: bool,
}

impl<'a> Verdict<'a> {
    pub(crate) fn new(filter: &'a Filter, path: &'a OsStr, score: &Score, truncated: bool) -> Self {
        let Score { probability, log_odds, .. } = *score;
        Verdict { path, label: filter.label_of(score), probability, log_odds, truncated }
    }
}

fn path_as_text<S: serde::Serializer>(path: &OsStr, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&to_text(path))
}

/// `spam 0.9987 +6.64`
pub(crate) fn verdict_line(filter: &Filter, score: &Score) -> String {
    format!("{} {:.4} {:+.2}", shown(filter.label_of(score)), score.probability, score.log_odds)
}

/// The labels of a model.
pub(crate) fn labels(classes: &Classes) -> Vec<String> {
    classes.iter().map(|(_, label)| label.to_owned()).collect()
}

/// Reports that only a part of the message was read, and why.
pub(crate) fn say_limits(name: &(impl AsRef<Path> + ?Sized), scratch: &Scratch) {
    let hit = scratch.limits_hit();
    if !hit.is_empty() {
        say!("tamis: {}: read in part, because of the limit of: {hit}", shown_path(name));
    }
}

/// Reports how many documents were read in part.
pub(crate) fn say_truncated(n: u64, kind: Kind) {
    if n > 0 {
        say!("tamis: {} read in part, because of limits", counted(n, noun(kind)));
    }
}
