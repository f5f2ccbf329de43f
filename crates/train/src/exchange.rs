//! Export, import and salvage: models as JSON lines, bogofilter's word lists and scikit-learn's
//! naive Bayes.

pub(crate) mod bogofilter;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod salvage;
pub(crate) mod scikit_learn;

pub use bogofilter::{BogofilterImport, import_bogofilter};
pub use export::export;
pub use import::import;
pub use salvage::{Salvage, salvage};
pub use scikit_learn::import_scikit_learn;
