//! Evaluation on documents that a model was not trained on: cross-validation, prequential evaluation, and drift;
//! and which documents to label next.

pub(crate) mod curves;
pub(crate) mod drift;
pub(crate) mod drift_reference;
pub(crate) mod evaluation;
pub(crate) mod held_out;
pub(crate) mod labels;
pub(crate) mod measure;
pub(crate) mod suggest;
pub(crate) mod validation;

pub use curves::{LearningStep, LogOddsBin, OperatingPoint, ReliabilityBin};
pub use drift::{Drift, DriftSample, MovedTerm};
pub use drift_reference::{DriftReference, NewDocuments};
pub use evaluation::{Evaluation, Figure, LearnedDocuments};
pub use held_out::{stored_scores, suspects};
pub use labels::{HeldOutLabels, LabelFigures, cross_validate_labels};
pub use measure::{Measure, Unit};
pub use suggest::{CandidatePool, KnownDocuments, Suggestion, Suggestions};
pub use validation::{HeldOutScore, Prequential, cross_validate};
