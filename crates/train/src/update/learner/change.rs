//! What learning and forgetting a document change in the open model, and the records of it.

use tamis_filter::scorers::weighted::WeightedScorer;
use tamis_model::{Coefficient, Counts, HeldOut, Readings};
use tamis_store::error::{Reason, Result};
use tamis_store::file::documents::{StoredDocument, as_kept, keep_least};
use tamis_store::file::fitted::FittedScoring;
use tamis_store::file::log::{self, Change, LogEntry};

use super::revisit::is_right;
use super::{CandidateDocument, Learner};

impl Learner {
    /// Forgets the known records of a document and, if it `learns`, learns `seen` in their place.
    pub(super) fn exchange(
        &mut self,
        known: Vec<StoredDocument>,
        seen: Option<CandidateDocument>,
        learns: bool,
    ) -> Result<()> {
        let mut done = Vec::new();
        let mut outcome = self.take_all(known, seen.as_ref(), &mut done);
        if let (Ok(()), Some(seen), true) = (&outcome, seen, learns) {
            outcome = self.add(seen, &mut done);
        }
        self.finish_change(done, outcome)
    }

    /// Forgets the known records of a document. If the model does not store its terms, those of `seen` are used.
    fn take_all(
        &mut self,
        known: Vec<StoredDocument>,
        seen: Option<&CandidateDocument>,
        done: &mut Vec<LogEntry>,
    ) -> Result<()> {
        for mut document in known {
            if document.vector.row().is_empty() && !self.filter.store().has_vector(document.key()) {
                let seen = seen.ok_or(Reason::TermsNotStored)?;
                document.vector.clone_from(&seen.document.vector);
                document.dense.clone_from(&seen.document.dense);
            }
            let mut features = 0;
            for id in document.vector.row().ids() {
                let copies = u64::from(document.multiplicity);
                features -= i32::from(self.filter.store().document_frequency(*id)? == copies);
            }
            self.enter(
                LogEntry { change: Change::Forgotten, document, features, new_terms: Vec::new() },
                done,
            )?;
        }
        Ok(())
    }

    /// Learns a document that is not yet known.
    fn add(
        &mut self,
        CandidateDocument { mut document, new_terms, shifts }: CandidateDocument,
        done: &mut Vec<LogEntry>,
    ) -> Result<()> {
        let mut features = 0;
        for id in document.vector.row().ids() {
            features += i32::from(self.filter.store().document_frequency(*id)? == 0);
        }
        (document.coefficients, document.held_out) = self.correct_one(&document, shifts)?;
        // rounded as the model stores it
        document.held_out = document.held_out.map(|both| as_kept(both).map(f64::from));
        // what is counted alone leaves no trace of its order
        if let FittedScoring::Weighted { .. } = self.filter.store().header.scoring {
            let number = self.filter.store().changes().since_training.saturating_add(1);
            document.learned = u32::try_from(number).unwrap_or(u32::MAX);
        }
        let change = match is_right(&self.filter, &document, self.counted.whole(), shifts)? {
            true => Change::Learned,
            false => Change::Corrected,
        };
        self.enter(LogEntry { change, document, features, new_terms }, done)
    }

    /// A document's part of the correction and, with two classes, its scores before it is learned.
    fn correct_one(
        &self,
        document: &StoredDocument,
        shifts: Option<[f64; 2]>,
    ) -> Result<(Vec<Coefficient>, Option<HeldOut>)> {
        let FittedScoring::Weighted { options, .. } = &self.filter.store().header.scoring else {
            return Ok((Vec::new(), None));
        };
        let Some(scorer) = self.filter.weighted() else { return Ok((Vec::new(), None)) };
        let (layers, row) = (self.filter.layers(), self.counted.whole());
        let held_out = match scorer.is_of_two() && layers.totals().iter().all(|class| class.documents > 0) {
            true => self.held_out(scorer)?,
            // the other class has no documents yet
            false => None,
        };
        let is_corrected = options.correction;
        let coefficients =
            if is_corrected { self.correction(document, row, shifts, false)? } else { Vec::new() };
        Ok((coefficients, held_out))
    }

    /// The scores of the document, without a lift by its parts; `None` if no term is known.
    fn held_out(&self, scorer: &WeightedScorer) -> Result<Option<HeldOut>> {
        let beside = scorer.beside(self.filter.layers(), &self.counted)?;
        let has_more = beside.iter().any(|of| !of.is_empty());
        let mut readings = Readings { beside, ..Readings::default() };
        scorer.read(self.filter.layers(), self.counted.whole(), &mut readings)?;
        let [b, d, c, v] = scorer.log_odds.parts(&readings);
        Ok((readings.known_terms > 0 || has_more).then_some([b, d, c, v, 0.0]))
    }

    /// Adds an entry to the open model, and to `done`.
    pub(super) fn enter(&mut self, entry: LogEntry, done: &mut Vec<LogEntry>) -> Result<()> {
        self.filter.change(entry.clone())?;
        self.messages.add(entry.document.message, entry.document.digest);
        let row = entry.document.vector.row();
        let learned = entry.change != Change::Forgotten;
        let ids = row.ids().to_vec();
        done.push(entry);
        // nothing may be written that cannot be read back
        for id in ids.into_iter().filter(|_| learned) {
            self.filter.store().for_each_cell(id, |_| ())?;
            self.filter.store().for_each_value(id, |_| ())?;
        }
        Ok(())
    }

    /// Makes a record of the entries; on an error, undoes them.
    pub(super) fn finish_change(&mut self, done: Vec<LogEntry>, outcome: Result<()>) -> Result<()> {
        self.changes += 1;
        let store = self.filter.store();
        let (at, seed) = (store.log.end() as usize + self.pending.len(), store.checksum);
        let outcome = outcome.and_then(|()| log::write(&done, at, seed, &mut self.pending));
        if outcome.is_err() {
            self.filter.reread(&self.pending)?;
        }
        outcome
    }

    /// Gives a document what stays of the known records that it replaces: their copies, and `more`, but at least one; the
    /// least of their names and groups.
    pub(super) fn inherit(document: &mut StoredDocument, known: &[StoredDocument], more: u64) -> Result<()> {
        let copies = known.iter().map(|known| u64::from(known.multiplicity)).sum::<u64>();
        let copies = copies.saturating_add(more).max(1);
        let limit = Reason::TooLarge { what: "copies of a document", limit: u32::MAX.into(), got: copies };
        document.multiplicity = u32::try_from(copies).map_err(|_| limit)?;
        document.fraction = known.iter().map(|known| known.fraction).fold(0, i32::saturating_add);
        for known in known {
            keep_least(&mut document.name, &known.name);
            document.group = document.group.min(known.group);
        }
        Ok(())
    }
}
