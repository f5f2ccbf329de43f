//! Online learning: learns and forgets one document at a time, in a file that others may be reading.

mod change;
mod commit;
mod known;
mod open;
mod replicate;
mod revisit;
mod seen;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tamis_filter::extract::document::{Document, digest_of_nothing};
use tamis_filter::extract::extraction::Extraction;
use tamis_filter::score::filter::Filter;
use tamis_filter::score::verdict::Score;
use tamis_filter::scorers::scratch::{LabelScore, Scratch};
use tamis_model::{ClassId, ClassTotals};
use tamis_store::config::labels::{are_sets, split_labels, unknown_label};
use tamis_store::error::{Error, Reason, Result};
use tamis_store::file::documents::{StoredDocument, keep_least, named};
use tamis_store::file::fitted::FittedScoring;
use tamis_store::file::log::{self};
use tamis_tokenizer::Vocabulary;

use crate::lock::{LOCK_TIMEOUT, Lock};
use crate::merge::rewrite::keeps_terms;
use crate::merge::{refit, rewrite};
use crate::model::Model;
use crate::update::message_index::MessageIndex;

/// The outcome of learning a document.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LearnOutcome {
    /// The document was new.
    New,
    /// It was known under this label; nothing changed.
    Already,
    /// It was known under other labels, and moved to this one.
    Moved {
        /// The labels it was known under.
        from: Vec<String>,
    },
    /// It was new, but a message with the same Message-ID and body stays under other labels: it was counted with other
    /// terms, which the model does not store, so it cannot be subtracted.
    Beside {
        /// The labels it stays under.
        labels: Vec<String>,
    },
}

/// Options of a [`Learner`](crate::Learner).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LearnOptions {
    /// How long to wait while another process is changing the model; a minute by default.
    pub lock_timeout: Duration,
    /// Maximum size of the file's log in bytes: 128 KiB by default, about a hundred messages, and at most
    /// [`MAX_LOG_LIMIT`](Self::MAX_LOG_LIMIT). Every reader reads the whole log. While the file may
    /// [grow](Self::growth_limit), the log becomes a segment at a quarter of this size; readers read only what they
    /// look up in a segment. A file that may not grow is rewritten when its log reaches a quarter of the file's size
    /// after the last rewrite, but not before an eighth of this size, and at this size at the latest. With 0, every
    /// commit rewrites the file.
    pub log_limit: usize,
    /// Bytes by which log and segments may make the file longer before it is rewritten; by default its size after the
    /// last rewrite. A small file therefore has no segments.
    pub growth_limit: Option<u64>,
    /// The time of learning, in seconds since 1970. Documents get it as their date, so that what was corrected today does
    /// not expire because the message is old. `None` by default: documents keep their own date, if any.
    pub learned_at: Option<i64>,
    /// Whether [`commit`](crate::Learner::commit) retrains the model when that is
    /// [due](crate::Learner::wants_retraining); true by default.
    pub retrain: bool,
}

impl LearnOptions {
    /// The end of the current day (UTC), in seconds since 1970: for [`learned_at`](Self::learned_at), so that what is
    /// learned on one day has the same date.
    pub fn today() -> i64 {
        const DAY: u64 = 86_400;
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        i64::try_from((since_1970.as_secs() / DAY + 1) * DAY - 1).unwrap_or(0)
    }

    /// The highest [`log_limit`](Self::log_limit), 128 MiB: readers refuse a longer log.
    pub const MAX_LOG_LIMIT: usize = log::LIMIT;

    pub(super) fn check(&self) -> Result<()> {
        let (limit, got) = (Self::MAX_LOG_LIMIT as u64, self.log_limit as u64);
        Reason::TooLarge { what: "bytes of log (log_limit)", limit, got }.unless(got <= limit)
    }
}

impl Default for LearnOptions {
    fn default() -> Self {
        LearnOptions {
            lock_timeout: LOCK_TIMEOUT,
            log_limit: 128 << 10,
            growth_limit: None,
            learned_at: None,
            retrain: true,
        }
    }
}

