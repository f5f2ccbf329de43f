//! Sufficient statistics: integer counts of documents and occurrences per class and term, and what scoring reads from
//! them.

mod cell;
mod cells;
mod classes;
mod error;
mod rows;
mod statistics;
mod sums;
mod transform;

pub(crate) use cell::read_cells;
pub use cell::term_ids;
pub use cell::{Cell, ClassId, ClassTotals, ClassWeights, Counts, KnownTerm, KnownTerms};
pub(crate) use cells::{CellArena, ClassCell};
pub use classes::{Classes, ClassesError};
pub use error::{ObservationError, StatisticsError};
pub(crate) use rows::MAX_WEIGHT;
pub use rows::{WeightedRow, WeightedVector, WeightsError};
pub use statistics::Statistics;
pub(crate) use sums::Scalars;
pub use sums::{DocumentSums, TermEntry, TermTable};
pub use transform::Transform;
pub(crate) use transform::{TF_UNIT, idf, log_documents, log_tf_units, tf_units};
