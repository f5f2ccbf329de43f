//! Learning and forgetting by records, which other servers apply too.

use tamis_filter::extract::document::Document;
use tamis_store::config::recipe::Keep;
use tamis_store::error::Result;
use tamis_store::file::documents::{NO_DATE, StoredDocument};

use super::Learner;
use crate::update::record::Record;

impl Learner {
    /// Makes a record that says that a document was learned under a label or, without one, forgotten. Changes nothing:
    /// the record takes effect where it is [applied](Self::apply), here as well.
    ///
    /// A record of learning says all that the model is to know of the document: as [`learn`](Self::learn) does, it
    /// takes over the copies of what it replaces, and the least of the names and groups. For a document that is known
    /// under this label alone it says what is known.
    ///
    /// # Errors
    /// If the label is unknown, the document is not of the model's kind, the record would exceed 128 MiB, or the model
    /// is damaged in a part that is read.
    pub fn record(&mut self, label: Option<&str>, document: Document<'_>) -> Result<Record> {
        let class = label.map(|label| self.class(label)).transpose()?;
        let mut document = self.read(None, document)?;
        match class {
            Some(class) if !self.is_nothing(document.digest) => {
                document.class = class;
                let mut known = self.replaced(&document)?;
                if let [one] = &known[..]
                    && one.key() == document.key()
                {
                    document.clone_from(one);
                    // by its Message-ID there may be more
                    known = self.replaced(&document)?;
                }
                Self::inherit(&mut document, &known, 0)?;
            }
            Some(_) => (),
            None => (document.date, document.name) = (NO_DATE, Box::default()),
        }
        let Learner { filter, counted, vocabulary, .. } = self;
        let header = &filter.store().header;
        let terms = vocabulary.document();
        let (words, pieces) = terms.split_at(counted.words(terms).len());
        let is_told = header.stored.names && label.is_some();
        let text = |id| vocabulary.term(id).filter(|_| is_told).unwrap_or_default().to_owned();
        Record::new(&header.recipe, label, document, [words, pieces], text)
    }

    /// Learns or forgets the document of a record; see [`replication`](crate::replication) for what servers that apply
    /// the same records agree on. Returns whether the model changed.
    ///
    /// What the record says replaces everything that the model knows of the document, under any label. If the model
    /// stores the terms of documents, this includes the same mail with other header fields, even under the same label,
    /// where [`learn`](Self::learn) keeps the fields that it learned first: which came first depends on the server.
    ///
    /// Nothing changes if the model already knows what the record says, if the document to forget is not known, or if
    /// the document has no terms. Documents without terms cannot be told apart, so a record of one would count again
    /// each time it is read.
    ///
    /// If the record does not tell the text of a term that is new to the model, explanations and exports show `#` and
    /// its fingerprint in hexadecimal. The score kept for calibration is that of the whole document, without its parts.
    ///
    /// # Errors
    /// [`ErrorKind::Settings`](crate::ErrorKind::Settings) if the record is of another recipe,
    /// [`ErrorKind::Label`](crate::ErrorKind::Label) if its label is unknown, otherwise as [`learn`](Self::learn).
    /// Nothing changes then.
    pub fn apply(&mut self, record: &Record) -> Result<bool> {
        record.check_recipe(&self.filter.store().header.recipe)?;
        self.is_replica = true;
        let class = record.label().map(|label| self.class(label)).transpose()?;
        if self.is_nothing(record.digest()) {
            return Ok(false);
        }
        let mut seen = self.see_record(record)?;
        seen.document.class = class.unwrap_or_default();
        let known = self.replaced(&seen.document)?;
        let is_known = match class {
            Some(_) => matches!(&known[..], [known] if says_the_same(known, &seen.document)),
            None => known.is_empty(),
        };
        if !is_known {
            self.exchange(known, Some(seen), class.is_some())?;
        }
        Ok(!is_known)
    }

    /// What a record of a document replaces: the stored records of its digest, under any class, and those of the same
    /// message if they can always be subtracted, not only while they are in the log.
    fn replaced(&mut self, document: &StoredDocument) -> Result<Vec<StoredDocument>> {
        match self.filter.store().header.stored.keep {
            Keep::Vectors => self.known_as(document, None),
            Keep::Digests => self.known(document.digest),
        }
    }
}

/// Whether a stored document is what a record says, apart from what was derived when it was learned.
fn says_the_same(known: &StoredDocument, document: &StoredDocument) -> bool {
    let said = |of: &StoredDocument| (of.key(), of.multiplicity, of.fraction, of.date, of.group, of.message);
    said(known) == said(document) && known.name == document.name
}
