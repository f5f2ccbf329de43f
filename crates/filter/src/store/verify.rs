//! Whether a model file is whole, and its sections keep what they promise one another.

use tamis_model::{ClassWeight, ClassWeights, Correction, Counts, Statistics};
use tamis_tokenizer::{TermId, fingerprint};
use zerocopy::little_endian::U32;

use super::terms::{GroupRecord, Runs, Size, take_run};
use super::{Store, summarize};
use crate::error::{Error, Result};
use crate::mixed::summarize_columns;
use crate::scoring::Scoring;
use crate::trainer::Keep;

impl Store {
    /// Checks every checksum, then everything that the sections promise one another.
    pub(crate) fn verify(&self) -> Result<()> {
        for section in [&self.directory, &self.terms, &self.texts, &self.documents, &self.vectors] {
            section.verify(&self.bytes)?;
        }
        self.verify_groups()?;
        let statistics = self.statistics()?;
        if statistics.totals() != self.totals {
            return Err(Error::inconsistent("terms", "sums equal to the header's totals", "other sums"));
        }
        if statistics.n_features() as u64 != self.n_features() {
            return Err(Error::inconsistent("log", self.n_features(), statistics.n_features()));
        }
        let Ok(summary) = summarize(&self.header.scoring, &statistics);
        if summary != self.header.summary {
            return Err(Error::inconsistent("header", "the summary of the counts", "another summary"));
        }
        if let Some(table) = &self.header.table {
            let recipe = &self.header.recipe;
            let groups = summarize_columns(recipe, &statistics, |id| self.text(id))?;
            table.verify(&self.header, &groups)?;
        }
        self.verify_documents(&statistics)
    }

    /// The counts as a value of their own, the log's among them.
    pub(crate) fn statistics(&self) -> Result<Statistics> {
        let documents = self.totals.iter().map(|t| t.documents);
        let mut statistics = Statistics::with_documents(documents);
        for id in 0..self.n_terms() as TermId {
            let mut pushed = Ok(());
            self.for_each_cell(id, |cell| {
                if pushed.is_ok() {
                    pushed = statistics.push_cell(id, cell);
                }
            })?;
            pushed?;
        }
        Ok(statistics)
    }

    /// Groups end to end, as many terms, cells and weights as the header says, fingerprints strictly increasing, each of
    /// the text beside it.
    fn verify_groups(&self) -> Result<()> {
        let (mut size, mut before) = (Size::default(), None);
        let (mut start, mut text_start) = (0, 0);
        for g in 0..self.n_groups() {
            let record: &GroupRecord = self.entry(&self.directory, g)?;
            let mut group = self.group(g)?;
            let mut texts = self.texts(g)?;
            let first = group.fingerprints.first().map(|print| (print.get() >> 32) as u32);
            let expected =
                (Some(record.prefix.get()), record.start.get() as usize, group.text_start as usize);
            if (first, start, text_start) != expected {
                return Err(Error::inconsistent(
                    "directory",
                    "groups one after another",
                    format!("group {g}"),
                ));
            }
            start += size_of::<U32>() + size_of_val(group.fingerprints) + group.runs.len();
            text_start += texts.len();
            for print in group.fingerprints {
                self.verify_term(print.get(), take_run(&mut texts), before)?;
                before = Some(print.get());
                let runs = take_run(&mut group.runs).and_then(Runs::of).unwrap_or_default();
                runs.for_each_cell(self.header.totals.len(), |_| size.cells += 1)?;
                runs.for_each_weight(self.header.classes.len(), |_, _| {
                    size.weights += 1;
                    Ok(())
                })?;
                size.terms += 1;
            }
            if !group.runs.is_empty() || !texts.is_empty() {
                return Err(Error::inconsistent(
                    "terms",
                    "nothing after the last term",
                    format!("group {g}"),
                ));
            }
        }
        let expected = (self.header.size, self.terms.len(), self.texts.len());
        if (size, start, text_start) != expected {
            return Err(Error::inconsistent("header", format!("{size:?}"), format!("{expected:?}")));
        }
        Ok(())
    }

    /// A fingerprint larger than the one before, of the text beside it.
    fn verify_term(&self, print: u64, text: Option<&[u8]>, before: Option<u64>) -> Result<()> {
        if before.is_some_and(|before| before >= print) {
            return Err(Error::inconsistent("terms", "increasing fingerprints", format!("{print:016x}")));
        }
        let got = text.and_then(|text| std::str::from_utf8(text).ok()).map(fingerprint);
        if got != Some(print) {
            // never the term itself: it may be of somebody's mail
            let expected = format!("a term of fingerprint {print:016x}");
            let got = got.map_or("none".to_owned(), |got| format!("one of {got:016x}"));
            return Err(Error::inconsistent("texts", expected, got));
        }
        Ok(())
    }

    /// Digests strictly increasing, as many documents of each class as counted (at most, if only digests are kept), their
    /// terms adding up to the counts.
    fn verify_documents(&self, statistics: &Statistics) -> Result<()> {
        let n_classes = self.header.totals.len();
        let mut documents = vec![0u64; n_classes];
        let mut counted = Statistics::new(n_classes);
        let mut correction = Correction::default();
        let mut before = None;
        for document in self.documents() {
            let document = document?;
            let key = (document.digest, document.class);
            if before.is_some_and(|before| before >= key) {
                return Err(Error::inconsistent(
                    "documents",
                    "increasing digests",
                    format!("{:02x?}", key.0),
                ));
            }
            before = Some(key);
            let Some(count) = documents.get_mut(usize::from(document.class)) else {
                return Err(Error::inconsistent(
                    "documents",
                    format!("a class below {n_classes}"),
                    document.class,
                ));
            };
            *count += u64::from(document.multiplicity);
            counted.observe_times(document.class, document.vector.row(), document.multiplicity)?;
            correction.add(document.vector.row(), &document.coefficients)?;
        }
        let expected: Vec<u64> = self.totals.iter().map(|t| t.documents).collect();
        // a model can have come without its documents; those it then learned are known
        let is_part = documents.iter().zip(&expected).all(|(known, counted)| known <= counted);
        if documents != expected && !(is_part && self.header.keep == Keep::Digests) {
            return Err(Error::inconsistent(
                "documents",
                format!("{expected:?} a class"),
                format!("{documents:?}"),
            ));
        }
        if self.header.keep == Keep::Vectors && counted != *statistics {
            return Err(Error::inconsistent("vectors", "terms that add up to the counts", "others"));
        }
        if self.header.keep == Keep::Vectors {
            for id in 0..self.n_terms() as TermId {
                self.verify_weights(id, &correction)?;
            }
        }
        Ok(())
    }

    /// The weights of a term are what the documents' coefficients add up to.
    fn verify_weights(&self, id: TermId, correction: &Correction) -> Result<()> {
        if matches!(self.header.scoring, Scoring::ExpectationMaximization(_)) {
            return self.for_each_weight(id, |_, _| ());
        }
        let mut got = Vec::new();
        self.for_each_value(id, |class, units| {
            got.push(ClassWeight { class, units });
            Ok(())
        })?;
        let expected: Vec<_> = correction.weights(id).collect();
        if got != expected {
            return Err(Error::inconsistent("terms", format!("{expected:?}"), format!("{got:?}")));
        }
        Ok(())
    }
}
