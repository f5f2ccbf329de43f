//! Commit: writes what was learned as a record of the log, as a segment, or by rewriting the file.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};

use tamis_store::disk::open;
use tamis_store::error::{Error, Reason, Result};
use tamis_store::file::log::{self, Rest};

use super::Learner;
use crate::merge::refit;

/// If segments are written, the log may only reach its limit divided by this, since a log costs readers more than
/// segments.
const SEGMENTS: usize = 4;

/// If no segments are written, the log may reach the size of the base divided by `SHARE_OF_BASE`, since opening a small
/// model is mostly reading its log; but at least its limit divided by `LEAST_SHARE`, and at most its limit.
const SHARE_OF_BASE: usize = 4;
const LEAST_SHARE: usize = 8;

/// A commit is a bulk if it has at least `BULK` changes, and more than one per `BULK_SHARE` documents. A smaller commit
/// does not by itself cause a fit: a single message must not wait for one.
const BULK: u64 = 10;
const BULK_SHARE: u64 = 100;

impl Learner {
    /// Writes what was learned and forgotten to the file, and waits until it is on the disk. Does nothing if there is
    /// nothing to write. Then retrains the model, if it can be retrained, in two cases: if at least ten documents, and
    /// more than one in a hundred, were learned or forgotten since the last commit; or if the model
    /// [wants it](Self::wants_retraining) and has at most 20,000 documents. Never retrains if a shared model is behind this
    /// one. Returns whether it retrained.
    ///
    /// After retraining, and whenever another document in two hundred was corrected, that is, learned under a label that was not the
    /// verdict, and at least five were, it looks for documents that have thereby lost their label, and corrects them. Such a document of a shared
    /// model is learned by this one too. A model that does not store the terms of documents cannot do this.
    ///
    /// Does neither if [`LearnOptions::retrain`](crate::LearnOptions::retrain) is off.
    ///
    /// # Errors
    /// If the file cannot be written. The file and the uncommitted changes are then as before, and commit can be tried
    /// again. [`ErrorKind::Changed`](crate::ErrorKind::Changed) if someone else wrote to the file despite the lock: the
    /// model must then be opened again.
    pub fn commit(&mut self) -> Result<bool> {
        self.write(true)?;
        let (changes, n) = (self.changes, self.filter.store().n_documents() as u64);
        let is_bulk = changes >= BULK && changes > n / BULK_SHARE && refit::can_refit(self.filter.store());
        self.keep_up(is_bulk)
    }

