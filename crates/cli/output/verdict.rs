//! The output for one document.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use tamis_program::{counted, note, noun, say, shown, shown_path};
use tamis_train::{Classes, Doubt, Filter, Kind, LabelScore, Score, Scratch};

use crate::output::path_text::to_text;

/// A document's score, with the keys that every JSON output of the program uses.
#[derive(Serialize)]
pub(crate) struct DocumentVerdict<'a> {
    #[serde(serialize_with = "path_as_text")]
    pub(crate) path: &'a OsStr,
    pub(crate) label: OneOrMany<&'a str>,
    pub(crate) probability: OneOrMany<f64>,
    pub(crate) log_odds: OneOrMany<f64>,
    /// Whether only a part of the message was read. The key is left out if all of it was read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) truncated: bool,
    /// Why a spam filter is unsure whatever the probability. The key is left out otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) doubt: Option<&'static str>,
}

impl<'a> DocumentVerdict<'a> {
    /// The verdict on a document; `labels` are those that it was given, see [`Scratch::labels`].
    pub(crate) fn new(
        filter: &'a Filter,
        path: &'a OsStr,
        score: &Score,
        labels: &[LabelScore],
        truncated: bool,
    ) -> Self {
        let many = filter.has_many_labels().then_some(labels);
        let label = |of: &LabelScore| filter.classes().label(of.label).unwrap_or_default();
        DocumentVerdict {
            path,
            label: OneOrMany::new(filter.label_of(score), many, label),
            probability: OneOrMany::new(score.probability, many, |of| of.probability),
            log_odds: OneOrMany::new(score.log_odds, many, |of| of.log_odds),
            truncated,
            doubt: score.doubt.map(Doubt::name).filter(|_| many.is_none()),
        }
    }
}

/// What a verdict says: of one label, or of each of many, the likeliest first.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    /// What is told of each of `many` labels, if a document may have them; otherwise `one`.
    fn new(one: T, many: Option<&[LabelScore]>, of: impl Fn(&LabelScore) -> T) -> Self {
        many.map_or(OneOrMany::One(one), |many| OneOrMany::Many(many.iter().map(of).collect()))
    }

    pub(crate) fn each(&self) -> &[T] {
        match self {
            OneOrMany::One(one) => std::slice::from_ref(one),
            OneOrMany::Many(many) => many,
        }
    }
}

fn path_as_text<S: serde::Serializer>(path: &OsStr, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&to_text(path))
}

impl DocumentVerdict<'_> {
    /// `spam 0.9987 +6.64`, and of many labels `grain,wheat 0.9987,0.8808 +6.64,+2.00`; `-` if a document has none.
    pub(crate) fn line(&self) -> String {
        let DocumentVerdict { label, probability, log_odds, .. } = self;
        if label.each().is_empty() {
            return "-".to_owned();
        }
        let joined = |numbers: Vec<String>| numbers.join(",");
        let labels = joined(label.each().iter().map(|label| shown(label).into_owned()).collect());
        let probabilities = joined(probability.each().iter().map(|p| format!("{p:.4}")).collect());
        let log_odds = joined(log_odds.each().iter().map(|z| format!("{z:+.2}")).collect());
        format!("{labels} {probabilities} {log_odds}")
    }
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
        let read = counted(n, noun(kind));
        match kind {
            Kind::Mail => note!("{read} read in part: beyond limits, or with attachments that are not read"),
            _ => say!("tamis: {read} read in part, because of limits"),
        }
    }
}
