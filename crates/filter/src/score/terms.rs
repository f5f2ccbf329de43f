//! The terms of a model, with their counts and weights.

use tamis_model::{ClassId, KnownTerms};
use tamis_store::error::Result;
use tamis_store::store::layers::DecodedTerm;
use tamis_tokenizer::TermId;

use crate::score::filter::Filter;

/// A term with its counts and its weights, by class.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct TermRow {
    /// The term, with the field it is found in.
    pub term: String,
    /// Documents of each class that contain it.
    pub documents: Vec<u64>,
    /// Its occurrences in each class.
    pub occurrences: Vec<u64>,
    /// What it adds to the log-odds of each class against its strongest rival, in nats, if it is the only term of a
    /// document; `None` if it is not used in scoring.
    pub weights: Option<Vec<f64>>,
}

impl Filter {
    /// The terms with counts, in no particular order. Unlabelled documents are left out.
    ///
    /// ```
    /// use tamis_train::{Document, Kind, TrainOptions, Trainer};
    ///
    /// let mut trainer = Trainer::new(TrainOptions::new(Kind::Text))?;
    /// trainer.add("fruit", Document::Text("apples, more apples"))?;
    /// trainer.add("metal", Document::Text("iron and more"))?;
    /// let filter = trainer.finish()?.into_filter()?;
    /// let apples = filter.terms().find(|row| row.as_ref().is_ok_and(|row| row.term == "apples")).unwrap()?;
    /// assert_eq!((apples.documents, apples.occurrences), (vec![1, 0], vec![2, 0]));
    /// assert!(apples.weights.unwrap()[0] > 0.0);
    /// # Ok::<(), tamis_train::Error>(())
    /// ```
    pub fn terms(&self) -> impl Iterator<Item = Result<TermRow>> + '_ {
        let mut decoded = DecodedTerm::new(self.layers());
        self.layers().ids().filter_map(move |id| {
            let row = id.and_then(|id| self.row(id, &mut decoded));
            row.transpose()
        })
    }

    /// `None` for a term without labelled documents, such as one that was forgotten.
    fn row(&self, id: TermId, decoded: &mut DecodedTerm<'_>) -> Result<Option<TermRow>> {
        let n_classes = self.classes().len();
        let (mut documents, mut occurrences) = (vec![0; n_classes], vec![0; n_classes]);
        self.for_each_label(decoded.term(id)?.cells, |label, cell| {
            documents[label] += u64::from(cell.df);
            occurrences[label] += u64::from(cell.tf);
        });
        if documents.iter().all(|n| *n == 0) {
            return Ok(None);
        }
        let term = decoded.text()?.to_owned();
        let weight = |class| self.scorer.term_weight(self.layers(), id, class as ClassId);
        let weights = (0..n_classes).map(weight).collect::<Result<Option<_>>>()?;
        Ok(Some(TermRow { term, documents, occurrences, weights }))
    }
}