/// A model file open for learning. It is locked against other writers until the learner is dropped; readers are not
/// affected.
///
/// [`commit`](Self::commit) writes what was learned: it appends a record to the file's log and syncs it, all or
/// nothing. What is not committed when the learner is dropped is lost. Once the log reaches a quarter of
/// [`LearnOptions::log_limit`], commit turns it into a segment of the file, at a cost that does not depend on the
/// model's size. Once log and segments exceed [`LearnOptions::growth_limit`], commit rewrites and replaces the file.
///
/// Rewriting also refits the weights of counts and correction to the latest 1,000 documents. With naive Bayes every
/// commit rewrites the file: its header has summaries over all terms, and one document may change which are used.
///
/// Learning a document twice has the same effect as once, and forgetting it removes exactly what learning it added. A
/// document is recognised by its terms, a mail also by its body and its Message-ID (or From, To, Date and
/// Subject), whatever header fields were added in transit.
///
/// ```
/// use tamis_train::{Document, Filter, Kind, LearnOptions, LearnOutcome, Learner, Scratch, TrainOptions};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("model.tamis");
/// let mut learner = Learner::create(&path, TrainOptions::new(Kind::Mail), ["ham", "spam"], LearnOptions::default())?;
/// learner.learn("ham", Document::Mail(b"Subject: lunch\n\nSoup at noon?\n"))?;
/// learner.learn("spam", Document::Mail(b"Subject: pills\n\nCheap pills, buy now!\n"))?;
/// let again = learner.learn("spam", Document::Mail(b"Subject: pills\n\nCheap pills, buy now!\n"))?;
/// assert_eq!(again, LearnOutcome::Already);
/// learner.commit()?;
///
/// let filter = Filter::open(&path)?;
/// let score = filter.score_mail(b"Subject: offer\n\nbuy cheap pills\n", &mut Scratch::default())?;
/// assert!(score.log_odds > 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Learner {
    lock: Lock,
    options: LearnOptions,
    filter: Filter,
    /// Records not yet in the file.
    pending: Vec<u8>,
    /// The number of documents learned and forgotten since the last commit.
    changes: u64,
    /// The number of documents corrected up to the last commit.
    corrected: u64,
    /// Whether what it learns comes as records, so that other models must have the same counts.
    is_replica: bool,
    /// Whether the file must be rewritten: with naive Bayes, since its header holds summaries over all terms.
    must_compact: bool,
    counted: Extraction,
    vocabulary: Vocabulary,
    scratch: Scratch,
    messages: MessageIndex,
}

/// A document as the model would store it.
struct CandidateDocument {
    /// Its terms have the ids of the model; new terms have the ids after them.
    document: StoredDocument,
    new_terms: Vec<(u64, String)>,
    /// What parts of it add to its log-odds, to be made ham and spam; see [`Filter::shifts`].
    shifts: Option<[f64; 2]>,
}

impl Learner {
    /// Learns and scores with a shared model behind this one, as [`Filter::set_fallback`] does. A document's part of
    /// the correction then depends on its score by both models.
    ///
    /// # Errors
    /// As [`Filter::set_fallback`].
    pub fn set_fallback(&mut self, shared: Arc<Filter>) -> Result<()> {
        self.filter.set_fallback(shared)
    }

    /// Returns the filter with everything learned so far, and unlocks the file. What was not committed is not in the
    /// file.
    pub fn into_filter(self) -> Filter {
        self.filter
    }

    /// The filter with everything learned so far, committed or not.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Scores a document with everything learned so far.
    ///
    /// # Errors
    /// As [`Filter::score`].
    pub fn score(&mut self, document: Document<'_>) -> Result<Score> {
        self.filter.score(document, &mut self.scratch)
    }

    /// The labels of the document that was scored last, see [`Scratch::labels`].
    pub fn labels(&self) -> &[LabelScore] {
        self.scratch.labels()
    }

    /// Learns a document under a label that the model knows; in a model of many labels under a
    /// [set](crate::join_labels) of them. A document known under other labels moves, with all its
    /// copies; what was learned from it is subtracted, even if a mail has other header fields now. Documents without
    /// terms cannot be told apart, so each is new and counts.
    ///
    /// # Errors
    /// If the label is unknown, the document is not of the model's kind, a count overflows or the model is damaged in a
    /// part that is read. Nothing is learned then.
    pub fn learn(&mut self, label: &str, document: Document<'_>) -> Result<LearnOutcome> {
        self.learn_in_group(label, None, document)
    }

