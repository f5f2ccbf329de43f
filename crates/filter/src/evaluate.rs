//! Evaluation on documents that a model was not trained on: cross-validation and prequential evaluation.

pub(crate) mod cross_validation;
pub(crate) mod curves;
pub(crate) mod evaluation;
pub(crate) mod labels;
pub(crate) mod measure;
pub(crate) mod prequential;

pub use cross_validation::{HeldOutScore, cross_validate};
pub use curves::{LearningStep, LogOddsBin, OperatingPoint, ReliabilityBin};
pub use evaluation::{Evaluation, Figure};
pub use labels::{HeldOutLabels, LabelEvaluation, LabelFigures, cross_validate_labels};
pub use measure::{Measure, Unit};
pub use prequential::Prequential;
