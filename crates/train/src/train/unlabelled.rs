//! Unlabelled documents with weighted scoring: set apart, and learned if that predicts better.

use hashbrown::HashSet;
use rayon::prelude::*;
use tamis_model::{Example, Statistics};
use tamis_store::config::scoring::Scoring;
use tamis_store::error::Result;
use tamis_tokenizer::{CountVector, TermId};

use crate::fit::self_training::{PseudoLabels, SelfTraining};
use crate::gather::document::{TrainingDocument, UNLABELLED};
use crate::gather::merged::{Shard, row};
use crate::train::trainer::Trainer;

impl Trainer {
    /// Sets the unlabelled documents apart if scoring is weighted, so that only labelled documents are counted.
    pub(crate) fn set_unlabelled_apart(&mut self) {
        if self.n_unlabelled() == 0 || !matches!(self.options.scoring(), Scoring::Weighted(_)) {
            return;
        }
        self.forget_places();
        let documents = std::mem::take(&mut self.documents);
        (self.documents, self.apart) = documents.into_iter().partition(|d| d.class != UNLABELLED);
        self.parts.iter_mut().for_each(|part| part.unlabelled = Statistics::new(1));
    }

    /// Learns the documents that were set apart, under a teacher's labels, if that predicts labelled documents better.
    /// Returns `None` if there are none.
    pub(crate) fn learn_unlabelled(&mut self) -> Result<Option<PseudoLabels>> {
        let mut apart = std::mem::take(&mut self.apart);
        let Scoring::Weighted(options) = self.options.scoring() else { return Ok(None) };
        if apart.is_empty() {
            return Ok(None);
        }
        let labelled: HashSet<_> = self.documents.iter().map(|document| document.digest).collect();
        apart.retain(|document| document.digest != self.nothing && !labelled.contains(&document.digest));
        // the same documents give the same bytes
        self.documents.sort_unstable_by_key(|document| (document.digest, document.class));
        apart.sort_unstable_by_key(|document| document.digest);
        let ids = common_ids(&self.parts);
        let rows = |documents: &[TrainingDocument]| {
            let row = |document: &TrainingDocument| row(&self.parts, document, Some(&ids));
            documents.par_iter().map(row).collect::<Result<Vec<_>>>()
        };
        let rows = [rows(&self.documents)?, rows(&apart)?];
        let taught = SelfTraining {
            options: &options,
            classes: &self.classes,
            labelled: with_rows(&self.documents, &rows[0]),
            unlabelled: with_rows(&apart, &rows[1]),
        };
        let mut taught = taught.choose()?;
        for (document, class) in apart.iter_mut().zip(&taught.labels) {
            document.class = *class;
            let row = row(&self.parts, document, None)?;
            let statistics = &mut self.parts[usize::from(document.part)].statistics;
            statistics.observe_times(*class, row.row(), document.multiplicity)?;
        }
        apart.truncate(taught.labels.len());
        self.append_taught(apart, &mut taught);
        Ok(Some(taught))
    }

    /// Appends documents with a teacher's labels, and renumbers the held-out scores to match.
    fn append_taught(&mut self, mut with_labels: Vec<TrainingDocument>, taught: &mut PseudoLabels) {
        let key = |document: &TrainingDocument| (document.digest, document.class);
        let before: Vec<_> = self.documents.iter().map(key).collect();
        self.documents.append(&mut with_labels);
        self.documents.sort_unstable_by_key(key);
        let now = |at: usize| self.documents.partition_point(|document| key(document) < before[at]);
        taught.held_out.iter_mut().for_each(|held| held.document = now(held.document));
        taught.held_out.sort_unstable_by_key(|held| held.document);
    }
}

fn with_rows<'a>(documents: &'a [TrainingDocument], rows: &'a [CountVector]) -> Vec<Example<'a>> {
    std::iter::zip(documents, rows).map(|(document, row)| document.labelled(row.row())).collect()
}

/// For each part, the ids of its terms in the merged vocabulary, which is in the order of fingerprints.
fn common_ids(parts: &[Shard]) -> Vec<Vec<TermId>> {
    let fingerprints = |part: &Shard| part.vocabulary.fingerprints().map(|(_, it)| it).collect::<Vec<_>>();
    let of_parts: Vec<_> = parts.iter().map(fingerprints).collect();
    let mut all = of_parts.concat();
    all.par_sort_unstable();
    all.dedup();
    let ids = |of_part: Vec<u64>| {
        of_part.iter().map(|it| all.partition_point(|other| other < it) as TermId).collect()
    };
    of_parts.into_iter().map(ids).collect()
}
