//! Fitting: choices, weights and thresholds from documents in canonical order, written as the sections of a model.

pub(crate) mod calibration;
pub(crate) mod label_decisions;
pub(crate) mod scoring;
pub(crate) mod sections;
pub(crate) mod self_training;
pub(crate) mod solution;
pub(crate) mod table;
