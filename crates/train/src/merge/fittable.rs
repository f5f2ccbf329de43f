//! What can be fitted to the documents of a model.

use tamis_model::WeightedOptions;
use tamis_store::config::keep::Keep;
use tamis_store::config::scoring::Scoring;
use tamis_store::file::documents::Remembered;
use tamis_store::file::fitted::FittedScoring;
use tamis_store::file::header::Header;
use tamis_store::store::opened::Store;

/// The scoring that can be fitted: the default in place of another program's.
pub(crate) fn fittable(scoring: &FittedScoring) -> Scoring {
    match scoring {
        FittedScoring::RobinsonFisher(_) => Scoring::Weighted(WeightedOptions::default()),
        scoring => scoring.options(),
    }
}

/// Number of documents of each label that a model imported from another program must remember before a fit to them
/// replaces its scoring.
const ENOUGH: usize = 100;

/// Whether anything in the model is fitted to documents, beyond counting them, or would be by a refit now.
pub(crate) fn is_fitted(store: &Store) -> bool {
    match store.header.scoring {
        FittedScoring::Weighted { .. } => true,
        FittedScoring::RobinsonFisher(_) => {
            let mut documents = vec![0; store.header.classes.len()];
            let remembered = store.documents().flatten();
            remembered.for_each(|document: Remembered| documents[usize::from(document.class)] += 1);
            documents.iter().all(|n| *n >= ENOUGH)
        }
        _ => false,
    }
}

/// Whether the terms of documents are stored; those of windows never are.
pub(crate) fn keeps_terms(header: &Header) -> bool {
    header.stored.keep == Keep::Vectors && header.recipe.windows.is_none()
}