    /// As [`learn`](Self::learn), for a document of a group; see
    /// [`Trainer::add_in_group`](crate::Trainer::add_in_group). A document that is already known under the label stays
    /// in its group.
    ///
    /// # Errors
    /// As [`learn`](Self::learn).
    pub fn learn_in_group(
        &mut self,
        label: &str,
        group: Option<&str>,
        document: Document<'_>,
    ) -> Result<LearnOutcome> {
        self.know_set(label)?;
        let class = self.class(label)?;
        let mut seen = self.see(group, document)?;
        let mut known = self.known_as(&seen.document, Some(class))?;
        let is_nothing = self.is_nothing(seen.document.digest);
        if is_nothing {
            known.retain(|known| known.class == class);
        } else if !known.is_empty() && known.iter().all(|known| known.class == class) {
            return Ok(LearnOutcome::Already);
        }
        let stays: Vec<_> = known.extract_if(.., |known| !self.can_forget(known, &seen.document)).collect();
        let from = known.iter().filter(|known| known.class != class).map(|known| self.label(known.class));
        let from: Vec<_> = from.collect();
        Self::inherit(&mut seen.document, &known, u64::from(is_nothing))?;
        seen.document.class = class;
        self.exchange(known, Some(seen), true)?;
        let stays = stays.iter().filter(|known| known.class != class);
        let labels: Vec<_> = stays.map(|known| self.label(known.class)).collect();
        Ok(match (labels.is_empty(), from.is_empty()) {
            (false, _) => LearnOutcome::Beside { labels },
            (true, true) => LearnOutcome::New,
            (true, false) => LearnOutcome::Moved { from },
        })
    }

    /// Forgets all copies of a document; with a label, only if it is known under that label. Documents without terms
    /// cannot be told apart, so one of them is forgotten, and the label is needed if they are known under several.
    /// Returns the document's name, if it is stored.
    ///
    /// # Errors
    /// [`ErrorKind::NotLearned`](crate::ErrorKind::NotLearned) if it is not known, or not under the label; otherwise as
    /// [`learn`](Self::learn). Nothing changes then.
    pub fn forget(&mut self, label: Option<&str>, document: Document<'_>) -> Result<Option<String>> {
        let seen = self.see(None, document)?;
        self.forget_known(label, seen.document.digest, Some(seen))
    }

    /// As [`forget`](Self::forget), by the document's [digest](Filter::digest) alone.
    ///
    /// # Errors
    /// As [`forget`](Self::forget); [`ErrorKind::TermsNotStored`](crate::ErrorKind::TermsNotStored) if the model
    /// remembers digests only.
    pub fn forget_digest(&mut self, label: Option<&str>, digest: [u8; 16]) -> Result<Option<String>> {
        self.forget_known(label, digest, None)
    }

    fn forget_known(
        &mut self,
        label: Option<&str>,
        digest: [u8; 16],
        mut seen: Option<CandidateDocument>,
    ) -> Result<Option<String>> {
        let class = label.map(|label| self.class(label)).transpose()?;
        let mut known = match &seen {
            Some(seen) => self.known_as(&seen.document, None)?,
            None => self.known(digest)?,
        };
        known.retain(|known| seen.as_ref().is_none_or(|seen| self.can_forget(known, &seen.document)));
        let (known, elsewhere): (Vec<_>, Vec<_>) =
            known.into_iter().partition(|known| class.is_none_or(|class| class == known.class));
        let not_learned = |known| Err(Reason::NotLearned { digest, known }.into());
        // documents without terms cannot be told apart: one of them is forgotten, under one label
        let is_one_of_many = seen.is_some() && self.is_nothing(digest);
        match &known[..] {
            [] => return not_learned(elsewhere.first().map(|known| self.label(known.class))),
            [_, _, ..] if is_one_of_many => {
                let labels: Vec<_> = known.iter().map(|known| self.label(known.class)).collect();
                return not_learned(Some(labels.join(", ")));
            }
            _ => (),
        }
        let mut name = Box::default();
        known.iter().for_each(|known| keep_least(&mut name, &known.name));
        let mut n_left = 0;
        if let (true, Some(seen), [one]) = (is_one_of_many, &mut seen, &known[..]) {
            n_left = one.multiplicity.saturating_sub(1);
            let document = &mut seen.document;
            (document.class, document.multiplicity, document.group) = (one.class, n_left, one.group);
            document.name.clone_from(&name);
        }
        self.exchange(known, seen, n_left > 0).map(|()| named(name))
    }

    /// Whether a document has no terms.
    fn is_nothing(&self, digest: [u8; 16]) -> bool {
        digest == digest_of_nothing(&self.filter.store().header.recipe)
    }

    /// Adds a label to the model, and rewrites the file. A model of two labels is then scored like a model of several
    /// topics.
    ///
    /// # Errors
    /// If the label is not acceptable or already known, or there is a [shared model](Self::set_fallback) behind this
    /// one, which lacks the label; and as [`commit`](Self::commit).
    pub fn add_label(&mut self, label: &str) -> Result<()> {
        if let Some(shared) = self.filter.fallback() {
            let labels: Vec<_> = shared.classes().iter().map(|(_, label)| label).collect();
            return Err(Error::incompatible("labels", labels.join(", "), label));
        }
        self.replace(refit::with_label(self.filter.store(), label)?)
    }

