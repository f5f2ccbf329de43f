//! Duplicates: equal documents, and equal documents under different labels.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};

use anyhow::{Result, bail};
use tamis_program::{counted, grouped, note, noun, shown, shown_path};
use tamis_train::information::Contradiction;
use tamis_train::{ClassId, Kind, Trainer};

use crate::args::Contradictions;
use crate::input::corpus::Corpus;
use crate::input::items::Item;

/// Prints how many documents equal others, and whether they count.
pub(crate) fn say_equal(trainer: &Trainer, repeat: bool) {
    let (kind, n) = (trainer.recipe().kind, trainer.n_equal());
    let (equal, were, count, are) = match n {
        0 => return,
        1 => ("equals another", "was", "counts", "it is"),
        _ => ("equal others", "were", "count", "they are"),
    };
    let n = counted(n, noun(kind));
    match kind == Kind::Mail && !repeat {
        true => note!("{n} {equal} and {were} counted once (--repeat counts each)"),
        false => note!("{n} {equal} and {count} as often as {are} given"),
    }
}

/// The digests of documents, as hashes of digest and name. Hashes suffice, since few names are ever needed.
#[derive(Default)]
pub(crate) struct NameHashes(Vec<(u64, u64)>);

impl NameHashes {
    pub(crate) fn note(&mut self, item: &Item<'_>, digest: Option<[u8; 16]>) {
        self.0.push((digest.map_or(0, beginning), hash_of(item)));
    }

    pub(crate) fn append(&mut self, mut other: NameHashes) {
        self.0.append(&mut other.0);
    }
}

/// Half of a digest, which is itself a hash.
fn beginning(digest: [u8; 16]) -> u64 {
    u128::from_ne_bytes(digest) as u64
}

/// A hash of a document's position in its corpus.
fn hash_of(item: &Item<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (std::ptr::from_ref(item.file).addr(), item.number).hash(&mut hasher);
    hasher.finish()
}

/// Number of contradicting pairs to name.
const EXAMPLES: usize = 5;

/// Prints which equal documents have different labels. Refuses mail if they are more than a twentieth of a label's
/// documents.
pub(crate) fn check_contradictions(
    trainer: &Trainer,
    names: &NameHashes,
    corpus: &Corpus<'_>,
    contradictions: Contradictions,
) -> Result<()> {
    let found = trainer.contradictions();
    if found.is_empty() {
        return Ok(());
    }
    let kind = trainer.recipe().kind;
    let n = found.iter().flat_map(|one| &one.classes).map(|(_, copies)| u64::from(*copies)).sum();
    let noun = if kind == Kind::Table { "row" } else { "document" };
    note!("{} equal others under another label, for example", counted(n, noun));
    for pair in examples(trainer, &found, names, corpus)? {
        let [one, other] = pair.map(|(name, label)| format!("{} ({})", shown_path(&name), shown(&label)));
        note!("  {one} and {other}");
    }
    if kind != Kind::Mail || contradictions == Contradictions::Keep {
        // short texts, and rows of few values, are often equal
        return Ok(());
    }
    for (class, label) in trainer.classes().iter() {
        let of_class = |(of, _): &&(ClassId, u32)| *of == class;
        let copies = found.iter().flat_map(|one| &one.classes).filter(of_class).map(|(_, n)| u64::from(*n));
        let (part, all) = (copies.sum::<u64>(), trainer.n_documents_of(class));
        if part * 20 > all {
            bail!(
                "expected no more than 5 % of a label's documents to equal documents of other labels, got {} of {} {}; \
                 correct the labels, or train on all of them with --contradictions keep",
                grouped(part),
                grouped(all),
                shown(label)
            );
        }
    }
    Ok(())
}

/// A document's name and its label.
type Labelled = (OsString, String);

/// The first pairs of documents that contradict each other, by name.
fn examples(
    trainer: &Trainer,
    found: &[Contradiction],
    names: &NameHashes,
    corpus: &Corpus<'_>,
) -> Result<Vec<[Labelled; 2]>> {
    let digests: HashSet<u64> = found.iter().map(|one| beginning(one.digest)).collect();
    let of_these = names.0.iter().filter(|(digest, _)| digests.contains(digest));
    let digest_of: HashMap<u64, u64> = of_these.map(|(digest, name)| (*name, *digest)).collect();
    let (mut first, mut pairs) = (HashMap::new(), Vec::new());
    corpus.for_each_item(&trainer.recipe().limits, |item| {
        let Some(digest) = digest_of.get(&hash_of(item)) else { return true };
        let (label, name) = (corpus.label_of(item), item.name().into_owned());
        match first.entry(*digest).or_insert_with(|| Some((label.clone(), name.clone()))) {
            // this pair has been named already
            None => (),
            Some((before, _)) if *before == label => (),
            one => {
                let (before, its_name) = one.take().unwrap_or_default();
                pairs.push([(its_name, before), (name, label)]);
            }
        }
        pairs.len() < EXAMPLES
    })?;
    Ok(pairs)
}
