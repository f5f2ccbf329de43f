//! Whether a model file is whole, and its sections keep what they promise one another.

use tamis_model::{Cell, ClassCorrection, ClassWeight, ClassWeights, Correction, Counts, Statistics};
use tamis_tokenizer::{TermId, fingerprint};

use super::{Store, summarize};
use crate::error::{Error, Result};
use crate::mixed::summarize_columns;
use crate::scoring::Scoring;
use crate::trainer::Keep;

impl Store {
    /// Checks every checksum, then everything that the sections promise one another.
    pub(crate) fn verify(&self) -> Result<()> {
        for section in
            [&self.terms, &self.cells, &self.texts, &self.correction, &self.documents, &self.vectors]
        {
            section.verify(&self.bytes)?;
        }
        self.verify_terms()?;
        let statistics = self.statistics()?;
        if statistics.totals() != self.header.totals {
            return Err(Error::inconsistent("cells", "sums equal to the header's totals", "other sums"));
        }
        let summary = summarize(&self.header.scoring, &statistics);
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

    /// The counts as a value of their own.
    fn statistics(&self) -> Result<Statistics> {
        let documents = self.header.totals.iter().map(|t| t.documents);
        let mut statistics = Statistics::with_documents(documents);
        for id in 0..self.n_terms as TermId {
            for cell in self.cells(id)? {
                let cell = Cell { class: cell.class.get(), df: cell.df.get(), tf: cell.tf.get() };
                statistics.push_cell(id, cell)?;
            }
        }
        Ok(statistics)
    }

    /// Fingerprints strictly increasing, each of the text beside it.
    fn verify_terms(&self) -> Result<()> {
        let mut before = None;
        for id in 0..self.n_terms {
            let print = self.fingerprint(id)?;
            if before.is_some_and(|before| before >= print) {
                let got = format_args!("{print:016x} at {id}").to_string();
                return Err(Error::inconsistent("terms", "increasing fingerprints", got));
            }
            before = Some(print);
            let text = self.text(id as TermId)?;
            if fingerprint(text) != print {
                return Err(Error::inconsistent(
                    "texts",
                    format!("a term of fingerprint {print:016x}"),
                    text,
                ));
            }
        }
        Ok(())
    }

    /// Digests strictly increasing, as many documents of each class as counted, their terms adding up to the counts.
    fn verify_documents(&self, statistics: &Statistics) -> Result<()> {
        let n_classes = self.header.totals.len();
        let mut documents = vec![0u64; n_classes];
        let mut counted = Statistics::new(n_classes);
        let (mut correction, mut class_correction) = (Correction::new(), ClassCorrection::new());
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
            correction.add(document.vector.row(), document.coefficient);
            for coefficient in &document.coefficients {
                class_correction.add(document.vector.row(), *coefficient)?;
            }
        }
        let expected: Vec<u64> = self.header.totals.iter().map(|t| t.documents).collect();
        if documents != expected {
            return Err(Error::inconsistent(
                "documents",
                format!("{expected:?} a class"),
                format!("{documents:?}"),
            ));
        }
        if self.header.keep == Keep::Vectors && counted != *statistics {
            return Err(Error::inconsistent("vectors", "terms that add up to the counts", "others"));
        }
        if self.header.keep == Keep::Vectors && self.correction.len() > 0 {
            for id in 0..self.n_terms as TermId {
                self.verify_correction(id, &correction, &class_correction)?;
            }
        }
        Ok(())
    }

    /// The weights of a term are what the documents' coefficients add up to.
    fn verify_correction(&self, id: TermId, two: &Correction, many: &ClassCorrection) -> Result<()> {
        if let Scoring::ExpectationMaximization(_) = self.header.scoring {
            return self.for_each_weight(id, |_, _| ());
        }
        if let Scoring::OneAgainstRest(_) = self.header.scoring {
            let weights = self.weights(id)?.iter();
            let got: Vec<_> =
                weights.map(|w| ClassWeight { class: w.class.get(), units: w.value.get() }).collect();
            let expected: Vec<_> = many.weights(id).collect();
            if got != expected {
                let debug = |weights| format!("{weights:?}");
                return Err(Error::inconsistent("correction", debug(expected), debug(got)));
            }
            return Ok(());
        }
        let (expected, got) =
            (two.weights().get(id as usize).copied().unwrap_or(0), i64::from(self.correction(id)?));
        if got != expected {
            return Err(Error::inconsistent("correction", expected, got));
        }
        Ok(())
    }
}