    /// Maximum number of documents of a model that is retrained between two messages.
    pub(crate) const MOST_REFITTED: u64 = 20_000;
    /// Retraining is due after more than one change per this number of documents, of all or of a label.
    pub(crate) const UNFITTED: u64 = 10;
    /// A document was corrected for every so many known ones: then [`revisit`](Self::revisit) is due, or retraining for a label that has
    /// grown. Both take as long as the model is large.
    const CORRECTED: u64 = 200;
    /// In small models too, one correction changes nothing else, so that it can be taken back.
    const FEW: u64 = 5;

    /// Whether [`retrain`](Self::retrain) is worthwhile: for every ten known documents, more than one was learned or
    /// forgotten one by one, or so many of a label were learned that was rare before. Corrections made when few documents were known, or
    /// after many of one label in a row, are worse than those fitted to all documents. Always false for a model that cannot be
    /// retrained. For an imported bogofilter word list, false until it remembers 100 documents of each label.
    pub fn wants_retraining(&self) -> bool {
        let store = self.filter.store();
        let n = store.n_documents() as u64;
        let has_grown = |(now, before): (&ClassTotals, &ClassTotals)| {
            let new = now.documents.saturating_sub(before.documents);
            new.saturating_mul(Self::UNFITTED) > now.documents.saturating_add(n / Self::CORRECTED)
        };
        let is_due = store.changes().since_fit > n / Self::UNFITTED
            || store.totals.iter().zip(&store.header.totals).any(has_grown);
        let n_labels = store.totals.iter().filter(|totals| totals.documents > 0).count();
        is_due && n_labels > 1 && refit::can_refit(store)
    }

    /// Whether [`revisit`](Self::revisit) became due since this was asked last.
    fn wants_revisit(&mut self) -> bool {
        let shared = self.filter.fallback().map_or(0, |shared| shared.store().n_documents());
        let store = self.filter.store();
        let part = ((store.n_documents() + shared) as u64 / Self::CORRECTED).max(Self::FEW);
        let (before, now) = (self.corrected, store.changes().corrected);
        self.corrected = now;
        now / part > before / part && keeps_terms(&store.header)
    }

    /// Makes all choices again, fits everything to the documents that the model remembers, and rewrites the file.
    ///
    /// # Errors
    /// [`ErrorKind::TermsNotStored`](crate::ErrorKind::TermsNotStored) if it remembers digests only; and as
    /// [`commit`](Self::commit).
    pub fn retrain(&mut self) -> Result<()> {
        self.replace(refit::refit(self.filter.store())?)
    }

    /// Compaction: rewrites the file with everything learned, committed or not, and without a log.
    /// [`commit`](Self::commit) does this once log and segments exceed [`LearnOptions::growth_limit`].
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub fn compact(&mut self) -> Result<()> {
        self.replace(rewrite::compact(self.filter.store())?)
    }

    /// Replaces the file by `model`, and opens it.
    fn replace(&mut self, model: Model) -> Result<()> {
        self.filter.check_unchanged()?;
        // if this fails midway, it is unknown which file is there and where its log ends
        self.must_compact = true;
        self.lock.save(&model)?;
        self.pending.clear();
        self.reopen()
    }

    fn reopen(&mut self) -> Result<()> {
        self.filter = self.filter.opened_from(&self.lock.path)?;
        self.must_compact = matches!(self.filter.store().header.scoring, FittedScoring::NaiveBayes { .. });
        Ok(())
    }

    fn class(&self, label: &str) -> Result<ClassId> {
        let (classes, labels) = (&self.filter.store().header.classes, self.filter.classes());
        let unknown = split_labels(label).find(|label| labels.index(label).is_none());
        classes.index(label).ok_or_else(|| unknown_label(unknown.unwrap_or(label), labels))
    }

    /// Makes a set of labels a class of a model of many labels, if the model knows each of them. Rewrites the file if no
    /// document had exactly these labels before.
    fn know_set(&mut self, label: &str) -> Result<()> {
        let (classes, labels) = (&self.filter.store().header.classes, self.filter.classes());
        let is_known = |label: &str| labels.index(label).is_some();
        let is_new = are_sets(classes) && classes.index(label).is_none() && split_labels(label).all(is_known);
        if is_new { self.add_label(label) } else { Ok(()) }
    }

    /// The label of a class; several, separated by commas, if it is a set of them.
    fn label(&self, class: ClassId) -> String {
        let label = self.filter.store().header.classes.label(class).unwrap_or_default();
        split_labels(label).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests;
