//! Evaluation on documents that a model was not trained on: cross-validation, prequential evaluation, and drift;
//! and which documents to label next.

pub(crate) mod cross_validation;
pub(crate) mod curves;
mod design;
pub(crate) mod drift;
pub(crate) mod drift_reference;
pub(crate) mod evaluation;
pub(crate) mod held_out;
pub(crate) mod labels;
pub(crate) mod measure;
pub(crate) mod prequential;
pub(crate) mod suggest;
mod suspects;

pub use cross_validation::{HeldOutScore, cross_validate};
pub use curves::{LearningStep, LogOddsBin, OperatingPoint, ReliabilityBin};
pub use drift::{Drift, DriftSample, MovedTerm};
pub use drift_reference::{DriftReference, NewDocuments};
pub use evaluation::{Evaluation, Figure};
pub use labels::{HeldOutLabels, LabelFigures, cross_validate_labels};
pub use measure::{Measure, Unit};
pub use prequential::Prequential;
pub use suggest::{Known, Suggestion, Suggestions, Unlabelled};
pub use suspects::suspects;