    /// As [`commit`](Self::commit), but leaves to [`upkeep`](Self::upkeep) what takes as long as the model is large:
    /// rewriting the file and retraining. For a server that answers once what it learned is on the disk.
    ///
    /// A model of naive Bayes, and a file whose last writer was stopped midway, are rewritten all the same.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub fn commit_without_upkeep(&mut self) -> Result<()> {
        self.write(false)
    }

    /// Does what [`commit_without_upkeep`](Self::commit_without_upkeep) left: rewrites the file if log and segments
    /// exceed [`LearnOptions::growth_limit`](crate::LearnOptions::growth_limit), retrains a model of at most 20,000
    /// documents that [wants it](Self::wants_retraining), and looks for documents that lost their label, all as commit does.
    /// Returns whether it retrained.
    ///
    /// # Errors
    /// As [`commit`](Self::commit). What was committed is in the file.
    pub fn upkeep(&mut self) -> Result<bool> {
        self.write(true)?;
        let store = self.filter.store();
        let (log, growth) = (store.log.records.len(), store.log.file_length - store.base().len() as u64);
        if self.is_full(log) && growth > self.longest_log(true) as u64 {
            self.compact()?;
        }
        self.keep_up(false)
    }

    /// Retrains if that is due, also because what was just committed `is_bulk`, and revisits documents if that is.
    fn keep_up(&mut self, is_bulk: bool) -> Result<bool> {
        let changes = std::mem::take(&mut self.changes);
        if changes == 0 || !self.options.retrain {
            return Ok(false);
        }
        let (is_small, is_revisit_due) =
            (self.filter.store().n_documents() as u64 <= Self::MOST_REFITTED, self.wants_revisit());
        // a fit would lack the documents of the shared model
        let may_fit = self.filter.fallback().is_none();
        let is_due = may_fit && (is_bulk || is_small && self.wants_retraining());
        let kept_up = (|| {
            if is_due {
                self.retrain()?;
            }
            if is_due || is_revisit_due {
                self.revisit()?;
                self.write(true)?;
            }
            Ok(is_due)
        })();
        self.changes = 0;
        match kept_up {
            // what was learned is in the file; a later commit tries again
            Err(error) if matches!(Error::reason(&error), Reason::Io { .. }) => Ok(false),
            kept_up => kept_up,
        }
    }

    /// Writes what is pending. Only if it `may_rewrite`, a file that has grown too much is rewritten.
    fn write(&mut self, may_rewrite: bool) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.filter.check_unchanged()?;
        if self.must_compact {
            return self.compact();
        }
        let (mut file, metadata) = open::open(&self.lock.path, OpenOptions::new().write(true))?;
        let log = &self.filter.store().log;
        let (bytes, rest) = (log.records.len() + self.pending.len(), log.rest);
        let is_as_left = log.file_length == metadata.len();
        let is_full = may_rewrite && self.is_full(bytes);
        let limit = self.longest_log(is_full);
        match rest {
            // a writer was stopped within its record or before it wrote the slot; readers may be reading the remains, so
            // they are not overwritten, and nothing may follow a segment that no slot names
            Rest::Torn | Rest::Segment(_) => self.compact(),
            _ if !is_as_left => self.compact(),
            Rest::Nothing if bytes <= limit => self.append(&mut file),
            _ if bytes > log::LIMIT || is_full => self.compact(),
            Rest::Nothing => {
                // first to the log: if the new slot is damaged, the other one and the log must say the same
                self.append(&mut file)?;
                match self.append_segment(&mut file) {
                    // it is safe in the log, and the next commit tries again
                    Err(error) if matches!(error.reason(), Reason::Io { .. }) => Ok(()),
                    outcome => outcome,
                }
            }
        }
    }

    /// Maximum bytes of the log. If the file `is_full`, it is rewritten beyond that; otherwise the log becomes a segment.
    fn longest_log(&self, is_full: bool) -> usize {
        let limit = self.options.log_limit;
        match is_full {
            true => (self.filter.store().base().len() / SHARE_OF_BASE).clamp(limit / LEAST_SHARE, limit),
            false => limit / SEGMENTS,
        }
    }

    /// Whether a segment of this many bytes would make the file exceed its growth limit, so that it must be rewritten.
    fn is_full(&self, log: usize) -> bool {
        let store = self.filter.store();
        let base = store.base().len() as u64;
        let growth = store.log.file_length - base + log as u64 + store.kept_segments().1 as u64;
        self.options.log_limit == 0 || growth > self.options.growth_limit.unwrap_or(base)
    }

    /// Appends what is not yet committed after the last complete record, and waits until it is on the disk.
    fn append(&mut self, file: &mut File) -> Result<()> {
        let log = &self.filter.store().log;
        write_after(file, log.file_length, log.end(), &self.pending).map_err(Error::io(&self.lock.path))?;
        self.lock.wrote();
        self.filter.appended(&mut self.pending);
        Ok(())
    }

    /// Turns the log and what is not yet committed into a segment, and writes the slot that names it.
    fn append_segment(&mut self, file: &mut File) -> Result<()> {
        let store = self.filter.store();
        let (length, seed) = (store.log.file_length, store.checksum);
        let (kept, _) = store.kept_segments();
        let content = store.compacted(kept)?;
        let mut segment = log::head_of_segment(content.len(), length as usize, seed)?;
        let start = length as usize + segment.len();
        let mut segments = store.slots.segments[..kept].to_vec();
        segments.push(start..start + content.len());
        let (place, slot) = store.slots.next(&segments, seed);
        segment.extend(content);
        let path = &self.lock.path;
        write_after(file, length, length, &segment).map_err(Error::io(path))?;
        // if this fails midway, it is unknown which slot is valid
        self.must_compact = true;
        write_at(file, place, &slot).map_err(Error::io(path))?;
        self.lock.wrote();
        self.pending.clear();
        self.reopen()
    }
}

/// Writes at an offset at or past the end of a file, and waits until it is on the disk.
fn write_after(file: &mut File, length: u64, at: u64, bytes: &[u8]) -> std::io::Result<()> {
    let written = write_at(file, at, bytes);
    if written.is_err() {
        // a partial write must not stay in front of the next record
        let _ = file.set_len(length);
    }
    written
}

fn write_at(file: &mut File, at: u64, bytes: &[u8]) -> std::io::Result<()> {
    file.seek(SeekFrom::Start(at))?;
    file.write_all(bytes)?;
    file.sync_data()
}
