//! Selects parts of a partial: the counts alone, or a sample of its documents.

use tamis_model::{Stretch, is_sampled};
use tamis_store::disk::map::ModelBytes;
use tamis_store::disk::spool::spill;
use tamis_store::error::{Error, Reason, Result};
use tamis_store::file::partial::PartialHeader;
use tamis_tokenizer::{CountVector, TermId, Vocabulary};

use super::Partial;
use crate::gather::document::TrainingDocument;
use crate::gather::merged::Shard;
use crate::gather::rows::RowId;
use crate::train::trainer::Trainer;

impl Partial {
    /// Returns the counts alone, for [`DistributedTrainer`](crate::distributed::DistributedTrainer). Their size depends
    /// on the terms, however many documents there are. A trainer that merges them can only [finish](Trainer::finish)
    /// with naive Bayes.
    ///
    /// # Errors
    /// [`ErrorKind::Settings`](crate::ErrorKind::Settings) if equal documents count once,
    /// which needs all documents compared; or if it is open whether pairs of words are terms.
    pub fn without_documents(&self) -> Result<Partial> {
        check_distributed(&self.header)?;
        if self.header.counts_alone {
            return Partial::unverified(ModelBytes::Shared(Box::new(self.as_bytes().to_vec())));
        }
        let mut trainer = self.to_trainer()?;
        trainer.counts_alone = true;
        trainer.elsewhere.clone_from(&self.header.vectors);
        trainer.documents.clear();
        trainer.forget_places();
        trainer.into_partial()
    }

    /// Returns the documents in a [sample](tamis_model::is_sampled) of this share, with their counts.
    ///
    /// # Errors
    /// As [`without_documents`](Self::without_documents); also if the documents are elsewhere.
    pub fn sample(&self, share: f64) -> Result<Partial> {
        check_distributed(&self.header)?;
        Reason::CountsAlone.unless(!self.header.counts_alone)?;
        let mut trainer = self.to_trainer()?;
        trainer.forget_places();
        trainer.documents.retain(|document| is_sampled(document.group, share));
        recount(&mut trainer)?;
        trainer.into_partial()
    }
}

/// Checks that the documents suit a distributed fit.
fn check_distributed(header: &PartialHeader) -> Result<()> {
    let options = &header.options;
    let got = match options.scoring().fitted_at_once(&options.recipe) {
        Some(got) => got,
        _ if options.counts_once() => "documents of which equal ones count once",
        _ if header.has_texts => "an open choice of terms",
        _ => return Ok(()),
    };
    Err(Reason::DistributedUnsupported { got }.into())
}

/// Counts the documents of a trainer again.
fn recount(trainer: &mut Trainer) -> Result<()> {
    let mut counted = Shard::new(trainer.classes.len());
    // a partial has one part
    let part = &mut trainer.parts[0];
    for document in &mut trainer.documents {
        let read = |row: RowId, vocabulary: &mut Vocabulary| {
            let terms = part.rows.get(row).map_err(spill)?.into_iter();
            let id = |(id, count): (TermId, u32)| {
                let text = part.vocabulary.term(id).unwrap_or_default();
                Ok((vocabulary.intern(text)?, count))
            };
            terms.map(id).collect::<Result<Vec<_>>>()
        };
        let terms =
            document.terms.map(|row| read(row, &mut counted.vocabulary)).transpose()?.unwrap_or_default();
        let stretch = |of: &Stretch<RowId>| {
            let terms = read(of.terms, &mut counted.vocabulary)?;
            Ok(Stretch { terms: counted.rows.push(terms.into_iter()).map_err(spill)?, ..*of })
        };
        document.set_stretches(document.more().stretches.iter().map(stretch).collect::<Result<_>>()?);
        let vector = CountVector::from_pairs(terms.iter().copied())
            .map_err(|e| Error::inconsistent("documents", "terms, each once", e))?;
        let TrainingDocument { class, multiplicity, .. } = *document;
        let (statistics, class) = counted.statistics_of(class);
        statistics.observe_times(class, vector.row(), multiplicity)?;
        if document.terms.is_some() {
            document.terms = Some(counted.rows.push(terms.into_iter()).map_err(spill)?);
        }
    }
    (trainer.parts, trainer.tally.n_equal) = (vec![counted], 0);
    Ok(())
}
